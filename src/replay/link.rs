//! How a job sends its messages: through the fabric or inside a node.

use super::causes::Posted;
use super::critical_path::OnTheWay;
use super::job::{IntraNode, SendCompletion};
use super::messages::{Messages, Purpose, RankPair, Release};
use super::observer::{Doing, Observer, Sent, StreamOf};
use super::pairs::PairCounts;
use super::program::StreamId;
use super::queue::{Act, Queue, What};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::Message;

/// What all jobs share while a tick is processed.
pub(super) struct Shared<'a> {
    pub queue: &'a mut Queue,
    pub messages: &'a mut Messages,
    /// Messages of this tick for the fabric.
    pub out: &'a mut Vec<Message>,
    /// Present tick.
    pub now: Tick,
    /// What watches the replay.
    pub observer: Option<&'a dyn Observer>,
}

impl Shared<'_> {
    /// Lets `stream` go on at `ps`.
    pub(super) fn stream(&mut self, ps: u64, act: Act, stream: StreamId) {
        self.queue.act(ps, act, What::Stream(stream));
    }

    /// Tells the observer, if there is one, what a stream does from `ps` on.
    #[inline]
    pub(super) fn observe(&self, ps: u64, stream: StreamOf, doing: impl FnOnce() -> Doing) {
        if let Some(observer) = self.observer {
            observer.stream(ps, stream, doing());
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
    /// When the send of a message of `bytes` bytes is complete, by the setting of the job.
    pub(super) fn release(&self, bytes: u64) -> Release {
        match self.send_completion {
            SendCompletion::Injected => Release::Injected,
            SendCompletion::Rendezvous {
                eager_threshold_bytes,
            } if bytes > eager_threshold_bytes => Release::Delivered,
            SendCompletion::Handed | SendCompletion::Rendezvous { .. } => Release::Handed,
        }
    }

    /// Sends `bytes` bytes between two ranks at `ps`. Unless it is released when handed over, a
    /// report will say when the send is complete.
    pub(super) fn post(
        &mut self,
        ps: u64,
        ranks: RankPair,
        bytes: u64,
        purpose: Purpose,
        release: Release,
        shared: &mut Shared<'_>,
    ) -> Result<(), &'static str> {
        let (src, dst) = (self.nics[ranks.from.index()], self.nics[ranks.to.index()]);
        let slot = shared
            .messages
            .insert(self.job, ranks, purpose, release, shared.now)
            .ok_or("more than 2^32 messages are on their way")?;
        if let Some(observer) = shared.observer {
            let RankPair { from, to } = ranks;
            let job = self.job;
            observer.sent(
                ps,
                slot,
                Sent {
                    job,
                    from,
                    to,
                    bytes,
                },
            );
        }
        if let Some(causes) = &mut shared.queue.causes {
            let message = OnTheWay {
                to: ranks.to,
                src,
                dst,
                sl: self.sl,
                bytes,
                token: slot.into(),
                created: shared.now,
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
                .and_then(|copy| ps.checked_add(copy))
                .ok_or(TOO_LATE)?;
            let arrived = copied
                .checked_add(self.intra_node.latency_ps)
                .ok_or(TOO_LATE)?;
            if release == Release::Injected {
                shared.queue.note(copied, What::Injected(slot));
            }
            shared.queue.note(arrived, What::Delivered(slot));
            self.intra_node_sent += 1;
        } else {
            let mut message = Message::new(src, dst, self.sl, bytes, shared.now);
            message.token = slot.into();
            message.report_injection = release == Release::Injected;
            shared.out.push(message);
        }
        self.sent += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.pairs.count(ranks, bytes);
        Ok(())
    }
}

/// A time that cannot be expressed.
pub(super) const TOO_LATE: &str = "the simulated time passes 2^64 ps (213 days)";
