//! The cause of each event of a replay: the event that led to it. A [`Replay`](super::Replay)
//! keeps this only when asked to.
//!
//! An event is put on the agenda, or a message sent, while another event is being carried out: the last
//! one of all that it had to wait for. So every event has one cause, and the causes of the last event of
//! a job, back to its start, are its critical path.
//!
//! Only causes are kept that an event to come, a message in flight or the last event of a job goes back
//! to. In a program whose ranks wait for one another these chains soon meet: what stays is the path so
//! far, and a few events per rank.

use super::critical_path::{Leg, LegKind, LegMessage};
use super::key::Key;
use super::messages::RankPair;
use super::node::Parts;
use super::program::{RankId, RegionId, StreamId};
use super::queue::{Act, Event, What};
use std::fmt;

/// The cause of the first events.
const ROOT: u32 = 0;

/// Causes of the events of all jobs.
#[derive(Debug)]
pub(super) struct Causes {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// The event that is being carried out.
    present: u32,
    /// By slot of a message: the data that its report needs.
    posted: Vec<Option<Posted>>,
    /// The collective that the next message belongs to.
    collective: Option<Named>,
    /// The region of the stream that acts.
    region: Option<RegionId>,
    jobs: Vec<OfJob>,
}

/// An event that happened.
#[derive(Debug)]
struct Node {
    cause: u32,
    /// The number of nodes, future events, messages and jobs that name it.
    uses: u32,
    ps: u64,
    /// The region in which a stream computed.
    region: Option<RegionId>,
    what: Happened,
}

#[derive(Debug)]
enum Happened {
    /// The start of the run.
    Start,
    /// A stream of the rank went on with this operation.
    Stream(RankId, StreamId, u64),
    /// The rank proceeded with this collective, or took up messages that had arrived.
    Member(RankId, Option<Named>),
    /// The message arrived.
    Arrived(Box<Posted>),
    /// It left the NIC of its sender.
    Left(Box<Posted>),
}

/// A collective, and its operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub key: Key,
    /// `bcast`, say.
    pub operation: &'static str,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.key, self.operation)
    }
}

/// A message, and the event that sent it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posted {
    pub job: u32,
    pub ranks: RankPair,
    collective: Option<Named>,
    region: Option<RegionId>,
    pub message: LegMessage,
    /// Reports that will come.
    pub reports: u32,
    /// When its last step inside the receiver's node began, in picoseconds.
    last_step_ps: Option<u64>,
    node: u32,
}

impl Posted {
    /// A message that is about to be [posted](Causes::posted).
    pub(super) fn new(job: u32, ranks: RankPair, message: LegMessage, reports: u32) -> Self {
        Self {
            job,
            ranks,
            collective: None,
            region: None,
            message,
            reports,
            last_step_ps: None,
            node: ROOT,
        }
    }
}

#[derive(Debug)]
struct OfJob {
    /// Its last event so far.
    last: u32,
    /// By rank: when it last went on, in picoseconds. Since then it computes or waits.
    acted: Vec<u64>,
}

impl Causes {
    /// The causes at the start of jobs with these numbers of ranks.
    pub(super) fn new(ranks: impl Iterator<Item = usize>) -> Self {
        let of_job = |ranks| OfJob {
            last: ROOT,
            acted: vec![0; ranks],
        };
        Self {
            nodes: vec![Node {
                cause: ROOT,
                uses: 1,
                ps: 0,
                region: None,
                what: Happened::Start,
            }],
            free: Vec::new(),
            present: ROOT,
            posted: Vec::new(),
            collective: None,
            region: None,
            jobs: ranks.map(of_job).collect(),
        }
    }

    /// The event that is being carried out, for one more use.
    pub(super) fn hold(&mut self) -> u32 {
        self.hold_node(self.present)
    }

    fn hold_node(&mut self, node: u32) -> u32 {
        if node != ROOT {
            self.nodes[node as usize].uses += 1;
        }
        node
    }

    /// Counts one use less of `node`. After the last one, forgets it and the nodes that only it refers to.
    fn release(&mut self, mut node: u32) {
        while node != ROOT {
            let unused = &mut self.nodes[node as usize];
            unused.uses -= 1;
            if unused.uses > 0 {
                return;
            }
            unused.what = Happened::Start;
            self.free.push(node);
            node = unused.cause;
        }
    }

    /// Begins to carry out an event; takes over the use of its `cause`.
    fn begin(&mut self, cause: u32, ps: u64, what: Happened) {
        let node = Node {
            cause,
            uses: 1,
            ps,
            region: self.region,
            what,
        };
        self.present = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                // Memory ends long before 2³² nodes.
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
    }

    /// Begins to carry out an act of a stream in `region`, or of a rank whose first stream is in it.
    pub(super) fn begin_act(
        &mut self,
        event: &Event,
        collective: Option<Named>,
        region: Option<RegionId>,
    ) {
        self.region = region;
        let Act { job, rank, .. } = event.act;
        self.jobs[job as usize].acted[rank.index()] = event.ps;
        let what = match event.what {
            What::Stream(stream) => Happened::Stream(rank, stream, event.act.record),
            _ => Happened::Member(rank, collective),
        };
        self.begin(event.cause, event.ps, what);
    }

    /// Begins to carry out the report of the message in `slot`.
    pub(super) fn begin_report(&mut self, ps: u64, what: What) {
        let (What::Injected(slot) | What::Delivered(slot)) = what else {
            return;
        };
        let Some(posted) = self.posted.get_mut(slot as usize).and_then(Option::as_mut) else {
            return;
        };
        let mut message = *posted;
        posted.reports -= 1;
        if posted.reports == 0 {
            self.posted[slot as usize] = None;
        }
        let happened = match what {
            What::Injected(_) => Happened::Left(Box::new(message)),
            _ => {
                let acted = self.jobs[message.job as usize].acted[message.ranks.to.index()];
                let sent = self.nodes[message.node as usize].ps;
                message.message.late_ps = sent.saturating_sub(acted);
                Happened::Arrived(Box::new(message))
            }
        };
        self.region = None;
        self.begin(message.node, ps, happened);
    }

    /// The message in `slot` takes its last step from `ps` on.
    pub(super) fn takes_last_step(&mut self, slot: u32, ps: u64) {
        if let Some(posted) = self.posted.get_mut(slot as usize).and_then(Option::as_mut) {
            posted.last_step_ps = Some(ps);
        }
    }

    /// The event has been carried out.
    pub(super) fn end(&mut self) {
        let present = std::mem::replace(&mut self.present, ROOT);
        self.release(present);
    }

    /// The present event is the last one of `job` so far.
    pub(super) fn is_last(&mut self, job: u32) {
        let present = self.hold();
        let last = std::mem::replace(&mut self.jobs[job as usize].last, present);
        self.release(last);
    }

    /// The stream that acts enters or leaves a region, and is now in this one.
    pub(super) fn is_in_region(&mut self, region: Option<RegionId>) {
        self.region = region;
    }

    /// The next message that the present event sends belongs to this collective.
    pub(super) fn goes_on_with(&mut self, collective: Named) {
        self.collective = Some(collective);
    }

    /// The present event sends the message of `slot`.
    pub(super) fn posted(&mut self, slot: u32, posted: Posted) {
        for _ in 0..posted.reports {
            self.hold();
        }
        let at = slot as usize;
        if self.posted.len() <= at {
            self.posted.resize(at + 1, None);
        }
        self.posted[at] = Some(Posted {
            node: self.present,
            collective: self.collective.take(),
            region: self.region,
            ..posted
        });
    }

    /// The path that ends with the last event of `job`.
    pub(super) fn path(&self, job: u32) -> Vec<Leg> {
        let mut legs = Vec::new();
        let mut at = self.jobs.get(job as usize).map_or(ROOT, |job| job.last);
        while at != ROOT {
            let node = &self.nodes[at as usize];
            let from_ps = self.nodes[node.cause as usize].ps;
            let mut leg = node.leg(from_ps);
            let step = node.cut_last_step(&mut leg);
            legs.extend(step.into_iter().chain([leg]).filter(|leg| leg.ps() > 0));
            at = node.cause;
        }
        legs.reverse();
        legs
    }

    /// Events that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.nodes.len() - self.free.len()
    }
}

impl Node {
    /// The leg to it from its cause, which happened at `from_ps`.
    fn leg(&self, from_ps: u64) -> Leg {
        let (rank, collective, kind) = match &self.what {
            _ if self.cause == ROOT => {
                let rank = match &self.what {
                    Happened::Stream(rank, ..) | Happened::Member(rank, _) => *rank,
                    _ => RankId::default(),
                };
                (rank, None, LegKind::Start)
            }
            Happened::Start => (RankId::default(), None, LegKind::Start),
            &Happened::Stream(rank, stream, operation) => {
                (rank, None, LegKind::Computing { stream, operation })
            }
            Happened::Member(rank, named) => (
                *rank,
                named.map(|named| named.to_string()),
                LegKind::Reduction,
            ),
            Happened::Arrived(posted) => posted.leg(LegKind::Arrival),
            Happened::Left(posted) => posted.leg(LegKind::Injection),
        };
        let region = match &self.what {
            _ if self.cause == ROOT => None,
            Happened::Arrived(posted) | Happened::Left(posted) => posted.region,
            Happened::Start | Happened::Stream(..) | Happened::Member(..) => self.region,
        };
        Leg {
            from_ps,
            to_ps: self.ps,
            rank,
            collective,
            region,
            kind,
        }
    }

    /// Cuts the last step inside the node of the receiver off the leg of a message that takes one.
    fn cut_last_step(&self, leg: &mut Leg) -> Option<Leg> {
        let (Happened::Arrived(posted), LegKind::Arrival(message)) = (&self.what, &leg.kind) else {
            return None;
        };
        let from_ps = posted.last_step_ps?;
        let step = LegMessage {
            parts: Parts {
                src: message.parts.dst,
                ..message.parts
            },
            late_ps: 0,
            ..*message
        };
        let step = Leg {
            from_ps,
            kind: LegKind::Arrival(step),
            ..leg.clone()
        };
        leg.to_ps = from_ps;
        Some(step)
    }
}

impl Posted {
    fn leg(&self, kind: impl Fn(LegMessage) -> LegKind) -> (RankId, Option<String>, LegKind) {
        let collective = self.collective.map(|named| named.to_string());
        (self.ranks.from, collective, kind(self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;

    /// Two ranks act in turns; each act causes the next one of its rank, and only the acts of the first rank
    /// continue.
    #[test]
    fn what_nothing_goes_back_to_is_forgotten() {
        let mut queue = Queue::new(1);
        queue.causes = Some(Box::new(Causes::new([2].into_iter())));
        let act = |rank| Act {
            job: 0,
            rank: RankId::new(rank),
            actor: crate::queue::Actor::Endpoint,
            record: 0,
        };
        queue.act(10, act(0), What::Progress);
        queue.act(10, act(1), What::Progress);
        let mut last = 0;
        for _ in 0..1000 {
            let event = queue.pop_until(u64::MAX).unwrap();
            last = event.ps;
            queue.causes.as_mut().unwrap().begin_act(&event, None, None);
            queue.causes.as_mut().unwrap().is_last(0);
            // Rank 0 causes its own events and wakes rank 1, whose events cause nothing.
            if event.act.rank == RankId::new(0) {
                queue.act(event.ps + 5, act(0), What::Progress);
                queue.act(event.ps + 7, act(1), What::Progress);
            }
            queue.carried_out();
        }
        let causes = queue.causes.unwrap();
        let path = causes.path(0);
        assert_eq!(path.iter().map(Leg::ps).sum::<u64>(), last);
        // The path, and at most an event per rank.
        assert!(causes.kept() <= path.len() + 3, "{} events", causes.kept());
    }
}
