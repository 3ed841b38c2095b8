//! Routes of single pairs of NICs (`docs/model/fabric.md` §7), which come before tables and the topology's own routing.
//!
//! The engine's side is `src/fabric/engine/source_routes.rs`, the oracle's is in `tests/oracles/src/routing.rs`.

use crate::ids::{NicPair, SwitchPort};
use crate::topology::{Peer, Topology};
use schemars::JsonSchema;
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;

/// By pair: the out-port at each switch, from the switch of the source on. The last leads to the destination.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Vec<String>")]
pub struct SourceRoutes(pub BTreeMap<NicPair, Vec<SwitchPort>>);

impl SourceRoutes {
    /// Whether no pair has a route of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The route of `pair`, if it has one of its own.
    #[must_use]
    pub fn get(&self, pair: NicPair) -> Option<&[SwitchPort]> {
        self.0.get(&pair).map(Vec::as_slice)
    }

    /// A text per pair, as in a file of routes: `SRC DST: SWITCH.PORT SWITCH.PORT …`.
    pub fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(pair, route)| {
            let steps = route.iter().map(|at| format!(" {}.{}", at.switch, at.port));
            format!("{} {}:{}", pair.src, pair.dst, steps.collect::<String>())
        })
    }

    /// Checks that `route` leads from the source to the destination of `pair` and passes no switch twice.
    ///
    /// # Errors
    /// The mistake, and the cure.
    pub fn check(topology: &Topology, pair: NicPair, route: &[SwitchPort]) -> Result<(), String> {
        let NicPair { src, dst } = pair;
        if let Some(nic) = [src, dst].into_iter().find(|n| n.get() >= topology.nics()) {
            let last = topology.nics() - 1;
            return Err(format!("there is no NIC {nic}; NICs are 0 to {last}"));
        }
        if src == dst {
            return Err(format!(
                "{} needs no route to itself; remove it",
                topology.nic_text(src)
            ));
        }
        let goal = topology.nic_text(dst);
        let mut at = topology.attachment(src).switch;
        let mut passed = Vec::new();
        for (i, &step) in route.iter().enumerate() {
            let here = topology.switch_text(at);
            let port = step.port;
            if step.switch != at {
                let other = step.switch;
                return Err(format!(
                    "step {} names switch {other}, but the route is at {here} there",
                    i + 1
                ));
            }
            if !topology.has_port(at, port) {
                let last = topology.radix() - 1;
                return Err(format!("{here} has no port {port}; ports are 0 to {last}"));
            }
            passed.push(at);
            let port = topology.port_text(step);
            match topology.peer(at, step.port) {
                Peer::None => return Err(format!("{here} has no link at {port}; take another")),
                Peer::Nic(nic) if nic != dst => {
                    let nic = topology.nic_text(nic);
                    return Err(format!("{port} of {here} leads to {nic}, not to {goal}"));
                }
                Peer::Nic(_) if i + 1 == route.len() => return Ok(()),
                Peer::Nic(_) => {
                    return Err(format!("the route leads beyond {goal}; end it with {port}"));
                }
                Peer::Switch { switch, .. } if passed.contains(&switch) => {
                    let again = topology.switch_text(switch);
                    return Err(format!(
                        "the route comes back to {again}: a loop; pass each switch once"
                    ));
                }
                Peer::Switch { switch, .. } => at = switch,
            }
        }
        let here = topology.switch_text(at);
        Err(format!(
            "the route ends at {here}; add the steps from there to {goal}"
        ))
    }
}

impl Serialize for SourceRoutes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.texts())
    }
}
