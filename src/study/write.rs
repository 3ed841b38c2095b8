//! Writes the files of a study. Each file appears only when it is complete.

use super::aggregate::{Group, Mean, differences, groups};
use super::document::Document;
use super::grid::Grid;
use super::interaction::interactions;
use super::metrics::Metrics;
use super::row::{BackgroundNumbers, Columns, JobNumbers, RunRow, Value};
use super::tables::{latex, markdown, summary_text};
use super::until::Studied;
use crate::figure::tables::{Cell, Column, ColumnKind, TableFiles, TableFormat};
use crate::results::{COMMAND_FILE, MissingFeature};
use anyhow::Context;
use flitwise_formats::sink::Sink;
use serde_json::{Map, Value as Json};
use std::io::Write;
use std::path::Path;

/// The directory, within the one of a study, with the files of its slowest run: the files that
/// `flitwise run --out` writes.
pub const SLOWEST_RUN: &str = "slowest-run";

/// The file with the study and its base experiment, which repeats it.
pub const STUDY_FILE: &str = "study.toml";
/// The document of a study, by which its directory is known.
pub const STUDY_RESULT_FILE: &str = "study.json";

/// The files of a study, beside its records.
pub const TABLE_FILES: [&str; 19] = [
    STUDY_RESULT_FILE,
    "runs.csv",
    "runs.parquet",
    "runs.jsonl",
    "jobs.csv",
    "jobs.parquet",
    "background.csv",
    "background.parquet",
    "points.csv",
    "points.parquet",
    "differences.csv",
    "differences.parquet",
    "interactions.csv",
    "interactions.parquet",
    "summary.txt",
    "tables.md",
    "tables.tex",
    COMMAND_FILE,
    STUDY_FILE,
];

/// Writes all tables into `dir`, which exists.
///
/// # Errors
/// If one cannot be written; a [`MissingFeature`] if the study asks for Parquet files and this build lacks the
/// feature that writes them.
pub fn write_tables(dir: &Path, studied: &Studied) -> anyhow::Result<()> {
    let format = studied.grid.study.format;
    format.check(MissingFeature::STUDY_PARQUET)?;
    let (grid, metrics) = (&studied.grid, studied.metrics);
    let groups = groups(&studied.rows, metrics);
    for sheet in [
        runs(studied),
        jobs(studied),
        background(studied),
        points(grid, &groups, metrics),
        paired(grid, &groups, metrics),
        interacting(grid, &groups, metrics),
    ] {
        sheet.write(dir, format)?;
    }
    whole(&dir.join("runs.jsonl"), &json_lines(studied))?;
    whole(&dir.join("summary.txt"), &summary_text(studied))?;
    whole(&dir.join("tables.md"), &markdown(studied))?;
    whole(&dir.join("tables.tex"), &latex(studied))?;
    let document = serde_json::to_string_pretty(&Document::of(studied))?;
    whole(&dir.join(STUDY_RESULT_FILE), &format!("{document}\n"))
}

fn whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || -> anyhow::Result<()> {
        let mut sink = Sink::create(path)?;
        sink.write_all(text.as_bytes())?;
        Ok(sink.finish()?)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

/// A cell that is kept.
enum Kept {
    Text(String),
    Number(Value),
}

/// A table that is kept until it is written.
struct Sheet {
    name: &'static str,
    columns: Vec<(String, ColumnKind)>,
    rows: Vec<Vec<Kept>>,
}

impl Sheet {
    /// A table with, as its first columns, the numbers of runs or points, the axes, and the columns in `more`.
    fn new(name: &'static str, first: &[&str], grid: &Grid, more: &[(&str, ColumnKind)]) -> Self {
        let mut columns: Vec<(String, ColumnKind)> = Vec::new();
        columns.extend(
            first
                .iter()
                .map(|name| ((*name).to_owned(), ColumnKind::Integer)),
        );
        for axis in &grid.study.axes {
            let mut name = column_name(&axis.name);
            while columns.iter().any(|(other, _)| *other == name)
                || more.iter().any(|(other, _)| *other == name)
            {
                name.push('_');
            }
            columns.push((name, ColumnKind::Text));
        }
        columns.extend(more.iter().map(|(name, kind)| ((*name).to_owned(), *kind)));
        Self {
            name,
            columns,
            rows: Vec::new(),
        }
    }

    fn write(&self, dir: &Path, format: TableFormat) -> anyhow::Result<()> {
        let columns = self.columns.iter().map(|(name, kind)| Column {
            name,
            kind: *kind,
            optional: true,
        });
        let columns: Vec<Column<'_>> = columns.collect();
        let mut table = TableFiles::create(dir, self.name, format, &columns)?;
        for row in &self.rows {
            let cells: Vec<Cell<'_>> = row.iter().map(Kept::cell).collect();
            table.row(&cells)?;
        }
        table.finish()
    }
}

impl Kept {
    fn integer(value: usize) -> Self {
        Self::Number(Value::Integer(value as u64))
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Text(text) => Cell::Text(text),
            Self::Number(Value::Empty) => Cell::Empty,
            Self::Number(Value::Integer(value)) => Cell::Integer(*value),
            Self::Number(Value::Real(value)) => Cell::Real(*value),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(Value::Empty) => Json::Null,
            Self::Number(Value::Integer(value)) => (*value).into(),
            Self::Number(Value::Real(value)) => (*value).into(),
        }
    }
}

/// The name of an axis as a column name that all formats allow.
pub(super) fn column_name(axis: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = axis.chars().map(kept).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        format!("_{name}")
    } else {
        name
    }
}

fn labels(grid: &Grid, point: usize) -> impl Iterator<Item = Kept> + '_ {
    let axes = 0..grid.study.axes.len();
    axes.map(move |axis| Kept::Text(grid.label(point, axis).to_owned()))
}

/// The columns of numbers.
fn kinds(columns: Columns) -> impl Iterator<Item = (&'static str, ColumnKind)> {
    columns.iter().map(|&(name, is_integer)| {
        let kind = if is_integer {
            ColumnKind::Integer
        } else {
            ColumnKind::Real
        };
        (name, kind)
    })
}

/// The numbers of the runs of some rows, from 1; the loads of one run share its number.
fn numbers(rows: &[RunRow]) -> Vec<usize> {
    let mut number = 0;
    let mut last = None;
    let of = |row: &RunRow| {
        if last != Some((row.point, row.seed)) {
            last = Some((row.point, row.seed));
            number += 1;
        }
        number
    };
    rows.iter().map(of).collect()
}

/// The column that only studies have in which links can go down.
const LINKS_DOWN: &str = "links_down_ps";

fn runs(studied: &Studied) -> Sheet {
    let mut more = vec![
        ("seed", ColumnKind::Integer),
        ("load", ColumnKind::Text),
        ("status", ColumnKind::Text),
        ("reason", ColumnKind::Text),
    ];
    let columns = studied.metrics.columns;
    let mut rows = studied.rows.iter();
    let go_down = rows.any(|row| row.value(LINKS_DOWN).is_some());
    let has = |name: &str| go_down || name != LINKS_DOWN;
    more.extend(kinds(columns).filter(|(name, _)| has(name)));
    more.extend([("draw", ColumnKind::Text), ("record", ColumnKind::Text)]);
    let grid = &studied.grid;
    let mut sheet = Sheet::new("runs", &["run", "point"], grid, &more);
    for (row, number) in studied.rows.iter().zip(numbers(&studied.rows)) {
        let mut cells = vec![Kept::integer(number), Kept::integer(row.point + 1)];
        cells.extend(labels(grid, row.point));
        cells.push(Kept::Number(Value::Integer(row.seed)));
        cells.push(text_or_empty(row.load.as_deref()));
        cells.push(Kept::Text(row.status.name().to_owned()));
        cells.push(text_or_empty(Some(&row.reason).filter(|r| !r.is_empty())));
        let values = columns.iter().zip(&row.values);
        let values = values.filter(|((name, _), _)| has(name));
        cells.extend(values.map(|(_, &value)| Kept::Number(value)));
        cells.extend([&row.draw, &row.record].map(|text| Kept::Text(text.clone())));
        sheet.rows.push(cells);
    }
    sheet
}

fn text_or_empty(text: Option<impl AsRef<str>>) -> Kept {
    match text {
        Some(text) => Kept::Text(text.as_ref().to_owned()),
        None => Kept::Number(Value::Empty),
    }
}

/// The rows of all runs as JSON objects, a line each.
#[must_use]
pub fn json_lines(studied: &Studied) -> String {
    let sheet = runs(studied);
    let mut text = String::new();
    for row in &sheet.rows {
        let cells = sheet.columns.iter().zip(row);
        let object: Map<String, Json> = cells
            .map(|((name, _), cell)| (name.clone(), cell.json()))
            .collect();
        text += &format!("{}\n", Json::Object(object));
    }
    text
}

fn jobs(studied: &Studied) -> Sheet {
    let mut more = vec![
        ("seed", ColumnKind::Integer),
        ("job_name", ColumnKind::Text),
    ];
    more.extend(kinds(JobNumbers::COLUMNS));
    let grid = &studied.grid;
    let mut sheet = Sheet::new("jobs", &["run", "point"], grid, &more);
    for (row, number) in studied.rows.iter().zip(numbers(&studied.rows)) {
        for job in &row.jobs {
            let mut cells = vec![Kept::integer(number), Kept::integer(row.point + 1)];
            cells.extend(labels(grid, row.point));
            cells.push(Kept::Number(Value::Integer(row.seed)));
            cells.push(Kept::Text(job.job.clone()));
            cells.extend(job.values.iter().map(|&value| Kept::Number(value)));
            sheet.rows.push(cells);
        }
    }
    sheet
}

fn background(studied: &Studied) -> Sheet {
    let mut more = vec![
        ("seed", ColumnKind::Integer),
        ("load", ColumnKind::Text),
        ("background", ColumnKind::Integer),
        ("sl", ColumnKind::Text),
    ];
    more.extend(kinds(BackgroundNumbers::COLUMNS));
    let grid = &studied.grid;
    let mut sheet = Sheet::new("background", &["run", "point"], grid, &more);
    for (row, number) in studied.rows.iter().zip(numbers(&studied.rows)) {
        for (at, flow) in row.background.iter().enumerate() {
            let mut cells = vec![Kept::integer(number), Kept::integer(row.point + 1)];
            cells.extend(labels(grid, row.point));
            cells.push(Kept::Number(Value::Integer(row.seed)));
            cells.push(text_or_empty(row.load.as_deref()));
            cells.push(Kept::integer(at));
            cells.push(Kept::Text(flow.sl.clone()));
            cells.extend(flow.values.iter().map(|&value| Kept::Number(value)));
            sheet.rows.push(cells);
        }
    }
    sheet
}

/// A mean and its interval.
fn mean_cells(mean: Option<Mean>) -> [Kept; 2] {
    let (mean, ci95) = match mean {
        Some(mean) => (Value::Real(mean.mean), mean.ci95.into()),
        None => (Value::Empty, Value::Empty),
    };
    [Kept::Number(mean), Kept::Number(ci95)]
}

/// The columns of a mean and its interval.
fn mean_names(column: &str) -> [String; 2] {
    [format!("{column}_mean"), format!("{column}_ci95")]
}

fn points(grid: &Grid, groups: &[Group<'_>], metrics: &Metrics) -> Sheet {
    let measures = metrics.measures.iter();
    let names: Vec<String> = measures
        .flat_map(|measure| mean_names(measure.of_points))
        .collect();
    let mut more = vec![
        ("load", ColumnKind::Text),
        ("runs_count", ColumnKind::Integer),
        ("failed_count", ColumnKind::Integer),
    ];
    more.extend(names.iter().map(|name| (name.as_str(), ColumnKind::Real)));
    let mut sheet = Sheet::new("points", &["point"], grid, &more);
    for group in groups {
        let mut cells = vec![Kept::integer(group.point + 1)];
        cells.extend(labels(grid, group.point));
        cells.push(text_or_empty(group.load));
        cells.push(Kept::integer(group.rows.len()));
        cells.push(Kept::integer(group.failed()));
        let means = metrics.measures.iter();
        let means = means.map(|measure| group.means.get(measure));
        cells.extend(means.flat_map(mean_cells));
        sheet.rows.push(cells);
    }
    sheet
}

fn paired(grid: &Grid, groups: &[Group<'_>], metrics: &Metrics) -> Sheet {
    let compared = metrics.compared.iter();
    let names: Vec<String> = compared
        .flat_map(|measure| mean_names(measure.difference.column))
        .collect();
    let mut more = vec![
        ("load", ColumnKind::Text),
        ("axis", ColumnKind::Text),
        ("reference", ColumnKind::Text),
        ("reference_point", ColumnKind::Integer),
        ("pairs_count", ColumnKind::Integer),
        ("same_draw", ColumnKind::Integer),
    ];
    more.extend(names.iter().map(|name| (name.as_str(), ColumnKind::Real)));
    let mut sheet = Sheet::new("differences", &["point"], grid, &more);
    for difference in differences(grid, groups, metrics) {
        let point = difference.group.point;
        let axis = &grid.study.axes[difference.axis];
        let mut cells = vec![Kept::integer(point + 1)];
        cells.extend(labels(grid, point));
        cells.push(text_or_empty(difference.group.load));
        cells.push(Kept::Text(axis.name.clone()));
        cells.push(Kept::Text(axis.settings[axis.reference].label.clone()));
        cells.push(Kept::integer(difference.reference.point + 1));
        cells.push(Kept::integer(difference.pairs));
        cells.push(Kept::integer(difference.pairing.is_whole().into()));
        let means = metrics.compared.iter();
        let means = means.map(|measure| difference.means.get(measure));
        cells.extend(means.flat_map(mean_cells));
        sheet.rows.push(cells);
    }
    sheet
}

fn interacting(grid: &Grid, groups: &[Group<'_>], metrics: &Metrics) -> Sheet {
    let compared = metrics.compared.iter();
    let names = compared.flat_map(|measure| mean_names(&measure.difference.of_differences()));
    let names: Vec<String> = names.collect();
    let mut more = vec![
        ("load", ColumnKind::Text),
        ("axis", ColumnKind::Text),
        ("reference", ColumnKind::Text),
        ("over_axis", ColumnKind::Text),
        ("over_reference", ColumnKind::Text),
        ("seeds_count", ColumnKind::Integer),
        ("same_draw", ColumnKind::Integer),
    ];
    more.extend(names.iter().map(|name| (name.as_str(), ColumnKind::Real)));
    let mut sheet = Sheet::new("interactions", &["point"], grid, &more);
    for interaction in interactions(grid, groups, metrics) {
        let point = interaction.group.point;
        let mut cells = vec![Kept::integer(point + 1)];
        cells.extend(labels(grid, point));
        cells.push(text_or_empty(interaction.group.load));
        let over = interaction.over.names(grid, groups);
        let axis = super::interaction::Over::Axis(interaction.axis).names(grid, groups);
        let names = axis.into_iter().chain(over);
        cells.extend(names.map(|name| Kept::Text(name.to_owned())));
        cells.push(Kept::integer(interaction.seeds));
        cells.push(Kept::integer(interaction.pairing.is_whole().into()));
        let means = metrics.compared.iter();
        let means = means.map(|measure| interaction.means.get(measure));
        cells.extend(means.flat_map(mean_cells));
        sheet.rows.push(cells);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::column_name;

    #[test]
    fn columns_have_names_that_every_program_takes() {
        assert_eq!(column_name("background.0.rate"), "background_0_rate");
        assert_eq!(column_name("1st"), "_1st");
    }
}
