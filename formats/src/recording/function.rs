//! The functions of MPI, as far as their calls have fields.

use std::sync::Arc;

/// A function whose calls a stream has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, such as `MPI_Send`.
    pub name: Arc<str>,
    pub(super) kind: CallKind,
}

/// The condition on which a send is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As the library decides; `MPI_Rsend`, too.
    Standard,
    /// When it is received.
    Synchronous,
    /// At once.
    Buffered,
}

/// The time at which an operation is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// When the call returns.
    Blocking,
    /// When a call finds its request complete.
    Later,
    /// The same, each time that its request is started.
    Persistent,
}

impl How {
    /// Whether the call makes a request.
    #[must_use]
    pub fn makes_request(self) -> bool {
        self != Self::Blocking
    }
}

/// The operation of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they have the names of MPI")]
pub enum Operation {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

const OPERATIONS: [(&str, Operation); 22] = [
    ("barrier", Operation::Barrier),
    ("bcast", Operation::Bcast),
    ("gather", Operation::Gather),
    ("gatherv", Operation::Gatherv),
    ("scatter", Operation::Scatter),
    ("scatterv", Operation::Scatterv),
    ("allgather", Operation::Allgather),
    ("allgatherv", Operation::Allgatherv),
    ("alltoall", Operation::Alltoall),
    ("alltoallv", Operation::Alltoallv),
    ("alltoallw", Operation::Alltoallw),
    ("reduce", Operation::Reduce),
    ("allreduce", Operation::Allreduce),
    ("reduce_scatter", Operation::ReduceScatter),
    ("reduce_scatter_block", Operation::ReduceScatterBlock),
    ("scan", Operation::Scan),
    ("exscan", Operation::Exscan),
    ("neighbor_allgather", Operation::NeighborAllgather),
    ("neighbor_allgatherv", Operation::NeighborAllgatherv),
    ("neighbor_alltoall", Operation::NeighborAlltoall),
    ("neighbor_alltoallv", Operation::NeighborAlltoallv),
    ("neighbor_alltoallw", Operation::NeighborAlltoallw),
];

impl Operation {
    /// Whether each member exchanges blocks with its neighbours only.
    #[must_use]
    pub fn is_of_neighbours(self) -> bool {
        matches!(
            self,
            Self::NeighborAllgather
                | Self::NeighborAllgatherv
                | Self::NeighborAlltoall
                | Self::NeighborAlltoallv
                | Self::NeighborAlltoallw
        )
    }

    /// Whether one member is its root.
    #[must_use]
    pub fn has_root(self) -> bool {
        matches!(
            self,
            Self::Bcast
                | Self::Gather
                | Self::Gatherv
                | Self::Scatter
                | Self::Scatterv
                | Self::Reduce
        )
    }

    /// The operation of this name, in small letters and without `MPI_`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let found = OPERATIONS.iter().find(|(of, _)| *of == name);
        found.map(|(_, operation)| *operation)
    }

    /// The operation of a function without `MPI_`, and when it is complete.
    fn of(name: &str) -> Option<(Self, How)> {
        let name = name.to_ascii_lowercase();
        let blocking = Self::named(&name).map(|found| (found, How::Blocking));
        let later = || Some((Self::named(name.strip_prefix('i')?)?, How::Later));
        let persistent = || Some((Self::named(name.strip_suffix("_init")?)?, How::Persistent));
        blocking.or_else(later).or_else(persistent)
    }
}

/// A reason why a replay has no counterpart of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// It reads or writes the memory of another process.
    OneSided,
    /// It reads or writes files.
    File,
    /// It starts or meets processes that are not in the recording.
    Dynamic,
    /// It is not known here.
    Unknown,
}

impl Outside {
    fn of(name: &str) -> Self {
        const ONE_SIDED: [&str; 14] = [
            "Win_",
            "Put",
            "Get",
            "Accumulate",
            "Get_accumulate",
            "Fetch_and_op",
            "Compare_and_swap",
            "Rput",
            "Rget",
            "Raccumulate",
            "Rget_accumulate",
            "Alloc_mem",
            "Free_mem",
            "Register_datarep",
        ];
        const DYNAMIC: [&str; 7] = [
            "Comm_spawn",
            "Comm_accept",
            "Comm_connect",
            "Comm_join",
            "Open_port",
            "Close_port",
            "Publish_name",
        ];
        let is = |all: &[&str]| {
            let mut all = all.iter();
            all.any(|one| name == *one || (one.ends_with('_') && name.starts_with(one)))
        };
        if name.starts_with("File_") {
            Self::File
        } else if is(&ONE_SIDED) {
            Self::OneSided
        } else if is(&DYNAMIC) || name.starts_with("Comm_spawn") {
            Self::Dynamic
        } else {
            Self::Unknown
        }
    }
}

/// The fields that the calls of a function have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Send(Mode, How),
    Receive(How),
    SendReceive(How),
    /// `polls`: it need not find a message; `takes`: it takes the message that it finds.
    Probe {
        polls: bool,
        takes: bool,
    },
    ReceiveTaken(How),
    Partitioned {
        sends: bool,
    },
    Ready,
    Arrived,
    Start,
    Free,
    Cancel,
    Complete {
        polls: bool,
    },
    Status,
    Collective(Operation, How),
    MakeComm(How),
    FreeComm,
    Init,
    Finalize,
    Abort,
    Control,
    Local,
    Outside(Outside),
}

const KINDS: [(&str, CallKind); 63] = [
    ("Send", CallKind::Send(Mode::Standard, How::Blocking)),
    ("Rsend", CallKind::Send(Mode::Standard, How::Blocking)),
    ("Ssend", CallKind::Send(Mode::Synchronous, How::Blocking)),
    ("Bsend", CallKind::Send(Mode::Buffered, How::Blocking)),
    ("Isend", CallKind::Send(Mode::Standard, How::Later)),
    ("Irsend", CallKind::Send(Mode::Standard, How::Later)),
    ("Issend", CallKind::Send(Mode::Synchronous, How::Later)),
    ("Ibsend", CallKind::Send(Mode::Buffered, How::Later)),
    ("Send_init", CallKind::Send(Mode::Standard, How::Persistent)),
    (
        "Rsend_init",
        CallKind::Send(Mode::Standard, How::Persistent),
    ),
    (
        "Ssend_init",
        CallKind::Send(Mode::Synchronous, How::Persistent),
    ),
    (
        "Bsend_init",
        CallKind::Send(Mode::Buffered, How::Persistent),
    ),
    ("Recv", CallKind::Receive(How::Blocking)),
    ("Irecv", CallKind::Receive(How::Later)),
    ("Recv_init", CallKind::Receive(How::Persistent)),
    ("Sendrecv", CallKind::SendReceive(How::Blocking)),
    ("Sendrecv_replace", CallKind::SendReceive(How::Blocking)),
    ("Isendrecv", CallKind::SendReceive(How::Later)),
    ("Isendrecv_replace", CallKind::SendReceive(How::Later)),
    (
        "Probe",
        CallKind::Probe {
            polls: false,
            takes: false,
        },
    ),
    (
        "Mprobe",
        CallKind::Probe {
            polls: false,
            takes: true,
        },
    ),
    (
        "Iprobe",
        CallKind::Probe {
            polls: true,
            takes: false,
        },
    ),
    (
        "Improbe",
        CallKind::Probe {
            polls: true,
            takes: true,
        },
    ),
    ("Mrecv", CallKind::ReceiveTaken(How::Blocking)),
    ("Imrecv", CallKind::ReceiveTaken(How::Later)),
    ("Psend_init", CallKind::Partitioned { sends: true }),
    ("Precv_init", CallKind::Partitioned { sends: false }),
    ("Pready", CallKind::Ready),
    ("Pready_range", CallKind::Ready),
    ("Pready_list", CallKind::Ready),
    ("Parrived", CallKind::Arrived),
    ("Start", CallKind::Start),
    ("Startall", CallKind::Start),
    ("Request_free", CallKind::Free),
    ("Cancel", CallKind::Cancel),
    ("Wait", CallKind::Complete { polls: false }),
    ("Waitall", CallKind::Complete { polls: false }),
    ("Waitany", CallKind::Complete { polls: false }),
    ("Waitsome", CallKind::Complete { polls: false }),
    ("Test", CallKind::Complete { polls: true }),
    ("Testall", CallKind::Complete { polls: true }),
    ("Testany", CallKind::Complete { polls: true }),
    ("Testsome", CallKind::Complete { polls: true }),
    ("Request_get_status", CallKind::Status),
    ("Comm_dup", CallKind::MakeComm(How::Blocking)),
    ("Comm_dup_with_info", CallKind::MakeComm(How::Blocking)),
    ("Comm_idup", CallKind::MakeComm(How::Later)),
    ("Comm_idup_with_info", CallKind::MakeComm(How::Later)),
    ("Comm_create", CallKind::MakeComm(How::Blocking)),
    ("Comm_create_group", CallKind::MakeComm(How::Blocking)),
    ("Comm_split", CallKind::MakeComm(How::Blocking)),
    ("Comm_split_type", CallKind::MakeComm(How::Blocking)),
    ("Cart_create", CallKind::MakeComm(How::Blocking)),
    ("Cart_sub", CallKind::MakeComm(How::Blocking)),
    ("Graph_create", CallKind::MakeComm(How::Blocking)),
    ("Dist_graph_create", CallKind::MakeComm(How::Blocking)),
    (
        "Dist_graph_create_adjacent",
        CallKind::MakeComm(How::Blocking),
    ),
    ("Intercomm_create", CallKind::MakeComm(How::Blocking)),
    ("Intercomm_merge", CallKind::MakeComm(How::Blocking)),
    ("Comm_free", CallKind::FreeComm),
    ("Comm_disconnect", CallKind::FreeComm),
    ("Pcontrol", CallKind::Control),
    ("Buffer_detach", CallKind::Local),
];

impl Function {
    /// The function of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            kind: CallKind::of(name.strip_prefix("MPI_").unwrap_or(name)),
            name: name.into(),
        }
    }

    /// Whether a call of it looks for something and may find nothing.
    #[must_use]
    pub fn is_poll(&self) -> bool {
        match self.kind {
            CallKind::Probe { polls, .. } | CallKind::Complete { polls } => polls,
            CallKind::Arrived | CallKind::Status => true,
            _ => false,
        }
    }
}

impl CallKind {
    fn of(name: &str) -> Self {
        match name {
            "Init" | "Init_thread" => return Self::Init,
            "Finalize" => return Self::Finalize,
            "Abort" => return Self::Abort,
            _ => {}
        }
        if let Some((_, kind)) = KINDS.iter().find(|(of, _)| *of == name) {
            return *kind;
        }
        match Operation::of(name) {
            Some((operation, how)) => Self::Collective(operation, how),
            None => Self::Outside(Outside::of(name)),
        }
    }

    /// Whether a call of it that succeeds makes a request.
    pub fn makes_request(self) -> bool {
        match self {
            Self::Send(_, how)
            | Self::Receive(how)
            | Self::SendReceive(how)
            | Self::ReceiveTaken(how)
            | Self::Collective(_, how)
            | Self::MakeComm(how) => how.makes_request(),
            Self::Partitioned { .. } => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_calls_have() {
        let kind = |name| Function::named(name).kind;
        assert_eq!(
            kind("MPI_Ialltoallv"),
            CallKind::Collective(Operation::Alltoallv, How::Later)
        );
        assert_eq!(
            kind("MPI_Neighbor_alltoallw_init"),
            CallKind::Collective(Operation::NeighborAlltoallw, How::Persistent)
        );
        assert_eq!(
            kind("MPI_Ireduce_scatter_block"),
            CallKind::Collective(Operation::ReduceScatterBlock, How::Later)
        );
        assert_eq!(
            kind("MPI_Issend"),
            CallKind::Send(Mode::Synchronous, How::Later)
        );
        assert_eq!(kind("MPI_Win_fence"), CallKind::Outside(Outside::OneSided));
        assert_eq!(kind("MPI_File_open"), CallKind::Outside(Outside::File));
        assert_eq!(
            kind("MPI_Comm_spawn_multiple"),
            CallKind::Outside(Outside::Dynamic)
        );
        assert_eq!(kind("unknown"), CallKind::Outside(Outside::Unknown));
        assert!(Function::named("MPI_Testsome").is_poll());
        assert!(!Function::named("MPI_Waitsome").is_poll());
    }
}
