//! The experiment file as written: every key is optional, every unknown key an
//! error. `resolve` decides what the keys mean.

use super::placement::RawPlacement;
use super::raw_congestion::RawCongestionControl;
use super::raw_fabric::RawFabric;
use super::raw_place::RawPlace;
use super::raw_power::RawPower;
use super::raw_traffic::{RawBackground, RawMeasure};
use super::resolve_request::RawRequest;
use super::resolve_series::RawSeries;
use super::resolve_vls::{RawQueueRule, RawVlPolicy};
use super::switch::RawVlArb;
use crate::replay::collectives::Choices;
use crate::replay::job::MAX_REPEAT;
use crate::replay::trace::ComputeTime;
use crate::units::{Bytes, CostPerByte, Picoseconds, Rate, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, Unexpected, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExperiment {
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

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQos {
    pub preset: Option<QosPreset>,
    pub scheduler: Option<RawScheduler>,
    pub mtu: Option<Bytes>,
    pub service_levels: Option<Vec<RawServiceLevel>>,
    pub sc2vl: Option<Vec<u8>>,
    pub vl_policy: Option<RawVlPolicy>,
    pub queues: Option<u8>,
    pub escape_queues: Option<u8>,
    pub queue_rule: Option<RawQueueRule>,
    #[serde(default)]
    pub dtable: RawDTable,
    pub vlarb: Option<RawVlArb>,
    pub hca_vlarb: Option<RawVlArb>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum QosPreset {
    #[serde(rename = "ib")]
    Ib,
    #[serde(rename = "single")]
    Single,
    #[serde(rename = "opa-5sl")]
    Opa5Sl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawScheduler {
    Rr,
    RrVl,
    Sbt,
    #[serde(rename = "dtable")]
    DTable,
    IbVlarb,
}

impl RawScheduler {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rr => "rr",
            Self::RrVl => "rr-vl",
            Self::Sbt => "sbt",
            Self::DTable => "dtable",
            Self::IbVlarb => "ib-vlarb",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServiceLevel {
    pub name: String,
    pub tc: Option<u8>,
    /// Required, except where SL-to-VL tables decide the VLs.
    #[serde(default)]
    pub scs: Vec<u8>,
    pub mtu: Option<Bytes>,
    pub share: Option<Ratio>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDTable {
    pub entries: Option<u32>,
    pub gmtu: Option<Bytes>,
    pub w: Option<u32>,
    pub k: Option<u32>,
    pub distances: Option<BTreeMap<String, u32>>,
}

impl RawDTable {
    /// The file says something about the table.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVfabric {
    pub name: String,
    pub tc: u8,
    pub hosts: Option<Vec<RawPlace>>,
    pub applications: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    pub trace: String,
    /// Where `trace` is looked for first, if not beside the experiment.
    #[serde(skip)]
    pub trace_dir: Option<PathBuf>,
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub sl: Option<String>,
    pub vfabric: Option<String>,
    pub placement: Option<RawPlacement>,
    pub tasks_per_node: Option<u32>,
    pub start: Option<Picoseconds>,
    pub repeat: Option<RawRepeat>,
    pub share_nics: Option<bool>,
    pub send_completion: Option<RawSendCompletion>,
    pub eager_threshold: Option<Bytes>,
    pub compute_scale: Option<Ratio>,
    pub host_speed: Option<Ratio>,
    pub compute_time: Option<ComputeTime>,
    pub poll_gap: Option<Picoseconds>,
    pub compute_cap: Option<Picoseconds>,
    pub compute_factors: Option<Vec<Ratio>>,
    pub compute_noise: Option<Ratio>,
    pub skip_unsupported: Option<bool>,
    pub send_overhead: Option<Picoseconds>,
    pub receive_overhead: Option<Picoseconds>,
    pub intra_node_latency: Option<Picoseconds>,
    pub intra_node_bandwidth: Option<Rate>,
    pub reduction_cost: Option<CostPerByte>,
    #[serde(default)]
    pub collectives: Choices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawSendCompletion {
    Handed,
    Injected,
    Rendezvous,
}

/// A number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawRepeat {
    Times(u32),
    UntilOthersEnd,
}

impl<'de> Deserialize<'de> for RawRepeat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RawRepeat;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a whole number from 1 to {MAX_REPEAT}, or \"until-others-end\""
                )
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawRepeat, E> {
                let fits = |times: &u32| (1..=MAX_REPEAT).contains(times);
                let times = u32::try_from(value).ok().filter(fits);
                let unfit = || E::invalid_value(Unexpected::Signed(value), &self);
                times.map(RawRepeat::Times).ok_or_else(unfit)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawRepeat, E> {
                const NAMES: &[&str] = &["until-others-end"];
                match text {
                    "until-others-end" => Ok(RawRepeat::UntilOthersEnd),
                    _ => Err(E::unknown_variant(text, NAMES)),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBaseline {
    pub enabled: Option<bool>,
    pub alone: Option<bool>,
    // These two are taken from the document, which knows their places.
    #[serde(rename = "file")]
    pub _file: Option<String>,
    #[serde(rename = "overrides")]
    pub _overrides: Option<IgnoredAny>,
}
