//! The contents of a VEF file as written: nothing is checked here.

use std::sync::Arc;

/// Version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `VEF`: times in nanoseconds, no traffic bit.
    Vef,
    /// `VEF3`: the header has the unit of time, `Dep` the traffic bit.
    Vef3,
}

impl Version {
    /// The word with which a file of it begins.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vef => "VEF",
            Self::Vef3 => "VEF3",
        }
    }
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Version.
    pub version: Version,
    /// Number of tasks (ranks).
    pub tasks: u32,
    /// Number of point-to-point lines, markers included.
    pub messages: u64,
    /// Number of communicator lines.
    pub comms: u32,
    /// Number of distinct collectives.
    pub collectives: u64,
    /// Number of collective lines.
    pub members: u64,
    /// Says that the trace has only send dependencies; informative.
    pub only_send_deps: bool,
    /// Picoseconds per unit of time.
    pub ps_per_unit: u64,
}

/// A communicator line; its index is its position among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comm {
    /// Tasks in communicator order.
    pub members: Arc<[u32]>,
}

/// A line of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// `ID src dst size Dep time IDdep`.
    Message(Message),
    /// `G<g> comm op task send recv Dep time IDdep`.
    Member(Member),
}

impl Record {
    /// The task whose program the record belongs to.
    #[must_use]
    pub fn task(&self) -> u32 {
        match self {
            Self::Message(m) => m.src,
            Self::Member(m) => m.task,
        }
    }

    /// Its dependency: the kind and the id.
    #[must_use]
    pub fn dep(&self) -> (Dep, DepId) {
        match self {
            Self::Message(m) => (m.dep, m.after),
            Self::Member(m) => (m.dep, m.after),
        }
    }

    /// Computation before it, in the header's units.
    #[must_use]
    pub fn time(&self) -> u64 {
        match self {
            Self::Message(m) => m.time,
            Self::Member(m) => m.time,
        }
    }
}

/// A point-to-point record: a message or a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Unique among the point-to-point records.
    pub id: u64,
    /// Sender, whose program the record belongs to.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Payload in bytes.
    pub size: u64,
    /// Kind of the dependency, and the traffic bit.
    pub dep: Dep,
    /// Computation before it, in the header's units.
    pub time: u64,
    /// The record or collective that it depends on.
    pub after: DepId,
}

impl Message {
    /// True for the entry of a receive, of a wait or of the end, which sends nothing.
    #[must_use]
    pub fn is_marker(&self) -> bool {
        self.src == self.dst && self.size == 0 && !self.dep.traffic()
    }
}

/// One member's part of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Id of the collective.
    pub id: u64,
    /// Index of the communicator.
    pub comm: u32,
    /// Code of the operation; [`Op`](super::Op) knows 0 to 7.
    pub op: u32,
    /// The member.
    pub task: u32,
    /// First size field; its meaning depends on the operation.
    pub send: u64,
    /// Second size field.
    pub recv: u64,
    /// Kind of the dependency.
    pub dep: Dep,
    /// Computation before it, in the header's units.
    pub time: u64,
    /// The record or collective that it depends on.
    pub after: DepId,
}

/// The `Dep` field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dep(pub u8);

/// Event that a record waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepKind {
    /// The start of the trace.
    Start,
    /// This task sent a message.
    Sent,
    /// This task received a message.
    Received,
    /// This task completed a collective.
    Completed,
}

impl Dep {
    /// The largest defined value.
    pub const MAX: u8 = 7;

    /// The two low bits.
    #[must_use]
    pub fn kind(self) -> DepKind {
        match self.0 & 3 {
            0 => DepKind::Start,
            1 => DepKind::Sent,
            2 => DepKind::Received,
            _ => DepKind::Completed,
        }
    }

    /// Bit 2: the record carries traffic.
    #[must_use]
    pub fn traffic(self) -> bool {
        self.0 & 4 != 0
    }
}

/// The `IDdep` field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepId {
    /// `-1`.
    None,
    /// Id of a message or marker.
    Message(u64),
    /// Id of a collective.
    Collective(u64),
}
