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
    /// Waits for a request that was done already, which recorders write behind a `waitall`.
    pub waits_for_none: u64,
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
            waits_for_none: 0,
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

/// Checks an input. The trace is there unless it can't be opened.
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
    Ok((check(&trace, stop)?, Some(trace)))
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
        ..
    } = checker;
    // What was not read would be missed.
    let unmatched = if readable {
        matching.finish()
    } else {
        Vec::new()
    };
    for unmatched in unmatched {
        check.errors.add(|| problem(trace, unmatched));
    }
    if let Some(mut problem) = unknown {
        problem.message = format!(
            "{} actions have elements of a datatype whose size is not in the trace; they count as no bytes, this is the \
             first",
            check.info.unknown_sizes
        );
        check.warnings.add(|| problem);
    }
    Ok(check)
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
}

/// A collective as rank 0 calls it.
struct Called {
    kind: Kind,
    line: u64,
    /// A balance is of all ranks so far.
    size: Size,
}

/// The part of a collective on which all ranks have to agree.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    root: Option<u32>,
}

impl fmt::Display for Kind {
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
            Action::Send {
                to, tag, immediate, ..
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
                self.matching
                    .receive(*from, number, tag.map(u64::from), place);
                if *immediate {
                    let dst = Some(number);
                    let (src, tag) = (*from, *tag);
                    rank.requests.start(Request { src, dst, tag });
                }
            }
            Action::SendRecv { to, from, .. } => {
                self.matching.send(number, *to, 0, place);
                self.matching.receive(*from, number, Some(0), place);
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
        if index >= MAX_TRACKED_COLLECTIVES || rank.differs {
            return;
        }
        let kind = Kind {
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
                    "collective {index} of rank {number} is {kind}, but that of rank 0 is {theirs} (line {their_line}); all \
                     ranks must call the same ones, since the trace names no communicators"
                );
                at.problem(line, message)
            });
        } else if let Some((their_bytes, bytes)) = called.size.add(size) {
            self.check.warnings.add(|| {
                let message = format!(
                    "collective {index}, {kind}, is of {bytes} bytes at rank {number}, but of {their_bytes} at rank 0 (line \
                     {their_line}); a replay takes each as its rank says: correct one of them, or record the program again"
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
