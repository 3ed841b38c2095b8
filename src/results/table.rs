//! Lays out the text tables that commands print.

use std::fmt::{self, Write};

/// A table with its first column to the left and the others to the right; not
/// written if there is only the header.
pub(crate) fn write_table(out: &mut String, rows: &[Vec<String>]) -> fmt::Result {
    if rows.len() < 2 {
        return Ok(());
    }
    let columns = rows[0].len();
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    writeln!(out)?;
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let width = widths[c];
            if c == 0 {
                write!(line, "{cell:<width$}")?;
            } else {
                write!(line, "  {cell:>width$}")?;
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
