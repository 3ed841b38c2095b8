//! Throughput and latency over load, overlaid over runs and the points of studies.

use crate::figure::{Chart, CurvePoint, Figure};
use crate::report::source::{Source, StudyRow, StudySource};
use crate::results::figure::{ALL, Curve, MARKS, Measure, curves, of_run};
use crate::results::interval_95;

pub(super) fn throughput(sources: &[Source]) -> Vec<Figure> {
    figure("Throughput over load", sources, Measure::Throughput)
}

pub(super) fn latency(sources: &[Source]) -> Vec<Figure> {
    figure("Latency over load", sources, Measure::Latency)
}

fn figure(title: &str, sources: &[Source], measure: Measure) -> Vec<Figure> {
    let all = sources.iter().flat_map(|source| match source {
        Source::Run(run) => {
            let points = run.result["curve"].as_array();
            of_run(&run.label, points.map_or(&[], Vec::as_slice), measure)
        }
        // Studies with one load are shown as bars.
        Source::Study(study) if study.has_one_load() => Vec::new(),
        Source::Study(study) => of_study(study, sources.len() > 1, measure),
        Source::Congestion(_) => Vec::new(),
    });
    let mut curves = curves(all.collect(), measure);
    if curves.panels.is_empty() {
        return Vec::new();
    }
    // Studies do not record which points were steady, so no curve of a page shows it.
    let lines = curves.panels.iter_mut().flat_map(|panel| &mut panel.lines);
    for point in lines.flat_map(|line| &mut line.points) {
        point.crossed = false;
    }
    vec![Figure {
        title: title.to_owned(),
        note: MARKS.to_owned(),
        chart: Chart::Curves(curves),
    }]
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
        let series = if others && !of_point[0].labels.is_empty() {
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
