/* Functions that start, complete and give up requests. */
#include "record.h"

#define TAKE(n, requests)                                                                                              \
    MPI_Status *own = fw_take(s, n, requests);                                                                         \
    if (ignored)                                                                                                       \
    status = own
#define TAKE_ONE                                                                                                       \
    int ignored = status == MPI_STATUS_IGNORE;                                                                         \
    TAKE(1, request)
#define TAKE_ANY                                                                                                       \
    int ignored = status == MPI_STATUS_IGNORE;                                                                         \
    TAKE(n, requests)
#define TAKE_ALL                                                                                                       \
    int ignored = status == MPI_STATUSES_IGNORE;                                                                       \
    TAKE(n, requests)

/* A wrapper whose requests return into the map if the call fails. */
#define COMPLETE(x, params, args, before, poll, n, ...)                                                                \
    FW_POLL(MPI_##x, "MPI_" #x, params, args, before, !failed(s, rc, n) && (poll), __VA_ARGS__)

static int failed(struct fw_stream *s, int rc, int n)
{
    if (!fw_failed(rc))
        return 0;
    fw_give_back(s, n);
    return 1;
}

/* A single status has no error in it. */
static void one(struct fw_stream *s, int n, int done, const int *index, MPI_Status *status, int rc)
{
    if (rc != MPI_SUCCESS && done != 0)
        status->MPI_ERROR = rc;
    fw_completed(s, n, done, index, status, rc);
}

COMPLETE(Wait, (MPI_Request * request, MPI_Status *status), (request, status), TAKE_ONE, 0, 1,
         one(s, 1, -1, NULL, status, rc))

COMPLETE(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), TAKE_ONE, !*flag, 1,
         one(s, 1, *flag ? -1 : 0, NULL, status, rc))

COMPLETE(Waitall, (int n, MPI_Request requests[], MPI_Status status[]), (n, requests, status), TAKE_ALL, 0, n,
         fw_completed(s, n, -1, NULL, status, rc))

COMPLETE(Testall, (int n, MPI_Request requests[], int *flag, MPI_Status status[]), (n, requests, flag, status),
         TAKE_ALL, !*flag, n, fw_completed(s, n, *flag ? -1 : 0, NULL, status, rc))

COMPLETE(Waitany, (int n, MPI_Request requests[], int *index, MPI_Status *status), (n, requests, index, status),
         TAKE_ANY, 0, n, one(s, n, *index != MPI_UNDEFINED, index, status, rc))

COMPLETE(Testany, (int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
         (n, requests, index, flag, status), TAKE_ANY, !*flag, n,
         one(s, n, *flag && *index != MPI_UNDEFINED, index, status, rc))

#define DONE (*done == MPI_UNDEFINED ? 0 : *done)

COMPLETE(Waitsome, (int n, MPI_Request requests[], int *done, int indices[], MPI_Status status[]),
         (n, requests, done, indices, status), TAKE_ALL, 0, n, fw_completed(s, n, DONE, indices, status, rc))

COMPLETE(Testsome, (int n, MPI_Request requests[], int *done, int indices[], MPI_Status status[]),
         (n, requests, done, indices, status), TAKE_ALL, *done == 0, n,
         fw_completed(s, n, DONE, indices, status, rc))

FW_POLL(MPI_Request_get_status, "MPI_Request_get_status", (MPI_Request request, int *flag, MPI_Status *status),
        (request, flag, status), , !*flag, fw_put_request(s, request);
        fw_put(&s->tuple, *flag != 0))

FW_CALL(MPI_Start, "MPI_Start", (MPI_Request * request), (request), , fw_put_requests(s, 1, request);
        fw_started(*request))

FW_CALL(MPI_Startall, "MPI_Startall", (int n, MPI_Request requests[]), (n, requests), , fw_put_requests(s, n, requests);
        for (int i = 0; i < n; i++) fw_started(requests[i]))

FW_CALL(MPI_Cancel, "MPI_Cancel", (MPI_Request * request), (request), fw_cancelled(*request),
        fw_put_requests(s, 1, request))

FW_CALL(MPI_Request_free, "MPI_Request_free", (MPI_Request * request), (request), (void)fw_take(s, 1, request),
        fw_freed(s))
