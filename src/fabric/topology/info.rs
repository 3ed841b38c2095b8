//! The facts about a family of topologies that do not depend on its parameters: its names, and the routings that it
//! accepts.

use super::invalid;
use crate::error::SpecError;
use serde::Deserialize;

/// A routing by its name in an experiment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingName {
    /// Dimension order.
    Dor,
    /// Dimension order, and DESTRO along each line.
    HybridDor,
    /// The up-port that the destination selects.
    Destro,
    /// The same as DESTRO.
    DModK,
    /// Minimal paths of dragonflies, graphs and the like, by the family's own rule.
    Minimal,
    /// Minimal hops, balanced over the ports; equal ones take turns.
    MinHop,
    /// Up to a root's tree and down again.
    Updn,
    /// Up and down a fat tree.
    Ftree,
    /// Deadlock-free single-source shortest paths.
    Dfsssp,
}

impl RoutingName {
    /// The name in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dor => "dor",
            Self::HybridDor => "hybrid-dor",
            Self::Destro => "destro",
            Self::DModK => "d-mod-k",
            Self::Minimal => "minimal",
            Self::MinHop => "min-hop",
            Self::Updn => "updn",
            Self::Ftree => "ftree",
            Self::Dfsssp => "dfsssp",
        }
    }

    /// The name in quotes.
    pub(super) fn quoted(self) -> String {
        format!("\"{}\"", self.name())
    }

    /// Whether a routing engine computes it as forwarding tables, which it can on all topologies of several switches.
    #[must_use]
    pub fn is_computed(self) -> bool {
        matches!(self, Self::MinHop | Self::Updn | Self::Ftree | Self::Dfsssp)
    }
}

/// A family of topologies: its names, and the routings that it accepts.
#[derive(Debug, Clone, Copy)]
pub struct FamilyInfo {
    /// The values of `kind` in results.
    pub kinds: &'static [&'static str],
    /// The name of one of its topologies in messages: "a torus or mesh".
    pub one: &'static str,
    /// The names of its topologies where a message says which topologies a routing is for: "tori", "meshes".
    pub many: &'static [&'static str],
    /// The routings of its own, the default first.
    pub routings: &'static [RoutingName],
    /// A topology of each `kind` of experiment files that makes one of the family: the kind, and the keys it needs.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether neighbours have parallel links among which packets choose.
    pub trunks: bool,
    /// The advice to a file that names a routing of other families.
    pub advice: Advice,
}

/// The advice to a file that names a routing which the family does not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Remove the key: there is nothing to route.
    Remove,
    /// The topologies that the routing is for, and the family's own routing.
    Elsewhere,
    /// All routings that the family accepts.
    Accepted,
}

impl FamilyInfo {
    /// A family that accepts `routings`, the default first, and all routing engines. `examples`: as in the field.
    pub(super) const fn new(
        kinds: &'static [&'static str],
        one: &'static str,
        many: &'static [&'static str],
        routings: &'static [RoutingName],
        examples: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            kinds,
            one,
            many,
            routings,
            examples,
            trunks: false,
            advice: Advice::Accepted,
        }
    }

    /// The routing that the family has if a file names none.
    #[must_use]
    pub fn default_routing(&self) -> RoutingName {
        // Every family lists a routing.
        self.routings
            .first()
            .copied()
            .unwrap_or(RoutingName::Minimal)
    }

    /// Returns a topology of this `kind` as a TOML table on one line; `None` if the family has no such kind.
    pub(super) fn example(&self, kind: &str) -> Option<String> {
        let (_, keys) = self.examples.iter().find(|(name, _)| *name == kind)?;
        Some(format!("{{kind=\"{kind}\",{keys}}}"))
    }

    /// Returns the error of a topology of this `kind` without some of its `keys`. Each has a name, a meaning, and tells
    /// whether it is missing.
    #[must_use]
    pub fn missing(&self, kind: &str, keys: &[(&str, &str, bool)]) -> SpecError {
        let keys = keys.iter().filter(|(_, _, is_missing)| *is_missing);
        let mut names: Vec<String> = keys
            .map(|(name, meaning, _)| format!("`{name}` ({meaning})"))
            .collect();
        let last = names.pop().unwrap_or_default();
        let listed = if names.is_empty() {
            last
        } else {
            format!("{} and {last}", names.join(", "))
        };
        let example = self.example(kind).unwrap_or_default();
        invalid(format!("kind \"{kind}\" needs {listed}, such as {example}"))
    }

    /// The family's own routing, with the name that means the same, and the option that sets it.
    pub(super) fn own_routing(&self) -> String {
        let (own, same) = if self.routings.contains(&RoutingName::Destro) {
            let same = format!(" (the same as {})", RoutingName::DModK.quoted());
            (RoutingName::Destro, same)
        } else {
            (self.default_routing(), String::new())
        };
        format!(
            "{}{same}: --set fabric.routing={}",
            own.quoted(),
            own.name()
        )
    }

    /// The routings that the family accepts: its own, and the engines that route any topology. Up and down a fat tree
    /// leads nowhere in most families.
    pub(super) fn accepted(&self) -> String {
        use RoutingName::{Dfsssp, Ftree, MinHop, Updn};
        let is_graph = self.kinds.contains(&"graph");
        let mut names: Vec<String> = Vec::new();
        for routing in [self.default_routing(), MinHop, Updn, Ftree, Dfsssp] {
            let quoted = routing.quoted();
            if !names.contains(&quoted) && (routing != Ftree || is_graph) {
                names.push(quoted);
            }
        }
        if let Some(same) = self.routings.get(1) {
            names[0] += &format!(" (also {})", same.quoted());
        }
        let tables = if is_graph {
            ", or forwarding tables (fabric.forwarding)"
        } else {
            ""
        };
        format!(
            "{} takes {}{tables}: --set fabric.routing={}",
            self.one,
            listed(&names, "or"),
            self.default_routing().name()
        )
    }
}

/// Lists names: "a, b and c".
#[must_use]
pub fn listed(names: &[impl AsRef<str>], and: &str) -> String {
    match names {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [all @ .., last] => {
            let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
            format!("{} {and} {}", all.join(", "), last.as_ref())
        }
    }
}
