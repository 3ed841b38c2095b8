/* Errors that return, regions, a child, windows, files, more than 2^31 bytes, calls before and after. */
#include "know.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int flag, version, minor, buf[4] = {0};
    MPI_Win window;
    MPI_File file;
    MPI_Datatype huge;
    MPI_Status status;
    char name[64];
    pid_t child;
    MPI_Initialized(&flag);
    MPI_Get_version(&version, &minor);
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Send(buf, 1, MPI_INT, ranks + 5, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
        abort();
    know("MPI_Send!");
    /* A message that is too long is an error of its receive, which has happened. */
    MPI_Isend(buf, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &(MPI_Request){0});
    know("MPI_Isend comm=0 peer=%d tag=1 4*4 -> 0:0", rank);
    if (MPI_Recv(buf, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS)
        abort();
    know("MPI_Recv comm=0 peer=%d tag=1 2*4 got(error)", rank);
    MPI_Pcontrol(1, "assembly");
    know("MPI_Pcontrol 1 assembly");
    MPI_Pcontrol(-1, "assembly");
    know("MPI_Pcontrol -1 assembly");
    MPI_Pcontrol(5, NULL);
    know("MPI_Pcontrol 5 ");
    /* A child must not write. */
    fflush(known);
    child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    MPI_Win_create(buf, sizeof buf, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    know("MPI_Win_create ");
    MPI_Win_fence(0, window);
    know("MPI_Win_fence ");
    MPI_Put(buf, 1, MPI_INT, rank, 1, 1, MPI_INT, window);
    know("MPI_Put ");
    MPI_Win_fence(0, window);
    know("MPI_Win_fence ");
    MPI_Win_free(&window);
    know("MPI_Win_free ");
    snprintf(name, sizeof name, "/tmp/flitwise-odd-%ld", (long)getpid());
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    know("MPI_File_open ");
    MPI_File_close(&file);
    know("MPI_File_close ");
    MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &huge);
    MPI_Type_commit(&huge);
    MPI_Send(buf, 3, huge, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
    know("MPI_Send comm=0 peer=null tag=2 3*8589934592");
#if MPI_VERSION >= 4
    MPI_Send_c(buf, (MPI_Count)1 << 33, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
    know("MPI_Send comm=0 peer=null tag=2 8589934592*4");
#endif
    MPI_Type_free(&huge);
    end();
    MPI_Finalized(&flag);
    return 0;
}
