//! Checks a whole recording, rank after rank, in one streaming pass, and sums it up.
//!
//! An error is what keeps a replay from knowing what the program did: a stream that is missing, is of another run or damaged
//! within a whole block. A warning is what recordings of sound programs have, too: a program that was killed, requests that
//! nothing completes.

mod rank;

use std::collections::BTreeMap;
use std::sync::Arc;

use flitwise_base::place::{Place, Problem, Problems};
use flitwise_base::stop::Stop;

use self::rank::RankCheck;
use super::rank::{Phase, RankReader};
use super::record::{Item, Reason};
use super::set::Set;
use crate::error::Error;

/// Result of checking a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The errors, by rank.
    pub errors: Problems,
    /// The warnings, by rank.
    pub warnings: Problems,
    /// By rank.
    pub ranks: Vec<RankInfo>,
    /// Calls by the name of the function.
    pub calls_by_name: BTreeMap<Arc<str>, u64>,
    /// Whether there are calls that a replay has no counterpart of.
    pub has_outside: bool,
    /// The notes, and in how many streams each one is.
    pub notes: BTreeMap<String, u64>,
}

/// The records of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RankInfo {
    /// Records of calls.
    pub records: u64,
    /// Calls, including all polls.
    pub calls: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Collectives that it took part in.
    pub collectives: u64,
    /// Requests that were started and that no call completes or frees.
    pub unfinished: u64,
    /// Threads that call MPI.
    pub threads: u32,
    /// Streams without an end.
    pub cut: u32,
    /// The event that ended the stream of the first thread; `None` if that was cut.
    pub reason: Option<Reason>,
    /// CPU time between the calls, behind the first one, in nanoseconds.
    pub cpu_ns: u64,
    /// Wall time between them.
    pub wall_ns: u64,
    /// Wall time in calls.
    pub inside_ns: u64,
    /// CPU time of the process, and of the threads that call MPI.
    pub process_cpu_ns: u64,
    /// See [`process_cpu_ns`](Self::process_cpu_ns).
    pub threads_cpu_ns: u64,
}

impl RankInfo {
    /// Whether threads computed that do not call MPI.
    #[must_use]
    pub fn is_hybrid(&self) -> bool {
        // Clocks are read one after the other, and helpers of the MPI library compute a little.
        const SLACK_NS: u64 = 50_000_000;
        let threads = self.threads_cpu_ns;
        self.process_cpu_ns
            > threads
                .saturating_add(threads / 10)
                .saturating_add(SLACK_NS)
    }
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// The sum of a count over the ranks.
    #[must_use]
    pub fn total(&self, count: impl Fn(&RankInfo) -> u64) -> u64 {
        let counts = self.ranks.iter().map(count);
        counts.fold(0, u64::saturating_add)
    }
}

/// Records between two checks whether the user stops the work.
const ASK_EVERY: u64 = 1 << 16;

/// Checks all streams of a recording.
///
/// # Errors
/// If a file can't be read. Streams that violate the format are in [`Check::errors`].
pub fn check(set: &Set) -> Result<Check, Error> {
    check_seen(set, &mut |_, _, _| Ok(()), Stop::never())
}

/// The problem of a record that was shown.
pub type Refusal = Result<(), String>;

/// The same, which shows `see` every record with its rank, rank after rank. A message of `see` is an error of the record.
///
/// # Errors
/// As [`check`], or if the user stops the check.
pub fn check_seen(
    set: &Set,
    see: &mut dyn FnMut(u32, Phase, &Item<'_>) -> Refusal,
    stop: Stop<'_>,
) -> Result<Check, Error> {
    let mut check = Check::default();
    for stray in &set.strays {
        let ranks = set.ranks();
        check.errors.add(|| {
            let message = format!(
                "is the stream of a rank that the recording of {ranks} ranks does not have: remove it, or copy the files of one run"
            );
            Problem::whole(stray, message)
        });
    }
    for rank in 0..set.ranks() {
        let mut rank_check = RankCheck::new(rank, set);
        let read = set.reader(rank).and_then(|mut reader| {
            all(&mut reader, &mut rank_check, &mut check, see, stop)?;
            rank_check.finish(&reader, &mut check);
            Ok(())
        });
        if let Err(e) = read {
            let problem = e.into_problem_of(set.path())?;
            check.errors.add(|| problem);
        }
        check.ranks.push(rank_check.info);
    }
    Ok(check)
}

/// Reads all records of a rank.
fn all(
    reader: &mut RankReader,
    rank_check: &mut RankCheck<'_>,
    check: &mut Check,
    see: &mut dyn FnMut(u32, Phase, &Item<'_>) -> Refusal,
    stop: Stop<'_>,
) -> Result<(), Error> {
    rank_check.info.threads = reader.threads() as u32;
    let mut seen = 0_u64;
    while reader
        .next(|phase, item| {
            rank_check.record(phase, item, check);
            if let Err(message) = see(rank_check.rank, phase, item) {
                rank_check.error(check, message);
            }
        })?
        .is_some()
    {
        seen += 1;
        if seen.is_multiple_of(ASK_EVERY) {
            stop.check()?;
        }
    }
    Ok(stop.check()?)
}

/// A problem in the file at `path`.
fn located(path: &Arc<std::path::Path>, offset: u64, message: String) -> Problem {
    Problem {
        path: Arc::clone(path),
        place: Some(Place::Byte(offset)),
        message,
    }
}
