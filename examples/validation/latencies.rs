//! Latencies: Hiperion, section 4.2.3. End to end, means in ns.

use crate::data::{Asked, Cell};
use crate::fabric::Fabric;
use crate::grid::Scheduler;
use crate::judge::Row;
use crate::rows::{HIPERION, SCHEDULERS, name, seen};

const VO: usize = 0;
const VI: usize = 1;
const CL: usize = 2;
const BE: usize = 3;
const BK: usize = 4;
/// Where CL leaves the chart at full load, in ns.
const OFF_CHART_NS: f64 = 4500.0;
/// Loads that all fabrics carry under every scheduler and reading.
const BEFORE_SATURATION: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
/// "Practically the same" latencies.
const ALIKE: f64 = 0.05;
const TREES: [Fabric; 2] = [Fabric::Tree24, Fabric::Tree8];

/// Latencies of the service levels of a measurement.
type Ns = [f64; 5];

/// All rows.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for fabric in Fabric::HIPERION {
        for scheduler in [Scheduler::Sbt, Scheduler::Rr] {
            rows.extend([
                with_share(fabric, scheduler),
                best_effort(fabric, scheduler),
            ]);
        }
        rows.extend([vo(fabric), cl(fabric), in_order(fabric), alike(fabric)]);
    }
    for tree in TREES {
        rows.extend([Scheduler::Sbt, Scheduler::Rr].map(|of| off_chart(tree, of)));
    }
    for torus in [Fabric::Torus2d, Fabric::Torus3d] {
        rows.extend([
            slower(torus),
            slower_at_full_load(torus),
            penalty(torus),
            apart(torus),
        ]);
    }
    rows
}

fn list(latencies: &[f64]) -> String {
    let texts: Vec<String> = latencies.iter().map(|ns| format!("{ns:.0}")).collect();
    texts.join(", ")
}

/// A row about the latencies of measurements.
fn row(
    statement: impl Into<String>,
    seen: bool,
    asked: impl Into<Vec<Asked>>,
    judge: impl Fn(&[Ns]) -> (String, bool) + 'static,
) -> Row {
    Row::new(HIPERION, (statement, "so"), seen, asked, move |cells| {
        let ns = |cell: &Cell<'_>| std::array::from_fn(|level| cell.end_to_end(level).mean);
        judge(&cells.iter().map(ns).collect::<Vec<Ns>>())
    })
}

fn with_share(fabric: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!(
        "{}, {}: VO < VI < CL, as the shares",
        fabric.name(),
        name(scheduler)
    );
    row(
        statement,
        seen(fabric),
        [Asked::full(fabric, scheduler)],
        |ns| {
            let shown = &ns[0][..=CL];
            (list(shown), shown.is_sorted_by(|a, b| a < b))
        },
    )
}

fn best_effort(fabric: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!("{}, {}: BE and BK above VO", fabric.name(), name(scheduler));
    row(
        statement,
        seen(fabric),
        [Asked::full(fabric, scheduler)],
        |ns| {
            let shown = [VO, BE, BK].map(|level| ns[0][level]);
            (list(&shown), shown[1] > shown[0] && shown[2] > shown[0])
        },
    )
}

/// The latency of a level under DTable, SBT and RR.
fn by_scheduler(fabric: Fabric, statement: &str, level: usize, holds: fn(f64, f64) -> bool) -> Row {
    let asked = SCHEDULERS.map(|of| Asked::full(fabric, of));
    let statement = format!("{}, {statement}", fabric.name());
    row(statement, seen(fabric), asked, move |ns| {
        let shown: Vec<f64> = ns.iter().map(|of| of[level]).collect();
        (
            list(&shown),
            shown[1..].iter().all(|&other| holds(shown[0], other)),
        )
    })
}

fn vo(fabric: Fabric) -> Row {
    by_scheduler(
        fabric,
        "VO: DTable above SBT and RR",
        VO,
        |dtable, other| dtable > other,
    )
}

fn cl(fabric: Fabric) -> Row {
    by_scheduler(
        fabric,
        "CL: DTable below SBT and RR",
        CL,
        |dtable, other| dtable < other,
    )
}

fn in_order(fabric: Fabric) -> Row {
    let statement = format!("{}, DTable: VO < VI < CL < BE and BK", fabric.name());
    row(
        statement,
        false,
        [Asked::full(fabric, Scheduler::DTable)],
        |ns| {
            let best_effort = ns[0][BE].min(ns[0][BK]);
            let shown = [ns[0][VO], ns[0][VI], ns[0][CL], best_effort];
            (list(&shown), shown.is_sorted_by(|a, b| a < b))
        },
    )
}

/// The readings were compared by CL of a tree.
fn off_chart(tree: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!("{}, {}: CL above 4,500 ns", tree.name(), name(scheduler));
    row(
        statement,
        seen(tree),
        [Asked::full(tree, scheduler)],
        |ns| (list(&[ns[0][CL]]), ns[0][CL] > OFF_CHART_NS),
    )
}

/// A fabric at each load before saturation.
fn before(fabric: Fabric, scheduler: Scheduler) -> Vec<Asked> {
    let at = |load| Asked {
        load,
        ..Asked::full(fabric, scheduler)
    };
    BEFORE_SATURATION.map(at).into()
}

/// The ratios of latencies, level by level, of two lists of measurements.
fn ratios<'a>(of: &'a [Ns], to: &'a [Ns]) -> impl Iterator<Item = f64> + 'a {
    let pairs = of.iter().flatten().zip(to.iter().flatten());
    pairs.map(|(a, b)| a / b)
}

fn alike(fabric: Fabric) -> Row {
    let statement = format!("{}: SBT as RR before saturation", fabric.name());
    let asked = [Scheduler::Sbt, Scheduler::Rr].map(|of| before(fabric, of));
    row(statement, false, asked.concat(), |ns| {
        let (sbt, rr) = ns.split_at(ns.len() / 2);
        let off = ratios(sbt, rr).map(|ratio| (ratio - 1.0).abs());
        let most = off.fold(0.0, f64::max);
        (format!("within {:.1} %", 100.0 * most), most <= ALIKE)
    })
}

/// The least ratio of a torus' latency, in the first third of the measurements, to a tree's.
fn slower_than_trees(ns: &[Ns]) -> (String, bool) {
    let (torus, trees) = ns.split_at(ns.len() / 3);
    let trees = trees.chunks(torus.len().max(1));
    let least = trees
        .flat_map(|tree| ratios(torus, tree))
        .fold(f64::MAX, f64::min);
    (format!("{least:.2} times at least"), least > 1.0)
}

fn slower(torus: Fabric) -> Row {
    let statement = format!(
        "{}, DTable: slower than both trees to 0.5, in all SLs",
        torus.name()
    );
    let asked = [torus, TREES[0], TREES[1]].map(|of| before(of, Scheduler::DTable));
    row(statement, false, asked.concat(), slower_than_trees)
}

/// A torus and both trees at full load under DTable.
fn against_trees(
    torus: Fabric,
    statement: &str,
    judge: impl Fn(&[Ns]) -> (String, bool) + 'static,
) -> Row {
    let asked = [torus, TREES[0], TREES[1]].map(|of| Asked::full(of, Scheduler::DTable));
    row(
        format!("{}, DTable: {statement}", torus.name()),
        false,
        asked,
        judge,
    )
}

fn slower_at_full_load(torus: Fabric) -> Row {
    let statement = "slower than both trees past saturation, in all SLs";
    against_trees(torus, statement, slower_than_trees)
}

/// Best effort against VO past saturation.
fn penalty(torus: Fabric) -> Row {
    let statement = "BE / VO below the trees' past saturation";
    against_trees(torus, statement, |ns| {
        let of: Vec<f64> = ns.iter().map(|ns| ns[BE].max(ns[BK]) / ns[VO]).collect();
        let text = format!("{:.1}; {:.1}, {:.1}", of[0], of[1], of[2]);
        (text, of[1..].iter().all(|&tree| of[0] < tree))
    })
}

/// Distance between the levels with guarantees.
fn apart(torus: Fabric) -> Row {
    let statement = "VO to CL further apart than on the trees";
    against_trees(torus, statement, |ns| {
        let of: Vec<f64> = ns.iter().map(|ns| ns[CL] - ns[VO]).collect();
        let text = format!("{:.0}; {:.0}, {:.0}", of[0], of[1], of[2]);
        (text, of[1..].iter().all(|&tree| of[0] > tree))
    })
}
