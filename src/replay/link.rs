//! The sending of messages of a job: through the fabric or inside a node.

use super::causes::Posted;
use super::collectives::Plan;
use super::collectives::in_network::Switches;
use super::critical_path::LegMessage;
use super::job::{IntraNode, SendCompletion};
use super::messages::{InParts, LastStep, Messages, Purpose, RankPair, Release};
use super::node::{Between, Journey, Nodes, Parts, Seat};
use super::observer::{Doing, Observer, Sent, StreamOf};
use super::pairs::PairCounts;
use super::program::RankId;
use super::queue::{Queue, What};
use flitwise_fabric::ids::{NicId, SwitchId};
use flitwise_fabric::spec::Tick;
use flitwise_fabric::topology::Neighbour;
use flitwise_fabric::workload::Message;
use std::sync::Arc;

/// The parts of the replay that a job uses while it handles an event.
pub(super) struct ReplayContext<'a> {
    pub queue: &'a mut Queue,
    pub messages: &'a mut Messages,
    pub nodes: &'a mut Nodes,
    /// Messages of this tick for the fabric.
    pub out: &'a mut Vec<Message>,
    /// Present tick.
    pub now: Tick,
    /// Time of the event in picoseconds.
    pub ps: u64,
    /// The observer of the replay.
    pub observer: Option<&'a dyn Observer>,
    /// The message whose injection or delivery the event follows directly, by its ranks.
    pub message: Option<RankPair>,
}

impl ReplayContext<'_> {
    /// The other rank of the message that the event of `rank` follows.
    pub(super) fn peer_of(&self, rank: RankId) -> Option<RankId> {
        let RankPair { from, to } = self.message?;
        Some(if to == rank { from } else { to })
    }

    /// Tells the observer, if there is one, what a stream does from now on.
    #[inline]
    pub(super) fn observe(&self, stream: StreamOf, doing: impl FnOnce() -> Doing) {
        if let Some(observer) = self.observer {
            observer.stream(self.ps, stream, doing());
        }
    }
}

/// Sends the messages of one job and counts them.
pub(super) struct Link {
    pub job: u32,
    pub sl: u8,
    /// Ranks of the trace. Behind them come two ranks for each aggregation node.
    pub ranks: u32,
    /// By rank.
    pub seats: Vec<Seat>,
    /// The switches, if they carry out collectives of the job.
    pub switches: Option<Arc<Switches>>,
    /// Messages to other nodes, by rank.
    pub sent_to_nodes: Vec<u64>,
    pub send_completion: SendCompletion,
    pub intra_node: IntraNode,
    pub sent: u64,
    pub bytes: u64,
    pub intra_node_sent: u64,
    pub pairs: PairCounts,
}

impl Link {
    /// The condition on which the send of a message of `bytes` bytes is complete, by the setting of the job.
    pub(super) fn release(&self, bytes: u64) -> Release {
        match self.send_completion {
            SendCompletion::Injected => Release::Injected,
            SendCompletion::Rendezvous {
                eager_threshold_bytes,
            } if bytes > eager_threshold_bytes => Release::Delivered,
            SendCompletion::Handed | SendCompletion::Rendezvous { .. } => Release::Handed,
        }
    }

    /// The NICs of the ranks of the trace.
    pub(super) fn nics(&self) -> Vec<NicId> {
        let seats = &self.seats[..self.ranks as usize];
        seats.iter().map(|seat| seat.nic).collect()
    }

    /// Whether a rank is one of the trace, not an aggregation node.
    pub(super) fn is_of_trace(&self, rank: RankId) -> bool {
        rank.get() < self.ranks
    }

    /// The rank of an aggregation node, which is at a position behind the members of a plan.
    pub(super) fn rank_at(&self, plan: &Plan, position: u32) -> RankId {
        let node = plan.tree().and_then(|tree| tree.position(position));
        let (switch, down) = node.unwrap_or_default();
        self.rank_of_node(switch, down)
    }

    /// The rank that combines in a switch, or the one that copies what goes down.
    pub(super) fn rank_of_node(&self, switch: SwitchId, down: bool) -> RankId {
        RankId::new(self.ranks + 2 * switch.get() + u32::from(down))
    }

    /// The endpoints of a message: of an aggregation node, the one that faces the other rank.
    fn ends(&self, ranks: RankPair) -> [NicId; 2] {
        let (pair, is_node) = ([ranks.from, ranks.to], |rank| !self.is_of_trace(rank));
        let nic = |rank: RankId| self.seats[rank.index()].nic;
        let part = |rank: RankId| match rank.get().checked_sub(self.ranks) {
            None => Neighbour::Nic(nic(rank)),
            Some(behind) => Neighbour::Switch(SwitchId::new(behind / 2)),
        };
        match (&self.switches, pair.into_iter().any(is_node)) {
            (Some(switches), true) => switches.ends(part(ranks.from), part(ranks.to)),
            _ => pair.map(nic),
        }
    }

    /// Sends `bytes` bytes between two ranks. Unless it is released when handed over, a
    /// report will say when the send is complete. `named`: how many NICs behind its own the sender names one.
    pub(super) fn post(
        &mut self,
        ranks: RankPair,
        bytes: u64,
        (purpose, named): (Purpose, u8),
        release: Release,
        context: &mut ReplayContext<'_>,
    ) -> Result<(), &'static str> {
        let seats = [ranks.from, ranks.to].map(|rank| self.seats[rank.index()]);
        let slot = context
            .messages
            .insert(self.job, ranks, purpose, release, context.now)
            .ok_or("more than 2^32 messages are on their way")?;
        let of_trace = self.is_of_trace(ranks.from.max(ranks.to));
        if let Some(observer) = context.observer.filter(|_| of_trace) {
            let (sent_for, matched_by) = purpose.seen(ranks);
            let sent = Sent {
                job: self.job,
                from: ranks.from,
                to: ranks.to,
                bytes,
                sent_for,
                matched_by,
            };
            observer.sent(context.ps, slot, sent);
        }
        let [from, to] = self.ends(ranks);
        if context.nodes.share(from, to) {
            let inside = Parts {
                src: from,
                dst: from,
                bytes,
                count: 1,
            };
            self.note_cause((slot, ranks, release), inside, context);
            self.post_inside(slot, seats, bytes, release, context)?;
        } else {
            let parts = self.journey((slot, ranks), [from, to], (bytes, named), context);
            self.note_cause((slot, ranks, release), parts, context);
            let followed = of_trace && context.observer.is_some_and(Observer::follows_messages);
            self.post_parts((slot, parts), release, followed, context);
        }
        self.sent += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if of_trace {
            self.pairs.count(ranks, bytes);
        }
        Ok(())
    }

    /// The parts in which the message in `slot` travels from one node to another. The message is followed if it has several,
    /// or a last step inside the other node.
    fn journey(
        &mut self,
        (slot, ranks): (u32, RankPair),
        [from, to]: [NicId; 2],
        (bytes, named): (u64, u8),
        context: &mut ReplayContext<'_>,
    ) -> Parts {
        let number = self.sent_to_nodes[ranks.from.index()];
        self.sent_to_nodes[ranks.from.index()] += 1;
        let Journey { parts, last_step } = context.nodes.journey(&Between {
            from,
            to,
            hashed: [ranks.from.get().into(), ranks.to.get().into(), number],
            bytes,
            named,
        });
        if parts.count > 1 || last_step {
            let last_step = last_step.then_some(LastStep {
                number,
                seats: [Seat::first_of(parts.dst), self.seats[ranks.to.index()]],
                bytes,
                pair: self.intra_node,
            });
            let followed = InParts {
                to_inject: parts.count,
                to_deliver: parts.count,
                last_step,
            };
            context.messages.follow(slot, followed);
        }
        parts
    }

    /// Notes, if causes are kept, what caused the message in `slot`, which travels in these parts.
    fn note_cause(
        &self,
        (slot, ranks, release): (u32, RankPair, Release),
        parts: Parts,
        context: &mut ReplayContext<'_>,
    ) {
        let Some(causes) = &mut context.queue.causes else {
            return;
        };
        let message = LegMessage {
            to: ranks.to,
            parts,
            sl: self.sl,
            token: slot.into(),
            created: context.now,
            late_ps: 0,
        };
        let reports = 1 + u32::from(release == Release::Injected);
        causes.posted(slot, Posted::new(self.job, ranks, message, reports));
    }

    fn post_inside(
        &mut self,
        slot: u32,
        seats: [Seat; 2],
        bytes: u64,
        release: Release,
        context: &mut ReplayContext<'_>,
    ) -> Result<(), &'static str> {
        let carried = (context.nodes).carry(seats, bytes, &self.intra_node, context.ps);
        let carried = carried.ok_or(TOO_LATE)?;
        if let Some(observer) = context.observer {
            observer.injected(carried.left_ps, slot);
        }
        if release == Release::Injected {
            context.queue.note(carried.left_ps, What::Injected(slot));
        }
        context
            .queue
            .note(carried.arrived_ps, What::Delivered(slot));
        self.intra_node_sent += 1;
        Ok(())
    }

    fn post_parts(
        &self,
        (slot, parts): (u32, Parts),
        release: Release,
        followed: bool,
        context: &mut ReplayContext<'_>,
    ) {
        for (src, dst, bytes) in parts.each() {
            let mut message = Message::new(src, dst, self.sl, bytes, context.now);
            message.token = slot.into();
            message.report_injection = release == Release::Injected || followed;
            context.out.push(message);
        }
    }
}

/// A time that cannot be expressed.
pub(super) const TOO_LATE: &str = "the simulated time passes 2^64 ps (213 days)";
