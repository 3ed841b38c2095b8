//! A format of traces, and a trace that was read.

use super::goal;
use super::reading::{ComputeTime, Reading, Setting};
use super::{Summary, Verdict};
use crate::program::{Program, RankId};
use flitwise_base::stop::Stop;
use flitwise_formats::recording::Set;
use flitwise_formats::source::Input;
use flitwise_formats::{Problem, Problems};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A format of traces.
pub struct TraceFormat {
    /// Its name, for messages.
    pub name: &'static str,

    /// Whether the file at this path, whose unpacked content begins like this, says that it is of this format.
    pub probe: fn(&Path, &[u8]) -> bool,

    /// Whether a directory has a trace of this format.
    pub finds: fn(&Path) -> bool,

    /// Reads and checks all of an input.
    ///
    /// # Errors
    /// If the file can't be read or the trace is broken: the message names the file and the
    /// lines or the offsets. If the user stops the check.
    pub check: fn(&Input, Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>>,

    /// Summarises the trace, whether or not its ranks agree.
    ///
    /// # Errors
    /// If the file can't be read or the trace is too broken for a summary.
    pub summary: fn(&Input) -> anyhow::Result<Summary>,

    /// Finds all that is wrong with the trace.
    ///
    /// # Errors
    /// If the file can't be read. Errors of the trace are in the verdict.
    pub verdict: fn(&Input) -> anyhow::Result<Verdict>,

    /// Whether summary and verdict read a stream once, from start to end, so that it need not be kept.
    pub reads_once: bool,

    /// The settings that it uses, of those that some formats have no use for.
    pub uses: &'static [Setting],
}

/// A trace that checked clean. It can be replayed any number of times.
pub trait TraceFile: Send + Sync {
    /// The name of its [format](TraceFormat::name).
    fn format(&self) -> &'static str;

    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of operations of all ranks.
    fn operations(&self) -> u64;

    /// The least time that a replay takes, in picoseconds: its span on the
    /// [ideal clock](flitwise_formats::vef::Clock); `None` if it is not known.
    fn ideal_ps(&self) -> Option<u64> {
        None
    }

    /// Whether there is computation in flops, which take as long as [`Reading::host_speed`] says.
    fn has_flops(&self) -> bool {
        false
    }

    /// The schedule read as `reading` says, if the trace is one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn schedule(&self, reading: &Reading) -> anyhow::Result<Option<goal::Scheduled>> {
        let _ = reading;
        Ok(None)
    }

    /// The streams of a recording, if the trace is one, and the clock of its computations unless a reading names one.
    fn recording(&self) -> Option<(&Set, ComputeTime)> {
        None
    }

    /// The calls that can't be replayed: a text for each kind, with how many there are. [`Reading::skip_unsupported`]
    /// leaves them out.
    fn unsupported(&self) -> Vec<String> {
        Vec::new()
    }

    /// Communication or time that the trace lacks, or that is doubtful, as far as [`check_input`](super::check_input) has found out: a sentence
    /// for each kind, with its number. A replay, a conversion and a check report all of them.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of the regions that the program marks, by their numbers.
    fn regions(&self) -> &[Arc<str>] {
        &[]
    }

    /// The reason why a replay does not follow the region of this name, and the cure, if the trace has it nevertheless.
    fn unfollowed(&self, region: &str) -> Option<String> {
        let _ = region;
        None
    }

    /// The clock of the computations and the reason for it, if the trace suggests another one than usual. A replay reports
    /// it unless its job names a clock.
    fn clock_remark(&self) -> Option<String> {
        None
    }

    /// Kernels that streams do not order, if the trace has any. A replay and a conversion report it unless
    /// [`Reading::order_streams`] orders them.
    fn order_remark(&self) -> Option<String> {
        None
    }

    /// The file of a rank; `None` if it is in the one by which the trace is given.
    fn file_of(&self, rank: RankId) -> Option<&Path> {
        let _ = rank;
        None
    }

    /// Compares the ranks, where the [check](TraceFormat::check) of the format reads each rank by itself.
    /// Calls that can't be replayed are left out.
    ///
    /// # Errors
    /// If the file can't be read, or the user stops the comparison.
    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let _ = stop;
        Ok(Agreement::default())
    }

    /// The reason why a replay may not complete, as far as [`check_input`](super::check_input) has found out.
    fn doubts(&self) -> Option<String> {
        None
    }

    /// The files that the trace has besides the one by which it is given.
    fn parts(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The trace from its start, read as `reading` says. The program ends with an error when `stop` says so.
    ///
    /// # Errors
    /// If the file can't be read or is not the one that was checked.
    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>>;
}

/// The points on which the ranks of a trace disagree.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    /// Points because of which a replay stalls or fails.
    pub errors: Problems,
    /// The number of errors that are messages without their counterpart: if no rank waits for them, a replay completes.
    pub unmatched: u64,
    /// Points on which the replay takes each rank at its word.
    pub warnings: Problems,
}

/// Problems that a refusal quotes.
pub(super) const QUOTED: usize = 5;

/// The message that refuses a trace with these problems.
#[cold]
pub(super) fn refusal(problems: &Problems) -> String {
    let mut lines: Vec<String> = (problems.first.iter().take(QUOTED))
        .map(Problem::to_string)
        .collect();
    let more = problems.total.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more errors"));
    }
    lines.join("\n")
}
