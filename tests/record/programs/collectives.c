/* Collectives: all blocking ones, in place, of different sizes at the ranks, non-blocking, of neighbours, kept. */
#include "know.h"

#if MPI_VERSION >= 4
#define KEEP(x) MPI_##x
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#define KEEP(x) MPIX_##x
#endif

#define MANY 64
#define WORLD MPI_COMM_WORLD
static double in[100 * MANY], out[100 * MANY];
static int counts[MANY], shifts[MANY], made;

/* `[1, 2, 3]`, each times `by`. */
static char *list(int n, const int *values, int by)
{
    static char text[2][1000];
    static int turn;
    char *at = text[turn ^= 1], *to = at + sprintf(at, "[");
    for (int i = 0; i < n; i++)
        to += sprintf(to, i ? ", %d" : "%d", values[i] * by);
    sprintf(to, "]");
    return at;
}

static const char *at_root(int root, const char *text)
{
    return rank == root ? text : "-";
}

static void simple(void)
{
    char text[1000];
    MPI_Barrier(WORLD);
    know("MPI_Barrier comm=0 root=null - -");
    MPI_Bcast(in, 7, MPI_DOUBLE, 1, WORLD);
    know("MPI_Bcast comm=0 root=1 %s %s", at_root(1, "7*8"), rank == 1 ? "-" : "7*8");
    MPI_Gather(in, 2, MPI_DOUBLE, out, 4, MPI_FLOAT, 0, WORLD);
    know("MPI_Gather comm=0 root=0 2*8 %s", at_root(0, "4*4"));
    MPI_Gather(rank ? in : MPI_IN_PLACE, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, WORLD);
    know("MPI_Gather comm=0 root=0 %s %s", rank ? "2*8" : "in-place", at_root(0, "2*8"));
    MPI_Scatter(in, 3, MPI_INT, out, 3, MPI_INT, 2, WORLD);
    know("MPI_Scatter comm=0 root=2 %s 3*4", at_root(2, "3*4"));
    MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, WORLD);
    know("MPI_Allgather comm=0 root=null 1*8 1*8");
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_DOUBLE, WORLD);
    know("MPI_Allgather comm=0 root=null in-place 1*8");
    MPI_Alltoall(in, 2, MPI_CHAR, out, 2, MPI_CHAR, WORLD);
    know("MPI_Alltoall comm=0 root=null 2*1 2*1");
    MPI_Reduce(in, out, 5, MPI_DOUBLE, MPI_MAX, 0, WORLD);
    know("MPI_Reduce comm=0 root=0 commutative 5*8 %s", at_root(0, "5*8"));
    MPI_Allreduce(MPI_IN_PLACE, out, 5, MPI_DOUBLE, MPI_SUM, WORLD);
    know("MPI_Allreduce comm=0 root=null commutative in-place 5*8");
    MPI_Scan(in, out, 6, MPI_DOUBLE, MPI_SUM, WORLD);
    know("MPI_Scan comm=0 root=null commutative 6*8 6*8");
    MPI_Exscan(in, out, 6, MPI_DOUBLE, MPI_SUM, WORLD);
    know("MPI_Exscan comm=0 root=null commutative 6*8 6*8");
    MPI_Reduce_scatter_block(in, out, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    know("MPI_Reduce_scatter_block comm=0 root=null commutative - 2*8");
    for (int i = 0; i < ranks; i++)
        counts[i] = i + 1;
    sprintf(text, "%s*8", list(ranks, counts, 1));
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, WORLD);
    know("MPI_Reduce_scatter comm=0 root=null commutative - %s", text);
}

/* Adds the first numbers that `counts` does not skip. */
static void lay_out(void)
{
    shifts[0] = 0;
    for (int i = 1; i < ranks; i++)
        shifts[i] = shifts[i - 1] + counts[i - 1];
}

static void varied(void)
{
    int sent[MANY], zero[MANY] = {0}, bytes[MANY];
    MPI_Datatype types[MANY];
    for (int i = 0; i < ranks; i++)
        counts[i] = 1 + i * i;
    lay_out();
    MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, shifts, MPI_INT, 1, WORLD);
    if (rank == 1)
        know("MPI_Gatherv comm=0 root=1 %d*4 %s*4", counts[rank], list(ranks, counts, 1));
    else
        know("MPI_Gatherv comm=0 root=1 %d*4 -", counts[rank]);
    MPI_Scatterv(in, counts, shifts, MPI_INT, out, counts[rank], MPI_INT, 0, WORLD);
    if (rank == 0)
        know("MPI_Scatterv comm=0 root=0 %s*4 %d*4", list(ranks, counts, 1), counts[rank]);
    else
        know("MPI_Scatterv comm=0 root=0 - %d*4", counts[rank]);
    MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, shifts, MPI_INT, WORLD);
    know("MPI_Allgatherv comm=0 root=null %d*4 %s*4", counts[rank], list(ranks, counts, 1));
    /* Rank r sends r + i to rank i, so that it gets as many from there. */
    for (int i = 0; i < ranks; i++)
        sent[i] = counts[i] = rank + i;
    lay_out();
    MPI_Alltoallv(in, sent, shifts, MPI_DOUBLE, out, counts, shifts, MPI_DOUBLE, WORLD);
    know("MPI_Alltoallv comm=0 root=null %s*8 %s*8", list(ranks, sent, 1), list(ranks, counts, 1));
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts, shifts, MPI_DOUBLE, WORLD);
    know("MPI_Alltoallv comm=0 root=null in-place %s*8", list(ranks, counts, 1));
    for (int i = 0; i < ranks; i++) {
        types[i] = (rank + i) % 2 ? MPI_INT : MPI_DOUBLE;
        bytes[i] = sent[i] * ((rank + i) % 2 ? 4 : 8);
    }
    MPI_Alltoallw(in, sent, zero, types, out, counts, zero, types, WORLD);
    know("MPI_Alltoallw comm=0 root=null %s %s", list(ranks, bytes, 1), list(ranks, bytes, 1));
}

static void later(void)
{
    MPI_Request requests[3];
    MPI_Ibarrier(WORLD, &requests[0]);
    know("MPI_Ibarrier comm=0 root=null - - -> 0:0");
    MPI_Iallreduce(in, out, 5, MPI_DOUBLE, MPI_SUM, WORLD, &requests[1]);
    know("MPI_Iallreduce comm=0 root=null commutative 5*8 5*8 -> 0:1");
    MPI_Ialltoall(in, 1, MPI_DOUBLE, out + 10, 1, MPI_DOUBLE, WORLD, &requests[2]);
    know("MPI_Ialltoall comm=0 root=null 1*8 1*8 -> 0:2");
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    know("MPI_Waitall of 3: 0:0got() 0:1got() 0:2got()");
    made = 3;
#ifdef KEEP
    KEEP(Bcast_init)(in, 9, MPI_DOUBLE, 0, WORLD, MPI_INFO_NULL, &requests[0]);
    know("MPI_Bcast_init comm=0 root=0 %s %s -> 0:3", at_root(0, "9*8"), rank == 0 ? "-" : "9*8");
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[0]);
        know("MPI_Start 0:3");
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        know("MPI_Wait of 1: 0:3got()");
    }
    MPI_Request_free(&requests[0]);
    know("MPI_Request_free 0:3");
    made = 4;
#endif
}

static void neighbours(void)
{
    int dims[2] = {2, ranks / 2}, periods[2] = {0, 1}, from[4], to[2], sizes[4], got[4];
    MPI_Comm grid, graph;
    MPI_Request request;
    MPI_Cart_create(WORLD, 2, dims, periods, 0, &grid);
    know("MPI_Cart_create comm=0 new=2");
    MPI_Neighbor_allgather(in, 3, MPI_DOUBLE, out, 3, MPI_DOUBLE, grid);
    know("MPI_Neighbor_allgather comm=2 root=null 3*8 3*8");
    for (int i = 0; i < 4; i++)
        sizes[i] = got[i] = 2, shifts[i] = 2 * i;
    MPI_Ineighbor_alltoallv(in, sizes, shifts, MPI_DOUBLE, out, got, shifts, MPI_DOUBLE, grid, &request);
    know("MPI_Ineighbor_alltoallv comm=2 root=null [2, 2, 2, 2]*8 [2, 2, 2, 2]*8 -> 0:%d", made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    know("MPI_Wait of 1: 0:%dgot()", made++);
    /* A graph in which everyone sends to the next two, and gets from the two before. */
    for (int i = 0; i < 2; i++) {
        to[i] = (rank + 1 + i) % ranks;
        from[i] = (rank - 1 - i + ranks) % ranks;
        sizes[i] = rank + 1;
        got[i] = from[i] + 1;
        shifts[i] = i * MANY;
    }
    MPI_Dist_graph_create_adjacent(WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    know("MPI_Dist_graph_create_adjacent comm=0 new=3");
    MPI_Neighbor_alltoallv(in, sizes, shifts, MPI_INT, out, got, shifts, MPI_INT, graph);
    know("MPI_Neighbor_alltoallv comm=3 root=null %s*4 %s*4", list(2, sizes, 1), list(2, got, 1));
    MPI_Comm_free(&graph);
    know("MPI_Comm_free comm=3");
    MPI_Comm_free(&grid);
    know("MPI_Comm_free comm=2");
}

static void first_of(void *a, void *b, int *n, MPI_Datatype *type)
{
    (void)a, (void)b, (void)n, (void)type;
}

int main(int argc, char **argv)
{
    MPI_Op op;
    begin(&argc, &argv);
    simple();
    varied();
    later();
    neighbours();
    MPI_Op_create(first_of, 0, &op);
    MPI_Allreduce(in, out, 1, MPI_INT, op, WORLD);
    know("MPI_Allreduce comm=0 root=null ordered 1*4 1*4");
    end();
    return 0;
}
