//! A trace being replayed, read as its ranks progress.

use super::caller::{Caller, Failure};
use super::scout::Scout;
use super::survey::Known;
use crate::mpi::CommId;
use crate::program::{Op, RankId, RegionId};
use crate::trace::recorded::Recorded;
use flitwise_base::place::PlaceError;
use flitwise_base::quote::quoted;
use flitwise_base::stop::StopEvery;
use flitwise_formats::otf2::{Archive, Reader};
use std::sync::Arc;

/// The calls of the ranks.
pub(super) struct Otf2Calls {
    pub archive: Arc<Archive>,
    pub known: Arc<Known>,
    pub poll_gap_ps: u64,
}

/// The progress of a rank.
pub(super) struct Rank {
    reader: Reader,
    scout: Scout,
    caller: Caller,
}

impl Rank {
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

impl Recorded for Otf2Calls {
    type Rank = Rank;

    fn ranks(&self) -> u32 {
        self.archive.ranks()
    }

    fn open(&self, rank: RankId) -> anyhow::Result<Rank> {
        let (archive, known) = (Arc::clone(&self.archive), Arc::clone(&self.known));
        Ok(Rank {
            reader: archive.reader(rank.get())?,
            scout: Scout::new(archive.reader(rank.get())?),
            caller: Caller::new(archive, known, rank, self.poll_gap_ps),
        })
    }

    fn next(&self, rank: &mut Rank, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>> {
        rank.next(stop)
    }

    fn region(&self, region: RegionId) -> &str {
        self.known.regions.names.name(region)
    }

    fn communicator(&self, _: RankId, comm: CommId) -> String {
        let place = self.known.communicators.place(comm, self.archive.ranks());
        let named = place.and_then(|place| self.archive.comms().at(place));
        match named.map(|comm| &*comm.name) {
            Some("") | None => format!("communicator {}", place.unwrap_or(comm.get())),
            Some(name) => quoted(name).to_string(),
        }
    }
}
