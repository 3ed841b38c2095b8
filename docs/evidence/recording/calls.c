/* Calls of MPI-2 whose messages do not depend on time: on each pair of ranks and each communicator, all modes of sends,
   derived types, wildcards, persistent requests, and the collectives with equal and with unequal blocks. */
#include <mpi.h>
#include <stdlib.h>

static int rank, ranks;
static int in[1 << 16], out[1 << 16];
static int counts[64], places[64], others[64], other_places[64];

static void messages(MPI_Comm comm, int size, int me)
{
    int next = (me + 1) % size, before = (me + size - 1) % size;
    MPI_Request requests[4];
    MPI_Status status;
    MPI_Datatype column;
    MPI_Type_vector(100, 3, 7, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int count = 0; count <= 1 << 15; count = 3 * count + 1) {
        MPI_Irecv(in, count, MPI_INT, before, 1, comm, &requests[0]);
        MPI_Send(out, count, MPI_INT, next, 1, comm);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Irecv(in, count, MPI_INT, before, 2, comm, &requests[0]);
        MPI_Ssend(out, count, MPI_INT, next, 2, comm);
        MPI_Wait(&requests[0], &status);
        MPI_Sendrecv(out, count / 2, MPI_DOUBLE, before, 3, in, count, MPI_INT, next, MPI_ANY_TAG, comm, &status);
    }
    MPI_Irecv(in, 1, column, before, 4, comm, &requests[0]);
    MPI_Irecv(in + 10000, 300, MPI_INT, next, 5, comm, &requests[1]);
    MPI_Isend(out, 300, MPI_INT, next, 4, comm, &requests[2]);
    MPI_Issend(out, 1, column, before, 5, comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Recv_init(in, 77, MPI_SHORT, before, 6, comm, &requests[0]);
    MPI_Send_init(out, 77, MPI_SHORT, next, 6, comm, &requests[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    /* All ranks to rank 0, in any order. */
    for (int i = 1; i < size; i++)
        if (me == 0)
            MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, 7, comm, &status);
        else if (me == i)
            MPI_Send(out, i, MPI_INT, 0, 7, comm);
    MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 8, comm);
    MPI_Type_free(&column);
}

static void collectives(MPI_Comm comm, int size, int me)
{
    int all = 0, all_others = 0;
    for (int i = 0; i < size; i++) {
        /* Rank i sends i + 2j integers to rank j. */
        counts[i] = me + 2 * i;
        others[i] = i + 2 * me;
        places[i] = all, other_places[i] = all_others;
        all += counts[i], all_others += others[i];
    }
    MPI_Barrier(comm);
    MPI_Alltoallv(out, counts, places, MPI_INT, in, others, other_places, MPI_INT, comm);
    for (int count = 1; count < 10000; count *= 40) {
        MPI_Bcast(in, count, MPI_INT, size - 1, comm);
        MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, 0, comm);
        MPI_Allreduce(out, in, count, MPI_INT, MPI_MAX, comm);
        MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_MAX, comm);
        MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, 0, comm);
        MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, size / 2, comm);
        MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, comm);
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
        MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
    }
    all = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = 5 * i + 1;
        places[i] = all;
        all += counts[i];
    }
    MPI_Gatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, 1, comm);
    MPI_Scatterv(out, counts, places, MPI_INT, in, counts[me], MPI_INT, 0, comm);
    MPI_Allgatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, comm);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int size, me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    messages(MPI_COMM_WORLD, ranks, rank);
    collectives(MPI_COMM_WORLD, ranks, rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &me);
    messages(half, size, me);
    collectives(half, size, me);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
