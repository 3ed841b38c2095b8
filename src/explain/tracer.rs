//! The probe that follows the messages of critical paths, and notes what delayed them.

use super::alone::{Alone, JobsOfTokens};
use super::blame::{Reason, Wait, at_hop, delays};
use crate::fabric::engine::probe::{OutputId, PacketSeen, Probe};
use crate::fabric::ids::NicId;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::fabric::stats::LinkEnd;
use crate::fabric::topology::Topology;
use crate::replay::background::flow_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The number of transfers and stalls of a link that are kept while no message waits for it: reports come ahead of
/// their ticks, and a packet that has just begun to wait waits for those transfers.
const RECENT: usize = 8;

/// The sender of packets that delay others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Culprit {
    /// The source of the packets.
    pub source: Source,
    /// Their service level.
    pub sl: u8,
}

/// A source of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The job of this index in the experiment; in a `Tracer`, the index counts replayed jobs only.
    Job(u32),
    /// The background flow of this index.
    Background(u32),
    /// Congestion control: CNPs and ACKs.
    Answers,
}

/// A message to be followed.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// Its token; the parts of a message have the same one.
    pub token: u64,
    /// NIC that sends it.
    pub src: NicId,
    /// Tick in which it is created.
    pub created: Tick,
    /// Tick of the report that counts: of its arrival or of its injection.
    pub reported: Tick,
    /// Whether `reported` is the tick of its arrival.
    pub arrival: bool,
    /// Its times alone in the fabric.
    pub alone: Alone,
}

/// A packet on one link of its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    pub output: OutputId,
    /// Tick in which the first packet of its message queued here.
    pub first: Tick,
    pub start: Tick,
}

/// A link carried packets of one sender from `start` until before `end`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub start: Tick,
    pub end: Tick,
    pub culprit: Culprit,
    /// The message, if it is followed.
    pub mark: Option<usize>,
}

/// The recent transfers and stalls of a link, or all since a message waits for it.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub transfers: VecDeque<Transfer>,
    /// Ticks without credits: from, and until before.
    pub stalls: VecDeque<(Tick, Tick)>,
    /// Ticks in which it was off, on its way down or up, or in an outage: from, and until before.
    pub wakes: VecDeque<(Tick, Tick)>,
    /// Messages in flight that wait or have waited for it.
    pub watchers: u32,
    /// The tick in which the first of these arrived.
    pub since: Tick,
}

/// A message that is followed.
#[derive(Debug)]
struct Followed {
    mark: Mark,
    /// Links that it has reached, and when.
    first: Vec<(OutputId, Tick)>,
    /// The path of the packet that arrived last.
    last: Vec<Hop>,
    waits: Option<Vec<Wait>>,
    /// It, or another part of its message, has ended.
    is_over: bool,
}

/// The sender of a packet in flight, and the message that it belongs to if that message is followed.
type Owner = (Culprit, Option<usize>);

/// Follows messages through the fabric.
#[derive(Debug)]
pub(crate) struct Tracer {
    topology: Topology,
    throttles: bool,
    jobs: JobsOfTokens,
    followed: Vec<Followed>,
    /// By token and NIC that sends, the messages to come, the next one last.
    to_come: BTreeMap<(u64, NicId), Vec<usize>>,
    /// By NIC, the messages that are not over, in the order of their creation.
    at_nics: BTreeMap<NicId, VecDeque<usize>>,
    /// By number of a packet.
    owners: Vec<Option<Owner>>,
    /// The paths of packets that are followed, by number.
    ways: BTreeMap<u32, Vec<Hop>>,
    outputs: Vec<Output>,
}

impl Tracer {
    /// Follows nothing yet. `jobs` is filled in before packets of these jobs leave.
    #[must_use]
    pub fn new(spec: &FabricSpec, jobs: JobsOfTokens) -> Self {
        Self {
            topology: spec.topology.clone(),
            throttles: spec.congestion_control.is_some(),
            jobs,
            followed: Vec::new(),
            to_come: BTreeMap::new(),
            at_nics: BTreeMap::new(),
            owners: Vec::new(),
            ways: BTreeMap::new(),
            outputs: Vec::new(),
        }
    }

    /// Follows these messages. Returns the number of each.
    pub fn follow(&mut self, marks: &[Mark]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..marks.len()).collect();
        order.sort_by_key(|&at| (marks[at].created, marks[at].token));
        let mut numbers = vec![0; marks.len()];
        for at in order {
            let (number, mark) = (self.followed.len(), marks[at].clone());
            let sent = (mark.token, mark.src);
            self.to_come.entry(sent).or_default().push(number);
            self.at_nics.entry(mark.src).or_default().push_back(number);
            self.followed.push(Followed {
                mark,
                first: Vec::new(),
                last: Vec::new(),
                waits: None,
                is_over: false,
            });
            numbers[at] = number;
        }
        for numbers in self.to_come.values_mut() {
            numbers.reverse();
        }
        numbers
    }

    /// Follows one message with token 0 from `src`, created in tick `start`, and forgets all others.
    pub(super) fn follow_one(&mut self, src: NicId, start: Tick) {
        self.followed.clear();
        self.to_come.clear();
        self.at_nics.clear();
        for output in &mut self.outputs {
            output.watchers = 0;
        }
        let alone = Alone {
            injected: 0,
            delivered: 0,
            starts: Vec::new(),
        };
        let mark = Mark {
            token: 0,
            src,
            created: start,
            reported: Tick::MAX,
            arrival: true,
            alone,
        };
        self.follow(&[mark]);
    }

    /// The path of the packet of that message that arrived last.
    pub(super) fn take_followed(&mut self) -> Vec<Hop> {
        let followed = self.followed.first_mut();
        followed.map_or_else(Vec::new, |followed| std::mem::take(&mut followed.last))
    }

    /// Takes the waits of the message of this number; `None` if it did not end in the tick reported.
    pub fn take_waits(&mut self, number: usize) -> Option<Vec<Wait>> {
        self.followed.get_mut(number)?.waits.take()
    }

    /// The number of the message with `token` that `src` sends in tick `now`, if it is followed.
    fn mark_of(&mut self, token: u64, src: NicId, now: Tick) -> Option<usize> {
        let numbers = self.to_come.get_mut(&(token, src))?;
        while let Some(&number) = numbers.last() {
            let mark = &self.followed[number].mark;
            if mark.reported > now {
                return (mark.created <= now).then_some(number);
            }
            numbers.pop();
        }
        None
    }

    fn owner(&self, number: u32) -> Option<Owner> {
        self.owners.get(number as usize).copied().flatten()
    }

    fn set_owner(&mut self, number: u32, owner: Option<Owner>) {
        let at = number as usize;
        if self.owners.len() <= at {
            self.owners.resize(at + 1, None);
        }
        self.owners[at] = owner;
    }

    fn output(&mut self, output: OutputId) -> &mut Output {
        let at = output.index();
        if self.outputs.len() <= at {
            self.outputs.resize_with(at + 1, Output::default);
        }
        &mut self.outputs[at]
    }

    /// Notes that a packet of message `mark` arrives at `output` in tick `now`. Returns when the first one arrived.
    fn comes_to(&mut self, mark: usize, output: OutputId, now: Tick) -> Tick {
        let first = &mut self.followed[mark].first;
        if let Some(&(_, first)) = first.iter().find(|&&(at, _)| at == output) {
            return first;
        }
        first.push((output, now));
        let watched = self.output(output);
        if watched.watchers == 0 {
            watched.since = now;
        }
        watched.watchers += 1;
        now
    }

    /// The tick before which the record of `output` is not needed.
    fn needed_since(&self, output: OutputId) -> Tick {
        let state = &self.outputs[output.index()];
        let watched = if state.watchers > 0 {
            state.since
        } else {
            Tick::MAX
        };
        let next = match output.end(&self.topology) {
            LinkEnd::Nic(nic) => self.at_nics.get(&nic).and_then(|numbers| numbers.front()),
            LinkEnd::Port { .. } => None,
        };
        let created = next.map_or(Tick::MAX, |&number| self.followed[number].mark.created);
        watched.min(created)
    }

    /// Divides the time of message `number`, which has ended. With it end the other parts that it was sent in, which lie
    /// beside it.
    fn finish(&mut self, number: usize) {
        self.followed[number].waits = Some(self.waits_of(number));
        let sent = |of: &Followed| (of.mark.token, of.mark.created, of.mark.reported);
        let of_message = |of: &&Followed| sent(of) == sent(&self.followed[number]);
        let before = self.followed[..number].iter().rev();
        let first = number - before.take_while(of_message).count();
        let parts = self.followed[first..].iter().take_while(of_message).count();
        for part in first..first + parts {
            self.end(part);
        }
    }

    /// Follows message `number` no further.
    fn end(&mut self, number: usize) {
        let followed = &mut self.followed[number];
        followed.is_over = true;
        followed.last = Vec::new();
        let (src, first) = (followed.mark.src, std::mem::take(&mut followed.first));
        for (output, _) in first {
            let output = self.output(output);
            output.watchers = output.watchers.saturating_sub(1);
        }
        if let Some(numbers) = self.at_nics.get_mut(&src) {
            // Most end in the order of their creation.
            if numbers.front() == Some(&number) {
                numbers.pop_front();
            } else {
                numbers.retain(|&other| other != number);
            }
        }
    }

    fn waits_of(&self, number: usize) -> Vec<Wait> {
        let Followed { mark, last, .. } = &self.followed[number];
        let ends = if mark.arrival {
            mark.alone.delivered
        } else {
            mark.alone.injected
        };
        let late = (mark.reported - mark.created).saturating_sub(ends);
        if late == 0 {
            return Vec::new();
        }
        let hops = if mark.arrival {
            &last[..]
        } else {
            &last[..last.len().min(1)]
        };
        let delays = delays(hops, mark.created, &mark.alone, late);
        let of_hop = |(at, ticks): (usize, Tick)| {
            let hop = &hops[at];
            let otherwise = if at == 0 && self.throttles {
                Reason::Throttled
            } else {
                Reason::Inside
            };
            let output = &self.outputs[hop.output.index()];
            at_hop(hop, output, number, ticks, otherwise)
        };
        delays.into_iter().flat_map(of_hop).collect()
    }
}

/// Drops the entries before `since`, except for the latest few.
fn prune<T>(kept: &mut VecDeque<T>, since: Tick, end: impl Fn(&T) -> Tick) {
    while kept.len() > RECENT && kept.front().is_some_and(|oldest| end(oldest) <= since) {
        kept.pop_front();
    }
}

impl Probe for Tracer {
    fn injected(&mut self, now: Tick, packet: PacketSeen, src: NicId, token: Option<u64>) {
        let source = match token {
            None => Source::Answers,
            Some(token) => match flow_of(token) {
                Some(flow) => Source::Background(flow),
                None => Source::Job(self.jobs.borrow().get(token as usize).copied().unwrap_or(0)),
            },
        };
        let mark = token.and_then(|token| self.mark_of(token, src, now));
        let sl = packet.sl;
        self.set_owner(packet.number, Some((Culprit { source, sl }, mark)));
        if mark.is_some() {
            self.ways.insert(packet.number, Vec::new());
        }
    }

    fn queued(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        if let Some((_, Some(mark))) = self.owner(packet.number) {
            self.comes_to(mark, output, now);
        }
    }

    fn started(&mut self, start: Tick, end: Tick, packet: PacketSeen, output: OutputId, _: Tick) {
        let Some((culprit, mark)) = self.owner(packet.number) else {
            return;
        };
        let state = self.output(output);
        match state.transfers.back_mut() {
            Some(last) if (last.culprit, last.mark) == (culprit, mark) && start <= last.end => {
                last.end = end;
            }
            _ => state.transfers.push_back(Transfer {
                start,
                end,
                culprit,
                mark,
            }),
        }
        let since = self.needed_since(output);
        prune(&mut self.output(output).transfers, since, |transfer| {
            transfer.end
        });
        let Some(number) = mark else { return };
        let created = self.followed[number].mark.created;
        let first = self.comes_to(number, output, created);
        let Some(way) = self.ways.get_mut(&packet.number) else {
            return;
        };
        way.push(Hop {
            output,
            first,
            start,
        });
        let (hops, mark) = (way.len(), &self.followed[number].mark);
        if hops == 1 && !mark.arrival && !self.followed[number].is_over {
            let over = end >= mark.reported;
            self.followed[number].last = way.clone();
            if over {
                self.finish(number);
            }
        }
    }

    fn credit_wait(&mut self, output: OutputId, from: Tick, until: Tick) {
        self.output(output).stalls.push_back((from, until));
        let since = self.needed_since(output);
        prune(&mut self.output(output).stalls, since, |stall| stall.1);
    }

    fn woke(&mut self, output: OutputId, from: Tick, until: Tick) {
        let wakes = &mut self.output(output).wakes;
        if wakes.back() != Some(&(from, until)) {
            wakes.push_back((from, until));
            let since = self.needed_since(output);
            prune(&mut self.output(output).wakes, since, |wake| wake.1);
        }
    }

    fn delivered(&mut self, now: Tick, packet: PacketSeen, _: Option<u64>) {
        let owner = self.owner(packet.number);
        self.set_owner(packet.number, None);
        let Some((_, Some(number))) = owner else {
            return;
        };
        let way = self.ways.remove(&packet.number).unwrap_or_default();
        let followed = &mut self.followed[number];
        if followed.is_over || !followed.mark.arrival {
            return;
        }
        followed.last = way;
        if now == followed.mark.reported {
            self.finish(number);
        }
    }
}
