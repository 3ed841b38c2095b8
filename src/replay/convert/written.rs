//! The result of a conversion, and the limits and messages that conversions and slices share.

use super::graph::Edge;
use super::ideal::Stalled;
use crate::trace::{Reading, TraceFile};
use anyhow::ensure;
use flitwise_base::quote::quoted;
use flitwise_base::units::{counted, human_count};
use flitwise_formats::{Place, Problem};
use std::path::Path;

/// The counts of what was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Ranks.
    pub ranks: u32,
    /// Lines or operations.
    pub records: u64,
    /// Messages from point to point, including the messages that collectives became.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Collectives that are still ones.
    pub collectives: u64,
    /// Lines of these.
    pub members: u64,
    /// VEF: entries of waits, and ends.
    pub markers: u64,
    /// Picoseconds of a unit of time, where the target has one.
    pub ps_per_unit: Option<u64>,
    /// The changes, a line each, beginning with their number.
    pub losses: Vec<String>,
    /// The ends of the region of [`convert_region`](super::convert_region).
    pub edges: Edges,
}

/// The ends of a region in a VEF3 trace, by rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edges {
    /// The rank, and the id of the marker that is its first entry or last exit.
    pub markers: Vec<(u32, Edge, u64)>,
    /// The ranks that are in the region at their ends.
    pub unended: Vec<u32>,
}

/// Most operations of a trace that is converted: 8 GB of memory at most.
pub(super) const MAX_OPERATIONS: u64 = 1 << 25;

/// Ranks that the refusal of an endless trace names.
pub(super) const MOST_STALLED: usize = 20;

/// Lost regions that are named.
pub(super) const MOST_REGIONS: usize = 10;

/// The one size of all blocks.
pub(super) fn even(blocks: &[u64]) -> Option<u64> {
    let first = blocks.first().copied().unwrap_or(0);
    blocks.iter().all(|one| *one == first).then_some(first)
}

/// Refuses a trace of too many operations.
pub(super) fn check_size(file: &dyn TraceFile) -> anyhow::Result<()> {
    let operations = file.operations();
    ensure!(
        operations <= MAX_OPERATIONS,
        "has {operations} operations; at most {MAX_OPERATIONS} are converted: cut out a part of it"
    );
    Ok(())
}

/// Puts first what reading the trace has lost, and its regions.
pub(super) fn told(file: &dyn TraceFile, reading: &Reading, written: &mut Written) {
    let mut first = Vec::new();
    if reading.skip_unsupported {
        let left_out = file.unsupported().into_iter();
        first.extend(left_out.map(|calls| format!("{calls} left out")));
    }
    if !reading.order_streams {
        first.extend(file.order_remark());
    }
    first.extend(file.remarks());
    first.extend(lost_regions(file));
    written.losses.splice(0..0, first);
}

/// The names of the regions, which no target has.
pub(super) fn lost_regions(file: &dyn TraceFile) -> Option<String> {
    let names = file.regions();
    let shown = names.iter().take(MOST_REGIONS);
    let mut text = shown
        .map(|name| quoted(name).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(MOST_REGIONS) {
        text += &format!(" and {} more", human_count(more as u64));
    }
    let count = counted(names.len() as u64, "region");
    (!names.is_empty()).then(|| format!("{count} lost: {text}"))
}

/// The error that a trace never ends, with the waits of its ranks.
#[cold]
pub(super) fn endless(file: &dyn TraceFile, name: &Path, stalled: &[Stalled]) -> String {
    let mut text =
        "never ends, not even on an ideal network: correct what these wait for, or record it again"
            .to_owned();
    for one in stalled.iter().take(MOST_STALLED) {
        let problem = Problem {
            path: file.file_of(one.rank).unwrap_or(name).into(),
            place: one.place.map(Place::from),
            message: format!("rank {} waits for {}", one.rank, one.awaited),
        };
        text += &format!("\n{problem}");
    }
    match stalled.len().saturating_sub(MOST_STALLED) {
        0 => text,
        1 => text + "\nand 1 more rank",
        more => text + &format!("\nand {more} more ranks"),
    }
}
