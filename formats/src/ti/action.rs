//! The lines of a trace.

use super::datatype::Datatype;

/// One line: an action of a rank.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `init`.
    Init,
    /// `finalize`.
    Finalize,
    /// `comm_size N`, of old recorders; has no effect.
    CommSize(u64),
    /// `comm_split`; has no effect.
    CommSplit,
    /// `comm_dup`; has no effect.
    CommDup,
    /// `location FILE LINE`, where the program makes its next call; has no effect.
    Location,
    /// `compute FLOPS`.
    Compute {
        /// Floating-point operations; how long they take depends on the speed of the machine.
        flops: f64,
    },
    /// `sleep SECONDS`.
    Sleep {
        /// For how long.
        seconds: f64,
    },
    /// `send`, `isend`, `ssend`, `issend`, `bsend`, `ibsend`.
    Send {
        /// Receiving rank; `None` for `MPI_PROC_NULL`: there is no message.
        to: Option<u32>,
        /// Tag.
        tag: u32,
        /// Elements.
        elements: Elements,
        /// When it is complete.
        mode: Mode,
        /// True if it only starts the send, which a wait completes.
        immediate: bool,
    },
    /// `recv`, `irecv`.
    Recv {
        /// Sending rank; `None` for `MPI_ANY_SOURCE` and `MPI_PROC_NULL`, for which recorders write one number ([`Trace`](super::Trace)).
        from: Option<u32>,
        /// Tag; `None` for any.
        tag: Option<u32>,
        /// Elements that there is room for.
        elements: Elements,
        /// True if it only starts the receive, which a wait completes.
        immediate: bool,
    },
    /// `sendRecv`: both at once; its messages have tag 0.
    SendRecv {
        /// Receiving rank of the send; `None` for `MPI_PROC_NULL`.
        to: Option<u32>,
        /// The elements sent.
        send: Elements,
        /// Sending rank of the receive; `None` for any.
        from: Option<u32>,
        /// The elements that there is room for.
        recv: Elements,
    },
    /// `wait`: waits for a request.
    Wait(Request),
    /// `test`: looks whether a request is complete.
    Test(Request),
    /// `waitall`: waits for all requests of the rank, those that its trace completes later included.
    WaitAll {
        /// How many there were, if the trace says so; only informative.
        count: Option<u64>,
    },
    /// `waitany`: waits for one of the requests; the trace does not say which.
    WaitAny {
        /// How many there were, if the trace says so.
        count: Option<u64>,
    },
    /// `testany`; the trace does not say of which requests.
    TestAny,
    /// `testall`; the trace does not say of which requests.
    TestAll,
    /// `testsome`; the trace does not say of which requests.
    TestSome,
    /// A collective of all ranks.
    Collective {
        /// Operation and sizes.
        call: Collective,
        /// True for `ibarrier`, `ibcast`, …, which only start it.
        immediate: bool,
    },
}

/// When a send is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// When its buffer may be used again.
    Standard,
    /// Never before the receiver has matched it.
    Synchronous,
    /// At once: it has a buffer of its own.
    Buffered,
}

/// A number of elements of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Elements {
    /// How many; at most 2^53.
    pub count: u64,
    /// Of what.
    pub datatype: Datatype,
}

impl Elements {
    /// Their size in bytes; an element of unknown size counts as none.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.datatype.bytes(self.count)
    }
}

/// How a trace names a request: by its message. The oldest one that fits is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Sending rank; `None` for any.
    pub src: Option<u32>,
    /// Receiving rank; `None` for any.
    pub dst: Option<u32>,
    /// Tag; `None` for any.
    pub tag: Option<u32>,
}

/// A collective, as one member calls it. Counts are elements; roots are ranks. Lists have an entry for each rank.
#[derive(Debug, Clone, PartialEq)]
pub enum Collective {
    /// `barrier`.
    Barrier,
    /// `bcast COUNT [ROOT [TYPE]]`.
    Bcast {
        /// The elements that the root sends to all.
        elements: Elements,
        /// The root.
        root: u32,
    },
    /// `reduce COUNT FLOPS [ROOT [TYPE]]`.
    Reduce {
        /// The vector of each member.
        elements: Elements,
        /// Computation of a member.
        flops: f64,
        /// The root.
        root: u32,
    },
    /// `allreduce COUNT FLOPS [TYPE]`.
    Allreduce {
        /// The vector of each member.
        elements: Elements,
        /// Computation of a member.
        flops: f64,
    },
    /// `scan COUNT FLOPS [TYPE]`.
    Scan {
        /// The vector of each member.
        elements: Elements,
        /// Computation of a member.
        flops: f64,
    },
    /// `exscan COUNT FLOPS [TYPE]`.
    Exscan {
        /// The vector of each member.
        elements: Elements,
        /// Computation of a member.
        flops: f64,
    },
    /// `alltoall SEND RECV [TYPE [TYPE]]`.
    Alltoall {
        /// For each member.
        send: Elements,
        /// From each member.
        recv: Elements,
    },
    /// `alltoallv SENDBUF SEND… RECVBUF RECV… [TYPE TYPE]`.
    Alltoallv(Box<Alltoallv>),
    /// `gather SEND RECV [ROOT [TYPE [TYPE]]]`.
    Gather {
        /// From each member to the root.
        send: Elements,
        /// At the root, from each member.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `scatter SEND RECV [ROOT [TYPE [TYPE]]]`.
    Scatter {
        /// At the root, for each member.
        send: Elements,
        /// The elements that each member gets.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `allgather SEND RECV [TYPE [TYPE]]`.
    Allgather {
        /// From each member to all.
        send: Elements,
        /// From each member.
        recv: Elements,
    },
    /// `gatherv SEND RECV… [ROOT [TYPE TYPE]]`.
    Gatherv {
        /// From this member.
        send: Elements,
        /// From each member; empty where only the root knows it.
        recv: Box<[u64]>,
        /// Of the counts in `recv`.
        recv_type: Datatype,
        /// The root.
        root: u32,
    },
    /// `scatterv SEND… RECV [ROOT [TYPE TYPE]]`.
    Scatterv {
        /// For each member; empty where only the root knows it.
        send: Box<[u64]>,
        /// Of the counts in `send`.
        send_type: Datatype,
        /// The elements that this member gets.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `allgatherv SEND RECV… [TYPE [TYPE]]`.
    Allgatherv {
        /// From this member to all.
        send: Elements,
        /// From each member.
        recv: Box<[u64]>,
        /// Of the counts in `recv`.
        recv_type: Datatype,
    },
    /// `reducescatter RECV… FLOPS [TYPE]`.
    ReduceScatter {
        /// The block of the result that each member gets.
        recv: Box<[u64]>,
        /// Of the counts in `recv`.
        datatype: Datatype,
        /// Computation of a member.
        flops: f64,
    },
}

/// The sizes of an `alltoallv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alltoallv {
    /// Elements of the whole buffer that is sent from.
    pub send_buffer: u64,
    /// For each member.
    pub send: Box<[u64]>,
    /// Elements of the whole buffer that is received into.
    pub recv_buffer: u64,
    /// From each member.
    pub recv: Box<[u64]>,
    /// Of the counts in `send`.
    pub send_type: Datatype,
    /// Of the counts in `recv`.
    pub recv_type: Datatype,
}

impl Collective {
    /// The word by which a trace calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast { .. } => "bcast",
            Self::Reduce { .. } => "reduce",
            Self::Allreduce { .. } => "allreduce",
            Self::Scan { .. } => "scan",
            Self::Exscan { .. } => "exscan",
            Self::Alltoall { .. } => "alltoall",
            Self::Alltoallv(_) => "alltoallv",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::Allgather { .. } => "allgather",
            Self::Gatherv { .. } => "gatherv",
            Self::Scatterv { .. } => "scatterv",
            Self::Allgatherv { .. } => "allgatherv",
            Self::ReduceScatter { .. } => "reducescatter",
        }
    }

    /// Its root, if it has one.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        match *self {
            Self::Bcast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::Scatter { root, .. }
            | Self::Gatherv { root, .. }
            | Self::Scatterv { root, .. } => Some(root),
            _ => None,
        }
    }

    /// The flops that its member computes.
    #[must_use]
    pub fn flops(&self) -> f64 {
        match self {
            Self::Reduce { flops, .. }
            | Self::Allreduce { flops, .. }
            | Self::Scan { flops, .. }
            | Self::Exscan { flops, .. }
            | Self::ReduceScatter { flops, .. } => *flops,
            _ => 0.0,
        }
    }

    /// The datatypes that it names.
    #[must_use]
    pub fn datatypes(&self) -> [Option<Datatype>; 2] {
        match self {
            Self::Barrier => [None, None],
            Self::Bcast { elements, .. }
            | Self::Reduce { elements, .. }
            | Self::Allreduce { elements, .. }
            | Self::Scan { elements, .. }
            | Self::Exscan { elements, .. } => [Some(elements.datatype), None],
            Self::Alltoall { send, recv }
            | Self::Gather { send, recv, .. }
            | Self::Scatter { send, recv, .. }
            | Self::Allgather { send, recv } => [Some(send.datatype), Some(recv.datatype)],
            Self::Alltoallv(a) => [Some(a.send_type), Some(a.recv_type)],
            Self::Gatherv {
                send, recv_type, ..
            }
            | Self::Allgatherv {
                send, recv_type, ..
            } => [Some(send.datatype), Some(*recv_type)],
            Self::Scatterv {
                send_type, recv, ..
            } => [Some(*send_type), Some(recv.datatype)],
            Self::ReduceScatter { datatype, .. } => [Some(*datatype), None],
        }
    }
}

impl Action {
    /// The word by which a trace calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Finalize => "finalize",
            Self::CommSize(_) => "comm_size",
            Self::CommSplit => "comm_split",
            Self::CommDup => "comm_dup",
            Self::Location => "location",
            Self::Compute { .. } => "compute",
            Self::Sleep { .. } => "sleep",
            Self::Send {
                mode, immediate, ..
            } => match (mode, immediate) {
                (Mode::Standard, false) => "send",
                (Mode::Standard, true) => "isend",
                (Mode::Synchronous, false) => "ssend",
                (Mode::Synchronous, true) => "issend",
                (Mode::Buffered, false) => "bsend",
                (Mode::Buffered, true) => "ibsend",
            },
            Self::Recv { immediate, .. } => {
                if *immediate {
                    "irecv"
                } else {
                    "recv"
                }
            }
            Self::SendRecv { .. } => "sendrecv",
            Self::Wait(_) => "wait",
            Self::Test(_) => "test",
            Self::WaitAll { .. } => "waitall",
            Self::WaitAny { .. } => "waitany",
            Self::TestAny => "testany",
            Self::TestAll => "testall",
            Self::TestSome => "testsome",
            Self::Collective { call, .. } => call.name(),
        }
    }
}
