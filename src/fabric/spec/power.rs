//! Power states of links as plain data (`docs/model/link-power.md`): when a link goes down, its abilities
//! while it is down, and the time that it takes to go up again.
//!
//! The engine's side is `src/fabric/engine/power.rs`, the oracle's `tests/oracles/src/power.rs`.
//! The fabric does not know the watts of the states.

use super::{FabricSpec, Routing, SpecError, Tick};
use crate::error::error;
use crate::ids::{PortId, SwitchId};
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;

/// Longest transition, and longest time before a link goes down, in ticks: 2^40, far beyond what
/// hardware takes.
const MAX_TICKS: Tick = 1 << 40;
/// Most lanes of a link.
const MAX_LANES: u32 = 64;

/// Links that go down while they are idle. Each direction of a cable has a state of its own, which
/// its sender decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkPower {
    /// The capability of a link while it is down.
    #[serde(flatten)]
    pub down: DownState,
    /// Ticks that a link takes to go up, at least 1; it carries nothing meanwhile.
    #[serde(rename = "wake_ticks")]
    pub wake: Tick,
    /// Ticks that a link takes to go down; it carries nothing meanwhile.
    #[serde(rename = "sleep_ticks")]
    pub sleep: Tick,
    /// Idle ticks after which a link goes down, at least 1.
    #[serde(rename = "down_after_ticks")]
    pub down_after: Tick,
    /// Links that a packet announces itself to, beyond the one that it waits for.
    pub wake_ahead: u32,
    /// Which links go down.
    pub links: ManagedLinks,
}

/// The capability of a link while it is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum DownState {
    /// Nothing: any packet that waits has it go up.
    #[serde(rename = "on-off")]
    Off,
    /// It carries packets on some of its lanes, and goes up when more than a number of bytes wait.
    #[serde(rename = "high-low")]
    Low(LowState),
}

/// A link with few of its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LowState {
    /// Lanes of a link that is up, at least 2.
    pub lanes: u32,
    /// Lanes of a link that is down, at least 1 and fewer than `lanes`.
    pub low_lanes: u32,
    /// More bytes than this that wait in a switch have a link go up.
    pub switch_threshold_bytes: u64,
    /// More bytes than this that wait in the output buffer of a NIC have a link go up.
    pub nic_threshold_bytes: u64,
}

/// Which links go down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ManagedLinks {
    /// All.
    #[default]
    All,
    /// The links between switches; the links of NICs stay up.
    Switches,
}

impl LowState {
    /// `rate` on the lanes of a link that is down; `None` if the fraction has too large terms.
    #[must_use]
    pub fn rate(&self, rate: Ratio) -> Option<Ratio> {
        rate.checked_mul(Ratio::new(self.low_lanes.into(), self.lanes.into())?)
    }
}

impl LinkPower {
    /// The low state, if a link that is down carries packets.
    #[must_use]
    pub fn low(&self) -> Option<&LowState> {
        match &self.down {
            DownState::Off => None,
            DownState::Low(low) => Some(low),
        }
    }

    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        for (key, ticks, least) in [
            ("power.transition", self.wake, 1),
            ("power.sleep", self.sleep, 0),
            ("power.down_after", self.down_after, 1),
        ] {
            if !(least..=MAX_TICKS).contains(&ticks) {
                let problem =
                    format!("{ticks} ticks; it must be from {least} to {MAX_TICKS} ticks");
                return error(key, problem);
            }
        }
        self.validate_kind(spec)?;
        match &self.down {
            DownState::Off => self.validate_ahead(spec),
            DownState::Low(_) if self.wake_ahead > 0 => error(
                "power.wake_ahead",
                "has no effect with policy \"high-low\": how much waits decides when a link goes \
                 up; leave it out or write policy = \"on-off\""
                    .into(),
            ),
            DownState::Low(low) => low.validate(spec),
        }
    }

    /// Links of hierarchical switches move one flit per tick, on all lanes or not at all.
    fn validate_kind(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        const CURE: &str = "take fabric.kind = \"voq\" or \"input-queued\"";
        match spec.switch.kind().links() {
            Some(_) => Ok(()),
            None if self.low().is_some() => error(
                "power.policy",
                format!(
                    "\"high-low\" needs links that can be slower, and the links of hierarchical switches move a flit in each tick; {CURE}, or policy = \"on-off\""
                ),
            ),
            None if self.wake_ahead > 0 => error(
                "power.wake_ahead",
                format!("hierarchical switches have no announcements; remove it, or {CURE}"),
            ),
            None => Ok(()),
        }
    }

    /// Announcements need a route that is known in advance.
    fn validate_ahead(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        match spec.key_beside_destination() {
            Some(key) if self.wake_ahead > 0 => error(
                key,
                "power.wake_ahead announces packets to links further on, which the destination \
                 alone must decide; remove the key, or power.wake_ahead"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}

impl LowState {
    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        if !(2..=MAX_LANES).contains(&self.lanes) {
            let problem = format!("{}; a link has from 2 to {MAX_LANES} lanes", self.lanes);
            return error("power.lanes", problem);
        }
        if !(1..self.lanes).contains(&self.low_lanes) {
            let problem = format!(
                "{}; it must be from 1 to {}, fewer than power.lanes",
                self.low_lanes,
                self.lanes - 1
            );
            return error("power.low_lanes", problem);
        }
        let ports = (0..spec.topology.switches()).flat_map(|switch| {
            let ports = 0..spec.topology.radix();
            ports.map(move |port| (SwitchId::new(switch), PortId::new(port)))
        });
        for (switch, port) in ports {
            if self.rate(spec.link_rate(switch, port)).is_none() {
                let problem = "the rate of a link on its low lanes is too fine a fraction";
                return error("power.low_lanes", problem.into());
            }
        }
        Ok(())
    }
}

impl FabricSpec {
    /// The same fabric with links that are always up, and without changes of its tables.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn always_up(&self) -> Self {
        Self {
            link_power: None,
            outages: Vec::new(),
            degraded: Vec::new(),
            bit_errors: None,
            routing: Routing {
                changes: Vec::new(),
                ..self.routing.clone()
            },
            ..self.clone()
        }
    }

    /// Checks the power states of links; every kind of switch has them.
    pub(super) fn validate_link_power(&self) -> Result<(), SpecError> {
        match &self.link_power {
            Some(power) => power.validate(self),
            None => Ok(()),
        }
    }
}
