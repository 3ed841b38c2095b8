/* The fields of calls, and the functions that send and receive messages. */
#include "record.h"

uint64_t fw_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)size;
}

void fw_put_peer(struct fw_stream *s, int peer)
{
    uint64_t code = peer == MPI_ANY_SOURCE ? 0 : peer == MPI_PROC_NULL ? 1 : peer == MPI_ROOT ? 2 : (uint64_t)peer + 3;
    fw_put(&s->tuple, code);
}

void fw_put_tag(struct fw_stream *s, int tag)
{
    fw_put(&s->tuple, tag == MPI_ANY_TAG ? 0 : (uint64_t)tag + 1);
}

void fw_envelope(struct fw_stream *s, MPI_Comm comm, int peer, int tag)
{
    fw_put_comm(s, comm);
    fw_put_peer(s, peer);
    fw_put_tag(s, tag);
}

uint64_t fw_data(struct fw_stream *s, int64_t count, MPI_Datatype type)
{
    uint64_t size = fw_size(type);
    fw_put(&s->tuple, (uint64_t)count);
    fw_put(&s->tuple, size);
    return (uint64_t)count * size;
}
