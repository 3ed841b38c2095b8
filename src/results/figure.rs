//! The curve as a picture: throughput and latency over the offered load.

use super::curve::Point;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// Errors of the drawing library.
pub(super) type Refused = DrawingAreaErrorKind<std::io::Error>;

const SIZE: (u32, u32) = (1000, 440);
/// Width of the panel on the left.
const SPLIT: u32 = SIZE.0 / 2;
pub(super) const FONT: &str = "sans-serif";
/// Colour of the sum over all service levels.
const TOTAL: RGBColor = RGBColor(0x33, 0x33, 0x33);
/// Colours of the service levels in their order, repeated as needed.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0xc2, 0x57, 0x1a),
    RGBColor(0x2a, 0x8a, 0x4a),
    RGBColor(0x8a, 0x3f, 0x9e),
    RGBColor(0xb0, 0x8a, 0x00),
    RGBColor(0x00, 0x86, 0x8b),
    RGBColor(0xa0, 0x28, 0x3c),
    RGBColor(0x6b, 0x6b, 0x6b),
];

/// A line of a panel; `x` is the offered load.
struct Series {
    name: String,
    colour: RGBColor,
    values: Vec<(f64, f64)>,
}

/// The figure of [`curve_svg`](super::curve_svg).
pub(super) fn draw(points: &[Point<'_>]) -> Result<String, Refused> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SPLIT);
    let most = |of: fn(&Point<'_>) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let reach = 1.05 * most(|p| p.offered).max(most(|p| p.accepted)).max(1e-6);

    let total = Series {
        name: "all".to_owned(),
        colour: TOTAL,
        values: points.iter().map(|p| (p.offered, p.accepted)).collect(),
    };
    let parts = levels(points, |point, i| Some(point.levels[i].accepted));
    // With one service level the sum would repeat it.
    let total = (parts.len() > 1).then_some(total);
    let accepted: Vec<_> = total.into_iter().chain(parts).collect();
    panel(
        &left,
        "accepted (flits/cycle/NIC)",
        reach,
        0.0..reach,
        &accepted,
    )?;

    let latency = levels(points, |point, i| {
        point.levels[i].end_to_end.map(|l| l.mean)
    });
    let values = || latency.iter().flat_map(|line| &line.values).map(|v| v.1);
    let low = values().fold(f64::INFINITY, f64::min).clamp(1.0, 1e15);
    let high = values().fold(2.0 * low, f64::max);
    let (low, high) = (low / 1.5, high * 1.5);
    let range = (low..high).log_scale().with_key_points(ticks(low, high));
    panel(
        &right,
        "mean end-to-end latency (ns)",
        reach,
        range,
        &latency,
    )?;
    root.present()?;
    drop((left, right, root));
    Ok(svg)
}

/// Labels of a logarithmic axis: 1, 2 and 5 times powers of ten, or only these.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = match high / low > 1e3 {
        true => &[1.0],
        false => &[1.0, 2.0, 5.0],
    };
    let powers = (0..=18).map(|exponent| 10_f64.powi(exponent));
    powers
        .flat_map(|power| steps.iter().map(move |step| step * power))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

/// A line per service level with traffic.
fn levels(points: &[Point<'_>], value: fn(&Point<'_>, usize) -> Option<f64>) -> Vec<Series> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let names = first.levels.iter().enumerate();
    let with_traffic = names.filter(|(i, _)| points.iter().any(|p| p.levels[*i].offered > 0.0));
    let line = |(i, level): (usize, &super::curve::Level<'_>)| Series {
        name: level.name.to_owned(),
        colour: COLOURS[i % COLOURS.len()],
        values: points
            .iter()
            .filter_map(|p| Some((p.offered, value(p, i)?)))
            .collect(),
    };
    with_traffic.map(line).collect()
}

fn panel<Y>(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    reach: f64,
    range: Y,
    lines: &[Series],
) -> Result<(), Refused>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(38)
        .y_label_area_size(66)
        .build_cartesian_2d(0.0..reach, range)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .x_labels(6)
        .x_label_formatter(&|x| format!("{x:.1}"))
        .x_desc("offered (flits/cycle/NIC)")
        .y_label_formatter(&|y| format!("{}", (y * 100.0).round() / 100.0))
        .y_desc(title)
        .draw()?;
    for line in lines {
        let style = line.colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.values.iter().copied(), style))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        let dots = line.values.iter();
        chart.draw_series(dots.map(|&at| Circle::new(at, 3, line.colour.filled())))?;
    }
    if !lines.is_empty() {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font((FONT, 13))
            .background_style(WHITE)
            .border_style(RGBColor(0xbb, 0xbb, 0xbb))
            .draw()?;
    }
    Ok(())
}
