//! Routes of single pairs of NICs (`docs/model/fabric.md` §7), which come before tables and the topology's own routing.
//!
//! The engine's side is `src/fabric/engine/source_routes.rs`, the oracle's is in `tests/oracles/src/routing.rs`.

use super::{FabricSpec, SpecError};
use crate::error::error;
use crate::ids::{NicPair, SwitchPort};
use crate::topology::{Peer, Topology};
use schemars::JsonSchema;
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;

const KEY: &str = "fabric.source_routes";

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

impl FabricSpec {
    /// Checks the routes of single pairs, and that nothing else wants to decide in their place.
    pub(super) fn validate_source_routes(&self) -> Result<(), SpecError> {
        let routing = &self.routing;
        if routing.source_routes.is_empty() {
            return Ok(());
        }
        if let Some(key) = self
            .key_of_choice()
            .filter(|_| routing.forwarding.is_none())
        {
            let problem = "lets packets choose among paths, and fabric.source_routes names the paths of pairs; remove one \
                           of the two";
            return error(key, problem.into());
        }
        if self.needs_classes() {
            let problem = "the VL classes of this topology follow its own routing, and these routes need not; name \
                           fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \"dfsssp\", or give fabric.forwarding";
            return error(KEY, problem.into());
        }
        if !routing.changes.is_empty() {
            let problem =
                "these routes stay when links go down; remove them, or fabric.reroute_after";
            return error(KEY, problem.into());
        }
        let (topology, failed) = (&self.topology, routing.failed_ports());
        for (&pair, route) in &routing.source_routes.0 {
            let of_pair = |problem: String| SpecError {
                key: KEY,
                problem: format!("the pair {} {}: {problem}", pair.src, pair.dst),
            };
            SourceRoutes::check(topology, pair, route).map_err(of_pair)?;
            if let Some(&at) = route.iter().find(|at| failed.contains(at)) {
                let (switch, port) = (topology.switch_text(at.switch), topology.port_text(at));
                return Err(of_pair(format!(
                    "the link at {port} of {switch} has failed; lead it around"
                )));
            }
        }
        Ok(())
    }
}
