//! The figure of checks: how far single connections are from their prediction.

use super::{Check, ConnectionCheck};
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};

/// The share of connections whose simulated bandwidth is at most a given share of the predicted one, for both
/// predictions. Exact predictions make a step at 100 %. `None` without a check.
#[must_use]
pub fn check_figure(checks: &[(&str, &Check)]) -> Option<Figure> {
    if checks.is_empty() {
        return None;
    }
    let panel = |name: &str, predicted: fn(&ConnectionCheck) -> f64| CurvePanel {
        name: name.to_owned(),
        lines: (checks.iter().enumerate())
            .map(|(series, (_, check))| Line {
                series,
                points: steps(check, predicted),
            })
            .collect(),
    };
    Some(Figure {
        title: "Simulated bandwidth of connections over the predicted one".to_owned(),
        note: "Connections of all levels and runs. Left of 100 % the prediction promises too much."
            .to_owned(),
        chart: Chart::Curves(Curves {
            x: Axis::new("simulated over predicted, at most", "%"),
            y: Axis::new("part of the connections", "%"),
            series: checks.iter().map(|(name, _)| (*name).to_owned()).collect(),
            panels: vec![
                panel("1/congestion", |c| c.share),
                panel("max-min fair share", |c| c.fair_share),
            ],
            ..Curves::default()
        }),
    })
}

/// The cumulative distribution in steps.
fn steps(check: &Check, predicted: fn(&ConnectionCheck) -> f64) -> Vec<CurvePoint> {
    let connections = check.levels.iter().flat_map(|level| &level.connections);
    // Rounded, so that differences caused only by the end of a window make no step.
    let ratio = |c: &ConnectionCheck| (1000.0 * c.simulated / predicted(c)).round() as i64;
    let mut ratios: Vec<i64> = connections.map(ratio).collect();
    ratios.sort_unstable();
    let (mut points, mut before) = (Vec::new(), 0);
    for same in ratios.chunk_by(|a, b| a == b) {
        for count in [before, before + same.len()] {
            let part = 100.0 * count as f64 / ratios.len() as f64;
            points.push(CurvePoint::at(same[0] as f64 / 10.0, part));
        }
        before += same.len();
    }
    points
}
