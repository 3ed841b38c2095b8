//! The connections of checks as a table, `check`.

use super::Check;
use crate::config::experiment::SeriesFormat;
use crate::results::data_table::{self, Cell, Column, ColumnKind, Table};
use anyhow::Context;
use std::path::Path;

const fn column(name: &'static str, kind: ColumnKind) -> Column<'static> {
    Column {
        name,
        kind,
        optional: false,
    }
}

const COLUMNS: [Column<'static>; 9] = [
    column("network", ColumnKind::Text),
    column("run", ColumnKind::Integer),
    column("level", ColumnKind::Integer),
    column("source", ColumnKind::Text),
    column("destination", ColumnKind::Text),
    column("congestion", ColumnKind::Integer),
    column("share", ColumnKind::Real),
    column("fair_share", ColumnKind::Real),
    column("simulated", ColumnKind::Real),
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
    format: SeriesFormat,
) -> anyhow::Result<()> {
    let stale = match (checks.is_empty(), format) {
        (true, _) => &["csv", "parquet"][..],
        (false, SeriesFormat::Csv) => &["parquet"],
        (false, SeriesFormat::Parquet) => &["csv"],
        (false, SeriesFormat::Both) => &[],
    };
    for extension in stale {
        let path = dir.join(format!("check.{extension}"));
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    if checks.is_empty() {
        return Ok(());
    }
    let write = || -> anyhow::Result<()> {
        let mut tables = data_table::open(dir, "check", format, &COLUMNS)?;
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
                    tables.iter_mut().try_for_each(|table| table.row(&row))?;
                }
            }
        }
        tables.into_iter().try_for_each(Table::finish)
    };
    write().with_context(|| format!("cannot write the table `check` in `{}`", dir.display()))
}
