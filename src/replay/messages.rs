//! The messages in flight. A token is the index of a slot, and slots are reused,
//! so only messages in flight take memory: in a burst there are millions of them ([`stored`](super::stored)).

use super::job::IntraNode;
use super::key::Key;
use super::mpi::{CommId, Packet};
use super::node::Seat;
use super::observer::{MatchedBy, SentFor};
use super::program::RankId;
use super::queue::{Act, Actor};
use super::stored::Stored;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::stats::Latency;
use hashbrown::HashMap;

/// Two ranks, one of which sends to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankPair {
    /// Sending rank.
    pub from: RankId,
    /// Receiving rank.
    pub to: RankId,
}

/// A message in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InFlight {
    /// Index of the job.
    pub job: u32,
    /// Sender and receiver.
    pub ranks: RankPair,
    /// The purpose of the message.
    pub purpose: Purpose,
    /// The condition on which the send is complete.
    pub release: Release,
    /// Tick in which it was created.
    pub created: Tick,
    /// The reports of the fabric that are yet to come.
    pub due: Due,
}

/// The reports on a message that have yet to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// The injection.
    pub injection: bool,
    /// The delivery.
    pub delivery: bool,
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A message with an id.
    PointToPoint {
        /// Id in the trace.
        id: u64,
        /// Whether an operation of the receiver waits for it.
        awaited: bool,
    },
    /// A step of a collective.
    Collective {
        /// The collective.
        key: Key,
        /// Position of the sender.
        from: u32,
        /// Tag of the step.
        tag: u32,
    },
    /// A message of the MPI layer.
    Mpi(Packet),
}

impl Purpose {
    /// The purpose of a message between these ranks, and how an operation of the receiver will find it.
    pub(super) fn seen(&self, ranks: RankPair) -> (SentFor, Option<MatchedBy>) {
        match *self {
            Self::PointToPoint { id, awaited } => {
                (SentFor::PointToPoint, awaited.then_some(MatchedBy::Id(id)))
            }
            Self::Collective { .. } => (SentFor::Collective, None),
            Self::Mpi(Packet::Envelope {
                comm,
                number,
                rendezvous,
                ..
            }) => {
                let sent_for = if rendezvous {
                    SentFor::RequestToSend
                } else {
                    SentFor::PointToPoint
                };
                (sent_for, Some(MatchedBy::envelope(ranks, comm, number)))
            }
            Self::Mpi(Packet::ClearToSend { .. }) => (SentFor::ClearToSend, None),
            Self::Mpi(Packet::Payload { .. }) => (SentFor::Payload, None),
        }
    }
}

impl MatchedBy {
    pub(super) fn envelope(RankPair { from, to }: RankPair, comm: CommId, number: u32) -> Self {
        Self::Envelope {
            from,
            to,
            comm: comm.get(),
            number,
        }
    }
}

/// The condition on which a send is complete for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// At once.
    Handed,
    /// The message has left the NIC.
    Injected,
    /// The message has arrived.
    Delivered,
}

/// A message that the fabric carries in several parts, or that continues inside the node of its receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct InParts {
    /// Parts of which the fabric has not reported the injection, if it reports that.
    pub to_inject: u32,
    /// Parts that have not arrived.
    pub to_deliver: u32,
    /// Its last step, behind the fabric.
    pub last_step: Option<LastStep>,
}

/// The last step of a message from a NIC to its receiver, on whose plane the NIC is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastStep {
    /// The number of the message at its sender.
    pub number: u64,
    /// Begin and end.
    pub seats: [Seat; 2],
    /// Size of the message.
    pub bytes: u64,
    /// The link between them, unless the node has links of its own.
    pub pair: IntraNode,
}

/// Most jobs of a replay.
pub(super) const MOST_JOBS: usize = 1 << 24;

/// All messages in flight, by slot.
#[derive(Debug)]
pub(super) struct Messages {
    stored: Stored,
    /// Messages in parts or with a last step, by slot.
    in_parts: HashMap<u32, InParts>,
    /// Messages in flight, by job.
    of_job: Vec<u64>,
    /// Ticks from creation to delivery of the messages that the fabric carried, by job.
    latencies: Vec<Latency>,
}

impl Messages {
    /// No message of any of `jobs` jobs is in flight.
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            stored: Stored::default(),
            in_parts: HashMap::new(),
            of_job: vec![0; jobs],
            latencies: vec![Latency::default(); jobs],
        }
    }

    /// Keeps a message of tick `created` until the fabric has reported all about it. `None` if too many are
    /// in flight.
    pub(super) fn insert(
        &mut self,
        job: u32,
        ranks: RankPair,
        purpose: Purpose,
        release: Release,
        created: Tick,
    ) -> Option<u32> {
        let message = InFlight {
            job,
            ranks,
            purpose,
            release,
            created,
            due: Due {
                injection: release == Release::Injected,
                delivery: true,
            },
        };
        let slot = self.stored.insert(&message)?;
        self.of_job[job as usize] += 1;
        Some(slot)
    }

    /// Follows the message in `slot` in parts.
    pub(super) fn follow(&mut self, slot: u32, parts: InParts) {
        self.in_parts.insert(slot, parts);
    }

    /// Notes that a part of the message in `slot` was injected. Whether it was the last one.
    #[inline]
    pub(super) fn part_injected(&mut self, slot: u32) -> bool {
        self.count_down(slot, |parts| &mut parts.to_inject)
    }

    /// Notes that a part of the message in `slot` was delivered. Whether it was the last one.
    #[inline]
    pub(super) fn part_delivered(&mut self, slot: u32) -> bool {
        self.count_down(slot, |parts| &mut parts.to_deliver)
    }

    fn count_down(&mut self, slot: u32, parts: impl FnOnce(&mut InParts) -> &mut u32) -> bool {
        if self.in_parts.is_empty() {
            return true;
        }
        let Some(followed) = self.in_parts.get_mut(&slot) else {
            return true;
        };
        let left = parts(followed);
        *left = left.saturating_sub(1);
        *left == 0
    }

    /// The last step that the message in `slot`, which has left the fabric, is to take, by its place in the order of
    /// such steps. Without one its parts are forgotten.
    pub(super) fn last_step(&mut self, slot: u32) -> Option<Act> {
        if self.in_parts.is_empty() {
            return None;
        }
        let Some(step) = self.in_parts.get(&slot)?.last_step else {
            self.in_parts.remove(&slot);
            return None;
        };
        let InFlight { job, ranks, .. } = self.stored.get(slot)?;
        Some(Act {
            job,
            rank: ranks.to,
            actor: Actor::Sender(ranks.from),
            record: step.number,
        })
    }

    /// The message in `slot` takes its last step.
    pub(super) fn take_last_step(&mut self, slot: u32) -> Option<LastStep> {
        self.in_parts.remove(&slot)?.last_step
    }

    /// The job that a message in flight belongs to, by its token.
    pub(super) fn job_of(&self, token: u64) -> u32 {
        let slot = u32::try_from(token).ok();
        let created = slot.and_then(|slot| self.stored.created(slot));
        created.map_or(0, |(job, _)| job)
    }

    /// The fabric delivers the message in `slot` in tick `now`.
    pub(super) fn arrives(&mut self, slot: u32, now: Tick) {
        if let Some((job, created)) = self.stored.created(slot) {
            let latency = now.saturating_sub(created);
            self.latencies[job as usize].record(latency);
        }
    }

    /// Ticks from creation to delivery of the messages of `job` that the fabric carried.
    pub(super) fn latency(&self, job: usize) -> &Latency {
        &self.latencies[job]
    }

    /// Notes that the message in `slot` was injected. `None` if its sender does not
    /// wait for that.
    pub(super) fn injected(&mut self, slot: u32) -> Option<InFlight> {
        self.report(slot, |due| &mut due.injection)
    }

    /// Whether the sender of the message in `slot` waits for its injection.
    pub(super) fn awaits_injection(&self, slot: u32) -> bool {
        let message = self.stored.get(slot);
        message.is_some_and(|message| message.due.injection)
    }

    /// Notes that the message in `slot` was delivered. `None` if there is no such
    /// message.
    pub(super) fn delivered(&mut self, slot: u32) -> Option<InFlight> {
        self.report(slot, |due| &mut due.delivery)
    }

    fn report(
        &mut self,
        slot: u32,
        report: impl FnOnce(&mut Due) -> &mut bool,
    ) -> Option<InFlight> {
        let mut reported = self.stored.get(slot)?;
        if !std::mem::take(report(&mut reported.due)) {
            return None;
        }
        if reported.due.injection || reported.due.delivery {
            self.stored.set_due(slot, reported.due);
        } else {
            self.stored.remove(slot);
            self.of_job[reported.job as usize] -= 1;
        }
        Some(reported)
    }

    /// The messages of `job` in flight, in no particular order.
    pub(super) fn in_flight(&self, job: u32) -> impl Iterator<Item = InFlight> {
        let delivered = |message: &InFlight| message.due.delivery;
        let of_job = move |message: &InFlight| message.job == job;
        self.stored.iter().filter(of_job).filter(delivered)
    }

    /// Messages of `job` in flight.
    pub(super) fn outstanding(&self, job: u32) -> u64 {
        self.of_job[job as usize]
    }
}
