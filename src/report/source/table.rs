//! Tables of results, row by row.

use super::damaged;
use crate::report::error::ReportError;
use flitwise_base::quote::of_csv_cell;
use flitwise_formats::source::open_regular;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

/// A row: its cells by the place of the column that was asked for.
pub(super) struct Row<'a> {
    record: &'a csv::StringRecord,
    places: &'a [Option<usize>],
}

impl Row<'_> {
    /// The cell in the column of this index; empty if there is none.
    pub(super) fn text(&self, column: usize) -> &str {
        let place = self.places.get(column).copied().flatten();
        let cell = place.and_then(|place| self.record.get(place));
        of_csv_cell(cell.unwrap_or(""))
    }

    pub(super) fn number<N: FromStr>(&self, column: usize) -> Option<N> {
        self.text(column).parse().ok()
    }

    pub(super) fn real(&self, column: usize) -> f64 {
        let value: f64 = self.text(column).parse().unwrap_or(0.0);
        if value.is_finite() { value } else { 0.0 }
    }
}

/// Returns the items that `of` makes of the rows of a CSV file, with the columns of these names.
pub(super) fn read_rows<T>(
    path: &Path,
    columns: &[&str],
    of: impl Fn(&Row<'_>) -> Option<T>,
) -> Result<Vec<T>, ReportError> {
    let mut items = Vec::new();
    rows(path, columns, |row| items.extend(of(row)))?;
    Ok(items)
}

/// Hands every row of a CSV file to `see`, with the columns of these names. A file that is not there has no rows.
pub(super) fn rows(
    path: &Path,
    columns: &[&str],
    mut see: impl FnMut(&Row<'_>),
) -> Result<(), ReportError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => {
            let shown = path.display();
            return Err(ReportError(format!(
                "cannot read `{shown}`: {e}; run it again"
            )));
        }
    };
    let damaged = |e: csv::Error| damaged(path, e);
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(damaged)?.clone();
    let place = |name: &&str| header.iter().position(|column| column == *name);
    let places: Vec<Option<usize>> = columns.iter().map(place).collect();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(damaged)? {
        see(&Row {
            record: &record,
            places: &places,
        });
    }
    Ok(())
}
