//! The keys of `[[job]]`.

use crate::config::job::placement::RawPlacement;
use crate::replay::collectives::Choices;
use crate::replay::job::MAX_REPEAT;
use crate::replay::trace::ComputeTime;
use crate::units::{Bytes, CostPerByte, Picoseconds, Rate, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawJob {
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
pub(crate) enum RawSendCompletion {
    Handed,
    Injected,
    Rendezvous,
}

/// A number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawRepeat {
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
