//! The calls of MPI that a program makes.

use crate::ids::RankId;
use crate::program::collective::Contribution;
use flitwise_base::define_ids;
use std::sync::Arc;

define_ids! {
    /// A communicator of a job. All its members know it by the same number.
    CommId;
}

/// Tag of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub i32);

/// A request of one rank: the program chooses the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The members of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Its number.
    pub id: CommId,
    /// Ranks of the job, in the order of the communicator; each once.
    pub members: Arc<[RankId]>,
}

/// A call. With a request it is done at once and the request completes later; without one it is
/// done when its operation is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Sends a message.
    Send {
        /// Receiving rank.
        to: RankId,
        /// Communicator.
        comm: CommId,
        /// Tag.
        tag: Tag,
        /// Payload.
        bytes: u64,
        /// The condition on which it is complete.
        mode: SendMode,
        /// It takes, in both nodes, the NIC by this number behind the sender's; 0: the usual NICs.
        nic: u8,
        /// Request, unless the call blocks.
        request: Option<RequestId>,
    },
    /// Receives a message.
    Receive {
        /// Sending rank; `None` for any.
        from: Option<RankId>,
        /// Communicator.
        comm: CommId,
        /// Tag; `None` for any.
        tag: Option<Tag>,
        /// Request, unless the call blocks.
        request: Option<RequestId>,
    },
    /// Takes part in a collective.
    Collective {
        /// Communicator, of which the rank is a member.
        comm: Arc<Communicator>,
        /// The contribution of the rank.
        contribution: Contribution,
        /// Request, unless the call blocks.
        request: Option<RequestId>,
    },
    /// Waits until a message that a receive of this would take has come, and leaves it there.
    Probe {
        /// Sending rank; `None` for any.
        from: Option<RankId>,
        /// Communicator.
        comm: CommId,
        /// Tag; `None` for any.
        tag: Option<Tag>,
    },
    /// Makes requests of the rank inactive, whether or not they are complete.
    Free {
        /// The requests.
        requests: Box<[RequestId]>,
    },
    /// Waits for requests of the rank.
    Wait {
        /// The requests. Requests that are not active do not count.
        requests: Box<[RequestId]>,
        /// The number of them that must be complete.
        until: Until,
    },
}

/// The condition on which a send is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// Up to the eager threshold without the receiver.
    Standard,
    /// Never before the receiver has matched it.
    Synchronous,
    /// At its start: it has a buffer of its own. The message travels like the message of a standard send.
    Buffered,
}

/// The condition on which a wait returns, and the requests that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All: it takes all.
    All,
    /// One: it takes the first complete one of its list.
    Any,
    /// One: it takes all complete ones.
    Some,
}

/// The protocol by which messages are transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// Largest standard send that needs no match before its payload is sent, in bytes.
    pub eager_threshold_bytes: u64,
    /// Payload of a request to send and of a clear to send, in bytes.
    pub control_bytes: u64,
    /// Time that a rank is busy before each message that it sends, in picoseconds.
    pub send_overhead_ps: u64,
    /// Time that a rank is busy after each message that a call received, in picoseconds.
    pub receive_overhead_ps: u64,
}

impl Default for Protocol {
    /// No overheads, PSM2's default threshold for Omni-Path (`PSM2_MQ_RNDV_HFI_THRESH`, 64,000 bytes; Intel
    /// Performance Scaled Messaging 2 Programmer's Guide), and control messages without a payload.
    fn default() -> Self {
        Self {
            eager_threshold_bytes: 64_000,
            control_bytes: 0,
            send_overhead_ps: 0,
            receive_overhead_ps: 0,
        }
    }
}
