//! A naive workload that skips gaps as `docs/model/gap-skip.md` defines it: it lists every background message
//! from the start, and strikes out those of a gap.

use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::workload::{AppQueue, Message, PacketReport, Queueing, Workload};
use flitwise::replay::background::{Background, BackgroundFlow};
use std::collections::{BTreeMap, VecDeque};

/// Two ranks that send each other a message in turn.
#[derive(Debug, Clone)]
pub struct Pair {
    pub nics: [u32; 2],
    /// Computation in picoseconds before each message, and its bytes.
    pub hops: Vec<(u64, u64)>,
    /// Computation behind the last one.
    pub last_ps: u64,
}

/// What a run looked like: whether it was a message of a job, and ticks of the fabric.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Ticks in which a packet was delivered and injected, its position and flits.
    pub packets: Vec<(Tick, Tick, u32, u32, bool)>,
    pub messages: Vec<(Tick, bool)>,
    /// Gaps, ticks and messages that were skipped.
    pub skipped: [u64; 3],
}

impl Told {
    pub fn packet(&mut self, report: &PacketReport) {
        let PacketReport {
            token,
            index,
            flits,
            injected,
            delivered,
        } = *report;
        let packet = (delivered, injected, index, flits, is_of_job(token));
        self.packets.push(packet);
    }

    /// The order within a tick is not defined.
    pub fn sorted(mut self) -> Self {
        self.packets.sort_unstable();
        self.messages.sort_unstable();
        self
    }
}

pub fn is_of_job(token: u64) -> bool {
    token <= u64::from(u32::MAX)
}

type Key = (NicId, u8, Option<NicId>);

fn key(queue: AppQueue) -> Key {
    (queue.nic, queue.sl, queue.dst)
}

/// An application queue: the fabric has a message of it, and others wait.
#[derive(Default)]
struct Line {
    busy: bool,
    waiting: VecDeque<Message>,
}

pub struct Naive<'a> {
    spec: &'a FabricSpec,
    queueing: Queueing,
    warm_up: Tick,
    sl: u8,
    pairs: Vec<Pair>,
    /// Per pair: messages created, and when it goes on; `None` while one is on its way, and at the end.
    state: Vec<(usize, Option<u64>)>,
    /// Background messages to come, with ticks of the replay.
    background: VecDeque<Message>,
    lines: BTreeMap<Key, Line>,
    in_fabric: usize,
    /// When to look next whether to skip, in a gap.
    next_try: Option<Tick>,
    in_gap: bool,
    skipped: Tick,
    next: Tick,
    ended: bool,
    pub told: Told,
}

impl<'a> Naive<'a> {
    /// The jobs send on service level `sl`. Background flows are listed up to tick `until`.
    pub fn new(
        spec: &'a FabricSpec,
        pairs: &[Pair],
        sl: u8,
        flows: &[BackgroundFlow],
        warm_up: Tick,
        until: Tick,
    ) -> Self {
        let state = pairs.iter().map(|pair| (0, Some(start(pair)))).collect();
        Self {
            spec,
            queueing: spec.queueing(),
            warm_up,
            sl,
            pairs: pairs.to_vec(),
            state,
            background: list(spec, flows, until),
            lines: BTreeMap::new(),
            in_fabric: 0,
            next_try: None,
            in_gap: false,
            skipped: 0,
            next: 0,
            ended: false,
            told: Told::default(),
        }
    }

    fn tick_of(&self, ps: u64) -> Tick {
        self.spec.units.tick.ticks(ps)
    }

    /// The messages that jobs create in tick `now` of the replay.
    fn of_jobs(&mut self, now: Tick) -> Vec<Message> {
        let mut created = Vec::new();
        for at in 0..self.pairs.len() {
            let (hop, Some(ps)) = self.state[at] else {
                continue;
            };
            // A pair may end in a gap.
            if self.tick_of(ps) > now {
                continue;
            }
            self.state[at].1 = None;
            let Some(&(_, bytes)) = self.pairs[at].hops.get(hop) else {
                continue;
            };
            self.state[at].0 += 1;
            let [src, dst] = [hop % 2, 1 - hop % 2].map(|end| NicId::new(self.pairs[at].nics[end]));
            let message = Message::new(src, dst, self.sl, bytes, now).with_token(at as u64);
            created.push((ps, 2 * at + hop % 2, message));
        }
        created.sort_by_key(|&(ps, rank, _)| (ps, rank));
        created.into_iter().map(|(_, _, message)| message).collect()
    }

    /// The next tick in which a job creates a message, or the last one ends.
    fn next_of_jobs(&self) -> Tick {
        let going_on = || {
            let all = self.state.iter().zip(&self.pairs);
            all.filter_map(|(&(hop, ps), pair)| Some((hop < pair.hops.len(), self.tick_of(ps?))))
        };
        let messages = going_on().filter_map(|(sends, tick)| sends.then_some(tick));
        let ends = going_on().map(|(_, tick)| tick);
        messages
            .min()
            .or(ends.max())
            .expect("a job that has not ended")
    }

    /// The end of tick `now`.
    fn gap(&mut self, now: Tick) {
        if self.in_fabric > 0 || self.ended {
            (self.in_gap, self.next_try) = (false, None);
            return;
        }
        if !std::mem::replace(&mut self.in_gap, true) {
            self.next_try = Some(now);
        }
        if self.next_try != Some(now) {
            return;
        }
        self.next_try = None;
        let least = (self.warm_up / 4).max(1);
        let first = self.next_of_jobs().saturating_sub(self.warm_up);
        if first < now + 1 + least {
            return;
        }
        let ticks = first - now - 1;
        let waiting = || self.lines.values().flat_map(|line| &line.waiting);
        if waiting().any(|message| now - message.created > self.warm_up) {
            self.next_try = Some(now + least);
            return;
        }
        let before = self.background.len();
        self.background.retain(|message| message.created >= first);
        let lines = self.lines.values_mut();
        for message in lines.flat_map(|line| &mut line.waiting) {
            message.created += ticks;
        }
        self.skipped += ticks;
        let struck = before - self.background.len();
        for (sum, more) in self.told.skipped.iter_mut().zip([1, ticks, struck as u64]) {
            *sum += more;
        }
    }
}

/// `message` with the tick of the fabric that belongs to its own.
fn earlier(mut message: Message, skipped: Tick) -> Message {
    message.created -= skipped;
    message
}

/// When a pair creates its first message.
fn start(pair: &Pair) -> u64 {
    pair.hops.first().map_or(pair.last_ps, |hop| hop.0)
}

/// All messages of `flows` before tick `until`, by the tick of their creation.
fn list(spec: &FabricSpec, flows: &[BackgroundFlow], until: Tick) -> VecDeque<Message> {
    let (nics, queueing) = (spec.topology.nics(), spec.queueing());
    let mut background = Background::new(flows, nics, 1, queueing).expect("sound flows");
    let (mut all, mut out) = (Vec::new(), Vec::new());
    while background.next_tick() < until {
        let tick = background.next_tick();
        background.act(tick, &mut out);
        for message in out.drain(..) {
            all.push(message);
            let queue = queueing.queue_of(&message);
            while let Some(next) = background.replenish(tick, queue) {
                all.push(next);
            }
        }
    }
    // In a queue the order of the flows, whose tokens descend.
    all.sort_by_key(|message| {
        (
            message.created,
            message.src,
            std::cmp::Reverse(message.token),
        )
    });
    all.into()
}

impl Workload for Naive<'_> {
    fn next_tick(&mut self) -> Option<Tick> {
        Some(self.next)
    }

    fn act(&mut self, fabric_now: Tick, out: &mut Vec<Message>) {
        self.next = fabric_now + 1;
        let now = fabric_now + self.skipped;
        let mut created = self.of_jobs(now);
        self.in_fabric += created.len();
        let going_on = self.state.iter().any(|state| state.1.is_some());
        self.ended = self.in_fabric == 0 && !going_on;
        if !self.ended {
            while self.background.front().is_some_and(|m| m.created <= now) {
                let Some(message) = self.background.pop_front() else {
                    break;
                };
                created.push(message);
            }
        }
        for message in created {
            let queue = key(self.queueing.queue_of(&message));
            let line = self.lines.entry(queue).or_default();
            if std::mem::replace(&mut line.busy, true) {
                line.waiting.push_back(message);
            } else {
                out.push(earlier(message, self.skipped));
            }
        }
        self.gap(now);
    }

    fn replenish(&mut self, _: Tick, queue: AppQueue) -> Option<Message> {
        let line = self.lines.get_mut(&key(queue)).filter(|_| !self.ended)?;
        let message = line.waiting.pop_front();
        line.busy = message.is_some();
        message.map(|message| earlier(message, self.skipped))
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.told.messages.push((now, is_of_job(token)));
        if !is_of_job(token) {
            return;
        }
        self.in_fabric -= 1;
        let (hop, ps) = &mut self.state[token as usize];
        let pair = &self.pairs[token as usize];
        let compute = pair.hops.get(*hop).map_or(pair.last_ps, |hop| hop.0);
        *ps = Some(self.spec.units.tick.ps(now + self.skipped) + compute);
    }

    fn packet(&mut self, report: &PacketReport) {
        self.told.packet(report);
    }

    fn finished(&self) -> bool {
        self.ended
    }
}
