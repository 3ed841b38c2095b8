//! A trace being replayed, read as its ranks progress.

use super::calls::Caller;
use super::communicators::name;
use super::gaps::Loops;
use super::survey::Known;
use crate::mpi::CommId;
use crate::program::{Op, Program, RankId, STOP_EVERY, StreamId};
use crate::trace::{ComputeTime, Wording};
use anyhow::Context;
use flitwise_base::stop::{Stop, StopEvery};
use flitwise_formats::dumpi::{Problem, Reader, Set};
use hashbrown::HashSet;
use std::sync::Arc;

/// The treatment of cancelled receives of [unknown outcome](super::outcomes::Outcome::Unknown).
#[derive(Debug, Clone)]
pub(super) enum Cancelled {
    /// They are [spare](crate::agreement::SPARE): they take messages without a counterpart.
    Spare,
    /// These took a message, by rank and number.
    Took(Arc<HashSet<(RankId, u64)>>),
}

/// The settings for reading a trace.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The clock that computations are taken from; `None` if they take no time.
    pub clock: Option<ComputeTime>,
    /// Calls that can't be replayed are left out.
    pub skip_unsupported: bool,
    /// The names of its parts in messages.
    pub wording: Wording,
    /// Which time is one of a loop that polls.
    pub loops: Loops,
    pub cancelled: Cancelled,
}

/// The calls of all ranks as operations.
pub(super) struct DumpiProgram<'a> {
    set: Arc<Set>,
    known: Arc<Known>,
    settings: Settings,
    ranks: Vec<Rank>,
    stop: StopEvery<'a>,
}

/// The progress of a rank.
struct Rank {
    reader: Reader,
    caller: Caller,
}

impl Rank {
    fn new(set: &Set, known: &Arc<Known>, settings: &Settings, id: u32) -> anyhow::Result<Self> {
        let rank = RankId::new(id);
        let reader = set.reader(id)?;
        let hidden = reader.trailer().polls_left_out() > 0;
        let loops = Loops {
            hidden,
            ..settings.loops
        };
        let settings = Settings {
            loops,
            ..settings.clone()
        };
        Ok(Self {
            reader,
            caller: Caller::new(
                rank,
                set.ranks(),
                set.types(id)?,
                Arc::clone(known),
                settings,
            ),
        })
    }

    /// The next operation.
    fn next(&mut self, set: &Set, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
        loop {
            if let Some(op) = self.caller.ready.pop_front() {
                return Ok(Some(op));
            }
            if self.caller.ended {
                return Ok(None);
            }
            stop.check()?;
            let caller = &mut self.caller;
            let called = self.reader.next_record(|record| {
                let done = caller.call(record);
                done.map_err(|message| Problem {
                    rank: caller.id.get(),
                    offset: record.offset,
                    within: Some(record.call.function().name()),
                    message,
                })
            })?;
            match called {
                Some(Ok(())) => {}
                Some(Err(problem)) => return Err(anyhow::Error::new(problem.of(set))),
                None => {
                    let path = self.reader.path().display();
                    let ended = self.caller.end();
                    ended.map_err(|problem| anyhow::anyhow!("{path}: {problem}"))?;
                }
            }
        }
    }
}

impl<'a> DumpiProgram<'a> {
    /// A trace from its start.
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

impl Program for DumpiProgram<'_> {
    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        state.next(&self.set, &mut self.stop)
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        name(&self.known.communicators, rank, comm)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let again =
            (0..self.set.ranks()).map(|id| Rank::new(&self.set, &self.known, &self.settings, id));
        self.ranks = again.collect::<Result<_, _>>()?;
        Ok(())
    }
}
