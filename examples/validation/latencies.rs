//! Latencies past saturation: Hiperion, section 4.2.3. End to end, means in ns.

use crate::data::{Asked, Cell};
use crate::fabric::Fabric;
use crate::grid::Scheduler;
use crate::row::Row;
use crate::rows::{SCHEDULERS, name, seen};

const VO: usize = 0;
const VI: usize = 1;
const CL: usize = 2;
const BE: usize = 3;
const BK: usize = 4;
/// Where CL leaves the chart at full load, in ns.
const OFF_CHART_NS: f64 = 4500.0;
/// "Slightly higher" latencies of BE and BK, as a multiple of VO's; set after the runs.
const SLIGHTLY: f64 = 1.5;
/// A load before saturation, to which full load is compared.
const HALF: f64 = 0.5;
pub const TREES: [Fabric; 2] = [Fabric::Tree24, Fabric::Tree8];

/// Latencies of the service levels of a measurement.
pub type Ns = [f64; 5];

/// All rows.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for fabric in Fabric::HIPERION {
        for scheduler in [Scheduler::Sbt, Scheduler::Rr] {
            rows.extend([
                with_share(fabric, scheduler),
                best_effort(fabric, scheduler),
                slightly(fabric, scheduler),
            ]);
        }
        rows.extend([vo(fabric), cl(fabric), in_order(fabric), clearer(fabric)]);
    }
    for tree in TREES {
        rows.extend([Scheduler::Sbt, Scheduler::Rr].map(|of| off_chart(tree, of)));
    }
    for torus in [Fabric::Torus2d, Fabric::Torus3d] {
        rows.extend(SCHEDULERS.map(|of| slower_at_full_load(torus, of)));
        rows.extend([penalty(torus), apart(torus), rising(torus)]);
    }
    rows.push(most_in_3d());
    rows
}

/// Latencies of the service levels of a measurement.
pub fn ns(cell: &Cell<'_>) -> Ns {
    std::array::from_fn(|level| cell.end_to_end(level).mean)
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
    Row::new((statement, "so"), seen, asked, move |cells| {
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

fn slightly(fabric: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!(
        "{}, {}: BE and BK at most {SLIGHTLY} times VO",
        fabric.name(),
        name(scheduler)
    );
    let asked = [Asked::full(fabric, scheduler)];
    row(statement, false, asked, |ns| {
        let most = ns[0][BE].max(ns[0][BK]) / ns[0][VO];
        (format!("{most:.2} times"), most <= SLIGHTLY)
    })
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

/// The ratios of latencies, level by level, of two lists of measurements.
fn ratios<'a>(of: &'a [Ns], to: &'a [Ns]) -> impl Iterator<Item = f64> + 'a {
    let pairs = of.iter().flatten().zip(to.iter().flatten());
    pairs.map(|(a, b)| a / b)
}

/// A fabric under DTable at a load and at full load.
fn from(fabric: Fabric, load: f64) -> [Asked; 2] {
    let full = Asked::full(fabric, Scheduler::DTable);
    [Asked { load, ..full }, full]
}

/// "SLs entry distances are more clear": each gap between two levels in order.
fn clearer(fabric: Fabric) -> Row {
    let statement = format!(
        "{}, DTable: gaps from VO to VI, CL, BE wider than at {HALF}",
        fabric.name()
    );
    row(statement, false, from(fabric, HALF), |ns| {
        let [half, full] = [0, 1].map(|i: usize| {
            let gaps = ns[i][..=BE].windows(2).map(|of| of[1] - of[0]);
            gaps.collect::<Vec<f64>>()
        });
        let wider = half.iter().zip(&full).all(|(half, full)| full > half);
        (format!("{}; {}", list(&half), list(&full)), wider)
    })
}

/// By how much the levels with guarantees rise from the first measurement to the second.
fn growth(ns: &[Ns]) -> [f64; 3] {
    std::array::from_fn(|level| ns[1][level] / ns[0][level])
}

fn times(growth: [f64; 3]) -> String {
    growth.map(|of| format!("{of:.1}")).join(", ")
}

/// "The latency of all SLs increases progressively": those with guarantees rise more than on the trees.
fn rising(torus: Fabric) -> Row {
    let statement = format!(
        "{}, DTable: VO, VI, CL rise from 0.1 on by more than on the trees",
        torus.name()
    );
    let asked = [torus, TREES[0], TREES[1]].map(|of| from(of, 0.1));
    row(statement, false, asked.concat(), |ns| {
        let of: Vec<[f64; 3]> = ns.chunks(2).map(growth).collect();
        let text = of.iter().map(|&of| times(of)).collect::<Vec<_>>();
        let (torus, trees) = (of[0], &of[1..]);
        let holds = trees.iter().flatten().zip(torus.iter().cycle());
        (
            text.join("; "),
            holds.clone().all(|(tree, torus)| torus > tree),
        )
    })
}

fn most_in_3d() -> Row {
    let statement = "DTable: VO, VI, CL rise from 0.1 on by more on 8×8×4 than on 8×8";
    let asked = [Fabric::Torus3d, Fabric::Torus2d].map(|of| from(of, 0.1));
    row(statement, false, asked.concat(), |ns| {
        let of: Vec<[f64; 3]> = ns.chunks(2).map(growth).collect();
        let holds = of[0].iter().zip(&of[1]).all(|(three, two)| three > two);
        (format!("{}; {}", times(of[0]), times(of[1])), holds)
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

/// A torus and both trees at full load.
fn against_trees(
    torus: Fabric,
    scheduler: Scheduler,
    statement: &str,
    judge: impl Fn(&[Ns]) -> (String, bool) + 'static,
) -> Row {
    let asked = [torus, TREES[0], TREES[1]].map(|of| Asked::full(of, scheduler));
    row(
        format!("{}, {}: {statement}", torus.name(), name(scheduler)),
        false,
        asked,
        judge,
    )
}

fn slower_at_full_load(torus: Fabric, scheduler: Scheduler) -> Row {
    let statement = "slower than both trees past saturation, in all SLs";
    against_trees(torus, scheduler, statement, slower_than_trees)
}

/// Best effort against VO past saturation.
fn penalty(torus: Fabric) -> Row {
    let statement = "BE / VO below the trees' past saturation";
    against_trees(torus, Scheduler::DTable, statement, |ns| {
        let of: Vec<f64> = ns.iter().map(|ns| ns[BE].max(ns[BK]) / ns[VO]).collect();
        let text = format!("{:.1}; {:.1}, {:.1}", of[0], of[1], of[2]);
        (text, of[1..].iter().all(|&tree| of[0] < tree))
    })
}

/// Distance between the levels with guarantees.
fn apart(torus: Fabric) -> Row {
    let statement = "VO to CL further apart than on the trees";
    against_trees(torus, Scheduler::DTable, statement, |ns| {
        let of: Vec<f64> = ns.iter().map(|ns| ns[CL] - ns[VO]).collect();
        let text = format!("{:.0}; {:.0}, {:.0}", of[0], of[1], of[2]);
        (text, of[1..].iter().all(|&tree| of[0] > tree))
    })
}
