/* Two ranks send each other messages of growing size. */
#include "know.h"

int main(int argc, char **argv)
{
    static char buf[1 << 20];
    begin(&argc, &argv);
    for (int size = 1; size <= 1 << 20; size *= 4)
        for (int i = 0; i < 100; i++)
            for (int turn = 0; turn < 2; turn++)
                if (rank == turn) {
                    MPI_Send(buf, size, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD);
                    know("MPI_Send comm=0 peer=%d tag=7 %d*1", 1 - rank, size);
                } else {
                    MPI_Recv(buf, size, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    know("MPI_Recv comm=0 peer=%d tag=7 %d*1 got()", 1 - rank, size);
                }
    end();
    return 0;
}
