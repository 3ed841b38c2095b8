//! The routing keys of `[fabric]`: reads them and checks them against the topology.

use super::error::ConfigError;
use super::raw_fabric::RawFabric;
use super::raw_topology::RawTopology;
use crate::fabric::spec::{Paths, Routing, UpPorts};
use crate::oblivious::RoutingEngine;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawRouting {
    Dor,
    Destro,
    DModK,
    Minimal,
    MinHop,
    Updn,
    Ftree,
    Dfsssp,
}

/// `fabric.paths`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPaths {
    Minimal,
    Valiant,
}

/// What decides the routes.
pub(super) struct Chosen {
    /// Name of the routing.
    pub name: &'static str,
    /// Its settings.
    pub routing: Routing,
    /// What computes forwarding tables; `None`: the topology has its own routing, or tables are given.
    pub engine: Option<RoutingEngine>,
}

/// Checks the routing against the topology. `seed`: of the experiment.
pub(super) fn routing(
    raw: &RawFabric,
    topology: &RawTopology,
    seed: u64,
) -> Result<Chosen, ConfigError> {
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
    let fails = raw
        .failure
        .as_ref()
        .is_some_and(|failures| !failures.is_empty());
    // A graph has minimal hops of its own, as long as nothing fails.
    let is_graph = matches!(topology, Graph(_) | Ibnetdiscover(_));
    let own = routing == RawRouting::MinHop && is_graph && (!fails || raw.forwarding.is_some());
    let engine = routing.engine().filter(|_| !own);
    let name = match (topology, engine) {
        (_, Some(engine)) => engine.name(),
        (Single(_), None) => "direct",
        (_, None) => routing.name(),
    };
    Ok(Chosen {
        name,
        routing: settings(raw, topology, seed)?,
        engine,
    })
}

/// What else decides the routes.
fn settings(raw: &RawFabric, topology: &RawTopology, seed: u64) -> Result<Routing, ConfigError> {
    let own = Routing::default();
    let up_ports = raw.up_ports.unwrap_or(own.up_ports);
    let is_tree = matches!(topology, RawTopology::KAryNTree(_) | RawTopology::Xgft(_));
    if up_ports == UpPorts::LeastQueued && !is_tree {
        let problem = "only trees (kinds \"k-ary-n-tree\" and \"xgft\") have up-ports; remove it";
        return Err(ConfigError::new("fabric.up_ports", problem));
    }
    Ok(Routing {
        ring_tie: raw.ring_tie.unwrap_or(own.ring_tie),
        trunk: raw.trunk_selection.unwrap_or(own.trunk),
        up_ports,
        paths: match raw.paths {
            None | Some(RawPaths::Minimal) => Paths::Minimal,
            Some(RawPaths::Valiant) => Paths::Valiant { seed },
        },
        ..own
    })
}

impl RawRouting {
    fn name(self) -> &'static str {
        match self {
            Self::Dor => "dor",
            Self::Destro => "destro",
            Self::DModK => "d-mod-k",
            Self::Minimal => "minimal",
            Self::MinHop => RoutingEngine::MinHop.name(),
            Self::Updn => RoutingEngine::UpDown.name(),
            Self::Ftree => RoutingEngine::FatTree.name(),
            Self::Dfsssp => RoutingEngine::Dfsssp.name(),
        }
    }

    /// What computes its tables, on any topology.
    pub(super) fn engine(self) -> Option<RoutingEngine> {
        match self {
            Self::Dor | Self::Destro | Self::DModK | Self::Minimal => None,
            Self::MinHop => Some(RoutingEngine::MinHop),
            Self::Updn => Some(RoutingEngine::UpDown),
            Self::Ftree => Some(RoutingEngine::FatTree),
            Self::Dfsssp => Some(RoutingEngine::Dfsssp),
        }
    }
}

/// Why the topology does not take this routing.
fn misfit(routing: RawRouting, topology: &RawTopology) -> Option<&'static str> {
    use RawTopology::{Dragonfly, Graph, Ibnetdiscover, KAryNTree, Mesh, Single, Torus, Xgft};
    let trees = matches!(routing, RawRouting::Destro | RawRouting::DModK);
    match topology {
        // A tree of one switch, for whoever takes a tree down to it.
        Single(_) if !trees => Some("a single switch leaves nothing to route; remove the key"),
        _ if routing.engine().is_some() => None,
        Torus(_) | Mesh(_) if trees => {
            Some("\"destro\" and \"d-mod-k\" route trees; a torus or mesh takes \"dor\"")
        }
        KAryNTree(_) | Xgft(_) if routing == RawRouting::Dor => Some(
            "\"dor\" routes tori and meshes; a tree takes \"destro\" (the same as \"d-mod-k\")",
        ),
        Dragonfly(_) if routing != RawRouting::Minimal => {
            Some("a dragonfly takes \"minimal\", \"min-hop\", \"updn\" or \"dfsssp\"")
        }
        Graph(_) | Ibnetdiscover(_) => Some(
            "a graph takes \"min-hop\", \"updn\", \"ftree\" or \"dfsssp\", or forwarding tables (fabric.forwarding)",
        ),
        Torus(_) | Mesh(_) | KAryNTree(_) | Xgft(_) if routing == RawRouting::Minimal => {
            Some("\"minimal\" routes dragonflies; remove it, the topology has a routing of its own")
        }
        _ => None,
    }
}
