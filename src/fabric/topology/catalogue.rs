//! The questions about all families together.

use super::FAMILIES;
use super::info::{Advice, FamilyInfo, RoutingName, listed};

impl FamilyInfo {
    /// Returns why the family does not accept `routing`; `None` if it does.
    #[must_use]
    pub fn refusal(&self, routing: RoutingName) -> Option<String> {
        use RoutingName::{DModK, Destro, HybridDor, Minimal};
        let is_engine = routing.is_computed() && self.advice != Advice::Remove;
        if is_engine || self.routings.contains(&routing) {
            return None;
        }
        let (name, topologies) = (routing.quoted(), topologies_of(routing));
        Some(match (self.advice, routing) {
            (Advice::Remove, _) => format!("{} leaves nothing to route; remove the key", self.one),
            (_, HybridDor) | (Advice::Elsewhere, Minimal) => format!(
                "{name} routes {topologies}; remove it, the topology has a routing of its own"
            ),
            (Advice::Elsewhere, Destro | DModK) => format!(
                "{} and {} route {topologies}; {} takes {}",
                Destro.quoted(),
                DModK.quoted(),
                self.one,
                self.own_routing()
            ),
            (Advice::Elsewhere, _) => {
                format!(
                    "{name} routes {topologies}; {} takes {}",
                    self.one,
                    self.own_routing()
                )
            }
            (Advice::Accepted, _) => self.accepted(),
        })
    }
}

/// The topologies that have `routing` by default, or under its other name.
fn topologies_of(routing: RoutingName) -> String {
    let has = |family: &&FamilyInfo| family.default_routing() == routing;
    let names = FAMILIES.iter().filter(has).flat_map(|family| family.many);
    listed(&names.collect::<Vec<_>>(), "and")
}

/// The topologies whose neighbours have parallel links: "torus, mesh or hyperx".
#[must_use]
pub fn kinds_with_trunks() -> String {
    let with_trunks = FAMILIES.iter().filter(|family| family.trunks);
    let kinds = with_trunks.flat_map(|family| family.kinds);
    listed(&kinds.collect::<Vec<_>>(), "or")
}

/// The values of `kind` of all families.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let kinds = FAMILIES.iter().flat_map(|family| family.kinds);
    kinds.copied().collect()
}

/// Returns a topology of this `kind` as a TOML table on one line; `None` if there is no such kind.
#[must_use]
pub fn example(kind: &str) -> Option<String> {
    FAMILIES.iter().find_map(|family| family.example(kind))
}
