//! In which files a table is written.

use super::MissingFeature;
use serde::{Deserialize, Serialize};

/// The files of a table.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated values (RFC 4180).
    #[default]
    Csv,
    /// Apache Parquet.
    Parquet,
    /// One file of each.
    Both,
}

impl TableFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Parquet, Self::Both];

    /// The name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Both => "both",
        }
    }

    /// Whether a CSV file is written.
    #[must_use]
    pub fn has_csv(self) -> bool {
        self != Self::Parquet
    }

    /// Whether a Parquet file is written.
    #[must_use]
    pub fn has_parquet(self) -> bool {
        self != Self::Csv
    }

    /// Checks that this build writes the format; `missing` is the error where it does not.
    pub fn check(self, missing: MissingFeature) -> Result<(), MissingFeature> {
        if self.has_parquet() && !cfg!(feature = "parquet") {
            return Err(missing);
        }
        Ok(())
    }
}
