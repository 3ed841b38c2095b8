//! Writes a table row by row as CSV (RFC 4180), with the names of the columns in the first line.

use super::{Cell, Column};
use flitwise_base::quote::csv_cell;
use std::fmt::Write as _;
use std::io::Write;

/// A table that is written as CSV.
pub struct CsvTable<W: Write> {
    out: csv::Writer<W>,
    text: String,
}

impl<W: Write> CsvTable<W> {
    /// A table with these columns.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, columns: &[Column<'_>]) -> anyhow::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(columns.iter().map(|column| column.name))?;
        let text = String::new();
        Ok(Self { out, text })
    }

    /// Appends a row: a cell per column.
    ///
    /// # Errors
    /// As [`CsvTable::new`].
    pub fn row(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        for cell in cells {
            self.text.clear();
            match *cell {
                Cell::Text(text) => self.text.push_str(&csv_cell(text)),
                Cell::Integer(value) => write!(self.text, "{value}")?,
                Cell::Real(value) => write!(self.text, "{value}")?,
                Cell::Empty => {}
            }
            self.out.write_field(&self.text)?;
        }
        self.out.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// Returns what the table was written to.
    pub fn finish(self) -> anyhow::Result<W> {
        self.out.into_inner().map_err(|e| anyhow::anyhow!("{e}"))
    }
}
