//! The error of a build that cannot write an output.

use thiserror::Error;

/// An output that this build cannot write, because a feature of the crate is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{key}: this build writes no {output}, for it lacks the feature `{feature}`; build it with \
     `--features {feature}`, or {instead}"
)]
#[non_exhaustive]
pub struct MissingFeature {
    /// Experiment-file key or file that asks for the output.
    pub key: &'static str,
    /// The output that is not written.
    pub output: &'static str,
    /// The feature that writes it.
    pub feature: &'static str,
    /// An alternative without the feature.
    pub instead: &'static str,
}

impl MissingFeature {
    /// The error of time series that are to be Parquet files.
    pub const SERIES_PARQUET: Self = Self {
        key: "series.format",
        output: "Parquet files",
        feature: "parquet",
        instead: "set series.format = \"csv\"",
    };

    /// The error of a study that asks for Parquet files.
    pub const STUDY_PARQUET: Self = Self {
        key: "format",
        instead: "set format = \"csv\"",
        ..Self::SERIES_PARQUET
    };

    /// The error of a static analysis whose tables are to be Parquet files.
    pub const CONGESTION_PARQUET: Self = Self {
        key: "--format",
        instead: "take --format csv",
        ..Self::SERIES_PARQUET
    };

    /// The error of a table of messages that is to be a Parquet file.
    pub const MESSAGES: Self = Self {
        key: "--messages",
        instead: "name a file that ends in .csv",
        ..Self::SERIES_PARQUET
    };

    /// The error of time series that are to be drawn.
    pub const SERIES_FIGURES: Self = Self {
        key: "series.figure_lines",
        output: "figures (SVG)",
        feature: "plots",
        instead: "set series.figure_lines = 0",
    };

    /// The error of a curve that is to be drawn.
    pub const CURVE: Self = Self {
        key: "curve.svg",
        instead: "take the numbers in curve.csv",
        ..Self::SERIES_FIGURES
    };

    /// The error of a figure that is to be PDF or PNG.
    pub const PICTURES: Self = Self {
        key: "-o",
        output: "PDF and PNG",
        instead: "name a file that ends in .svg",
        ..Self::SERIES_FIGURES
    };

    /// The error of a timeline that is to be a Perfetto trace.
    pub const PERFETTO: Self = Self {
        key: "--timeline",
        output: "Perfetto traces",
        feature: "perfetto",
        instead: "name a file that ends in .paje or .csv",
    };
}
