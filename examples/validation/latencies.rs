//! Latencies: Hiperion, section 4.2.3. End to end, means in ns.

use crate::data::{Cell, Data, Reading, least, most};
use crate::fabric::Fabric;
use crate::grid::Scheduler;
use crate::judge::{Outcome, Row};
use crate::rows::{fewest, full, name};

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
    for tree in [Fabric::Tree24, Fabric::Tree8] {
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

/// The readings of the packets were compared by the latencies of trees.
fn seen(fabric: Fabric) -> bool {
    !fabric.has_trunks()
}

fn ns(cell: &Cell<'_>) -> [f64; 5] {
    std::array::from_fn(|level| cell.end_to_end(level).mean)
}

fn list(latencies: &[f64]) -> String {
    let texts: Vec<String> = latencies.iter().map(|ns| format!("{ns:.0}")).collect();
    texts.join(", ")
}

/// A row about a fabric's latencies at full load under some schedulers.
fn row<const N: usize>(
    (fabric, statement): (Fabric, &str),
    seen: bool,
    schedulers: [Scheduler; N],
    judge: fn([[f64; 5]; N]) -> (String, bool),
) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}{statement}", fabric.name()),
        published: "so".into(),
        seen,
        test: Box::new(move |data, reading| {
            let cells = schedulers.map(|of| full(data, reading, fabric, of));
            let cells: Vec<Cell<'_>> = cells.into_iter().collect::<Option<_>>()?;
            let (obtained, holds) = judge(std::array::from_fn(|i| ns(&cells[i])));
            Some(Outcome {
                obtained,
                seeds: fewest(&cells),
                holds,
            })
        }),
    }
}

fn with_share(fabric: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!(", {}: VO < VI < CL, as the shares", name(scheduler));
    row((fabric, &statement), seen(fabric), [scheduler], |[of]| {
        (list(&of[..3]), of[VO] < of[VI] && of[VI] < of[CL])
    })
}

fn best_effort(fabric: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!(", {}: BE and BK above VO", name(scheduler));
    row((fabric, &statement), seen(fabric), [scheduler], |[of]| {
        let shown = [of[VO], of[BE], of[BK]];
        (list(&shown), of[BE] > of[VO] && of[BK] > of[VO])
    })
}

fn vo(fabric: Fabric) -> Row {
    let schedulers = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];
    row(
        (fabric, ", VO: DTable above SBT and RR"),
        seen(fabric),
        schedulers,
        |of| {
            let of = of.map(|of| of[VO]);
            (list(&of), of[0] > of[1] && of[0] > of[2])
        },
    )
}

fn cl(fabric: Fabric) -> Row {
    let schedulers = [Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr];
    row(
        (fabric, ", CL: DTable below SBT and RR"),
        seen(fabric),
        schedulers,
        |of| {
            let of = of.map(|of| of[CL]);
            (list(&of), of[0] < of[1] && of[0] < of[2])
        },
    )
}

fn in_order(fabric: Fabric) -> Row {
    row(
        (fabric, ", DTable: VO < VI < CL < BE and BK"),
        false,
        [Scheduler::DTable],
        |[of]| {
            let best_effort = of[BE].min(of[BK]);
            let shown = [of[VO], of[VI], of[CL], best_effort];
            (list(&shown), shown.is_sorted_by(|a, b| a < b))
        },
    )
}

fn off_chart(tree: Fabric, scheduler: Scheduler) -> Row {
    let statement = format!(", {}: CL above 4,500 ns", name(scheduler));
    row((tree, &statement), false, [scheduler], |[of]| {
        (format!("{:.0}", of[CL]), of[CL] > OFF_CHART_NS)
    })
}

/// Fewest seeds, and the latencies at each load before saturation.
fn before(
    data: &Data,
    reading: Reading,
    fabric: Fabric,
    scheduler: Scheduler,
) -> Option<(usize, Vec<[f64; 5]>)> {
    let cells = BEFORE_SATURATION.map(|load| data.cell(reading, fabric, scheduler, load));
    let cells: Vec<Cell<'_>> = cells.into_iter().collect::<Option<_>>()?;
    Some((fewest(&cells), cells.iter().map(ns).collect()))
}

fn alike(fabric: Fabric) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}: SBT as RR before saturation", fabric.name()),
        published: "practically".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let (seeds, sbt) = before(data, reading, fabric, Scheduler::Sbt)?;
            let (other, rr) = before(data, reading, fabric, Scheduler::Rr)?;
            let ratios = sbt.iter().flatten().zip(rr.iter().flatten());
            let most = most(ratios.map(|(a, b)| (a / b - 1.0).abs()));
            Some(Outcome {
                obtained: format!("within {:.1} %", 100.0 * most),
                seeds: seeds.min(other),
                holds: most <= ALIKE,
            })
        }),
    }
}

/// Compares the torus with both trees: the text of the comparison, and whether the statement holds.
type Judge = fn([f64; 5], [[f64; 5]; 2]) -> (String, bool);

/// A torus against both trees, under DTable.
fn against_trees(torus: Fabric, statement: &str, judge: Judge) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, DTable: {statement}", torus.name()),
        published: "so".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let of = |fabric| full(data, reading, fabric, Scheduler::DTable);
            let cells = [of(torus)?, of(Fabric::Tree24)?, of(Fabric::Tree8)?];
            let [torus, trees @ ..] = cells.each_ref().map(ns);
            let (obtained, holds) = judge(torus, trees);
            Some(Outcome {
                obtained,
                seeds: fewest(&cells),
                holds,
            })
        }),
    }
}

/// Least ratio of a torus' latency to a tree's, over loads and service levels.
fn slower(torus: Fabric) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, DTable: slower than both trees to 0.5", torus.name()),
        published: "in all SLs".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let (mut seeds, torus) = before(data, reading, torus, Scheduler::DTable)?;
            let mut smallest = f64::MAX;
            for tree in [Fabric::Tree24, Fabric::Tree8] {
                let (of_tree, tree) = before(data, reading, tree, Scheduler::DTable)?;
                let ratios = torus.iter().flatten().zip(tree.iter().flatten());
                smallest = least(ratios.map(|(a, b)| a / b).chain([smallest]));
                seeds = seeds.min(of_tree);
            }
            Some(Outcome {
                obtained: format!("{smallest:.2} times at least"),
                seeds,
                holds: smallest > 1.0,
            })
        }),
    }
}

fn slower_at_full_load(torus: Fabric) -> Row {
    let statement = "slower than both trees past saturation, in all SLs";
    against_trees(torus, statement, |torus, trees| {
        let ratios = trees.iter().flat_map(|tree| torus.iter().zip(tree));
        let least = least(ratios.map(|(a, b)| a / b));
        (format!("{least:.2} times at least"), least > 1.0)
    })
}

/// Best effort against VO past saturation.
fn penalty(torus: Fabric) -> Row {
    let statement = "BE / VO below the trees' past saturation";
    against_trees(torus, statement, |torus, trees| {
        let of = |ns: [f64; 5]| ns[BE].max(ns[BK]) / ns[VO];
        let (torus, trees) = (of(torus), trees.map(of));
        let text = format!("{torus:.1}; {:.1}, {:.1}", trees[0], trees[1]);
        (text, trees.iter().all(|&tree| torus < tree))
    })
}

/// Distance between the levels with guarantees.
fn apart(torus: Fabric) -> Row {
    let statement = "VO to CL further apart than on the trees";
    against_trees(torus, statement, |torus, trees| {
        let of = |ns: [f64; 5]| ns[CL] - ns[VO];
        let (torus, trees) = (of(torus), trees.map(of));
        let text = format!("{torus:.0}; {:.0}, {:.0}", trees[0], trees[1]);
        (text, trees.iter().all(|&tree| torus > tree))
    })
}
