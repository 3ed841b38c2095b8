//! The sending of messages of a job: through the fabric or inside a node.

use super::causes::Posted;
use super::critical_path::OnTheWay;
use super::job::{IntraNode, SendCompletion};
use super::messages::{Messages, Purpose, RankPair, Release};
use super::observer::{Doing, Observer, Sent, StreamOf};
use super::pairs::PairCounts;
use super::program::RankId;
use super::queue::{Queue, What};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::Message;

/// The parts of the replay that a job uses while it handles an event.
pub(super) struct ReplayContext<'a> {
    pub queue: &'a mut Queue,
    pub messages: &'a mut Messages,
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
    /// By rank.
    pub nics: Vec<NicId>,
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

    /// Sends `bytes` bytes between two ranks. Unless it is released when handed over, a
    /// report will say when the send is complete.
    pub(super) fn post(
        &mut self,
        ranks: RankPair,
        bytes: u64,
        purpose: Purpose,
        release: Release,
        context: &mut ReplayContext<'_>,
    ) -> Result<(), &'static str> {
        let (src, dst) = (self.nics[ranks.from.index()], self.nics[ranks.to.index()]);
        let slot = context
            .messages
            .insert(self.job, ranks, purpose, release, context.now)
            .ok_or("more than 2^32 messages are on their way")?;
        if let Some(observer) = context.observer {
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
        if let Some(causes) = &mut context.queue.causes {
            let message = OnTheWay {
                to: ranks.to,
                src,
                dst,
                sl: self.sl,
                bytes,
                token: slot.into(),
                created: context.now,
                late_ps: 0,
            };
            let reports = 1 + u32::from(release == Release::Injected);
            let posted = Posted::new(self.job, ranks, message, reports);
            causes.posted(slot, posted);
        }
        if src == dst {
            let copied = self
                .intra_node
                .copy_ps(bytes)
                .and_then(|copy| context.ps.checked_add(copy))
                .ok_or(TOO_LATE)?;
            let arrived = copied
                .checked_add(self.intra_node.latency_ps)
                .ok_or(TOO_LATE)?;
            if let Some(observer) = context.observer {
                observer.injected(copied, slot);
            }
            if release == Release::Injected {
                context.queue.note(copied, What::Injected(slot));
            }
            context.queue.note(arrived, What::Delivered(slot));
            self.intra_node_sent += 1;
        } else {
            let mut message = Message::new(src, dst, self.sl, bytes, context.now);
            message.token = slot.into();
            let followed = context.observer.is_some_and(Observer::follows_messages);
            message.report_injection = release == Release::Injected || followed;
            context.out.push(message);
        }
        self.sent += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.pairs.count(ranks, bytes);
        Ok(())
    }
}

/// A time that cannot be expressed.
pub(super) const TOO_LATE: &str = "the simulated time passes 2^64 ps (213 days)";
