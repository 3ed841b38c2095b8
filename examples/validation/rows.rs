//! Throughput and shares: Hiperion, section 4.2.3.

use crate::data::{Asked, Cell, Change};
use crate::fabric::Fabric;
use crate::grid::{Scheduler, Trunks};
use crate::row::Row;

/// Bound, set before the runs, in flits/cycle/NIC.
const HIPERION_BOUND: f64 = 0.08;
/// Table 10: the share of each service level in percent.
const SHARES: [f64; 5] = [10.0, 30.0, 50.0, 5.0, 5.0];
/// Bound of Hiperion on shares, in points.
const SHARE_BOUND: f64 = 2.0;
/// "Almost the same" shares, in points.
const ALIKE: f64 = 1.0;

/// The schedulers that Hiperion compares.
pub const SCHEDULERS: [Scheduler; 3] = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];

/// Name of a scheduler in tables.
pub fn name(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::DTable => "DTable",
        Scheduler::Sbt => "SBT",
        Scheduler::Rr | Scheduler::RrVl => "RR",
    }
}

/// Published maxima under DTable, and under SBT and RR.
const MAXIMA: [(Fabric, f64, f64); 4] = [
    (Fabric::Tree24, 0.95, 0.80),
    (Fabric::Tree8, 0.95, 0.85),
    (Fabric::Torus2d, 0.94, 0.80),
    (Fabric::Torus3d, 0.78, 0.68),
];

/// The readings were compared by the trees.
pub fn seen(fabric: Fabric) -> bool {
    !fabric.has_trunks()
}

/// The maxima and the leads of DTable.
pub fn throughput() -> Vec<Row> {
    let mut rows = Vec::new();
    for (fabric, dtable, others) in MAXIMA {
        rows.push(maximum(fabric, Scheduler::DTable, dtable));
        rows.push(maximum(fabric, Scheduler::Sbt, others));
        rows.push(maximum(fabric, Scheduler::Rr, others));
        rows.push(lead(fabric, dtable - others));
    }
    rows
}

/// Fabrics beside each other, why DTable leads, and shares.
pub fn shares() -> Vec<Row> {
    let mut rows = Vec::new();
    for (fabric, dtable, others) in MAXIMA {
        if fabric.has_trunks() {
            rows.push(by_destination(fabric, dtable));
        }
        rows.push(lead_of(fabric, dtable - others, Change::EqualPackets));
    }
    rows.extend(SCHEDULERS.map(order));
    rows.push(trees_under_sbt());
    for fabric in Fabric::HIPERION {
        rows.extend([
            shares_of(fabric),
            alike(fabric),
            worse(fabric),
            adjusted(fabric),
        ]);
    }
    rows.extend(SCHEDULERS.map(topologies));
    rows
}

/// The accepted load, and whether it is that near to the published one.
pub fn within(cell: &Cell<'_>, published: f64, bound: f64) -> (String, bool) {
    let accepted = cell.accepted();
    let holds = (accepted.mean - published).abs() <= bound;
    (accepted.text(4), holds)
}

fn maximum(fabric: Fabric, scheduler: Scheduler, published: f64) -> Row {
    let statement = format!("{}, {}", fabric.name(), name(scheduler));
    Row::new(
        (statement, format!("{published:.2}")),
        seen(fabric),
        [Asked::full(fabric, scheduler)],
        move |cells| within(&cells[0], published, HIPERION_BOUND),
    )
}

fn lead(fabric: Fabric, published: f64) -> Row {
    lead_of(fabric, published, Change::None)
}

/// DTable ahead of the better of the others. Its "hit rate" and its bursts would show with equal packets, too.
fn lead_of(fabric: Fabric, published: f64, change: Change) -> Row {
    let equal = match change {
        Change::EqualPackets => " with equal packets",
        _ => "",
    };
    let statement = format!("{}, lead of DTable{equal}", fabric.name());
    Row::new(
        (statement, format!("{published:.2}")),
        seen(fabric),
        SCHEDULERS.map(|of| Asked {
            change,
            ..Asked::full(fabric, of)
        }),
        move |cells| {
            let of = |i: usize| cells[i].accepted().mean;
            let lead = of(0) - of(1).max(of(2));
            let holds = lead > 0.0 && (lead - published).abs() <= HIPERION_BOUND;
            (format!("{lead:+.3}"), holds)
        },
    )
}

/// The preset's choice of a trunk's link, by destination.
fn by_destination(fabric: Fabric, published: f64) -> Row {
    let load = 0.8;
    let asked = Asked {
        trunks: Trunks::Destination,
        load,
        ..Asked::full(fabric, Scheduler::DTable)
    };
    let statement = format!("{}, DTable, links by destination, at {load}", fabric.name());
    Row::new(
        (statement, format!("{published:.2}")),
        false,
        [asked],
        move |cells| within(&cells[0], published, HIPERION_BOUND),
    )
}

/// The 8×8×4 torus carries least, the other three at least 0.1 more.
fn order(scheduler: Scheduler) -> Row {
    let statement = format!("{}: the 8×8×4 torus accepts least, by 0.1", name(scheduler));
    Row::new(
        (statement, "so"),
        false,
        Fabric::HIPERION.map(|fabric| Asked::full(fabric, scheduler)),
        |cells| {
            let of = |cell: &Cell<'_>| cell.accepted().mean;
            let others = cells[..3].iter().map(of).fold(f64::MAX, f64::min);
            let lead = others - of(&cells[3]);
            (format!("by {lead:.3}"), lead >= 0.1)
        },
    )
}

fn trees_under_sbt() -> Row {
    Row::new(
        ("SBT: the 8-ary tree ahead of the 24-ary tree", "by 0.05"),
        true,
        [Fabric::Tree8, Fabric::Tree24].map(|tree| Asked::full(tree, Scheduler::Sbt)),
        |cells| {
            let [eight, other] = [0, 1].map(|i: usize| cells[i].accepted());
            let lead = eight.mean - other.mean;
            // The intervals must not touch.
            let widths = [eight, other].map(|of| of.half_width.unwrap_or(0.0));
            (format!("{lead:+.3}"), lead > widths.iter().sum::<f64>())
        },
    )
}

/// Most points by which a cell's shares differ from `wanted`.
fn off(cell: &Cell<'_>, wanted: [f64; 5]) -> f64 {
    let of = |(level, wanted): (usize, f64)| (cell.share(level).mean - wanted).abs();
    wanted.into_iter().enumerate().map(of).fold(0.0, f64::max)
}

fn shares_of(fabric: Fabric) -> Row {
    let statement = format!("{}, DTable: shares of Table 10", fabric.name());
    Row::new(
        (statement, "± 2 points"),
        false,
        [Asked::full(fabric, Scheduler::DTable)],
        |cells| {
            let off = off(&cells[0], SHARES);
            (format!("{off:.1} off"), off <= SHARE_BOUND)
        },
    )
}

fn alike(fabric: Fabric) -> Row {
    let statement = format!("{}: shares of SBT as those of RR", fabric.name());
    Row::new(
        (statement, "almost"),
        false,
        [Scheduler::Sbt, Scheduler::Rr].map(|of| Asked::full(fabric, of)),
        |cells| {
            let rr = std::array::from_fn(|level| cells[1].share(level).mean);
            let off = off(&cells[0], rr);
            (format!("{off:.1} points"), off <= ALIKE)
        },
    )
}

fn worse(fabric: Fabric) -> Row {
    let statement = format!("{}: shares of SBT further off than DTable's", fabric.name());
    Row::new(
        (statement, "so"),
        false,
        [Scheduler::DTable, Scheduler::Sbt].map(|of| Asked::full(fabric, of)),
        |cells| {
            let [dtable, sbt] = [0, 1].map(|i: usize| off(&cells[i], SHARES));
            (format!("{dtable:.1} and {sbt:.1}"), sbt > dtable)
        },
    )
}

/// Past saturation SBT adjusts towards the wanted shares, RR towards equal ones: each a point nearer than the other.
fn adjusted(fabric: Fabric) -> Row {
    let statement = format!(
        "{}: SBT nearer to the wanted shares, RR to 20 % each",
        fabric.name()
    );
    Row::new(
        (statement, "so"),
        false,
        [Scheduler::Sbt, Scheduler::Rr].map(|of| Asked::full(fabric, of)),
        |cells| {
            let [sbt, rr] = [0, 1].map(|i: usize| off(&cells[i], SHARES));
            let [sbt_equal, rr_equal] = [0, 1].map(|i: usize| off(&cells[i], [20.0; 5]));
            let text = format!("{sbt:.1} and {rr:.1}; {sbt_equal:.1} and {rr_equal:.1} off");
            (text, rr - sbt > ALIKE && sbt_equal - rr_equal > ALIKE)
        },
    )
}

/// No significant differences between topologies, in shares of the service levels.
fn topologies(scheduler: Scheduler) -> Row {
    let statement = format!("{}: shares alike on all fabrics", name(scheduler));
    Row::new(
        (statement, "so"),
        false,
        Fabric::HIPERION.map(|fabric| Asked::full(fabric, scheduler)),
        |cells| {
            let shares = |level| cells.iter().map(move |cell| cell.share(level).mean);
            let spread = |level| {
                let most = shares(level).fold(0.0, f64::max);
                most - shares(level).fold(f64::MAX, f64::min)
            };
            let most = (0..SHARES.len()).map(spread).fold(0.0, f64::max);
            (format!("within {most:.1} points"), most <= SHARE_BOUND)
        },
    )
}
