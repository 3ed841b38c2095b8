//! The routing keys of `[fabric]`: reads them and checks them against the topology.

use crate::config::document::{ConfigError, refused, value_at};
use crate::config::fabric::keys::{FabricKeys, RawPaths, RawRouting};
use crate::config::fabric::topology::RawTopology;
use crate::fabric::spec::{Detours, Intermediate, Paths, Routing, UpPorts};
use crate::oblivious::RoutingEngine;
use flitwise_base::quote::quoted;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use toml::de::{DeTable, DeValue};

/// Says of an unknown `fabric.routing` that it is a value of `fabric.paths`, if it is one. `root`: of the document.
pub(crate) fn explain_paths(root: &DeTable<'_>, error: &mut ConfigError) {
    const KEY: &str = "fabric.routing";
    let Some(DeValue::String(text)) = value_at(root, KEY).filter(|_| error.key == KEY) else {
        return;
    };
    let word = StrDeserializer::<serde::de::value::Error>::new(text);
    if RawPaths::deserialize(word).is_ok() {
        error.problem = format!(
            "{} says which packets take detours, not the routing; write fabric.paths = \"{text}\"",
            quoted(text)
        );
    }
}

/// The routing that was chosen.
pub(crate) struct Chosen {
    /// Name of the routing.
    pub name: &'static str,
    /// Its settings.
    pub routing: Routing,
    /// The engine that computes forwarding tables; `None`: the topology has its own routing, or tables are given.
    pub engine: Option<RoutingEngine>,
}

/// Checks the routing against the topology. `seed`: of the experiment.
pub(crate) fn routing(
    raw: &FabricKeys<impl Sized>,
    topology: &RawTopology,
    seed: u64,
) -> Result<Chosen, ConfigError> {
    let (_, own) = family(topology);
    let routing = raw.routing.unwrap_or(own[0]);
    if let Some(problem) = misfit(routing, topology) {
        return refused("fabric.routing", problem);
    }
    let fails = raw
        .failure
        .as_ref()
        .is_some_and(|failures| !failures.is_empty());
    // A graph has minimal hops of its own, as long as nothing fails.
    let is_graph = matches!(
        topology,
        RawTopology::Graph(_) | RawTopology::Ibnetdiscover(_)
    );
    let own = routing == RawRouting::MinHop && is_graph && (!fails || raw.forwarding.is_some());
    let engine = routing.engine().filter(|_| !own);
    let name = match (topology, engine) {
        (_, Some(engine)) => engine.name(),
        (RawTopology::Single(_), None) => "direct",
        (_, None) => routing.name(),
    };
    Ok(Chosen {
        name,
        routing: settings(raw, topology, seed)?,
        engine,
    })
}

/// The other settings of the routing.
fn settings(
    raw: &FabricKeys<impl Sized>,
    topology: &RawTopology,
    seed: u64,
) -> Result<Routing, ConfigError> {
    let own = Routing::default();
    let up_ports = raw.up_ports.unwrap_or(own.up_ports);
    let has_up_ports = match topology {
        RawTopology::KAryNTree(_) | RawTopology::Xgft(_) | RawTopology::FatTree(_) => true,
        RawTopology::Kns(raw) => raw.s.is_some_and(|stages| stages > 1),
        _ => false,
    };
    if up_ports == UpPorts::LeastQueued && !has_up_ports {
        let problem = "only trees (kinds \"k-ary-n-tree\", \"xgft\" and \"fat-tree\", and the lines of a \"kns\" with s > 1) \
                       have up-ports; remove it";
        return refused("fabric.up_ports", problem);
    }
    Ok(Routing {
        ring_tie: raw.ring_tie.unwrap_or(own.ring_tie),
        trunk: raw.trunk_selection.unwrap_or(own.trunk),
        up_ports,
        paths: paths(raw, topology, seed)?,
        ..own
    })
}

/// The detours that packets may take, without the bias, which is added later.
fn paths(
    raw: &FabricKeys<impl Sized>,
    topology: &RawTopology,
    seed: u64,
) -> Result<Paths, ConfigError> {
    let has_groups = matches!(topology, RawTopology::Dragonfly(_));
    let Some(rule) = raw.paths.and_then(RawPaths::rule) else {
        if raw.paths_intermediate.is_some() {
            let problem =
                "minimal paths lead over no other NIC or group; remove it, or set fabric.paths";
            return refused("fabric.paths_intermediate", problem);
        }
        return Ok(Paths::Minimal);
    };
    let usual = if has_groups && rule.is_adaptive() {
        Intermediate::Group
    } else {
        Intermediate::Nic
    };
    let intermediate = raw.paths_intermediate.unwrap_or(usual);
    if intermediate == Intermediate::Group && !has_groups {
        let problem = "only a dragonfly has groups to lead packets over; take \"nic\" or remove it";
        return refused("fabric.paths_intermediate", problem);
    }
    Ok(Paths::Detours(Detours {
        rule,
        intermediate,
        bias: 0,
        seed,
    }))
}

/// Sets the bias of `paths`, which the file gives in bytes, in credits of `credit_bytes`.
pub(crate) fn bias(
    raw: &FabricKeys<impl Sized>,
    credit_bytes: u64,
    paths: &mut Paths,
) -> Result<(), ConfigError> {
    const KEY: &str = "fabric.paths_bias";
    let Some(bytes) = raw.paths_bias else {
        return Ok(());
    };
    match paths {
        Paths::Detours(detours) if detours.rule.is_adaptive() => {
            // Queues are compared in whole credits, so the rest of a credit changes nothing.
            let credits = bytes.0 / credit_bytes.max(1);
            detours.bias = u32::try_from(credits).map_err(|_| {
                ConfigError::new(KEY, "is beyond all queues; give a few packets at most")
            })?;
            Ok(())
        }
        _ => {
            let problem = "only \"ugal-l\", \"ugal-g\" and \"par\" compare queues; remove it, or set fabric.paths";
            refused(KEY, problem)
        }
    }
}

/// The name that messages have for the topologies of a family, and their own routings, the default first.
fn family(topology: &RawTopology) -> (&'static str, &'static [RawRouting]) {
    use RawRouting::{DModK, Destro, Dor, HybridDor, MinHop, Minimal};
    match topology {
        RawTopology::Single(_) => ("a single switch", &[Destro, DModK]),
        RawTopology::Torus(_) | RawTopology::Mesh(_) => ("a torus or mesh", &[Dor]),
        RawTopology::Hyperx(_) => ("a hyperx", &[Dor]),
        RawTopology::Kns(_) => ("a kns", &[HybridDor, Dor]),
        RawTopology::KAryNTree(_) => ("a tree", &[Destro, DModK]),
        RawTopology::Xgft(_) | RawTopology::FatTree(_) => ("a tree", &[DModK, Destro]),
        RawTopology::Dragonfly(_) => ("a dragonfly", &[Minimal]),
        RawTopology::SlimFly(_) | RawTopology::Megafly(_) => ("a slim fly or megafly", &[Minimal]),
        RawTopology::Graph(_) | RawTopology::Ibnetdiscover(_) => ("a graph", &[MinHop]),
    }
}

/// The reason why the topology does not accept this routing.
fn misfit(routing: RawRouting, topology: &RawTopology) -> Option<String> {
    use RawRouting::{DModK, Destro, Dor, HybridDor, Minimal};
    let (name, own) = family(topology);
    // A tree may be taken down to one switch.
    let is_single = matches!(topology, RawTopology::Single(_));
    if own.contains(&routing) || (routing.engine().is_some() && !is_single) {
        return None;
    }
    let elsewhere = |families: &str| {
        let name = routing.name();
        format!("\"{name}\" routes {families}; remove it, the topology has a routing of its own")
    };
    Some(match (own, routing) {
        _ if is_single => "a single switch leaves nothing to route; remove the key".to_owned(),
        (_, HybridDor) => elsewhere("kns"),
        ([Destro, DModK] | [DModK, Destro], Dor) => {
            "\"dor\" routes tori and meshes; a tree takes \"destro\" (the same as \"d-mod-k\")"
                .into()
        }
        ([Destro, DModK] | [DModK, Destro], _) => elsewhere(MINIMAL),
        _ if matches!(topology, RawTopology::Torus(_) | RawTopology::Mesh(_)) => match routing {
            Minimal => elsewhere(MINIMAL),
            _ => format!("\"destro\" and \"d-mod-k\" route trees; {name} takes \"dor\""),
        },
        _ => takes(name, own),
    })
}

/// The topologies with a minimal routing of their own.
const MINIMAL: &str = "dragonflies, slim flies and megaflies";

/// The routings that a family takes: its own, and the engines that route any topology. Up and down a fat tree leads
/// nowhere
/// in most families.
fn takes(name: &str, own: &[RawRouting]) -> String {
    use RawRouting::{Dfsssp, Ftree, MinHop, Updn};
    let is_graph = own.contains(&MinHop);
    let mut names: Vec<String> = Vec::new();
    for routing in own[..1].iter().chain(&[MinHop, Updn, Ftree, Dfsssp]) {
        let quoted = format!("\"{}\"", routing.name());
        if !names.contains(&quoted) && (*routing != Ftree || is_graph) {
            names.push(quoted);
        }
    }
    if let Some(same) = own.get(1) {
        names[0] += &format!(" (also \"{}\")", same.name());
    }
    let last = names.pop().unwrap_or_default();
    let tables = if is_graph {
        ", or forwarding tables (fabric.forwarding)"
    } else {
        ""
    };
    format!("{name} takes {} or {last}{tables}", names.join(", "))
}
