//! The table as a chart: one panel per application.

use crate::grid::{APPLICATIONS, RATES, Row};
use crate::summary::{Mean, SERIES, cell, percent, scheduler_name};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 88.0;
const BOTTOM: f64 = 52.0;
const GAP: f64 = 22.0;

/// Colour by service level; RR is dashed and hollow.
fn style(series: (&str, &str)) -> (&'static str, &'static str, bool) {
    let colour = if series.0 == "CL" {
        "#1f5fa8"
    } else {
        "#c2571a"
    };
    if series.1 == "rr" {
        (colour, "stroke-dasharray=\"5 4\"", true)
    } else {
        (colour, "", false)
    }
}

fn mark(svg: &mut String, (x, y): (f64, f64), colour: &str, hollow: bool) {
    let fill = if hollow { "#ffffff" } else { colour };
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
    );
}

/// Slowdown in per cent over the background rate.
pub fn svg(rows: &[Row], title: &str) -> String {
    let more = |m: Mean| (m.mean - 1.0) * 100.0;
    let top = APPLICATIONS
        .iter()
        .flat_map(|&(name, _)| SERIES.map(|series| (name, series)))
        .flat_map(|(name, series)| RATES.map(|rate| cell(rows, name, series, rate)))
        .flatten()
        .map(|m| more(m) + if m.half.is_nan() { 0.0 } else { m.half * 100.0 })
        .fold(0.0, f64::max);
    let step = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        .into_iter()
        .find(|step| top / step <= 6.0)
        .unwrap_or(500.0);
    let lines = (top / step).ceil().max(1.0);
    let panel = (WIDTH - LEFT - RIGHT - GAP * 3.0) / 4.0;
    let y_of = |value: f64| HEIGHT - BOTTOM - value / (lines * step) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n"
    );
    for (i, series) in SERIES.into_iter().enumerate() {
        let (colour, dash, hollow) = style(series);
        let x = LEFT + [0.0, 165.0, 310.0, 475.0][i];
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"44\" x2=\"{}\" y2=\"44\" stroke=\"{colour}\" stroke-width=\"1.8\" {dash}/>",
            x + 30.0
        );
        mark(&mut svg, (x + 15.0, 44.0), colour, hollow);
        let name = scheduler_name(series.1);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"48\">job in {}, {name}</text>",
            x + 37.0,
            series.0
        );
    }
    let _ = writeln!(
        svg,
        "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">longer than alone (%)</text>\n\
         <text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">background (% of the rate of every NIC)</text>",
        (TOP + HEIGHT - BOTTOM) / 2.0,
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0
    );
    for (p, (application, _)) in APPLICATIONS.into_iter().enumerate() {
        let left = LEFT + p as f64 * (panel + GAP);
        let x_of = |rate: &str| left + rate.parse::<f64>().unwrap_or(0.0) / 0.21 * panel;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" font-weight=\"bold\" text-anchor=\"middle\">{application}</text>",
            left + panel / 2.0,
            TOP - 10.0
        );
        for i in 0..=lines as u32 {
            let value = f64::from(i) * step;
            let (y, stroke) = (y_of(value), if i == 0 { "#444444" } else { "#dddddd" });
            let _ = writeln!(
                svg,
                "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"{stroke}\"/>",
                left + panel
            );
            if p == 0 {
                let digits = usize::from(step < 1.0);
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.digits$}</text>",
                    left - 8.0,
                    y + 4.0
                );
            }
        }
        for rate in RATES {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
                x_of(rate),
                HEIGHT - BOTTOM + 16.0,
                percent(rate).trim_end_matches(" %")
            );
        }
        for series in SERIES {
            let (colour, dash, hollow) = style(series);
            let points: Vec<(f64, Mean)> = RATES
                .into_iter()
                .filter_map(|rate| Some((x_of(rate), cell(rows, application, series, rate)?)))
                .collect();
            let path: Vec<String> = points
                .iter()
                .map(|&(x, m)| format!("{x:.1},{:.1}", y_of(more(m))))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" {dash}/>",
                path.join(" ")
            );
            for (x, m) in points {
                if !m.half.is_nan() {
                    let _ = writeln!(
                        svg,
                        "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
                        y_of((more(m) - m.half * 100.0).max(0.0)),
                        y_of(more(m) + m.half * 100.0)
                    );
                }
                mark(&mut svg, (x, y_of(more(m))), colour, hollow);
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}
