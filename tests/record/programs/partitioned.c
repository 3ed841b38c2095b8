/* Partitioned communication of MPI 4. */
#include "know.h"

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
    double in[40], out[40];
    int flag = 0, list[2] = {0, 3};
    long n;
    MPI_Request requests[2];
    begin(&argc, &argv);
    MPI_Psend_init(out, 4, 10, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    know("MPI_Psend_init comm=0 peer=%d tag=1 partitions=4 10*8 -> 0:0", (rank + 1) % ranks);
    MPI_Precv_init(in, 4, 10, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    know("MPI_Precv_init comm=0 peer=%d tag=1 partitions=4 10*8 -> 0:1", (rank + ranks - 1) % ranks);
    MPI_Startall(2, requests);
    know("MPI_Startall 0:0 0:1");
    MPI_Pready_list(2, list, requests[0]);
    know("MPI_Pready_list 0:0 [0, 3]");
    MPI_Pready_range(1, 2, requests[0]);
    know("MPI_Pready_range 0:0 [1, 2]");
    for (n = 0; !flag; n++)
        MPI_Parrived(requests[1], 3, &flag);
    if (n > 1)
        know("%ld MPI_Parrived 0:1 3 0", n - 1);
    know("MPI_Parrived 0:1 3 1");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    know("MPI_Waitall of 2: 0:0got() 0:1got()");
    end();
#else
    (void)argc, (void)argv, (void)begin, (void)end;
#endif
    return 0;
}
