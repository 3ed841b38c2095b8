//! A part of a recording as a recording: a window of the ideal clock, some of its ranks, or both. What remains is as in a slice of
//! the VEF3 that the recording would become; `docs/reference/trace-tools.md` describes both.
//!
//! The operations of the ranks are carried out on an ideal network, which tells when each begins (`course`). Those that remain
//! (`select`) are carried out again, each not before its time in the window: the time that a rank waits for it is what it computes
//! in the slice. Then they become calls (`write`, `collective`).

mod collective;
mod course;
mod part;
mod select;
#[cfg(test)]
mod tests;
mod write;

use super::ideal::Calcs;
use super::written::{MAX_OPERATIONS, Written};
use crate::mpi::Call;
use crate::program::{RankId, StreamId};
use crate::trace::recorded::check_communication;
use crate::trace::{ComputeTime, Reading, TraceFile};
use anyhow::{Context, anyhow, bail, ensure};
pub(super) use course::Timed;
use flitwise_base::stop::Stop;
pub(super) use part::Step;
pub use part::{Part, is_never_entered, takes_no_time};
use std::io::Write;
use std::path::Path;

/// The slice that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sliced {
    /// The counts of its contents.
    pub written: Written,
    /// Start and end of its window, in picoseconds of the ideal clock.
    pub window_ps: (u64, Option<u64>),
}

/// Why there is no slice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// No operation remains.
    #[error(
        "nothing remains: the operations of the trace start from 0 to {span_ps} ps of its ideal clock"
    )]
    Nothing {
        /// Last start of an operation, in picoseconds of the ideal clock.
        span_ps: u64,
    },
    /// The recording can't be cut, or the slice can't be written.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// The clock that a recording does not take computations from.
fn other(clock: ComputeTime) -> ComputeTime {
    match clock {
        ComputeTime::Wall => ComputeTime::Cpu,
        ComputeTime::Cpu => ComputeTime::Wall,
    }
}

/// Writes a part of the recording `file`, which messages call `name`, as a tar archive of a recording.
///
/// # Errors
/// If `file` is no recording, can't be read, has too many operations, or does not end on an ideal network; if nothing, or no
/// communication, remains; or if `out` fails.
pub fn slice(
    file: &dyn TraceFile,
    name: &Path,
    reading: &Reading,
    part: &Part,
    out: &mut impl Write,
) -> Result<Sliced, SliceError> {
    let named = || name.display().to_string();
    let (set, clock) =
        (file.recording()).with_context(|| format!("{}: is no recording", named()))?;
    let clock = reading.compute_time.unwrap_or(clock);
    let operations = file.operations();
    if operations > MAX_OPERATIONS {
        return Err(SliceError::Failed(anyhow!(
            "{}: has {operations} operations; at most {MAX_OPERATIONS} can be cut: record a part of the program",
            named()
        )));
    }
    let numbers = numbers(part, file.ranks()).with_context(named)?;
    let steps = steps(file, reading, clock)?;
    let timed = Timed::of(file, name, &steps, Calcs::Last)?;
    let starts = timed.starts(&steps);
    let window = select::Window::of(part, file, &numbers, &steps, &starts).with_context(named)?;
    let selection = select::Selection::new(&timed, &steps, &starts, &numbers, &window);
    let (kept, comms) = selection.all();
    let Some(kept) = kept else {
        let last = starts.iter().filter_map(|starts| starts.last());
        let span_ps = last.max().copied().unwrap_or(0);
        return Err(SliceError::Nothing { span_ps });
    };
    check_communicates(&kept, reading)?;
    drop((steps, starts, timed));
    let timed = Timed::of(file, name, &kept, Calcs::EndAt)?;
    let recording = write::Recording {
        set,
        clock,
        regions: file.regions(),
        ranks: (0..)
            .zip(&numbers)
            .filter_map(|(rank, number)| number.map(|_| rank))
            .collect(),
        comms,
        window: &window,
    };
    let mut written = recording.write(&kept, &timed, out).with_context(named)?;
    if reading.skip_unsupported {
        let left_out = file.unsupported().into_iter();
        written
            .losses
            .extend(left_out.map(|calls| format!("{calls} left out")));
    }
    written.losses.extend(file.remarks());
    Ok(Sliced {
        written,
        window_ps: window.ends(),
    })
}

/// Refuses the steps of the ranks of a slice if they do not communicate: its replay would be refused.
fn check_communicates(ranks: &[Vec<Step>], reading: &Reading) -> anyhow::Result<()> {
    let communicates = |step: &&Step| {
        let call = step.op.action.call();
        matches!(call, Some(Call::Send { .. } | Call::Collective { .. }))
    };
    let communication = ranks.iter().flatten().filter(communicates).count() as u64;
    let counts = (ranks.len() as u32, communication);
    let advice = ": choose another window or other ranks";
    check_communication(Path::new("the slice"), counts, advice, reading)
}

/// The number in the slice of each rank that remains.
fn numbers(part: &Part, ranks: u32) -> anyhow::Result<Vec<Option<u32>>> {
    let mut numbers = vec![None; ranks as usize];
    match &part.ranks {
        None => (0..)
            .zip(&mut numbers)
            .for_each(|(rank, number)| *number = Some(rank)),
        Some(list) => {
            for (number, &rank) in (0..).zip(list) {
                let Some(kept) = numbers.get_mut(rank as usize) else {
                    bail!(
                        "there is no rank {rank}: the trace has the ranks 0 to {}",
                        ranks - 1
                    );
                };
                *kept = Some(number);
            }
        }
    }
    Ok(numbers)
}

/// The operations of all ranks, with their computations by both clocks: these do not change which operations there are.
fn steps(
    file: &dyn TraceFile,
    reading: &Reading,
    clock: ComputeTime,
) -> anyhow::Result<Vec<Vec<Step>>> {
    let open = |clock| {
        let reading = Reading {
            compute_time: Some(clock),
            ..reading.clone()
        };
        file.open(&reading, Stop::never())
    };
    let (mut program, mut beside) = (open(clock)?, open(other(clock))?);
    let mut all = Vec::new();
    for rank in RankId::all(file.ranks()) {
        let mut steps = Vec::new();
        while let Some(op) = program.next(rank, StreamId::new(0))? {
            let other = beside.next(rank, StreamId::new(0))?;
            let other = other.filter(|other| other.place == op.place);
            ensure!(
                other.is_some(),
                "the recording changed while it was cut; do it again"
            );
            let other_ps = other.map_or(0, |other| other.compute_ps);
            steps.push(Step {
                own_ps: [op.compute_ps, other_ps],
                op,
                bytes: 0,
            });
        }
        all.push(steps);
    }
    Ok(all)
}
