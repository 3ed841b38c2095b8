//! Routing as plain data. The next hops that it allows are in `across/routing.rs`: analysis asks for them switch
//! by switch; the engine makes its tables from them and chooses among them (`src/fabric/engine/choice.rs`).
//!
//! A new choice among candidates touches: this file and `across/routing.rs`, for its setting and its candidates; the
//! engine's file, for the rule that chooses; `src/config/fabric/routing.rs`, for the topologies
//! that allow it; `tests/oracles/src/routing.rs`, which implements the rule independently; the family in
//! `src/fabric/topology/`, if it does not say yet which ports are equal; and
//! `src/config/fabric/keys.rs`, if the key is new.

use super::{Paths, SourceRoutes, TableChange, json};
use crate::ids::{PortId, SwitchPort};
use crate::topology::{Link, RingTie};
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
