//! A recording being replayed, read as its ranks progress.

use super::caller::Caller;
use super::survey::Known;
use crate::mpi::CommId;
use crate::program::{Op, RankId, RegionId};
use crate::trace::ComputeTime;
use crate::trace::recorded::{Cancelled, Recorded};
use anyhow::anyhow;
use flitwise_base::quote::cut;
use flitwise_base::stop::StopEvery;
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

/// The calls of the ranks.
pub(super) struct RecordedCalls {
    pub set: Arc<Set>,
    pub known: Arc<Known>,
    pub settings: Settings,
}

/// The progress of a rank.
pub(super) struct Rank {
    reader: RankReader,
    caller: Caller,
    ended: bool,
}

impl Rank {
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

impl Recorded for RecordedCalls {
    type Rank = Rank;

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn open(&self, rank: RankId) -> anyhow::Result<Rank> {
        let reader = self.set.reader(rank.get())?;
        let (known, settings) = (Arc::clone(&self.known), self.settings.clone());
        Ok(Rank {
            caller: Caller::new(rank, known, settings, reader.threads()),
            reader,
            ended: false,
        })
    }

    fn next(&self, rank: &mut Rank, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
        rank.next(&self.set, stop)
    }

    fn region(&self, region: RegionId) -> &str {
        self.known.regions.name(region)
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        self.known.comms.name(rank, comm)
    }
}
