//! Throughput and latency over load, overlaid over runs and the points of studies.

use super::bars::{self, incomplete, seeds};
use super::choice::Choice;
use super::measures::{self, Of, Unit};
use super::subject::{Heading, Subject};
use super::title::setting;
use crate::figure::{Chart, CurvePoint, Figure};
use crate::report::ReportError;
use crate::report::source::{LOAD, Source, StudyRow, StudySource};
use crate::results::figure::{ALL, Curve, Measure, OF_RUN, curves, marks, of_run};
use crate::study::Mean;
use std::collections::BTreeMap;

const HEADING: Heading = Heading::of_runs("curves", "Throughput and latency");

pub(super) const THROUGHPUT: Subject = Subject {
    name: "throughput",
    heading: HEADING,
    needs: (
        "curves: no run has loads",
        "flitwise run EXP.toml --set 'measure.loads=[0.2, 0.5, 0.8]' --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| {
        let bars = bars::figures(&[ACCEPTED], sources, choice)?;
        Ok([throughput(sources, choice)?, bars].concat())
    },
};

pub(super) const LATENCY: Subject = Subject {
    name: "latency",
    heading: HEADING,
    needs: (
        "curves: no run has loads, and no study has latencies",
        "flitwise run EXP.toml --set 'measure.loads=[0.2, 0.5, 0.8]' --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| {
        let bars = bars::figures(&[OF_MESSAGES, OF_PACKETS], sources, choice)?;
        Ok([latency(sources, choice)?, bars].concat())
    },
};

const ACCEPTED: measures::Measure = measures::Measure {
    title: "Throughput",
    axis: "accepted per NIC",
    column: "throughput_gbit_per_s_per_nic",
    // Runs have curves instead.
    field: "",
    base: 0.0,
    signed: false,
    unit: Unit::As("Gb/s"),
    of: Of::OneLoad,
};
const OF_PACKETS: measures::Measure = measures::Measure {
    title: "Latency of packets",
    axis: "mean latency in the network",
    column: "packet_latency_mean_ns",
    unit: Unit::Nanoseconds,
    of: Of::JobsOrOneLoad,
    ..ACCEPTED
};
const OF_MESSAGES: measures::Measure = measures::Measure {
    title: "Latency of messages",
    axis: "mean end-to-end latency",
    column: "latency_mean_ns",
    of: Of::Jobs,
    ..OF_PACKETS
};

fn throughput(sources: &[Source], choice: &Choice) -> Result<Vec<Figure>, ReportError> {
    figure("Throughput over load", sources, Measure::Throughput, choice)
}

fn latency(sources: &[Source], choice: &Choice) -> Result<Vec<Figure>, ReportError> {
    figure("Latency over load", sources, Measure::Latency, choice)
}

fn figure(
    title: &str,
    sources: &[Source],
    measure: Measure,
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    let mut all = Vec::new();
    let (mut has_runs, mut studies) = (false, Vec::new());
    for (at, source) in sources.iter().enumerate() {
        let first = all.len();
        match source {
            Source::Run(run) => {
                let points = run.result["curve"].as_array();
                let points = points.map_or(&[][..], Vec::as_slice);
                let of_run = of_run(&run.label, points, measure);
                has_runs |= !of_run.is_empty();
                all.extend(of_run);
            }
            // Studies with one load are shown as bars.
            Source::Study(study) if study.has_loads() && !study.has_one_load() => {
                let roles = Roles::of(study, sources.len() > 1, choice)?;
                all.extend(of_study(study, &roles, measure));
                studies.push(&**study);
            }
            Source::Study(_) | Source::Congestion(_) => {}
        }
        let places = all[first..].iter_mut().flat_map(|curve| &mut curve.places);
        places.for_each(|place| place.insert(0, at));
    }
    let mut curves = curves(all, measure);
    if curves.panels.is_empty() {
        return Ok(Vec::new());
    }
    if studies.is_empty() {
        // Each run has a colour.
        series_among(&["run"], choice)?;
    }
    // Studies do not record which points were steady, so no curve of a page shows it.
    let lines = curves.panels.iter_mut().flat_map(|panel| &mut panel.lines);
    for point in lines.flat_map(|line| &mut line.points) {
        point.crossed = false;
    }
    Ok(vec![Figure {
        title: title.to_owned(),
        note: marks(&intervals(has_runs, &studies, measure), curves.log_y) + &incomplete(&studies),
        chart: Chart::Curves(curves),
    }])
}

/// Over which values the intervals of runs and of studies are.
fn intervals(has_runs: bool, studies: &[&StudySource], measure: Measure) -> String {
    let mut counts: BTreeMap<(usize, u64, Option<&str>), usize> = BTreeMap::new();
    for (at, study) in studies.iter().enumerate() {
        let known = |row: &&StudyRow| row.number(column(measure)).is_some();
        for row in study.rows.iter().filter(known) {
            let point = (at, row.point, row.load.as_deref());
            *counts.entry(point).or_default() += 1;
        }
    }
    match (has_runs, seeds(counts.values().copied())) {
        (false, None) => String::new(),
        (false, Some(seeds)) => format!("over {seeds}"),
        (true, None) => OF_RUN.to_owned(),
        (true, Some(seeds)) => format!("of studies over {seeds}, of runs {OF_RUN}"),
    }
}

/// The place of the axis for the colours that `choice` names among `axes`. From left to right is always the load.
fn series_among(axes: &[&str], choice: &Choice) -> Result<Option<usize>, ReportError> {
    if let Some(x) = choice.x.as_ref().filter(|x| *x != LOAD) {
        return Err(ReportError(format!(
            "--x: curves always go over the `{LOAD}`, not over `{x}`; give `{x}` to --series"
        )));
    }
    if choice.series.as_deref() == Some(LOAD) {
        return Err(ReportError(format!(
            "--series: curves always go over the `{LOAD}`, from left to right; choose another axis for the colours"
        )));
    }
    Choice::place("--series", choice.series.as_ref(), axes)
}

/// The axes that have the colours, and the ones that make panels.
struct Roles {
    series: Vec<usize>,
    panels: Vec<usize>,
    /// Whether the colours name the study, too.
    others: bool,
}

impl Roles {
    /// All axes have colours; if one is chosen for them, the others make panels. From left to right is the load.
    fn of(study: &StudySource, others: bool, choice: &Choice) -> Result<Self, ReportError> {
        let axes: Vec<&str> = study.axes.iter().map(String::as_str).collect();
        let chosen = series_among(&axes, choice)?;
        let is_series = |at: &usize| chosen.is_none_or(|chosen| chosen == *at);
        let (series, panels) = (0..axes.len()).partition(is_series);
        Ok(Self {
            series,
            panels,
            others,
        })
    }

    fn curve(&self, study: &StudySource, row: &StudyRow, points: Vec<CurvePoint>) -> Curve {
        let labels = |axes: &[usize]| {
            let labels = axes.iter().filter_map(|&at| {
                let label = row.labels.get(at)?;
                Some(setting(&study.axes[at], label))
            });
            labels.collect::<Vec<_>>().join(", ")
        };
        let place = |&at: &usize| study.place(at, row.labels.get(at)?);
        let places = |axes: &[usize]| axes.iter().filter_map(place).collect();
        let (series, panel) = (labels(&self.series), labels(&self.panels));
        Curve {
            series: match (series.is_empty(), self.others) {
                (true, _) => study.label.clone(),
                (false, true) => format!("{}, {series}", study.label),
                (false, false) => series,
            },
            panel: if panel.is_empty() {
                ALL.to_owned()
            } else {
                panel
            },
            places: [places(&self.series), places(&self.panels)],
            points,
        }
    }
}

/// The column of a study's runs.
fn column(measure: Measure) -> &'static str {
    match measure {
        Measure::Throughput => "throughput_gbit_per_s_per_nic",
        Measure::Latency => "latency_mean_ns",
    }
}

/// A curve for each point: means over the seeds.
fn of_study(study: &StudySource, roles: &Roles, measure: Measure) -> Vec<Curve> {
    let column = column(measure);
    let loads = |row: &&StudyRow| row.load.is_some();
    let mut rows: Vec<&StudyRow> = study.rows.iter().filter(loads).collect();
    // Stable: the loads of a point stay in their order, seed after seed.
    rows.sort_by_key(|row| row.point);
    let of_point = |rows: &[&StudyRow]| {
        let mut by_load: Vec<(&str, Vec<&StudyRow>)> = Vec::new();
        for &row in rows {
            let load = row.load.as_deref().unwrap_or_default();
            match by_load.iter_mut().find(|(known, _)| *known == load) {
                Some((_, seeds)) => seeds.push(row),
                None => by_load.push((load, vec![row])),
            }
        }
        let whole = |row: &&StudyRow| row.point == rows[0].point && row.load.is_none();
        let failed = study.rows.iter().filter(whole).count();
        let points = by_load
            .iter()
            .filter_map(|(_, seeds)| mean(seeds, column, failed));
        roles.curve(study, rows[0], points.collect())
    };
    rows.chunk_by(|a, b| a.point == b.point)
        .map(of_point)
        .collect()
}

/// The mean of the runs of a point at a load; `failed`: the number of its runs that failed as a whole.
fn mean(rows: &[&StudyRow], column: &str, failed: usize) -> Option<CurvePoint> {
    let of = |column: &str| {
        rows.iter()
            .filter_map(|row| row.number(column))
            .collect::<Vec<f64>>()
    };
    let mean = |column: &str| Mean::of(&of(column), rows.len() + failed);
    let (x, y) = (mean("offered_gbit_per_s_per_nic")?, mean(column)?);
    Some(CurvePoint {
        x: x.mean,
        y: y.mean,
        half: y.ci95,
        hollow: of("saturated").iter().any(|value| *value > 0.0),
        crossed: false,
    })
}
