//! A trace being replayed, read as its ranks progress.

use super::calls::Caller;
use super::communicators::name;
use super::gaps::Loops;
use super::survey::Known;
use crate::mpi::CommId;
use crate::program::{Op, RankId};
use crate::trace::recorded::{Cancelled, Recorded};
use crate::trace::{ComputeTime, Wording};
use flitwise_base::stop::StopEvery;
use flitwise_formats::dumpi::{Problem, Reader, Set};
use std::sync::Arc;

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

/// The calls of the ranks.
pub(super) struct DumpiCalls {
    pub set: Arc<Set>,
    pub known: Arc<Known>,
    pub settings: Settings,
}

/// The progress of a rank.
pub(super) struct Rank {
    reader: Reader,
    caller: Caller,
}

impl Rank {
    fn new(calls: &DumpiCalls, rank: RankId) -> anyhow::Result<Self> {
        let DumpiCalls {
            set,
            known,
            settings,
        } = calls;
        let reader = set.reader(rank.get())?;
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
                set.types(rank.get())?,
                Arc::clone(known),
                settings,
            ),
        })
    }

    /// The next operation.
    fn next(&mut self, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
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
                    offset: record.offset,
                    within: Some(record.call.function().name()),
                    message,
                })
            })?;
            match called {
                Some(Ok(())) => {}
                Some(Err(problem)) => {
                    let problem = problem.of(self.caller.id.get(), &self.reader.path().into());
                    return Err(anyhow::Error::new(problem));
                }
                None => {
                    let path = self.reader.path().display();
                    let ended = self.caller.end();
                    ended.map_err(|problem| anyhow::anyhow!("{path}: {problem}"))?;
                }
            }
        }
    }
}

impl Recorded for DumpiCalls {
    type Rank = Rank;

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn open(&self, rank: RankId) -> anyhow::Result<Rank> {
        Rank::new(self, rank)
    }

    fn next(&self, rank: &mut Rank, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
        rank.next(stop)
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        name(&self.known.communicators, rank, comm)
    }

    fn unrecorded_receives(&self) -> Option<&'static str> {
        Some("MPI_Mrecv and MPI_Imrecv, which DUMPI does not record")
    }
}
