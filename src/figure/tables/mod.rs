//! Parts that tables of data share: their formats, how they are written row by row, where rows wait until then, and the
//! intervals of means. Nothing here knows of runs.

mod csv_table;
mod format;
mod interval;
mod missing;
#[cfg(feature = "parquet")]
mod parquet;
mod spool;

pub use csv_table::CsvTable;
pub use format::TableFormat;
pub use interval::batch_means;
pub use interval::{Interval, interval_95};
pub use missing::MissingFeature;
pub use spool::{Key, NONE, Row, Spool};

use flitwise_formats::sink::Sink;
use std::path::Path;

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The name in the first line of a CSV file, and in the schema of a Parquet file.
    pub name: &'a str,
    /// The kind of its cells.
    pub kind: ColumnKind,
    /// Whether a cell may be empty.
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

/// The kind of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A text.
    Text,
    /// A whole number from 0 on.
    Integer,
    /// A number.
    Real,
}

/// A cell, of its column's kind.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// A text.
    Text(&'a str),
    /// A whole number from 0 on.
    Integer(u64),
    /// A number.
    Real(f64),
    /// No value.
    Empty,
}

impl Cell<'_> {
    /// The number, or an empty cell.
    pub fn real(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Real)
    }
}

/// The files of a table, which is written row by row. They appear under their names when they are complete.
pub struct TableFiles {
    csv: Option<CsvTable<Sink>>,
    #[cfg(feature = "parquet")]
    parquet: Option<parquet::ParquetTable>,
}

impl TableFiles {
    /// Opens the files of the table NAME in `dir` that `format` asks for: `NAME.csv`, `NAME.parquet`. A build without the
    /// feature `parquet` writes no such file.
    pub fn create(
        dir: &Path,
        name: &str,
        format: TableFormat,
        columns: &[Column<'_>],
    ) -> anyhow::Result<Self> {
        let path = |extension: &str| dir.join(format!("{name}.{extension}"));
        let csv = || CsvTable::new(Sink::create(&path("csv"))?, columns);
        #[cfg(feature = "parquet")]
        let parquet = || parquet::ParquetTable::create(&path("parquet"), name, columns);
        Ok(Self {
            csv: format.has_csv().then(csv).transpose()?,
            #[cfg(feature = "parquet")]
            parquet: format.has_parquet().then(parquet).transpose()?,
        })
    }

    /// Opens one file of the table `name`. A build without the feature `parquet` writes CSV.
    pub fn create_file(
        path: &Path,
        name: &str,
        format: TableFormat,
        columns: &[Column<'_>],
    ) -> anyhow::Result<Self> {
        #[cfg(feature = "parquet")]
        if format.has_parquet() {
            return Ok(Self {
                csv: None,
                parquet: Some(parquet::ParquetTable::create(path, name, columns)?),
            });
        }
        let _ = (name, format);
        Ok(Self {
            csv: Some(CsvTable::new(Sink::create(path)?, columns)?),
            #[cfg(feature = "parquet")]
            parquet: None,
        })
    }

    /// Appends a row: a cell per column.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        if let Some(csv) = &mut self.csv {
            csv.row(cells)?;
        }
        #[cfg(feature = "parquet")]
        if let Some(parquet) = &mut self.parquet {
            parquet.row(cells)?;
        }
        Ok(())
    }

    /// Completes the files.
    pub fn finish(self) -> anyhow::Result<()> {
        if let Some(csv) = self.csv {
            csv.finish()?.finish()?;
        }
        #[cfg(feature = "parquet")]
        if let Some(parquet) = self.parquet {
            parquet.finish()?;
        }
        Ok(())
    }
}
