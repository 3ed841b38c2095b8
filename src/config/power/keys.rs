//! The keys of `[power]` as written.

use crate::config::document::{Forms, given, read_forms};
use crate::fabric::spec::ManagedLinks;
use crate::units::{Bytes, Latency, Ratio};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPower {
    /// `"on-off"`: idle links go down; `"high-low"`: to a few lanes, not on hierarchical switches.
    ///
    /// With `"on-off"` a link that is down carries nothing; with `"high-low"` it carries packets on `low_lanes`.
    #[schemars(extend("default" = "always-on"))]
    pub policy: Option<PowerPolicy>,
    /// Defaults of the other keys.
    ///
    /// `"sauron"`, `"eee-deep-sleep"` or `"eee-fast-wake"`.
    #[schemars(extend("default" = "sauron"))]
    pub preset: Option<PowerPreset>,
    /// Time to go up (t_transition).
    ///
    /// `"5.5us"` with `"eee-deep-sleep"`, `"300ns"` with `"eee-fast-wake"`.
    #[schemars(extend("x-default" = "`\"10us\"`, or the preset's"))]
    pub transition: Option<Latency>,
    /// Time to go down.
    ///
    /// `"2us"` with `"eee-deep-sleep"`, `"200ns"` with `"eee-fast-wake"`.
    #[schemars(extend("x-default" = "`\"0ns\"`, or the preset's"))]
    pub sleep: Option<Latency>,
    /// Idle time before a link goes down (t_down), in place of `rho`.
    #[schemars(extend("x-default" = "by `rho`"))]
    pub down_after: Option<Latency>,
    /// The same as `transition` / `rho`: 11.1 us by default.
    #[schemars(extend("default" = 0.9))]
    pub rho: Option<Ratio>,
    /// Lanes while up, with `"high-low"`.
    #[schemars(extend("default" = 12))]
    pub lanes: Option<u32>,
    /// Lanes while down, with `"high-low"`.
    #[schemars(extend("default" = 1))]
    pub low_lanes: Option<u32>,
    /// Bytes in a switch beyond which a link [goes up](../model/link-power.md#4-going-up), with `"high-low"`.
    ///
    /// The bytes wait for the link. The buffer of the default is the part of a VL of an in-port, less a largest packet.
    #[schemars(extend("x-default" = "B*, or what the buffer holds"))]
    pub threshold: Option<Bytes>,
    /// The same in the output buffer of a NIC.
    #[schemars(extend("x-default" = "B* for NICs, or what the buffer holds"))]
    pub nic_threshold: Option<Bytes>,
    /// Links beyond the next that a packet wakes, with `"on-off"`; not on hierarchical switches.
    ///
    /// A packet announces itself to this many links beyond the one that it waits for.
    #[schemars(extend("default" = 0))]
    pub wake_ahead: Option<u32>,
    /// `"switches"`: links of NICs are always up.
    #[schemars(extend("default" = "all"))]
    pub links: Option<ManagedLinks>,
    /// Power of a link that is up, by `watts_per`.
    ///
    /// Of one port or one cable.
    #[schemars(extend("default" = 4.1))]
    pub link_watts: Option<Watts>,
    /// The same on the low lanes, with `"high-low"`.
    ///
    /// 0.41 with `"eee-deep-sleep"`, 2.05 with `"eee-fast-wake"`.
    #[schemars(extend("x-default" = "`link_watts` · `low_lanes` / `lanes`, or the preset's"))]
    pub low_watts: Option<Watts>,
    /// The same while a link is down, with `"on-off"`.
    ///
    /// 0.41 with `"eee-deep-sleep"`, 2.05 with `"eee-fast-wake"`.
    #[schemars(extend("x-default" = "0, or the preset's"))]
    pub off_watts: Option<Watts>,
    /// The same while a link goes up or down.
    #[schemars(extend("x-default" = "`link_watts`"))]
    pub transition_watts: Option<Watts>,
    /// `"port"`: each direction of a cable draws `link_watts`; `"cable"`: both together.
    ///
    /// A port has a sender and a receiver.
    #[schemars(extend("default" = "port"))]
    pub watts_per: Option<WattsPer>,
    /// A switch without its links.
    ///
    /// Its crossbar, routing and arbiters, whatever its load.
    #[schemars(extend("default" = 7.2))]
    pub switch_watts: Option<Watts>,
    /// A NIC without its link.
    ///
    /// 003 leaves NICs out.
    #[schemars(extend("default" = 0))]
    pub nic_watts: Option<Watts>,
}

/// When links go down (`docs/model/link-power.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PowerPolicy {
    /// Never.
    AlwaysOn,
    /// When idle; they then carry nothing.
    OnOff,
    /// When idle; they then carry packets on a few lanes.
    HighLow,
}

impl PowerPolicy {
    /// Its name in experiments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AlwaysOn => "always-on",
            Self::OnOff => "on-off",
            Self::HighLow => "high-low",
        }
    }
}

/// Published values, with their sources in `docs/model/energy.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PowerPreset {
    /// The links of the simulator SAURON.
    Sauron,
    /// Energy-Efficient Ethernet, deep sleep.
    EeeDeepSleep,
    /// Energy-Efficient Ethernet, fast wake.
    EeeFastWake,
}

/// The part of the fabric that draws `link_watts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WattsPer {
    /// A port, with its sender and its receiver: so each direction of a cable.
    #[default]
    Port,
    /// A cable, both directions together.
    Cable,
}

/// A number of watts.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(inline, transparent)]
pub(crate) struct Watts(pub f64);

impl RawPower {
    /// The keys that the policy makes no use of, and another one does. `"always-on"` keeps the settings of all
    /// others, and so does no policy, for which [`Self::first_of_states`] is refused.
    pub fn unused(&self) -> Vec<&'static str> {
        match self.policy {
            None | Some(PowerPolicy::AlwaysOn) => Vec::new(),
            Some(PowerPolicy::OnOff) => {
                given!(self, lanes, low_lanes, threshold, nic_threshold, low_watts).collect()
            }
            Some(PowerPolicy::HighLow) => given!(self, wake_ahead, off_watts).collect(),
        }
    }

    /// The first key that only a policy makes use of.
    pub fn first_of_states(&self) -> Option<&'static str> {
        // The links of these presets differ from the usual ones only in their states.
        let preset = matches!(
            self.preset,
            Some(PowerPreset::EeeDeepSleep | PowerPreset::EeeFastWake)
        );
        let others = given!(
            self,
            transition,
            sleep,
            down_after,
            rho,
            lanes,
            low_lanes,
            threshold,
            nic_threshold,
            wake_ahead,
            links,
            low_watts,
            off_watts,
            transition_watts
        );
        preset.then_some("preset").into_iter().chain(others).next()
    }
}

impl Forms for Watts {
    const EXPECTED: &'static str = "a number of watts without a unit";

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Ok(Self(value as f64))
    }

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        Ok(Self(value))
    }
}

read_forms! { Watts }
