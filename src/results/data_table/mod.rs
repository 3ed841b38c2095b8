//! Tables for other programs, written row by row into files. CSV is here, Parquet in `parquet`.

#[cfg(feature = "parquet")]
mod parquet;

use crate::config::experiment::SeriesFormat;
use anyhow::Context;
use flitwise_formats::sink::Sink;
use std::fmt::Write;
use std::path::Path;

/// A column.
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "CSV needs only the name")
)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    pub name: &'a str,
    pub kind: ColumnKind,
    /// True if a cell may be empty.
    pub optional: bool,
}

impl Column<'static> {
    /// A column without empty cells.
    pub const fn full(name: &'static str, kind: ColumnKind) -> Self {
        Self {
            name,
            kind,
            optional: false,
        }
    }

    /// A column whose cells may be empty.
    pub const fn optional(name: &'static str, kind: ColumnKind) -> Self {
        Self {
            name,
            kind,
            optional: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Text,
    Integer,
    Real,
}

/// A cell, of its column's kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Integer(u64),
    Real(f64),
    Empty,
}

/// A file that is written row by row. It appears under its name when it is complete.
pub(crate) trait Table: Send + Sync {
    /// Appends a row: a cell per column.
    fn row(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()>;
    /// Completes the file.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

/// Removes from `dir` the files of the table NAME that an earlier table left and one in `format` does not replace; all of
/// them without a format.
pub(crate) fn remove_stale(
    dir: &Path,
    name: &str,
    format: Option<SeriesFormat>,
) -> anyhow::Result<()> {
    let stale: &[&str] = match format {
        None => &["csv", "parquet"],
        Some(SeriesFormat::Csv) => &["parquet"],
        Some(SeriesFormat::Parquet) => &["csv"],
        Some(SeriesFormat::Both) => &[],
    };
    for extension in stale {
        let path = dir.join(format!("{name}.{extension}"));
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Opens the table NAME in `dir` in the files that `format` asks for: `NAME.csv`, `NAME.parquet`. A build
/// without the feature `parquet` writes no such file.
pub(crate) fn open(
    dir: &Path,
    name: &str,
    format: SeriesFormat,
    columns: &[Column<'_>],
) -> anyhow::Result<Vec<Box<dyn Table>>> {
    let path = |extension: &str| dir.join(format!("{name}.{extension}"));
    let mut tables: Vec<Box<dyn Table>> = Vec::new();
    if format != SeriesFormat::Parquet {
        tables.push(Box::new(CsvTable::create(&path("csv"), columns)?));
    }
    #[cfg(feature = "parquet")]
    if format != SeriesFormat::Csv {
        let table = parquet::ParquetTable::create(&path("parquet"), name, columns)?;
        tables.push(Box::new(table));
    }
    Ok(tables)
}

/// RFC 4180, with the names of the columns in the first line.
struct CsvTable {
    out: csv::Writer<Sink>,
    text: String,
}

impl CsvTable {
    fn create(path: &Path, columns: &[Column<'_>]) -> anyhow::Result<Self> {
        let mut out = csv::Writer::from_writer(Sink::create(path)?);
        out.write_record(columns.iter().map(|column| column.name))?;
        let text = String::new();
        Ok(Self { out, text })
    }
}

impl Table for CsvTable {
    fn row(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        for cell in cells {
            self.text.clear();
            match *cell {
                Cell::Text(text) => self.text.push_str(text),
                Cell::Integer(value) => write!(self.text, "{value}")?,
                Cell::Real(value) => write!(self.text, "{value}")?,
                Cell::Empty => {}
            }
            self.out.write_field(&self.text)?;
        }
        self.out.write_record(None::<&[u8]>)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        let sink = self.out.into_inner().map_err(|e| anyhow::anyhow!("{e}"))?;
        Ok(sink.finish()?)
    }
}
