//! The links between the groups of dragonflies and megaflies.

use super::Cabling;
use crate::error::SpecError;
use crate::ids::SwitchPort;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Which group a global port leads to (`docs/model/fabric.md`, section 7). The names are from
/// Camarero, Vallejo, Beivide: Topological characterization of Hamming and dragonfly networks
/// and its implications on routing, 2014, and from Hastings et al.: Comparing global link
/// arrangements for dragonfly networks, 2015. We could read neither. The palm tree is as
/// CAMINOS 0.6.3 builds it, which cites the thesis of M. García.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// To the groups before the switch's own group, the nearest first.
    #[default]
    PalmTree,
    /// To the other groups in the order of their numbers; also called absolute.
    #[serde(alias = "absolute")]
    Consecutive,
    /// To the groups after the switch's own group, the nearest first: the mirror image of the palm
    /// tree.
    Relative,
}

impl JsonSchema for Arrangement {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Arrangement".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = |name: &str, meaning: &str| json_schema!({ "type": "string", "const": name, "description": meaning });
        let mut names = vec![
            one(
                "palm-tree",
                "To the groups before the switch's own group, the nearest first.",
            ),
            one(
                "absolute",
                "To the other groups in the order of their numbers.",
            ),
            one("consecutive", "The same as `absolute`."),
            one(
                "relative",
                "To the groups after the switch's own group, the nearest first.",
            ),
        ];
        if generator.contract().is_serialize() {
            names.remove(1);
        }
        json_schema!({ "oneOf": names })
    }
}

impl Arrangement {
    /// The name in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PalmTree => "palm-tree",
            Self::Consecutive => "consecutive",
            Self::Relative => "relative",
        }
    }

    /// The place of the group `to` in the order in which the global ports of `group` lead to the other groups, of
    /// `groups` altogether.
    fn turn(self, group: u32, to: u32, groups: u32) -> u32 {
        match self {
            Self::PalmTree => (group + groups - to - 1) % groups,
            Self::Consecutive => to - u32::from(to > group),
            Self::Relative => (to + groups - group - 1) % groups,
        }
    }
}

/// The global links of a topology: the same number between every two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalLinks {
    /// Number of groups.
    pub groups: u32,
    /// Switches per group that have global ports.
    pub switches: u32,
    /// Global ports of each of these switches.
    pub ports: u32,
    /// Which group a global port leads to.
    pub arrangement: Arrangement,
}

impl GlobalLinks {
    /// The links between `groups` groups, or the most if not given, and their number of groups, which may be beyond 32
    /// bits. `name` is the parameter that has the value `switches`.
    pub(super) fn new(
        (name, switches): (&str, u32),
        ports: u32,
        groups: Option<u32>,
        arrangement: Arrangement,
    ) -> Result<(Self, u64), SpecError> {
        let most = u64::from(switches) * u64::from(ports) + 1;
        let groups = groups.map_or(most, u64::from);
        if groups == 0 || groups > most {
            return Err(SpecError {
                key: "fabric.topology.groups",
                problem: format!(
                    "{groups} groups; with {name} = {switches} and h = {ports} there can be 1 to {most} \
                     ({name} h + 1); take fewer, or raise {name} or h"
                ),
            });
        }
        let links = Self {
            // With more, a switch has too many ports, and the fabric is refused.
            groups: u32::try_from(groups).unwrap_or(u32::MAX),
            switches,
            ports,
            arrangement,
        };
        Ok((links, groups))
    }

    /// "dragonfly, p 1, a 2, h 1, 3 groups, palm-tree", for the `kind` "dragonfly", `p` NICs per switch and the parameter
    /// `letter` that counts the switches with global ports.
    pub(super) fn name(&self, kind: &str, p: u32, letter: &str) -> String {
        format!(
            "{kind}, p {p}, {letter} {}, h {}, {}, {}",
            self.switches,
            self.ports,
            groups_text(self.groups),
            self.arrangement.name()
        )
    }

    /// Links between every two groups; the global ports that are left over stay free.
    #[must_use]
    pub fn per_pair(&self) -> u32 {
        (self.switches * self.ports)
            .checked_div(self.groups - 1)
            .unwrap_or(0)
    }

    /// The end in `group` of its link number `link` to the group `to`: the position of the switch among the switches
    /// with global ports, and the number of its global port.
    pub(super) fn end(&self, group: u32, to: u32, link: u32) -> (u32, u32) {
        let turn = self.arrangement.turn(group, to, self.groups);
        let number = link * (self.groups - 1) + turn;
        (number / self.ports, number % self.ports)
    }

    /// Connects all groups. `end` is the port of a group at which its link of a number to another group begins.
    pub(super) fn connect(&self, cabling: &mut Cabling, end: impl Fn(u32, u32, u32) -> SwitchPort) {
        for low in 0..self.groups {
            for high in low + 1..self.groups {
                for link in 0..self.per_pair() {
                    cabling.connect(end(low, high, link), end(high, low, link));
                }
            }
        }
    }
}

/// `1 group`, `9 groups`.
fn groups_text(groups: u32) -> String {
    format!("{groups} group{}", if groups == 1 { "" } else { "s" })
}
