/* allreduce BYTES TURNS BATCHES: the ranks add up BYTES of doubles, TURNS times in a batch. Rank 0 prints the wall
   time of the median batch in ns. A single rank calls MPI_Reduce_local instead. */
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
    int rank, ranks, bytes = atoi(argv[1]), turns = atoi(argv[2]), batches = atoi(argv[3]);
    /* Before MPI_Init, so that it is not in the recording. */
    char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    double *times = malloc(batches * sizeof(double));
    memset(out, 0, bytes + 1);
    memset(in, 0, bytes + 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int batch = 0; batch < batches; batch++) {
        double start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (int turn = 0; turn < turns; turn++)
            if (ranks == 1)
                MPI_Reduce_local(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM);
            else
                MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        times[batch] = MPI_Wtime() - start;
    }
    MPI_Finalize();
    qsort(times, batches, sizeof(double), compare);
    if (rank == 0)
        printf("%.0f\n", 1e9 * times[batches / 2]);
    return 0;
}
