//! Checks a whole trace.
//!
//! Memory: the messages that lack their counterpart so far, the pending requests of one rank, and the collectives of the
//! first rank.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{Place, PlaceError, Problem, Problems};
use flitwise_base::stop::Stop;

use super::action::{Action, Collective, Request};
use super::info::Info;
use super::proc_null::{ProcNull, Unnamed, Unsettled};
use super::reader::Actions;
use super::requests::Requests;
use super::sizes::Size;
use super::trace::Trace;
use crate::error::Error;
use crate::limits::MAX_TRACKED_COLLECTIVES;
use crate::matching::{Matching, Unmatched};
use crate::source::Input;

/// Result of checking a trace.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Check {
    /// Its contents, as far as they can be read.
    pub info: Info,
    /// Its errors: lines that do not parse, messages without a counterpart, collectives that differ from rank
    /// to rank, requests that nothing waits for.
    pub errors: Problems,
    /// Oddities that do not prevent a replay, such as ranks that give a collective different sizes.
    pub warnings: Problems,
    /// Communication that the trace lacks, or that is doubtful: a sentence for each kind, with its number.
    pub remarks: Vec<String>,
    /// Waits for a request that was done already, which recorders write behind a `waitall`.
    pub waits_for_none: u64,
    /// Receives that are from `MPI_PROC_NULL`.
    proc_null: ProcNull,
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    fn new(ranks: u32) -> Self {
        Self {
            info: Info::new(ranks),
            errors: Problems::default(),
            warnings: Problems::default(),
            remarks: Vec::new(),
            waits_for_none: 0,
            proc_null: ProcNull::default(),
        }
    }
}

/// Checks a trace by its list of files, or its only file.
///
/// # Errors
/// If a file can't be read. What is wrong with the content is in [`Check::errors`].
pub fn check_file(path: impl AsRef<Path>) -> Result<Check, Error> {
    let input = Input::new(path.as_ref());
    check_input(&input, Stop::never()).map(|(check, _)| check)
}

/// Checks an input. The trace is there unless it can't be opened; it leaves out the receives that are from
/// `MPI_PROC_NULL`.
///
/// # Errors
/// As [`check_file`], or if the user stops the check.
pub fn check_input(input: &Input, stop: Stop<'_>) -> Result<(Check, Option<Trace>), Error> {
    let trace = match Trace::read(input, stop) {
        Ok(trace) => trace,
        Err(e) => {
            let mut check = Check::new(0);
            let problem = e.into_problem()?;
            check.errors.add(|| problem);
            return Ok((check, None));
        }
    };
    let check = check(&trace, stop)?;
    let trace = trace.without(check.proc_null.clone());
    Ok((check, Some(trace)))
}

/// Checks a trace that is open, as [`check_input`].
///
/// # Errors
/// If it can't be read, or the user stops the check.
pub fn check(trace: &Trace, stop: Stop<'_>) -> Result<Check, Error> {
    let mut checker = Checker {
        check: Check::new(trace.ranks()),
        matching: Matching::new(trace.ranks()),
        collectives: Vec::new(),
        unknown: None,
        unnamed: Unnamed::default(),
        doubts: Doubts::default(),
    };
    let mut readable = true;
    for rank in 0..trace.ranks() {
        let mut actions = trace.rank(rank)?;
        if let Err(e) = checker.rank(rank, &mut actions, stop) {
            let problem = e.into_problem()?;
            checker.check.errors.add(|| problem);
            readable = false;
        }
    }
    // Where all ranks call the same collectives, each has all its sizes.
    if checker.check.errors.is_empty() {
        checker.balance(trace.path_of(0));
    }
    let Checker {
        mut check,
        matching,
        unknown,
        unnamed,
        doubts,
        ..
    } = checker;
    // What was not read would be missed.
    if readable {
        match_messages(trace, &mut check, matching, &unnamed);
    }
    check.remarks = doubts.remarks(check.info.unknown_sizes, trace.ranks());
    if doubts.is_split(trace.ranks()) {
        check
            .warnings
            .add(|| Problem::whole(trace.path(), doubts.split(trace.ranks())));
    }
    if let Some(mut problem) = unknown {
        problem.message = format!(
            "{} actions have elements of a datatype whose size is not in the trace; they count as 0 bytes, this is the \
             first",
            check.info.unknown_sizes
        );
        check.warnings.add(|| problem);
    }
    Ok(check)
}

/// Finds the receives from `MPI_PROC_NULL`, and adds what has no counterpart to the errors.
fn match_messages(trace: &Trace, check: &mut Check, mut matching: Matching, unnamed: &Unnamed) {
    let (proc_null, unsettled) = unnamed.settle(&matching);
    for one in &unsettled {
        check.errors.add(|| ambiguous(trace, *one));
    }
    for (rank, receives) in unnamed.of(&proc_null) {
        matching.take_back_any(rank, receives);
    }
    check.proc_null = proc_null;
    let said = |rank| unsettled.iter().any(|one| one.rank == rank);
    for unmatched in matching.finish() {
        if !matches!(unmatched, Unmatched::Numbers { dst, .. } if said(dst)) {
            check.errors.add(|| problem(trace, unmatched));
        }
    }
}

/// The problem of a rank whose receives from any source and from `MPI_PROC_NULL` cannot be told apart.
fn ambiguous(trace: &Trace, unsettled: Unsettled) -> Problem {
    let Unsettled {
        rank,
        receives,
        messages,
    } = unsettled;
    let message = format!(
        "rank {rank} has {receives} receives whose source is a number below 0, which stands for MPI_ANY_SOURCE and for \
         MPI_PROC_NULL, but {messages} messages are left for them: write the ranks they are from, or remove those from MPI_PROC_NULL"
    );
    Problem::whole(trace.path_of(rank), message)
}

/// The numbers of what a replay may take otherwise than the program did.
#[derive(Default)]
struct Doubts {
    /// Collectives to which ranks give different sizes.
    sizes: u64,
    /// Ranks that end without `finalize`.
    unfinished: u64,
    /// Actions after the `finalize` of their rank.
    late: u64,
    /// `comm_split`s.
    splits: u64,
    /// A `comm_size` that is not the number of ranks.
    comm_size: Option<u64>,
    /// Collectives.
    collectives: u64,
}

impl Doubts {
    /// Whether collectives may be of fewer than `ranks` ranks.
    fn is_split(&self, ranks: u32) -> bool {
        let other_size = self.comm_size.is_some_and(|size| size != u64::from(ranks));
        self.collectives > 0 && (self.splits > 0 || other_size)
    }

    fn split(&self, ranks: u32) -> String {
        let why = match self.comm_size {
            Some(size) => format!("a communicator has {size} of the {ranks} ranks"),
            None => format!(
                "{} `comm_split`s make communicators of fewer ranks",
                self.splits
            ),
        };
        format!(
            "{why}, but the trace does not say which of its {} calls of collectives are on them: all are replayed on all ranks",
            self.collectives
        )
    }

    fn remarks(&self, unknown_sizes: u64, ranks: u32) -> Vec<String> {
        let counted = [
            (
                unknown_sizes,
                "actions have elements of a datatype whose size is not in the trace; they count as 0 bytes",
            ),
            (
                self.sizes,
                "collectives have different sizes at different ranks; the replay uses the size at each rank",
            ),
            (
                self.unfinished,
                "ranks end without `finalize`; their files may be cut short",
            ),
            (
                self.late,
                "actions come after the `finalize` of their rank; they are replayed like all others",
            ),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let split = self.is_split(ranks).then(|| self.split(ranks));
        let counted = counted.map(|(count, what)| format!("{count} {what}"));
        counted.chain(split).collect()
    }
}

fn problem(trace: &Trace, unmatched: Unmatched) -> Problem {
    let cures = [
        "record the program to its end, or correct destination or tag",
        "record the program to its end, or correct source or tag",
        "record the program to its end",
    ];
    let says = unmatched.says(|tag| tag.to_string(), cures);
    Problem {
        path: Arc::clone(trace.path_of(unmatched.rank())),
        place: unmatched.place(),
        message: format!("rank {} {says}", unmatched.rank()),
    }
}

struct Checker {
    check: Check,
    matching: Matching,
    /// The collectives of rank 0.
    collectives: Vec<Called>,
    /// The first action with elements of unknown size.
    unknown: Option<Problem>,
    unnamed: Unnamed,
    doubts: Doubts,
}

/// A collective as rank 0 calls it.
struct Called {
    kind: CallKind,
    line: u64,
    /// A balance is of all ranks so far.
    size: Size,
}

/// The part of a collective on which all ranks have to agree.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CallKind {
    name: &'static str,
    root: Option<u32>,
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.root {
            Some(root) => write!(f, "`{}` with root {root}", self.name),
            None => write!(f, "`{}`", self.name),
        }
    }
}

/// The state of the check for one rank.
#[derive(Default)]
struct Rank {
    requests: Requests,
    /// Collectives so far.
    collectives: usize,
    /// The line of the first collective that differs from the one of rank 0.
    differs: bool,
    finalized: bool,
}

/// Lines between two checks whether the user stops the work.
const ASK_EVERY: u64 = 1 << 16;

impl Checker {
    /// Checks a rank.
    fn rank(&mut self, number: u32, actions: &mut Actions, stop: Stop<'_>) -> Result<(), Error> {
        let mut rank = Rank::default();
        let (mut last, mut seen) = (0, 0u64);
        while let Some((line, action)) = actions.next_action()? {
            seen += 1;
            if seen.is_multiple_of(ASK_EVERY) {
                stop.check()?;
            }
            last = line;
            if rank.finalized {
                self.doubts.late += 1;
                let name = action.name();
                self.check
                    .warnings
                    .add(|| actions.problem(line, format!("`{name}` after `finalize`")));
            }
            let unknown = self.check.info.unknown_sizes;
            self.check.info.add(number, &action);
            if self.check.info.unknown_sizes > unknown && self.unknown.is_none() {
                self.unknown = Some(actions.problem(line, String::new()));
            }
            self.action(number, &mut rank, line, &action, actions);
        }
        if seen == 0 {
            let message =
                format!("has no action of rank {number}; it is empty: record the program again");
            return Err(Error::broken(Problem::whole(actions.path(), message)));
        }
        if !rank.finalized {
            self.doubts.unfinished += 1;
            self.check.warnings.add(|| {
                actions.problem(
                    last,
                    format!("rank {number} ends without `finalize`; the file may be cut short"),
                )
            });
        }
        let (ours, theirs) = (rank.collectives, self.collectives.len());
        if number > 0 && !rank.differs && ours != theirs && ours < MAX_TRACKED_COLLECTIVES {
            let message = format!(
                "rank {number} takes part in {ours} collectives, but rank 0 in {theirs}; all ranks must take part in \
                 all of them, since the trace names no communicators"
            );
            self.check.errors.add(|| actions.problem(last, message));
        }
        Ok(())
    }

    fn action(&mut self, number: u32, rank: &mut Rank, line: u64, action: &Action, at: &Actions) {
        let place = Place::Line(line);
        match action {
            Action::Finalize => rank.finalized = true,
            Action::CommSplit => self.doubts.splits += 1,
            Action::CommSize(size) if *size != u64::from(self.check.info.ranks) => {
                self.doubts.comm_size = Some(*size);
            }
            Action::Send {
                to: Some(to),
                tag,
                immediate,
                ..
            } => {
                self.matching.send(number, *to, u64::from(*tag), place);
                if *immediate {
                    let (src, dst, tag) = (Some(number), Some(*to), Some(*tag));
                    rank.requests.start(Request { src, dst, tag });
                }
            }
            Action::Recv {
                from,
                tag,
                immediate,
                ..
            } => {
                self.receive(*from, number, *tag, place);
                if *immediate {
                    let dst = Some(number);
                    let (src, tag) = (*from, *tag);
                    rank.requests.start(Request { src, dst, tag });
                }
            }
            Action::SendRecv { to, from, .. } => {
                if let Some(to) = *to {
                    self.matching.send(number, to, 0, place);
                }
                self.receive(*from, number, Some(0), place);
            }
            Action::Wait(request) => {
                let found = rank.requests.take(*request);
                self.check.waits_for_none += u64::from(found.is_none());
            }
            Action::WaitAll { .. } => drop(rank.requests.take_all()),
            Action::Collective { call, .. } => self.collective(number, rank, line, call, at),
            _ => {}
        }
    }

    fn receive(&mut self, from: Option<u32>, rank: u32, tag: Option<u32>, place: Place) {
        self.matching.receive(from, rank, tag.map(u64::from), place);
        if from.is_none() {
            self.unnamed.add(rank, tag);
        }
    }

    fn collective(
        &mut self,
        number: u32,
        rank: &mut Rank,
        line: u64,
        call: &Collective,
        at: &Actions,
    ) {
        let index = rank.collectives;
        rank.collectives += 1;
        self.doubts.collectives += 1;
        if index >= MAX_TRACKED_COLLECTIVES || rank.differs {
            return;
        }
        let kind = CallKind {
            name: call.name(),
            root: call.root(),
        };
        let size = Size::of(call, number);
        if number == 0 {
            self.collectives.push(Called { kind, line, size });
            return;
        }
        let Some(called) = self.collectives.get_mut(index) else {
            return;
        };
        let (theirs, their_line) = (called.kind, called.line);
        if theirs != kind {
            rank.differs = true;
            self.check.errors.add(|| {
                let message = format!(
                    "collective {index} of rank {number} is {kind}, but {theirs} at rank 0 (line {their_line}); all \
                     ranks must call the same ones, since the trace names no communicators"
                );
                at.problem(line, message)
            });
        } else if let Some((their_bytes, bytes)) = called.size.add(size) {
            self.doubts.sizes += 1;
            self.check.warnings.add(|| {
                let message = format!(
                    "collective {index}, {kind}, is of {bytes} bytes at rank {number}, but of {their_bytes} at rank 0 (line \
                     {their_line}); a replay uses the size at each rank: correct one of them, or record the program again"
                );
                at.problem(line, message)
            });
        }
    }

    /// Warns of collectives whose blocks are not received as they are sent, with the lines of rank 0, whose file is at
    /// `path`.
    fn balance(&mut self, path: &Arc<Path>) {
        for (index, called) in self.collectives.iter().enumerate() {
            let Size::Balance(bytes) = called.size else {
                continue;
            };
            let than = match bytes.signum() {
                0 => continue,
                1 => "more",
                _ => "less",
            };
            self.doubts.sizes += 1;
            self.check.warnings.add(|| {
                let message = format!(
                    "collective {index}, {}: all ranks together send {} bytes {than} than they receive; a replay takes each rank as it says: \
                     correct the counts, or record the program again",
                    called.kind,
                    bytes.unsigned_abs()
                );
                PlaceError::line(called.line, message).of(path)
            });
        }
    }
}
