//! `[series]`: its keys as written, and their meaning.

use crate::config::document::{ConfigError, refused};
use crate::fabric::spec::congestion::{Marker, SourceControl};
use crate::fabric::spec::{FabricSpec, Tick};
use crate::figure::tables::TableFormat;
use crate::units::Latency;
use schemars::JsonSchema;
use serde::Deserialize;

/// Most ticks between two samples.
const MAX_INTERVAL: u64 = 1 << 40;

/// Lines of a figure without a word in the file.
const LINES: u32 = 8;

/// Most lines of a figure: the legend has room for no more.
const MAX_LINES: u32 = 16;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSeries {
    /// Time from one sample to the next, rounded up to ticks.
    ///
    /// `"10us"`, or ticks.
    pub interval: Latency,
    /// Any of `"flows"`, `"port_vls"`, `"sources"` and `"power"` ([columns](result.md#time-series)).
    ///
    /// `"flows"`: payload delivered per sender, receiver and service level. `"port_vls"`: data waiting and packets
    /// marked per switch output and VL; by default, on hierarchical switches only with a `marker` of congestion
    /// control. `"sources"`: control level and delay per flow, or per service level of a NIC; by default only with a
    /// `source`. `"power"`: links in each power state, and their power; by default only with a `policy` of `[power]`
    /// other than `"always-on"`.
    ///
    /// A flow, Port VL or source takes about 36 bytes per sample in which it was active. During a run the samples are
    /// in hidden files beside DIR, about as large as the CSV will be, not in memory.
    #[schemars(extend("x-default" = "all that the fabric has"))]
    pub record: Option<Vec<SeriesKind>>,
    /// Files of the samples: `"csv"`, `"parquet"` or `"both"`.
    #[schemars(extend("default" = "csv"))]
    pub format: Option<TableFormat>,
    /// True: also records the baselines.
    ///
    /// They have rows of their own.
    #[schemars(extend("default" = false))]
    pub baselines: Option<bool>,
    /// Most lines of a figure, 0 to 16; 0: no figures.
    #[schemars(extend("default" = LINES))]
    pub figure_lines: Option<u32>,
}

/// The time series that are recorded, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Series {
    /// Ticks from one sample to the next, at least 1.
    pub interval: Tick,
    /// The series to record, at least one, in the order of [`SeriesKind::ALL`].
    pub record: Vec<SeriesKind>,
    /// In which files.
    pub format: TableFormat,
    /// Whether the baselines are recorded as well.
    pub baselines: bool,
    /// Most lines of a figure; 0: no figures.
    pub figure_lines: u32,
}

/// A time series; the lists of a [`Sample`](crate::fabric::series::Sample).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Payload delivered per queue pair.
    Flows,
    /// Flits waiting and packets marked per Port VL.
    PortVls,
    /// CCTI and injection rate delay per source.
    Sources,
    /// Power states of links.
    Power,
}

impl SeriesKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Flows, Self::PortVls, Self::Sources, Self::Power];

    /// The name in experiment files and of the files written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::PortVls => "port_vls",
            Self::Sources => "sources",
            Self::Power => "power",
        }
    }
}

/// The time series to record on `fabric`.
pub(crate) fn series(raw: &RawSeries, fabric: &FabricSpec) -> Result<Series, ConfigError> {
    let interval = raw.interval.ticks(fabric.units.tick);
    if !(1..=MAX_INTERVAL).contains(&interval) {
        let problem = format!("{interval} ticks; it must be 1 to 2^40 ticks");
        return refused("series.interval", problem);
    }
    let record: Vec<SeriesKind> = match &raw.record {
        None => SeriesKind::ALL
            .into_iter()
            .filter(|&kind| series_lacks(kind, fabric).is_none())
            .collect(),
        Some(list) => {
            let wanted = |kind: &SeriesKind| list.contains(kind);
            SeriesKind::ALL.into_iter().filter(wanted).collect()
        }
    };
    if record.is_empty() {
        return refused(
            "series.record",
            "names nothing; list some of \"flows\", \"port_vls\", \"sources\", \"power\", or remove [series]",
        );
    }
    let figure_lines = raw.figure_lines.unwrap_or(LINES);
    if figure_lines > MAX_LINES {
        let problem = format!(
            "is {figure_lines}; a figure has at most {MAX_LINES} lines (0: no figures are drawn)"
        );
        return refused("series.figure_lines", problem);
    }
    Ok(Series {
        interval,
        record,
        format: raw.format.unwrap_or_default(),
        baselines: raw.baselines.unwrap_or(false),
        figure_lines,
    })
}

/// The part that a series needs and `fabric` lacks, so that nothing is ever recorded. Fills of hierarchical switches
/// belong to their marker, and sources to their control; links without power states are always up.
#[must_use]
pub fn series_lacks(kind: SeriesKind, fabric: &FabricSpec) -> Option<&'static str> {
    let control = fabric.congestion_control.as_deref();
    let (is_seen, needs) = match kind {
        SeriesKind::Flows => (true, ""),
        SeriesKind::PortVls => (
            control.is_some_and(|control| control.marker != Marker::None)
                || fabric.switch.kind().records_fills(),
            "hierarchical switches record what waits with a congestion_control.marker other than \"none\"",
        ),
        SeriesKind::Sources => (
            control.is_some_and(|control| control.source != SourceControl::None),
            "sources have a control level with a congestion_control.source other than \"none\"",
        ),
        SeriesKind::Power => (
            fabric.link_power.is_some(),
            "links have power states with power.policy = \"on-off\" or \"high-low\"",
        ),
    };
    (!is_seen).then_some(needs)
}

/// Refuses a key that nothing uses in a measurement.
pub(crate) fn unused(raw: Option<&RawSeries>, measures: bool) -> Result<(), ConfigError> {
    if measures && raw.is_some_and(|raw| raw.baselines == Some(true)) {
        let problem = "a measurement has no baseline; remove it";
        return refused("series.baselines", problem);
    }
    Ok(())
}
