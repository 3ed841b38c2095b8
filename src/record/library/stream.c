/* Streams: a file per thread, in blocks that are checked one by one, with a dictionary of tuples. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define BLOCK 65536             /* a block is written when it has so many bytes, */
#define PERIOD 1000000000u      /* or after so many nanoseconds */
#define LONGEST 512             /* bytes of a tuple in the dictionary */
#define DRIFT 100u              /* nanoseconds by which a reader's clock may be wrong if there are several threads */
#define LOOP 4000u              /* nanoseconds before a poll of a loop, at most: longer ones are computation */

enum { INLINE, DEFINE, REPEAT, NAME, COMM, END, NOTE, TIME, FIRST_SLOT = 8 };

int fw_active;
__thread struct fw_stream *fw_me __attribute__((tls_model("initial-exec")));
pthread_mutex_t fw_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fw_stream *streams;
static int threads;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ends(void *at)
{
    struct fw_stream *s = at;
    if (!fw_active || s->depth)
        return;
    fw_finish(s, 1);
    /* The rest stays in the list of streams. */
    for (int i = 0; i < FW_SLOTS; i++)
        free(s->slots[i].tuple);
    free(s->slots);
    free(s->buckets);
    free(s->out.at);
    free(s->tuple.at);
    free(s->runs.at);
    free(s->defined.at);
    free(s->copies);
    free(s->statuses);
    free(s->found);
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ends);
}

static void write_all(struct fw_stream *s, const unsigned char *at, size_t len)
{
    while (len && s->file >= 0) {
        ssize_t n = write(s->file, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            char text[200];
            snprintf(text, sizeof text, "rank %d: cannot write: %s; the rest is not recorded", fw_file_rank,
                     strerror(errno));
            fw_say(text);
            close(s->file);
            s->file = -1;
            return;
        }
        at += n;
        len -= (size_t)n;
    }
}

static void le(unsigned char *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(v >> 8 * i);
}

/* The time of the monotonic clock's zero. All threads of a rank have the same, whatever sets the system's clock. */
static uint64_t since_1970;

static void write_header(struct fw_stream *s)
{
    unsigned char h[80] = "FLITREC\n";
    le(h + 8, FW_VERSION, 4);
    le(h + 12, (uint64_t)fw_file_rank, 4);
    le(h + 16, (uint64_t)s->thread, 4);
    le(h + 20, (uint64_t)fw_ranks, 4);
    memcpy(h + 24, fw_run, 16);
    le(h + 40, s->wall_start + since_1970, 8);
    le(h + 48, fw_overhead.cpu, 4);
    le(h + 52, fw_overhead.wall, 4);
    le(h + 56, fw_overhead.inside, 4);
    le(h + 60, fw_overhead.call, 4);
    le(h + 64, fw_processors, 4);
    le(h + 76, fw_crc(0, h, 76), 4);
    write_all(s, h, sizeof h);
}

struct fw_stream *fw_open(void)
{
    struct fw_stream *s = calloc(1, sizeof *s);
    char path[4096];
    if (!s)
        return NULL;
    pthread_once(&once, make_key);
    s->slots = calloc(FW_SLOTS, sizeof *s->slots);
    s->buckets = malloc(FW_SLOTS * sizeof *s->buckets);
    s->file = -1;
    s->poll_slot = -1;
    fw_me = s;
    pthread_setspecific(key, s);
    if (!s->slots || !s->buckets)
        return NULL;
    memset(s->buckets, -1, FW_SLOTS * sizeof *s->buckets);
    pthread_mutex_lock(&fw_lock);
    s->thread = threads++;
    if (!since_1970)
        since_1970 = fw_now(CLOCK_REALTIME) - fw_now(FW_WALL);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&fw_lock);
    snprintf(path, sizeof path, "%s/%d.%d.calls", fw_directory, fw_file_rank, s->thread);
    s->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->file < 0) {
        char text[4200];
        snprintf(text, sizeof text, "rank %d: cannot write `%s`: %s; it is not recorded", fw_file_rank, path,
                 strerror(errno));
        fw_say(text);
        return s;
    }
    /* The first gap of the main thread begins with the process, of others with their first call. */
    s->wall_start = s->wall = s->block = s->flushed = fw_now(FW_WALL);
    s->cpu_start = s->cpu = fw_now(FW_CPU);
    fw_watch(s);
    if (s->thread == 0) {
        fw_calibrate(s);
        /* On a busy machine that may have taken seconds. */
        s->wall_start = s->wall = s->block = s->flushed = fw_now(FW_WALL);
    }
    write_header(s);
    s->out.len = 16;
    fw_grow(&s->out, BLOCK);
    return s;
}

static void flush_poll(struct fw_stream *s);

void fw_flush(struct fw_stream *s)
{
    unsigned char *h = s->out.at;
    flush_poll(s);
    h = s->out.at;
    if (s->out.len > 16) {
        size_t len = s->out.len - 16;
        le(h, len, 4);
        le(h + 8, s->block - s->wall_start, 8);
        le(h + 4, fw_crc(0, h + 8, len + 8), 4);
        write_all(s, h, s->out.len);
        s->out.len = 16;
    }
    s->flushed = s->block = fw_now(FW_WALL);
    if (s->block - s->wall_start > s->clock)
        s->clock = s->block - s->wall_start;
}

/* The place of a tuple in the dictionary, or -1. */
static int find(struct fw_stream *s, const struct fw_bytes *tuple, uint64_t hash)
{
    int at = s->buckets[hash % FW_SLOTS];
    for (; at >= 0; at = s->slots[at].next) {
        struct fw_slot *slot = &s->slots[at];
        if (slot->hash == hash && slot->len == tuple->len && !memcmp(slot->tuple, tuple->at, tuple->len))
            return at;
    }
    return -1;
}

static int define(struct fw_stream *s, const struct fw_bytes *tuple, uint64_t hash)
{
    int at = s->next_slot;
    struct fw_slot *slot = &s->slots[at];
    s->next_slot = (at + 1) % FW_SLOTS;
    if (slot->used) {
        int *link = &s->buckets[slot->hash % FW_SLOTS];
        while (*link != at)
            link = &s->slots[*link].next;
        *link = slot->next;
    }
    if (slot->cap < tuple->len) {
        free(slot->tuple);
        slot->cap = (uint32_t)tuple->len + 16;
        slot->tuple = malloc(slot->cap);
        if (!slot->tuple)
            abort();
    }
    memcpy(slot->tuple, tuple->at, tuple->len);
    slot->len = (uint32_t)tuple->len;
    slot->hash = hash;
    slot->used = 1;
    slot->next = s->buckets[hash % FW_SLOTS];
    s->buckets[hash % FW_SLOTS] = at;
    return at;
}

static void put_times(struct fw_stream *s, uint64_t cpu, uint64_t wall, uint64_t inside)
{
    fw_put(&s->out, cpu);
    fw_put(&s->out, fw_signed((int64_t)(wall - cpu)));
    fw_put(&s->out, inside);
}

static void put_tuple(struct fw_stream *s, int slot, int is_new, const void *tuple, size_t len)
{
    if (slot >= 0 && !is_new) {
        fw_put(&s->out, (uint64_t)slot + FIRST_SLOT);
        return;
    }
    fw_put(&s->out, is_new ? DEFINE : INLINE);
    fw_put(&s->out, len);
    fw_append(&s->out, tuple, len);
}

static void flush_poll(struct fw_stream *s)
{
    struct fw_slot *slot = &s->slots[s->poll_slot < 0 ? 0 : s->poll_slot];
    if (!s->polls)
        return;
    if (s->polls > 1) {
        fw_put(&s->out, REPEAT);
        fw_put(&s->out, s->polls);
    }
    put_tuple(s, s->poll_slot, s->poll_new, slot->tuple, slot->len);
    put_times(s, s->poll_cpu, s->poll_wall, s->poll_inside);
    s->polls = 0;
    s->poll_slot = -1;
}

int fw_index(struct fw_stream *s, struct fw_call *call)
{
    static int calls;
    if (call->id < 0) {
        pthread_mutex_lock(&fw_lock);
        if (call->id < 0)
            call->id = calls < FW_CALLS - 1 ? calls++ : FW_CALLS - 1;
        pthread_mutex_unlock(&fw_lock);
    }
    if (!s->index[call->id]) {
        flush_poll(s);
        fw_put(&s->out, NAME);
        fw_text(&s->out, call->name);
        s->index[call->id] = (uint16_t)++s->indices;
    }
    return s->index[call->id] - 1;
}

void fw_begin(struct fw_stream *s, struct fw_call *call, int failed)
{
    s->writing = 1;
    s->tuple.len = 0;
    fw_put(&s->tuple, (uint64_t)fw_index(s, call) * 2 + (failed != 0));
}

/* Whether the time before this poll may be computation, so that no other poll may hide it. */
static int follows_work(const struct fw_stream *s)
{
    return !s->polled || s->gap_cpu > LOOP + fw_overhead.cpu || s->gap_wall > LOOP + fw_overhead.wall;
}

/* Tells the reader the time at the end of the previous call, if threads are to be put in order by it. */
static void keep_time(struct fw_stream *s)
{
    uint64_t is = s->entered - s->gap_wall - s->wall_start;
    uint64_t off = is > s->clock ? is - s->clock : s->clock - is;
    if (threads > 1 && off > DRIFT) {
        fw_put(&s->out, TIME);
        fw_put(&s->out, is);
        s->clock = is;
    }
}

void fw_end(struct fw_stream *s, int poll)
{
    int slot = -1, is_new = 0, alone = poll && follows_work(s);
    if (s->tuple.len <= LONGEST) {
        uint64_t hash = fw_hash(s->tuple.at, s->tuple.len);
        slot = find(s, &s->tuple, hash);
        if (!poll || alone || slot != s->poll_slot)
            flush_poll(s);
        if (slot < 0) {
            is_new = 1;
            slot = define(s, &s->tuple, hash);
        }
    } else {
        flush_poll(s);
    }
    s->polled = poll;
    if (poll && !alone && slot >= 0) {
        if (!s->polls) {
            s->poll_slot = slot;
            s->poll_new = is_new;
            s->poll_cpu = s->poll_wall = s->poll_inside = 0;
        }
        s->polls++;
        s->poll_cpu += s->gap_cpu;
        s->poll_wall += s->gap_wall;
        s->poll_inside += s->inside;
    } else {
        keep_time(s);
        put_tuple(s, slot, is_new, s->tuple.at, s->tuple.len);
        put_times(s, s->gap_cpu, s->gap_wall, s->inside);
    }
    s->clock += s->gap_wall + s->inside;
    if (fw_overhead.call > fw_overhead.wall + fw_overhead.inside)
        s->clock += fw_overhead.call - fw_overhead.wall - fw_overhead.inside;
    if (s->out.len > BLOCK || s->entered - s->flushed > PERIOD)
        fw_flush(s);
}

void fw_define_comm(struct fw_stream *s, const struct fw_comm *c)
{
    int maker = fw_index(s, c->maker);
    flush_poll(s);
    fw_put(&s->out, COMM);
    fw_put(&s->out, (uint64_t)c->id);
    fw_put(&s->out, (uint64_t)c->parent);
    fw_put(&s->out, (uint64_t)c->nth);
    fw_put(&s->out, (uint64_t)c->flags);
    fw_put(&s->out, (uint64_t)maker);
    fw_append(&s->out, c->groups.at, c->groups.len);
}

void fw_note(struct fw_stream *s, const char *text)
{
    flush_poll(s);
    fw_put(&s->out, NOTE);
    fw_text(&s->out, text);
}

void fw_finish(struct fw_stream *s, int reason)
{
    if (s->file < 0)
        return;
    flush_poll(s);
    fw_put(&s->out, END);
    fw_put(&s->out, (uint64_t)reason);
    fw_put(&s->out, fw_now(CLOCK_PROCESS_CPUTIME_ID) - fw_process_start);
    /* The clock of another thread cannot be read: its last call tells. */
    fw_put(&s->out, (s == fw_me ? fw_now(FW_CPU) : s->cpu) - s->cpu_start);
    fw_put(&s->out, (uint64_t)fw_process_threads());
    fw_flush(s);
    close(s->file);
    s->file = -1;
}

void fw_finish_all(int reason)
{
    struct fw_stream *s;
    pthread_mutex_lock(&fw_lock);
    s = streams;
    pthread_mutex_unlock(&fw_lock);
    for (; s; s = s->next)
        if (s == fw_me || s->depth == 0)
            fw_finish(s, reason);
}

static struct sigaction earlier[NSIG];

/* Writes what all threads have recorded, and leaves the signal to the handler that was there before. Threads that are
 * recording just now are left out. */
static void ends_by_signal(int number)
{
    for (struct fw_stream *s = streams; fw_active && s; s = s->next)
        if (!s->writing && s->file >= 0)
            fw_flush(s);
    fw_active = 0;
    sigaction(number, &earlier[number], NULL);
    raise(number);
}

/* Faults end the process whoever handles them; MPI does, to print where. Other signals need not end a program that
 * handles them. */
void fw_watch_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static const int deadly[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction action = {.sa_handler = ends_by_signal, .sa_flags = SA_NODEFER};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (!sigaction(faults[i], NULL, &earlier[faults[i]]))
            sigaction(faults[i], &action, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (!sigaction(deadly[i], NULL, &earlier[deadly[i]]) && earlier[deadly[i]].sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t median(uint64_t *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return (uint32_t)values[n / 2];
}

/* Records empty calls, and forgets them. */
void fw_calibrate(struct fw_stream *s)
{
    enum { ROUNDS = 2001 };
    static struct fw_call call = {"MPI_Init", -1};
    static uint64_t cpu[ROUNDS], wall[ROUNDS], inside[ROUNDS], whole[ROUNDS];
    int was = fw_active;
    uint64_t before = 0;
    fw_active = 1;
    fw_grow(&s->out, BLOCK);
    for (int i = 0; i < ROUNDS; i++) {
        if (!fw_enter())
            break;
        whole[i] = s->entered - before;
        before = s->entered;
        fw_leave(s);
        fw_begin(s, &call, 0);
        for (int k = 1; k < 6; k++)
            fw_put(&s->tuple, (uint64_t)k);
        cpu[i] = s->gap_cpu;
        wall[i] = s->gap_wall;
        inside[i] = s->inside;
        /* Nothing may be written before the header, however long the calibration takes. */
        s->flushed = s->entered;
        fw_end(s, 0);
        fw_resume(s);
        s->out.len = 16;
    }
    fw_active = was;
    fw_overhead.cpu = median(cpu, ROUNDS);
    fw_overhead.wall = median(wall, ROUNDS);
    fw_overhead.inside = median(inside, ROUNDS);
    fw_overhead.call = median(whole, ROUNDS);
    /* As if nothing had been written. */
    memset(s->slots, 0, FW_SLOTS * sizeof *s->slots);
    memset(s->buckets, -1, FW_SLOTS * sizeof *s->buckets);
    memset(s->index, 0, sizeof s->index);
    s->next_slot = s->indices = 0;
    s->clock = 0;
}
