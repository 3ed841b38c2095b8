//! Differences from the reference of an axis, paired by seed: bars for the points of a study.

use super::bars::{Grid, Measure, Of, Unit, figure};
use crate::figure::Figure;
use crate::report::source::{Source, StudyRow, StudySource};
use serde_json::Value;
use std::collections::BTreeMap;

const TIME: Measure = Measure {
    title: "Execution time",
    axis: "execution time, difference",
    column: "execution_time_ps",
    field: "",
    base: 0.0,
    unit: Unit::As("%"),
    of: Of::Jobs,
};
const THROUGHPUT: Measure = Measure {
    title: "Throughput",
    axis: "accepted per NIC, difference",
    column: "throughput_gbit_per_s_per_nic",
    of: Of::Loads,
    ..TIME
};
const LATENCY: Measure = Measure {
    title: "Mean latency",
    axis: "mean latency, difference",
    column: "latency_mean_ns",
    ..THROUGHPUT
};
const BANDWIDTH: Measure = Measure {
    title: "Bandwidth by static analysis",
    axis: "bandwidth, difference",
    column: "bandwidth",
    of: Of::All,
    ..TIME
};

/// An axis of a study, and the label that the others are compared with.
struct Compared<'a> {
    /// Its place among the axes.
    at: usize,
    name: &'a str,
    reference: &'a str,
}

/// A row without its setting on the compared axis: the settings of the others, the load and the seed.
type Pairing<'a> = (Vec<&'a str>, Option<&'a str>, Option<u64>);

impl Compared<'_> {
    fn pairing<'r>(&self, row: &'r StudyRow) -> Pairing<'r> {
        let labels = row.labels.iter().map(String::as_str).enumerate();
        let others = labels.filter(|&(at, _)| at != self.at);
        let others = others.map(|(_, label)| label).collect();
        (others, row.load.as_deref(), row.cells["seed"].as_u64())
    }
}

/// The differences of all studies: a figure for each axis and measure.
pub(super) fn figures(sources: &[Source]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for source in sources {
        let Source::Study(study) = source else {
            continue;
        };
        for axis in compared(study) {
            for measure in [TIME, THROUGHPUT, LATENCY, BANDWIDTH] {
                if measure.of.has(study) {
                    figures.extend(of_axis(study, &axis, measure));
                }
            }
        }
    }
    figures
}

/// The axes with several settings.
fn compared(study: &StudySource) -> Vec<Compared<'_>> {
    let axes = study.study["axes"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let settings = |axis: &Value| axis["settings"].as_array().map_or(0, Vec::len);
    let several = axes
        .iter()
        .enumerate()
        .filter(|(_, axis)| settings(axis) > 1);
    let of = several.filter_map(|(at, axis)| {
        Some(Compared {
            at,
            name: axis["name"].as_str()?,
            reference: axis["reference"].as_str()?,
        })
    });
    of.collect()
}

fn of_axis(study: &StudySource, axis: &Compared<'_>, measure: Measure) -> Option<Figure> {
    let complete = |row: &&StudyRow| row.cells["status"] == "complete";
    let is_reference = |row: &StudyRow| {
        let label = row.labels.get(axis.at);
        label.is_some_and(|label| label == axis.reference)
    };
    let references = study
        .rows
        .iter()
        .filter(complete)
        .filter(|row| is_reference(row));
    let references: BTreeMap<Pairing<'_>, f64> = references
        .filter_map(|row| Some((axis.pairing(row), row.number(measure.column)?)))
        .collect();
    let several_loads = study.has_points_of_several_loads();
    let load = several_loads.then(|| "load".to_owned());
    let names = study.axes.iter().cloned().chain(load);
    let mut grid = Grid {
        label: study.label.clone(),
        axes: names.map(|name| (name, Vec::new())).collect(),
        values: BTreeMap::new(),
    };
    let others = study
        .rows
        .iter()
        .filter(complete)
        .filter(|row| !is_reference(row));
    for row in others {
        let value = row.number(measure.column);
        let reference = references.get(&axis.pairing(row)).copied();
        let (Some(value), Some(reference)) = (value, reference.filter(|value| *value != 0.0))
        else {
            continue;
        };
        let mut labels = row.labels.clone();
        labels.extend(row.load.clone().filter(|_| several_loads));
        grid.know(&labels);
        let percent = 100.0 * (value - reference) / reference;
        grid.values.entry(labels).or_default().push(percent);
    }
    if grid.values.is_empty() {
        return None;
    }
    let (what, name, reference) = (measure.title, axis.name, axis.reference);
    let title = match &grid.axes[axis.at].1[..] {
        [only] => format!("{what} with {name} = {only} against {reference}"),
        _ => format!("{what} against {name} = {reference}"),
    };
    let mut drawn = figure(&grid, measure);
    drawn.title = super::title::titled(&title, &study.label);
    drawn.note = format!("Differences of runs with the same seed. {}", drawn.note);
    Some(drawn)
}
