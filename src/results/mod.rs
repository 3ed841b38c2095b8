//! The results of a run: `result.json`, and the summary that it prints.

mod compared;
mod curve;
pub(crate) mod distribution;
pub mod document;
mod dtable;
pub mod energy;
mod explain;
pub(crate) mod figure;
mod latency;
mod link_ends;
mod links;
mod measures;
mod messages;
pub(crate) mod nic_rate;
pub(crate) mod origin;
mod run_warnings;
pub(crate) mod series;
mod silent_flows;
mod simulated;
pub(crate) mod split;
mod stopped;
mod summary;
mod table;
mod timeline;
mod waits;
mod where_it_goes;

pub use crate::figure::tables::{Interval, MissingFeature, TableFormat, interval_95};
pub use compared::{ComparedRun, Difference, differences};
pub use curve::curve_csv;
pub use distribution::write_distributions;
pub use document::{
    COMPARISON_SCHEMA, SCHEMA, comparison_json, comparison_schema, result_json, result_schema,
};
pub use dtable::{DTABLE_SCHEMA, DTableReport};
pub use explain::explanation_page;
pub use latency::{Latency, latency};
pub use link_ends::{link_end, link_end_named};
pub use links::{busiest, culprits, write_link_files};
pub use measures::{
    baseline_time_ps, execution_time_ps, job_baseline, saturated, slowdown, throughput, utilisation,
};
pub(crate) use measures::{last_job, per_slot, quotient, reference_ps};
pub use messages::{MessageFile, WatchedByBoth};
pub use nic_rate::gbit_per_s;
pub use origin::{AnalysisInput, analysis_toml, experiment_toml, origin_files, relative_input};
pub use run_warnings::{RunWarning, Subject, run_warnings};
pub use series::SeriesFiles;
#[cfg(feature = "report")]
pub(crate) use simulated::scheduler_name;
pub(crate) use split::time_split_of_all;
pub use split::{TimeSplit, time_split};
pub use summary::summary;
pub use table::write_table;
pub use timeline::{TimelineFile, TimelineFormat};

use crate::config::Plan;
use crate::config::experiment::SeriesKind;
use crate::figure::Theme;
use crate::oblivious::TABLES;
use crate::run::RunResult;

/// The document of a run, by which its directory is known.
pub const RESULT_FILE: &str = "result.json";
/// The document of a static analysis, by which its directory is known.
pub const ANALYSIS_FILE: &str = "congestion.json";
/// The file beside an explained result with its comparison with another one.
pub const COMPARISON_FILE: &str = "comparison.json";
/// The file beside the results with the activities of the ranks, slice by slice.
pub const OVERVIEW_FILE: &str = "ranks.csv";
/// The file beside the results with the command that made them.
pub const COMMAND_FILE: &str = "command.txt";

/// The file beside the results with their experiment, which repeats them.
pub const EXPERIMENT_FILE: &str = "experiment.toml";

/// Whether a run may write a file of this name into the directory of its results.
#[must_use]
pub fn is_result_file(name: &str) -> bool {
    let own = [
        RESULT_FILE,
        "summary.txt",
        "curve.csv",
        "curve.svg",
        "links.csv",
        "links.parquet",
        "latencies.csv",
        "matrix.csv",
        "waits.csv",
        OVERVIEW_FILE,
        COMMAND_FILE,
        COMPARISON_FILE,
        EXPERIMENT_FILE,
    ];
    own.contains(&name) || is_series_file(name)
}

/// The figures of a static analysis, but for the drawings of cables.
pub const ANALYSIS_FIGURES: [&str; 4] = ["bandwidth", "check", "congestion", "delay"];

/// Whether a static analysis may write a file of this name.
#[must_use]
pub fn is_analysis_file(name: &str) -> bool {
    let Some((stem, extension)) = name.split_once('.') else {
        return false;
    };
    let is_numbered = || {
        let number = stem.strip_prefix("cables-");
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    };
    match extension {
        "json" => stem == "congestion",
        "txt" => name == COMMAND_FILE,
        "toml" => name == EXPERIMENT_FILE,
        "csv" | "parquet" => stem == "check" || TABLES.contains(&stem),
        "svg" => ANALYSIS_FIGURES.contains(&stem) || stem == "cables" || is_numbered(),
        "dot" => stem == "cables" || is_numbered(),
        _ => false,
    }
}

/// Whether time series or their figures may be in a file of this name.
#[must_use]
pub fn is_series_file(name: &str) -> bool {
    let of_a_series = || {
        let (series, extension) = name.split_once('.')?;
        let mut all = SeriesKind::ALL.iter();
        let known = all.any(|kind| kind.name() == series);
        Some(known && ["csv", "parquet", "svg"].contains(&extension))
    };
    name == series::SHARES || of_a_series().unwrap_or(false)
}

/// Draws `curve.svg`: the accepted load, in total and per service level, and below it the mean end-to-end latency per
/// service level on a logarithmic axis, both over the offered load. Service levels without traffic are left out. Points
/// that are saturated or not steady have marks of their own.
///
/// # Errors
/// A [`MissingFeature`] without the feature `plots`.
pub fn curve_svg(plan: &Plan, result: &RunResult) -> Result<String, MissingFeature> {
    if !cfg!(feature = "plots") {
        return Err(MissingFeature::CURVE);
    }
    Ok(figure::curve_figure(plan, result).draw(figure::WIDTH, Theme::File))
}
