//! Trace formats: how a file is recognised, checked, and opened as a program.
//!
//! A new format is a module here with a [`TraceFormat`], an entry in [`FORMATS`], and a parser
//! in the crate `flitwise-formats`.

pub mod chakra;
pub mod dumpi;
pub mod goal;
mod kept;
pub mod otf2;
mod recorded;
pub mod recording;
mod regions;
pub mod summary;
pub mod ti;
pub mod vef;
pub mod verdict;

pub use regions::known_regions;
pub use summary::Summary;
pub use verdict::Verdict;

use super::program::{Program, RankId};
use flitwise_base::stop::Stop;
use flitwise_base::units::Ratio;
use flitwise_formats::recording::Set;
use flitwise_formats::source::Input;
use flitwise_formats::{Problem, Problems};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A format of traces.
pub trait TraceFormat: Sync {
    /// Its name, for messages.
    fn name(&self) -> &'static str;

    /// Whether the file at `path`, whose unpacked content begins with `head`, says that it is of this format.
    fn probe(&self, path: &Path, head: &[u8]) -> bool;

    /// Whether the directory `dir` has a trace of this format.
    fn finds(&self, dir: &Path) -> bool {
        let _ = dir;
        false
    }

    /// Reads and checks all of `input`.
    ///
    /// # Errors
    /// If the file can't be read or the trace is broken: the message names the file and the
    /// lines or the offsets. If the user stops the check.
    fn check(&self, input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>>;

    /// Summarises the trace, whether or not its ranks agree.
    ///
    /// # Errors
    /// If the file can't be read or the trace is too broken for a summary.
    fn summary(&self, input: &Input) -> anyhow::Result<Summary>;

    /// Finds all that is wrong with the trace.
    ///
    /// # Errors
    /// If the file can't be read. Errors of the trace are in the verdict.
    fn verdict(&self, input: &Input) -> anyhow::Result<Verdict>;

    /// Whether summary and verdict read a stream once, from start to end, so that it need not be kept.
    fn reads_once(&self) -> bool {
        false
    }

    /// The settings that it uses, of those that some formats have no use for.
    fn uses(&self) -> &'static [Setting];

    /// Whether computation is in flops, which take as long as [`Reading::host_speed`] says.
    fn counts_flops(&self) -> bool {
        false
    }
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

    /// Communication or time that the trace lacks, or that is doubtful, as far as [`check_input`] has found out: a sentence
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

    /// The reason why a replay may not complete, as far as [`check_input`] has found out.
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

/// The settings of a job for reading its trace. Each format uses the part that concerns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Flops per second of a rank in a TI trace, or of a GPU in a Chakra trace; more than 0.
    pub host_speed: Ratio,
    /// The clock of a DUMPI trace or a recording by which its ranks compute; `None` for the one that it suggests.
    pub compute_time: Option<ComputeTime>,
    /// Calls of a DUMPI or OTF2 trace or a recording that can't be replayed are left out.
    pub skip_unsupported: bool,
    /// A DUMPI or OTF2 trace may be without any communication between its ranks.
    pub allow_no_communication: bool,
    /// The longest time before a poll of a DUMPI or OTF2 trace or a recording that is one of its loop, and no computation, in picoseconds.
    pub poll_gap_ps: u64,
    /// The kernels of each stream of a device in a Chakra trace come one after the other.
    pub order_streams: bool,
    /// Most channels of a collective of a Chakra trace or of logs of NCCL Inspector, at least 1.
    pub channels: u32,
    /// The node of each rank; empty if each rank has a node by itself. Channels differ in the rank of a node that is next to other nodes.
    pub nodes: Arc<[u32]>,
    /// The names of all these settings in messages.
    pub wording: Wording,
}

/// The settings that some formats have no use for. Those that the same formats use are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The eager threshold and the overheads of the sends and receives of calls.
    Calls,
    /// The algorithms of collectives.
    Collectives,
    /// [`Reading::host_speed`].
    HostSpeed,
    /// [`Reading::compute_time`].
    ComputeTime,
    /// The choices that a recorder leaves open: [`Reading::poll_gap_ps`], [`Reading::skip_unsupported`] and
    /// [`Reading::allow_no_communication`].
    Recorder,
    /// [`Reading::order_streams`].
    OrderStreams,
    /// [`Reading::channels`].
    Channels,
}

/// The names of the parts of a [`Reading`] in messages: a cure has to name what the user can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// Keys of a job.
    #[default]
    Keys,
    /// Options of a command.
    Options,
}

impl Wording {
    fn host_speed(self) -> &'static str {
        match self {
            Self::Keys => "host_speed",
            Self::Options => "--host-speed",
        }
    }

    fn compute_time(self) -> &'static str {
        match self {
            Self::Keys => "compute_time",
            Self::Options => "--compute-time",
        }
    }

    fn skip_unsupported(self) -> &'static str {
        match self {
            Self::Keys => "skip_unsupported = true",
            Self::Options => "--skip-unsupported",
        }
    }

    fn order_streams(self) -> &'static str {
        match self {
            Self::Keys => "order_streams = true",
            Self::Options => "--order-streams",
        }
    }

    fn allow_no_communication(self) -> &'static str {
        match self {
            Self::Keys => "allow_no_communication = true",
            Self::Options => "--allow-no-communication",
        }
    }
}

/// The clock by which a trace measures the computations of its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComputeTime {
    /// The wall clock.
    Wall,
    /// The processor time of a rank, which stops while other processes have its processor.
    Cpu,
}

impl ComputeTime {
    /// Its name in experiments.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
        }
    }
}

/// The speed by which SimGrid's recorder counts flops by default (`smpi/host-speed`), in flops per second: with
/// it a computation takes as long as it was recorded.
pub const HOST_SPEED: Ratio = Ratio::whole(20_000);

/// Recorders take 1 to 2 us for a call: a loop that only polls takes no longer for a turn.
pub const POLL_GAP_PS: u64 = 4_000_000;

impl Default for Reading {
    fn default() -> Self {
        Self {
            host_speed: HOST_SPEED,
            compute_time: None,
            skip_unsupported: false,
            allow_no_communication: false,
            poll_gap_ps: POLL_GAP_PS,
            order_streams: false,
            channels: 1,
            nodes: Arc::default(),
            wording: Wording::default(),
        }
    }
}

/// Problems that a refusal quotes.
const QUOTED: usize = 5;

/// The message that refuses a trace with these problems.
#[cold]
fn refusal(problems: &Problems) -> String {
    let mut lines: Vec<String> = (problems.first.iter().take(QUOTED))
        .map(Problem::to_string)
        .collect();
    let more = problems.total.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more errors"));
    }
    lines.join("\n")
}

/// All formats, in the order in which a file is held against them.
pub const FORMATS: [&dyn TraceFormat; 8] = [
    &vef::Vef,
    &goal::Goal,
    &chakra::Chakra,
    &chakra::Inspector,
    &ti::Ti,
    // DUMPI takes every other archive.
    &recording::Recording,
    &dumpi::Dumpi,
    &otf2::Otf2,
];

/// The format of this [name](TraceFormat::name).
#[must_use]
pub fn format_named(name: &str) -> Option<&'static dyn TraceFormat> {
    FORMATS.into_iter().find(|format| format.name() == name)
}

/// Most operations of a trace that is kept in memory after it was checked: 40 MB of them.
const MAX_KEPT: u64 = 500_000;

/// Checks the trace at `path`, in the format that its content says. A pipe or standard input, `-`,
/// is first copied into a file without a name.
///
/// # Errors
/// As [`TraceFormat::check`], or if a stream can't be copied.
///
/// # Examples
/// ```
/// use flitwise_base::stop::Stop;
/// use flitwise_replay::program::{RankId, StreamId};
/// use flitwise_replay::trace::{Reading, check_file};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("ping.vef");
/// // Rank 0 computes 10 ns and sends 64 bytes to rank 1, which waits for them.
/// let trace = "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 64 4 10 -1\n1 1 1 0 2 0 0\n";
/// std::fs::write(&path, trace)?;
///
/// let file = check_file(&path, Stop::never())?;
/// assert_eq!((file.ranks(), file.operations()), (2, 2));
/// let mut program = file.open(&Reading::default(), Stop::never())?;
/// let op = program.next(RankId::new(0), StreamId::new(0))?.expect("one operation");
/// assert_eq!(op.compute_ps, 10_000);
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn check_file(path: &Path, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    check_input(&Input::repeatable(path, stop)?, stop)
}

/// Checks a trace, in the format that its content says, and that its ranks agree.
///
/// # Errors
/// As [`TraceFormat::check`], or if they do not; messages without their counterpart are [doubts](TraceFile::doubts).
pub fn check_input(input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let file = format_of(input)?.check(input, stop)?;
    let found = file.agreement(stop)?;
    if found.errors.total == found.unmatched {
        return Ok(file);
    }
    let mut message = refusal(&found.errors);
    let left_out = file.unsupported();
    if !left_out.is_empty() {
        message += &format!("\nand it has {}, which may be why", left_out.join(", "));
    }
    Err(anyhow::anyhow!(message))
}

/// Whether the directory `dir` has a trace.
#[must_use]
pub fn is_trace_directory(dir: &Path) -> bool {
    format_of_directory(dir).is_some()
}

/// The format of the trace in the directory `dir`; `None` if it is no directory, or has no trace.
#[must_use]
pub fn format_of_directory(dir: &Path) -> Option<&'static dyn TraceFormat> {
    if !dir.is_dir() {
        return None;
    }
    FORMATS.into_iter().find(|format| format.finds(dir))
}

/// The format of the file at `path`, whose unpacked content begins with `head`. A file of no known format is given to
/// VEF, whose reader says what is wrong with it.
#[must_use]
pub fn format_of_file(path: &Path, head: &[u8]) -> &'static dyn TraceFormat {
    let probed = FORMATS.into_iter().find(|format| format.probe(path, head));
    probed.unwrap_or(FORMATS[0])
}

/// The format of a trace, by its content.
///
/// # Errors
/// If the file can't be read.
pub fn format_of(input: &Input) -> anyhow::Result<&'static dyn TraceFormat> {
    let path = input.path();
    if path.is_dir() {
        return Ok(format_of_directory(path).unwrap_or(FORMATS[0]));
    }
    let mut source = input.open()?;
    Ok(format_of_file(path, source.head()?))
}
