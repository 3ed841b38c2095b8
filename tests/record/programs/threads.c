/* Threads that all call MPI: a request is made by one and completed by another; a worker computes without MPI. */
#include "know.h"
#include <pthread.h>
#include <time.h>

static MPI_Request given[100];

static void *worker(void *unused)
{
    volatile double x = 0;
    struct timespec t;
    (void)unused;
    do {
        for (int i = 0; i < 100000; i++)
            x += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_nsec < 300000000 && t.tv_sec == 0);
    return NULL;
}

static void *sender(void *at)
{
    int thread = *(int *)at, buf[1] = {thread};
    for (int i = 0; i < 100; i++)
        MPI_Send(buf, 1, MPI_INT, 1 - rank, thread, MPI_COMM_WORLD);
    return NULL;
}

static void *finisher(void *unused)
{
    (void)unused;
    MPI_Waitall(100, given, MPI_STATUSES_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, ids[4] = {0, 1, 2, 3};
    static int in[400];
    pthread_t threads[6];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &given[i]);
    for (int t = 0; t < 4; t++)
        pthread_create(&threads[t], NULL, sender, &ids[t]);
    pthread_create(&threads[4], NULL, finisher, NULL);
    pthread_create(&threads[5], NULL, worker, NULL);
    for (int i = 0; i < 300; i++)
        MPI_Recv(&in[100 + i], 1, MPI_INT, MPI_ANY_SOURCE, 1 + i / 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int t = 0; t < 6; t++)
        pthread_join(threads[t], NULL);
    MPI_Finalize();
    return 0;
}
