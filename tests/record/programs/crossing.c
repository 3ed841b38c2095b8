/* Threads that wait for each other's counterparts: the order of their calls matters. */
#include "know.h"
#include <pthread.h>

enum { THREADS = 3, TURNS = 200 };

static MPI_Comm comms[THREADS];

static void *talk(void *at)
{
    int thread = *(int *)at, out = 0, in;
    for (int i = 0; i < TURNS; i++) {
        MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, thread, &in, 1, MPI_INT, 1 - rank, thread, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, comms[thread]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level, ids[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < THREADS; t++) {
        ids[t] = t;
        pthread_create(&threads[t], NULL, talk, &ids[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    MPI_Finalize();
    return 0;
}
