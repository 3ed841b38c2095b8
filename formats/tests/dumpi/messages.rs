//! The messages of a rank, and its time on the wall clock.

use flitwise_formats::dumpi::{Call, Record, Request, Set, Types};
use std::collections::HashMap;

/// The messages of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Messages {
    /// Messages sent by `MPI_Send`, `MPI_Isend`, their variants, and persistent requests each time they are started.
    pub sends: Traffic,
    /// Receives posted, with the bytes that they have room for.
    pub receives: Traffic,
    /// Messages sent by `MPI_Sendrecv` and `MPI_Sendrecv_replace`.
    pub sendrecvs: Traffic,
    /// Messages of a datatype whose size nothing says: their bytes are not counted.
    pub of_unknown_size: u64,
    /// Nanoseconds from the start of its first call to the end of its last one, on the wall clock.
    pub span_ns: u64,
    /// Nanoseconds in calls, on the wall clock: less than the span by what the rank computed, if it has one thread.
    pub mpi_ns: u64,
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

/// Counts the messages of each rank.
pub fn messages(set: &Set) -> Vec<Messages> {
    let of_rank = |rank| {
        let mut tally = Tally::new(set.types(rank).unwrap());
        let mut reader = set.reader(rank).unwrap();
        while reader
            .next_record(|record| tally.add(record))
            .unwrap()
            .is_some()
        {}
        tally.finish()
    };
    (0..set.ranks()).map(of_rank).collect()
}

/// The sum of `traffic` over all ranks.
pub fn total(ranks: &[Messages], traffic: impl Fn(&Messages) -> Traffic) -> Traffic {
    ranks.iter().map(traffic).sum()
}

/// Counts what a rank does.
struct Tally {
    info: Messages,
    types: Types,
    /// Messages of persistent requests: bytes, and whether they are sent.
    persistent: HashMap<Request, (Option<u64>, bool)>,
    /// Start of the first call and end of the last one.
    span: Option<(i64, i64)>,
}

impl Tally {
    fn new(types: Types) -> Self {
        Self {
            info: Messages::default(),
            types,
            persistent: HashMap::new(),
            span: None,
        }
    }

    fn add(&mut self, record: &Record<'_>) {
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
    }

    fn persistent(&mut self, call: &Call<'_>) {
        if let (Some((message, sends)), Some(request)) = (call.persistent(), call.made_request()) {
            let bytes = self.types.bytes(message.datatype, message.count);
            self.persistent.insert(request, (bytes, sends));
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

    fn finish(mut self) -> Messages {
        let (first, last) = self.span.unwrap_or_default();
        self.info.span_ns = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
        self.info
    }
}
