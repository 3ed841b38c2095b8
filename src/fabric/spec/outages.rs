//! Outages of links as plain data (`docs/model/fabric.md` §10): when a cable starts no packet, and the forwarding tables
//! that take over.
//!
//! The engine's side is `src/fabric/engine/outages.rs`, the oracle's `tests/oracles/src/outages.rs`.

use super::{FabricSpec, ForwardingTables, SpecError, Tick, json};
use crate::error::error;
use crate::ids::SwitchPort;
use crate::topology::Peer;
use serde::Serialize;

/// Outages begin and end before this tick, 2^46: beyond it the engine sees no end.
pub const MAX_OUTAGE_TICKS: Tick = 1 << 46;

const KEY: &str = "event";

/// A time in which a cable starts no packet, in neither direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// Forwarding tables that take the place of those before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableChange {
    /// Headers that are routed in this tick or later follow them.
    #[serde(rename = "from_ticks")]
    pub from: Tick,
    /// The tables.
    #[serde(rename = "forwarding")]
    pub tables: ForwardingTables,
    /// The cables that they lead around, by both ends.
    #[serde(rename = "failed_links", serialize_with = "json::failed_links")]
    pub failed: Vec<crate::topology::Link>,
}

impl FabricSpec {
    /// Checks the outages, and that each change of the tables comes after the one before.
    pub(super) fn validate_outages(&self) -> Result<(), SpecError> {
        for outage in &self.outages {
            let at = outage.at;
            let has_cable = at.switch.index() < self.topology.switches() as usize
                && self.topology.has_port(at.switch, at.port)
                && self.topology.peer(at.switch, at.port) != Peer::None;
            if !has_cable {
                let problem = format!("switch {} port {} has no cable", at.switch, at.port);
                return error(KEY, problem);
            }
            let last = outage.until.unwrap_or(outage.from.saturating_add(1));
            if last <= outage.from || last >= MAX_OUTAGE_TICKS {
                let problem = format!(
                    "an outage from tick {} to {last}: it must end after it begins, and before tick {MAX_OUTAGE_TICKS}",
                    outage.from
                );
                return error(KEY, problem);
            }
        }
        if self.link_power.is_some() && !self.outages.is_empty() {
            let problem = "links that go down by power.policy have no outages; remove the events or the policy";
            return error(KEY, problem.into());
        }
        let changes = &self.routing.changes;
        if !changes.is_empty() && self.routing.forwarding.is_none() {
            let problem = "only computed forwarding tables change; name fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \
                           \"dfsssp\"";
            return error("fabric.reroute_after", problem.into());
        }
        if !changes.is_sorted_by(|a, b| a.from < b.from) {
            return error(KEY, "two changes of the tables in one tick".into());
        }
        Ok(())
    }
}
