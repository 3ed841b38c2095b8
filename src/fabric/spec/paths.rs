//! Paths with detours (`docs/model/fabric.md` §7): which packets leave the minimal path, and over which NICs.
//!
//! The engine's side is `src/fabric/engine/detours.rs`, the oracle's `tests/oracles/src/detours.rs`; the turns that
//! follow are counted in `src/fabric/analysis/legs.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which paths packets take to their destinations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "PathKeys")]
#[schemars(with = "PathKeys")]
pub enum Paths {
    /// The routing of the topology, or the forwarding tables, straight to the destination.
    #[default]
    Minimal,
    /// Packets may go over a NIC drawn at random.
    Detours(Detours),
}

/// Paths that lead over a NIC drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detours {
    /// Which packets take a detour.
    pub rule: DetourRule,
    /// The intermediate place.
    pub intermediate: Intermediate,
    /// The credits by which the queue of the minimal path, times hops, may be longer: 0 compares as published.
    pub bias: u32,
    /// Seed of the random streams, one for each port that draws.
    pub seed: u64,
}

/// Which packets take a detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DetourRule {
    /// All (Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 11, 1982).
    Valiant,
    /// Packets whose first queue towards the detour, times its hops, is shorter than the first queue of the minimal path,
    /// times its hops (Singh, "Load-balanced routing in interconnection networks", Ph.D. thesis, Stanford 2005).
    UgalL,
    /// The same by the queues of the links between groups, wherever they are (Kim, Dally, Scott, Abts, "Technology-driven,
    /// highly-scalable dragonfly topology", ISCA 2008), or of the whole path.
    UgalG,
    /// As [`Self::UgalL`], asked again at every switch of the source's group (Jiang, Kim, Dally, "Indirect adaptive
    /// routing on large scale interconnection networks", ISCA 2009).
    Par,
}

impl DetourRule {
    /// The name in experiments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valiant => "valiant",
            Self::UgalL => "ugal-l",
            Self::UgalG => "ugal-g",
            Self::Par => "par",
        }
    }

    /// Whether queues decide.
    #[must_use]
    pub fn is_adaptive(self) -> bool {
        self != Self::Valiant
    }
}

/// The intermediate place of a detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Intermediate {
    /// To the switch of any NIC.
    Nic,
    /// Over the group of any NIC that is neither the group of the source nor of the destination. The second leg begins
    /// at the first switch of that group.
    Group,
}

impl Paths {
    /// The detours that packets may take.
    #[must_use]
    pub fn detours(&self) -> Option<&Detours> {
        match self {
            Self::Minimal => None,
            Self::Detours(detours) => Some(detours),
        }
    }

    /// Whether queues decide which packets take a detour.
    #[must_use]
    pub fn are_adaptive(&self) -> bool {
        self.detours().is_some_and(|d| d.rule.is_adaptive())
    }

    /// Legs of a path: each is routed as if the packet ended there.
    #[must_use]
    pub fn legs(&self) -> u8 {
        match self.detours() {
            None => 1,
            Some(detours) => detours.first_leg() + 2,
        }
    }

    /// The first VL class of leg `leg`, if each takes `of_leg` classes.
    #[must_use]
    pub fn first_class(&self, leg: u8, of_leg: u8) -> u8 {
        leg * match self.detours().map(|detours| detours.intermediate) {
            // The leg to a group has no local link behind its global one, and the next leg begins where it ends.
            Some(Intermediate::Group) => of_leg.saturating_sub(1).max(1),
            None | Some(Intermediate::Nic) => of_leg,
        }
    }

    /// VL classes of all legs together.
    #[must_use]
    pub fn classes(&self, of_leg: u8) -> u8 {
        self.first_class(self.legs() - 1, of_leg) + of_leg
    }
}

impl Detours {
    /// The leg with which a detour begins.
    #[must_use]
    pub fn first_leg(&self) -> u8 {
        // Packets of Par may have taken hops of their minimal path.
        u8::from(self.rule == DetourRule::Par)
    }
}

/// The keys of paths. The seed follows from the seed of the experiment.
#[derive(Serialize, JsonSchema)]
struct PathKeys {
    /// Which packets take a detour; absent where paths are minimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<DetourRule>,
    /// `group`; absent where detours lead to the switches of NICs.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths_intermediate: Option<Intermediate>,
    /// `paths_bias` in whole credits; absent where queues do not decide the paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths_bias_credits: Option<u32>,
}

impl From<Paths> for PathKeys {
    fn from(paths: Paths) -> Self {
        let detours = paths.detours();
        Self {
            paths: detours.map(|detours| detours.rule),
            paths_intermediate: detours
                .map(|detours| detours.intermediate)
                .filter(|intermediate| *intermediate != Intermediate::Nic),
            paths_bias_credits: detours
                .filter(|detours| detours.rule.is_adaptive())
                .map(|detours| detours.bias),
        }
    }
}
