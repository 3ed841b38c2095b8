/* flitwise record: writes the MPI calls of a program (docs/reference/recording.md).
 *
 * The wrappers take the names MPI_X and PMPI_X, so that Fortran bindings, which call either, are seen as well.
 * A depth per thread lets nothing count twice. */
#ifndef FLITWISE_RECORD_H
#define FLITWISE_RECORD_H

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FW_VERSION 1
#define FW_SLOTS 4096
#define FW_CALLS 1024

/* A function of MPI. Its id is given when it is first recorded. */
struct fw_call {
    const char *name;
    int id;
};

/* Bytes that grow. */
struct fw_bytes {
    unsigned char *at;
    size_t len, cap;
};

/* A tuple that the reader knows. */
struct fw_slot {
    uint64_t hash;
    unsigned char *tuple;
    uint32_t len, cap;
    int next; /* of the same bucket, or -1 */
    int used;
};

struct fw_overhead {
    uint32_t cpu, wall, inside, call;
};

/* What one thread writes. */
struct fw_stream {
    int depth, thread, file;
    const char *frame; /* of the call that is being recorded */
    volatile int writing; /* a record is not complete */
    uint64_t clock;    /* the reader's, at the end of the previous call */
    uint64_t cpu, wall;                 /* at the end of the previous call */
    uint64_t read, behind;              /* when the CPU clock was read, and the part of this reading behind its value */
    volatile uint64_t *section;         /* of the kernel's restartable sequences: see stays.c; NULL if there are none */
    uint64_t cpu_start, wall_start;     /* at the beginning of the stream */
    uint64_t gap_cpu, gap_wall, inside; /* of this call */
    uint64_t entered, began; /* of this call, without and with the reading of its clocks */
    uint64_t flushed, block;
    struct fw_bytes out, tuple, runs;
    uint64_t requests, messages; /* made by this thread */
    uint64_t message;            /* code of the one that is being received */
    /* The poll that has not been written yet: how often it found nothing, and its times. */
    int poll_slot, poll_new;
    int polled; /* the previous call found nothing */
    uint64_t polls, poll_cpu, poll_wall, poll_inside;
    struct fw_slot *slots;
    int *buckets;
    int next_slot;
    uint16_t index[FW_CALLS]; /* of calls, 0: none yet */
    int indices;
    struct fw_bytes defined;  /* communicators, a byte each */
    uint64_t comm_key, comm_epoch;
    struct fw_comm *comm, *freed;
    /* Copies for calls that overwrite or ignore. */
    MPI_Request *copies;
    MPI_Status *statuses;
    struct fw_request **found;
    int room;
    struct fw_stream *next;
};

/* An entry of a map from handles. */
struct fw_node {
    uint64_t key;
    struct fw_node *next;        /* of the same bucket */
    struct fw_node *twin, *last; /* of the same handle: the next one; of the first one, the last */
};

struct fw_map {
    struct fw_node **buckets;
    size_t count, size;
};

/* A communicator; its flags. */
enum { FW_INTER = 1, FW_TOPOLOGY = 2 };
struct fw_comm {
    struct fw_node node;
    int id, parent, nth, flags, rank, members;
    int size;    /* of the remote group, if there is one, else as `members` */
    int in, out; /* neighbours */
    int children;
    struct fw_comm *before; /* made before this one */
    struct fw_call *maker;
    struct fw_bytes groups; /* encoded members, remote members, neighbours */
};

enum { FW_SEND, FW_RECV, FW_MATCHED, FW_OTHER }; /* FW_MATCHED: by MPI_Mprobe */

/* A request, or a message of MPI_Mprobe. */
struct fw_request {
    struct fw_node node;
    uint64_t n;
    int thread, kind, persistent, active, cancelled;
    int source, tag;
    uint64_t bytes;
};

extern int fw_active;
extern __thread struct fw_stream *fw_me __attribute__((tls_model("initial-exec")));
extern pthread_mutex_t fw_lock;
extern uint64_t fw_comm_epoch;

/* clock */
static inline uint64_t fw_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#define FW_WALL CLOCK_MONOTONIC
#define FW_CPU CLOCK_THREAD_CPUTIME_ID

/* stays.c: whether this thread has had its processor all the time. Then its CPU time has grown like the wall clock, and
 * the CPU clock, which the kernel tells in half a microsecond, need not be read. */
#define FW_SHORT 20000u /* nanoseconds for which that is good enough: interrupts count as well */
#define FW_STALE 100000u
extern uint64_t fw_section, fw_read_cost;
void fw_watch(struct fw_stream *s);
static inline int fw_stayed(const struct fw_stream *s)
{
    return s->section && *s->section == fw_section;
}
/* Reads the CPU clock. */
static inline uint64_t fw_read(struct fw_stream *s, uint64_t wall)
{
    if (s->section)
        *s->section = fw_section;
    s->read = wall;
    return fw_now(FW_CPU);
}

/* patience.c */
void fw_start_patiently(int starts);
void fw_yield_to_launcher(void);

/* bytes.c */
void fw_grow(struct fw_bytes *b, size_t more);
void fw_text(struct fw_bytes *b, const char *text);
void fw_append(struct fw_bytes *b, const void *at, size_t len);
uint32_t fw_crc(uint32_t crc, const void *at, size_t len);
uint64_t fw_hash(const unsigned char *at, size_t len);

static inline void fw_put(struct fw_bytes *b, uint64_t v)
{
    if (b->len + 10 > b->cap)
        fw_grow(b, 10);
    while (v >= 128) {
        b->at[b->len++] = (unsigned char)(v | 128);
        v >>= 7;
    }
    b->at[b->len++] = (unsigned char)v;
}
static inline uint64_t fw_signed(int64_t v)
{
    return v < 0 ? (((uint64_t)-(v + 1)) << 1) | 1 : (uint64_t)v << 1;
}

/* A sequence of numbers in arithmetic runs: fw_seq_begin, fw_seq_add for each, fw_seq_end. */
struct fw_seq {
    struct fw_bytes *runs;
    uint64_t count, in_run;
    int64_t first, last, stride;
};
void fw_seq_begin(struct fw_seq *q, struct fw_bytes *scratch);
void fw_seq_add(struct fw_seq *q, int64_t v);
void fw_seq_end(struct fw_seq *q, struct fw_bytes *to);

/* stream.c */
struct fw_stream *fw_open(void);
void fw_calibrate(struct fw_stream *s);
void fw_begin(struct fw_stream *s, struct fw_call *call, int failed);
void fw_end(struct fw_stream *s, int poll);
void fw_finish(struct fw_stream *s, int reason);
void fw_finish_all(int reason);
void fw_watch_signals(void);
void fw_flush(struct fw_stream *s);
void fw_note(struct fw_stream *s, const char *text);
int fw_index(struct fw_stream *s, struct fw_call *call);

/* Calls that MPI makes of itself lie deeper in the stack than the call that made them, by more than its FW_ROOM; a call
 * after an error handler left by longjmp does not, although its arguments may lie on the stack. */
#define FW_ROOM 256
#define FW_ARGUMENTS 128

/* The stream of this thread if this call is to be recorded, else NULL. */
static inline struct fw_stream *fw_enter(void)
{
    struct fw_stream *s = fw_me;
    const char *frame = __builtin_frame_address(0);
    if (!fw_active)
        return NULL;
    if (!s && !(s = fw_open()))
        return NULL;
    if (s->file < 0 || (s->depth && frame + FW_ARGUMENTS < s->frame))
        return NULL;
    s->depth = 1;
    s->frame = frame;
    s->entered = fw_now(FW_WALL);
    s->gap_wall = s->entered - s->wall;
    if (s->gap_wall < FW_SHORT && fw_stayed(s)) {
        s->gap_cpu = s->gap_wall;
        s->cpu += s->gap_wall + s->behind;
        s->began = s->entered;
    } else {
        uint64_t cpu = fw_read(s, s->entered), from = s->cpu + s->behind + fw_read_cost / 2;
        s->gap_cpu = cpu > from ? cpu - from : 0;
        s->cpu = cpu - fw_read_cost / 2;
        s->began = fw_now(FW_WALL);
    }
    return s;
}
static inline void fw_leave(struct fw_stream *s)
{
    s->inside = fw_now(FW_WALL) - s->began;
}
/* The next call's gap begins here. */
static inline void fw_resume(struct fw_stream *s)
{
    s->depth = 0;
    s->writing = 0;
    s->wall = fw_now(FW_WALL);
    s->behind = 0;
    if (s->wall - s->read < FW_STALE && fw_stayed(s)) {
        s->cpu += s->wall - s->entered;
    } else {
        s->cpu = fw_read(s, s->wall);
        s->wall = fw_now(FW_WALL);
        s->behind = fw_read_cost / 2;
    }
}
/* Whether a call failed; a truncated or partly failed one has happened. */
int fw_failed(int rc);

/* map.c */
uint64_t fw_key(const void *handle, size_t size);
#define FW_KEY(handle) fw_key(&(handle), sizeof(handle))
void fw_map_add(struct fw_map *map, struct fw_node *node);
struct fw_node *fw_map_find(struct fw_map *map, uint64_t key);
void fw_map_remove(struct fw_map *map, struct fw_node *node);

/* comm.c */
struct fw_comm *fw_comm(struct fw_stream *s, MPI_Comm comm);
void fw_put_comm(struct fw_stream *s, MPI_Comm comm);
void fw_made_comm(struct fw_stream *s, struct fw_call *call, MPI_Comm parent, MPI_Comm made, int kind);
/* Kinds of its making: by all of the parent, not yet usable, by the members alone, from two groups. */
enum { FW_BY_PARENT, FW_PENDING, FW_BY_MEMBERS, FW_BY_TWO };
void fw_define_comm(struct fw_stream *s, const struct fw_comm *comm);
void fw_freed_comm(struct fw_stream *s, MPI_Comm comm);
void fw_put_freed(struct fw_stream *s);
void fw_world(void);

/* request.c */
void fw_made(struct fw_stream *s, MPI_Request request, int kind, int persistent, int source, int tag, uint64_t bytes);
void fw_made_message(struct fw_stream *s, MPI_Message message);
void fw_take_message(struct fw_stream *s, MPI_Message message);
void fw_put_request(struct fw_stream *s, MPI_Request request);
void fw_put_requests(struct fw_stream *s, int n, const MPI_Request *requests);
void fw_started(MPI_Request request);
void fw_freed(struct fw_stream *s);
void fw_cancelled(MPI_Request request);
MPI_Status *fw_room(struct fw_stream *s, int n);
MPI_Status *fw_take(struct fw_stream *s, int n, const MPI_Request *requests);
void fw_give_back(struct fw_stream *s, int n);
void fw_completed(struct fw_stream *s, int n, int done, const int *indices, const MPI_Status *statuses, int rc);
void fw_put_result(struct fw_stream *s, const MPI_Status *status, int source, int tag, uint64_t bytes, int cancelled,
                   int error);

/* tuple.c */
uint64_t fw_size(MPI_Datatype type);
void fw_put_peer(struct fw_stream *s, int peer);
void fw_put_tag(struct fw_stream *s, int tag);
void fw_envelope(struct fw_stream *s, MPI_Comm comm, int peer, int tag);
uint64_t fw_data(struct fw_stream *s, int64_t count, MPI_Datatype type);

/* process.c */
void fw_say(const char *text);
extern int fw_file_rank, fw_ranks;
extern struct fw_overhead fw_overhead;
extern unsigned char fw_run[16];
extern uint32_t fw_processors;
extern const char *fw_directory;
extern uint64_t fw_process_start;
int fw_process_threads(void);

void *fw_next(const char *name);

/* description.c: what rank 0 tells about all ranks. */
#define FW_HOST 256
#define FW_MASK 16
typedef uint64_t fw_mask[FW_MASK]; /* a bit for each processor that a rank may use */
struct fw_description {
    long long started; /* seconds since 1970 */
    int level;
    char *hosts; /* of each rank, in FW_HOST bytes */
    int *processors;
    fw_mask *masks;
};
void fw_describe(const struct fw_description *about, int finalised);

/* A wrapper, whose type need not agree with the header in every const: `before` prepares arguments, the rest writes the fields of the tuple. */
#define FW_CALL_(symbol, psymbol, text, params, args, before, poll, ...)                                               \
    int fw_##symbol params __asm__(#symbol);                                                                           \
    int fw_##psymbol params __asm__(#psymbol) __attribute__((alias(#symbol)));                                         \
    int fw_##symbol params                                                                                             \
    {                                                                                                                  \
        static int(*next) params;                                                                                      \
        static struct fw_call call = {text, -1};                                                                       \
        struct fw_stream *s;                                                                                           \
        char room[FW_ROOM];                                                                                            \
        int rc;                                                                                                        \
        __asm__ volatile("" : : "r"(room) : "memory");                                                                 \
        if (!next && !(next = (int(*) params)fw_next(#psymbol)))                                                       \
            return MPI_ERR_OTHER;                                                                                      \
        s = fw_enter();                                                                                                \
        if (!s)                                                                                                        \
            return next args;                                                                                          \
        before;                                                                                                        \
        rc = next args;                                                                                                \
        fw_leave(s);                                                                                                   \
        fw_begin(s, &call, fw_failed(rc));                                                                             \
        if (!fw_failed(rc)) {                                                                                          \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        fw_end(s, poll);                                                                                               \
        fw_resume(s);                                                                                                  \
        return rc;                                                                                                     \
    }
#define FW_CALL(...) FW_CALL2(__VA_ARGS__)
#define FW_CALL2(symbol, text, params, args, before, ...)                                                              \
    FW_CALL_(symbol, P##symbol, text, params, args, before, 0, __VA_ARGS__)
/* The same for a call that may find nothing: then `poll` is true. */
#define FW_POLL(symbol, text, params, args, before, poll, ...)                                                         \
    FW_CALL_(symbol, P##symbol, text, params, args, before, poll, __VA_ARGS__)

#endif
