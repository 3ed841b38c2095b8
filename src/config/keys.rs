//! The experiment file as written: every key is optional, every unknown key an
//! error. `resolve` decides what the keys mean.

use crate::config::analysis::RawRequest;
use crate::config::background::RawBackground;
use crate::config::baseline::RawBaseline;
use crate::config::congestion_control::keys::RawCongestionControl;
use crate::config::document::{ConfigError, Document, refused};
use crate::config::event::RawEvent;
use crate::config::fabric::RawFabric;
use crate::config::job::keys::RawJob;
use crate::config::job::vfabric::RawVfabric;
use crate::config::measure::RawMeasure;
use crate::config::node::RawNode;
use crate::config::origin::Origin;
use crate::config::power::keys::RawPower;
use crate::config::qos::keys::RawQos;
use crate::config::schedule::RawSchedule;
use crate::config::series::RawSeries;
use crate::replay::collectives::Choices;
use crate::units::Picoseconds;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

/// Seed of an experiment that has none.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// `saturated_limit` of an experiment that has none.
pub(crate) const SATURATED_LIMIT: u32 = 30;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawExperiment {
    /// Title, at most 255 characters: heads the summary and figures.
    pub name: Option<String>,
    /// Purpose, at most 4096 characters.
    pub description: Option<String>,
    /// Search words, each once; at most 64.
    pub tags: Option<Vec<String>>,
    /// Seed of every random stream; `--seed N` overrides it.
    #[schemars(extend("default" = DEFAULT_SEED))]
    pub seed: Option<u64>,
    /// Switches, links, NICs and routes.
    #[serde(default)]
    pub fabric: RawFabric,
    /// Links that go down, come up or slow down during the run.
    #[serde(default)]
    pub event: Vec<RawEvent>,
    /// Service levels, their VLs, and the scheduler of links.
    #[serde(default)]
    pub qos: RawQos,
    /// InfiniBand's congestion control, on any kind of switch.
    #[serde(default)]
    pub congestion_control: RawCongestionControl,
    /// Power of the fabric, and policy for idle links.
    ///
    /// Without the table energy is not counted.
    pub power: Option<RawPower>,
    /// NICs that are of one node, links inside it, and rails.
    ///
    /// Without the table every NIC is a node.
    pub node: Option<RawNode>,
    /// NICs and service levels for the jobs that name one.
    #[serde(default)]
    pub vfabric: Vec<RawVfabric>,
    /// Applications: traces to replay.
    #[serde(default)]
    pub job: Vec<RawJob>,
    /// Jobs of a batch system, each of which runs one of the `[[job]]` entries.
    pub schedule: Option<RawSchedule>,
    /// Algorithms for the collectives of all jobs.
    ///
    /// `collectives` of a job overrides them.
    #[serde(default)]
    pub collectives: Choices,
    /// Synthetic traffic, beside jobs or measured alone.
    ///
    /// Beside jobs it runs while one of them runs.
    #[serde(default)]
    pub background: Vec<RawBackground>,
    /// [Skips](../model/gap-skip.md) background traffic between messages of jobs, except this time before each.
    ///
    /// While no job has a message in the fabric, background flows are simulated only for this time, such as `"20us"`,
    /// before the next one. Without it everything is simulated.
    pub background_gap_skip: Option<Picoseconds>,
    /// Ends a [saturated](../evidence/reliability.md#saturation) run whose jobs would take this many times as long as unloaded.
    #[schemars(extend("default" = SATURATED_LIMIT))]
    pub saturated_limit: Option<u32>,
    /// Measurement of the traffic of an experiment without a `[[job]]`.
    pub measure: Option<RawMeasure>,
    /// Request for a static analysis, without simulation.
    ///
    /// It tells what the routes leave of the bandwidth of a traffic pattern.
    pub congestion: Option<RawRequest>,
    /// Time series to record below `--out DIR`.
    pub series: Option<RawSeries>,
    /// Baseline of the slowdown: overrides of the experiment.
    #[serde(default)]
    pub baseline: RawBaseline,
    /// Source of a file that Flitwise wrote beside a result.
    pub origin: Option<Origin>,
}

/// The keys of a document, with the directories of the study files that name its traces.
pub(crate) fn read_experiment(document: &Document<'_>) -> Result<RawExperiment, ConfigError> {
    let mut raw: RawExperiment = document.read()?;
    for (at, job) in raw.job.iter_mut().enumerate() {
        let found = raw
            .origin
            .as_ref()
            .and_then(|origin| origin.file_of(&job.trace));
        job.trace_file = found.map(Path::to_owned);
        job.trace_dir = document
            .dir_of(&format!("job.{at}.trace"))
            .map(Path::to_owned);
    }
    Ok(raw)
}

/// The keys of an experiment that only simulations use.
pub(crate) const FOR_SIMULATIONS: [&str; 11] = [
    "event",
    "job",
    "schedule",
    "background",
    "background_gap_skip",
    "saturated_limit",
    "measure",
    "series",
    "baseline",
    "vfabric",
    "node",
];

/// Refuses the first key of an experiment with `[congestion]` that only a simulation uses.
pub(crate) fn stands_alone(raw: &RawExperiment) -> Result<(), ConfigError> {
    let baseline = &raw.baseline;
    let compared = [
        baseline.enabled.is_some(),
        baseline.alone.is_some(),
        baseline._file.is_some(),
        baseline._overrides.is_some(),
    ];
    let given = [
        !raw.event.is_empty(),
        !raw.job.is_empty(),
        raw.schedule.is_some(),
        !raw.background.is_empty(),
        raw.background_gap_skip.is_some(),
        raw.saturated_limit.is_some(),
        raw.measure.is_some(),
        raw.series.is_some(),
        compared.contains(&true),
        !raw.vfabric.is_empty(),
        raw.node.is_some(),
    ];
    let simulated = FOR_SIMULATIONS.iter().zip(given);
    match simulated.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => refused(
            *key,
            "belongs to a simulation, and [congestion] asks for a static analysis, which has none; remove one of the two",
        ),
    }
}
