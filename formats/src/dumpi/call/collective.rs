//! Collectives, and operations of reductions.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype, Op};
use crate::dumpi::wire::Array;

shapes! {
    OneComm {
        comm: Comm,
    }
    Bcast {
        count: i32,
        datatype: Datatype,
        root: i32,
        comm: Comm,
    }
    Gather {
        commrank: i32,
        sendcount: i32,
        sendtype: Datatype,
        root: i32,
        comm: Comm,
        recvcount: Option<i32> where commrank == root,
        recvtype: Option<Datatype> where commrank == root,
    }
    Gatherv<'a> {
        commrank: i32,
        commsize: i32,
        sendcount: i32,
        sendtype: Datatype,
        root: i32,
        comm: Comm,
        recvcounts: Option<Array<'a, i32>> where commrank == root,
        displs: Option<Array<'a, i32>> where commrank == root,
        recvtype: Datatype,
    }
    Scatter {
        commrank: i32,
        recvcount: i32,
        recvtype: Datatype,
        root: i32,
        comm: Comm,
        sendcount: Option<i32> where commrank == root,
        sendtype: Option<Datatype> where commrank == root,
    }
    Scatterv<'a> {
        commrank: i32,
        commsize: i32,
        sendtype: Datatype,
        recvcount: i32,
        recvtype: Datatype,
        root: i32,
        comm: Comm,
        sendcounts: Option<Array<'a, i32>> where commrank == root,
        displs: Option<Array<'a, i32>> where commrank == root,
    }
    Exchange {
        sendcount: i32,
        sendtype: Datatype,
        recvcount: i32,
        recvtype: Datatype,
        comm: Comm,
    }
    Allgatherv<'a> {
        commsize: i32,
        sendcount: i32,
        sendtype: Datatype,
        recvcounts: Array<'a, i32>,
        displs: Array<'a, i32>,
        recvtype: Datatype,
        comm: Comm,
    }
    Alltoallv<'a> {
        commsize: i32,
        sendcounts: Array<'a, i32>,
        senddispls: Array<'a, i32>,
        sendtype: Datatype,
        recvcounts: Array<'a, i32>,
        recvdispls: Array<'a, i32>,
        recvtype: Datatype,
        comm: Comm,
    }
    Reduce {
        count: i32,
        datatype: Datatype,
        op: Op,
        root: i32,
        comm: Comm,
    }
    OpCreate {
        commute: i32,
        op: Op,
    }
    OneOp {
        op: Op,
    }
    Allreduce {
        count: i32,
        datatype: Datatype,
        op: Op,
        comm: Comm,
    }
    ReduceScatter<'a> {
        commsize: i32,
        recvcounts: Array<'a, i32>,
        datatype: Datatype,
        op: Op,
        comm: Comm,
    }
    Alltoallw<'a> {
        commsize: i32,
        sendcounts: Array<'a, i32>,
        senddispls: Array<'a, i32>,
        sendtypes: Array<'a, Datatype>,
        recvcounts: Array<'a, i32>,
        recvdispls: Array<'a, i32>,
        recvtypes: Array<'a, Datatype>,
        comm: Comm,
    }
}
