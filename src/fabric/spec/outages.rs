//! Outages and degradations of links as plain data (`docs/model/fabric.md` §10): when a cable starts no packet, or sends
//! more slowly, and the forwarding tables that take over.
//!
//! The engine's side is `src/fabric/engine/outages.rs` and `degraded.rs`, the oracle's `tests/oracles/src/outages.rs` and
//! `tests/oracles/src/voq/degraded.rs`.

use super::{ForwardingTables, Tick, json};
use crate::ids::SwitchPort;
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;

/// Outages and degradations begin and end before this tick, 2^46: beyond it the engine sees no end.
pub const MAX_OUTAGE_TICKS: Tick = 1 << 46;

/// A time in which a cable starts no packet, in neither direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Outage {
    /// The switch port at one of its ends.
    #[serde(flatten)]
    pub at: SwitchPort,
    /// The first tick in which it starts none.
    #[serde(rename = "from_ticks")]
    pub from: Tick,
    /// The first tick in which it starts packets again; `None`: it stays down.
    #[serde(rename = "until_ticks")]
    pub until: Option<Tick>,
}

/// A time in which a cable sends at a lower rate, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Degradation {
    /// The switch port at one of its ends.
    #[serde(flatten)]
    pub at: SwitchPort,
    /// Packets that start in this tick or later are sent at that rate.
    #[serde(rename = "from_ticks")]
    pub from: Tick,
    /// The first tick after it; `None`: it lasts for good.
    #[serde(rename = "until_ticks")]
    pub until: Option<Tick>,
    /// The rate in flits per tick, at most the cable's own.
    #[serde(rename = "flits_per_tick")]
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    pub rate: Ratio,
}

/// Forwarding tables that take the place of those before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableChange {
    /// Headers that are routed in this tick or later follow them.
    #[serde(rename = "from_ticks")]
    pub from: Tick,
    /// As `forwarding`.
    #[serde(rename = "forwarding")]
    pub tables: ForwardingTables,
    /// As `failed_links`, with the links that are down, which the tables lead around.
    #[serde(rename = "failed_links", serialize_with = "json::failed_links")]
    #[schemars(with = "Vec<String>")]
    pub failed: Vec<crate::topology::Link>,
}
