//! Throughput and shares: OpaSim, section 3; Hiperion, section 4.2.3.

use crate::data::{Asked, Cell};
use crate::fabric::Fabric;
use crate::grid::{Scheduler, Trunks};
use crate::judge::Row;

/// Bounds, set before the runs, in flits/cycle/NIC.
const OPASIM_BOUND: f64 = 0.05;
const HIPERION_BOUND: f64 = 0.08;
/// Table 10: the share of each service level in percent.
const SHARES: [f64; 5] = [10.0, 30.0, 50.0, 5.0, 5.0];
/// Bound of Hiperion on shares, in points.
const SHARE_BOUND: f64 = 2.0;
/// "Almost the same" shares, in points.
const ALIKE: f64 = 1.0;

/// Section of all rows about Hiperion.
pub const HIPERION: &str = "001 §4.2.3";
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

/// All rows.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::from(router());
    for (fabric, dtable, others) in MAXIMA {
        rows.push(maximum(fabric, Scheduler::DTable, dtable));
        rows.push(maximum(fabric, Scheduler::Sbt, others));
        rows.push(maximum(fabric, Scheduler::Rr, others));
        rows.push(lead(fabric, dtable - others));
    }
    for (fabric, dtable, _) in MAXIMA {
        if fabric.has_trunks() {
            rows.push(by_destination(fabric, dtable));
        }
    }
    rows.extend(SCHEDULERS.map(order));
    rows.push(trees_under_sbt());
    for fabric in Fabric::HIPERION {
        rows.extend([shares(fabric), alike(fabric), worse(fabric)]);
    }
    rows
}

/// OpaSim's router.
fn router() -> [Row; 3] {
    const OPASIM: &str = "004 §3";
    let at = |fabric, load| Asked {
        load,
        ..Asked::full(fabric, Scheduler::RrVl)
    };
    let tenths = (1..=10).map(|tenth| at(Fabric::Uniform, f64::from(tenth) / 10.0));
    [
        Row::new(
            OPASIM,
            ("uniform, accepted at 1.0", "0.72"),
            true,
            [at(Fabric::Uniform, 1.0)],
            |cells| within(&cells[0], 0.72, OPASIM_BOUND),
        ),
        Row::new(
            OPASIM,
            ("neighbours, accepted at 1.0", "1.0"),
            true,
            [at(Fabric::Neighbour, 1.0)],
            |cells| within(&cells[0], 1.0, 0.001),
        ),
        Row::new(
            OPASIM,
            ("uniform, knee of the latency in steps of 0.1", "0.8"),
            true,
            tenths.collect::<Vec<_>>(),
            knee,
        ),
    ]
}

/// The first load, in steps of 0.1, at which the latency has reached that at 1.0.
fn knee(cells: &[Cell<'_>]) -> (String, bool) {
    let latencies = cells.iter().map(|cell| cell.network().mean);
    let last = latencies.clone().next_back().unwrap_or(f64::NAN);
    let tenth = 1 + latencies.take_while(|&of| of < 0.9 * last).count();
    (format!("{:.1}", tenth as f64 / 10.0), tenth == 8)
}

fn within(cell: &Cell<'_>, published: f64, bound: f64) -> (String, bool) {
    let accepted = cell.accepted();
    let holds = (accepted.mean - published).abs() <= bound;
    (accepted.text(4), holds)
}

fn maximum(fabric: Fabric, scheduler: Scheduler, published: f64) -> Row {
    let statement = format!("{}, {}", fabric.name(), name(scheduler));
    Row::new(
        HIPERION,
        (statement, format!("{published:.2}")),
        seen(fabric),
        [Asked::full(fabric, scheduler)],
        move |cells| within(&cells[0], published, HIPERION_BOUND),
    )
}

/// DTable ahead of the better of the others.
fn lead(fabric: Fabric, published: f64) -> Row {
    let statement = format!("{}, lead of DTable", fabric.name());
    Row::new(
        HIPERION,
        (statement, format!("{published:.2}")),
        seen(fabric),
        SCHEDULERS.map(|of| Asked::full(fabric, of)),
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
    let asked = Asked {
        trunks: Trunks::Destination,
        load: 0.8,
        ..Asked::full(fabric, Scheduler::DTable)
    };
    let statement = format!("{}, DTable, links by destination, at 0.8", fabric.name());
    Row::new(
        HIPERION,
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
        HIPERION,
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
        HIPERION,
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

fn shares(fabric: Fabric) -> Row {
    let statement = format!("{}, DTable: shares of Table 10", fabric.name());
    Row::new(
        HIPERION,
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
        HIPERION,
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
        HIPERION,
        (statement, "so"),
        false,
        [Scheduler::DTable, Scheduler::Sbt].map(|of| Asked::full(fabric, of)),
        |cells| {
            let [dtable, sbt] = [0, 1].map(|i: usize| off(&cells[i], SHARES));
            (format!("{dtable:.1} and {sbt:.1}"), sbt > dtable)
        },
    )
}
