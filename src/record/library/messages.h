/* Messages, for one width of counts: included twice, with COUNT and NAME. */

#define ARGS_SEND const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm
#define SEND(x)                                                                                                        \
    FW_CALL(NAME(MPI_##x), "MPI_" #x, (ARGS_SEND), (buf, count, type, dest, tag, comm), ,                              \
            fw_envelope(s, comm, dest, tag);                                                                           \
            fw_data(s, count, type))
#define START_SEND(x, persistent)                                                                                      \
    FW_CALL(NAME(MPI_##x), "MPI_" #x, (ARGS_SEND, MPI_Request *request), (buf, count, type, dest, tag, comm, request), \
            , fw_envelope(s, comm, dest, tag);                                                                         \
            fw_data(s, count, type);                                                                                   \
            fw_made(s, *request, FW_SEND, persistent, dest, tag, 0))

SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)
START_SEND(Isend, 0)
START_SEND(Issend, 0)
START_SEND(Irsend, 0)
START_SEND(Ibsend, 0)
START_SEND(Send_init, 1)
START_SEND(Ssend_init, 1)
START_SEND(Rsend_init, 1)
START_SEND(Bsend_init, 1)

#define ARGS_RECV void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm

FW_CALL(NAME(MPI_Recv), "MPI_Recv", (ARGS_RECV, MPI_Status *status), (buf, count, type, source, tag, comm, status),
        OWN_STATUS, uint64_t bytes;
        fw_envelope(s, comm, source, tag);
        bytes = fw_data(s, count, type);
        fw_put_result(s, status, source, tag, bytes, 0, rc != MPI_SUCCESS))

#define START_RECV(x, persistent)                                                                                      \
    FW_CALL(NAME(MPI_##x), "MPI_" #x, (ARGS_RECV, MPI_Request *request),                                               \
            (buf, count, type, source, tag, comm, request), , uint64_t bytes;                                          \
            fw_envelope(s, comm, source, tag);                                                                         \
            bytes = fw_data(s, count, type);                                                                           \
            fw_made(s, *request, FW_RECV, persistent, source, tag, bytes))

START_RECV(Irecv, 0)
START_RECV(Recv_init, 1)

FW_CALL(NAME(MPI_Mrecv), "MPI_Mrecv",
        (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
        (buf, count, type, message, status), OWN_STATUS;
        fw_take_message(s, *message), uint64_t bytes;
        fw_put(&s->tuple, s->message);
        bytes = fw_data(s, count, type);
        fw_put_result(s, status, s->message == 3 ? MPI_PROC_NULL : status->MPI_SOURCE, status->MPI_TAG, bytes, 0,
                      rc != MPI_SUCCESS))

FW_CALL(NAME(MPI_Imrecv), "MPI_Imrecv",
        (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
        (buf, count, type, message, request), fw_take_message(s, *message), uint64_t bytes;
        fw_put(&s->tuple, s->message);
        bytes = fw_data(s, count, type);
        fw_made(s, *request, FW_MATCHED, 0, s->message == 3 ? MPI_PROC_NULL : 0, 0, bytes))

#define ARGS_BOTH                                                                                                      \
    const void *out, COUNT outs, MPI_Datatype outtype, int dest, int outtag, void *in, COUNT ins,                      \
        MPI_Datatype intype, int source, int intag, MPI_Comm comm
#define ARGS_REPLACE                                                                                                   \
    void *buf, COUNT count, MPI_Datatype type, int dest, int outtag, int source, int intag, MPI_Comm comm
#define FIELDS_BOTH(outs, outtype, ins, intype)                                                                        \
    uint64_t bytes;                                                                                                    \
    fw_envelope(s, comm, dest, outtag);                                                                                \
    fw_data(s, outs, outtype);                                                                                         \
    fw_put_peer(s, source);                                                                                            \
    fw_put_tag(s, intag);                                                                                              \
    bytes = fw_data(s, ins, intype)

FW_CALL(NAME(MPI_Sendrecv), "MPI_Sendrecv", (ARGS_BOTH, MPI_Status *status),
        (out, outs, outtype, dest, outtag, in, ins, intype, source, intag, comm, status), OWN_STATUS,
        FIELDS_BOTH(outs, outtype, ins, intype);
        fw_put_result(s, status, source, intag, bytes, 0, rc != MPI_SUCCESS))
FW_CALL(NAME(MPI_Sendrecv_replace), "MPI_Sendrecv_replace", (ARGS_REPLACE, MPI_Status *status),
        (buf, count, type, dest, outtag, source, intag, comm, status), OWN_STATUS, FIELDS_BOTH(count, type, count, type);
        fw_put_result(s, status, source, intag, bytes, 0, rc != MPI_SUCCESS))
FW_CALL(NAME(MPI_Isendrecv), "MPI_Isendrecv", (ARGS_BOTH, MPI_Request *request),
        (out, outs, outtype, dest, outtag, in, ins, intype, source, intag, comm, request), ,
        FIELDS_BOTH(outs, outtype, ins, intype);
        fw_made(s, *request, FW_RECV, 0, source, intag, bytes))
FW_CALL(NAME(MPI_Isendrecv_replace), "MPI_Isendrecv_replace", (ARGS_REPLACE, MPI_Request *request),
        (buf, count, type, dest, outtag, source, intag, comm, request), , FIELDS_BOTH(count, type, count, type);
        fw_made(s, *request, FW_RECV, 0, source, intag, bytes))

#undef ARGS_SEND
#undef SEND
#undef START_SEND
#undef ARGS_RECV
#undef START_RECV
#undef ARGS_BOTH
#undef ARGS_REPLACE
#undef FIELDS_BOTH
