//! The use of the time on the critical path: of the whole, and of ten slices.

use super::subject::{Heading, Subject, each};
use super::title::{for_job, titled};
use crate::explain::Part;
use crate::figure::{Axis, Chart, Figure, Stack, Stacks};
use crate::report::source::RunSource;
use crate::units::time_unit;
use serde_json::Value;

pub(super) const SUBJECT: Subject = Subject {
    name: "explanation",
    heading: Heading::of_runs("why", "Why it takes so long"),
    needs: (
        "explanations, which need --explain",
        "flitwise run EXP.toml --explain --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, figures)),
};

fn figures(run: &RunSource) -> Vec<Figure> {
    let jobs = run.result["explanation"].as_array().into_iter().flatten();
    jobs.map(|job| figure(run, job)).collect()
}

fn figure(run: &RunSource, job: &Value) -> Figure {
    let ps = |of: &Value, part: Part| of[part.key()].as_f64().unwrap_or(0.0);
    let phases = job["phases"].as_array().map_or(&[][..], Vec::as_slice);
    // Parts that take no time at all would only fill the legend.
    let parts: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| ps(&job["parts"], *part) > 0.0)
        .collect();
    let slice = |phase: &Value| {
        phase["to_ps"].as_f64().unwrap_or(0.0) - phase["from_ps"].as_f64().unwrap_or(0.0)
    };
    let (factor, unit) = time_unit(phases.iter().map(slice).fold(0.0, f64::max));
    let (whole, whole_unit) = time_unit(job["total_ps"].as_f64().unwrap_or(0.0));
    let stack = |phase: &Value| {
        let end = |key: &str| crate::units::number(phase[key].as_f64().unwrap_or(0.0) * whole);
        Stack {
            name: format!("{}–{} {whole_unit}", end("from_ps"), end("to_ps")),
            parts: parts
                .iter()
                .map(|part| ps(&phase["parts"], *part) * factor)
                .collect(),
        }
    };
    let name = job["job"].as_str().unwrap_or_default();
    Figure {
        title: titled(&for_job("Time on the critical path", name), &run.label),
        note: "Ten equal slices of the time, from top to bottom.".to_owned(),
        chart: Chart::Stacks(Stacks {
            axis: Axis::new("time in the slice", unit),
            parts: parts.iter().map(|part| part.words().to_owned()).collect(),
            stacks: phases.iter().map(stack).collect(),
        }),
    }
}
