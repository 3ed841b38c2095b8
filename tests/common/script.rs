//! A workload written down in advance: messages at given ticks, and messages
//! that answer others.

use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::workload::{Message, PacketReport, Workload};
use std::collections::{BTreeMap, HashMap};

/// What makes a message of a [`Script`] leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cue {
    /// The tick.
    At(Tick),
    /// The delivery of the message with this token.
    Delivered(u64),
    /// The report that the message with this token has left its NIC.
    Injected(u64),
}

/// Most timed messages that it hands over at once.
const PART: usize = 3;

/// A scripted workload, which notes what it was told.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Messages to create, in the order of their ticks.
    timed: Vec<(Tick, Message)>,
    answers: HashMap<Cue, Vec<Message>>,
    /// Messages that answer what happened in this tick.
    due: Vec<Message>,
    now: Tick,
    /// Timed messages of this tick are left.
    has_more: bool,
    /// End the run after so many deliveries.
    stop_after: Option<usize>,
    /// Deliveries, as told.
    pub delivered: Vec<(Tick, u64)>,
    /// Injections, as told.
    pub injected: Vec<(Tick, u64)>,
    /// Packets, as told.
    pub packets: Vec<PacketReport>,
}

/// All that a fabric tells a workload, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Packets, by token and index.
    pub packets: Vec<PacketReport>,
    /// Messages delivered, by tick.
    pub delivered: Vec<(Tick, u64)>,
    /// Messages that left their NIC, by tick.
    pub injected: Vec<(Tick, u64)>,
}

impl Script {
    /// The script of `lines`. Messages of the same tick keep their order.
    pub fn new(lines: impl IntoIterator<Item = (Cue, Message)>) -> Self {
        let mut script = Self::default();
        for (cue, message) in lines {
            match cue {
                Cue::At(tick) => script.timed.push((tick, message)),
                _ => script.answers.entry(cue).or_default().push(message),
            }
        }
        script.timed.sort_by_key(|&(tick, _)| tick);
        script.timed.reverse();
        script
    }

    /// Messages that have not been created yet.
    pub fn messages_left(&self) -> usize {
        self.timed.len() + self.due.len() + self.answers.values().map(Vec::len).sum::<usize>()
    }

    /// Source, destination and SL of every timed message, by token.
    pub fn messages(&self) -> BTreeMap<u64, (u32, u32, u8)> {
        let timed = self.timed.iter().map(|(_, m)| m);
        timed
            .map(|m| (m.token, (m.src.get(), m.dst.get(), m.sl)))
            .collect()
    }

    /// The same script, finished after `deliveries` deliveries.
    pub fn stop_after(mut self, deliveries: usize) -> Self {
        self.stop_after = Some(deliveries);
        self
    }

    /// The same script for `planes` planes of its fabric, each message on one of them.
    pub fn on_planes(mut self, planes: u32) -> Self {
        let timed = self.timed.iter_mut().map(|(_, message)| message);
        for message in timed.chain(self.answers.values_mut().flatten()) {
            let plane = message.token as u32 % planes;
            for nic in [&mut message.src, &mut message.dst] {
                *nic = NicId::new(nic.get() * planes + plane);
            }
        }
        self
    }

    /// What was told, in an order that does not depend on the teller.
    pub fn told(&self) -> Told {
        let mut told = Told {
            packets: self.packets.clone(),
            delivered: self.delivered.clone(),
            injected: self.injected.clone(),
        };
        told.packets
            .sort_unstable_by_key(|report| (report.token, report.index));
        told.delivered.sort_unstable();
        told.injected.sort_unstable();
        told
    }

    fn cue(&mut self, now: Tick, cue: Cue) {
        if let Some(answers) = self.answers.remove(&cue) {
            self.due.extend(answers);
            self.now = now;
        }
    }
}

impl Workload for Script {
    fn next_tick(&mut self) -> Option<Tick> {
        let timed = self.timed.last().map(|&(tick, _)| tick);
        let due = (!self.due.is_empty()).then_some(self.now);
        timed.into_iter().chain(due).min()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        let timed = std::iter::from_fn(|| self.timed.pop_if(|(tick, _)| *tick <= now));
        out.extend(timed.take(PART).map(|(_, message)| message));
        self.has_more = self.timed.last().is_some_and(|&(tick, _)| tick <= now);
        if !self.has_more {
            // Reports of a tick come in any order, but answers must leave in the same one.
            self.due.sort_by_key(|message| message.token);
            out.append(&mut self.due);
        }
        out.iter_mut().for_each(|message| message.created = now);
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.delivered.push((now, token));
        self.cue(now, Cue::Delivered(token));
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.injected.push((now, token));
        self.cue(now, Cue::Injected(token));
    }

    fn packet(&mut self, report: &PacketReport) {
        self.packets.push(*report);
    }

    fn finished(&self) -> bool {
        self.stop_after
            .is_some_and(|count| self.delivered.len() >= count)
    }
}

/// The load that a fabric accepts while it carries all of a script with one message per source, in
/// flits per cycle and source.
pub fn accepted_load(spec: &FabricSpec, mut script: Script) -> f64 {
    let sources = script.messages().len() as f64;
    assert_eq!(Engine::new(spec).unwrap().run(&mut script), RunEnd::Drained);
    let flits: u64 = script.packets.iter().map(|p| u64::from(p.flits)).sum();
    let ticks = script.delivered.iter().map(|&(tick, _)| tick);
    let end = ticks.max().unwrap();
    let cycle = spec.fastest_link();
    flits as f64 * cycle.den() as f64 / cycle.num() as f64 / end as f64 / sources
}

/// A message of service level `sl` that asks for no injection report.
pub fn message(token: u64, src: u32, dst: u32, sl: u8, bytes: u64) -> Message {
    Message::new(NicId::new(src), NicId::new(dst), sl, bytes, 0).with_token(token)
}

/// Ten full packets of both service levels from each NIC of a ring of four to
/// the one opposite: see [`jamming_ring`](super::specs::jamming_ring).
pub fn jam() -> Script {
    let lines = (0..80u64).map(|token| {
        let (src, sl) = (token as u32 % 4, (token / 4 % 2) as u8);
        (Cue::At(0), message(token, src, (src + 2) % 4, sl, 128))
    });
    Script::new(lines)
}
