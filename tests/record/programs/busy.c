/* A busy machine: to be loaded before libc. Every reading of a wall clock finds it another millisecond later. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static long read;
    long result = syscall(SYS_clock_gettime, clock, t);
    if (clock == CLOCK_MONOTONIC) {
        long ns = t->tv_nsec + __atomic_add_fetch(&read, 1, __ATOMIC_RELAXED) % 1000 * 1000000;
        t->tv_sec += __atomic_load_n(&read, __ATOMIC_RELAXED) / 1000 + ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return (int)result;
}
