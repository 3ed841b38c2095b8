/* Functions that make and free communicators. */
#include "record.h"

#define MAKE(x, kind, parent, params, args) \
    FW_CALL(MPI_##x, "MPI_" #x, params, args, , fw_made_comm(s, &call, parent, *made, kind))
#define MAKE_LATER(x, params, args)                                                                                    \
    FW_CALL(MPI_##x, "MPI_" #x, params, args, , fw_made_comm(s, &call, comm, *made, FW_PENDING);                       \
            fw_made(s, *request, FW_OTHER, 0, 0, 0, 0))

MAKE(Comm_dup, FW_BY_PARENT, comm, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKE(Comm_dup_with_info, FW_BY_PARENT, comm, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKE_LATER(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))
MAKE_LATER(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
           (comm, info, made, request))
MAKE(Comm_create, FW_BY_PARENT, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKE(Comm_create_group, FW_BY_MEMBERS, comm, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
     (comm, group, tag, made))
MAKE(Comm_split, FW_BY_PARENT, comm, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
MAKE(Comm_split_type, FW_BY_PARENT, comm, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
     (comm, type, key, info, made))
MAKE(Cart_create, FW_BY_PARENT, comm,
     (MPI_Comm comm, int dims, const int sizes[], const int periods[], int reorder, MPI_Comm *made),
     (comm, dims, sizes, periods, reorder, made))
MAKE(Cart_sub, FW_BY_PARENT, comm, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made))
MAKE(Graph_create, FW_BY_PARENT, comm,
     (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
     (comm, nodes, index, edges, reorder, made))
MAKE(Dist_graph_create, FW_BY_PARENT, comm,
     (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],
      MPI_Info info, int reorder, MPI_Comm *made),
     (comm, n, sources, degrees, destinations, weights, info, reorder, made))
MAKE(Dist_graph_create_adjacent, FW_BY_PARENT, comm,
     (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out, const int destinations[],
      const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder, made))
MAKE(Intercomm_create, FW_BY_TWO, comm,
     (MPI_Comm comm, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *made),
     (comm, leader, peer, remote, tag, made))
MAKE(Intercomm_merge, FW_BY_PARENT, comm, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))

#define FREE(x)                                                                                                        \
    FW_CALL(MPI_##x, "MPI_" #x, (MPI_Comm * comm), (comm), fw_freed_comm(s, *comm), fw_put_freed(s))
FREE(Comm_free)
FREE(Comm_disconnect)
