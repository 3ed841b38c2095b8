//! Trace formats: how a file is recognised, checked, and opened as a program.
//!
//! A new format is a module here with a [`TraceFormat`], an entry in [`FORMATS`], and a parser
//! in the crate `flitwise-formats`.

pub mod chakra;
pub mod dumpi;
mod format;
pub mod goal;
mod kept;
pub mod otf2;
mod reading;
pub(crate) mod recorded;
pub mod recording;
mod regions;
pub mod summary;
pub mod ti;
pub mod vef;
pub mod verdict;

use format::refusal;
pub use format::{Agreement, TraceFile, TraceFormat};
pub use reading::{ComputeTime, HOST_SPEED, POLL_GAP_PS, Reading, Setting, Wording};
pub use regions::known_regions;
pub use summary::Summary;
pub use verdict::Verdict;

use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use std::path::Path;

/// All formats, in the order in which a file is held against them.
pub const FORMATS: [&TraceFormat; 8] = [
    &vef::VEF,
    &goal::GOAL,
    &chakra::CHAKRA,
    &chakra::INSPECTOR,
    &ti::TI,
    // DUMPI takes every other archive.
    &recording::RECORDING,
    &dumpi::DUMPI,
    &otf2::OTF2,
];

/// The format of this [name](TraceFormat::name).
#[must_use]
pub fn format_named(name: &str) -> Option<&'static TraceFormat> {
    FORMATS.into_iter().find(|format| format.name == name)
}

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
    let file = (format_of(input)?.check)(input, stop)?;
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
pub fn format_of_directory(dir: &Path) -> Option<&'static TraceFormat> {
    if !dir.is_dir() {
        return None;
    }
    FORMATS.into_iter().find(|format| (format.finds)(dir))
}

/// The format of the file at `path`, whose unpacked content begins with `head`. A file of no known format is given to
/// VEF, whose reader says what is wrong with it.
#[must_use]
pub fn format_of_file(path: &Path, head: &[u8]) -> &'static TraceFormat {
    let probed = FORMATS
        .into_iter()
        .find(|format| (format.probe)(path, head));
    probed.unwrap_or(FORMATS[0])
}

/// The format of a trace, by its content.
///
/// # Errors
/// If the file can't be read.
pub fn format_of(input: &Input) -> anyhow::Result<&'static TraceFormat> {
    let path = input.path();
    if path.is_dir() {
        return Ok(format_of_directory(path).unwrap_or(FORMATS[0]));
    }
    let mut source = input.open()?;
    Ok(format_of_file(path, source.head()?))
}
