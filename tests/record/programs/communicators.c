/* Communicators of every kind, and handles that are used again. */
#include "know.h"

int main(int argc, char **argv)
{
    MPI_Comm dup, row, some, other, inter, merged, shared, later;
    MPI_Group all, odd;
    MPI_Request request;
    int n = 0, in = 0, out, half, of[64];
    begin(&argc, &argv);
    half = ranks / 2;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    know("MPI_Comm_dup comm=0 new=2");
    MPI_Comm_split(dup, rank % 2, -rank, &row);
    know("MPI_Comm_split comm=2 new=3");
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, row);
    know("MPI_Allreduce comm=3 root=null commutative 1*4 1*4");
    /* Each frees and makes one again, which may get the handle of the old one. */
    MPI_Comm_free(&row);
    know("MPI_Comm_free comm=3");
    MPI_Comm_split(dup, rank ? 0 : MPI_UNDEFINED, rank, &row);
    know("MPI_Comm_split comm=2 new=%d", rank ? 4 : 0);
    n = rank ? 5 : 4;
    if (rank) {
        MPI_Bcast(&in, 1, MPI_INT, 1, row);
        know("MPI_Bcast comm=4 root=1 %s", rank == 2 ? "1*4 -" : "- 1*4");
    }
    /* Of the odd ranks alone. */
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < half; i++)
        of[i] = 2 * i + 1;
    MPI_Group_incl(all, half, of, &odd);
    if (rank % 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 3, &some);
        know("MPI_Comm_create_group comm=0 new=%d", n);
        MPI_Barrier(some);
        know("MPI_Barrier comm=%d root=null - -", n++);
    }
    MPI_Comm_create(MPI_COMM_WORLD, odd, &other);
    know("MPI_Comm_create comm=0 new=%d", rank % 2 ? n++ : 0);
    /* Two halves, and what joins them. */
    MPI_Comm_split(MPI_COMM_WORLD, rank < half, rank, &row);
    know("MPI_Comm_split comm=0 new=%d", n);
    MPI_Intercomm_create(row, 0, MPI_COMM_WORLD, rank < half ? half : 0, 9, &inter);
    know("MPI_Intercomm_create comm=%d new=%d", n, n + 1);
    n++;
    MPI_Bcast(&in, 1, MPI_INT, rank >= half ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    know("MPI_Bcast comm=%d root=%s %s", n, rank >= half ? "0" : rank == 0 ? "root" : "null",
         rank >= half ? "- 1*4" : rank == 0 ? "1*4 -" : "- -");
    if (rank == 0) {
        MPI_Send(&in, 1, MPI_INT, ranks - half - 1, 4, inter);
        know("MPI_Send comm=%d peer=%d tag=4 1*4", n, ranks - half - 1);
    } else if (rank == ranks - 1) {
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, inter, MPI_STATUS_IGNORE);
        know("MPI_Recv comm=%d peer=any tag=4 1*4 got(peer=0)", n);
    }
    MPI_Intercomm_merge(inter, rank >= half, &merged);
    know("MPI_Intercomm_merge comm=%d new=%d", n, n + 1);
    n++;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    know("MPI_Comm_split_type comm=0 new=%d", ++n);
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    know("MPI_Comm_idup comm=0 new=%d -> 0:0", ++n);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    know("MPI_Wait of 1: 0:0got()");
    MPI_Barrier(later);
    know("MPI_Barrier comm=%d root=null - -", n);
    end();
    return 0;
}
