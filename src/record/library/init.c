/* The beginning and the end of a recording. */
#define _GNU_SOURCE
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATIENCE 60 /* seconds in which all ranks leave MPI_Init */

static uint64_t loaded;   /* when the process began, on the wall clock */
static struct fw_description about;
static pid_t process; /* that is recorded */

/* A program of one MPI with the recorder of another one would crash. */
static int look(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *name = strrchr(info->dlpi_name, '/');
    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    if (!strncmp(name, "libmpi.so", 9) || !strncmp(name, "libmpich.so", 11) || !strncmp(name, "libmpi_cray", 11) ||
        !strncmp(name, "libmpi_intel", 12))
        if (++*(int *)found == 1)
            return 0;
    return *(int *)found > 1;
}

__attribute__((constructor)) static void load(void)
{
    int found = 0;
    loaded = fw_now(FW_WALL);
    fw_directory = getenv("FLITWISE_RECORD");
    if (fw_directory && dl_iterate_phdr(look, &found)) {
        fw_say("this program uses another MPI than the recorder: name its compiler with --mpicc");
        _exit(2);
    }
}

static void in_child(void)
{
    fw_active = 0;
    fw_me = NULL;
}

static void in_parent(void)
{
    struct fw_stream *s = fw_me;
    if (fw_active && s && s->depth == 0 && s->file >= 0)
        fw_note(s, "the process made another one with fork, which is not recorded");
}

/* Whether a file may be part of a recording. */
static int is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (!strncmp(name, "recording.toml", 14))
        return 1;
    if (!digits || name[digits] != '.')
        return 0;
    name += digits + 1;
    digits = strspn(name, "0123456789");
    return digits && !strcmp(name + digits, ".calls");
}

static int make_directory(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", fw_directory);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0777);
            *at = '/';
        }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* Whether the recording in the directory was started by the same command. */
static int same_session(void)
{
    char path[4200], line[400], want[400];
    const char *session = getenv("FLITWISE_RECORD_SESSION");
    int same = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/recording.toml", fw_directory);
    if (!session || !*session || !(f = fopen(path, "r")))
        return 0;
    snprintf(want, sizeof want, "session = \"%s\"\n", session);
    while (fgets(line, sizeof line, f))
        same = same || !strcmp(line, want);
    fclose(f);
    return same;
}

/* Rank 0 removes an older recording. */
static int prepare(void)
{
    char text[4400];
    DIR *dir;
    struct dirent *entry;
    if (!make_directory() || !(dir = opendir(fw_directory))) {
        snprintf(text, sizeof text, "cannot write `%s`: %s; nothing is recorded", fw_directory, strerror(errno));
        fw_say(text);
        return 0;
    }
    if (same_session()) {
        fw_say("the recording holds the first program of this command; this one is not recorded");
        closedir(dir);
        return 0;
    }
    while ((entry = readdir(dir)))
        if (is_ours(entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    return 1;
}

/* The processors that this process may use, all bits if they are not known, and their number. */
static int count_processors(fw_mask mask)
{
    cpu_set_t set;
    memset(mask, 0xff, sizeof(fw_mask));
    if (sched_getaffinity(0, sizeof set, &set))
        return (int)sysconf(_SC_NPROCESSORS_ONLN);
    memcpy(mask, &set, sizeof set < sizeof(fw_mask) ? sizeof set : sizeof(fw_mask));
    return CPU_COUNT(&set);
}

/* Waits for all ranks: one without this library would never come. */
static void meet(void)
{
    MPI_Request request;
    const char *own = getenv("FLITWISE_RECORD_PATIENCE");
    uint64_t patience = 1000000000ull * (own ? strtoull(own, NULL, 10) : PATIENCE), start = fw_now(FW_WALL);
    int all = 0;
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (PMPI_Test(&request, &all, MPI_STATUS_IGNORE) == MPI_SUCCESS && !all) {
        if (fw_now(FW_WALL) - start > patience) {
            fw_say("another rank has no recorder: start all ranks by `flitwise record`, or give LD_PRELOAD and FLITWISE_RECORD to all of them");
            PMPI_Abort(MPI_COMM_WORLD, 2);
        }
        usleep(200);
    }
}

/* Whether this process is to be recorded, as all ranks see it. */
static int agree(void)
{
    struct {
        int go;
        unsigned char run[16];
    } plan = {0};
    if (fw_file_rank == 0) {
        int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        plan.go = prepare();
        if (random < 0 || read(random, plan.run, 16) != 16)
            memcpy(plan.run, &loaded, sizeof loaded);
        if (random >= 0)
            close(random);
    }
    PMPI_Bcast(&plan, sizeof plan, MPI_BYTE, 0, MPI_COMM_WORLD);
    memcpy(fw_run, plan.run, 16);
    return plan.go;
}

static void gather(void)
{
    char host[MPI_MAX_PROCESSOR_NAME + FW_HOST] = {0};
    fw_mask mask;
    int len = 0, here = count_processors(mask);
    PMPI_Get_processor_name(host, &len);
    host[FW_HOST - 1] = 0;
    fw_processors = (uint32_t)here;
    if (fw_file_rank == 0) {
        about.hosts = calloc((size_t)fw_ranks, FW_HOST);
        about.processors = calloc((size_t)fw_ranks, sizeof *about.processors);
        about.masks = calloc((size_t)fw_ranks, sizeof *about.masks);
        if (!about.hosts || !about.processors || !about.masks)
            abort();
    }
    PMPI_Gather(host, FW_HOST, MPI_CHAR, about.hosts, FW_HOST, MPI_CHAR, 0, MPI_COMM_WORLD);
    PMPI_Gather(&here, 1, MPI_INT, about.processors, 1, MPI_INT, 0, MPI_COMM_WORLD);
    PMPI_Gather(mask, sizeof mask, MPI_BYTE, about.masks, sizeof mask, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static int is_recorded(void)
{
    const char *owner = getenv("FLITWISE_RECORD_OWNER");
    char pid[32];
    MPI_Comm parent = MPI_COMM_NULL;
    if (!fw_directory || !*fw_directory)
        return 0;
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    if (owner && strcmp(owner, pid))
        return 0;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        fw_say("a process made by MPI_Comm_spawn is not recorded");
        return 0;
    }
    setenv("FLITWISE_RECORD_OWNER", pid, 1);
    return 1;
}

/* Whether a launcher started several processes each of which is an MPI world of its own: the launcher is another MPI's. */
static int launched_by_another(void)
{
    static const char *names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    char text[200];
    int others = 0;
    for (int i = 0; i < 2; i++) {
        const char *size = getenv(names[i]);
        if (fw_ranks > 1 || !size || atoi(size) < 2)
            continue;
        others = 1;
        /* Each process says so: a launcher may end the others with the first one that fails. */
        snprintf(text, sizeof text,
                 "the launcher started %d processes, but each is an MPI world of its own: take the launcher of the MPI that the program uses",
                 atoi(size));
        fw_say(text);
    }
    return others;
}

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void unload(void)
{
    if (!fw_active)
        return;
    fw_active = 0;
    fw_finish_all(2);
}

static void start(struct fw_call *call, int provided, uint64_t cpu, uint64_t wall)
{
    struct fw_stream *s;
    uint64_t inside = fw_now(FW_WALL) - wall;
    if (fw_active || !is_recorded())
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &fw_file_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &fw_ranks);
    if (launched_by_another())
        _exit(2);
    meet();
    if (!agree())
        return;
    gather();
    make_directory();
    about.started = (long long)time(NULL);
    about.level = provided == MPI_THREAD_MULTIPLE ? 3
                  : provided == MPI_THREAD_SERIALIZED ? 2
                  : provided == MPI_THREAD_FUNNELED ? 1
                  : 0;
    fw_world();
    s = fw_open();
    if (!s || s->file < 0)
        return;
    if (fw_file_rank == 0)
        fw_describe(&about, 0);
    pthread_atfork(NULL, in_parent, in_child);
    process = getpid();
    at_quick_exit(unload);
    fw_watch_signals();
    s->gap_cpu = cpu;
    s->gap_wall = wall - loaded;
    s->inside = inside;
    fw_begin(s, call, 0);
    fw_put(&s->tuple, (uint64_t)about.level);
    fw_end(s, 0);
    fw_process_start = fw_now(CLOCK_PROCESS_CPUTIME_ID);
    fw_resume(s);
    s->cpu_start = s->cpu;
    fw_active = 1;
}

int PMPI_Init(int *argc, char ***argv) __attribute__((alias("MPI_Init")));
int MPI_Init(int *argc, char ***argv)
{
    static int (*next)(int *, char ***);
    static struct fw_call call = {"MPI_Init", -1};
    static int entered;
    uint64_t cpu = fw_now(FW_CPU), wall = fw_now(FW_WALL);
    int rc, first = !entered++;
    if (!next && !(next = (int (*)(int *, char ***))fw_next("PMPI_Init")))
        return MPI_ERR_OTHER;
    fw_start_patiently(1);
    rc = next(argc, argv);
    if (rc == MPI_SUCCESS && first) {
        int provided = MPI_THREAD_SINGLE;
        PMPI_Query_thread(&provided);
        start(&call, provided, cpu, wall);
    }
    fw_start_patiently(0);
    return rc;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) __attribute__((alias("MPI_Init_thread")));
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    static int (*next)(int *, char ***, int, int *);
    static struct fw_call call = {"MPI_Init_thread", -1};
    static int entered;
    uint64_t cpu = fw_now(FW_CPU), wall = fw_now(FW_WALL);
    int rc, first = !entered++;
    if (!next && !(next = (int (*)(int *, char ***, int, int *))fw_next("PMPI_Init_thread")))
        return MPI_ERR_OTHER;
    fw_start_patiently(1);
    rc = next(argc, argv, required, provided);
    if (rc == MPI_SUCCESS && first)
        start(&call, *provided, cpu, wall);
    fw_start_patiently(0);
    return rc;
}

static void stop(int reason)
{
    fw_active = 0;
    fw_finish_all(reason);
}

int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));
int MPI_Finalize(void)
{
    static int (*next)(void);
    static struct fw_call call = {"MPI_Finalize", -1};
    struct fw_stream *s;
    int rc, recorded;
    if (!next && !(next = (int (*)(void))fw_next("PMPI_Finalize")))
        return MPI_ERR_OTHER;
    s = fw_enter();
    recorded = s != NULL;
    if (s) {
        s->inside = 0;
        fw_begin(s, &call, 0);
        fw_end(s, 0);
        stop(0);
        /* Then all ranks have written. */
        PMPI_Barrier(MPI_COMM_WORLD);
        if (fw_file_rank == 0)
            fw_describe(&about, 1);
        fw_yield_to_launcher();
    }
    rc = next();
    if (recorded)
        s->depth = 0;
    return rc;
}

int PMPI_Abort(MPI_Comm comm, int code) __attribute__((alias("MPI_Abort")));
int MPI_Abort(MPI_Comm comm, int code)
{
    static int (*next)(MPI_Comm, int);
    static struct fw_call call = {"MPI_Abort", -1};
    struct fw_stream *s;
    if (!next && !(next = (int (*)(MPI_Comm, int))fw_next("PMPI_Abort")))
        return MPI_ERR_OTHER;
    s = fw_enter();
    if (s) {
        s->inside = 0;
        fw_begin(s, &call, 0);
        fw_end(s, 0);
        stop(3);
    }
    return next(comm, code);
}

/* The text that `at` points to, if it is a short printable one: not every call has a second argument. */
static int readable(const char *at, char *text, size_t room)
{
    struct iovec to = {text, room - 1}, from = {(void *)at, room - 1};
    ssize_t n;
    memset(text, 0, room);
    /* Up to the end of the page, if the next one is missing. */
    if (!at)
        return 0;
    n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (n < (ssize_t)room - 1) {
        from.iov_len = 4096 - ((uintptr_t)at & 4095);
        if (from.iov_len < room - 1)
            n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    }
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] == 0)
            return i > 0;
        if (text[i] < 32 || text[i] > 126)
            return 0;
    }
    return 0;
}

int PMPI_Pcontrol(const int region, ...) __attribute__((alias("MPI_Pcontrol")));
int MPI_Pcontrol(const int region, ...)
{
    static int (*next)(const int, ...);
    static struct fw_call call = {"MPI_Pcontrol", -1};
    struct fw_stream *s;
    char text[65];
    const char *name = NULL;
    va_list list;
    int rc;
    /* Only the user knows that there is a second argument. */
    if (getenv("FLITWISE_RECORD_NAMES")) {
        va_start(list, region);
        name = va_arg(list, const char *);
        va_end(list);
    }
    if (!next && !(next = (int (*)(const int, ...))fw_next("PMPI_Pcontrol")))
        return MPI_ERR_OTHER;
    s = fw_enter();
    rc = next(region, name);
    if (s) {
        fw_leave(s);
        fw_begin(s, &call, rc != MPI_SUCCESS);
        fw_put(&s->tuple, fw_signed(region));
        fw_text(&s->tuple, readable(name, text, sizeof text) ? text : "");
        fw_end(s, 0);
        fw_resume(s);
    }
    return rc;
}

#if MPI_VERSION >= 4 || defined(MPI_ERR_SESSION)
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
    __attribute__((alias("MPI_Session_init")));
int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    static int (*next)(MPI_Info, MPI_Errhandler, MPI_Session *);
    static int said;
    if (!next && !(next = (int (*)(MPI_Info, MPI_Errhandler, MPI_Session *))fw_next("PMPI_Session_init")))
        return MPI_ERR_OTHER;
    if (fw_directory && !said++) {
        fw_say("communication in sessions (MPI_Session_init) is not recorded");
        if (fw_active && fw_me && fw_me->depth == 0)
            fw_note(fw_me, "communication in sessions (MPI_Session_init) is not recorded");
    }
    return next(info, errhandler, session);
}
#endif

/* These ends run no destructor; `quick_exit` runs what `start` has registered. A child of `vfork` has the memory of its
 * parent, which continues. */
__attribute__((noreturn)) void _exit(int status)
{
    if (fw_active && getpid() == process)
        unload();
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((noreturn)) void _Exit(int status)
{
    _exit(status);
}
