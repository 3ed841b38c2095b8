//! Throughput and latency over the offered load, as `curve.svg` and the pages of reports draw them.

use super::document;
use super::nic_rate::NicRate;
use crate::config::{About, Plan};
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use crate::run::RunResult;
use crate::units::four_digits;
use serde_json::{Value, json};

/// The width of the figures beside a result, in pixels.
pub(super) const WIDTH: u32 = 1000;

/// Most characters of a title, which a figure of 1000 pixels has room for.
const MAX_TITLE: usize = 120;

/// The title of a figure: the name of the experiment, if it has one, and what is drawn.
pub(super) fn titled(about: &About, what: &str) -> String {
    let Some(name) = &about.name else {
        return what.to_owned();
    };
    let room = MAX_TITLE.saturating_sub(what.chars().count() + 2);
    if name.chars().count() <= room {
        format!("{name}: {what}")
    } else {
        let cut: String = name.chars().take(room.saturating_sub(1)).collect();
        format!("{}…: {what}", cut.trim_end())
    }
}

/// The title of the panel over all service levels.
pub(crate) const ALL: &str = "all service levels";
/// Over which values the intervals of a run are.
pub(crate) const OF_RUN: &str = "within one run, where they are known";

/// The legend of the marks of curves and, where one is logarithmic, of their axis. `intervals`: over which values the
/// intervals are; empty without any.
pub(crate) fn marks(intervals: &str, log: bool) -> String {
    let mut note = "Hollow marks: the fabric did not keep up (saturated).".to_owned();
    if !intervals.is_empty() {
        note += &format!(" Bars: 95 % intervals {intervals}.");
    }
    if log {
        note += " Logarithmic axis.";
    }
    note
}

/// The quantity of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Throughput,
    Latency,
}

/// A curve of a run or of a point of a study.
pub(crate) struct Curve {
    pub series: String,
    pub panel: String,
    /// The places of its series and of its panel among the others.
    pub places: [Vec<usize>; 2],
    pub points: Vec<CurvePoint>,
}

/// The figure of a run without a job: throughput above latency.
pub(super) fn curve_figure(plan: &Plan, result: &RunResult) -> Figure {
    let points = document::curve(plan, result);
    let points: Vec<Value> = points.iter().map(|point| json!(point)).collect();
    let chart = |measure| {
        let mut curves = curves(of_run("", &points, measure), measure);
        // A single run needs no legend.
        curves.series.clear();
        Chart::Curves(curves)
    };
    let nic = NicRate::of(&plan.experiment);
    let mut note = format!(
        "{} NICs; 1 flit/cycle/NIC is {} Gb/s or {} GB/s per NIC. {} The axis of the latency is logarithmic.",
        plan.experiment.fabric.topology.nics(),
        four_digits(nic.gbit_per_s(1.0)),
        four_digits(nic.gbyte_per_s(1.0)),
        marks(OF_RUN, false),
    );
    if points.iter().any(|point| point["steady"] == false) {
        note += " Crosses: not steady.";
    }
    let what = "Accepted load and mean end-to-end latency over the offered load";
    Figure {
        title: titled(&plan.about, what),
        note,
        chart: Chart::Column([Measure::Throughput, Measure::Latency].map(chart).into()),
    }
}

/// Puts curves together that have the same panel, and gives each series a colour.
pub(crate) fn curves(curves: Vec<Curve>, measure: Measure) -> Curves {
    let curves = curves.into_iter().filter(|curve| !curve.points.is_empty());
    let curves: Vec<Curve> = curves.collect();
    let series = in_order(&curves, |curve| (&curve.places[0], &curve.series));
    let panels = in_order(&curves, |curve| (&curve.places[1], &curve.panel));
    let empty = |name| CurvePanel {
        name,
        lines: Vec::new(),
    };
    let mut panels: Vec<CurvePanel> = panels.into_iter().map(empty).collect();
    for curve in curves {
        let at = series.iter().position(|name| *name == curve.series);
        let panel = panels.iter_mut().find(|panel| panel.name == curve.panel);
        if let (Some(series), Some(panel)) = (at, panel) {
            let points = curve.points;
            panel.lines.push(Line { series, points });
        }
    }
    let y = match measure {
        Measure::Throughput => Axis::new("accepted per NIC", "Gb/s"),
        Measure::Latency => Axis::new("mean end-to-end latency", "ns"),
    };
    Curves {
        x: Axis::new("offered per NIC", "Gb/s"),
        y,
        log_y: measure == Measure::Latency,
        marks: true,
        series,
        panels,
        ..Curves::default()
    }
}

/// The series or the panels of curves, each once: by their places, of equal places the first one first.
fn in_order<'a>(
    curves: &'a [Curve],
    of: impl Fn(&'a Curve) -> (&'a Vec<usize>, &'a String),
) -> Vec<String> {
    let mut all: Vec<(&Vec<usize>, &String)> = curves.iter().map(of).collect();
    all.sort_by_key(|(place, _)| *place);
    let mut names: Vec<String> = Vec::new();
    for (_, name) in all {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The curves of a run whose result has these points: a panel for each service level with traffic and, if there are
/// several, one for all together.
pub(crate) fn of_run(label: &str, points: &[Value], measure: Measure) -> Vec<Curve> {
    let first = points.first();
    let Some(levels) = first.and_then(|point| point["service_levels"].as_object()) else {
        return Vec::new();
    };
    let offers = |name: &&String| {
        let at = |point: &Value| offered_at(&point["service_levels"][name.as_str()]) > 0.0;
        points.iter().any(at)
    };
    let names: Vec<&String> = levels.keys().filter(offers).collect();
    let mut curves = Vec::new();
    if measure == Measure::Throughput {
        curves.push(curve(label, ALL, points, |point| {
            Some(accepted(point, point))
        }));
        if names.len() < 2 {
            return curves;
        }
    }
    for name in &names {
        // A single level is all of them.
        let panel = if names.len() == 1 { ALL } else { name.as_str() };
        curves.push(curve(label, panel, points, |point| {
            let level = &point["service_levels"][name.as_str()];
            if measure == Measure::Throughput {
                return Some(accepted(level, point));
            }
            let mean = level["end_to_end_ns"]["mean"].as_f64()?;
            Some((mean, level["end_to_end_interval_ns"]["half_width"].as_f64()))
        }));
    }
    curves
}

/// The accepted load in Gb/s per NIC, and half its interval.
fn accepted(of: &Value, point: &Value) -> (f64, Option<f64>) {
    let half = of["accepted_interval"]["half_width"].as_f64();
    let half = half.map(|half| half * gbit_per_flit(point));
    (number(&of["accepted_gbit_per_s_per_nic"]), half)
}

/// Gb/s per NIC of a flit per cycle and NIC, from the numbers of a point.
fn gbit_per_flit(point: &Value) -> f64 {
    let load = number(&point["accepted_flits_per_cycle_per_nic"]);
    let rate = number(&point["accepted_gbit_per_s_per_nic"]);
    if load > 0.0 { rate / load } else { 0.0 }
}

fn offered_at(point: &Value) -> f64 {
    number(&point["offered_gbit_per_s_per_nic"])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn curve(
    label: &str,
    panel: &str,
    points: &[Value],
    value: impl Fn(&Value) -> Option<(f64, Option<f64>)>,
) -> Curve {
    let one = |point: &Value| {
        let (y, half) = value(point)?;
        Some(CurvePoint {
            x: offered_at(point),
            y,
            half,
            hollow: point["saturated"] == true,
            crossed: point["steady"] == false,
        })
    };
    Curve {
        series: label.to_owned(),
        panel: panel.to_owned(),
        places: Default::default(),
        points: points.iter().filter_map(one).collect(),
    }
}
