//! The traffic from each group of ranks to each other group.

use super::title::titled;
use crate::figure::{Cell, Chart, Figure, Matrix};
use crate::report::source::{Pair, RunSource};

/// The quantity that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Bytes,
    Messages,
}

pub(super) fn figures(run: &RunSource, measure: Measure) -> Vec<Figure> {
    let mut jobs: Vec<&str> = run.pairs.iter().map(|pair| pair.job.as_str()).collect();
    jobs.dedup();
    let one = |job: &str| {
        let pairs: Vec<&Pair> = run.pairs.iter().filter(|pair| pair.job == job).collect();
        of_job(run, job, &pairs, measure)
    };
    jobs.into_iter().map(one).collect()
}

fn of_job(run: &RunSource, job: &str, pairs: &[&Pair], measure: Measure) -> Figure {
    let ranks = ranks_of(run, job, pairs);
    let group = pairs
        .iter()
        .flat_map(|pair| [pair.from, pair.to])
        .map(|[a, b]| b - a + 1);
    let group = group.max().unwrap_or(1).max(1);
    let names = (0..ranks.div_ceil(group)).map(|at| (at * group).to_string());
    let (what, unit) = match measure {
        Measure::Bytes => ("Bytes", "KiB"),
        Measure::Messages => ("Messages", "messages"),
    };
    let cell = |pair: &&Pair| Cell {
        row: (pair.from[0] / group) as usize,
        column: (pair.to[0] / group) as usize,
        value: match measure {
            Measure::Bytes => pair.bytes as f64 / 1024.0,
            Measure::Messages => pair.messages as f64,
        },
    };
    let mut note = "Logarithmic shades; pairs without messages are left blank. Steps of collective operations count.".to_owned();
    if group > 1 {
        note += &format!(" Each row and column is {group} ranks.");
    }
    Figure {
        title: titled(&format!("{what} between the ranks of {job}"), &run.label),
        note,
        chart: Chart::Matrix(Matrix {
            measure: unit.to_owned(),
            rows: "sending rank".to_owned(),
            columns: "receiving rank".to_owned(),
            names: names.collect(),
            cells: pairs
                .iter()
                .map(cell)
                .filter(|cell| cell.value > 0.0)
                .collect(),
        }),
    }
}

/// Ranks of the job; at least all that sent or received.
fn ranks_of(run: &RunSource, job: &str, pairs: &[&Pair]) -> u64 {
    let jobs = run.result["jobs"].as_array().into_iter().flatten();
    let named = jobs.filter(|found| found["name"] == job);
    let ranks = named
        .filter_map(|found| found["ranks"].as_u64())
        .max()
        .unwrap_or(0);
    let seen = pairs
        .iter()
        .flat_map(|pair| [pair.from[1], pair.to[1]])
        .max();
    ranks.max(seen.map_or(0, |last| last + 1))
}
