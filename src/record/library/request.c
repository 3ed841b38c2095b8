/* Requests and messages: which call made them, and what they got. */
#include "record.h"

static struct fw_map requests, messages;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fw_node *spare;

static struct fw_request *new_entry(struct fw_map *map, uint64_t key)
{
    struct fw_request *r = (struct fw_request *)spare;
    if (r)
        spare = r->node.next;
    else if (!(r = malloc(sizeof *r)))
        abort();
    memset(r, 0, sizeof *r);
    r->node.key = key;
    fw_map_add(map, &r->node);
    return r;
}

static void forget(struct fw_map *map, struct fw_request *r)
{
    fw_map_remove(map, &r->node);
    r->node.next = spare;
    spare = &r->node;
}

void fw_made(struct fw_stream *s, MPI_Request request, int kind, int persistent, int source, int tag, uint64_t bytes)
{
    struct fw_request *r;
    pthread_mutex_lock(&lock);
    r = new_entry(&requests, FW_KEY(request));
    r->n = s->requests++;
    r->thread = s->thread;
    r->kind = kind;
    r->persistent = persistent;
    r->active = !persistent;
    r->source = source;
    r->tag = tag;
    r->bytes = bytes;
    pthread_mutex_unlock(&lock);
}

void fw_made_message(struct fw_stream *s, MPI_Message message)
{
    struct fw_request *r;
    uint64_t n = s->messages++;
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC)
        return;
    pthread_mutex_lock(&lock);
    r = new_entry(&messages, FW_KEY(message));
    r->n = n;
    r->thread = s->thread;
    pthread_mutex_unlock(&lock);
}

/* The code of a request in the stream, of which the thread has made `made`. */
static uint64_t code(const struct fw_stream *s, const struct fw_request *r, uint64_t made)
{
    if (!r)
        return 4 | 3;
    if (r->thread != s->thread)
        return (r->n << 16 | (uint64_t)r->thread) << 2 | 2;
    if (r->persistent)
        return r->n << 2 | 1;
    return (made - 1 - r->n) << 2;
}

/* Takes a message before it is received. */
void fw_take_message(struct fw_stream *s, MPI_Message message)
{
    struct fw_request *r;
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) {
        s->message = 3;
        return;
    }
    pthread_mutex_lock(&lock);
    r = (struct fw_request *)fw_map_find(&messages, FW_KEY(message));
    s->message = code(s, r, s->messages);
    if (r)
        forget(&messages, r);
    pthread_mutex_unlock(&lock);
}

/* A request by itself, which stays. */
void fw_put_request(struct fw_stream *s, MPI_Request request)
{
    uint64_t ref = 3;
    if (request != MPI_REQUEST_NULL) {
        pthread_mutex_lock(&lock);
        ref = code(s, (struct fw_request *)fw_map_find(&requests, FW_KEY(request)), s->requests);
        pthread_mutex_unlock(&lock);
    }
    fw_put(&s->tuple, ref);
}

/* Several, as a sequence. */
void fw_put_requests(struct fw_stream *s, int n, const MPI_Request *handles)
{
    struct fw_seq q;
    fw_seq_begin(&q, &s->runs);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++) {
        struct fw_request *r = NULL;
        MPI_Request handle = handles[i];
        if (handle != MPI_REQUEST_NULL)
            r = (struct fw_request *)fw_map_find(&requests, FW_KEY(handle));
        fw_seq_add(&q, handle == MPI_REQUEST_NULL ? 3 : (int64_t)code(s, r, s->requests));
    }
    pthread_mutex_unlock(&lock);
    fw_seq_end(&q, &s->tuple);
}

void fw_started(MPI_Request request)
{
    struct fw_request *r;
    pthread_mutex_lock(&lock);
    r = (struct fw_request *)fw_map_find(&requests, FW_KEY(request));
    if (r)
        r->active = 1;
    pthread_mutex_unlock(&lock);
}

void fw_cancelled(MPI_Request request)
{
    struct fw_request *r;
    pthread_mutex_lock(&lock);
    r = (struct fw_request *)fw_map_find(&requests, FW_KEY(request));
    if (r)
        r->cancelled = 1;
    pthread_mutex_unlock(&lock);
}

/* Room for n statuses. */
MPI_Status *fw_room(struct fw_stream *s, int n)
{
    if (n > s->room) {
        free(s->copies);
        free(s->statuses);
        free(s->found);
        s->room = n + 16;
        s->copies = malloc((size_t)s->room * sizeof *s->copies);
        s->statuses = malloc((size_t)s->room * sizeof *s->statuses);
        s->found = malloc((size_t)s->room * sizeof *s->found);
        if (!s->copies || !s->statuses || !s->found)
            abort();
    }
    return s->statuses;
}

/* Takes the requests out of the map before the call: afterwards another thread may have one with the same handle. */
MPI_Status *fw_take(struct fw_stream *s, int n, const MPI_Request *handles)
{
    fw_room(s, n);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++) {
        struct fw_request *r = NULL;
        s->copies[i] = handles[i];
        if (handles[i] != MPI_REQUEST_NULL) {
            r = (struct fw_request *)fw_map_find(&requests, FW_KEY(s->copies[i]));
            if (r && !r->persistent)
                fw_map_remove(&requests, &r->node);
        }
        s->found[i] = r;
    }
    pthread_mutex_unlock(&lock);
    s->entered = fw_now(FW_WALL);
    return s->statuses;
}

/* Puts them back: the call failed. */
void fw_give_back(struct fw_stream *s, int n)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++)
        if (s->found[i] && !s->found[i]->persistent)
            fw_map_add(&requests, &s->found[i]->node);
    pthread_mutex_unlock(&lock);
}

void fw_put_result(struct fw_stream *s, const MPI_Status *status, int source, int tag, uint64_t bytes, int cancelled,
                   int error)
{
    MPI_Count got = 0;
    uint64_t flags = error ? 16 : 0;
    int was_cancelled = 0;
    if (cancelled)
        PMPI_Test_cancelled(status, &was_cancelled);
    if (was_cancelled) {
        fw_put(&s->tuple, flags | 8);
        return;
    }
    if (source == MPI_PROC_NULL || error) {
        /* Libraries disagree about the status of a message that was too long. */
        fw_put(&s->tuple, flags);
        return;
    }
    PMPI_Get_elements_x(status, MPI_BYTE, &got);
    if (got < 0)
        got = 0;
    flags |= (status->MPI_SOURCE != source) | (status->MPI_TAG != tag) << 1 | (uint64_t)((uint64_t)got != bytes) << 2;
    fw_put(&s->tuple, flags);
    if (flags & 1)
        fw_put_peer(s, status->MPI_SOURCE);
    if (flags & 2)
        fw_put_tag(s, status->MPI_TAG);
    if (flags & 4)
        fw_put(&s->tuple, (uint64_t)got);
}

static void result_of(struct fw_stream *s, struct fw_request *r, const MPI_Status *status, int rc)
{
    int error = 0;
    if (rc != MPI_SUCCESS && status->MPI_ERROR != MPI_SUCCESS && status->MPI_ERROR != MPI_ERR_PENDING)
        error = 1;
    if (r->kind == FW_RECV) {
        fw_put_result(s, status, r->source, r->tag, r->bytes, r->cancelled, error);
        return;
    }
    if (r->kind == FW_MATCHED) {
        /* Its probe told source and tag. */
        fw_put_result(s, status, r->source == MPI_PROC_NULL ? MPI_PROC_NULL : status->MPI_SOURCE, status->MPI_TAG,
                      r->bytes, r->cancelled, error);
        return;
    }
    if (r->kind == FW_SEND && r->cancelled) {
        int was = 0;
        PMPI_Test_cancelled(status, &was);
        fw_put(&s->tuple, (was ? 8u : 0u) | (error ? 16u : 0u));
        return;
    }
    fw_put(&s->tuple, error ? 16 : 0);
}

static void free_entry(struct fw_request *r)
{
    r->node.next = spare;
    spare = &r->node;
}

/* The request that was taken is freed. */
void fw_freed(struct fw_stream *s)
{
    struct fw_request *r = s->found[0];
    struct fw_seq q;
    fw_seq_begin(&q, &s->runs);
    fw_seq_add(&q, (int64_t)code(s, r, s->requests));
    fw_seq_end(&q, &s->tuple);
    if (!r)
        return;
    pthread_mutex_lock(&lock);
    if (r->persistent)
        fw_map_remove(&requests, &r->node);
    free_entry(r);
    pthread_mutex_unlock(&lock);
}

/* Writes the requests that were taken, and which of them are done: -1 all, else `done` of them, by `indices`. Statuses
 * are those of the done ones, in order. */
void fw_completed(struct fw_stream *s, int n, int done, const int *indices, const MPI_Status *statuses, int rc)
{
    struct fw_seq q;
    int all = done < 0, count = done < 0 ? n : done;
    fw_seq_begin(&q, &s->runs);
    for (int i = 0; i < n; i++) {
        struct fw_request *r = s->found[i];
        int null = s->copies[i] == MPI_REQUEST_NULL || (r && !r->active);
        if (null)
            s->found[i] = r = NULL;
        fw_seq_add(&q, null ? 3 : (int64_t)code(s, r, s->requests));
    }
    fw_seq_end(&q, &s->tuple);
    /* After an error some of all may not be done. */
    for (int i = 0; all && rc != MPI_SUCCESS && i < n; i++)
        if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            all = 0;
    fw_put(&s->tuple, all ? 1 : count == 0 ? 0 : 2);
    if (!all && count > 0) {
        fw_seq_begin(&q, &s->runs);
        for (int i = 0; i < count; i++)
            if (done > 0 || statuses[i].MPI_ERROR != MPI_ERR_PENDING)
                fw_seq_add(&q, done > 0 ? indices[i] : i);
        fw_seq_end(&q, &s->tuple);
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        int at = done > 0 ? indices[i] : i;
        struct fw_request *r = s->found[at];
        if (!r || (done < 0 && !all && statuses[i].MPI_ERROR == MPI_ERR_PENDING))
            continue;
        result_of(s, r, &statuses[i], rc);
        r->active = r->cancelled = 0;
        if (!r->persistent)
            free_entry(r);
        s->found[at] = NULL;
    }
    pthread_mutex_unlock(&lock);
    fw_give_back(s, n);
}
