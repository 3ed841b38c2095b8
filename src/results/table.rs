//! Lays out the text tables that summaries and commands print, and reads the extensions of files.

use flitwise_base::quote::cut;
use std::fmt::{self, Write};
use std::path::Path;

/// Appends a table to `out`, with cells [cut](cut) as messages cut text of input: the first column to the left, the others to the right. The first row is the header; a
/// table with only a header is left out. Every row has as many cells as the header.
///
/// # Errors
/// None: writing to a `String` succeeds.
pub fn write_table(out: &mut String, rows: &[Vec<String>]) -> fmt::Result {
    if rows.len() < 2 {
        return Ok(());
    }
    let shown = |row: &Vec<String>| row.iter().map(|cell| cut(cell).to_string()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows[0].len();
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    writeln!(out)?;
    for row in &rows {
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

/// The extension of a file in lower case, before `.gz` or `.zst` if it has one of these, and whether it has.
pub(super) fn extension(path: &Path) -> (String, bool) {
    let of = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str());
        extension.unwrap_or_default().to_ascii_lowercase()
    };
    let last = of(path);
    match path.file_stem() {
        Some(inner) if last == "gz" || last == "zst" => (of(Path::new(inner)), true),
        _ => (last, false),
    }
}
