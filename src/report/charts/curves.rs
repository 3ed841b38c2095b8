//! Throughput and latency over load, overlaid over runs and the points of studies.

use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use crate::report::source::{RunSource, Source, StudyRow, StudySource};
use crate::results::interval_95;
use serde_json::Value;

/// What the panel over all service levels is called.
const ALL: &str = "all service levels";

/// What a curve measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Throughput,
    Latency,
}

/// A curve of a run or of a point of a study.
struct Curve {
    series: String,
    panel: String,
    points: Vec<CurvePoint>,
}

pub(super) fn throughput(sources: &[Source]) -> Vec<Figure> {
    figure(sources, Measure::Throughput)
}

pub(super) fn latency(sources: &[Source]) -> Vec<Figure> {
    figure(sources, Measure::Latency)
}

fn figure(sources: &[Source], measure: Measure) -> Vec<Figure> {
    let curves = sources.iter().flat_map(|source| match source {
        Source::Run(run) => of_run(run, measure),
        // Bars show what has one load.
        Source::Study(study) if study.has_one_load() => Vec::new(),
        Source::Study(study) => of_study(study, sources.len() > 1, measure),
        Source::Congestion(_) => Vec::new(),
    });
    let curves: Vec<Curve> = curves.filter(|curve| !curve.points.is_empty()).collect();
    if curves.is_empty() {
        return Vec::new();
    }
    let mut series: Vec<String> = Vec::new();
    let mut panels: Vec<CurvePanel> = Vec::new();
    let place = |names: &mut Vec<String>, name: &str| {
        let known = names.iter().position(|other| other == name);
        known.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        })
    };
    let mut names: Vec<String> = Vec::new();
    for curve in curves {
        let line = Line {
            series: place(&mut series, &curve.series),
            points: curve.points,
        };
        let panel = place(&mut names, &curve.panel);
        if panel == panels.len() {
            panels.push(CurvePanel {
                name: curve.panel,
                lines: Vec::new(),
            });
        }
        panels[panel].lines.push(line);
    }
    let (title, y) = match measure {
        Measure::Throughput => (
            "Throughput over load",
            Axis::new("accepted per NIC", "Gb/s"),
        ),
        Measure::Latency => (
            "Latency over load",
            Axis::new("mean end-to-end latency", "ns"),
        ),
    };
    vec![Figure {
        title: title.to_owned(),
        note: "Hollow marks: the fabric did not keep up (saturated). Bars: 95 % intervals, where they are known.".to_owned(),
        chart: Chart::Curves(Curves {
            x: Axis::new("offered per NIC", "Gb/s"),
            y,
            log_y: measure == Measure::Latency,
            marks: true,
            series,
            panels,
            ..Curves::default()
        }),
    }]
}

/// Gb/s per NIC of a flit per cycle and NIC, from the numbers of a point.
fn gbit_per_flit(point: &Value) -> f64 {
    let load = point["accepted_flits_per_cycle_per_nic"]
        .as_f64()
        .unwrap_or(0.0);
    let rate = point["accepted_gbit_per_s_per_nic"].as_f64().unwrap_or(0.0);
    if load > 0.0 { rate / load } else { 0.0 }
}

fn of_run(run: &RunSource, measure: Measure) -> Vec<Curve> {
    let points = run.result["curve"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let Some(levels) = points
        .first()
        .and_then(|point| point["service_levels"].as_object())
    else {
        return Vec::new();
    };
    let offers = |name: &&String| {
        points.iter().any(|point| {
            number(&point["service_levels"][name.as_str()]["offered_gbit_per_s_per_nic"]) > 0.0
        })
    };
    let names: Vec<&String> = levels.keys().filter(offers).collect();
    let mut curves = Vec::new();
    if measure == Measure::Throughput {
        curves.push(curve(run, ALL, points, |point| {
            let half = point["accepted_interval"]["half_width"].as_f64();
            let half = half.map(|half| half * gbit_per_flit(point));
            Some((number(&point["accepted_gbit_per_s_per_nic"]), half))
        }));
        if names.len() < 2 {
            return curves;
        }
    }
    for name in &names {
        // A single level is all of them.
        let panel = if names.len() == 1 { ALL } else { name.as_str() };
        curves.push(curve(run, panel, points, |point| {
            let level = &point["service_levels"][name.as_str()];
            match measure {
                Measure::Throughput => {
                    let half = level["accepted_interval"]["half_width"].as_f64();
                    let half = half.map(|half| half * gbit_per_flit(point));
                    Some((number(&level["accepted_gbit_per_s_per_nic"]), half))
                }
                Measure::Latency => {
                    let mean = level["end_to_end_ns"]["mean"].as_f64()?;
                    Some((mean, level["end_to_end_interval_ns"]["half_width"].as_f64()))
                }
            }
        }));
    }
    curves
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn curve(
    run: &RunSource,
    panel: &str,
    points: &[Value],
    value: impl Fn(&Value) -> Option<(f64, Option<f64>)>,
) -> Curve {
    let one = |point: &Value| {
        let (y, half) = value(point)?;
        Some(CurvePoint {
            x: number(&point["offered_gbit_per_s_per_nic"]),
            y,
            half,
            hollow: point["saturated"] == true,
            crossed: false,
        })
    };
    Curve {
        series: run.label.clone(),
        panel: panel.to_owned(),
        points: points.iter().filter_map(one).collect(),
    }
}

/// A curve for each point: means over the seeds.
fn of_study(study: &StudySource, others: bool, measure: Measure) -> Vec<Curve> {
    let column = match measure {
        Measure::Throughput => "throughput_gbit_per_s_per_nic",
        Measure::Latency => "latency_mean_ns",
    };
    let mut curves: Vec<(u64, Curve)> = Vec::new();
    let loads = |row: &&StudyRow| row.load.is_some();
    let mut rows: Vec<&StudyRow> = study.rows.iter().filter(loads).collect();
    // Stable: the loads of a point stay in their order, seed after seed.
    rows.sort_by_key(|row| row.point);
    let mut at = 0;
    while at < rows.len() {
        let point = rows[at].point;
        let of_point: Vec<&StudyRow> = rows[at..]
            .iter()
            .take_while(|row| row.point == point)
            .copied()
            .collect();
        at += of_point.len();
        let name = study.point_name(of_point[0]);
        let series = if others {
            format!("{}, {name}", study.label)
        } else {
            name
        };
        let mut loads: Vec<&str> = Vec::new();
        for row in &of_point {
            let load = row.load.as_deref().unwrap_or_default();
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        let points = loads.iter().filter_map(|load| {
            let seeds: Vec<&&StudyRow> = of_point
                .iter()
                .filter(|row| row.load.as_deref() == Some(*load))
                .collect();
            mean(&seeds, column)
        });
        let curve = Curve {
            series,
            panel: ALL.to_owned(),
            points: points.collect(),
        };
        curves.push((point, curve));
    }
    curves.into_iter().map(|(_, curve)| curve).collect()
}

fn mean(rows: &[&&StudyRow], column: &str) -> Option<CurvePoint> {
    let of = |column: &str| {
        rows.iter()
            .filter_map(|row| row.number(column))
            .collect::<Vec<f64>>()
    };
    let (xs, ys) = (of("offered_gbit_per_s_per_nic"), of(column));
    let middle = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (!ys.is_empty() && !xs.is_empty()).then(|| CurvePoint {
        x: middle(&xs),
        y: middle(&ys),
        half: interval_95(&ys).map(|interval| interval.half_width),
        hollow: of("saturated").iter().any(|value| *value > 0.0),
        crossed: false,
    })
}
