//! A figure of the messages of a trace: the bytes between ranks, and the sizes of messages.

use super::info::size_class;
use crate::cli::error::CliError;
use crate::cli::out::unwritten;
use crate::cli::plot::{encoded_bytes, format_of};
use flitwise::figure::{Axis, BarGroup, BarPanel, Bars, Cell, Chart, Estimate, Figure, Matrix};
use flitwise::replay::trace::Summary;
use flitwise::units::{byte_unit, human_bytes, human_count};
use flitwise_formats::sink;
use flitwise_formats::source::shown;
use flitwise_formats::traffic::Traffic;
use std::collections::BTreeMap;
use std::path::Path;

/// Most rows and columns of the matrix: beyond, each is a group of ranks.
const ROWS: u32 = 64;
/// Counts that differ by more than this factor have a logarithmic axis.
const ORDERS: u64 = 30;
/// Width of the figure in pixels.
const WIDTH: u32 = 720;

/// Writes the figure of the trace `file` into `output`.
pub(super) fn write(output: &Path, file: &Path, summary: &Summary) -> Result<(), CliError> {
    let format = format_of(output, "--plot")?;
    let figure = figure(file, summary);
    let bytes = encoded_bytes(&figure, WIDTH, format)?;
    sink::write(output, &bytes).map_err(|e| unwritten("--plot", &e))
}

fn figure(file: &Path, summary: &Summary) -> Figure {
    let traffic = &summary.traffic;
    let group = summary.ranks.div_ceil(ROWS).max(1);
    let mut note = format!(
        "{} messages from point to point between {} ranks, {}.",
        human_count(traffic.messages),
        human_count(summary.ranks.into()),
        human_bytes(traffic.bytes)
    );
    if group > 1 {
        note += &format!(" Each row and column is {group} ranks.");
    }
    if let (others @ 1.., _) = traffic.other_pairs {
        let others = human_count(others);
        note += &format!(
            " The matrix lacks {others} messages of pairs that are not counted one by one."
        );
    }
    let name = shown(file)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Figure {
        title: format!("Bytes between ranks, and message sizes: {name}"),
        note,
        chart: Chart::Column(vec![
            Chart::Matrix(matrix(summary.ranks, group, traffic)),
            Chart::Bars(sizes(traffic)),
        ]),
    }
}

/// The bytes between groups of `group` ranks.
fn matrix(ranks: u32, group: u32, traffic: &Traffic) -> Matrix {
    let mut sums: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for pair in &traffic.pairs {
        *sums
            .entry((pair.src / group, pair.dst / group))
            .or_default() += pair.bytes as f64;
    }
    let most = sums.values().copied().fold(0.0, f64::max);
    let (size, unit) = byte_unit(most as u64);
    let cells = sums.into_iter().filter(|(_, bytes)| *bytes > 0.0);
    Matrix {
        measure: unit.to_owned(),
        rows: "sending rank".to_owned(),
        columns: "receiving rank".to_owned(),
        names: (0..ranks.div_ceil(group))
            .map(|at| (at * group).to_string())
            .collect(),
        cells: cells
            .map(|((row, column), bytes)| Cell {
                row: row as usize,
                column: column as usize,
                value: bytes / size as f64,
                half: None,
            })
            .collect(),
        ..Matrix::default()
    }
}

/// The messages in each class of sizes, from the smallest that has one to the largest.
fn sizes(traffic: &Traffic) -> Bars {
    let counts = || traffic.sizes.iter().copied().filter(|&count| count > 0);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let classes = traffic.sizes.iter().enumerate();
    let group = |(class, &count): (usize, &u64)| BarGroup {
        name: human_bytes(size_class(class).0).replace(".0 ", " "),
        bars: vec![(count > 0).then_some(Estimate {
            mean: count as f64,
            half: None,
        })],
    };
    Bars {
        axis: Axis::new("messages", ""),
        log: most > least.saturating_mul(ORDERS),
        groups: "message size: from this to less than twice as much".to_owned(),
        series: vec![String::new()],
        panels: vec![BarPanel {
            name: String::new(),
            groups: classes
                .skip_while(|(_, count)| **count == 0)
                .map(group)
                .collect(),
        }],
        ..Bars::default()
    }
}
