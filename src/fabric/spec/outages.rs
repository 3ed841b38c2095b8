//! Outages and degradations of links as plain data (`docs/model/fabric.md` §10): when a cable starts no packet, or sends
//! more slowly, and the forwarding tables that take over.
//!
//! The engine's side is `src/fabric/engine/outages.rs` and `degraded.rs`, the oracle's `tests/oracles/src/outages.rs` and
//! `tests/oracles/src/voq/degraded.rs`.

use super::{FabricSpec, ForwardingTables, SpecError, Tick, json};
use crate::error::error;
use crate::ids::SwitchPort;
use crate::topology::Peer;
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;

/// Outages and degradations begin and end before this tick, 2^46: beyond it the engine sees no end.
pub const MAX_OUTAGE_TICKS: Tick = 1 << 46;

const KEY: &str = "event";

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

impl FabricSpec {
    /// Checks the outages and degradations, and that each change of the tables comes after the one before.
    pub(super) fn validate_outages(&self) -> Result<(), SpecError> {
        for outage in &self.outages {
            self.validate_event(outage.at, outage.from, outage.until)?;
        }
        for degradation in &self.degraded {
            self.validate_event(degradation.at, degradation.from, degradation.until)?;
            self.validate_rate(degradation)?;
        }
        let has_events = !self.outages.is_empty() || !self.degraded.is_empty();
        if self.link_power.is_some() && has_events {
            let problem = "links that go down by power.policy have no events; remove the events or the policy";
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

    /// Checks a time in which something happens to the cable at `at`.
    fn validate_event(
        &self,
        at: SwitchPort,
        from: Tick,
        until: Option<Tick>,
    ) -> Result<(), SpecError> {
        let has_cable = at.switch.index() < self.topology.switches() as usize
            && self.topology.has_port(at.switch, at.port)
            && self.topology.peer(at.switch, at.port) != Peer::None;
        if !has_cable {
            let problem = format!("switch {} port {} has no cable", at.switch, at.port);
            return error(KEY, problem);
        }
        let last = until.unwrap_or(from.saturating_add(1));
        if last <= from || last >= MAX_OUTAGE_TICKS {
            let problem = format!(
                "an event from tick {from} to {last}: it must end after it begins, and before tick {MAX_OUTAGE_TICKS}"
            );
            return error(KEY, problem);
        }
        Ok(())
    }

    /// Checks that the cable can have the rate of `degradation`.
    fn validate_rate(&self, degradation: &Degradation) -> Result<(), SpecError> {
        let Degradation { at, rate, .. } = *degradation;
        let own = self.link_rate(at.switch, at.port);
        if rate.is_zero() || rate > own {
            let problem = format!(
                "switch {} port {} sends {own} flits per tick, and {rate} in an event; give a rate above 0 and below its own",
                at.switch, at.port
            );
            return error(KEY, problem);
        }
        Ok(())
    }

    /// The rates of all degradations, each once.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn degraded_rates(&self) -> Vec<Ratio> {
        let mut rates: Vec<Ratio> = self.degraded.iter().map(|event| event.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }
}
