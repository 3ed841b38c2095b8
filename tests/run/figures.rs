//! Tests of properties that every figure has.

use flitwise::figure::{
    Axis, BarGroup, BarPanel, Bars, Chart, CurvePanel, CurvePoint, Curves, Estimate, Figure, Line,
    Link, Matrix, Network, Node, Row, Span, Spans, Stack, Stacks, Theme,
};
use flitwise::figure::{Cell, FileFormat, encoded};

fn estimate(mean: f64, half: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        half: Some(half),
    })
}

pub fn cell(row: usize, column: usize, value: f64) -> Cell {
    Cell {
        row,
        column,
        value,
        half: Some(0.1),
    }
}

/// A figure of each kind but networks.
pub fn figures() -> Vec<Figure> {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let bars = |log| {
        Chart::Bars(Bars {
            axis: Axis::new("slowdown", "factor"),
            base: 1.0,
            signed: false,
            log,
            groups: "rate".into(),
            series: names(&["rr", "<dtable> & \"co\""]),
            left_out: None,
            panels: vec![BarPanel {
                name: "HPL".into(),
                groups: vec![BarGroup {
                    name: "0.1".into(),
                    bars: vec![estimate(1.2, 0.05), None],
                }],
            }],
        })
    };
    let line = |series, ys: &[f64]| Line {
        series,
        points: (1..)
            .zip(ys)
            .map(|(x, y)| CurvePoint {
                x: f64::from(x),
                y: *y,
                half: Some(0.1),
                hollow: x == 2,
                crossed: x == 1,
            })
            .collect(),
    };
    let curves = |log_y| {
        Chart::Curves(Curves {
            x: Axis::new("offered", "Gb/s"),
            y: Axis::new("latency", "ns"),
            log_y,
            marks: true,
            series: names(&["tree", "torus"]),
            panels: vec![CurvePanel {
                name: String::new(),
                lines: vec![line(0, &[1.0, 20.0]), line(1, &[0.0, f64::NAN])],
            }],
            ..Curves::default()
        })
    };
    let stacks = Chart::Stacks(Stacks {
        axis: Axis::new("time", "us"),
        parts: names(&["computing", "network"]),
        stacks: vec![Stack {
            name: "HPL".into(),
            parts: vec![1.0, 2.0],
        }],
    });
    let column = Chart::Column(vec![stacks.clone(), stacks.clone()]);
    let matrix = Chart::Matrix(Matrix {
        measure: "time (us)".into(),
        rows: "waiting".into(),
        columns: "waited for".into(),
        names: names(&["computing", "<b>"]),
        cells: vec![cell(0, 1, 0.5), cell(1, 0, 250.0)],
        linear: true,
        written: true,
    });
    let spans = Chart::Spans(Spans {
        x: Axis::new("time", "us"),
        of: "rank".into(),
        names: names(&["computing", "waiting"]),
        rows: vec![Row {
            name: "0".into(),
            spans: vec![Span {
                from: 0.0,
                to: 1.0,
                does: 1,
            }],
            times: Vec::new(),
        }],
        end: 2.0,
    });
    let charts = [
        bars(false),
        bars(true),
        curves(false),
        curves(true),
        stacks,
        column,
        matrix,
        spans,
    ];
    let figure = |chart| Figure {
        title: "A title".into(),
        note: "A note.".into(),
        chart,
    };
    charts.into_iter().map(figure).collect()
}

#[test]
fn figures_have_title_units_and_legend() {
    for figure in figures() {
        let svg = figure.draw(600, Theme::File);
        let (legend, unit) = match &figure.chart {
            Chart::Bars(_) => ("&lt;dtable&gt; &amp; &quot;co&quot;", "slowdown (factor)"),
            Chart::Curves(_) => ("torus", "offered (Gb/s)"),
            _ => ("computing", "time (us)"),
        };
        for part in ["A title", "A note.", legend, unit] {
            assert!(svg.contains(&format!(">{part}</text>")), "{part} in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn figures_are_the_same_each_time_and_at_any_width() {
    for figure in figures() {
        for width in [0, 320, 900, u32::MAX] {
            let svg = figure.draw(width, Theme::Page);
            assert_eq!(svg, figure.draw(width, Theme::Page));
            assert!(svg.contains("var(--ink)") && !svg.contains("A title</text>"));
        }
    }
}

#[test]
fn figures_become_pdf_and_png() {
    for figure in figures() {
        let pdf = encoded(&figure, 600, FileFormat::Pdf).unwrap();
        assert!(pdf.starts_with(b"%PDF-"));
        assert_eq!(pdf, encoded(&figure, 600, FileFormat::Pdf).unwrap());
        let png = encoded(&figure, 600, FileFormat::Png).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
    }
}

/// The surfaces of the first series, each a path to the right, down, and back.
fn surfaces(svg: &str) -> Vec<[f64; 4]> {
    let surface = |line: &str| {
        let numbers = line.split('"').nth(1).unwrap();
        let numbers = numbers.split(['M', ' ', 'h', 'v']).skip(1).take(4);
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        <[f64; 4]>::try_from(numbers).unwrap()
    };
    let surfaces = svg
        .lines()
        .filter(|line| line.ends_with("fill=\"#0072b2\"/>"));
    surfaces.map(surface).collect()
}

#[test]
fn pixels_are_where_svg_has_surfaces_and_text() {
    let figure = figures().remove(4);
    let surfaces = surfaces(&figure.draw(600, Theme::File));
    // In the legend, and the bar.
    assert_eq!(surfaces.len(), 2);
    let png = encoded(&figure, 600, FileFormat::Png).unwrap();
    let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
    assert_eq!(pixels.width(), 1200);
    let colour = |x: f64, y: f64| {
        let pixel = pixels.pixel((2.0 * x) as u32, (2.0 * y) as u32).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    };
    for [x, y, w, h] in surfaces {
        assert_eq!(colour(x + w / 2.0, y + h / 2.0), [0x00, 0x72, 0xb2]);
        assert_ne!(colour(x - 2.0, y + h / 2.0), [0x00, 0x72, 0xb2]);
    }
    // The title is at the left of the top.
    let title = (0..60).flat_map(|x| (8..28).map(move |y| (f64::from(x), f64::from(y))));
    let dark = title.filter(|&(x, y)| colour(x, y)[0] < 0x80).count();
    assert!((40..600).contains(&dark), "{dark}");
}

#[test]
fn the_text_of_a_pdf_can_be_searched() {
    let pdf = encoded(&figures()[0], 600, FileFormat::Pdf).unwrap();
    let contains = |part: &[u8]| pdf.windows(part.len()).any(|at| at == part);
    // The first letters belong to `A title`, by their numbers.
    for (number, shown) in [(1, 'A'), (2, ' '), (3, 't'), (4, 'i')] {
        let pair = format!("<{number:04X}> <{:04X}>", u32::from(shown));
        assert!(contains(pair.as_bytes()), "{pair}");
    }
    assert!(contains(b"/FontFile2") && contains(b"/Title"));
    // A part of the font, which has 757 kB.
    assert!(pdf.len() < 40_000, "{}", pdf.len());
}

#[test]
fn the_last_number_of_an_axis_is_inside_the_figure() {
    let points = [0.0, 100.0].map(|x| CurvePoint {
        x,
        y: x,
        ..CurvePoint::default()
    });
    let figure = Figure {
        title: "t".into(),
        note: String::new(),
        chart: Chart::Curves(Curves {
            panels: vec![CurvePanel {
                name: String::new(),
                lines: vec![Line {
                    series: 0,
                    points: points.to_vec(),
                }],
            }],
            ..Curves::default()
        }),
    };
    let svg = figure.draw(350, Theme::File);
    // `<text x="AT" … text-anchor="middle" …>100</text>`
    let before = svg
        .find("middle")
        .and_then(|from| Some(from + svg[from..].find(">100<")?));
    let label = &svg[..before.unwrap()];
    let at = &label[label.rfind("x=\"").unwrap() + 3..];
    let at: f64 = at[..at.find('"').unwrap()].parse().unwrap();
    // A digit takes about 0.61 of the size of the text.
    let half = 3.0 * 0.61 * 11.5 / 2.0;
    assert!(at + half < 350.0, "{at}");
}

#[test]
fn loads_of_networks_end_at_the_largest() {
    let network = |used: [f64; 2]| Network {
        measure: "connections".into(),
        aspect: 0.5,
        nodes: vec![Node::default(), Node::default()],
        links: vec![Link {
            ends: [0, 1],
            used: used.map(Some),
            ..Link::default()
        }],
        ..Network::default()
    };
    for (used, end) in [
        ([0.0, 0.0], "1"),
        ([3.0, 1.0], "3"),
        ([0.2, 1234.0], "1234"),
    ] {
        let figure = Figure {
            title: "t".into(),
            note: String::new(),
            chart: Chart::Network(network(used)),
        };
        let svg = figure.draw(400, Theme::File);
        assert!(svg.contains(&format!(">{end}</text>")), "{used:?}: {svg}");
    }
}

/// Bars of 2, 20 and 200 on a logarithmic axis, which begins at 1: each is a decade higher than the one before.
#[test]
fn bars_that_differ_by_orders_are_a_decade_apart() {
    let bar = |mean| BarGroup {
        name: String::new(),
        bars: vec![Some(Estimate { mean, half: None })],
    };
    let figure = Figure {
        title: "t".into(),
        note: String::new(),
        chart: Chart::Bars(Bars {
            log: true,
            series: vec!["a".into()],
            panels: vec![BarPanel {
                name: String::new(),
                groups: [2.0, 20.0, 200.0].map(bar).into(),
            }],
            ..Bars::default()
        }),
    };
    let svg = figure.draw(400, Theme::File);
    // A bar is a path of the colour of its series: to the right, down, and back.
    let heights: Vec<f64> = (svg.lines())
        .filter(|line| line.contains("fill=\"#0072b2\""))
        .map(|bar| {
            let height = bar.split('v').nth(1).unwrap();
            height.split('h').next().unwrap().parse().unwrap()
        })
        .collect();
    let [a, b, c] = heights[..] else {
        panic!("{heights:?} in {svg}");
    };
    assert!((c - b - (b - a)).abs() < 0.3, "{heights:?}");
    // The axis ends at 200.
    let decade = c / 200.0_f64.log10();
    assert!((a - decade * 2.0_f64.log10()).abs() < 0.3, "{heights:?}");
}

/// Centres of the circles of a figure.
fn circles(svg: &str) -> Vec<[f64; 2]> {
    let number = |line: &str, key: &str| -> f64 {
        let rest = line.split(key).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let circles = svg.lines().filter(|line| line.contains("<circle"));
    circles
        .map(|line| [number(line, "cx=\""), number(line, "cy=\"")])
        .collect()
}

#[test]
fn numbers_of_links_do_not_cover_each_other() {
    // A short link with all of them, and one that crosses it.
    let node = |x, y| Node {
        x,
        y,
        ..Node::default()
    };
    let link = |ends, tags: [Vec<usize>; 2]| Link {
        ends,
        used: [Some(0.5), Some(0.4)],
        tags,
        ..Link::default()
    };
    let figure = Figure {
        title: "t".into(),
        note: String::new(),
        chart: Chart::Network(Network {
            aspect: 0.5,
            nodes: vec![
                node(0.5, 0.5),
                node(0.53, 0.5),
                node(0.5, 0.4),
                node(0.52, 0.6),
            ],
            links: vec![
                link([0, 1], [(1..=6).collect(), vec![7, 8]]),
                link([2, 3], [vec![9], vec![10]]),
            ],
            ..Network::default()
        }),
    };
    let circles = circles(&figure.draw(600, Theme::File));
    assert_eq!(circles.len(), 10);
    for (at, [x, y]) in circles.iter().enumerate() {
        for [x2, y2] in &circles[..at] {
            assert!((x - x2).hypot(y - y2) > 15.0, "{circles:?}");
        }
    }
}

/// Names of groups are whole in narrow groups: in lines, or reading upwards where a word is too long.
#[test]
fn names_of_narrow_groups_can_be_read() {
    let draw = |names: [&str; 8]| {
        let group = |name: &str| BarGroup {
            name: name.to_owned(),
            bars: vec![estimate(1.0, 0.1)],
        };
        let figure = Figure {
            title: "t".into(),
            note: String::new(),
            chart: Chart::Bars(Bars {
                series: vec!["a".into()],
                panels: vec![BarPanel {
                    name: String::new(),
                    groups: names.map(group).into(),
                }],
                ..Bars::default()
            }),
        };
        figure.draw(600, Theme::File)
    };
    let lines = draw(["slim fly, 200 NICs"; 8]);
    assert!(
        lines.contains(">slim fly,</text>") && lines.contains(">200 NICs</text>"),
        "{lines}"
    );
    let upright = draw(["collectives-and-neighbours"; 8]);
    assert!(
        upright.contains("rotate(-90") && upright.contains(">collectives-and-neighbours</text>"),
        "{upright}"
    );
}
