//! A trace being replayed, read as its ranks progress.

use super::caller::{Caller, Failure};
use super::scout::Scout;
use super::survey::Known;
use crate::mpi::CommId;
use crate::program::{Op, Program, RankId, STOP_EVERY, StreamId};
use anyhow::Context;
use flitwise_base::place::PlaceError;
use flitwise_base::quote::quoted;
use flitwise_base::stop::{Stop, StopEvery};
use flitwise_formats::otf2::{Archive, Reader};
use std::sync::Arc;

/// The calls of all ranks as operations.
pub(super) struct Otf2Program<'a> {
    archive: Arc<Archive>,
    known: Arc<Known>,
    poll_gap_ps: u64,
    ranks: Vec<Rank>,
    stop: StopEvery<'a>,
}

/// The progress of a rank.
struct Rank {
    reader: Reader,
    scout: Scout,
    caller: Caller,
}

impl Rank {
    fn new(
        archive: &Arc<Archive>,
        known: &Arc<Known>,
        poll_gap_ps: u64,
        id: u32,
    ) -> anyhow::Result<Self> {
        let rank = RankId::new(id);
        Ok(Self {
            reader: archive.reader(id)?,
            scout: Scout::new(archive.reader(id)?),
            caller: Caller::new(Arc::clone(archive), Arc::clone(known), rank, poll_gap_ps),
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
            let (done, offset) = match self.reader.next_event()? {
                Some(next) => (self.caller.event(&next, &mut self.scout), next.offset),
                None => (self.caller.end().map_err(Failure::from), 0),
            };
            match done {
                Ok(()) => {}
                Err(Failure::Error(e)) => return Err(e.into()),
                Err(Failure::Problem(problem)) => {
                    let message = format!("rank {}: {problem}", self.caller.id);
                    let problem = PlaceError::byte(offset, message).of(self.reader.path());
                    return Err(anyhow::Error::new(problem));
                }
            }
        }
    }
}

impl<'a> Otf2Program<'a> {
    /// A trace from its start.
    pub fn new(
        archive: Arc<Archive>,
        known: Arc<Known>,
        poll_gap_ps: u64,
        stop: Stop<'a>,
    ) -> anyhow::Result<Self> {
        let mut program = Self {
            archive,
            known,
            poll_gap_ps,
            ranks: Vec::new(),
            stop: stop.every(STOP_EVERY),
        };
        program.restart()?;
        Ok(program)
    }
}

impl Program for Otf2Program<'_> {
    fn ranks(&self) -> u32 {
        self.archive.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        state.next(&mut self.stop)
    }

    fn communicator(&self, _: RankId, comm: CommId) -> String {
        let place = self.known.communicators.place(comm, self.archive.ranks());
        let named = place.and_then(|place| self.archive.comms().at(place));
        match named.map(|comm| &*comm.name) {
            Some("") | None => format!("communicator {}", place.map_or(comm.get(), |place| place)),
            Some(name) => quoted(name).to_string(),
        }
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let again = (0..self.archive.ranks())
            .map(|id| Rank::new(&self.archive, &self.known, self.poll_gap_ps, id));
        self.ranks = again.collect::<Result<_, _>>()?;
        Ok(())
    }
}
