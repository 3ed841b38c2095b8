//! Runs, cables and connections as tables: `runs`, `cables` and `flows`, in CSV and Parquet (`docs/reference/congestion.md`).

use super::cables::CableLoad;
use super::graph::{EdgeId, NodeId};
use super::outcome::Outcome;
use anyhow::Context;
use flitwise_figure::tables::{Cell, Column, ColumnKind, MissingFeature, TableFiles, TableFormat};
use std::path::Path;

/// Names of the tables.
pub const TABLES: [&str; 3] = ["runs", "cables", "flows"];

const RUNS: [Column<'static>; 10] = [
    Column::full("network", ColumnKind::Text),
    Column::full("run", ColumnKind::Integer),
    Column::full("bandwidth", ColumnKind::Real),
    Column::optional("fair_bandwidth", ColumnKind::Real),
    Column::optional("slowest_fair_bandwidth", ColumnKind::Real),
    Column::full("sum_max_congestion", ColumnKind::Integer),
    Column::full("sum_max_host_links", ColumnKind::Integer),
    Column::optional("delay", ColumnKind::Integer),
    Column::full("connections", ColumnKind::Integer),
    Column::full("lost", ColumnKind::Integer),
];

/// A direction of a cable, and the first level of its largest load: where `cables` and `flows` begin.
const CABLE: [Column<'static>; 7] = [
    Column::full("network", ColumnKind::Text),
    Column::full("from", ColumnKind::Text),
    Column::full("from_port", ColumnKind::Integer),
    Column::full("to", ColumnKind::Text),
    Column::full("to_port", ColumnKind::Integer),
    Column::optional("run", ColumnKind::Integer),
    Column::optional("level", ColumnKind::Integer),
];

/// The additional columns of `cables`. Hosts and switches are numbered from 0, each in the order of the network; an end
/// is one of both.
const CABLE_LOADS: [Column<'static>; 7] = [
    Column::full("mean", ColumnKind::Real),
    Column::full("most", ColumnKind::Integer),
    Column::full("routes", ColumnKind::Integer),
    Column::optional("from_host", ColumnKind::Integer),
    Column::optional("from_switch", ColumnKind::Integer),
    Column::optional("to_host", ColumnKind::Integer),
    Column::optional("to_switch", ColumnKind::Integer),
];

/// The additional columns of `flows`.
const FLOWS: [Column<'static>; 2] = [
    Column::full("source", ColumnKind::Text),
    Column::full("destination", ColumnKind::Text),
];

/// Whether this build can write tables of the format.
///
/// # Errors
/// If it lacks the feature that writes Parquet files.
pub fn check_format(format: TableFormat) -> Result<(), MissingFeature> {
    format.check(MissingFeature::CONGESTION_PARQUET)
}

/// Writes `runs`, `cables` (all of them) and `flows` (the pairs that cross the hottest) into `dir`, which exists.
///
/// # Errors
/// If a file cannot be written; a [`MissingFeature`] if this build does not write the format.
pub fn write_tables(
    dir: &Path,
    outcomes: &[Outcome<'_>],
    format: TableFormat,
) -> anyhow::Result<()> {
    check_format(format)?;
    write(dir, "runs", &RUNS, format, outcomes, runs)?;
    let columns = [&CABLE[..], &CABLE_LOADS].concat();
    write(dir, "cables", &columns, format, outcomes, cables)?;
    let columns = [&CABLE[..], &FLOWS].concat();
    write(dir, "flows", &columns, format, outcomes, flows)?;
    Ok(())
}

/// Takes the cells of a row.
type TakeRow<'a> = dyn FnMut(&[Cell<'_>]) -> anyhow::Result<()> + 'a;

fn write(
    dir: &Path,
    name: &str,
    columns: &[Column<'_>],
    format: TableFormat,
    outcomes: &[Outcome<'_>],
    rows: fn(&Outcome<'_>, &mut TakeRow<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let all = || -> anyhow::Result<()> {
        let mut table = TableFiles::create(dir, name, format, columns)?;
        for outcome in outcomes {
            let mut take = |cells: &[Cell<'_>]| -> anyhow::Result<()> {
                debug_assert_eq!(cells.len(), columns.len(), "{name}");
                table.row(cells)
            };
            rows(outcome, &mut take)?;
        }
        table.finish()
    };
    all().with_context(|| format!("cannot write the table `{name}` in `{}`", dir.display()))
}

fn runs(of: &Outcome<'_>, take: &mut TakeRow<'_>) -> anyhow::Result<()> {
    for (number, run) in (0..).zip(&of.analysis.runs) {
        take(&[
            Cell::Text(of.label),
            Cell::Integer(number),
            Cell::Real(run.bandwidth),
            Cell::real(run.fair.map(|fair| fair.mean)),
            Cell::real(run.fair.map(|fair| fair.least)),
            Cell::Integer(run.sum_max_cong),
            Cell::Integer(run.sum_max_hosts),
            run.delay.map_or(Cell::Empty, Cell::Integer),
            Cell::Integer(run.connections),
            Cell::Integer(run.lost),
        ])?;
    }
    Ok(())
}

/// The cells of [`CABLE`].
fn cable<'a>(of: &Outcome<'a>, id: EdgeId, load: &CableLoad) -> [Cell<'a>; 7] {
    let graph = &of.network.graph;
    let edge = graph.edge(id);
    let (run, level) = load.peak_at;
    let used = |number: u64| match load.peak {
        0 => Cell::Empty,
        _ => Cell::Integer(number),
    };
    [
        Cell::Text(of.label),
        Cell::Text(&graph.node(edge.from).name),
        Cell::Integer(edge.port.into()),
        Cell::Text(&graph.node(edge.to).name),
        Cell::Integer(graph.edge(edge.reverse).port.into()),
        used(run),
        used(level.into()),
    ]
}

fn cables(of: &Outcome<'_>, take: &mut TakeRow<'_>) -> anyhow::Result<()> {
    let graph = &of.network.graph;
    let switches = graph.switch_numbers();
    let end = |node: NodeId| match graph.host_at(node) {
        Some(host) => [Cell::Integer(host.get().into()), Cell::Empty],
        None => [Cell::Empty, Cell::Integer(switches[node.index()].into())],
    };
    for (id, load) in of.all_cables() {
        let edge = graph.edge(id);
        let loads = [
            Cell::Real(of.mean(&load)),
            Cell::Integer(load.peak),
            Cell::Integer(of.survey.routes_on[id.index()]),
        ];
        let ends = [end(edge.from), end(edge.to)].concat();
        take(&[&cable(of, id, &load)[..], &loads, &ends].concat())?;
    }
    Ok(())
}

fn flows(of: &Outcome<'_>, take: &mut TakeRow<'_>) -> anyhow::Result<()> {
    let graph = &of.network.graph;
    for hot in of.hottest {
        let begin = cable(of, hot.edge, &hot.load);
        for pair in &hot.flows {
            let ends = pair.map(|host| Cell::Text(&graph.node(graph.node_of(host)).name));
            take(&[&begin[..], &ends].concat())?;
        }
    }
    Ok(())
}
