//! Draws latency over load from a table of measurements of several simulators, for `docs/evidence/simulators.md`.
//!
//! ```text
//! cargo run --example latency_curves -- docs/evidence/booksim/direct.csv docs/evidence/booksim/direct.svg
//! ```
//!
//! The table has the columns of [`HEADER`]. A row without a latency is beyond saturation and is not drawn. Panels and
//! series come in the order in which they appear. The name of the figure decides its format: SVG, PDF or PNG.

use anyhow::{Context, Result, bail, ensure};
use flitwise::figure::{
    Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, FileFormat, Line, encoded,
};
use std::path::{Path, PathBuf};

const HEADER: &str = "panel,series,offered,accepted,latency";
const WIDTH: u32 = 900;

/// A row of the table.
struct Row {
    panel: String,
    series: String,
    offered: f64,
    latency: Option<f64>,
}

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [table, figure] = files.as_slice() else {
        bail!("name two files: the table to read and the figure to write");
    };
    let Some(format) = FileFormat::of_name(figure) else {
        bail!("{}: end the name in .svg, .pdf or .png", figure.display());
    };
    let bytes = encoded(&figure_of(&read(table)?), WIDTH, format)?;
    std::fs::write(figure, bytes).with_context(|| figure.display().to_string())
}

fn read(table: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(table).with_context(|| table.display().to_string())?;
    let wrong = |line: usize| format!("{}, line {line}", table.display());
    let mut lines = text.lines();
    ensure!(
        lines.next() == Some(HEADER),
        "{}: the columns must be {HEADER}",
        wrong(1)
    );
    let rows = lines
        .enumerate()
        .map(|(at, line)| row(line).with_context(|| wrong(at + 2)));
    rows.collect()
}

fn row(line: &str) -> Result<Row> {
    let cells: Vec<&str> = line.split(',').collect();
    let [panel, series, offered, _, latency] = cells.as_slice() else {
        bail!("`{line}` does not have the columns {HEADER}");
    };
    let latency = match *latency {
        "" => None,
        number => Some(number.parse().context("latency")?),
    };
    Ok(Row {
        panel: (*panel).to_owned(),
        series: (*series).to_owned(),
        offered: offered.parse().context("offered")?,
        latency,
    })
}

fn figure_of(rows: &[Row]) -> Figure {
    let mut curves = Curves {
        x: Axis::new("offered load", "flits per cycle and NIC"),
        y: Axis::new("mean latency", "cycles"),
        log_y: true,
        marks: true,
        ..Curves::default()
    };
    for row in rows {
        let series = position(&mut curves.series, &row.series);
        let Some(latency) = row.latency else { continue };
        let mut names = curves
            .panels
            .iter()
            .map(|panel| panel.name.clone())
            .collect();
        let panel = position(&mut names, &row.panel);
        if panel == curves.panels.len() {
            curves.panels.push(CurvePanel {
                name: row.panel.clone(),
                lines: Vec::new(),
            });
        }
        let lines = &mut curves.panels[panel].lines;
        let line = lines.iter().position(|line| line.series == series);
        let line = line.unwrap_or_else(|| {
            lines.push(Line {
                series,
                points: Vec::new(),
            });
            lines.len() - 1
        });
        lines[line].points.push(CurvePoint {
            x: row.offered,
            y: latency,
            ..CurvePoint::default()
        });
    }
    Figure {
        title: "Latency of Flitwise and BookSim 2".to_owned(),
        note:
            "End to end, from the creation of a packet to its last flit; points below saturation."
                .to_owned(),
        chart: Chart::Curves(curves),
    }
}

/// The place of `name` in `names`, at the end if it is new.
fn position(names: &mut Vec<String>, name: &str) -> usize {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
