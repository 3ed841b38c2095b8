//! Reads the events of a location.

use std::path::Path;
use std::sync::Arc;

use super::event::Event;
use super::local::Local;
use super::records::Records;
use crate::error::Error;

/// An event and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// Ticks of the clock of the archive.
    pub time: u64,
    /// Bytes of the unpacked file before it.
    pub offset: u64,
    /// The event, with the numbers of the archive.
    pub event: Event,
}

/// The events of a location, in the order of its file.
///
/// It has one block of the file in memory. [`Archive::reader`](super::Archive::reader) makes it.
#[derive(Debug)]
pub struct Reader {
    path: Arc<Path>,
    records: Option<Records>,
    local: Local,
}

impl Reader {
    pub(super) fn new(records: Records, local: Local) -> Self {
        Self {
            path: Arc::clone(records.path()),
            records: Some(records),
            local,
        }
    }

    /// A location without events.
    pub(super) fn empty(path: Arc<Path>) -> Self {
        Self {
            path,
            records: None,
            local: Local::default(),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The next event; `None` after the last one.
    ///
    /// # Errors
    /// If the file can't be read or violates the format. The reader ends then.
    pub fn next_event(&mut self) -> Result<Option<Stamped>, Error> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        let Some(mut raw) = records.next_record()? else {
            return Ok(None);
        };
        let offset = raw.offset;
        let mut event = match Event::read(raw.kind, &mut raw.fields) {
            Ok(event) => event,
            Err(fault) => {
                self.records = None;
                let problem = format!("the event is damaged: {fault}; copy the file again");
                let place = flitwise_base::place::PlaceError::byte(offset, problem);
                return Err(Error::broken(place.of(&self.path)));
            }
        };
        let local = raw.time;
        let time = self.local.clock.correct(local);
        match &mut event {
            Event::Enter(region) | Event::Leave(region) => {
                *region = self.local.regions.global(*region);
            }
            Event::Send(message)
            | Event::Isend(message, _)
            | Event::Recv(message)
            | Event::Irecv(message, _)
            | Event::Probe(message, _) => message.comm = self.local.comms.global(message.comm),
            Event::CollectiveEnd(call) | Event::CollectiveComplete(call, _) => {
                call.comm = self.local.comms.global(call.comm);
            }
            Event::CommCreate(comm) | Event::CommDestroy(comm) => {
                *comm = self.local.comms.global(*comm);
            }
            // The interval is short: both ends have the same offset.
            Event::BufferFlush(until) => {
                *until = time.saturating_add(until.saturating_sub(local));
            }
            _ => {}
        }
        Ok(Some(Stamped {
            time,
            offset,
            event,
        }))
    }
}
