//! The distributions of latencies: the part of messages or packets that is not slower than a time.

use super::subject::{Heading, Subject, details};
use super::title::titled;
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use crate::report::source::{Distribution, RunSource};

pub(super) const SUBJECT: Subject = Subject {
    name: "distribution",
    heading: Heading::of_runs("latencies", "How latencies are distributed"),
    needs: (
        "distributions of latencies (latencies.csv)",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(figures(&details(sources))),
};

/// The kinds of latencies, and the names of their panels.
const KINDS: [(&str, &str); 2] = [
    ("end_to_end", "end to end, messages"),
    ("network", "in the network, packets"),
];

fn figures(runs: &[&RunSource]) -> Vec<Figure> {
    let mut series: Vec<String> = Vec::new();
    let mut panels: Vec<CurvePanel> = Vec::new();
    for (kind, name) in KINDS {
        let mut lines = Vec::new();
        for run in runs {
            for one in run
                .latencies
                .iter()
                .filter(|one| one.kind == kind && shown(run, one))
            {
                let name = match runs.len() {
                    1 => one.of.clone(),
                    _ => format!("{}, {}", run.label, one.of),
                };
                let known = series.iter().position(|other| *other == name);
                let at = known.unwrap_or_else(|| {
                    series.push(name);
                    series.len() - 1
                });
                lines.push(Line {
                    series: at,
                    points: points(one),
                });
            }
        }
        if !lines.is_empty() {
            let name = name.to_owned();
            panels.push(CurvePanel { name, lines });
        }
    }
    if panels.is_empty() {
        return Vec::new();
    }
    let label = if let [run] = runs {
        run.label.as_str()
    } else {
        ""
    };
    vec![Figure {
        title: titled("Latencies", label),
        note: "Each curve shows the part that took no longer. Buckets of an eighth of a power of two; time in logarithmic steps.".to_owned(),
        chart: Chart::Curves(Curves {
            x: Axis::new("latency", "ns"),
            log_x: true,
            y: Axis::new("part", "%"),
            series,
            panels,
            ..Curves::default()
        }),
    }]
}

/// A service level that carries one job alone is left out: it would repeat the job's curve.
fn shown(run: &RunSource, one: &Distribution) -> bool {
    let count = |of: &Distribution| of.buckets.iter().map(|bucket| bucket.2).sum::<u64>();
    let jobs = run
        .latencies
        .iter()
        .filter(|other| other.of.starts_with("job "));
    one.of.starts_with("job ")
        || one.kind != "end_to_end"
        || !jobs.into_iter().any(|job| count(job) == count(one))
}

fn points(one: &Distribution) -> Vec<CurvePoint> {
    let all: u64 = one.buckets.iter().map(|bucket| bucket.2).sum();
    let mut sum = 0;
    let first = one.buckets.first().map(|bucket| (bucket.0.max(0.1), 0.0));
    let others = one.buckets.iter().map(|(_, to, count)| {
        sum += count;
        (to.max(0.1), 100.0 * sum as f64 / all.max(1) as f64)
    });
    let all = first.into_iter().chain(others);
    all.map(|(x, y)| CurvePoint::at(x, y)).collect()
}
