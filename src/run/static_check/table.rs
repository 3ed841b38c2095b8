//! The connections of checks as a table, `check`.

use super::Check;
use crate::figure::tables::{Cell, Column, ColumnKind, TableFiles, TableFormat};
use anyhow::Context;
use std::path::Path;

const COLUMNS: [Column<'static>; 9] = [
    Column::full("network", ColumnKind::Text),
    Column::full("run", ColumnKind::Integer),
    Column::full("level", ColumnKind::Integer),
    Column::full("source", ColumnKind::Text),
    Column::full("destination", ColumnKind::Text),
    Column::full("congestion", ColumnKind::Integer),
    Column::full("share", ColumnKind::Real),
    Column::full("fair_share", ColumnKind::Real),
    Column::full("simulated", ColumnKind::Real),
];

/// Writes `check.csv`, `check.parquet` or both into `dir`: a row for each connection, with the fields of
/// [`ConnectionCheck`](super::ConnectionCheck). Removes a table of this name that `dir` has in another format, and without
/// checks in either.
///
/// # Errors
/// If a file cannot be written, or this build does not write the format.
pub fn write_check_table(
    dir: &Path,
    checks: &[(&str, &Check)],
    format: TableFormat,
) -> anyhow::Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    let write = || -> anyhow::Result<()> {
        let mut table = TableFiles::create(dir, "check", format, &COLUMNS)?;
        for &(label, check) in checks {
            for level in &check.levels {
                for c in &level.connections {
                    let row = [
                        Cell::Text(label),
                        Cell::Integer(level.run),
                        Cell::Integer(level.level.into()),
                        Cell::Text(&c.from),
                        Cell::Text(&c.to),
                        Cell::Integer(c.congestion),
                        Cell::Real(c.share),
                        Cell::Real(c.fair_share),
                        Cell::Real(c.simulated),
                    ];
                    table.row(&row)?;
                }
            }
        }
        table.finish()
    };
    write().with_context(|| format!("cannot write the table `check` in `{}`", dir.display()))
}
