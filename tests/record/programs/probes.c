/* Probes, and messages that were matched by them. */
#include "know.h"

int main(int argc, char **argv)
{
    int buf[10] = {0}, flag = 0, next, before;
    long n;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    begin(&argc, &argv);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < 5; i++) {
        MPI_Isend(buf, i + 1, MPI_INT, next, i, MPI_COMM_WORLD, &request);
        know("MPI_Isend comm=0 peer=%d tag=%d %d*4 -> 0:%d", next, i, i + 1, i);
        MPI_Request_free(&request);
        know("MPI_Request_free 0:%d", i);
    }
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    know("MPI_Probe comm=0 peer=any tag=0 got(peer=%d bytes=4)", before);
    MPI_Recv(buf, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    know("MPI_Recv comm=0 peer=%d tag=0 1*4 got()", before);
    for (n = 0; !flag; n++)
        MPI_Iprobe(before, 1, MPI_COMM_WORLD, &flag, &status);
    if (n > 1)
        know("%ld MPI_Iprobe comm=0 peer=%d tag=1 nothing", n - 1, before);
    know("MPI_Iprobe comm=0 peer=%d tag=1 got(bytes=8)", before);
    MPI_Recv(buf, 2, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    know("MPI_Recv comm=0 peer=%d tag=any 2*4 got(tag=1)", before);
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    know("MPI_Mprobe comm=0 peer=%d tag=any got(tag=2 bytes=12) -> message 0", before);
    MPI_Mrecv(buf, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
    know("MPI_Mrecv message=0:0 10*4 got(bytes=12)");
    for (flag = 0, n = 0; !flag; n++)
        MPI_Improbe(before, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    if (n > 1)
        know("%ld MPI_Improbe comm=0 peer=%d tag=3 nothing", n - 1, before);
    know("MPI_Improbe comm=0 peer=%d tag=3 got(bytes=16) -> message 1", before);
    MPI_Imrecv(buf, 4, MPI_INT, &message, &request);
    know("MPI_Imrecv message=0:1 4*4 -> 0:5");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    know("MPI_Wait of 1: 0:5got()");
    MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    know("MPI_Mprobe comm=0 peer=null tag=1 got() -> message 2");
    MPI_Mrecv(buf, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
    know("MPI_Mrecv message=null 10*4 got()");
    MPI_Recv(buf, 5, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    know("MPI_Recv comm=0 peer=%d tag=4 5*4 got()", before);
    end();
    return 0;
}
