//! The curve as a picture: throughput and latency over the offered load.

use super::curve::Point;
use super::nic_rate::{NicRate, short};
use super::titled;
use crate::config::Plan;
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

/// Height of title and note.
const HEAD: u32 = 52;
const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);

/// A line of a panel.
struct Series {
    name: String,
    colour: RGBColor,
    points: Vec<Marked>,
}

/// A point of a panel; `x` is the offered load.
struct Marked {
    x: f64,
    y: f64,
    mark: Mark,
}

/// What is to be known of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// A ring, else a dot.
    saturated: bool,
    /// A cross over it.
    unsteady: bool,
}

impl Mark {
    fn of(point: &Point<'_>) -> Self {
        Self {
            saturated: point.saturated,
            unsteady: point.measured.steady == Some(false),
        }
    }

    fn is_dot(self) -> bool {
        !self.saturated && !self.unsteady
    }
}

/// Radius of the mark of a saturated point.
const RING: i32 = 4;
/// Half the width of the mark of a point that is not steady.
const CROSS: i32 = 5;

/// Units of the latency axis, each with its nanoseconds.
const UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// The figure of [`curve_svg`](super::curve_svg).
pub(super) fn draw(plan: &Plan, points: &[Point<'_>]) -> Result<String, Refused> {
    let experiment = &plan.experiment;
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    let nic = NicRate::of(experiment);
    let text = |size: i32, colour: &RGBColor| (FONT, size).into_font().color(colour);
    let what = "Accepted load and mean end-to-end latency over the offered load";
    let title = titled(&plan.about, what);
    head.draw(&Text::new(title.as_str(), (16, 10), text(16, &BLACK)))?;
    let note = format!(
        "{} NICs; 1 flit/cycle/NIC is {} Gb/s or {} GB/s per NIC",
        experiment.fabric.topology.nics(),
        short(nic.gbit_per_s(1.0)),
        short(nic.gbyte_per_s(1.0)),
    );
    head.draw(&Text::new(note, (16, 32), text(13, &GREY)))?;
    let (left, right) = body.split_horizontally(SPLIT);
    accepted(&left, points, nic)?;
    latency(&right, points)?;
    root.present()?;
    drop((root, head, body, left, right));
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The largest load of the axes.
fn reach(points: &[Point<'_>]) -> f64 {
    let loads = points.iter().flat_map(|p| [p.offered, p.accepted]);
    1.05 * loads.fold(0.0, f64::max).max(1e-6)
}

fn accepted(area: &Area<'_>, points: &[Point<'_>], nic: NicRate) -> Result<(), Refused> {
    let parts = levels(points, |point, i| Some(point.levels[i].accepted));
    // With one service level the sum would repeat it.
    let total = (parts.len() > 1).then(|| Series {
        name: "all".to_owned(),
        colour: TOTAL,
        points: points
            .iter()
            .map(|p| Marked {
                x: p.offered,
                y: p.accepted,
                mark: Mark::of(p),
            })
            .collect(),
    });
    let lines: Vec<_> = total.into_iter().chain(parts).collect();
    let reach = reach(points);
    let beside = match nic.gbit_per_s(reach) {
        gbit @ 1.0.. => ("accepted (Gb/s per NIC)", gbit),
        gbit => ("accepted (Mb/s per NIC)", 1000.0 * gbit),
    };
    let axis = Axis {
        title: "accepted (flits/cycle/NIC)",
        reach,
        beside: Some(beside),
    };
    panel(area, &axis, 0.0..reach, &lines)
}

fn latency(area: &Area<'_>, points: &[Point<'_>]) -> Result<(), Refused> {
    let mut lines = levels(points, |point, i| {
        point.levels[i].end_to_end.map(|l| l.mean)
    });
    let values = || lines.iter().flat_map(|line| &line.points).map(|p| p.y);
    let low = values().fold(f64::INFINITY, f64::min).clamp(1.0, 1e15);
    let high = values().fold(2.0 * low, f64::max);
    let (low, high) = (low / 1.5, high * 1.5);
    let fits = |unit: &(&str, f64)| low >= 0.5 * unit.1 || high >= 1e4 * unit.1;
    let (unit, ns) = UNITS.into_iter().find(fits).unwrap_or(UNITS[3]);
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        point.y /= ns;
    }
    let (low, high) = (low / ns, high / ns);
    let axis = Axis {
        title: &format!("mean end-to-end latency ({unit})"),
        reach: reach(points),
        beside: None,
    };
    let range = (low..high).log_scale().with_key_points(ticks(low, high));
    panel(area, &axis, range, &lines)
}

/// Labels of a logarithmic axis: 1, 2 and 5 times powers of ten, or only these.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = match high / low > 1e3 {
        true => &[1.0],
        false => &[1.0, 2.0, 5.0],
    };
    let powers = (-3..=18).map(|exponent| 10_f64.powi(exponent));
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
        points: points
            .iter()
            .filter_map(|p| {
                Some(Marked {
                    x: p.offered,
                    y: value(p, i)?,
                    mark: Mark::of(p),
                })
            })
            .collect(),
    };
    with_traffic.map(line).collect()
}

/// The axes of a panel.
struct Axis<'a> {
    title: &'a str,
    /// The largest offered load.
    reach: f64,
    /// A second vertical axis: its title and its end. It begins at 0.
    beside: Option<(&'a str, f64)>,
}

fn panel<Y>(area: &Area<'_>, axis: &Axis<'_>, range: Y, lines: &[Series]) -> Result<(), Refused>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let (beside, end) = axis.beside.unwrap_or(("", 1.0));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(38)
        .y_label_area_size(60)
        .right_y_label_area_size(if axis.beside.is_some() { 60 } else { 0 })
        .build_cartesian_2d(0.0..axis.reach, range)?
        .set_secondary_coord(0.0..axis.reach, 0.0..end);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .x_labels(6)
        .x_label_formatter(&|x| number(*x))
        .x_desc("offered (flits/cycle/NIC)")
        .y_label_formatter(&|y| number(*y))
        .y_desc(axis.title)
        .draw()?;
    if axis.beside.is_some() {
        chart
            .configure_secondary_axes()
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .y_label_formatter(&|y| number(*y))
            .y_desc(beside)
            .draw()?;
    }
    for line in lines {
        let style = line.colour.stroke_width(2);
        let points = line.points.iter().map(|p| (p.x, p.y));
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        let at = |is: fn(Mark) -> bool| {
            let those = line.points.iter().filter(move |p| is(p.mark));
            those.map(|p| (p.x, p.y))
        };
        let dot = line.colour.filled();
        chart.draw_series(at(Mark::is_dot).map(|at| Circle::new(at, 3, dot)))?;
        let rings = || at(|mark| mark.saturated);
        chart.draw_series(rings().map(|at| Circle::new(at, RING, WHITE.filled())))?;
        chart.draw_series(rings().map(|at| Circle::new(at, RING, style)))?;
        chart.draw_series(at(|mark| mark.unsteady).map(|at| Cross::new(at, CROSS, style)))?;
    }
    let has = |of: fn(Mark) -> bool| lines.iter().flat_map(|l| &l.points).any(|p| of(p.mark));
    let style = GREY.stroke_width(2);
    if has(|mark| mark.saturated) {
        chart
            .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?
            .label("saturated")
            .legend(move |(x, y)| Circle::new((x + 9, y), RING, style));
    }
    if has(|mark| mark.unsteady) {
        chart
            .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?
            .label("not steady")
            .legend(move |(x, y)| Cross::new((x + 9, y), CROSS, style));
    }
    if !lines.is_empty() {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font((FONT, 13))
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xbb, 0xbb, 0xbb))
            .draw()?;
    }
    Ok(())
}

/// A number of an axis, without the rounding digits of binary fractions.
fn number(value: f64) -> String {
    let exponent = value.abs().max(1e-12).log10().ceil() as i32;
    let digits = 10_f64.powi(4 - exponent);
    let rounded = (value * digits).round() / digits;
    // A longer one would cover the title of the axis.
    match value != 0.0 && value.abs() < 1e-3 {
        true => format!("{rounded:.1e}"),
        false => format!("{rounded}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (0.001, "0.001"),
            (0.000_14, "1.4e-4"),
            (25.0, "25"),
            (20_000.0, "20000"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
