//! Execution times, and where the time goes.

use super::bars;
use super::measures::{Measure, Of, Unit};
use super::subject::{Heading, Subject};
use super::title::titled;
use crate::figure::{Axis, Chart, Figure, Stack, Stacks};
use crate::report::source::{RunSource, Source, StudySource};
use crate::units::time_unit;
use serde_json::Value;

const HEADING: Heading = Heading::of_runs("time", "Execution time");

pub(super) const SUBJECT: Subject = Subject {
    name: "time",
    heading: HEADING,
    needs: (
        "execution times: no run has a job that ended",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| bars::figures(&[MEASURE], sources, choice),
};

pub(super) const SPLIT: Subject = Subject {
    name: "split",
    heading: HEADING,
    needs: (
        "parts of the time: no run has a job, or all were made with --no-split",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(splits(sources)),
};

const MEASURE: Measure = Measure {
    title: "Execution time",
    axis: "execution time",
    column: "execution_time_ps",
    field: "execution_time_ps",
    base: 0.0,
    signed: false,
    unit: Unit::Picoseconds,
    of: Of::All,
};

/// The parts of the time, as fields and as people call them.
const PARTS: [(&str, &str); 6] = [
    ("computing_ps", "computing"),
    ("partners_ps", "waiting for partners"),
    ("latency_and_serialisation_ps", "unloaded network"),
    ("queueing_ps", "contention: busy links"),
    ("credit_stalls_ps", "contention: missing credits"),
    (LINKS_DOWN, "contention: links down"),
];
/// The part that only runs have whose links can go down.
const LINKS_DOWN: &str = "links_down_ps";
/// Most bars of a figure.
const MOST: usize = 60;

/// A name and its parts in picoseconds.
type Bar = (String, Vec<f64>);

fn splits(sources: &[Source]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut jobs: Vec<Bar> = Vec::new();
    for source in sources {
        match source {
            Source::Run(run) => jobs.extend(of_run(run)),
            Source::Study(study) => {
                figures.extend(figure(
                    &study.label,
                    &format!("Means over the seeds.{}", bars::incomplete(&[study])),
                    of_study(study),
                ));
            }
            Source::Congestion(_) => {}
        }
    }
    figures.extend(figure("", "", jobs));
    figures
}

fn of_run(run: &RunSource) -> Vec<Bar> {
    let jobs = run.result["jobs"].as_array().into_iter().flatten();
    let one = |job: &Value| {
        let parts = parts(&job["time_split"])?;
        let name = job["name"].as_str().unwrap_or_default();
        Some((format!("{}, {name}", run.label), parts))
    };
    jobs.filter_map(one).collect()
}

fn of_study(study: &StudySource) -> Vec<Bar> {
    let mut bars: Vec<(u64, String, Vec<f64>, f64)> = Vec::new();
    for row in &study.rows {
        let Some(parts) = parts(&row.cells) else {
            continue;
        };
        match bars.last_mut() {
            Some((point, _, sum, count)) if *point == row.point => {
                sum.iter_mut()
                    .zip(parts)
                    .for_each(|(sum, part)| *sum += part);
                *count += 1.0;
            }
            _ => bars.push((row.point, study.point_name(row), parts, 1.0)),
        }
    }
    let mean = |(_, name, sum, count): (u64, String, Vec<f64>, f64)| {
        (name, sum.into_iter().map(|part| part / count).collect())
    };
    bars.into_iter().map(mean).collect()
}

fn parts(of: &Value) -> Option<Vec<f64>> {
    let part = |(field, _): &(&str, &str)| match of[*field].as_f64() {
        None if *field == LINKS_DOWN => Some(0.0),
        part => part,
    };
    PARTS.iter().map(part).collect()
}

fn figure(label: &str, note: &str, mut bars: Vec<Bar>) -> Option<Figure> {
    let all = bars.len();
    let mut names = PARTS.map(|(_, name)| name.to_owned()).to_vec();
    let last = names.len() - 1;
    if bars.iter().all(|(_, parts)| parts[last] <= 0.0) {
        names.truncate(last);
        bars.iter_mut().for_each(|(_, parts)| parts.truncate(last));
    }
    bars.truncate(MOST);
    let longest = bars.iter().map(|(_, parts)| parts.iter().sum::<f64>());
    let (factor, unit) = time_unit(longest.fold(0.0, f64::max));
    let stack = |(name, parts): Bar| Stack {
        name,
        parts: parts.into_iter().map(|part| part * factor).collect(),
    };
    let mut note = note.to_owned();
    if all > MOST {
        note += &format!(" The first {MOST} of {all} points.");
    }
    (!bars.is_empty()).then(|| Figure {
        title: titled("Where the time goes", label),
        note: note.trim().to_owned(),
        chart: Chart::Stacks(Stacks {
            axis: Axis::new("execution time", unit),
            parts: names,
            stacks: bars.into_iter().map(stack).collect(),
        }),
    })
}
