//! Latencies at the loads that fabrics carry: Hiperion, section 4.2.3.

use crate::data::{Asked, Cell};
use crate::fabric::Fabric;
use crate::grid::Scheduler;
use crate::latencies::{TREES, ns};
use crate::row::Row;
use crate::rows::{SCHEDULERS, name};
use crate::runs::names;

/// "Practically the same" latencies.
const ALIKE: f64 = 0.05;

/// All rows.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::from(Fabric::HIPERION.map(alike));
    for torus in [Fabric::Torus2d, Fabric::Torus3d] {
        rows.extend(SCHEDULERS.map(|of| slower(torus, of)));
    }
    rows.push(saturates_first());
    rows
}

/// A row about the loads that fabrics carry.
fn row(
    statement: String,
    asked: Vec<Asked>,
    judge: impl Fn(&[Cell<'_>]) -> (String, bool) + 'static,
) -> Row {
    Row::new((statement, "so"), false, asked, judge).before_saturation()
}

/// The ratio of two latencies of a service level.
struct Ratio {
    ratio: f64,
    level: &'static str,
    load: f64,
}

/// The ratios between each cell of `of` and the cells of `to` at the same load.
fn ratios(of: &[&Cell<'_>], to: &[&Cell<'_>]) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for of in of {
        let load = of.setting().load;
        for to in to.iter().filter(|to| to.setting().load == load) {
            let levels = ns(of).into_iter().zip(ns(to)).zip(names(5));
            ratios.extend(levels.map(|((of, to), level)| Ratio {
                ratio: of / to,
                level,
                load,
            }));
        }
    }
    ratios
}

/// The highest load that is compared.
fn last_load(ratios: &[Ratio]) -> f64 {
    ratios.iter().map(|of| of.load).fold(0.0, f64::max)
}

fn alike(fabric: Fabric) -> Row {
    let asked = [Scheduler::Sbt, Scheduler::Rr].map(|of| Asked::curve(fabric, of));
    let statement = format!("{}: SBT as RR before saturation", fabric.name());
    row(statement, asked.concat(), |cells| {
        let (sbt, rr): (Vec<_>, Vec<_>) = cells
            .iter()
            .partition(|cell| cell.setting().scheduler == Scheduler::Sbt);
        let ratios = ratios(&sbt, &rr);
        let off = ratios.iter().map(|of| (of.ratio - 1.0).abs());
        let most = off.fold(0.0, f64::max);
        let last = last_load(&ratios);
        let text = format!("within {:.1} %, to {last}", 100.0 * most);
        (text, most <= ALIKE)
    })
}

/// To the last load that the torus and a tree carry.
fn slower(torus: Fabric, scheduler: Scheduler) -> Row {
    let asked = [torus, TREES[0], TREES[1]].map(|of| Asked::curve(of, scheduler));
    let statement = format!(
        "{}, {}: slower than both trees before saturation, in all SLs",
        torus.name(),
        name(scheduler)
    );
    row(statement, asked.concat(), move |cells| {
        let (torus, trees): (Vec<_>, Vec<_>) = cells
            .iter()
            .partition(|cell| cell.setting().fabric == torus);
        let ratios = ratios(&torus, &trees);
        let Some(least) = ratios.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio)) else {
            return ("no load".to_owned(), false);
        };
        let Ratio { ratio, level, load } = least;
        let last = last_load(&ratios);
        let text = format!("{ratio:.3} times ({level}, {load}) at least, to {last}");
        (text, *ratio > 1.0)
    })
}

fn saturates_first() -> Row {
    let asked = Fabric::HIPERION.map(|of| Asked::curve(of, Scheduler::DTable));
    let statement = "DTable: the 8×8×4 torus saturates first".to_owned();
    row(statement, asked.concat(), |cells| {
        let last = |fabric| {
            let of_fabric = cells.iter().filter(|cell| cell.setting().fabric == fabric);
            of_fabric
                .map(|cell| cell.setting().load)
                .fold(0.0, f64::max)
        };
        let of = Fabric::HIPERION.map(last);
        let text = of.map(|load| load.to_string()).join(", ");
        (
            format!("carry {text}"),
            of[..3].iter().all(|&other| of[3] < other),
        )
    })
}
