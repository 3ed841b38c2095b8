/* Ends without MPI_Finalize: killed, by a signal, by MPI_Abort, by exit and functions like it. The first argument says how. */
#include "know.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int in = 0, out;
    begin(&argc, &argv);
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        /* Blocks are written every second: only this end loses calls behind the last one. */
        if (!strcmp(argv[1], "kill"))
            usleep(20000);
    }
    if (!strcmp(argv[1], "kill"))
        raise(SIGKILL);
    if (!strcmp(argv[1], "term"))
        raise(SIGTERM);
    if (!strcmp(argv[1], "fault"))
        raise(SIGSEGV);
    if (!strcmp(argv[1], "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(argv[1], "exit"))
        exit(4);
    if (!strcmp(argv[1], "quick_exit"))
        quick_exit(4);
    /* The first process is another one, whose end is not the program's. */
    if (!strcmp(argv[1], "_exit") && vfork())
        _exit(4);
    if (!strcmp(argv[1], "_exit"))
        _exit(0);
    MPI_Finalize();
    return 5;
}
