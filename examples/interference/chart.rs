//! The table as a chart: one panel per application.

use crate::grid::{RATES, Row, Subject};
use crate::summary::{Mean, SERIES, cell, scheduler_name, subjects};
use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Errors of the drawing library.
type Refused = DrawingAreaErrorKind<std::io::Error>;
/// Service level and scheduler.
type Series = (&'static str, &'static str);

const SIZE: (u32, u32) = (1000, 350);
/// Height of the title and the legend.
const HEAD: u32 = 58;
const FONT: &str = "sans-serif";

/// Colour by service level.
fn colour(series: Series) -> RGBColor {
    match series.0 {
        "CL" => RGBColor(0x1f, 0x5f, 0xa8),
        _ => RGBColor(0xc2, 0x57, 0x1a),
    }
}

/// RR is dashed and hollow.
fn hollow(series: Series) -> bool {
    series.1 == "rr"
}

/// Length of the dashes; a solid line is one long dash.
fn dash(series: Series) -> (u32, u32) {
    if hollow(series) { (6, 4) } else { (10_000, 0) }
}

/// Slowdown in per cent over the background rate.
pub fn svg(rows: &[Row], title: &str) -> Result<String> {
    ensure!(!rows.is_empty(), "there are no results to draw");
    draw(rows, title).map_err(|e: Refused| anyhow!("cannot draw the chart: {e}"))
}

/// Slowdown − 1 in per cent, with half the width of its interval.
fn longer(m: Mean) -> (f64, f64) {
    let half = if m.half.is_nan() { 0.0 } else { m.half };
    ((m.mean - 1.0) * 100.0, half * 100.0)
}

/// The rate in per cent, and the slowdown − 1 at that rate.
fn values(rows: &[Row], subject: &Subject, series: Series) -> Vec<(f64, (f64, f64))> {
    let at = |rate: &&str| {
        Some((
            rate.parse::<f64>().ok()? * 100.0,
            cell(rows, subject, series, rate)?,
        ))
    };
    let values = RATES.iter().filter_map(at);
    values.map(|(x, mean)| (x, longer(mean))).collect()
}

fn draw(rows: &[Row], title: &str) -> Result<String, Refused> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    legend(&head, title)?;
    let subjects = subjects(rows);
    let top = subjects
        .iter()
        .flat_map(|subject| SERIES.map(|series| values(rows, subject, series)))
        .flatten()
        .map(|(_, (mean, half))| mean + half)
        .fold(1e-3, f64::max);
    let panels = body.split_evenly((1, subjects.len()));
    for (area, subject) in panels.iter().zip(subjects) {
        panel(area, rows, subject, 1.05 * top)?;
    }
    root.present()?;
    drop((panels, body, head, root));
    Ok(svg)
}

/// The title, with the legend below.
fn legend(area: &Area<'_>, title: &str) -> Result<(), Refused> {
    area.draw(&Text::new(title, (16, 10), (FONT, 17)))?;
    for (i, series) in SERIES.into_iter().enumerate() {
        let x = 16 + i as i32 * 185;
        let (size, spacing) = dash(series);
        let points = [(x, 44), (x + 34, 44)];
        let style = colour(series).stroke_width(2);
        area.draw(&DashedPathElement::new(points, size, spacing, style))?;
        for circle in mark((x + 17, 44), series) {
            area.draw(&circle)?;
        }
        let name = format!("job in {}, {}", series.0, scheduler_name(series.1));
        area.draw(&Text::new(name, (x + 42, 37), (FONT, 14)))?;
    }
    Ok(())
}

/// A dot, or a white dot with a rim.
fn mark<C: Copy>(at: C, series: Series) -> [Circle<C, i32>; 2] {
    let inside = if hollow(series) {
        WHITE
    } else {
        colour(series)
    };
    [
        Circle::new(at, 3, inside.filled()),
        Circle::new(at, 3, colour(series).stroke_width(1)),
    ]
}

fn panel(area: &Area<'_>, rows: &[Row], subject: &Subject, top: f64) -> Result<(), Refused> {
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(&subject.application, (FONT, 15))
        .x_label_area_size(36)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..21.0, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 13))
        .x_labels(5)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .x_desc("background (% of every NIC)")
        .y_labels(7)
        .y_label_formatter(&|y| format!("{}", (y * 100.0).round() / 100.0))
        .y_desc("longer than alone (%)")
        .draw()?;
    for series in SERIES {
        let values = values(rows, subject, series);
        let style = colour(series).stroke_width(2);
        let points = values.iter().map(|&(x, (mean, _))| (x, mean));
        let (size, spacing) = dash(series);
        chart.draw_series(DashedLineSeries::new(points.clone(), size, spacing, style))?;
        let bars = values.iter().filter(|(_, (_, half))| *half > 0.0);
        chart.draw_series(bars.map(|&(x, (mean, half))| {
            let ends = [(x, (mean - half).max(0.0)), (x, mean + half)];
            PathElement::new(ends, colour(series).stroke_width(1))
        }))?;
        chart.draw_series(points.flat_map(|at| mark(at, series)))?;
    }
    Ok(())
}
