/* Ranks that share a few processors. In MPI_Init those of Open MPI look every 100 us whether the others have come: 512 ranks keep
 * two processors busy with looking alone. In MPI_Finalize they keep the launcher from running, which then takes them for failed. */
#define _GNU_SOURCE
#include "record.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK 40u /* microseconds of a processor for each process between two looks, some four times what a look takes */
#define CROWD 100u /* processes for each processor that keep the launcher from running */

static __thread useconds_t least __attribute__((tls_model("initial-exec")));

/* Processes that Open MPI started here, for each processor. */
static unsigned long crowd(void)
{
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    cpu_set_t set;
    if (!here || sched_getaffinity(0, sizeof set, &set))
        return 0;
    return strtoul(here, NULL, 10) / (unsigned long)CPU_COUNT(&set);
}

void fw_start_patiently(int starts)
{
    unsigned long processes = starts ? crowd() : 0;
    least = processes > 1 ? (useconds_t)(LOOK * processes) : 0;
}

void fw_yield_to_launcher(void)
{
    if (crowd() > CROWD)
        setpriority(PRIO_PROCESS, 0, 19);
}

/* As in the C library, but for a thread in MPI_Init. */
int usleep(useconds_t time)
{
    struct timespec t;
    time = time < least ? least : time;
    t.tv_sec = time / 1000000;
    t.tv_nsec = (long)(time % 1000000) * 1000;
    return nanosleep(&t, NULL);
}
