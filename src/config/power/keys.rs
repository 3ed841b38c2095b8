//! The keys of `[power]` as written.

use crate::fabric::spec::ManagedLinks;
use crate::units::{Bytes, Latency, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPower {
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
    pub link_watts: Option<Watts>,
    pub low_watts: Option<Watts>,
    pub off_watts: Option<Watts>,
    pub transition_watts: Option<Watts>,
    pub watts_per: Option<WattsPer>,
    pub switch_watts: Option<Watts>,
    pub nic_watts: Option<Watts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawPolicy {
    AlwaysOn,
    OnOff,
    HighLow,
}

/// Published values, with their sources in `docs/energy.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PowerPreset {
    Sauron,
    EeeDeepSleep,
    EeeFastWake,
}

/// What draws `link_watts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WattsPer {
    /// A port, with its sender and its receiver: so each direction of a cable.
    #[default]
    Port,
    /// A cable, both directions together.
    Cable,
}

/// A number of watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Watts(pub f64);

impl<'de> Deserialize<'de> for Watts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Watts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of watts without a unit")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Watts, E> {
                Ok(Watts(value as f64))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Watts, E> {
                Ok(Watts(value))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// Names of the keys that are given.
fn given(
    keys: impl IntoIterator<Item = (&'static str, bool)>,
) -> impl Iterator<Item = &'static str> {
    let given = keys.into_iter().filter(|(_, given)| *given);
    given.map(|(key, _)| key)
}

impl RawPower {
    /// The keys that the policy makes no use of, and another one does. `"always-on"` keeps the settings of all
    /// others, and so does no policy, for which [`Self::first_of_states`] is refused.
    pub fn unused(&self) -> Vec<&'static str> {
        let of_on_off = [
            ("wake_ahead", self.wake_ahead.is_some()),
            ("off_watts", self.off_watts.is_some()),
        ];
        let of_high_low = [
            ("lanes", self.lanes.is_some()),
            ("low_lanes", self.low_lanes.is_some()),
            ("threshold", self.threshold.is_some()),
            ("nic_threshold", self.nic_threshold.is_some()),
            ("low_watts", self.low_watts.is_some()),
        ];
        match self.policy {
            None | Some(RawPolicy::AlwaysOn) => Vec::new(),
            Some(RawPolicy::OnOff) => given(of_high_low).collect(),
            Some(RawPolicy::HighLow) => given(of_on_off).collect(),
        }
    }

    /// The first key that only a policy makes use of.
    pub fn first_of_states(&self) -> Option<&'static str> {
        // The links of these presets differ from the usual ones only in their states.
        let preset = matches!(
            self.preset,
            Some(PowerPreset::EeeDeepSleep | PowerPreset::EeeFastWake)
        );
        let keys = [
            ("preset", preset),
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
        given(keys).next()
    }
}
