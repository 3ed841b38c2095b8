/* Functions that send, receive and look for messages. */
#include "record.h"

/* A status of our own tells what was received when the program ignores it. */
#define OWN_STATUS                                                                                                     \
    if (status == MPI_STATUS_IGNORE)                                                                                   \
    status = fw_room(s, 1)

#define COUNT int
#define NAME(x) x
#include "messages.h"
#undef COUNT
#undef NAME

#define COUNT MPI_Count
#define NAME(x) x##_c
#include "messages.h"

/* Source, tag and bytes of a message that was found. */
static void put_found(struct fw_stream *s, const MPI_Status *status, int source, int tag)
{
    fw_put_result(s, status, source, tag, UINT64_MAX, 0, 0);
}

FW_CALL(MPI_Probe, "MPI_Probe", (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status),
        OWN_STATUS, fw_envelope(s, comm, source, tag);
        put_found(s, status, source, tag))

FW_CALL(MPI_Mprobe, "MPI_Mprobe", (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
        (source, tag, comm, message, status), OWN_STATUS, fw_envelope(s, comm, source, tag);
        put_found(s, status, source, tag);
        fw_made_message(s, *message))

FW_POLL(MPI_Iprobe, "MPI_Iprobe", (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
        (source, tag, comm, flag, status), OWN_STATUS, !*flag, fw_envelope(s, comm, source, tag);
        fw_put(&s->tuple, *flag != 0);
        if (*flag) put_found(s, status, source, tag))

FW_POLL(MPI_Improbe, "MPI_Improbe",
        (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
        (source, tag, comm, flag, message, status), OWN_STATUS, !*flag, fw_envelope(s, comm, source, tag);
        fw_put(&s->tuple, *flag != 0);
        if (*flag) {
            put_found(s, status, source, tag);
            fw_made_message(s, *message);
        })

/* It waits for the messages of the buffer. */
FW_CALL(MPI_Buffer_detach, "MPI_Buffer_detach", (void *buf, int *size), (buf, size), , )

/* Partitioned communication. */
#define PARTITIONED(x, kind)                                                                                           \
    FW_CALL(MPI_##x, "MPI_" #x,                                                                                        \
            (PARTITIONED_BUFFER(kind) buf, int partitions, MPI_Count count, MPI_Datatype type, int peer, int tag,      \
             MPI_Comm comm, MPI_Info info, MPI_Request *request),                                                      \
            (buf, partitions, count, type, peer, tag, comm, info, request), , fw_envelope(s, comm, peer, tag);         \
            fw_put(&s->tuple, (uint64_t)partitions);                                                                   \
            fw_data(s, count, type);                                                                                   \
            fw_made(s, *request, FW_OTHER, 1, peer, tag, 0))
#define PARTITIONED_BUFFER(kind) PARTITIONED_##kind
#define PARTITIONED_SEND const void *
#define PARTITIONED_RECV void *
PARTITIONED(Psend_init, SEND)
PARTITIONED(Precv_init, RECV)

static void put_partitions(struct fw_stream *s, int from, int to, const int *list)
{
    struct fw_seq q;
    fw_seq_begin(&q, &s->runs);
    for (int i = from; i <= to; i++)
        fw_seq_add(&q, list ? list[i] : i);
    fw_seq_end(&q, &s->tuple);
}

FW_CALL(MPI_Pready, "MPI_Pready", (int partition, MPI_Request request), (partition, request), ,
        fw_put_request(s, request);
        put_partitions(s, partition, partition, NULL))
FW_CALL(MPI_Pready_range, "MPI_Pready_range", (int low, int high, MPI_Request request), (low, high, request), ,
        fw_put_request(s, request);
        put_partitions(s, low, high, NULL))
FW_CALL(MPI_Pready_list, "MPI_Pready_list", (int n, const int list[], MPI_Request request), (n, list, request), ,
        fw_put_request(s, request);
        put_partitions(s, 0, n - 1, list))
FW_POLL(MPI_Parrived, "MPI_Parrived", (MPI_Request request, int partition, int *flag), (request, partition, flag), ,
        !*flag, fw_put_request(s, request);
        fw_put(&s->tuple, (uint64_t)partition);
        fw_put(&s->tuple, *flag != 0))
