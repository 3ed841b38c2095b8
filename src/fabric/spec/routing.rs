//! Routing as plain data, and the next hops that it allows. Analysis asks for them switch by
//! switch; the engine makes its tables from them and chooses among them
//! (`src/fabric/engine/choice.rs`).
//!
//! A new choice among candidates touches: this file, for its setting and its candidates; the
//! engine's file, for the rule that chooses; `src/config/fabric/routing.rs`, for the topologies
//! that allow it; `tests/oracles/src/routing.rs`, which implements the rule independently; the family in
//! `src/fabric/topology/`, if it does not say yet which ports are equal; and
//! `src/config/fabric/keys.rs`, if the key is new.

use super::{FabricSpec, Paths, SourceRoutes, TableChange, json};
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::topology::{Link, Peer, Ports, RingTie, Topology};
use schemars::JsonSchema;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which of the parallel links of a trunk a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrunkSelection {
    /// Destination NIC modulo the number of links; keeps the order of a flow.
    Destination,
    /// Each routed packet takes the next link.
    RoundRobin,
    /// The link whose output buffer has the fewest credits reserved; ties go
    /// to the lowest index.
    LeastQueued,
}

/// Which up-port a packet takes on its way up a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpPorts {
    /// The up-port that the destination selects (D-mod-k); keeps the order of a flow.
    #[default]
    Destination,
    /// The one with the shortest queue; ties go to the first at or after the up-port of the destination,
    /// once around.
    LeastQueued,
}

/// Routing settings; the algorithm follows from the topology (dimension order
/// on torus and mesh, DESTRO on trees).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Routing {
    /// Tie-breaking on rings.
    pub ring_tie: RingTie,
    /// Link selection on trunks.
    #[serde(rename = "trunk_selection")]
    pub trunk: TrunkSelection,
    /// Linear forwarding tables, a text per switch: ports towards NIC 0, 1, …; or the routing that computes them;
    /// null: the topology's own routing.
    pub forwarding: Option<ForwardingTables>,
    /// Links that have failed, a text each: `SWITCH.PORT SWITCH.PORT` of both ends. No packet crosses them; only
    /// forwarding tables lead around them. Absent where none has.
    #[serde(
        rename = "failed_links",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "json::failed_links"
    )]
    #[schemars(with = "Vec<String>")]
    pub failed: Vec<Link>,
    /// Tables that take over during the run, in the order of their ticks; absent where none do.
    #[serde(rename = "rerouted", skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TableChange>,
    /// Routes of single pairs of NICs, a text each: `SRC DST: SWITCH.PORT …`; absent where none has.
    #[serde(skip_serializing_if = "SourceRoutes::is_empty")]
    pub source_routes: SourceRoutes,
    /// Selection of up-ports on trees; absent where the destination chooses.
    // This and `paths` are left out where they are the usual ones: the JSON is older than they are.
    #[serde(skip_serializing_if = "json::is_default")]
    pub up_ports: UpPorts,
    /// Paths to the destinations.
    #[serde(flatten)]
    pub paths: Paths,
}

impl Default for Routing {
    /// The topology's own routing; ties go up, and destinations choose the links of trunks
    /// and the up-ports of trees.
    fn default() -> Self {
        Self {
            ring_tie: RingTie::Positive,
            trunk: TrunkSelection::Destination,
            up_ports: UpPorts::Destination,
            paths: Paths::Minimal,
            forwarding: None,
            failed: Vec::new(),
            changes: Vec::new(),
            source_routes: SourceRoutes::default(),
        }
    }
}

/// Linear forwarding tables: the output port for every destination, at every switch.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "json::TextOrList")]
pub struct ForwardingTables {
    /// `[switch][destination NIC]`.
    pub ports: Vec<Vec<PortId>>,
    /// The routing that computed them, which follow from the topology and the failed links; `None`: they were given.
    pub engine: Option<&'static str>,
}

impl Serialize for ForwardingTables {
    /// A text per switch, or the name of the routing that they follow from.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.engine {
            Some(engine) => s.serialize_str(engine),
            None => s.collect_seq(self.ports.iter().map(|row| json::joined(row))),
        }
    }
}

impl Routing {
    /// Both ends of all failed links.
    #[must_use]
    pub fn failed_ports(&self) -> BTreeSet<SwitchPort> {
        self.failed.iter().flatten().copied().collect()
    }

    /// Whether a packet's next hop depends on how full output buffers are.
    #[must_use]
    pub(crate) fn asks_for_buffers(&self) -> bool {
        self.trunk == TrunkSelection::LeastQueued || self.asks_for_waiting()
    }

    /// Whether it also depends on the packets that wait for an output and have not been granted its buffer.
    #[must_use]
    pub(crate) fn asks_for_waiting(&self) -> bool {
        self.up_ports == UpPorts::LeastQueued || self.paths.are_adaptive()
    }

    /// The kind of the candidates of a next hop, as a key of results.
    #[must_use]
    pub fn kind_of_candidates(&self) -> &'static str {
        match self.up_ports {
            UpPorts::LeastQueued => "up_ports",
            UpPorts::Destination => "trunk",
        }
    }
}

impl FabricSpec {
    /// The switches behind the links of each switch that have not failed, once for each link, in the order of the ports.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn working_links(&self) -> Vec<Vec<SwitchId>> {
        let failed = self.routing.failed_ports();
        let topology = &self.topology;
        let of = |switch: SwitchId| {
            let far = |port: PortId| match topology.peer(switch, port) {
                Peer::Switch { switch: far, .. } => {
                    (!failed.contains(&SwitchPort::new(switch, port))).then_some(far)
                }
                Peer::Nic(_) | Peer::None => None,
            };
            topology.port_ids().filter_map(far).collect()
        };
        topology.switch_ids().map(of).collect()
    }

    /// The out-ports for packets to NIC `dst` at `switch` by the routing of the topology itself.
    fn own_candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let tie = self.routing.ring_tie;
        self.topology.candidates(tie, switch, dst)
    }

    /// The out-ports of `switch` that lead packets for NIC `dst` on: by the forwarding tables if
    /// there are any, else by the routing of the topology. On the way up a tree these are all
    /// up-ports, unless the destination chooses. None if the switch has no route to it.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let Some(tables) = &self.routing.forwarding else {
            let own = self.own_candidates(switch, dst);
            let up = match self.routing.up_ports {
                UpPorts::Destination => Ports::NONE,
                UpPorts::LeastQueued => self.topology.family().up_ports(switch),
            };
            let goes_up = own.first().is_some_and(|port| up.contains(port));
            return if goes_up { up } else { own };
        };
        let table = tables.ports.get(switch.index());
        let port = table.and_then(|table| table.get(dst.index()));
        port.map_or(Ports::NONE, |&port| Ports::one(port))
    }

    /// The candidates that a packet may be sent to, whatever the load.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn choices(&self, switch: SwitchId, dst: NicId) -> Ports {
        let candidates = self.candidates(switch, dst);
        let has_trunks = self.topology.family().trunk() > 1;
        match self.routing.trunk {
            TrunkSelection::Destination if has_trunks => candidates
                .of_destination(self.topology.on_plane(dst))
                .map_or(Ports::NONE, Ports::one),
            _ => candidates,
        }
    }

    /// The out-port towards `dst` if it alone decides: on the way up a tree the port that `dst`
    /// selects, of a trunk the first link.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn preferred(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        let choices = self.choices(switch, dst);
        match choices.count() {
            0 | 1 => choices.first(),
            _ => self.own_candidates(switch, dst).first(),
        }
    }

    /// The port of `switch` towards `dst` in a table with one port for each destination: the first
    /// link of a trunk, and on the way up a tree the port that the destination selects.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn table_port(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        let candidates = match self.routing.forwarding {
            Some(_) => self.candidates(switch, dst),
            None => self.own_candidates(switch, dst),
        };
        candidates.first()
    }

    /// The first key by which something besides the destination decides routes; `None` if the
    /// destination alone does.
    pub(crate) fn key_beside_destination(&self) -> Option<&'static str> {
        let by_source = (!self.routing.source_routes.is_empty()).then_some("fabric.source_routes");
        by_source.or_else(|| self.key_of_choice())
    }

    /// The first key that lets packets choose among paths.
    pub(super) fn key_of_choice(&self) -> Option<&'static str> {
        let routing = &self.routing;
        let has_trunks = self.topology.family().trunk() > 1;
        if routing.paths != Paths::Minimal {
            Some("fabric.paths")
        } else if routing.up_ports != UpPorts::Destination {
            Some("fabric.up_ports")
        } else if routing.trunk != TrunkSelection::Destination && has_trunks {
            Some("fabric.trunk_selection")
        } else {
            None
        }
    }

    /// Into how many equal shares a pair's traffic must be divided so that every candidate on every
    /// route gets whole ones.
    #[must_use]
    pub(crate) fn shares_of_pair(&self) -> u64 {
        let trunk = match self.routing.trunk {
            TrunkSelection::RoundRobin | TrunkSelection::LeastQueued => {
                self.topology.family().trunk().into()
            }
            TrunkSelection::Destination => 1,
        };
        match self.routing.up_ports {
            UpPorts::LeastQueued => routes_up(&self.topology).saturating_mul(trunk),
            UpPorts::Destination => trunk,
        }
    }
}

/// Number of routes from a switch with NICs to the top of a tree. All switches of a level have the
/// same number of up-ports.
fn routes_up(topology: &Topology) -> u64 {
    let (mut routes, mut switch) = (1u64, SwitchId::new(0));
    loop {
        let ports = topology.family().up_ports(switch);
        let above = ports.first().map(|port| topology.peer(switch, port));
        let Some(Peer::Switch { switch: next, .. }) = above else {
            return routes;
        };
        routes = routes.saturating_mul(ports.count().into());
        switch = next;
    }
}
