//! Simulates messages alone in the fabric; and the one workload type that explanations drive the fabric with.

use super::tracer::Tracer;
use crate::fabric::engine::{Engine, RunEnd};
use crate::fabric::ids::NicId;
use crate::fabric::spec::{FabricSpec, SpecError, Tick};
use crate::fabric::unloaded::{Lone, next_start};
use crate::fabric::workload::{AppQueue, Message, Workload};
use crate::replay::Replay;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The times of a message that is alone in the fabric, in ticks after its creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alone {
    /// Ticks until its sender learns that it has left.
    pub injected: Tick,
    /// Ticks until it arrives.
    pub delivered: Tick,
    /// By link of its path, ticks until its last packet starts there.
    pub starts: Vec<Tick>,
}

/// The job of each message in flight, by its token.
pub(crate) type JobsOfTokens = Rc<RefCell<Vec<u32>>>;

/// A replay, or one message. They are one type, so that the engine is compiled for it once.
pub(crate) enum Load<'a, 'b> {
    /// A replay; it notes the jobs of messages.
    Replay(&'a mut Replay<'b>, JobsOfTokens),
    /// One message.
    Lone(Lone),
}

impl Load<'_, '_> {
    fn workload(&mut self) -> &mut dyn Workload {
        match self {
            Self::Replay(replay, _) => *replay,
            Self::Lone(lone) => lone,
        }
    }

    fn note_job(&mut self, message: &Message) {
        let Self::Replay(replay, jobs) = self else {
            return;
        };
        if let Some(job) = replay.job_of(message.token) {
            let (at, mut jobs) = (message.token as usize, jobs.borrow_mut());
            if jobs.len() <= at {
                jobs.resize(at + 1, 0);
            }
            jobs[at] = job as u32;
        }
    }
}

impl Workload for Load<'_, '_> {
    fn next_tick(&mut self) -> Option<Tick> {
        self.workload().next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        let before = out.len();
        self.workload().act(now, out);
        for message in &out[before..] {
            self.note_job(message);
        }
    }

    fn has_more(&self) -> bool {
        match self {
            Self::Replay(replay, _) => replay.has_more(),
            Self::Lone(_) => false,
        }
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let message = self.workload().replenish(now, queue);
        if let Some(message) = &message {
            self.note_job(message);
        }
        message
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.workload().delivered(now, token);
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.workload().injected(now, token);
    }

    fn finished(&self) -> bool {
        match self {
            Self::Replay(replay, _) => replay.finished(),
            Self::Lone(lone) => lone.finished(),
        }
    }
}

/// The properties that tell messages apart that are alone: source, destination, service level and bytes.
type MessageKey = (NicId, NicId, u8, u64);

/// The times of messages alone, each found once.
#[derive(Debug)]
pub(crate) struct References {
    engine: Engine<Tracer>,
    /// Time of an allocation.
    allocation: Tick,
    known: BTreeMap<MessageKey, Option<Alone>>,
}

impl References {
    /// For the fabric of `spec`.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        let tracer = Tracer::new(spec, JobsOfTokens::default());
        // A wait for a waking link is no latency.
        let always_up = spec.always_up();
        Ok(Self {
            engine: Engine::watched(&always_up, tracer)?,
            allocation: spec.switch.kind().stages().allocation,
            known: BTreeMap::new(),
        })
    }

    /// The times of `message` alone; `None` if it never arrives.
    pub fn of(&mut self, message: &Message) -> Option<Alone> {
        let key = (message.src, message.dst, message.sl, message.bytes);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.simulate(message);
        self.known.insert(key, found.clone());
        found
    }

    fn simulate(&mut self, message: &Message) -> Option<Alone> {
        let start = next_start(self.allocation, self.engine.progress().tick);
        self.engine.probe_mut().follow_one(message.src, start);
        let mut load = Load::Lone(Lone::new(*message, start));
        let end = self.engine.run(&mut load);
        let (RunEnd::Finished, Load::Lone(lone)) = (end, load) else {
            return None;
        };
        let hops = self.engine.probe_mut().take_followed();
        Some(Alone {
            injected: lone.injected_at()? - start,
            delivered: lone.delivered_at()? - start,
            starts: hops.iter().map(|hop| hop.start - start).collect(),
        })
    }
}
