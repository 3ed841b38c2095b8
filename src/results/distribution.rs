//! The distributions of latencies, messages and waits, as tables: `latencies.csv`, `matrix.csv` and `waits.csv`. They
//! have a bounded number of rows, whatever the run.

use crate::config::Plan;
use crate::fabric::spec::Tick;
use crate::fabric::stats;
use crate::figure::tables::{Cell, Column, ColumnKind, TableFiles, TableFormat};
use crate::replay::PairCounts;
use crate::replay::outcome::JobOutcome;
use crate::run::Simulation;
use crate::units::TickLength;
use std::path::Path;

/// Buckets between a power of two and the next.
const PER_OCTAVE: u32 = 8;

/// A range of latencies, and the number of observations in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    /// Its begin in nanoseconds.
    pub from_ns: f64,
    /// Its end, which belongs to the next.
    pub to_ns: f64,
    pub count: u64,
}

/// First tick of the bucket of `ticks`, and of the next one.
fn bounds(ticks: Tick) -> [Tick; 2] {
    let octave = ticks.max(1).ilog2();
    let width = 1 << octave.saturating_sub(PER_OCTAVE.ilog2());
    let from = ticks - ticks % width;
    [from, from.saturating_add(width)]
}

/// The observations in buckets, an eighth of a power of two wide and a tick at least, in ascending order; those
/// without observations are left out.
pub(crate) fn buckets(latency: &stats::Latency, tick: TickLength) -> Vec<Bucket> {
    let mut buckets: Vec<([Tick; 2], u64)> = Vec::new();
    for (ticks, count) in latency.counts() {
        let range = bounds(ticks);
        match buckets.last_mut() {
            Some((last, sum)) if *last == range => *sum = sum.saturating_add(count),
            _ => buckets.push((range, count)),
        }
    }
    let ns = |ticks: Tick| tick.ns(ticks.into());
    let one = |([from, to], count): ([Tick; 2], u64)| Bucket {
        from_ns: ns(from),
        to_ns: ns(to),
        count,
    };
    buckets.into_iter().map(one).collect()
}

/// A distribution of latencies and its name.
pub(crate) struct Distribution<'a> {
    /// `job NAME` or `SL NAME`.
    pub of: String,
    /// `end_to_end` or `network`.
    pub kind: &'static str,
    pub latency: &'a stats::Latency,
}

/// The distributions of a run that have observations: first of its jobs, then of its service levels.
pub(crate) fn distributions<'a>(plan: &Plan, run: &'a Simulation) -> Vec<Distribution<'a>> {
    let jobs = run.jobs.iter().flatten().map(|job| Distribution {
        of: format!("job {}", job.name),
        kind: "end_to_end",
        latency: &job.latency,
    });
    let names = plan.experiment.fabric.qos.service_levels.iter();
    let levels = names.zip(&run.stats.service_levels).flat_map(|(name, sl)| {
        let one = |kind, latency| Distribution {
            of: format!("SL {}", name.name),
            kind,
            latency,
        };
        [
            one("end_to_end", &sl.end_to_end),
            one("network", &sl.network),
        ]
    });
    let all = jobs.chain(levels);
    all.filter(|one| one.latency.count() > 0).collect()
}

const LATENCIES: [Column<'static>; 5] = [
    Column::full("of", ColumnKind::Text),
    Column::full("kind", ColumnKind::Text),
    Column::full("from_ns", ColumnKind::Real),
    Column::full("to_ns", ColumnKind::Real),
    Column::full("count", ColumnKind::Integer),
];

const MATRIX: [Column<'static>; 7] = [
    Column::full("job", ColumnKind::Text),
    Column::full("from_rank", ColumnKind::Integer),
    Column::full("from_last_rank", ColumnKind::Integer),
    Column::full("to_rank", ColumnKind::Integer),
    Column::full("to_last_rank", ColumnKind::Integer),
    Column::full("messages", ColumnKind::Integer),
    Column::full("bytes", ColumnKind::Integer),
];

const WAITS: [Column<'static>; 7] = [
    Column::full("job", ColumnKind::Text),
    Column::full("rank", ColumnKind::Integer),
    Column::full("last_rank", ColumnKind::Integer),
    Column::full("waited_for_rank", ColumnKind::Integer),
    Column::full("waited_for_last_rank", ColumnKind::Integer),
    Column::full("waits", ColumnKind::Integer),
    Column::full("waited_ps", ColumnKind::Integer),
];

/// Writes `latencies.csv` and, with a job, `matrix.csv` and `waits.csv` into `dir` (`docs/reference/result.md`).
///
/// # Errors
/// If a file cannot be written.
pub fn write_distributions(dir: &Path, plan: &Plan, run: &Simulation) -> anyhow::Result<()> {
    let mut table = TableFiles::create(dir, "latencies", TableFormat::Csv, &LATENCIES)?;
    let tick = plan.experiment.fabric.units.tick;
    for one in distributions(plan, run) {
        for bucket in buckets(one.latency, tick) {
            let cells = [
                Cell::Text(&one.of),
                Cell::Text(one.kind),
                Cell::Real(bucket.from_ns),
                Cell::Real(bucket.to_ns),
                Cell::Integer(bucket.count),
            ];
            table.row(&cells)?;
        }
    }
    table.finish()?;
    if run.jobs.is_empty() {
        Ok(())
    } else {
        write_pairs(dir, "matrix", &MATRIX, run, |job| &job.pairs)?;
        write_pairs(dir, "waits", &WAITS, run, |job| &job.waits)
    }
}

/// Writes `name`.csv: a row for each two groups of ranks of a job.
fn write_pairs(
    dir: &Path,
    name: &str,
    columns: &[Column<'static>],
    run: &Simulation,
    of: impl Fn(&JobOutcome) -> &PairCounts,
) -> anyhow::Result<()> {
    let mut table = TableFiles::create(dir, name, TableFormat::Csv, columns)?;
    for job in run.jobs.iter().flatten() {
        for pair in of(job).iter() {
            let rank = |rank: u32| Cell::Integer(rank.into());
            let cells = [
                Cell::Text(&job.name),
                rank(pair.from[0]),
                rank(pair.from[1]),
                rank(pair.to[0]),
                rank(pair.to[1]),
                Cell::Integer(pair.count),
                Cell::Integer(pair.amount),
            ];
            table.row(&cells)?;
        }
    }
    table.finish()
}
