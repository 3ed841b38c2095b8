//! The activities of ranks over time.

use super::subject::{Heading, Subject, each};
use super::title::{for_job, titled};
use crate::figure::{Axis, Chart, Figure, Row, Span, Spans};
use crate::report::source::{RunSource, Slice};
use crate::units::time_unit;

pub(super) const SUBJECT: Subject = Subject {
    name: "timeline",
    heading: Heading::of_runs("ranks", "What the ranks do"),
    needs: (
        "timelines of ranks (ranks.csv), which need --timeline",
        "flitwise run EXP.toml --timeline FILE.pftrace --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, figures)),
};

/// The first entries of the legend, so that they have the same colours in all figures.
const FIRST: [&str; 4] = ["compute", "receive", "send", "wait"];

fn figures(run: &RunSource) -> Vec<Figure> {
    let mut jobs: Vec<&str> = run.slices.iter().map(|slice| slice.job.as_str()).collect();
    jobs.dedup();
    let one = |job: &str| {
        let slices: Vec<&Slice> = run.slices.iter().filter(|slice| slice.job == job).collect();
        of_job(run, job, &slices)
    };
    jobs.into_iter().map(one).collect()
}

fn of_job(run: &RunSource, job: &str, slices: &[&Slice]) -> Figure {
    let end = slices.iter().map(|slice| slice.ps[1]).max().unwrap_or(0);
    let (factor, unit) = time_unit(end as f64);
    let mut names: Vec<String> = FIRST.map(str::to_owned).to_vec();
    let mut rows: Vec<Row> = Vec::new();
    let mut last = None;
    for slice in slices {
        let known = names.iter().position(|name| *name == slice.doing);
        let does = known.unwrap_or_else(|| {
            names.push(slice.doing.clone());
            names.len() - 1
        });
        if last != Some(slice.ranks) {
            last = Some(slice.ranks);
            let [first, last] = slice.ranks;
            let name = if first == last {
                first.to_string()
            } else {
                format!("{first}–{last}")
            };
            rows.push(Row {
                name,
                ..Row::default()
            });
        }
        let [from, to] = slice.ps.map(|ps| ps as f64 * factor);
        let Some(row) = rows.last_mut() else { continue };
        row.times.resize(names.len(), 0.0);
        row.times[does] += slice.part * (to - from);
        match row.spans.last_mut() {
            // The longest activity of this slice.
            Some(span) if span.to >= to => {}
            Some(span) if span.does == does && (span.to - from).abs() < 1e-9 * to => span.to = to,
            _ => row.spans.push(Span { from, to, does }),
        }
    }
    Figure {
        title: titled(&for_job("Activities of the ranks", job), &run.label),
        note: "What a rank did for most of each slice of time.".to_owned(),
        chart: Chart::Spans(Spans {
            x: Axis::new("time", unit),
            of: "rank".to_owned(),
            names,
            rows,
            end: end as f64 * factor,
        }),
    }
}
