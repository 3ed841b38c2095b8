//! Throughput and shares: OpaSim, section 3; Hiperion, section 4.2.3.

use crate::data::{Cell, Data, Reading, least, most};
use crate::fabric::Fabric;
use crate::grid::{Scheduler, Trunks};
use crate::judge::{Outcome, Row};

/// Bounds, set before the runs, in flits/cycle/NIC.
const OPASIM_BOUND: f64 = 0.05;
const HIPERION_BOUND: f64 = 0.08;
/// Table 10: the share of each service level in percent.
const SHARES: [f64; 5] = [10.0, 30.0, 50.0, 5.0, 5.0];
/// Bound of Hiperion on shares, in points.
const SHARE_BOUND: f64 = 2.0;
/// "Almost the same" shares, in points.
const ALIKE: f64 = 1.0;

/// Name of a scheduler in tables.
pub fn name(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::DTable => "DTable",
        Scheduler::Sbt => "SBT",
        Scheduler::Rr | Scheduler::RrVl => "RR",
    }
}

/// A fabric at full load.
pub fn full(
    data: &Data,
    reading: Reading,
    fabric: Fabric,
    scheduler: Scheduler,
) -> Option<Cell<'_>> {
    data.cell(reading, fabric, scheduler, fabric.full_load())
}

/// Published maxima under DTable, and under SBT and RR.
const MAXIMA: [(Fabric, f64, f64); 4] = [
    (Fabric::Tree24, 0.95, 0.80),
    (Fabric::Tree8, 0.95, 0.85),
    (Fabric::Torus2d, 0.94, 0.80),
    (Fabric::Torus3d, 0.78, 0.68),
];

/// The readings were compared by the trees.
fn seen(fabric: Fabric) -> bool {
    !fabric.has_trunks()
}

/// All rows.
pub fn all() -> Vec<Row> {
    let mut rows = vec![uniform(), neighbour(), knee()];
    for (fabric, dtable, others) in MAXIMA {
        rows.push(maximum(fabric, Scheduler::DTable, dtable));
        rows.push(maximum(fabric, Scheduler::Sbt, others));
        rows.push(maximum(fabric, Scheduler::Rr, others));
        rows.push(lead(fabric, dtable - others));
    }
    rows.extend([Fabric::Torus2d, Fabric::Torus3d].map(by_destination));
    rows.extend([Scheduler::DTable, Scheduler::Sbt, Scheduler::Rr].map(order));
    rows.push(trees_under_sbt());
    for fabric in Fabric::HIPERION {
        rows.extend([shares(fabric), alike(fabric), worse(fabric)]);
    }
    rows
}

fn uniform() -> Row {
    Row {
        source: "004 §3",
        statement: "uniform, accepted at 1.0".into(),
        published: "0.72".into(),
        seen: true,
        test: Box::new(|data, reading| {
            let cell = data.cell(reading, Fabric::Uniform, Scheduler::RrVl, 1.0)?;
            Some(within(&cell, 0.72, OPASIM_BOUND))
        }),
    }
}

fn neighbour() -> Row {
    Row {
        source: "004 §3",
        statement: "neighbours, accepted at 1.0".into(),
        published: "1.0".into(),
        seen: true,
        test: Box::new(|data, reading| {
            let cell = data.cell(reading, Fabric::Neighbour, Scheduler::RrVl, 1.0)?;
            Some(within(&cell, 1.0, 0.001))
        }),
    }
}

/// The first load, in steps of 0.1, at which the latency has reached that at 1.0.
fn knee() -> Row {
    Row {
        source: "004 §3",
        statement: "uniform, knee of the latency in steps of 0.1".into(),
        published: "0.8".into(),
        seen: true,
        test: Box::new(|data, reading| {
            let mut seeds = usize::MAX;
            let mut latencies = Vec::new();
            for tenth in 1..=10 {
                let load = f64::from(tenth) / 10.0;
                let cell = data.cell(reading, Fabric::Uniform, Scheduler::RrVl, load)?;
                seeds = seeds.min(cell.seeds());
                latencies.push((tenth, cell.network().mean));
            }
            let last = latencies.last()?.1;
            let (tenth, _) = latencies.iter().find(|(_, of)| *of >= 0.9 * last)?;
            Some(Outcome {
                obtained: format!("{:.1}", f64::from(*tenth) / 10.0),
                seeds,
                holds: *tenth == 8,
            })
        }),
    }
}

fn within(cell: &Cell<'_>, published: f64, bound: f64) -> Outcome {
    let accepted = cell.accepted();
    Outcome {
        obtained: accepted.text(4),
        seeds: cell.seeds(),
        holds: (accepted.mean - published).abs() <= bound,
    }
}

fn maximum(fabric: Fabric, scheduler: Scheduler, published: f64) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, {}", fabric.name(), name(scheduler)),
        published: format!("{published:.2}"),
        seen: seen(fabric),
        test: Box::new(move |data, reading| {
            let cell = full(data, reading, fabric, scheduler)?;
            Some(within(&cell, published, HIPERION_BOUND))
        }),
    }
}

/// DTable ahead of the better of the others.
fn lead(fabric: Fabric, published: f64) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, lead of DTable", fabric.name()),
        published: format!("{published:.2}"),
        seen: seen(fabric),
        test: Box::new(move |data, reading| {
            let of = |scheduler| full(data, reading, fabric, scheduler);
            let cells = [
                of(Scheduler::DTable)?,
                of(Scheduler::Sbt)?,
                of(Scheduler::Rr)?,
            ];
            let [dtable, sbt, rr] = cells.each_ref().map(|cell| cell.accepted().mean);
            let lead = dtable - most([sbt, rr]);
            Some(Outcome {
                obtained: format!("{lead:+.3}"),
                seeds: fewest(&cells),
                holds: lead > 0.0 && (lead - published).abs() <= HIPERION_BOUND,
            })
        }),
    }
}

/// Fewest seeds of some measurements.
pub fn fewest(cells: &[Cell<'_>]) -> usize {
    cells.iter().map(Cell::seeds).min().unwrap_or(0)
}

/// The preset's choice of a trunk's link, by destination.
fn by_destination(fabric: Fabric) -> Row {
    let published = if fabric == Fabric::Torus2d {
        0.94
    } else {
        0.78
    };
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, DTable, links by destination, at 0.8", fabric.name()),
        published: format!("{published:.2}"),
        seen: false,
        test: Box::new(move |data, reading| {
            let at = (0.8, Trunks::Destination);
            let cell = data.with_trunks(reading, fabric, Scheduler::DTable, at)?;
            Some(within(&cell, published, HIPERION_BOUND))
        }),
    }
}

/// The 8×8×4 torus carries least, the other three at least 0.1 more.
fn order(scheduler: Scheduler) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}: the 8×8×4 torus accepts least, by 0.1", name(scheduler)),
        published: "so".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let of = |fabric| full(data, reading, fabric, scheduler);
            let [a, b, c, d] = Fabric::HIPERION;
            let cells = [of(a)?, of(b)?, of(c)?, of(d)?];
            let accepted = cells.each_ref().map(|cell| cell.accepted().mean);
            let lead = least(accepted[..3].iter().copied()) - accepted[3];
            Some(Outcome {
                obtained: format!("by {lead:.3}"),
                seeds: fewest(&cells),
                holds: lead >= 0.1,
            })
        }),
    }
}

fn trees_under_sbt() -> Row {
    Row {
        source: "001 §4.2.3",
        statement: "SBT: the 8-ary tree ahead of the 24-ary tree".into(),
        published: "by 0.05".into(),
        seen: true,
        test: Box::new(|data, reading| {
            let of = |fabric| full(data, reading, fabric, Scheduler::Sbt);
            let cells = [of(Fabric::Tree8)?, of(Fabric::Tree24)?];
            let [eight, other] = cells.each_ref().map(Cell::accepted);
            let lead = eight.mean - other.mean;
            // Without intervals that touch.
            let widths = [eight, other].map(|of| of.half_width.unwrap_or(0.0));
            Some(Outcome {
                obtained: format!("{lead:+.3}"),
                seeds: fewest(&cells),
                holds: lead > widths.iter().sum::<f64>(),
            })
        }),
    }
}

/// Most points by which a cell's shares differ from `wanted`.
fn off(cell: &Cell<'_>, wanted: [f64; 5]) -> f64 {
    let of = |(level, wanted): (usize, f64)| (cell.share(level).mean - wanted).abs();
    most(wanted.into_iter().enumerate().map(of))
}

fn shares(fabric: Fabric) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}, DTable: shares of Table 10", fabric.name()),
        published: "± 2 points".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let cell = full(data, reading, fabric, Scheduler::DTable)?;
            let off = off(&cell, SHARES);
            Some(Outcome {
                obtained: format!("{off:.1} off"),
                seeds: cell.seeds(),
                holds: off <= SHARE_BOUND,
            })
        }),
    }
}

fn alike(fabric: Fabric) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}: shares of SBT as those of RR", fabric.name()),
        published: "almost".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let of = |scheduler| full(data, reading, fabric, scheduler);
            let cells = [of(Scheduler::Sbt)?, of(Scheduler::Rr)?];
            let rr = std::array::from_fn(|level| cells[1].share(level).mean);
            let off = off(&cells[0], rr);
            Some(Outcome {
                obtained: format!("{off:.1} points"),
                seeds: fewest(&cells),
                holds: off <= ALIKE,
            })
        }),
    }
}

fn worse(fabric: Fabric) -> Row {
    Row {
        source: "001 §4.2.3",
        statement: format!("{}: shares of SBT further off than DTable's", fabric.name()),
        published: "so".into(),
        seen: false,
        test: Box::new(move |data, reading| {
            let of = |scheduler| full(data, reading, fabric, scheduler);
            let cells = [of(Scheduler::DTable)?, of(Scheduler::Sbt)?];
            let [dtable, sbt] = cells.each_ref().map(|cell| off(cell, SHARES));
            Some(Outcome {
                obtained: format!("{dtable:.1} and {sbt:.1}"),
                seeds: fewest(&cells),
                holds: sbt > dtable,
            })
        }),
    }
}
