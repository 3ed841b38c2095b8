//! Power states of links as plain data (`docs/model/link-power.md`): when a link goes down, its abilities
//! while it is down, and the time that it takes to go up again.
//!
//! The engine's side is `src/fabric/engine/power.rs`, the oracle's `tests/oracles/src/power.rs`.
//! The fabric does not know the watts of the states.

use super::Tick;
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;

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
}
