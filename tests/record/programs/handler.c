/* An error handler that does not return to MPI. */
#include "know.h"
#include <setjmp.h>

static jmp_buf back;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

int main(int argc, char **argv)
{
    int out = 0, in;
    MPI_Errhandler leaves;
    begin(&argc, &argv);
    MPI_Comm_create_errhandler(handler, &leaves);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, leaves);
    if (!setjmp(back))
        MPI_Send(&out, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        know("MPI_Sendrecv comm=0 peer=%d tag=0 1*4 peer=%d tag=0 1*4 got()", 1 - rank, 1 - rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    know("MPI_Barrier comm=0 root=null - -");
    end();
    return 0;
}
