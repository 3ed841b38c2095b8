//! The links of a run: the links that hold up packets, and the busy links.

use super::link_ends::link_end_named;
use super::measures::utilisation;
use super::table::write_table;
use crate::config::Plan;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStateTicks, LinkStats};
use crate::figure::tables::{Cell, Column, ColumnKind, TableFiles, TableFormat};
use crate::units::{human_time, percent};
use std::cmp::Reverse;
use std::fmt;
use std::path::Path;

/// The `n` links that hold up packets longest; ties by credit wait, then by position. Links that
/// hold up none are left out.
#[must_use]
pub fn culprits(stats: &FabricStats, n: usize) -> Vec<&LinkStats> {
    let links = stats.links.iter();
    let mut links: Vec<_> = links.filter(|link| link.held_up_ticks > 0).collect();
    links.sort_by_key(|link| Reverse((link.held_up_ticks, link.credit_wait_ticks)));
    links.truncate(n);
    links
}

/// The `n` links that are in use for the largest part of the counted time; ties by position. Links
/// that carried nothing are left out.
#[must_use]
pub fn busiest<'a>(plan: &Plan, stats: &'a FabricStats, n: usize) -> Vec<&'a LinkStats> {
    let links = stats.links.iter().filter(|link| link.flits > 0);
    let used = |link| utilisation(&plan.experiment, stats, link);
    let mut links: Vec<_> = links.map(|link| (used(link), link)).collect();
    links.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    links.truncate(n);
    links.into_iter().map(|(_, link)| link).collect()
}

/// Part of all waits of packets that is attributed to `link`.
pub(super) fn held_up_share(stats: &FabricStats, link: &LinkStats) -> f64 {
    let held_up = |link: &LinkStats| u128::from(link.held_up_ticks);
    let all: u128 = stats.links.iter().map(held_up).sum();
    held_up(link) as f64 / all.max(1) as f64
}

/// The `n` links of `culprits` and of `busiest`, as tables for people.
pub(super) fn write_links(
    out: &mut String,
    plan: &Plan,
    stats: &FabricStats,
    n: usize,
) -> fmt::Result {
    let tick = plan.experiment.fabric.units.tick;
    let ticks = stats.ticks().max(1) as f64;
    let end = |end| link_end_named(&plan.experiment.fabric.topology, end);
    let name = |link: &LinkStats| format!("{} -> {}", end(link.from), end(link.to));
    let used = |link: &LinkStats| percent(utilisation(&plan.experiment, stats, link));
    let stalled = |link: &LinkStats| percent(link.credit_wait_ticks as f64 / ticks);
    let queueing = |link: &LinkStats| {
        let ns = tick.mean_ns(link.queue_wait_ticks.into(), link.packets.max(1));
        format!("{ns:.1} ns")
    };
    let culprits = culprits(stats, n);
    if !culprits.is_empty() {
        let header = [
            "links that hold up packets",
            "held up, sum over packets",
            "share",
            "used",
            "credit wait",
        ];
        let mut rows = vec![header.map(String::from).to_vec()];
        for link in culprits {
            let held_up = human_time(tick.ps(link.held_up_ticks));
            rows.push(vec![
                name(link),
                held_up,
                percent(held_up_share(stats, link)),
                used(link),
                stalled(link),
            ]);
        }
        write_table(out, &rows)?;
    }
    let busiest = busiest(plan, stats, n);
    if !busiest.is_empty() {
        let header = ["busiest links", "used", "credit wait", "mean queueing"];
        let mut rows = vec![header.map(String::from).to_vec()];
        for link in busiest {
            rows.push(vec![name(link), used(link), stalled(link), queueing(link)]);
        }
        write_table(out, &rows)?;
    }
    Ok(())
}

/// Columns of `links.csv` (`docs/reference/result.md`).
const COLUMNS: [Column<'static>; 14] = [
    Column::optional("from_nic", ColumnKind::Integer),
    Column::optional("from_switch", ColumnKind::Integer),
    Column::optional("from_port", ColumnKind::Integer),
    Column::optional("to_nic", ColumnKind::Integer),
    Column::optional("to_switch", ColumnKind::Integer),
    Column::optional("to_port", ColumnKind::Integer),
    Column::full("flits", ColumnKind::Integer),
    Column::full("packets", ColumnKind::Integer),
    Column::full("utilisation", ColumnKind::Real),
    Column::full("credit_wait_ns", ColumnKind::Real),
    Column::full("queue_wait_ns", ColumnKind::Real),
    Column::full("waited_ns", ColumnKind::Real),
    Column::full("held_up_ns", ColumnKind::Real),
    Column::full("held_up_share", ColumnKind::Real),
];

/// One more column, where links can go down.
const DOWN: [Column; 1] = [Column::full("down_wait_ns", ColumnKind::Real)];

/// Five more columns, where links have power states; empty for a link that is always up.
const STATES: [Column; 5] = [
    Column::optional("up_ns", ColumnKind::Real),
    Column::optional("down_ns", ColumnKind::Real),
    Column::optional("waking_ns", ColumnKind::Real),
    Column::optional("sleeping_ns", ColumnKind::Real),
    Column::optional("wakes", ColumnKind::Integer),
];

/// One more column, where links have bit errors.
const RETRIES: [Column; 1] = [Column::full("retries", ColumnKind::Integer)];

/// Two more columns, where the operators of the fabric have names.
const NAMES: [Column; 2] = [
    Column::full("from_name", ColumnKind::Text),
    Column::full("to_name", ColumnKind::Text),
];

/// Writes all links of the experiment, NICs first, into `links.csv` in `dir`, or the format that the
/// time series have.
///
/// # Errors
/// If a file cannot be written.
pub fn write_link_files(dir: &Path, plan: &Plan, stats: &FabricStats) -> anyhow::Result<()> {
    let series = plan.series.as_ref();
    let format = series.map_or_else(TableFormat::default, |series| series.format);
    let names = plan.experiment.fabric.topology.names();
    let named: &[Column] = names.map_or(&[], |_| &NAMES);
    let has_states = plan.experiment.fabric.link_power.is_some();
    let states: &[Column] = if has_states { &STATES } else { &[] };
    let has_retries = plan.experiment.fabric.bit_errors.is_some();
    let retries: &[Column] = if has_retries { &RETRIES } else { &[] };
    let go_down = plan.experiment.fabric.links_go_down();
    let down: &[Column] = if go_down { &DOWN } else { &[] };
    let columns = [&COLUMNS[..], down, states, retries, named].concat();
    let mut table = TableFiles::create(dir, "links", format, &columns)?;
    let tick = plan.experiment.fabric.units.tick;
    let all: u128 = stats
        .links
        .iter()
        .map(|link| u128::from(link.held_up_ticks))
        .sum();
    let ns = |ticks: u64| Cell::Real(tick.ns(ticks.into()));
    for link in &stats.links {
        let [from_nic, from_switch, from_port] = end_cells(link.from);
        let [to_nic, to_switch, to_port] = end_cells(link.to);
        let ends = names.map(|names| [link.from, link.to].map(|end| names.end_label(end)));
        let mut cells = vec![
            from_nic,
            from_switch,
            from_port,
            to_nic,
            to_switch,
            to_port,
            Cell::Integer(link.flits),
            Cell::Integer(link.packets),
            Cell::Real(utilisation(&plan.experiment, stats, link)),
            ns(link.credit_wait_ticks),
            ns(link.queue_wait_ticks),
            ns(link.waited_ticks),
            ns(link.held_up_ticks),
            Cell::Real(link.held_up_ticks as f64 / all.max(1) as f64),
        ];
        if go_down {
            cells.push(ns(link.down_wait_ticks));
        }
        if has_states {
            cells.extend(state_cells(link.states, ns));
        }
        if has_retries {
            cells.push(Cell::Integer(link.retries.unwrap_or(0)));
        }
        cells.extend(ends.iter().flatten().map(|name| Cell::Text(name)));
        table.row(&cells)?;
    }
    table.finish()
}

/// How long a link was in each power state.
fn state_cells(
    states: Option<LinkStateTicks>,
    ns: impl Fn(u64) -> Cell<'static>,
) -> [Cell<'static>; 5] {
    match states {
        None => [
            Cell::Empty,
            Cell::Empty,
            Cell::Empty,
            Cell::Empty,
            Cell::Empty,
        ],
        Some(states) => [
            ns(states.up),
            ns(states.down),
            ns(states.waking),
            ns(states.sleeping),
            Cell::Integer(states.wakes),
        ],
    }
}

/// NIC, switch and port of an end.
fn end_cells(end: LinkEnd) -> [Cell<'static>; 3] {
    match end {
        LinkEnd::Nic(nic) => [Cell::Integer(nic.get().into()), Cell::Empty, Cell::Empty],
        LinkEnd::Port { switch, port } => [
            Cell::Empty,
            Cell::Integer(switch.get().into()),
            Cell::Integer(port.get().into()),
        ],
    }
}
