//! Observes a replay while it runs: the activities of streams, and the messages of jobs.
//! Watching changes nothing.

use super::mpi::Call;
use super::program::{Action, RankId, StreamId};
use flitwise_fabric::ids::NicId;

/// Sees a replay. Calls come in the order of time; times are in picoseconds. The hooks take `&self`
/// because an observer of the replay may watch the fabric as well. None has a default, so an observer that stands for two
/// cannot forget one.
pub trait Observer: Sync {
    /// Before all others: job number `job` has this name, and its ranks are on these NICs.
    fn job(&self, job: u32, name: &str, nics: &[NicId]);

    /// From `ps` on a stream does something else. Of several calls for a stream at the same time the
    /// last one counts.
    fn stream(&self, ps: u64, stream: StreamOf, doing: Doing);

    /// From `ps` on the innermost region of a stream is the one of this name.
    fn region(&self, ps: u64, stream: StreamOf, name: Option<&str>);

    /// The wait of a stream ends at `ps` with a message from rank `peer`, or because its message to `peer` has left.
    fn waited_for(&self, ps: u64, stream: StreamOf, peer: RankId);

    /// A message was created at `ps`. Its `slot` is its own until it is delivered.
    fn sent(&self, ps: u64, slot: u32, message: Sent);

    /// The message in `slot` was delivered at `ps`.
    fn delivered(&self, ps: u64, slot: u32);

    /// Whether the observer is told when messages leave their NICs, and when receivers take them.
    fn follows_messages(&self) -> bool;

    /// The last byte of the message in `slot` left its NIC at `ps`. Unlike the others, this may come before calls about
    /// earlier times.
    fn injected(&self, ps: u64, slot: u32);

    /// An operation of the receiver took, at `ps`, the message of `job` that is matched by this.
    fn matched(&self, ps: u64, job: u32, by: MatchedBy);
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentFor {
    /// It carries the data of a send.
    PointToPoint,
    /// It is a step of a collective.
    Collective,
    /// It asks the receiver of a rendezvous for the clear to send.
    RequestToSend,
    /// It says that the receiver of a rendezvous is ready.
    ClearToSend,
    /// It carries the data of a rendezvous.
    Payload,
}

impl SentFor {
    /// Its name in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointToPoint => "point-to-point",
            Self::Collective => "collective",
            Self::RequestToSend => "rts",
            Self::ClearToSend => "cts",
            Self::Payload => "payload",
        }
    }
}

/// How the receiver finds a message. Within a job no two messages that have not been taken have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// By its id in the trace.
    Id(u64),
    /// By its envelope.
    Envelope {
        /// Sending rank.
        from: RankId,
        /// Receiving rank.
        to: RankId,
        /// Communicator.
        comm: u32,
        /// Number among the envelopes of the sender to the receiver in this communicator.
        number: u32,
    },
}

/// A stream of a rank of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamOf {
    /// Number of the job among those replayed.
    pub job: u32,
    /// The rank.
    pub rank: RankId,
    /// The stream.
    pub stream: StreamId,
}

/// A message of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Number of the job.
    pub job: u32,
    /// Sending rank.
    pub from: RankId,
    /// Receiving rank.
    pub to: RankId,
    /// Payload in bytes.
    pub bytes: u64,
    /// Its purpose.
    pub sent_for: SentFor,
    /// How an operation of the receiver will find it; `None` if none takes it.
    pub matched_by: Option<MatchedBy>,
}

/// The activity of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It computes.
    Computing,
    /// It waits for a message.
    Receiving,
    /// A send is not complete.
    Sending,
    /// It is in this collective operation, or waits for its end.
    Collective(&'static str),
    /// It waits for requests, or for another operation of its rank.
    Waiting,
    /// Its program is over.
    Ended,
}

impl Doing {
    /// Its name in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Computing => "compute",
            Self::Receiving => "receive",
            Self::Sending => "send",
            Self::Collective(name) => name,
            Self::Waiting => "wait",
            Self::Ended => "ended",
        }
    }

    /// In an operation that is not done.
    pub(super) fn blocked_by(action: &Action) -> Self {
        match action {
            Action::Send { .. } => Self::Sending,
            Action::Mpi(call) => match &**call {
                Call::Send { .. } => Self::Sending,
                Call::Receive { .. } | Call::Probe { .. } => Self::Receiving,
                Call::Collective { contribution, .. } => Self::Collective(contribution.name()),
                Call::Wait { .. } | Call::Free { .. } => Self::Waiting,
            },
            Action::Marker
            | Action::Collective(..)
            | Action::EnterRegion(_)
            | Action::LeaveRegion(_) => Self::Waiting,
        }
    }
}
