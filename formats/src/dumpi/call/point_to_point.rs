//! Messages between two ranks, their requests and probes.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype, Request};
use crate::dumpi::wire::{Array, Statuses};

shapes! {
    Send {
        count: i32,
        datatype: Datatype,
        dest: i32,
        tag: i32,
        comm: Comm,
    }
    Recv<'a> {
        count: i32,
        datatype: Datatype,
        source: i32,
        tag: i32,
        comm: Comm,
        status: Statuses<'a>,
    }
    GetCount<'a> {
        status: Statuses<'a>,
        datatype: Datatype,
        count: i32,
    }
    BufferSize {
        size: i32,
    }
    Isend {
        count: i32,
        datatype: Datatype,
        dest: i32,
        tag: i32,
        comm: Comm,
        request: Request,
    }
    Irecv {
        count: i32,
        datatype: Datatype,
        source: i32,
        tag: i32,
        comm: Comm,
        request: Request,
    }
    Wait<'a> {
        request: Request,
        status: Statuses<'a>,
    }
    Test<'a> {
        request: Request,
        flag: i32,
        status: Statuses<'a>,
    }
    OneRequest {
        request: Request,
    }
    Waitany<'a> {
        count: i32,
        requests: Array<'a, Request>,
        index: i32,
        status: Statuses<'a>,
    }
    Testany<'a> {
        count: i32,
        requests: Array<'a, Request>,
        index: i32,
        flag: i32,
        status: Statuses<'a>,
    }
    Waitall<'a> {
        count: i32,
        requests: Array<'a, Request>,
        statuses: Statuses<'a>,
    }
    Testall<'a> {
        count: i32,
        requests: Array<'a, Request>,
        flag: i32,
        statuses: Statuses<'a>,
    }
    Waitsome<'a> {
        count: i32,
        requests: Array<'a, Request>,
        outcount: i32,
        indices: Array<'a, i32>,
        statuses: Statuses<'a>,
    }
    Iprobe<'a> {
        source: i32,
        tag: i32,
        comm: Comm,
        flag: i32,
        status: Statuses<'a>,
    }
    Probe<'a> {
        source: i32,
        tag: i32,
        comm: Comm,
        status: Statuses<'a>,
    }
    TestCancelled<'a> {
        status: Statuses<'a>,
        cancelled: i32,
    }
    Startall<'a> {
        count: i32,
        requests: Array<'a, Request>,
    }
    Sendrecv<'a> {
        sendcount: i32,
        sendtype: Datatype,
        dest: i32,
        sendtag: i32,
        recvcount: i32,
        recvtype: Datatype,
        source: i32,
        recvtag: i32,
        comm: Comm,
        status: Statuses<'a>,
    }
    SendrecvReplace<'a> {
        count: i32,
        datatype: Datatype,
        dest: i32,
        sendtag: i32,
        source: i32,
        recvtag: i32,
        comm: Comm,
        status: Statuses<'a>,
    }
    StatusSetCancelled<'a> {
        status: Statuses<'a>,
        flag: i32,
    }
}
