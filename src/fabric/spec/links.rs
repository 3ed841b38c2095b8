//! Rates of links, where they differ from a flit per tick.

use super::json;
use crate::ids::{PortId, SwitchId, SwitchPort};
use crate::topology::{Peer, Topology};
use flitwise_base::units::Ratio;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rates of links in flits per tick, above 0 and at most 1; both directions alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkRates {
    /// Links between a NIC and its switch.
    #[serde(rename = "host_link_flits_per_tick")]
    pub host: Ratio,
    /// Links between switches.
    #[serde(rename = "link_flits_per_tick")]
    pub switch: Ratio,
    /// Links that differ, by either end.
    #[serde(rename = "links", serialize_with = "json::links")]
    pub exceptions: BTreeMap<SwitchPort, Ratio>,
}

impl LinkRates {
    /// Rate of the fastest link in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn fastest(&self) -> Ratio {
        let exceptions = self.exceptions.values().copied();
        exceptions.chain([self.switch]).fold(self.host, Ratio::max)
    }

    /// Rate of the link at `port` of `switch`, in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn at(&self, topology: &Topology, switch: SwitchId, port: PortId) -> Ratio {
        let own = self.exceptions.get(&SwitchPort { switch, port });
        match (own, topology.peer(switch, port)) {
            (Some(&rate), _) => rate,
            (None, Peer::Switch { switch, port }) => {
                let other = self.exceptions.get(&SwitchPort { switch, port });
                other.copied().unwrap_or(self.switch)
            }
            (None, Peer::Nic(_) | Peer::None) => self.host,
        }
    }
}
