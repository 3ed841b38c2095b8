//! What a build without the features `plots` or `parquet` says in place of their output.

use crate::config::experiment::{Series, SeriesFormat};
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
    /// What would be written.
    pub output: &'static str,
    /// The feature that writes it.
    pub feature: &'static str,
    /// What to do without the feature.
    pub instead: &'static str,
}

const PARQUET: MissingFeature = MissingFeature {
    key: "series.format",
    output: "Parquet files",
    feature: "parquet",
    instead: "set series.format = \"csv\"",
};

impl MissingFeature {
    /// The error of a study that asks for Parquet files.
    pub(crate) const STUDY_PARQUET: Self = Self {
        key: "format",
        instead: "set format = \"csv\"",
        ..PARQUET
    };

    /// The error of a static analysis whose tables are to be Parquet files.
    pub(crate) const CONGESTION_PARQUET: Self = Self {
        key: "--format",
        instead: "take --format csv",
        ..PARQUET
    };
}

const FIGURES: MissingFeature = MissingFeature {
    key: "series.figure_lines",
    output: "figures (SVG)",
    feature: "plots",
    instead: "set series.figure_lines = 0",
};

/// The error of a curve that is to be drawn.
#[cfg(not(feature = "plots"))]
pub(super) const CURVE: MissingFeature = MissingFeature {
    key: "curve.svg",
    instead: "take the numbers in curve.csv",
    ..FIGURES
};

/// The error of a figure that is to be PDF or PNG.
#[cfg(not(feature = "plots"))]
impl MissingFeature {
    pub(crate) const PICTURES: Self = Self {
        key: "-o",
        output: "PDF and PNG",
        instead: "name a file that ends in .svg",
        ..FIGURES
    };
}

/// The error of a timeline that is to be a Perfetto trace.
#[cfg(not(feature = "perfetto"))]
pub(super) const PERFETTO: MissingFeature = MissingFeature {
    key: "--timeline",
    output: "Perfetto traces",
    feature: "perfetto",
    instead: "name a file that ends in .paje or .csv",
};

/// What `series` asks for and a build cannot write that has the features `parquet` and `plots` or not.
pub(super) fn missing_for(series: &Series, parquet: bool, plots: bool) -> Option<MissingFeature> {
    if !parquet && series.format != SeriesFormat::Csv {
        return Some(PARQUET);
    }
    (!plots && series.figure_lines > 0).then_some(FIGURES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_feature_and_what_to_do_without_it() {
        let series = |format, figure_lines| Series {
            interval: 1,
            record: Vec::new(),
            format,
            baselines: false,
            figure_lines,
        };
        let (csv, both) = (SeriesFormat::Csv, SeriesFormat::Both);
        let cases = [
            (series(csv, 0), false, false, None),
            (series(both, 8), true, true, None),
            (series(both, 8), false, true, Some(PARQUET)),
            (series(csv, 8), true, false, Some(FIGURES)),
        ];
        for (series, parquet, plots, expected) in cases {
            assert_eq!(missing_for(&series, parquet, plots), expected, "{series:?}");
        }
        assert_eq!(
            PARQUET.to_string(),
            "series.format: this build writes no Parquet files, for it lacks the feature `parquet`; \
             build it with `--features parquet`, or set series.format = \"csv\""
        );
    }
}
