/* Wildcards, Waitsome, Waitany, Testall, persistent requests, derived types, and requests with one handle. */
#include "know.h"

/* The n-th request of this program. */
static int made;

static int ring(int by)
{
    return (rank + by + ranks) % ranks;
}

static void wildcards(void)
{
    /* Every rank sends its number of integers to rank 0, which takes whatever comes. */
    int buf[64] = {0};
    MPI_Status status;
    if (rank > 0) {
        MPI_Send(buf, rank, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
        know("MPI_Send comm=0 peer=0 tag=%d %d*4", 10 + rank, rank);
        return;
    }
    for (int i = 1; i < ranks; i++) {
        MPI_Recv(buf, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        know("MPI_Recv comm=0 peer=any tag=any 64*4 got(peer=%d tag=%d bytes=%d)", status.MPI_SOURCE,
             status.MPI_TAG, 4 * status.MPI_SOURCE);
        if (status.MPI_TAG != 10 + status.MPI_SOURCE)
            abort();
    }
}

static void some(void)
{
    char in[4][100], out[100];
    MPI_Request requests[8];
    int first = made, left = 8;
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(in[i], 100, MPI_CHAR, ring(-1), i, MPI_COMM_WORLD, &requests[i]);
        know("MPI_Irecv comm=0 peer=%d tag=%d 100*1 -> 0:%d", ring(-1), i, made++);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Isend(out, 10 * (i + 1), MPI_CHAR, ring(1), i, MPI_COMM_WORLD, &requests[4 + i]);
        know("MPI_Isend comm=0 peer=%d tag=%d %d*1 -> 0:%d", ring(1), i, 10 * (i + 1), made++);
    }
    while (left > 0) {
        int done, indices[8];
        char line[1000];
        int at;
        MPI_Waitsome(8, requests, &done, indices, MPI_STATUSES_IGNORE);
        at = sprintf(line, "MPI_Waitsome of 8:");
        for (int i = 0; i < done; i++) {
            at += sprintf(line + at, " 0:%d", first + indices[i]);
            if (indices[i] < 4)
                at += sprintf(line + at, "got(bytes=%d)", 10 * (indices[i] + 1));
            else
                at += sprintf(line + at, "got()");
        }
        know("%s", line);
        left -= done;
    }
}

static void persistent(void)
{
    double in[8], out[8];
    MPI_Request requests[2];
    int first = made, flag = 0;
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Recv_init(in, 8, MPI_DOUBLE, ring(-1), 5, MPI_COMM_WORLD, &requests[0]);
    know("MPI_Recv_init comm=0 peer=%d tag=5 8*8 -> 0:%d", ring(-1), made++);
    MPI_Send_init(out, 1, column, ring(1), 5, MPI_COMM_WORLD, &requests[1]);
    know("MPI_Send_init comm=0 peer=%d tag=5 1*32 -> 0:%d", ring(1), made++);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        know("MPI_Startall 0:%d 0:%d", first, first + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        know("MPI_Waitall of 2: 0:%dgot(bytes=32) 0:%dgot()", first, first + 1);
    }
    /* An inactive request is done at once, and is none. */
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    know("MPI_Testall of 2: null null");
    MPI_Request_free(&requests[0]);
    know("MPI_Request_free 0:%d", first);
    MPI_Request_free(&requests[1]);
    know("MPI_Request_free 0:%d", first + 1);
    MPI_Type_free(&column);
}

/* Small sends may all get the same handle. */
static void small(void)
{
    char in[50], out[50];
    MPI_Request requests[50];
    char line[2000];
    int at = sprintf(line, "MPI_Waitall of 50:"), first = made;
    for (int i = 0; i < 50; i++) {
        MPI_Isend(&out[i], 1, MPI_CHAR, ring(1), 6, MPI_COMM_WORLD, &requests[i]);
        know("MPI_Isend comm=0 peer=%d tag=6 1*1 -> 0:%d", ring(1), made++);
    }
    for (int i = 0; i < 50; i++) {
        MPI_Recv(&in[i], 1, MPI_CHAR, ring(-1), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        know("MPI_Recv comm=0 peer=%d tag=6 1*1 got()", ring(-1));
    }
    MPI_Waitall(50, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 50; i++)
        at += sprintf(line + at, " 0:%dgot()", first + i);
    know("unordered %s", line);
}

static void nobody(void)
{
    int buf = 0, index;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    MPI_Send(&buf, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    know("MPI_Send comm=0 peer=null tag=1 1*4");
    MPI_Recv(&buf, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    know("MPI_Recv comm=0 peer=null tag=1 1*4 got()");
    MPI_Sendrecv(&buf, 1, MPI_INT, ring(1), 2, &index, 2, MPI_INT, ring(-1), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    know("MPI_Sendrecv comm=0 peer=%d tag=2 1*4 peer=%d tag=any 2*4 got(tag=2 bytes=4)", ring(1), ring(-1));
    MPI_Sendrecv_replace(&buf, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_PROC_NULL, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    know("MPI_Sendrecv_replace comm=1 peer=null tag=2 1*4 peer=null tag=2 1*4 got()");
    MPI_Irecv(&buf, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &requests[1]);
    know("MPI_Irecv comm=0 peer=null tag=2 1*4 -> 0:%d", made);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    know("MPI_Waitany of 2: 0:%dgot()", made++);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    know("MPI_Waitany of 2:");
}

/* A receive that nothing matches is cancelled; another one is given up by its sender. */
static void cancelled(void)
{
    int buf;
    MPI_Request request;
    MPI_Irecv(&buf, 1, MPI_INT, ring(-1), 99, MPI_COMM_WORLD, &request);
    know("MPI_Irecv comm=0 peer=%d tag=99 1*4 -> 0:%d", ring(-1), made);
    MPI_Cancel(&request);
    know("MPI_Cancel 0:%d", made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    know("MPI_Wait of 1: 0:%dgot(cancelled)", made++);
    MPI_Isend(&buf, 1, MPI_INT, ring(1), 98, MPI_COMM_WORLD, &request);
    know("MPI_Isend comm=0 peer=%d tag=98 1*4 -> 0:%d", ring(1), made);
    MPI_Request_free(&request);
    know("MPI_Request_free 0:%d", made++);
    MPI_Recv(&buf, 1, MPI_INT, ring(-1), 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    know("MPI_Recv comm=0 peer=%d tag=98 1*4 got()", ring(-1));
}

/* Polls that find nothing count, but are one record. */
static void polls(void)
{
    char in[4];
    MPI_Request request;
    int flag = 0, done = 0, index;
    long n = 0;
    MPI_Irecv(in, 4, MPI_CHAR, ring(-1), 8, MPI_COMM_WORLD, &request);
    know("MPI_Irecv comm=0 peer=%d tag=8 4*1 -> 0:%d", ring(-1), made);
    for (int i = 0; i < 1000; i++, n++)
        MPI_Testsome(1, &request, &done, &index, MPI_STATUSES_IGNORE);
    know("1000 MPI_Testsome of 1:");
    MPI_Barrier(MPI_COMM_WORLD);
    know("MPI_Barrier comm=0 root=null - -");
    MPI_Send(in, 4, MPI_CHAR, ring(1), 8, MPI_COMM_WORLD);
    know("MPI_Send comm=0 peer=%d tag=8 4*1", ring(1));
    for (n = 0; !flag; n++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (n > 1)
        know("%ld MPI_Test of 1:", n - 1);
    know("MPI_Test of 1: 0:%dgot()", made++);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    wildcards();
    MPI_Barrier(MPI_COMM_WORLD);
    know("MPI_Barrier comm=0 root=null - -");
    some();
    persistent();
    small();
    nobody();
    cancelled();
    polls();
    end();
    return 0;
}
