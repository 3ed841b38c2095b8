//! OpaSim, section 3: one router.

use crate::data::{Asked, Cell, Change};
use crate::fabric::Fabric;
use crate::grid::Scheduler;
use crate::row::Row;
use crate::rows::within;

/// Bound, set before the runs, in flits/cycle/NIC; also of a "vast" improvement, set afterwards.
const BOUND: f64 = 0.05;
/// A latency that "stabilizes".
const STABLE: f64 = 0.02;

/// All rows.
pub fn all() -> Vec<Row> {
    let full = |fabric| Asked::full(fabric, Scheduler::RrVl);
    let curve = |fabric| Asked::curve(fabric, Scheduler::RrVl);
    let twice = Asked {
        change: Change::TwoIterations,
        ..full(Fabric::Uniform)
    };
    let (uniform, neighbour) = (Fabric::Uniform, Fabric::Neighbour);
    vec![
        row(
            "004, uniform, accepted at 1.0",
            "0.72",
            [full(uniform)],
            |cells| within(&cells[0], 0.72, BOUND),
        ),
        row(
            "004, neighbours, as offered at all loads",
            "so",
            curve(neighbour),
            as_offered,
        ),
        row(
            "004, uniform, knee of the latency in steps of 0.1",
            "0.8",
            curve(uniform),
            knee,
        ),
        row(
            "004, uniform, steps of the latency grow to 0.8",
            "so",
            curve(uniform),
            growing,
        ),
        row(
            "004, uniform, latency stable from 0.8 on",
            "so",
            curve(uniform),
            stable,
        ),
        row(
            "004, uniform, a better allocator accepts more",
            "vastly",
            [full(uniform), twice],
            |cells| {
                let [one, two] = [0, 1].map(|i: usize| cells[i].accepted());
                (two.text(4), two.mean - one.mean > BOUND)
            },
        ),
    ]
}

/// All rows were seen.
fn row(
    statement: &'static str,
    published: &'static str,
    asked: impl Into<Vec<Asked>>,
    judge: impl Fn(&[Cell<'_>]) -> (String, bool) + 'static,
) -> Row {
    Row::new((statement, published), true, asked, judge)
}

fn as_offered(cells: &[Cell<'_>]) -> (String, bool) {
    let off = |cell: &Cell<'_>| (cell.accepted().mean - cell.setting().load).abs();
    let most = cells.iter().map(off).fold(0.0, f64::max);
    (format!("{most:.4} off at most"), most <= 0.001)
}

/// The latencies in steps of 0.1, in ns.
fn latencies(cells: &[Cell<'_>]) -> Vec<f64> {
    cells.iter().map(|cell| cell.network().mean).collect()
}

/// The number of the first load, in steps of 0.1, at which the latency has reached the latency at 1.0.
fn knee(cells: &[Cell<'_>]) -> (String, bool) {
    let latencies = latencies(cells);
    let last = latencies.last().copied().unwrap_or(f64::NAN);
    let tenth = 1 + latencies.iter().take_while(|&&of| of < 0.9 * last).count();
    (format!("{:.1}", tenth as f64 / 10.0), tenth == 8)
}

/// "In an exponential way": each step of the load adds more than the one before.
fn growing(cells: &[Cell<'_>]) -> (String, bool) {
    let steps: Vec<f64> = latencies(cells)
        .windows(2)
        .take(7)
        .map(|of| of[1] - of[0])
        .collect();
    let shown: Vec<String> = steps.iter().map(|ns| format!("{ns:.0}")).collect();
    (
        format!("{} ns", shown.join(", ")),
        steps.is_sorted_by(|a, b| a < b),
    )
}

fn stable(cells: &[Cell<'_>]) -> (String, bool) {
    let latencies = latencies(cells);
    let after = latencies.get(7..).unwrap_or_default();
    let [least, most] = [
        after.iter().copied().fold(f64::MAX, f64::min),
        after.iter().copied().fold(0.0, f64::max),
    ];
    let shown: Vec<String> = after.iter().map(|ns| format!("{ns:.0}")).collect();
    (
        format!("{} ns", shown.join(", ")),
        most <= (1.0 + STABLE) * least,
    )
}
