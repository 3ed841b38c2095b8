//! MPI's own work: matching, protocols and requests, as `docs/model/replay.md` says. Programs of
//! messages with an id pass nothing of it.

mod call;
mod endpoint;
mod matching;
mod order;

pub use call::{Call, CommId, Communicator, Protocol, RequestId, SendMode, Tag, Until};
pub(super) use endpoint::{Cleared, Endpoint, Owner, Sending, WaitOutcome};
pub(crate) use matching::{Envelope, MatchQueues, Pattern, Transfer};

/// A message of the MPI layer on its way. Slots are places in the tables of one of the two
/// endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet {
    /// A message or a request to send; the fabric message has its sender.
    Envelope {
        /// Communicator.
        comm: CommId,
        /// Tag.
        tag: Tag,
        /// Number among the envelopes of the sender to the receiver in this communicator.
        number: u32,
        /// Slot of the send at the sender.
        send: u32,
        /// True for a request to send.
        rendezvous: bool,
    },
    /// A clear to send.
    ClearToSend {
        /// Slot of the send at the sender.
        send: u32,
        /// Slot of the receive at the receiver.
        receive: u32,
    },
    /// The payload of a rendezvous.
    Payload {
        /// Slot of the send at the sender.
        send: u32,
        /// Slot of the receive at the receiver.
        receive: u32,
    },
}
