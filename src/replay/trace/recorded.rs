//! Parts of the formats that record the MPI calls of each rank: DUMPI, OTF2 and recordings.

use super::summary::sent;
use super::verdict::{Count, Verdict, whole};
use super::{Agreement, Reading, TraceFile, refusal};
use crate::agreement::{Disagreement, Disagreements, compare};
use crate::mpi::CommId;
use crate::program::{Op, Program, RankId, RegionId, STOP_EVERY, StreamId};
use anyhow::{Context, bail};
use flitwise_base::stop::{Stop, StopEvery};
use flitwise_formats::{Error, Place, Problem, Problems};
use hashbrown::HashSet;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The treatment of cancelled receives of unknown outcome.
#[derive(Debug, Clone)]
pub(super) enum Cancelled {
    /// They are [spare](crate::agreement::SPARE): they take messages without a counterpart.
    Spare,
    /// These took a message, by rank and number.
    Took(Arc<HashSet<(RankId, u64)>>),
}

/// The requests that a rank has started, and how many of their outcomes were used.
#[derive(Default)]
pub(super) struct Started {
    pub count: u64,
    used: usize,
}

impl Started {
    /// Starts a request. Returns its outcome, if it is among the `outcomes` of the rank, by the numbers of the requests.
    pub fn next<T: Copy>(&mut self, outcomes: Option<&[(u64, T)]>) -> Option<T> {
        let next = outcomes.and_then(|outcomes| outcomes.get(self.used));
        let outcome = next
            .filter(|(of, _)| *of == self.count)
            .map(|&(_, outcome)| outcome);
        self.count += 1;
        self.used += usize::from(outcome.is_some());
        outcome
    }

    /// The number of the request that started last.
    pub fn last(&self) -> u64 {
        self.count.saturating_sub(1)
    }
}

/// A comparison of the ranks of a trace, once it was made.
#[derive(Default)]
pub(super) struct Comparison(OnceLock<Compared>);

/// The findings of a comparison.
struct Compared {
    /// The points on which the ranks disagree.
    doubts: Option<String>,
    /// Collectives of different sizes.
    sizes: u64,
    /// Cancelled receives that took a message.
    took: Arc<HashSet<(RankId, u64)>>,
}

impl Comparison {
    /// The settings by which `program` of [`agreement`](Self::agreement) reads the trace.
    pub fn reading() -> Reading {
        Reading {
            skip_unsupported: true,
            allow_no_communication: true,
            ..Reading::default()
        }
    }

    /// Compares the ranks, each of which has its calls in a `file`.
    pub fn agreement<'p>(
        &self,
        program: &mut dyn Program,
        file: impl Fn(RankId) -> &'p Path,
        stop: Stop<'_>,
    ) -> anyhow::Result<Agreement> {
        let mut found = compare(program, stop)?;
        let took = std::mem::take(&mut found.taken).into_iter().collect();
        let agreement = in_files(found, file);
        self.0.get_or_init(|| Compared {
            doubts: (agreement.errors.total > 0).then(|| refusal(&agreement.errors)),
            sizes: agreement.warnings.total,
            took: Arc::new(took),
        });
        Ok(agreement)
    }

    /// The reason why a replay may not complete.
    pub fn doubts(&self) -> Option<String> {
        self.0.get()?.doubts.clone()
    }

    /// A sentence on collectives whose sizes differ between ranks.
    pub fn remark(&self) -> Option<String> {
        let sizes = self.0.get()?.sizes;
        (sizes > 0).then(|| {
            format!("{sizes} collectives have different sizes at different ranks; the replay uses the size at each rank")
        })
    }

    /// The treatment of cancelled receives in a replay.
    pub fn cancelled(&self) -> Cancelled {
        let took = self.0.get().map(|compared| Arc::clone(&compared.took));
        Cancelled::Took(took.unwrap_or_default())
    }
}

/// The points on which the ranks disagree, in their files.
fn in_files<'p>(found: Disagreements, file: impl Fn(RankId) -> &'p Path) -> Agreement {
    let problem = |one: Disagreement| Problem {
        path: file(one.rank).into(),
        place: one.place.map(Place::from),
        message: format!("rank {}: {}", one.rank, one.message),
    };
    let problems = |first: Vec<Disagreement>, total| Problems {
        first: first.into_iter().map(problem).collect(),
        total,
    };
    Agreement {
        errors: problems(found.errors, found.error_total),
        unmatched: found.unmatched_total,
        warnings: problems(found.warnings, found.warning_total),
    }
}

/// Refuses a trace with calls that can't be replayed, unless `reading` leaves them out.
pub(super) fn check_unsupported(
    path: &Path,
    calls: &[String],
    reading: &Reading,
) -> anyhow::Result<()> {
    if calls.is_empty() || reading.skip_unsupported {
        return Ok(());
    }
    bail!(
        "{}: has {}; a replay has no counterpart for them: {} leaves them out",
        path.display(),
        calls.join(", "),
        reading.wording.skip_unsupported()
    )
}

/// Refuses a trace without a message or collective between its ranks, unless `reading` allows it; `advice` continues
/// the message.
pub(crate) fn check_communication(
    path: &Path,
    (ranks, communication): (u32, u64),
    advice: &str,
    reading: &Reading,
) -> anyhow::Result<()> {
    if communication > 0 || ranks < 2 || reading.allow_no_communication {
        return Ok(());
    }
    bail!(
        "{}: has no message and no collective that a replay has, of {ranks} ranks{advice}, or let {} replay its computation \
         alone",
        path.display(),
        reading.wording.allow_no_communication()
    )
}

/// A trace whose ranks are read independently.
pub(super) trait Recorded {
    /// The progress of a rank.
    type Rank;

    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// A rank at its start.
    fn open(&self, rank: RankId) -> anyhow::Result<Self::Rank>;

    /// The next operation of a rank; `None` at its end.
    fn next(&self, rank: &mut Self::Rank, stop: &mut StopEvery<'_>) -> anyhow::Result<Option<Op>>;

    /// The name of a communicator of `rank` in messages.
    fn communicator(&self, rank: RankId, comm: CommId) -> String;

    /// The name of a region.
    fn region(&self, region: RegionId) -> &str {
        let _ = region;
        ""
    }

    /// As [`Program::unrecorded_receives`].
    fn unrecorded_receives(&self) -> Option<&'static str> {
        None
    }
}

/// The calls of all ranks as operations.
pub(super) struct RecordedProgram<'a, R: Recorded> {
    recorded: R,
    ranks: Vec<R::Rank>,
    stop: StopEvery<'a>,
}

impl<'a, R: Recorded> RecordedProgram<'a, R> {
    /// The trace from its start.
    pub fn new(recorded: R, stop: Stop<'a>) -> anyhow::Result<Self> {
        let mut program = Self {
            recorded,
            ranks: Vec::new(),
            stop: stop.every(STOP_EVERY),
        };
        program.restart()?;
        Ok(program)
    }
}

impl<R: Recorded> Program for RecordedProgram<'_, R> {
    fn ranks(&self) -> u32 {
        self.recorded.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        self.recorded.next(state, &mut self.stop)
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        self.recorded.communicator(rank, comm)
    }

    fn region(&self, region: RegionId) -> &str {
        self.recorded.region(region)
    }

    fn unrecorded_receives(&self) -> Option<&'static str> {
        self.recorded.unrecorded_receives()
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let all = RankId::all(self.recorded.ranks()).map(|rank| self.recorded.open(rank));
        self.ranks = all.collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Calls that can't be replayed: how many of each kind, and the first one.
#[derive(Debug, Default)]
pub(super) struct Unsupported(BTreeMap<usize, (u64, String)>);

impl Unsupported {
    /// Adds `calls` calls of the kind with this number, of which `first` names the first one.
    pub fn add(&mut self, kind: usize, calls: u64, first: impl FnOnce() -> String) {
        self.0.entry(kind).or_insert_with(|| (0, first())).0 += calls;
    }

    /// A text for each kind that there is, of those that `kinds` describes.
    pub fn texts(&self, kinds: &[&str]) -> Vec<String> {
        let found = self.0.iter().filter_map(|(&kind, (count, first))| {
            let (what, s) = (kinds.get(kind)?, if *count == 1 { "" } else { "s" });
            Some(format!("{count} call{s} {what} (the first is {first})"))
        });
        found.collect()
    }
}

/// Warns of something that concerns all of the file at `path`.
pub(super) fn warn(verdict: &mut Verdict, path: &Path, message: &str) {
    let problem = Problems::one(whole(path, message));
    verdict.warnings.extend(problem);
}

/// Warns if a replay can't begin: calls that can't be replayed are no fault of the trace.
pub(super) fn warn_of_opening(verdict: &mut Verdict, path: &Path, file: &dyn TraceFile) {
    if let Err(e) = file.open(&Reading::default(), Stop::never()) {
        warn(verdict, path, &format!("{e:#}"));
    }
}

/// Adds the points on which the ranks disagree.
pub(super) fn add_agreement(verdict: &mut Verdict, file: &dyn TraceFile) -> anyhow::Result<()> {
    let agreement = file.agreement(Stop::never())?;
    verdict.errors.extend(agreement.errors);
    verdict.warnings.extend(agreement.warnings);
    Ok(())
}

/// The number of messages and their bytes.
pub(super) fn sent_counts(file: &dyn TraceFile) -> anyhow::Result<[Count; 2]> {
    let (traffic, _) = sent(file, None)?;
    Ok([
        Count::new("messages", traffic.messages),
        Count::new("bytes", traffic.bytes),
    ])
}

/// The problem for which the trace at `path` is refused; an error if the trace is not at fault.
pub(super) fn refused(path: &Path, error: anyhow::Error) -> anyhow::Result<Problem> {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        return Ok(problem.clone());
    }
    match error.downcast_ref::<Error>() {
        Some(e) if e.is_full_disk() => Err(error),
        _ => Ok(whole(path, &format!("{error:#}"))),
    }
}
