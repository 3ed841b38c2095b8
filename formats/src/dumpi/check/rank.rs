//! Checks within the file of one rank.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place;
use hashbrown::{HashMap, HashSet};

use super::{Check, Odd};
use crate::dumpi::call::{Call, Function};
use crate::dumpi::handle::{Comm, Datatype, Request};
use crate::dumpi::problem::{DAMAGED, Problem};
use crate::dumpi::record::{Record, Span};
use crate::dumpi::sizes::Types;
use crate::dumpi::trailer::Trailer;
use crate::limits::MAX_REQUESTS;

/// Computation on the wall clock, in nanoseconds, beyond which the processor's clock is asked whether it can be.
const LONG_NS: i64 = 600_000_000_000;
/// As often as it may be longer than on the processor's clock.
const LONGER: i64 = 10;
/// The same where the processor's clock was not recorded: half of what the seconds of a recording can tell apart.
const LONGEST_NS: i64 = 32_768_000_000_000;

/// How many ranks a communicator addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// No call told it.
    Unknown,
    Known(i32),
    /// Between two groups: the calls tell the size of the own one, but peers and roots are of the other one.
    Between,
}

/// Checks the calls of one rank in order.
pub struct RankCheck {
    rank: u32,
    path: Arc<Path>,
    ranks: u32,
    types: Types,
    /// Requests that were made.
    requests: HashSet<Request>,
    /// Communicators that were made and not freed.
    comms: HashMap<Comm, Size>,
    /// Communicators with a topology on which nothing was sent, with the offset of the call that made them.
    topologies: BTreeMap<Comm, u64>,
    /// End of the last call of each thread, on the wall clock; the least number if that was not recorded.
    ends: HashMap<u16, i64>,
    /// End of the last call of any thread, from which a replay counts the computation before the next one.
    last_end: Option<i64>,
    /// The same on the clock of the processor.
    last_cpu: Option<i64>,
    /// Calls by the number of the function.
    calls: Vec<u64>,
    warned: [bool; Odd::ALL.len()],
    offset: u64,
    function: Option<Function>,
}

impl RankCheck {
    pub fn new((rank, path): (u32, Arc<Path>), ranks: u32, types: Types) -> Self {
        let world = i32::try_from(ranks).map_or(Size::Unknown, Size::Known);
        Self {
            rank,
            path,
            ranks,
            types,
            requests: HashSet::from_iter([Request::NULL]),
            comms: HashMap::from_iter([(Comm::WORLD, world), (Comm::SELF, Size::Known(1))]),
            topologies: BTreeMap::new(),
            ends: HashMap::new(),
            last_end: None,
            last_cpu: None,
            calls: vec![0; usize::from(Function::END)],
            warned: [false; Odd::ALL.len()],
            offset: 0,
            function: None,
        }
    }

    fn problem(&self, message: String) -> place::Problem {
        let problem = Problem {
            offset: self.offset,
            within: self.function.map(Function::name),
            message,
        };
        problem.of(self.rank, &self.path)
    }

    #[cold]
    fn error(&self, check: &mut Check, message: String) {
        check.errors.add(|| self.problem(message));
    }

    #[cold]
    fn odd(&mut self, check: &mut Check, odd: Odd, message: impl FnOnce() -> String) {
        if let Some(number) = check.odd.get_mut(odd as usize) {
            *number += 1;
        }
        if let Some(warned) = self.warned.get_mut(odd as usize)
            && !std::mem::replace(warned, true)
        {
            check.warning(self.problem(message()));
        }
    }

    /// Checks a call.
    pub fn record(&mut self, record: &Record<'_>, check: &mut Check) {
        let call = &record.call;
        let function = call.function();
        (self.offset, self.function) = (record.offset, Some(function));
        if let Some(calls) = self.calls.get_mut(usize::from(function.number())) {
            *calls += 1;
        }
        if let Some(info) = check.ranks.last_mut() {
            info.calls += 1;
            info.collectives += u64::from(call.collective().is_some());
        }
        self.times(record, check);
        self.types.note(call);
        self.requests(call, check);
        self.world(call, check);
        self.comms(call, check);
        self.topologies(call, check);
        self.buffers(call, check);
        self.peers(call, check);
    }

    fn times(&mut self, record: &Record<'_>, check: &mut Check) {
        let last_cpu = record.cpu.and_then(|cpu| self.last_cpu.replace(cpu.stop));
        let thread = record.thread.unwrap_or(0);
        let end = self.ends.entry(thread).or_insert(i64::MIN);
        let Some(wall) = record.wall else {
            return;
        };
        let before = std::mem::replace(end, wall.stop);
        let computed = self
            .last_end
            .map_or(0, |end| wall.start.saturating_sub(end));
        let on_cpu = record.cpu.zip(last_cpu);
        let on_cpu = on_cpu.map(|(cpu, last)| cpu.start.saturating_sub(last).max(0));
        let leaps = match on_cpu {
            Some(on_cpu) => computed > LONG_NS && computed / LONGER > on_cpu,
            None => computed > LONGEST_NS,
        };
        if leaps {
            self.odd(check, Odd::Leap, || leap(computed, on_cpu));
        }
        let last_end = self.last_end.replace(wall.stop);
        if wall.stop < wall.start {
            self.odd(check, Odd::Time, || ends_before_start(wall, last_end));
        } else if wall.start < before {
            let back = seconds(before.saturating_sub(wall.start));
            self.odd(check, Odd::Time, || {
                format!(
                    "by the wall clock it starts {back} before the previous call ends, because the clock went back: the time between the two counts as 0"
                )
            });
        }
    }

    fn requests(&mut self, call: &Call<'_>, check: &mut Check) {
        if let Some(request) = call.made_request()
            && self.requests.len() < MAX_REQUESTS
        {
            self.requests.insert(request);
        }
        // Beyond that number it is unknown.
        if self.requests.len() >= MAX_REQUESTS {
            return;
        }
        let mut unknown = None;
        call.used_requests(&mut |request| {
            if !self.requests.contains(&request) {
                unknown.get_or_insert(request);
            }
        });
        if let Some(Request(number)) = unknown {
            self.odd(check, Odd::Request, || {
                format!(
                    "no earlier call made request {number}; a call that is not recorded, for example of MPI-3, may have made it: what this call waits for is not known"
                )
            });
        }
    }

    /// The files belong to the program: as many as it has ranks, each of the rank in its name.
    fn world(&mut self, call: &Call<'_>, check: &mut Check) {
        match call {
            Call::CommSize(c)
                if c.comm == Comm::WORLD && i64::from(c.size) != i64::from(self.ranks) =>
            {
                // The ranks that are missing may well be peers.
                self.comms.insert(Comm::WORLD, Size::Known(c.size));
                if check.wrong_size(c.size) {
                    self.error(check, wrong_size(c.size, self.ranks));
                }
            }
            Call::CommRank(c)
                if c.comm == Comm::WORLD && i64::from(c.rank) != i64::from(self.rank) =>
            {
                let said = c.rank;
                self.error(
                    check,
                    format!(
                        "this is rank {said}, but the name of the file says {}: correct the name",
                        self.rank
                    ),
                );
            }
            Call::CommSize(c) => {
                if let Some(size) = self.comms.get_mut(&c.comm)
                    && *size == Size::Unknown
                {
                    *size = Size::Known(c.size);
                }
            }
            _ => {}
        }
    }

    fn comms(&mut self, call: &Call<'_>, check: &mut Check) {
        if let Some(comm) = call.comm()
            && !self.comms.contains_key(&comm)
            && comm != Comm::NULL
        {
            self.odd(check, Odd::Comm, || {
                format!(
                    "no earlier call made {comm}; a call that is not recorded, such as MPI_Comm_split_type, may have made it: its members are not known"
                )
            });
        }
        if let Call::CommFree(c) | Call::CommDisconnect(c) = call {
            self.comms.remove(&c.comm);
        }
        if let Some(made) = call.made_comm()
            && made != Comm::NULL
        {
            let of = call.comm().and_then(|comm| self.comms.get(&comm).copied());
            let size = match call {
                Call::IntercommCreate(_)
                | Call::CommAccept(_)
                | Call::CommConnect(_)
                | Call::CommSpawn(_)
                | Call::CommSpawnMultiple(_)
                | Call::CommJoin(_)
                | Call::CommGetParent(_) => Size::Between,
                Call::IntercommMerge(_) => Size::Unknown,
                _ if of == Some(Size::Between) => Size::Between,
                _ => Size::Unknown,
            };
            self.comms.insert(made, size);
        }
    }

    fn topologies(&mut self, call: &Call<'_>, check: &mut Check) {
        match call {
            Call::CartCreate(_) | Call::GraphCreate(_) => {
                let made = call.made_comm().filter(|&made| made != Comm::NULL);
                self.topologies.extend(made.map(|made| (made, self.offset)));
            }
            Call::CommFree(c) => {
                let unused = self.topologies.remove(&c.comm);
                if unused.is_some() {
                    self.unused_topology(check);
                }
            }
            _ => {
                let message = call.sent().or(call.received());
                let used = message.is_some()
                    || call.persistent().is_some()
                    || call.collective().is_some()
                    || call.made_comm().is_some();
                if let Some(comm) = call.comm().filter(|_| used) {
                    self.topologies.remove(&comm);
                }
            }
        }
    }

    #[cold]
    fn unused_topology(&mut self, check: &mut Check) {
        self.odd(check, Odd::Topology, || {
            "no message is recorded on a communicator with a topology: neighbourhood collectives, which are not recorded, may \
             have used it"
                .to_owned()
        });
    }

    fn buffers(&self, call: &Call<'_>, check: &mut Check) {
        let mut wrong = None;
        // Beside MPI_IN_PLACE a program may pass no type, and any count.
        let may_lack = call.collective().is_some();
        call.buffers(&mut |count, datatype: Datatype| {
            let in_place = may_lack && datatype <= Datatype::NULL;
            if !in_place && self.types.bytes(datatype, count).is_none() {
                wrong.get_or_insert((count, datatype));
            }
        });
        match wrong {
            Some((count, _)) if count < 0 => {
                self.error(check, format!("a buffer has {count} elements; {DAMAGED}"));
            }
            Some((count, Datatype(number))) => self.error(
                check,
                format!(
                    "nothing says how many bytes {count} elements of datatype {number} have; {DAMAGED}"
                ),
            ),
            None => {}
        }
    }

    fn peers(&self, call: &Call<'_>, check: &mut Check) {
        let peer = |rank: i32, comm: Comm| match self.comms.get(&comm) {
            Some(&Size::Known(size)) if rank >= size => Some(size),
            _ => None,
        };
        let messages = [
            call.sent(),
            call.received(),
            call.persistent().map(|(m, _)| m),
        ];
        let ends = messages.into_iter().flatten().map(|m| (m.peer, m.comm));
        let roots = call.collective().into_iter();
        let roots = roots.filter_map(|c| Some((c.root?, c.comm)));
        for (rank, comm) in ends.chain(roots) {
            if let Some(size) = peer(rank, comm) {
                self.error(
                    check,
                    format!("rank {rank} does not exist in {comm}, which has {size}; {DAMAGED}"),
                );
            }
        }
    }

    /// Checks what follows the calls.
    pub fn finish(mut self, trailer: &Trailer, check: &mut Check) {
        self.function = None;
        for (all, calls) in check.calls.iter_mut().zip(&self.calls) {
            *all += calls;
        }
        if let Some(info) = check.ranks.last_mut() {
            // The last entry is the sum of the others.
            let ignored = trailer.ignored.split_last();
            info.ignored = ignored.map_or(0, |(_, all)| all.iter().map(|&n| u64::from(n)).sum());
            info.threads = self.ends.len() as u32;
        }
        let counted = trailer.calls.iter().zip(&trailer.ignored);
        let functions = trailer.calls.len().saturating_sub(1);
        for (number, (&calls, &ignored)) in (0..).zip(counted).take(functions) {
            let found = self.calls.get(usize::from(number)).copied().unwrap_or(0);
            let expected = i64::from(calls) - i64::from(ignored);
            if i64::try_from(found) != Ok(expected) {
                let name = Function::from_number(number)
                    .map_or("a function without a name", Function::name);
                self.error(
                    check,
                    format!(
                        "the footer counts {calls} calls of {name}, {ignored} of them left out, but the file has {found}: \
                         copy or record it again"
                    ),
                );
            }
        }
        for offset in std::mem::take(&mut self.topologies).into_values() {
            self.offset = offset;
            self.unused_topology(check);
        }
        self.ends_right(check);
    }

    /// The program began and ended while it was recorded.
    fn ends_right(&mut self, check: &mut Check) {
        const INIT: [usize; 2] = [124, 171];
        const FINALIZE: [usize; 1] = [125];
        let lacks = |numbers: &[usize]| numbers.iter().all(|&n| self.calls.get(n) == Some(&0));
        for (name, lacks) in [
            ("MPI_Init", lacks(&INIT)),
            ("MPI_Finalize", lacks(&FINALIZE)),
        ] {
            if lacks {
                self.odd(check, Odd::Ends, || {
                    format!("there is no {name}: the recorder was switched off, or the program ended early")
                });
            }
        }
    }
}

/// The files are not of as many ranks as a rank says.
#[cold]
fn wrong_size(said: i32, files: u32) -> String {
    let cure = if i64::from(said) > i64::from(files) {
        "copy all files of the trace"
    } else {
        "remove files of other runs"
    };
    format!("the program has {said} ranks, but the trace has the files of {files}: {cure}")
}

/// The wall clock says that the rank computed for long, of which the processor's clock knows nothing.
#[cold]
fn leap(computed: i64, on_cpu: Option<i64>) -> String {
    let cpu = on_cpu.map_or_else(String::new, |ns| {
        format!(", {} by the clock of the processor", seconds(ns))
    });
    format!(
        "by the wall clock the rank computes {} before it{cpu}: the clock was set, or went back (the seconds of a recording begin \
         again at 2^16); all of it counts as computation: take the other clock (compute_time), or record again",
        seconds(computed)
    )
}

/// The clock went back within a call. What is computed before it is counted up to its start, which may be what is
/// wrong.
#[cold]
fn ends_before_start(wall: Span, last_end: Option<i64>) -> String {
    let back = seconds(wall.start.saturating_sub(wall.stop));
    let gap = last_end.map_or(0, |end| wall.start.saturating_sub(end).max(0));
    let gap = match gap {
        0 => "no time before it counts".to_owned(),
        gap => format!("the {} before it count", seconds(gap)),
    };
    format!(
        "by the wall clock it ends {back} before it starts: the clock went back, or a time is damaged; {gap} as computation, and \
         what comes after it from its end on"
    )
}

/// A time as messages have it.
fn seconds(ns: i64) -> String {
    match ns {
        ..1_000_000 => format!("{ns} ns"),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}
