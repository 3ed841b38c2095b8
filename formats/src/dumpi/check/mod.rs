//! Checks a whole trace, rank after rank, in one streaming pass.
//!
//! An error is what keeps a replay from knowing what the program did: a file that can't be parsed, calls that the footer
//! counts and the file lacks, peers that do not exist, datatypes without a size. A warning is what recorders write of sound
//! programs too: handles of functions that they do not intercept (MPI-3), clocks that were set back.

mod odd;
mod rank;

use flitwise_base::place::{Problem, Problems};
use flitwise_base::stop::Stop;

pub use self::odd::Odd;
use self::rank::RankCheck;
use super::call::Function;
use super::record::Record;
use super::set::Set;
use crate::error::Error;
use crate::limits::MAX_PROBLEMS;

/// Result of checking a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Problems that prevent a replay, by rank and offset.
    pub errors: Problems,
    /// The first [`MAX_PROBLEMS`] warnings: of each kind the first one of a rank.
    pub warnings: Problems,
    /// The number of oddities of each [kind](Odd), of all ranks.
    odd: [u64; Odd::ALL.len()],
    /// By rank, as far as its calls could be read.
    pub ranks: Vec<RankInfo>,
    /// Calls by the number of the function.
    calls: Vec<u64>,
    /// The last wrong number of ranks that a call returned. Each rank may ask for it often; it is one error.
    wrong_size: Option<i32>,
}

/// The calls of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RankInfo {
    /// Calls in its file.
    pub calls: u64,
    /// Calls that the recorder counted and left out.
    pub ignored: u64,
    /// Collectives that it took part in; see [`Call::collective`](super::Call::collective).
    pub collectives: u64,
    /// Threads that made calls.
    pub threads: u32,
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// The number of oddities of a kind, where the first of each rank is among the warnings.
    #[must_use]
    pub fn odd(&self, odd: Odd) -> u64 {
        self.odd.get(odd as usize).copied().unwrap_or(0)
    }

    /// The functions that occur, and how often all ranks called them, by number.
    pub fn calls(&self) -> impl Iterator<Item = (Function, u64)> {
        let all = (0..).zip(&self.calls).filter(|(_, count)| **count > 0);
        all.filter_map(|(number, count)| Some((Function::from_number(number)?, *count)))
    }

    /// The sum of a count over the ranks.
    #[must_use]
    pub fn total(&self, count: impl Fn(&RankInfo) -> u64) -> u64 {
        self.ranks.iter().map(count).sum()
    }

    /// Notes that a call returned `said` ranks, which is not the number of files; false if the last wrong one was the same.
    #[cold]
    fn wrong_size(&mut self, said: i32) -> bool {
        self.wrong_size.replace(said) != Some(said)
    }

    #[cold]
    fn warning(&mut self, problem: Problem) {
        if self.warnings.first.len() < MAX_PROBLEMS {
            self.warnings.add(|| problem);
        }
    }
}

/// Records between two checks whether the user stops the work.
const ASK_EVERY: u64 = 1 << 16;

/// Checks all files of a trace.
///
/// # Errors
/// If a file can't be read. Files that violate the format are in [`Check::errors`].
///
/// # Examples
/// ```no_run
/// use flitwise_formats::dumpi::{Set, check};
///
/// let check = check(&Set::open("dumpi-2013.09.09.04.32.40.meta")?)?;
/// for problem in &check.errors.first {
///     eprintln!("{problem}");
/// }
/// # Ok::<(), flitwise_formats::Error>(())
/// ```
pub fn check(set: &Set) -> Result<Check, Error> {
    check_seen(set, &mut |_, _| {}, Stop::never())
}

/// The same, which shows `see` every call with its rank, rank after rank and in the order of the files.
///
/// # Errors
/// As [`check`], or if the user stops the check.
pub fn check_seen(
    set: &Set,
    see: &mut dyn FnMut(u32, &Record<'_>),
    stop: Stop<'_>,
) -> Result<Check, Error> {
    let mut check = Check {
        errors: Problems::default(),
        warnings: Problems::default(),
        odd: [0; Odd::ALL.len()],
        ranks: Vec::new(),
        calls: vec![0; usize::from(Function::END)],
        wrong_size: None,
    };
    for rank in 0..set.ranks() {
        check.ranks.push(RankInfo::default());
        if let Err(e) = file(set, rank, &mut check, see, stop) {
            let problem = e.into_problem()?;
            check.errors.add(|| problem);
        }
    }
    Ok(check)
}

/// Checks the file of a rank.
fn file(
    set: &Set,
    rank: u32,
    check: &mut Check,
    see: &mut dyn FnMut(u32, &Record<'_>),
    stop: Stop<'_>,
) -> Result<(), Error> {
    let types = set.types(rank)?;
    let mut reader = set.reader(rank)?;
    let mut rank_check = RankCheck::new((rank, reader.path().into()), set.ranks(), types);
    let mut seen = 0_u64;
    while reader
        .next_record(|record| {
            rank_check.record(record, check);
            see(rank, record);
        })?
        .is_some()
    {
        seen += 1;
        if seen.is_multiple_of(ASK_EVERY) {
            stop.check()?;
        }
    }
    rank_check.finish(reader.trailer(), check);
    Ok(stop.check()?)
}
