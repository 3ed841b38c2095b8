//! A recording being replayed, read as its ranks progress.

use super::caller::Caller;
use super::survey::Known;
use super::work::Cancelled;
use crate::mpi::CommId;
use crate::program::{Op, Program, RankId, STOP_EVERY, StreamId};
use crate::trace::ComputeTime;
use anyhow::{Context, anyhow};
use flitwise_base::quote::cut;
use flitwise_base::stop::{Stop, StopEvery};
use flitwise_formats::recording::{Item, RankReader, Set};
use flitwise_formats::{Place, Problem};
use std::sync::Arc;

/// The settings for reading a recording.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The clock that computations are taken from.
    pub clock: ComputeTime,
    /// The longest time before a poll of a loop, in picoseconds.
    pub poll_gap_ps: u64,
    pub cancelled: Cancelled,
}

/// The calls of all ranks as operations.
pub(super) struct RecordingProgram<'a> {
    set: Arc<Set>,
    known: Arc<Known>,
    settings: Settings,
    ranks: Vec<Rank>,
    stop: StopEvery<'a>,
}

/// The progress of a rank.
struct Rank {
    reader: RankReader,
    caller: Caller,
    ended: bool,
}

impl Rank {
    fn new(set: &Set, known: &Arc<Known>, settings: &Settings, id: u32) -> anyhow::Result<Self> {
        let reader = set.reader(id)?;
        let rank = RankId::new(id);
        Ok(Self {
            caller: Caller::new(rank, Arc::clone(known), settings.clone(), reader.threads()),
            reader,
            ended: false,
        })
    }

    /// The next operation.
    fn next(&mut self, set: &Set, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
        loop {
            if let Some(op) = self.caller.ready.pop_front() {
                return Ok(Some(op));
            }
            if self.ended {
                return Ok(None);
            }
            stop.check()?;
            let caller = &mut self.caller;
            let id = caller.id;
            let called = self.reader.next(|phase, item| match item {
                Item::Call(record) => caller.call(phase, record).map_err(|message| {
                    let path = set.stream(id.get(), record.thread);
                    Problem {
                        path: path.map_or_else(|| set.path().into(), Arc::clone),
                        place: Some(Place::Byte(record.offset)),
                        message: format!("rank {id} ({}): {message}", cut(&record.function.name)),
                    }
                }),
                _ => Ok(()),
            })?;
            match called {
                Some(done) => done.map_err(anyhow::Error::new)?,
                None => {
                    self.ended = true;
                    let path = set.path().display();
                    caller
                        .finish()
                        .map_err(|problem| anyhow!("{path}: rank {id}: {problem}"))?;
                }
            }
        }
    }
}

impl<'a> RecordingProgram<'a> {
    /// A recording from its start.
    pub fn new(
        set: Arc<Set>,
        known: Arc<Known>,
        settings: Settings,
        stop: Stop<'a>,
    ) -> anyhow::Result<Self> {
        let ranks = (0..set.ranks()).map(|id| Rank::new(&set, &known, &settings, id));
        Ok(Self {
            ranks: ranks.collect::<Result<_, _>>()?,
            set,
            known,
            settings,
            stop: stop.every(STOP_EVERY),
        })
    }
}

impl Program for RecordingProgram<'_> {
    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        state.next(&self.set, &mut self.stop)
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        self.known.comms.name(rank, comm)
    }

    fn unrecorded_receives(&self) -> Option<&'static str> {
        None
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let again =
            (0..self.set.ranks()).map(|id| Rank::new(&self.set, &self.known, &self.settings, id));
        self.ranks = again.collect::<Result<_, _>>()?;
        Ok(())
    }
}
