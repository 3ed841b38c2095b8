//! Records of measurements: a CSV file a day in `benches/records`.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// What was measured of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// `Flitwise` or another simulator.
    pub program: String,
    pub group: String,
    pub case: String,
    pub unit: String,
    pub minimum: f64,
    pub median: f64,
    pub maximum: f64,
    /// Peak of the resident memory in 10⁶ bytes, if it was looked at.
    pub memory_mb: Option<f64>,
}

/// Writes a record.
pub fn write(file: &Path, measured: &[Measured]) -> io::Result<()> {
    let mut out = csv::Writer::from_path(file)?;
    for row in measured {
        out.serialize(row)?;
    }
    out.flush()
}

/// The newest record in `folder`: its date, and what it holds.
pub fn newest(folder: &Path) -> io::Result<(String, Vec<Measured>)> {
    let names = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let newest = names.iter().max().ok_or(io::ErrorKind::NotFound)?;
    let rows = csv::Reader::from_path(folder.join(newest))?.into_deserialize();
    let rows = rows.collect::<Result<_, _>>().map_err(io::Error::other)?;
    let date = newest.to_string_lossy();
    Ok((date.trim_end_matches(".csv").to_owned(), rows))
}
