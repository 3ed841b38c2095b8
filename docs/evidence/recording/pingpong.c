/* pingpong BYTES TURNS BATCHES: two ranks send each other BYTES in turn, TURNS times in a batch. Rank 0 prints the wall
   time of the median batch in ns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    int rank, bytes = atoi(argv[1]), turns = atoi(argv[2]), batches = atoi(argv[3]);
    /* Before MPI_Init, so that it is not in the recording. */
    char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    double *times = malloc(batches * sizeof(double));
    memset(out, 1, bytes + 1);
    memset(in, 2, bytes + 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int batch = 0; batch < batches; batch++) {
        double start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (int turn = 0; turn < turns; turn++)
            if (rank == 0) {
                MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
            }
        times[batch] = MPI_Wtime() - start;
    }
    MPI_Finalize();
    qsort(times, batches, sizeof(double), compare);
    if (rank == 0)
        printf("%.0f\n", 1e9 * times[batches / 2]);
    return 0;
}
