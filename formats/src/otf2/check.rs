//! Checks a whole archive, rank after rank, in one streaming pass.
//!
//! An error is what keeps a replay from knowing what the program did: files that can't be read or were cut, peers that do not
//! exist, receives or collectives whose ends the recorder lost. A warning is what a replay leaves out or may misread.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem, Problems};
use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;

use super::archive::Archive;
use super::called::Called;
use super::event::{Collective, Event, Message};
use super::rank_check::RankCheck;
use super::reader::Stamped;
use crate::error::Error;

/// The events and calls of a rank, or of all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Events.
    pub events: u64,
    /// Messages sent.
    pub sends: u64,
    /// Bytes of these.
    pub send_bytes: u64,
    /// Messages received.
    pub receives: u64,
    /// Receives that were posted and never completed.
    pub open_receives: u64,
    /// Collectives, of those that have ended.
    pub collectives: u64,
    /// Of these the ones that did not block.
    pub immediate: u64,
    /// Collectives that began and did not end.
    pub open_collectives: u64,
    /// One-sided communications.
    pub one_sided: u64,
    /// Times that the recording was switched off.
    pub switched_off: u64,
    /// Calls of functions of files.
    pub files: u64,
    /// Requests cancelled.
    pub cancelled: u64,
}

impl Counts {
    /// Adds the counts of another rank.
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.events, other.events),
            (&mut self.sends, other.sends),
            (&mut self.send_bytes, other.send_bytes),
            (&mut self.receives, other.receives),
            (&mut self.open_receives, other.open_receives),
            (&mut self.collectives, other.collectives),
            (&mut self.immediate, other.immediate),
            (&mut self.open_collectives, other.open_collectives),
            (&mut self.one_sided, other.one_sided),
            (&mut self.switched_off, other.switched_off),
            (&mut self.files, other.files),
            (&mut self.cancelled, other.cancelled),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Result of checking an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Problems that prevent a replay.
    pub errors: Problems,
    /// Parts that a replay leaves out or may misread.
    pub warnings: Problems,
    /// The counts of all ranks.
    pub counts: Counts,
    /// Calls by function of MPI.
    pub calls: BTreeMap<String, u64>,
    /// Calls of functions that communicate, of which the recorder wrote no event, by function.
    pub silent: BTreeMap<String, u64>,
    /// Communication of threads other than the first one of a rank.
    pub thread_events: u64,
    /// Other threads of the ranks.
    pub threads: u64,
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    fn whole(&mut self, archive: &Archive, message: String) {
        let path: Arc<Path> = archive.path().into();
        self.errors.add(|| Problem::whole(&path, message));
    }

    fn warn(&mut self, archive: &Archive, message: String) {
        let path: Arc<Path> = archive.path().into();
        self.warnings.add(|| Problem::whole(&path, message));
    }
}

/// Events between two checks whether the user stops the work.
const ASK_EVERY: u32 = 1 << 16;

/// Checks all files of an archive.
///
/// # Errors
/// If a file can't be read. Files that violate the format are in [`Check::errors`].
pub fn check(archive: &Archive) -> Result<Check, Error> {
    check_seen(archive, &mut |_, _| {}, Stop::never())
}

/// The same, which shows `see` every event of a rank, rank after rank and in the order of the files.
///
/// # Errors
/// As [`check`], or if the user stops the check.
pub fn check_seen(
    archive: &Archive,
    see: &mut dyn FnMut(u32, &Stamped),
    stop: Stop<'_>,
) -> Result<Check, Error> {
    let mut check = Check::default();
    let mut silent: BTreeMap<u32, Function> = BTreeMap::new();
    for rank in 0..archive.ranks() {
        if let Err(e) = of_rank(archive, rank, &mut check, &mut silent, see, stop) {
            let problem = e.into_problem()?;
            check.errors.add(|| problem);
        }
    }
    of_threads(archive, &mut check, stop)?;
    for (region, function) in silent {
        let name = archive.definitions().region_name(region);
        let name = cut(name.unwrap_or("unnamed")).to_string();
        *check.calls.entry(name.clone()).or_default() += function.calls;
        let lost = if archive.called(region) == Called::Silent {
            function.without_event
        } else if function.without_event == function.calls && has_events(&name) {
            function.calls
        } else {
            0
        };
        if lost > 0 {
            *check.silent.entry(name).or_default() += lost;
        }
    }
    complete(archive, &mut check);
    Ok(check)
}

/// Calls of a function.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub calls: u64,
    pub without_event: u64,
}

/// Functions of messages: if no call of one has an event, the recorder does not know it. Single ones may have none, because
/// their peer is `MPI_PROC_NULL`.
fn has_events(name: &str) -> bool {
    let function = name.strip_prefix('P').unwrap_or(name);
    matches!(
        function,
        "MPI_Send"
            | "MPI_Ssend"
            | "MPI_Bsend"
            | "MPI_Rsend"
            | "MPI_Isend"
            | "MPI_Recv"
            | "MPI_Irecv"
            | "MPI_Sendrecv"
            | "MPI_Sendrecv_replace"
            | "MPI_Isendrecv"
            | "MPI_Isendrecv_replace"
    )
}

fn of_rank(
    archive: &Archive,
    rank: u32,
    check: &mut Check,
    functions: &mut BTreeMap<u32, Function>,
    see: &mut dyn FnMut(u32, &Stamped),
    stop: Stop<'_>,
) -> Result<(), Error> {
    let mut reader = archive.reader(rank)?;
    let mut of_rank = RankCheck::new(archive, rank);
    let mut stop = stop.every(ASK_EVERY);
    let path = Arc::clone(reader.path());
    while let Some(next) = reader.next_event()? {
        stop.check()?;
        see(rank, &next);
        if let Err(message) = of_rank.event(&next, functions) {
            let message = format!("rank {rank}: {message}");
            check
                .errors
                .add(|| PlaceError::byte(next.offset, message).of(&path));
        }
    }
    let counts = of_rank.finish(functions);
    let said = archive.location(rank).map_or(0, |location| location.events);
    if counts.events < said {
        let message = format!(
            "rank {rank}: has {} of {said} events: the recording ended early; record the program to its end",
            counts.events
        );
        check.errors.add(|| Problem::whole(&path, message));
    }
    if counts.open_collectives > 0 {
        let message = format!(
            "rank {rank}: begins {} collectives that do not end: the program ended early, or the recorder lost their ends, as EZTrace \
             does; record the program with Score-P, to its end",
            counts.open_collectives
        );
        check.errors.add(|| Problem::whole(&path, message));
    }
    check.counts.add(&counts);
    Ok(())
}

fn of_threads(archive: &Archive, check: &mut Check, stop: Stop<'_>) -> Result<(), Error> {
    for (_, location) in archive.threads() {
        check.threads += 1;
        let mut stop = stop.every(ASK_EVERY);
        let mut count = || -> Result<u64, Error> {
            let mut reader = archive.reader_of(location)?;
            let mut found = 0;
            while let Some(next) = reader.next_event()? {
                stop.check()?;
                found += u64::from(next.event.is_communication());
            }
            Ok(found)
        };
        match count() {
            Ok(found) => check.thread_events += found,
            Err(e) => {
                let problem = e.into_problem()?;
                check.errors.add(|| problem);
            }
        }
    }
    Ok(())
}

/// Judges the counts of all ranks.
fn complete(archive: &Archive, check: &mut Check) {
    let Counts {
        sends,
        receives,
        open_receives,
        ..
    } = check.counts;
    if receives < sends {
        let open = if open_receives > 0 {
            format!(", and {open_receives} receives are posted and never completed")
        } else {
            String::new()
        };
        let message = format!(
            "receives are missing: {sends} messages are sent, but {receives} are received{open}; the recorder {} lost them, as EZTrace \
             does, or has no event for them, as for MPI_Mrecv before OTF2 3.2: record the program with Score-P, to its end",
            archive.anchor().creator()
        );
        check.whole(archive, message);
    } else if open_receives > 0 {
        let message = format!(
            "{open_receives} receives are posted and never completed: the replay leaves them out"
        );
        check.warn(archive, message);
    }
    if archive.anchor().property(COMPLETE) == Some("false") {
        let message =
            format!("its recorder says that communication is missing ({COMPLETE} is false)");
        check.warn(archive, message);
    }
}

/// The property by which a recorder says whether it recorded all communication.
const COMPLETE: &str = "OTF2::MPI_COMMUNICATION_COMPLETE";

/// The messages and collectives of an event, for a check of their peers.
pub(super) enum Names {
    Message(Message),
    Collective(Collective),
    Nothing,
}

impl Names {
    pub fn of(event: &Event) -> Self {
        match *event {
            Event::Send(message)
            | Event::Isend(message, _)
            | Event::Recv(message)
            | Event::Irecv(message, _)
            | Event::Probe(message, _) => Self::Message(message),
            Event::CollectiveEnd(call) | Event::CollectiveComplete(call, _) => {
                Self::Collective(call)
            }
            _ => Self::Nothing,
        }
    }
}
