//! Rates of links, where they differ from a flit per tick, and latencies of links.

use super::{SpecError, Tick, json};
use crate::error::error;
use crate::ids::{PortId, SwitchId, SwitchPort};
use crate::topology::{Peer, Topology};
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rates of links in flits per tick, above 0 and at most 1; both directions alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkRates {
    /// Links between a NIC and its switch.
    #[serde(rename = "host_link_flits_per_tick")]
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    pub nic: Ratio,
    /// Links between switches.
    #[serde(rename = "link_flits_per_tick")]
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    pub switch: Ratio,
    /// Links that differ, by either end.
    #[serde(rename = "links", serialize_with = "json::links")]
    #[schemars(with = "Vec<json::Rate>")]
    pub exceptions: BTreeMap<SwitchPort, Ratio>,
}

impl LinkRates {
    /// Rate of the fastest link in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn fastest(&self) -> Ratio {
        let exceptions = self.exceptions.values().copied();
        exceptions.chain([self.switch]).fold(self.nic, Ratio::max)
    }

    /// Rate of the link at `port` of `switch`, in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn at(&self, topology: &Topology, switch: SwitchId, port: PortId) -> Ratio {
        let at = SwitchPort { switch, port };
        of_link(topology, at, &self.exceptions, [self.nic, self.switch])
    }
}

/// Latencies of links in ticks, each at least 1; both directions alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkLatency {
    /// FLY: flight over a link between two switches.
    #[serde(rename = "link_ticks")]
    pub switch: Tick,
    /// INJ: flight over a link between NIC and switch.
    #[serde(rename = "host_link_ticks")]
    pub nic: Tick,
    /// Links that differ, by either end; absent where none does.
    #[serde(
        rename = "link_latencies",
        serialize_with = "json::latencies",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "Vec<json::Latency>")]
    pub exceptions: BTreeMap<SwitchPort, Tick>,
}

impl LinkLatency {
    /// The same latency for all links between switches, and for all links to NICs.
    #[must_use]
    pub fn usual(switch: Tick, nic: Tick) -> Self {
        Self {
            switch,
            nic,
            exceptions: BTreeMap::new(),
        }
    }

    /// Latency of the link at `port` of `switch`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn at(&self, topology: &Topology, switch: SwitchId, port: PortId) -> Tick {
        let at = SwitchPort { switch, port };
        of_link(topology, at, &self.exceptions, [self.nic, self.switch])
    }

    /// The longest latency of any link.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn longest(&self) -> Tick {
        let exceptions = self.exceptions.values().copied();
        exceptions.chain([self.switch]).fold(self.nic, Tick::max)
    }

    /// The latency that `pick` chooses, the shortest or the longest, of all links to NICs and of all between switches.
    #[cfg(feature = "engine")]
    pub(crate) fn bound(&self, topology: &Topology, pick: fn(Tick, Tick) -> Tick) -> [Tick; 2] {
        let mut bound = [self.nic, self.switch];
        for (at, &own) in &self.exceptions {
            let between = matches!(topology.peer(at.switch, at.port), Peer::Switch { .. });
            let kind = &mut bound[usize::from(between)];
            *kind = pick(*kind, own);
        }
        bound
    }
}

/// Checks that what is said of single links is said of links that exist, and the same at both ends.
pub(crate) fn check_ends<T: PartialEq>(
    topology: &Topology,
    exceptions: &BTreeMap<SwitchPort, T>,
    key: &'static str,
) -> Result<(), SpecError> {
    for (&at, own) in exceptions {
        let SwitchPort { switch, port } = at;
        let text = || {
            let (port, switch) = (topology.port_text(at), topology.switch_text(switch));
            format!("{port} of {switch}")
        };
        if !topology.has_port(switch, port) || topology.peer(switch, port) == Peer::None {
            return error(key, format!("{} has no link", text()));
        }
        let other = match topology.peer(switch, port) {
            Peer::Switch { switch, port } => exceptions.get(&SwitchPort { switch, port }),
            Peer::Nic(_) | Peer::None => None,
        };
        if other.is_some_and(|other| other != own) {
            let problem = format!("the two ends of the link at {} differ", text());
            return error(key, problem);
        }
    }
    Ok(())
}

/// The value of the link at the port `at`: its own, named by either end, or the usual one of links to NICs or between
/// switches.
pub(crate) fn of_link<T: Copy>(
    topology: &Topology,
    at: SwitchPort,
    exceptions: &BTreeMap<SwitchPort, T>,
    [nic, between]: [T; 2],
) -> T {
    match (exceptions.get(&at), topology.peer(at.switch, at.port)) {
        (Some(&own), _) => own,
        (None, Peer::Switch { switch, port }) => {
            let other = exceptions.get(&SwitchPort { switch, port });
            other.copied().unwrap_or(between)
        }
        (None, Peer::Nic(_) | Peer::None) => nic,
    }
}
