//! Draws a [`Figure`] as SVG: lines or areas on the left, their names on the right, where they hide
//! nothing.

use super::colours::PALETTE;
use super::figure::{Figure, Line};
use crate::results::figure::{COLOURS, FONT, Refused};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const SIZE: (u32, u32) = (1000, 420);
/// Height of title and note.
const HEAD: u32 = 52;
/// Width of the names.
const NAMES: u32 = 250;
/// Height of a name.
const NAME: i32 = 20;
const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);
/// What has no name of its own.
const OTHERS: RGBColor = RGBColor(0xd0, 0xd0, 0xd0);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// Units of the time axis, each with its picoseconds.
const UNITS: [(&str, f64); 5] = [
    ("s", 1e12),
    ("ms", 1e9),
    ("us", 1e6),
    ("ns", 1e3),
    ("ps", 1.0),
];

pub(super) fn svg(figure: &Figure) -> Result<String, Refused> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    let text = |size: i32, colour: &RGBColor| (FONT, size).into_font().color(colour);
    head.draw(&Text::new(
        figure.title.as_str(),
        (16, 10),
        text(16, &BLACK),
    ))?;
    head.draw(&Text::new(figure.note.as_str(), (16, 32), text(13, &GREY)))?;
    let (left, right) = body.split_horizontally(SIZE.0 - NAMES);
    chart(&left, figure)?;
    // The names of areas stand as the areas do.
    let mut lines: Vec<&Line> = figure.lines.iter().collect();
    if figure.stacked {
        lines.reverse();
    }
    for (i, line) in (0..).zip(lines) {
        let y = 16 + NAME * i;
        let style = colour(line.colour).stroke_width(if figure.stacked { 10 } else { 2 });
        right.draw(&PathElement::new([(6, y), (28, y)], style))?;
        let beside = Pos::new(HPos::Left, VPos::Center);
        let style = text(13, &BLACK).pos(beside);
        right.draw(&Text::new(line.name.as_str(), (34, y), style))?;
    }
    root.present()?;
    drop((root, head, body, left, right));
    Ok(svg)
}

/// A colour of the palette; lighter when the colours repeat.
fn colour(place: Option<usize>) -> RGBColor {
    const { assert!(PALETTE == 2 * COLOURS.len()) };
    let Some(place) = place else {
        return OTHERS;
    };
    let RGBColor(r, g, b) = COLOURS[place % COLOURS.len()];
    match place < COLOURS.len() {
        true => RGBColor(r, g, b),
        false => {
            let light = |c: u8| c / 2 + 0x74;
            RGBColor(light(r), light(g), light(b))
        }
    }
}

fn chart(area: &DrawingArea<SVGBackend<'_>, Shift>, figure: &Figure) -> Result<(), Refused> {
    let end = figure.end_ps.max(1) as f64;
    let (unit, ps) = UNITS
        .into_iter()
        .find(|unit| end >= 2.0 * unit.1)
        .unwrap_or(UNITS[4]);
    let values = figure.lines.iter().flat_map(|line: &Line| &line.points);
    let high = values.map(|point| point.1).fold(0.0, f64::max);
    let high = match figure.stacked {
        true => 100.0,
        false if high > 0.0 => 1.08 * high,
        false => 1.0,
    };
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(38)
        .y_label_area_size(66)
        .build_cartesian_2d(0.0..end / ps, 0.0..high)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .x_labels(8)
        .y_labels(8)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .x_desc(format!("time ({unit})"))
        .y_desc(figure.value.as_str())
        .draw()?;
    if figure.stacked {
        // The last line bounds all areas: its area is drawn first, the others cover it.
        for line in figure.lines.iter().rev() {
            let mut points: Vec<_> = line.points.iter().map(|&(at, y)| (at / ps, y)).collect();
            if let [(_, value)] = points[..] {
                // An area needs a width.
                points = vec![(0.0, value), (end / ps, value)];
            }
            chart.draw_series(AreaSeries::new(points, 0.0, colour(line.colour).filled()))?;
        }
        return Ok(());
    }
    for line in &figure.lines {
        let points = line.points.iter().map(|&(at, value)| (at / ps, value));
        let style = colour(line.colour).stroke_width(2);
        match line.points.len() {
            // A line needs two ends.
            1 => chart.draw_series(points.map(|at| Circle::new(at, 3, style.filled())))?,
            _ => chart.draw_series(LineSeries::new(points, style))?,
        };
    }
    Ok(())
}

/// A number of an axis, without the rounding digits of binary fractions.
fn number(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}
