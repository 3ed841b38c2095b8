//! The experiment file as written: every key is optional, every unknown key an
//! error. `resolve` decides what the keys mean.

use crate::config::analysis::RawRequest;
use crate::config::background::RawBackground;
use crate::config::baseline::RawBaseline;
use crate::config::congestion_control::keys::RawCongestionControl;
use crate::config::document::error::ConfigError;
use crate::config::document::kinds::kinds_of;
use crate::config::document::tagged::{Tagged, text};
use crate::config::document::{Document, Keys};
use crate::config::fabric::routing::explain_paths;
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::{RawFabric, default_kind};
use crate::config::job::keys::RawJob;
use crate::config::job::vfabric::RawVfabric;
use crate::config::measure::RawMeasure;
use crate::config::power::keys::RawPower;
use crate::config::qos::keys::RawQos;
use crate::config::series::RawSeries;
use crate::replay::collectives::Choices;
use crate::units::Picoseconds;
use serde::Deserialize;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Seed of an experiment that has none.
pub(crate) const DEFAULT_SEED: u64 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawExperiment {
    pub name: Option<String>,
    pub description: Option<String>,
    pub tags: Option<Vec<String>>,
    pub seed: Option<u64>,
    #[serde(default)]
    pub fabric: RawFabric,
    #[serde(default)]
    pub qos: RawQos,
    #[serde(default)]
    pub congestion_control: RawCongestionControl,
    pub power: Option<RawPower>,
    #[serde(default)]
    pub vfabric: Vec<RawVfabric>,
    #[serde(default)]
    pub job: Vec<RawJob>,
    #[serde(default)]
    pub collectives: Choices,
    #[serde(default)]
    pub background: Vec<RawBackground>,
    pub background_gap_skip: Option<Picoseconds>,
    pub measure: Option<RawMeasure>,
    pub congestion: Option<RawRequest>,
    pub series: Option<RawSeries>,
    #[serde(default)]
    pub baseline: RawBaseline,
}

/// The keys of a document, with the directories of the study files that name its traces.
pub(crate) fn read_experiment(document: &Document<'_>) -> Result<RawExperiment, ConfigError> {
    let mut raw: RawExperiment = document.read()?;
    for (at, job) in raw.job.iter_mut().enumerate() {
        job.trace_dir = document
            .dir_of(&format!("job.{at}.trace"))
            .map(Path::to_owned);
    }
    Ok(raw)
}

impl Keys for RawExperiment {
    const TAGGED: &'static [Tagged] = &[
        Tagged {
            path: "fabric.topology",
            of: "topology",
            kinds: kinds_of::<RawTopology>,
            default: |_| None,
            beside: "",
        },
        Tagged {
            path: "fabric",
            of: "switch",
            kinds: kinds_of::<RawFabric>,
            default: |table| Some(default_switch(table)),
            beside: " with a preset of that kind",
        },
    ];

    fn explain_value(root: &DeTable<'_>, error: &mut ConfigError) {
        explain_paths(root, error);
    }
}

/// The kind of switch of a `[fabric]` that names none.
fn default_switch(fabric: &DeTable<'_>) -> &'static str {
    default_kind(text(fabric, "preset"))
}

/// The kind of switch of a `[fabric]`.
pub(crate) fn fabric_kind<'a>(fabric: Option<&'a DeValue<'_>>) -> &'a str {
    match fabric {
        Some(DeValue::Table(table)) => text(table, "kind").unwrap_or(default_switch(table)),
        _ => default_kind(None),
    }
}

/// What an experiment has for simulations alone.
pub(crate) const FOR_SIMULATIONS: [&str; 7] = [
    "job",
    "background",
    "background_gap_skip",
    "measure",
    "series",
    "baseline",
    "vfabric",
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
        !raw.job.is_empty(),
        !raw.background.is_empty(),
        raw.background_gap_skip.is_some(),
        raw.measure.is_some(),
        raw.series.is_some(),
        compared.contains(&true),
        !raw.vfabric.is_empty(),
    ];
    let simulated = FOR_SIMULATIONS.iter().zip(given);
    match simulated.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => Err(ConfigError::new(
            *key,
            "belongs to a simulation, and [congestion] asks for a static analysis, which has none; remove one of the two",
        )),
    }
}
