//! The routing keys of `[fabric]`: reads them and checks them against the topology.

use super::error::ConfigError;
use super::raw_fabric::RawFabric;
use super::raw_topology::RawTopology;
use crate::fabric::spec::{Paths, Routing, UpPorts};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawRouting {
    Dor,
    Destro,
    DModK,
    Minimal,
    MinHop,
}

/// `fabric.paths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPaths {
    Minimal,
    Valiant,
}

/// Checks the routing against the topology; returns its name. `seed`: of the experiment.
pub(super) fn routing(
    raw: &RawFabric,
    topology: &RawTopology,
    seed: u64,
) -> Result<(&'static str, Routing), ConfigError> {
    use RawTopology::{Dragonfly, Graph, Ibnetdiscover, KAryNTree, Mesh, Single, Torus, Xgft};
    let default = match topology {
        Torus(_) | Mesh(_) => RawRouting::Dor,
        Single(_) | KAryNTree(_) => RawRouting::Destro,
        Xgft(_) => RawRouting::DModK,
        Dragonfly(_) => RawRouting::Minimal,
        Graph(_) | Ibnetdiscover(_) => RawRouting::MinHop,
    };
    let routing = raw.routing.unwrap_or(default);
    if let Some(problem) = misfit(routing, topology) {
        return Err(ConfigError::new("fabric.routing", problem));
    }
    let name = match (topology, routing) {
        (Single(_), _) => "direct",
        (_, RawRouting::Dor) => "dor",
        (_, RawRouting::Destro) => "destro",
        (_, RawRouting::DModK) => "d-mod-k",
        (_, RawRouting::Minimal) => "minimal",
        (_, RawRouting::MinHop) => "min-hop",
    };
    let own = Routing::default();
    let up_ports = raw.up_ports.unwrap_or(own.up_ports);
    if up_ports == UpPorts::LeastQueued && !matches!(topology, KAryNTree(_) | Xgft(_)) {
        let problem = "only trees (kinds \"k-ary-n-tree\" and \"xgft\") have up-ports; remove it";
        return Err(ConfigError::new("fabric.up_ports", problem));
    }
    let routing = Routing {
        ring_tie: raw.ring_tie.unwrap_or(own.ring_tie),
        trunk: raw.trunk_selection.unwrap_or(own.trunk),
        up_ports,
        paths: match raw.paths {
            None | Some(RawPaths::Minimal) => Paths::Minimal,
            Some(RawPaths::Valiant) => Paths::Valiant { seed },
        },
        forwarding: None,
    };
    Ok((name, routing))
}

/// Why the topology does not take this routing.
fn misfit(routing: RawRouting, topology: &RawTopology) -> Option<&'static str> {
    use RawTopology::{Dragonfly, Graph, Ibnetdiscover, KAryNTree, Mesh, Single, Torus, Xgft};
    let trees = matches!(routing, RawRouting::Destro | RawRouting::DModK);
    match topology {
        // A tree of one switch, for whoever takes a tree down to it.
        Single(_) if !trees => Some("a single switch leaves nothing to route; remove the key"),
        Torus(_) | Mesh(_) if trees => {
            Some("\"destro\" and \"d-mod-k\" route trees; a torus or mesh takes \"dor\"")
        }
        KAryNTree(_) | Xgft(_) if routing == RawRouting::Dor => Some(
            "\"dor\" routes tori and meshes; a tree takes \"destro\" (the same as \"d-mod-k\")",
        ),
        Dragonfly(_) if routing != RawRouting::Minimal => {
            Some("a dragonfly takes \"minimal\"; remove the key")
        }
        Graph(_) | Ibnetdiscover(_) if routing != RawRouting::MinHop => {
            Some("a graph takes \"min-hop\", or forwarding tables (fabric.forwarding)")
        }
        Torus(_) | Mesh(_) | KAryNTree(_) | Xgft(_) if routing == RawRouting::MinHop => {
            Some("\"min-hop\" routes graphs; remove it, the topology has a routing of its own")
        }
        Torus(_) | Mesh(_) | KAryNTree(_) | Xgft(_) if routing == RawRouting::Minimal => {
            Some("\"minimal\" routes dragonflies; remove it, the topology has a routing of its own")
        }
        _ => None,
    }
}
