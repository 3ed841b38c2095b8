//! The routing keys of `[fabric]`: reads them and checks them against the topology.

use crate::config::document::{ConfigError, kinds_of, refused, value_at};
use crate::config::fabric::keys::{FabricKeys, RawPaths};
use crate::fabric::ids::SwitchId;
use crate::fabric::spec::{Detours, Intermediate, Paths, Routing, UpPorts};
use crate::fabric::topology::{Advice, RoutingName, Topology};
use crate::oblivious::RoutingEngine;
use flitwise_base::quote::quoted;
use toml::de::{DeTable, DeValue};

/// Says of an unknown `fabric.routing` that it is a value of `fabric.paths`, or the beginning of some. `root`: of the document.
pub(crate) fn explain_paths(root: &DeTable<'_>, error: &mut ConfigError) {
    const KEY: &str = "fabric.routing";
    let Some(DeValue::String(text)) = value_at(root, KEY).filter(|_| error.key == KEY) else {
        return;
    };
    let lower = text.to_lowercase();
    let paths = kinds_of::<RawPaths>();
    let names = paths.iter().map(|kind| kind.name);
    let meant: Vec<String> = names
        .filter(|name| {
            *name == lower
                || name
                    .strip_prefix(&*lower)
                    .is_some_and(|rest| rest.starts_with('-'))
        })
        .map(|name| format!("fabric.paths = \"{name}\""))
        .collect();
    if !meant.is_empty() {
        error.problem = format!(
            "{} says which packets take detours, not the routing; write {}",
            quoted(text),
            meant.join(" or ")
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
    topology: &Topology,
    seed: u64,
) -> Result<Chosen, ConfigError> {
    let family = topology.shape().info();
    let routing = raw.routing.unwrap_or(family.default_routing());
    if let Some(problem) = family.refusal(routing) {
        return refused("fabric.routing", problem);
    }
    let name = match family.advice {
        Advice::Remove => "direct",
        Advice::Elsewhere | Advice::Accepted => routing.name(),
    };
    Ok(Chosen {
        name,
        routing: settings(raw, topology, seed)?,
        engine: engine(routing),
    })
}

/// The engine that computes the tables of a routing; `None` if only families have it.
pub(crate) fn engine(routing: RoutingName) -> Option<RoutingEngine> {
    Some(match routing {
        RoutingName::MinHop => RoutingEngine::MinHop,
        RoutingName::Updn => RoutingEngine::UpDown,
        RoutingName::Ftree => RoutingEngine::FatTree,
        RoutingName::Dfsssp => RoutingEngine::Dfsssp,
        RoutingName::Dor
        | RoutingName::HybridDor
        | RoutingName::Destro
        | RoutingName::DModK
        | RoutingName::Minimal => return None,
    })
}

/// The other settings of the routing.
fn settings(
    raw: &FabricKeys<impl Sized>,
    topology: &Topology,
    seed: u64,
) -> Result<Routing, ConfigError> {
    let own = Routing::default();
    let up_ports = raw.up_ports.unwrap_or(own.up_ports);
    if up_ports == UpPorts::LeastQueued && !topology.family().has_up_ports() {
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
    topology: &Topology,
    seed: u64,
) -> Result<Paths, ConfigError> {
    let first = SwitchId::new(0);
    let has_groups = topology.family().global_group(first).is_some();
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
