/* Makes another process, which is not recorded. */
#include "know.h"
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, all;
    int in = 1, out = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &all, MPI_ERRCODES_IGNORE);
    else
        all = parent;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_disconnect(&all);
    MPI_Finalize();
    return 0;
}
