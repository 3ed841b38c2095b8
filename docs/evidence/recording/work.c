/* The same work on every rank: 50 matrix products of 2.5 ms or so, each followed by an exchange in a ring and an all-reduce. */
#include <mpi.h>
#include <stdlib.h>

#define N 96

static double a[N][N], b[N][N], c[N][N];

static double multiply(void)
{
    for (int repeat = 0; repeat < 10; repeat++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                for (int k = 0; k < N; k++)
                    c[i][k] += a[i][j] * b[j][k];
    return c[3][5];
}

int main(int argc, char **argv)
{
    int rank, ranks;
    double sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i, b[i][j] = j;
    for (int step = 0; step < 50; step++) {
        double own = multiply();
        MPI_Sendrecv(a, N, MPI_DOUBLE, (rank + 1) % ranks, 0, b, N, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return sum < 0;
}
