//! The seam between the applications and the fabric: the fabric asks a
//! [`Workload`] for messages and tells it what happened to them. Neither side
//! knows anything else about the other.
//!
//! An application queue ([`AppQueue`]) is unbounded, but only its head matters to the fabric. So a
//! workload may keep the rest of a queue to itself, in whatever compact form it likes,
//! and give the next message when it is asked to [`replenish`](Workload::replenish).

use super::ids::NicId;
use super::spec::Tick;

/// A message handed to a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Sending NIC.
    pub src: NicId,
    /// Receiving NIC, different from `src`.
    pub dst: NicId,
    /// Service level.
    pub sl: u8,
    /// Payload in bytes; an empty message still takes one packet.
    pub bytes: u64,
    /// Tick in which it was created: the present one, or an earlier one if the workload
    /// kept it back. End-to-end latency counts from here.
    pub created: Tick,
    /// Returned with every report on this message; means nothing to the fabric.
    pub token: u64,
    /// Ask for a call of [`Workload::injected`].
    pub report_injection: bool,
}

impl Message {
    /// A message that is created in tick `created`, without a token and without a report of its
    /// injection.
    #[must_use]
    pub const fn new(src: NicId, dst: NicId, sl: u8, bytes: u64, created: Tick) -> Self {
        Self {
            src,
            dst,
            sl,
            bytes,
            created,
            token: 0,
            report_injection: false,
        }
    }

    /// The same with a token.
    #[must_use]
    pub const fn with_token(self, token: u64) -> Self {
        Self { token, ..self }
    }
}

/// The queueing of the messages of a NIC before the fabric cuts them into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queueing {
    /// A FIFO per service level (`docs/model/fabric.md` §2).
    PerLevel,
    /// A FIFO per queue pair: service level and destination (`docs/model/infiniband.md` §2).
    PerPair,
}

/// One such FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppQueue {
    /// Sending NIC.
    pub nic: NicId,
    /// Service level.
    pub sl: u8,
    /// Receiving NIC; only with [`Queueing::PerPair`].
    pub dst: Option<NicId>,
}

impl Queueing {
    /// The queue that `message` joins.
    #[must_use]
    pub fn queue_of(self, message: &Message) -> AppQueue {
        AppQueue {
            nic: message.src,
            sl: message.sl,
            dst: (self == Self::PerPair).then_some(message.dst),
        }
    }
}

/// A packet whose tail has reached its destination NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketReport {
    /// Token of the message.
    pub token: u64,
    /// Position of the packet within the message, from 0.
    pub index: u32,
    /// Flits of the packet.
    pub flits: u32,
    /// Tick in which the header left the sending NIC.
    pub injected: Tick,
    /// Tick in which the tail reached the receiving NIC.
    pub delivered: Tick,
}

/// Source of messages and sink of reports.
///
/// Within a tick the fabric first reports what arrived ([`injected`] and
/// [`delivered`], in no defined order: a workload must not depend on it), then
/// calls [`act`] if it is due, and again while it [has more](Workload::has_more).
///
/// [`injected`]: Workload::injected
/// [`delivered`]: Workload::delivered
/// [`act`]: Workload::act
pub trait Workload {
    /// Tick of the next call of [`Workload::act`]; `None` while only reports
    /// can make it act. A tick that has passed means the current tick.
    fn next_tick(&mut self) -> Option<Tick>;

    /// Creates messages of tick `now` by pushing them to `out`, which may have others; the order
    /// is the order in which they enter the application queues.
    fn act(&mut self, now: Tick, out: &mut Vec<Message>);

    /// Whether [`act`](Workload::act) must be called again in this tick, because more messages may follow; asked after
    /// each call. So a workload can create millions of messages without a list of all of them. A workload that wraps
    /// another one must pass this on.
    fn has_more(&self) -> bool {
        false
    }

    /// Application queue `queue` ran empty in tick `now`, after `act` was called if it was
    /// due: the next message of that queue if the workload kept one back, created by `now`.
    /// Asked again when that message has left the queue. Without one, the next message comes
    /// through `act`.
    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let _ = (now, queue);
        None
    }

    /// The tail of the message's last packet reached the receiving NIC.
    fn delivered(&mut self, now: Tick, token: u64);

    /// The tail of the message's last packet left the sending NIC in the tick
    /// before `now`.
    fn injected(&mut self, now: Tick, token: u64) {
        let _ = (now, token);
    }

    /// A packet reached its destination; called before `delivered`.
    fn packet(&mut self, report: &PacketReport) {
        let _ = report;
    }

    /// True when the run may end although messages are in flight.
    fn finished(&self) -> bool;
}
