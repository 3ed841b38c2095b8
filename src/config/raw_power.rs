//! The keys of `[power]` as written.

use crate::fabric::spec::ManagedLinks;
use crate::units::{Bytes, Latency, Ratio};
use serde::Deserialize;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPower {
    pub policy: Option<RawPolicy>,
    pub preset: Option<PowerPreset>,
    pub transition: Option<Latency>,
    pub sleep: Option<Latency>,
    pub down_after: Option<Latency>,
    pub rho: Option<Ratio>,
    pub lanes: Option<u32>,
    pub low_lanes: Option<u32>,
    pub threshold: Option<Bytes>,
    pub nic_threshold: Option<Bytes>,
    pub wake_ahead: Option<u32>,
    pub links: Option<ManagedLinks>,
    pub link_watts: Option<f64>,
    pub low_watts: Option<f64>,
    pub off_watts: Option<f64>,
    pub transition_watts: Option<f64>,
    pub watts_per: Option<WattsPer>,
    pub switch_watts: Option<f64>,
    pub nic_watts: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPolicy {
    AlwaysOn,
    OnOff,
    HighLow,
}

/// Published values, with their sources in `presets_power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PowerPreset {
    Sauron,
    EeeDeepSleep,
    EeeFastWake,
}

/// What draws `link_watts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WattsPer {
    /// A port, with its sender and its receiver: so each direction of a cable.
    #[default]
    Port,
    /// A cable, both directions together.
    Cable,
}

impl RawPower {
    /// The first key that only a policy makes use of.
    pub fn first_of_states(&self) -> Option<&'static str> {
        let keys = [
            ("transition", self.transition.is_some()),
            ("sleep", self.sleep.is_some()),
            ("down_after", self.down_after.is_some()),
            ("rho", self.rho.is_some()),
            ("lanes", self.lanes.is_some()),
            ("low_lanes", self.low_lanes.is_some()),
            ("threshold", self.threshold.is_some()),
            ("nic_threshold", self.nic_threshold.is_some()),
            ("wake_ahead", self.wake_ahead.is_some()),
            ("links", self.links.is_some()),
            ("low_watts", self.low_watts.is_some()),
            ("off_watts", self.off_watts.is_some()),
            ("transition_watts", self.transition_watts.is_some()),
        ];
        keys.into_iter()
            .find(|(_, given)| *given)
            .map(|(key, _)| key)
    }
}
