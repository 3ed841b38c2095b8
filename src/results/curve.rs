//! The curve of an experiment without a job: latency and throughput over load, a point per run.

use super::document::status::Status;
use super::latency::{Latency, latency};
use super::measures::{load, per_slot, saturated, throughput, units_delivered};
use super::nic_rate::NicRate;
use crate::config::{Experiment, Plan};
use crate::figure::tables::{Cell, Column, ColumnKind, CsvTable, Interval, batch_means};
use crate::run::{LevelBatch, Measured, RunResult, Simulation};
use crate::units::{TickLength, four_digits, percent};

/// The result of one run.
pub(super) struct Point<'a> {
    pub run: &'a Simulation,
    pub measured: &'a Measured,
    /// Flits created per tick and NIC.
    pub offered: f64,
    /// Flits delivered per tick and NIC.
    pub accepted: f64,
    pub accepted_interval: Option<Interval>,
    pub saturated: bool,
    /// Service levels, in the order of the experiment.
    pub levels: Vec<Level<'a>>,
}

/// One service level of a point.
pub(super) struct Level<'a> {
    pub name: &'a str,
    pub offered: f64,
    pub accepted: f64,
    pub accepted_interval: Option<Interval>,
    /// Part of all flits delivered, 0 to 1.
    pub share: f64,
    pub end_to_end: Option<Latency>,
    pub end_to_end_interval: Option<Interval>,
    pub network: Option<Latency>,
    pub network_interval: Option<Interval>,
}

/// Interval of the accepted load in flits per cycle and NIC. `counts` adds up the units of link
/// time of the service levels.
fn accepted_interval(
    experiment: &Experiment,
    measured: &Measured,
    counts: impl Fn(&[LevelBatch]) -> u64,
) -> Option<Interval> {
    let batches = measured.batches.iter();
    let rates = batches.map(|batch| load(experiment, batch.ticks, counts(&batch.service_levels)));
    batch_means(&rates.collect::<Vec<_>>())
}

/// Interval of a latency in ns. `sums` gives the number of latencies of a batch and their
/// sum; `None` also if a batch has none.
fn latency_interval(
    measured: &Measured,
    tick: TickLength,
    sums: impl Fn(&[LevelBatch]) -> (u64, u128),
) -> Option<Interval> {
    let means = measured.batches.iter().map(|batch| {
        let (count, sum) = sums(&batch.service_levels);
        (count > 0).then(|| tick.mean_ns(sum, count))
    });
    batch_means(&means.collect::<Option<Vec<_>>>()?)
}

/// The points in the order of the loads, without loads that did not reach their window.
pub(super) fn points<'a>(plan: &'a Plan, result: &'a RunResult) -> Vec<Point<'a>> {
    let experiment = &plan.experiment;
    let (fabric, tick) = (&experiment.fabric, experiment.fabric.units.tick);
    let one = |run: &'a Simulation| {
        let measured = run.measured.as_ref().filter(|_| run.stats.ticks() > 0)?;
        let stats = &run.stats;
        let rate = |units| per_slot(experiment, stats, units);
        let levels = fabric.qos.service_levels.iter().zip(&stats.service_levels);
        let levels = levels.enumerate().map(|(i, (level, sl))| {
            let flows = run.background.iter();
            let flows = flows.filter(|flow| usize::from(flow.sl) == i);
            Level {
                name: &level.name,
                offered: rate(flows.map(|flow| flow.units).sum()),
                accepted: rate(sl.units),
                accepted_interval: accepted_interval(experiment, measured, |of| of[i].units),
                share: sl.units as f64 / units_delivered(stats).max(1) as f64,
                end_to_end: latency(&sl.end_to_end, tick),
                end_to_end_interval: latency_interval(measured, tick, |of| of[i].end_to_end),
                network: latency(&sl.network, tick),
                network_interval: latency_interval(measured, tick, |of| of[i].network),
            }
        });
        Some(Point {
            run,
            measured,
            offered: rate(run.background.iter().map(|flow| flow.units).sum()),
            accepted: throughput(experiment, stats),
            accepted_interval: accepted_interval(experiment, measured, |of| {
                of.iter().map(|sl| sl.units).sum()
            }),
            saturated: saturated(experiment, run),
            levels: levels.collect(),
        })
    };
    result.curve.iter().filter_map(one).collect()
}

/// The columns of [`curve_csv`] before the latencies.
const LOADS: [Column<'static>; 10] = [
    Column::full("load", ColumnKind::Real),
    Column::full("status", ColumnKind::Text),
    Column::optional("steady", ColumnKind::Text),
    Column::full("saturated", ColumnKind::Text),
    Column::full("offered", ColumnKind::Real),
    Column::full("accepted", ColumnKind::Real),
    Column::full("sl", ColumnKind::Text),
    Column::full("sl_offered", ColumnKind::Real),
    Column::full("sl_accepted", ColumnKind::Real),
    Column::full("sl_share", ColumnKind::Real),
];

/// The columns after [`LOADS`]: latencies, half widths of intervals, and loads as rates.
fn further_columns() -> Vec<String> {
    let latencies = ["end_to_end", "network"].iter().flat_map(|kind| {
        let parts = ["mean", "p50", "p99", "max"].iter();
        parts.map(move |part| format!("{kind}_{part}_ns"))
    });
    let widths = ["accepted", "sl_accepted"].map(|of| format!("{of}_half_width"));
    let widths_ns = ["end_to_end", "network"].map(|of| format!("{of}_half_width_ns"));
    let loads = ["offered", "accepted", "sl_offered", "sl_accepted"].iter();
    let rates = loads.flat_map(|of| ["gbit", "gbyte"].map(|unit| format!("{of}_{unit}_per_s")));
    let columns = latencies.chain(widths).chain(widths_ns).chain(rates);
    columns.collect()
}

/// The curve as CSV (RFC 4180): a line per load and service level.
///
/// # Errors
/// None: writing to memory succeeds.
pub fn curve_csv(plan: &Plan, result: &RunResult) -> anyhow::Result<String> {
    let further = further_columns();
    let mut columns = LOADS.to_vec();
    columns.extend(further.iter().map(|name| Column {
        name,
        kind: ColumnKind::Real,
        optional: true,
    }));
    let mut table = CsvTable::new(Vec::new(), &columns)?;
    for point in points(plan, result) {
        for level in &point.levels {
            table.row(&csv_row(NicRate::of(&plan.experiment), &point, level))?;
        }
    }
    Ok(String::from_utf8(table.finish()?)?)
}

fn csv_row<'a>(nic: NicRate, point: &Point<'a>, level: &Level<'a>) -> Vec<Cell<'a>> {
    let truth = |is: bool| Cell::Text(if is { "true" } else { "false" });
    let mut cells = vec![
        Cell::Real(point.measured.load.to_f64()),
        Cell::Text(Status::from(&point.run.status).name()),
        point.measured.steady.map_or(Cell::Empty, truth),
        truth(point.saturated),
        Cell::Real(point.offered),
        Cell::Real(point.accepted),
        Cell::Text(level.name),
        Cell::Real(level.offered),
        Cell::Real(level.accepted),
        Cell::Real(level.share),
    ];
    for latency in [level.end_to_end, level.network] {
        let parts = latency.map_or([None; 4], |l| [l.mean, l.p50, l.p99, l.max].map(Some));
        cells.extend(parts.map(Cell::real));
    }
    let intervals = [
        point.accepted_interval,
        level.accepted_interval,
        level.end_to_end_interval,
        level.network_interval,
    ];
    cells.extend(intervals.map(|of| Cell::real(of.map(|of| of.half_width))));
    for load in [point.offered, point.accepted, level.offered, level.accepted] {
        cells.extend([nic.gbit_per_s(load), nic.gbyte_per_s(load)].map(Cell::Real));
    }
    cells
}

/// The curve as a table for people: a row per load and service level with traffic, and one for an idle load.
pub(super) fn curve_rows(plan: &Plan, result: &RunResult) -> Vec<Vec<String>> {
    let header = [
        "load",
        "offered",
        "accepted",
        "Gb/s",
        "GB/s",
        "SL",
        "offered",
        "accepted",
        "share",
        "mean (ns)",
        "p50",
        "p99",
        "max",
        "network mean",
        "p99",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    let nic = NicRate::of(&plan.experiment);
    let rate = |value: f64| format!("{value:.4}");
    let load = |point: &Point<'_>| {
        vec![
            point.measured.load.to_string(),
            rate(point.offered),
            rate(point.accepted) + if point.saturated { " *" } else { "  " },
            four_digits(nic.gbit_per_s(point.accepted)),
            four_digits(nic.gbyte_per_s(point.accepted)),
        ]
    };
    for point in points(plan, result) {
        let with_traffic = |level: &&Level<'_>| level.offered > 0.0 || level.accepted > 0.0;
        for (i, level) in point.levels.iter().filter(with_traffic).enumerate() {
            let ns = |of: Option<Latency>, part: fn(Latency) -> f64| {
                of.map_or_else(|| "-".to_owned(), |l| format!("{:.1}", part(l)))
            };
            let mut row = match i {
                0 => load(&point),
                _ => vec![String::new(); 5],
            };
            row.extend([
                level.name.to_owned(),
                rate(level.offered),
                rate(level.accepted),
                percent(level.share),
                ns(level.end_to_end, |l| l.mean),
                ns(level.end_to_end, |l| l.p50),
                ns(level.end_to_end, |l| l.p99),
                ns(level.end_to_end, |l| l.max),
                ns(level.network, |l| l.mean),
                ns(level.network, |l| l.p99),
            ]);
            rows.push(row);
        }
        if !point.levels.iter().any(|level| with_traffic(&level)) {
            let mut row = load(&point);
            row.resize(header.len(), "-".to_owned());
            rows.push(row);
        }
    }
    rows
}
