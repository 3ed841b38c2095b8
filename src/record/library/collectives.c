/* Collectives, and the functions that make communicators. */
#include "record.h"

#define NO_ROOT MPI_PROC_NULL

static struct fw_comm *collective(struct fw_stream *s, MPI_Comm comm, int root, MPI_Op op)
{
    int commutes = 1;
    fw_put_comm(s, comm);
    fw_put_peer(s, root);
    if (op != MPI_OP_NULL)
        PMPI_Op_commutative(op, &commutes);
    fw_put(&s->tuple, op == MPI_OP_NULL ? 0 : commutes ? 1 : 2);
    return fw_comm(s, comm);
}

static int is_root(const struct fw_comm *c, int root)
{
    return root == MPI_ROOT || (!(c->flags & FW_INTER) && c->rank == root);
}

/* Whether the rank gives the root something, or gets something from it: the root of one group does so as well. */
static int is_member(const struct fw_comm *c, int root)
{
    (void)c;
    return root != MPI_ROOT && root != MPI_PROC_NULL;
}

static int is_other(const struct fw_comm *c, int root)
{
    return is_member(c, root) && !is_root(c, root);
}

static void put_nothing(struct fw_stream *s)
{
    fw_put(&s->tuple, 0);
}

/* A part of equal blocks, if it is significant. */
static void put_if(struct fw_stream *s, int is, const void *buf, int64_t count, MPI_Datatype type)
{
    if (!is) {
        put_nothing(s);
    } else if (buf == MPI_IN_PLACE) {
        fw_put(&s->tuple, 1);
    } else {
        fw_put(&s->tuple, 2);
        fw_data(s, count, type);
    }
}

/* Blocking, non-blocking and persistent; the last also by the name that it had before MPI 4. */
#define ALL_THREE(x, i)                                                                                                \
    PLAIN(NAME(MPI_##x), "MPI_" #x, LIST(P_##x, MPI_Comm comm), LIST(A_##x, comm), B_##x)                              \
    REQUEST(NAME(MPI_##i), "MPI_" #i, 0, LIST(P_##x, MPI_Comm comm, MPI_Request *request),                             \
            LIST(A_##x, comm, request), B_##x)                                                                         \
    REQUEST(NAME(MPI_##x##_init), "MPI_" #x "_init", 1,                                                                \
            LIST(P_##x, MPI_Comm comm, MPI_Info info, MPI_Request *request), LIST(A_##x, comm, info, request), B_##x)  \
    REQUEST(NAME(MPIX_##x##_init), "MPI_" #x "_init", 1,                                                               \
            LIST(P_##x, MPI_Comm comm, MPI_Info info, MPI_Request *request), LIST(A_##x, comm, info, request), B_##x)
#define LIST(...) (__VA_ARGS__)
#define PLAIN(symbol, text, params, args, b) FW_CALL(symbol, text, params, args, , b)
#define REQUEST(symbol, text, persistent, params, args, b)                                                             \
    FW_CALL(symbol, text, params, args, , b; fw_made(s, *request, FW_OTHER, persistent, 0, 0, 0))

/* P_x: the parameters before the communicator; A_x: their names; B_x: what writes the fields. */
#define P_Bcast void *buf, COUNT count, MPI_Datatype type, int root
#define A_Bcast buf, count, type, root
#define B_Bcast                                                                                                        \
    struct fw_comm *c = collective(s, comm, root, MPI_OP_NULL);                                                        \
    put_if(s, is_root(c, root), buf, count, type);                                                                     \
    put_if(s, is_other(c, root), buf, count, type)

#define P_Gather ONE_EACH, int root
#define A_Gather in, ins, intype, out, outs, outtype, root
#define B_Gather                                                                                                       \
    struct fw_comm *c = collective(s, comm, root, MPI_OP_NULL);                                                        \
    put_if(s, is_member(c, root), in, ins, intype);                                                                    \
    put_if(s, is_root(c, root), out, outs, outtype)

#define P_Gatherv                                                                                                      \
    const void *in, COUNT ins, MPI_Datatype intype, void *out, const COUNT outs[], const SHIFT shifts[],               \
        MPI_Datatype outtype, int root
#define A_Gatherv in, ins, intype, out, outs, shifts, outtype, root
#define B_Gatherv                                                                                                      \
    struct fw_comm *c = collective(s, comm, root, MPI_OP_NULL);                                                        \
    put_if(s, is_member(c, root), in, ins, intype);                                                                    \
    if (is_root(c, root))                                                                                              \
        NAME(put_counts)(s, out, c->size, outs, outtype);                                                              \
    else                                                                                                               \
        put_nothing(s)

#define P_Scatter ONE_EACH, int root
#define A_Scatter in, ins, intype, out, outs, outtype, root
#define B_Scatter                                                                                                      \
    struct fw_comm *c = collective(s, comm, root, MPI_OP_NULL);                                                        \
    put_if(s, is_root(c, root), in, ins, intype);                                                                      \
    put_if(s, is_member(c, root), out, outs, outtype)

#define P_Scatterv                                                                                                     \
    const void *in, const COUNT ins[], const SHIFT shifts[], MPI_Datatype intype, void *out, COUNT outs,               \
        MPI_Datatype outtype, int root
#define A_Scatterv in, ins, shifts, intype, out, outs, outtype, root
#define B_Scatterv                                                                                                     \
    struct fw_comm *c = collective(s, comm, root, MPI_OP_NULL);                                                        \
    if (is_root(c, root))                                                                                              \
        NAME(put_counts)(s, in, c->size, ins, intype);                                                                 \
    else                                                                                                               \
        put_nothing(s);                                                                                                \
    put_if(s, is_member(c, root), out, outs, outtype)

#define ONE_EACH const void *in, COUNT ins, MPI_Datatype intype, void *out, COUNT outs, MPI_Datatype outtype
#define NAMES_EACH in, ins, intype, out, outs, outtype
#define FIELDS_EACH                                                                                                    \
    collective(s, comm, NO_ROOT, MPI_OP_NULL);                                                                         \
    put_if(s, 1, in, ins, intype);                                                                                     \
    put_if(s, 1, out, outs, outtype)
#define P_Allgather ONE_EACH
#define A_Allgather NAMES_EACH
#define B_Allgather FIELDS_EACH
#define P_Alltoall ONE_EACH
#define A_Alltoall NAMES_EACH
#define B_Alltoall FIELDS_EACH
#define P_Neighbor_allgather ONE_EACH
#define A_Neighbor_allgather NAMES_EACH
#define B_Neighbor_allgather FIELDS_EACH
#define P_Neighbor_alltoall ONE_EACH
#define A_Neighbor_alltoall NAMES_EACH
#define B_Neighbor_alltoall FIELDS_EACH

#define P_Allgatherv                                                                                                   \
    const void *in, COUNT ins, MPI_Datatype intype, void *out, const COUNT outs[], const SHIFT shifts[],               \
        MPI_Datatype outtype
#define A_Allgatherv in, ins, intype, out, outs, shifts, outtype
#define FIELDS_ALLGATHERV(n)                                                                                           \
    struct fw_comm *c = collective(s, comm, NO_ROOT, MPI_OP_NULL);                                                     \
    put_if(s, 1, in, ins, intype);                                                                                     \
    NAME(put_counts)(s, out, c->n, outs, outtype)
#define B_Allgatherv FIELDS_ALLGATHERV(size)
#define P_Neighbor_allgatherv P_Allgatherv
#define A_Neighbor_allgatherv A_Allgatherv
#define B_Neighbor_allgatherv FIELDS_ALLGATHERV(in)

#define P_Alltoallv                                                                                                    \
    const void *in, const COUNT ins[], const SHIFT inshifts[], MPI_Datatype intype, void *out, const COUNT outs[],     \
        const SHIFT outshifts[], MPI_Datatype outtype
#define A_Alltoallv in, ins, inshifts, intype, out, outs, outshifts, outtype
#define FIELDS_ALLTOALLV(n, m)                                                                                         \
    struct fw_comm *c = collective(s, comm, NO_ROOT, MPI_OP_NULL);                                                     \
    NAME(put_counts)(s, in, c->n, ins, intype);                                                                        \
    NAME(put_counts)(s, out, c->m, outs, outtype)
#define B_Alltoallv FIELDS_ALLTOALLV(size, size)
#define P_Neighbor_alltoallv P_Alltoallv
#define A_Neighbor_alltoallv A_Alltoallv
#define B_Neighbor_alltoallv FIELDS_ALLTOALLV(out, in)

#define P_TYPES(shift)                                                                                                 \
    const void *in, const COUNT ins[], const shift inshifts[], const MPI_Datatype intypes[], void *out,                \
        const COUNT outs[], const shift outshifts[], const MPI_Datatype outtypes[]
#define FIELDS_TYPES(n, m)                                                                                             \
    struct fw_comm *c = collective(s, comm, NO_ROOT, MPI_OP_NULL);                                                     \
    NAME(put_bytes)(s, in, c->n, ins, intypes);                                                                        \
    NAME(put_bytes)(s, out, c->m, outs, outtypes)
#define P_Alltoallw P_TYPES(SHIFT)
#define A_Alltoallw in, ins, inshifts, intypes, out, outs, outshifts, outtypes
#define B_Alltoallw FIELDS_TYPES(size, size)
#define P_Neighbor_alltoallw P_TYPES(MPI_Aint)
#define A_Neighbor_alltoallw A_Alltoallw
#define B_Neighbor_alltoallw FIELDS_TYPES(out, in)

#define P_Reduce const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, int root
#define A_Reduce in, out, count, type, op, root
#define B_Reduce                                                                                                       \
    struct fw_comm *c = collective(s, comm, root, op);                                                                 \
    put_if(s, is_member(c, root), in, count, type);                                                                    \
    put_if(s, is_root(c, root), out, count, type)

#define REDUCED const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op
#define NAMES_REDUCED in, out, count, type, op
#define FIELDS_REDUCED                                                                                                 \
    collective(s, comm, NO_ROOT, op);                                                                                  \
    put_if(s, 1, in, count, type);                                                                                     \
    put_if(s, 1, out, count, type)
#define P_Allreduce REDUCED
#define A_Allreduce NAMES_REDUCED
#define B_Allreduce FIELDS_REDUCED
#define P_Scan REDUCED
#define A_Scan NAMES_REDUCED
#define B_Scan FIELDS_REDUCED
#define P_Exscan REDUCED
#define A_Exscan NAMES_REDUCED
#define B_Exscan FIELDS_REDUCED

/* The blocks are those that are received. */
#define P_Reduce_scatter const void *in, void *out, const COUNT counts[], MPI_Datatype type, MPI_Op op
#define A_Reduce_scatter in, out, counts, type, op
#define B_Reduce_scatter                                                                                               \
    struct fw_comm *c = collective(s, comm, NO_ROOT, op);                                                              \
    fw_put(&s->tuple, in == MPI_IN_PLACE);                                                                             \
    NAME(put_counts)(s, NULL, c->members, counts, type)
#define P_Reduce_scatter_block REDUCED
#define A_Reduce_scatter_block NAMES_REDUCED
#define B_Reduce_scatter_block                                                                                         \
    collective(s, comm, NO_ROOT, op);                                                                                  \
    fw_put(&s->tuple, in == MPI_IN_PLACE);                                                                             \
    put_if(s, 1, NULL, count, type)

#define COUNT int
#define SHIFT int
#define NAME(x) x
#include "collectives.h"
#undef COUNT
#undef SHIFT
#undef NAME

#define COUNT MPI_Count
#define SHIFT MPI_Aint
#define NAME(x) x##_c
#include "collectives.h"

#define FIELDS_BARRIER                                                                                                 \
    collective(s, comm, NO_ROOT, MPI_OP_NULL);                                                                         \
    put_nothing(s);                                                                                                    \
    put_nothing(s)
PLAIN(MPI_Barrier, "MPI_Barrier", (MPI_Comm comm), (comm), FIELDS_BARRIER)
REQUEST(MPI_Ibarrier, "MPI_Ibarrier", 0, (MPI_Comm comm, MPI_Request *request), (comm, request), FIELDS_BARRIER)
REQUEST(MPI_Barrier_init, "MPI_Barrier_init", 1, (MPI_Comm comm, MPI_Info info, MPI_Request *request),
        (comm, info, request), FIELDS_BARRIER)
REQUEST(MPIX_Barrier_init, "MPI_Barrier_init", 1, (MPI_Comm comm, MPI_Info info, MPI_Request *request),
        (comm, info, request), FIELDS_BARRIER)
