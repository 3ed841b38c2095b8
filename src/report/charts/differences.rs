//! Differences from the reference of an axis, paired by seed: bars for the points of a study.

use super::bars::{Grid, figure, incomplete, name_single};
use super::choice::Choice;
use super::measures::{Measure, Of, Unit};
use super::subject::{Heading, Subject};
use super::title::titled;
use crate::figure::Figure;
use crate::report::ReportError;
use crate::report::source::{LOAD, Source, StudyRow, StudySource, studies};
use crate::study::Pairing;
use std::collections::BTreeMap;

pub(super) const SUBJECT: Subject = Subject {
    name: "differences",
    heading: Heading::of_runs("differences", "Paired differences"),
    needs: (
        "paired differences: no study has an axis with several settings",
        "flitwise run EXP.toml --seeds 1..5 --vary qos.scheduler=rr,sbt --out DIR",
    ),
    has_axes: true,
    draw: figures,
};

const TIME: Measure = Measure {
    title: "Execution time",
    axis: "execution time, difference",
    column: "execution_time_ps",
    field: "",
    base: 0.0,
    signed: true,
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

const SLOWDOWN: Measure = Measure {
    title: "Slowdown",
    axis: "slowdown",
    column: "slowdown_ratio",
    unit: Unit::As("percentage points"),
    of: Of::All,
    ..TIME
};
const PACKET_LATENCY: Measure = Measure {
    title: "Mean latency of packets",
    axis: "packet latency, difference",
    column: "packet_latency_mean_ns",
    of: Of::All,
    ..TIME
};
const ENERGY: Measure = Measure {
    title: "Energy",
    axis: "energy, difference",
    column: "energy_j",
    of: Of::All,
    ..TIME
};
const ENERGY_PER_BIT: Measure = Measure {
    title: "Energy for each bit delivered",
    axis: "energy per bit, difference",
    column: "energy_pj_per_bit",
    of: Of::All,
    ..TIME
};

/// The names of the metrics whose differences can be drawn.
pub const METRICS: [&str; 8] = [
    "time",
    "slowdown",
    "throughput",
    "latency",
    "packet-latency",
    "energy",
    "energy-per-bit",
    "bandwidth",
];

/// The measures of [`METRICS`], of whatever study.
const MEASURES: [Measure; METRICS.len()] = [
    TIME,
    SLOWDOWN,
    THROUGHPUT,
    LATENCY,
    PACKET_LATENCY,
    ENERGY,
    ENERGY_PER_BIT,
    BANDWIDTH,
];

/// An axis of a study, and the label that the others are compared with.
struct Compared<'a> {
    /// Its place among the axes.
    at: usize,
    name: &'a str,
    reference: &'a str,
    /// The place of the reference among the settings.
    place: usize,
}

/// A row without its setting on the compared axis: the settings of the others, the load and the seed.
type Partner<'a> = (Vec<&'a str>, Option<&'a str>, Option<u64>);

impl Compared<'_> {
    fn pairing<'r>(&self, row: &'r StudyRow) -> Partner<'r> {
        let labels = row.labels.iter().map(String::as_str).enumerate();
        let others = labels.filter(|&(at, _)| at != self.at);
        let others = others.map(|(_, label)| label).collect();
        (others, row.load.as_deref(), row.cells["seed"].as_u64())
    }
}

/// The differences of all studies: a figure for each axis, of the chosen metric or of several.
fn figures(sources: &[Source], choice: &Choice) -> Result<Vec<Figure>, ReportError> {
    match choice.metric.as_deref() {
        Some(name) => of_metric(sources, name, choice),
        None => of_measures(sources, &[TIME, THROUGHPUT, LATENCY, BANDWIDTH], choice),
    }
}

/// The differences of a page, which has the slowdown beside the time.
pub(super) fn of_page(sources: &[Source]) -> Vec<Figure> {
    let measures = [TIME, SLOWDOWN, THROUGHPUT, LATENCY, BANDWIDTH];
    // Without choices there is nothing to refuse.
    of_measures(sources, &measures, &Choice::default()).unwrap_or_default()
}

fn of_measures(
    sources: &[Source],
    measures: &[Measure],
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    let mut figures = Vec::new();
    for study in studies(sources) {
        for axis in compared(study) {
            for measure in measures {
                if measure.of.has(study) {
                    figures.extend(of_axis(study, &axis, *measure, choice)?);
                }
            }
        }
    }
    Ok(figures)
}

/// The differences of one metric, at least one figure if there are any differences.
fn of_metric(sources: &[Source], name: &str, choice: &Choice) -> Result<Vec<Figure>, ReportError> {
    let of = |measure: Measure, choice: &Choice| {
        let axes = studies(sources)
            .flat_map(|study| compared(study).into_iter().map(move |one| (study, one)));
        let figures = axes.map(|(study, axis)| of_axis(study, &axis, measure, choice));
        let figures: Result<Vec<Option<Figure>>, ReportError> = figures.collect();
        figures.map(|figures| figures.into_iter().flatten().collect::<Vec<_>>())
    };
    let named = || METRICS.into_iter().zip(MEASURES);
    let found = match named().find(|(known, _)| *known == name) {
        Some((_, measure)) => of(measure, choice)?,
        None => Vec::new(),
    };
    let any = Choice::default();
    let there = named().filter(|(_, measure)| of(*measure, &any).is_ok_and(|all| !all.is_empty()));
    let there: Vec<&str> = there.map(|(name, _)| name).collect();
    if found.is_empty() && !there.is_empty() {
        return Err(ReportError(format!(
            "--metric: the studies have no differences of `{name}`; they have {}",
            there.join(", ")
        )));
    }
    Ok(found)
}

/// The axes with several settings.
fn compared(study: &StudySource) -> Vec<Compared<'_>> {
    let axes = study.study["axes"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let of = axes.iter().enumerate().filter_map(|(at, axis)| {
        let settings = axis["settings"].as_array().filter(|all| all.len() > 1)?;
        let reference = axis["reference"].as_str()?;
        Some(Compared {
            at,
            name: axis["name"].as_str()?,
            reference,
            place: (settings.iter()).position(|one| one["label"] == reference)?,
        })
    });
    of.collect()
}

fn of_axis(
    study: &StudySource,
    axis: &Compared<'_>,
    measure: Measure,
    choice: &Choice,
) -> Result<Option<Figure>, ReportError> {
    let (grid, pairing) = differences(study, axis, measure);
    if grid.values.is_empty() {
        return Ok(None);
    }
    let (what, name, reference) = (measure.title, axis.name, axis.reference);
    let mut drawn = figure(&grid, measure, choice)?;
    let title = match &grid.axes[axis.at].1[..] {
        [only] => {
            name_single(&mut drawn, name, only);
            format!("{what} with {name} = {only} against {reference}")
        }
        _ => format!("{what} against {name} = {reference}"),
    };
    drawn.title = titled(&title, &study.label);
    drawn.note = format!("Differences, {}. {}", pairing.words(), drawn.note);
    Ok(Some(drawn))
}

/// The differences from the reference of `axis`, and how the runs are paired.
fn differences(study: &StudySource, axis: &Compared<'_>, measure: Measure) -> (Grid, Pairing) {
    let is_reference = |row: &&StudyRow| {
        let label = row.labels.get(axis.at);
        label.is_some_and(|label| label == axis.reference)
    };
    let references = study.rows.iter().filter(is_reference);
    let references: BTreeMap<Partner<'_>, &StudyRow> =
        references.map(|row| (axis.pairing(row), row)).collect();
    let several_loads = study.has_points_of_several_loads();
    let load = several_loads.then(|| LOAD.to_owned());
    let names = study.axes.iter().cloned().chain(load);
    let mut grid = Grid {
        label: study.label.clone(),
        axes: names.map(|name| (name, Vec::new())).collect(),
        values: BTreeMap::new(),
        runs: BTreeMap::new(),
        incomplete: incomplete(&[study]),
        left_out: Some((axis.at, axis.place)),
    };
    let mut pairing = Pairing::default();
    for row in study.rows.iter().filter(|row| !is_reference(row)) {
        let Some(&other) = references.get(&axis.pairing(row)) else {
            continue;
        };
        let mut labels = row.labels.clone();
        labels.extend(row.load.clone().filter(|_| several_loads));
        *grid.runs.entry(labels.clone()).or_default() += 1;
        // Only complete runs have numbers.
        let [value, reference] = [row, other].map(|row| row.number(measure.column));
        let (Some(value), Some(reference)) = (value, reference.filter(|value| *value != 0.0))
        else {
            continue;
        };
        let draw = |row: &StudyRow| row.cells["draw"].as_str().unwrap_or_default().to_owned();
        pairing.see(&draw(row), &draw(other));
        grid.know(&labels);
        let difference = 100.0 * (value - reference);
        let difference = if measure.column == SLOWDOWN.column {
            difference
        } else {
            difference / reference
        };
        grid.values.entry(labels).or_default().push(difference);
    }
    grid.sort(&[study]);
    (grid, pairing)
}
