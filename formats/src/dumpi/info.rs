//! Summary of a trace.

use hashbrown::HashMap;

use super::call::{Call, Function};
use super::handle::Request;
use super::layout::Version;
use super::record::Record;
use super::set::Set;
use super::sizes::Types;
use crate::error::Error;
use crate::limits::MAX_REQUESTS;

/// Contents of a trace.
///
/// # Examples
/// ```no_run
/// use flitwise_formats::dumpi::{Info, Set};
///
/// let info = Info::read(&Set::open("lulesh/")?)?;
/// let sent = info.total(|rank| rank.sends);
/// println!("{} messages, {} bytes, by {} ranks", sent.messages, sent.bytes, info.ranks.len());
/// # Ok::<(), flitwise_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Version of the recorder of rank 0.
    pub version: Version,
    /// When the recording of rank 0 began, in seconds of Unix time.
    pub start_time: u64,
    /// Machines that the ranks ran on.
    pub hosts: u64,
    /// By rank.
    pub ranks: Vec<RankInfo>,
    /// Calls in the files, by the number of the function.
    calls: Vec<u64>,
}

/// The calls and messages of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RankInfo {
    /// Calls in its file.
    pub calls: u64,
    /// Calls that the recorder counted and left out.
    pub ignored: u64,
    /// Messages sent by `MPI_Send`, `MPI_Isend`, their variants, and persistent requests each time they are started.
    pub sends: Traffic,
    /// Receives posted, with the bytes that they have room for.
    pub receives: Traffic,
    /// Messages sent by `MPI_Sendrecv` and `MPI_Sendrecv_replace`.
    pub sendrecvs: Traffic,
    /// Collectives that it took part in; see [`Call::collective`].
    pub collectives: u64,
    /// Messages of a datatype whose size nothing says: their bytes are not counted.
    pub of_unknown_size: u64,
    /// Nanoseconds from the start of its first call to the end of its last one, on the wall clock.
    pub span_ns: u64,
    /// Nanoseconds in calls, on the wall clock: less than the span by what the rank computed, if it has one thread.
    pub mpi_ns: u64,
    /// Threads that made calls.
    pub threads: u32,
}

/// Messages and their payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl std::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            messages: sum.messages.saturating_add(one.messages),
            bytes: sum.bytes.saturating_add(one.bytes),
        })
    }
}

impl Info {
    /// Reads all files of a trace.
    ///
    /// # Errors
    /// If one of them can't be read or violates the format.
    pub fn read(set: &Set) -> Result<Self, Error> {
        let first = set.trailer(0)?;
        let mut info = Self {
            version: first.version,
            start_time: first.start_time,
            hosts: 0,
            ranks: Vec::new(),
            calls: vec![0; usize::from(Function::END)],
        };
        let mut hosts = std::collections::BTreeSet::new();
        for rank in 0..set.ranks() {
            let mut tally = Tally::new(set.types(rank)?);
            let mut reader = set.reader(rank)?;
            hosts.insert(reader.trailer().hostname.clone());
            while reader
                .next_record(|record| {
                    info.count(record.call.function());
                    tally.add(record);
                })?
                .is_some()
            {}
            let mut one = tally.finish();
            // The last entry is the sum of the others.
            let ignored = reader.trailer().ignored.split_last();
            one.ignored = ignored.map_or(0, |(_, all)| all.iter().map(|&n| u64::from(n)).sum());
            info.ranks.push(one);
        }
        info.hosts = hosts.len() as u64;
        Ok(info)
    }

    fn count(&mut self, function: Function) {
        if let Some(count) = self.calls.get_mut(usize::from(function.number())) {
            *count += 1;
        }
    }

    /// The functions that occur, and how often all ranks called them, by number.
    pub fn calls(&self) -> impl Iterator<Item = (Function, u64)> {
        let all = (0..).zip(&self.calls).filter(|(_, count)| **count > 0);
        all.filter_map(|(number, count)| Some((Function::from_number(number)?, *count)))
    }

    /// The sum of `traffic` over all ranks.
    #[must_use]
    pub fn total(&self, traffic: impl Fn(&RankInfo) -> Traffic) -> Traffic {
        self.ranks.iter().map(traffic).sum()
    }
}

/// Counts what a rank does.
struct Tally {
    info: RankInfo,
    types: Types,
    /// Messages of persistent requests: bytes, and whether they are sent.
    persistent: HashMap<Request, (Option<u64>, bool)>,
    /// Start of the first call and end of the last one.
    span: Option<(i64, i64)>,
    threads: Vec<u16>,
}

impl Tally {
    fn new(types: Types) -> Self {
        Self {
            info: RankInfo::default(),
            types,
            persistent: HashMap::new(),
            span: None,
            threads: Vec::new(),
        }
    }

    fn add(&mut self, record: &Record<'_>) {
        self.info.calls += 1;
        self.times(record);
        let call = &record.call;
        self.types.note(call);
        if let Some(message) = call.sent() {
            let bytes = self.types.bytes(message.datatype, message.count);
            match call {
                Call::Sendrecv(_) | Call::SendrecvReplace(_) => {
                    Self::sized(
                        &mut self.info.of_unknown_size,
                        bytes,
                        &mut self.info.sendrecvs,
                    );
                }
                _ => self.message(bytes, true),
            }
        } else if let Some(message) = call.received() {
            let bytes = self.types.bytes(message.datatype, message.count);
            self.message(bytes, false);
        } else if call.collective().is_some() {
            self.info.collectives += 1;
        } else {
            self.persistent(call);
        }
    }

    fn times(&mut self, record: &Record<'_>) {
        if let Some(wall) = record.wall {
            let (first, last) = self.span.unwrap_or((wall.start, wall.stop));
            self.span = Some((first.min(wall.start), last.max(wall.stop)));
            self.info.mpi_ns = self.info.mpi_ns.saturating_add(wall.nanoseconds());
        }
        let thread = record.thread.unwrap_or(0);
        if let Err(place) = self.threads.binary_search(&thread) {
            self.threads.insert(place, thread);
        }
    }

    fn persistent(&mut self, call: &Call<'_>) {
        if let (Some((message, sends)), Some(request)) = (call.persistent(), call.made_request()) {
            let bytes = self.types.bytes(message.datatype, message.count);
            if self.persistent.len() < MAX_REQUESTS || self.persistent.contains_key(&request) {
                self.persistent.insert(request, (bytes, sends));
            }
        }
        match call {
            Call::Start(call) => self.start(call.request),
            Call::Startall(call) => call.requests.iter().for_each(|request| self.start(request)),
            _ => {}
        }
    }

    fn start(&mut self, request: Request) {
        if let Some(&(bytes, sends)) = self.persistent.get(&request) {
            self.message(bytes, sends);
        }
    }

    fn message(&mut self, bytes: Option<u64>, sends: bool) {
        let info = &mut self.info;
        let traffic = if sends {
            &mut info.sends
        } else {
            &mut info.receives
        };
        Self::sized(&mut info.of_unknown_size, bytes, traffic);
    }

    fn sized(unknown: &mut u64, bytes: Option<u64>, traffic: &mut Traffic) {
        *unknown += u64::from(bytes.is_none());
        traffic.add(bytes.unwrap_or(0));
    }

    fn finish(mut self) -> RankInfo {
        let (first, last) = self.span.unwrap_or_default();
        self.info.span_ns = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
        self.info.threads = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        self.info
    }
}
