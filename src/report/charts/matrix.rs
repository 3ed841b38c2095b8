//! Matrices of messages, bytes and waits between groups of ranks.

use super::subject::{Heading, Subject, each};
use super::title::{for_job, titled};
use crate::figure::{Cell, Chart, Figure, Matrix};
use crate::report::source::{Pair, RunSource};
use crate::units::{byte_unit, time_unit};

const HEADING: Heading = Heading::of_runs("communication", "Messages between ranks");

pub(super) const BYTES: Subject = Subject {
    name: "matrix",
    heading: HEADING,
    needs: (
        "messages between ranks (matrix.csv): no run has any; messages of `\"in-network\"` collectives are with switches",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, |run| figures(run, Measure::Bytes))),
};

pub(super) const MESSAGES: Subject = Subject {
    name: "messages",
    draw: |sources, _| Ok(each(sources, |run| figures(run, Measure::Messages))),
    ..BYTES
};

pub(super) const WAITS: Subject = Subject {
    name: "waits",
    heading: Heading::of_runs("waits", "Waits between ranks"),
    needs: (
        "waits between ranks (waits.csv): no run has any, or it is of an earlier version; in `\"in-network\"` collectives \
         ranks wait for switches",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, |run| figures(run, Measure::Waits))),
};

/// The quantity that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Bytes,
    Messages,
    Waits,
}

impl Measure {
    fn of(self, run: &RunSource) -> &[Pair] {
        match self {
            Self::Bytes | Self::Messages => &run.pairs,
            Self::Waits => &run.waits,
        }
    }

    fn title(self, job: &str) -> String {
        match self {
            Self::Bytes => for_job("Bytes between the ranks", job),
            Self::Messages => for_job("Messages between the ranks", job),
            Self::Waits => for_job("Waits between the ranks", job),
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::Bytes | Self::Messages => {
                "Logarithmic shades; pairs without messages are left blank. Steps of collective operations count."
            }
            Self::Waits => {
                "Time that a rank waits for a message of another, or to send to it. Logarithmic shades; waits in \
                 collective operations count for the rank whose message ends them."
            }
        }
    }

    fn axes(self) -> [&'static str; 2] {
        match self {
            Self::Bytes | Self::Messages => ["sending rank", "receiving rank"],
            Self::Waits => ["waiting rank", "rank waited for"],
        }
    }
}

fn figures(run: &RunSource, measure: Measure) -> Vec<Figure> {
    let all = measure.of(run);
    let mut jobs: Vec<&str> = all.iter().map(|pair| pair.job.as_str()).collect();
    jobs.dedup();
    let one = |job: &str| {
        let pairs: Vec<&Pair> = all.iter().filter(|pair| pair.job == job).collect();
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
    let most = pairs.iter().map(|pair| pair.amount).max().unwrap_or(0);
    let (factor, unit) = match measure {
        Measure::Bytes => {
            let (size, unit) = byte_unit(most);
            (1.0 / size as f64, unit)
        }
        Measure::Messages => (1.0, "messages"),
        Measure::Waits => time_unit(most as f64),
    };
    let cell = |pair: &&Pair| Cell {
        row: (pair.from[0] / group) as usize,
        column: (pair.to[0] / group) as usize,
        half: None,
        value: factor
            * match measure {
                Measure::Bytes | Measure::Waits => pair.amount as f64,
                Measure::Messages => pair.count as f64,
            },
    };
    let mut note = measure.note().to_owned();
    if group > 1 {
        note += &format!(" Each row and column is {group} ranks.");
    }
    let [rows, columns] = measure.axes().map(str::to_owned);
    Figure {
        title: titled(&measure.title(job), &run.label),
        note,
        chart: Chart::Matrix(Matrix {
            measure: unit.to_owned(),
            rows,
            columns,
            names: names.collect(),
            cells: pairs
                .iter()
                .map(cell)
                .filter(|cell| cell.value > 0.0)
                .collect(),
            ..Matrix::default()
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
