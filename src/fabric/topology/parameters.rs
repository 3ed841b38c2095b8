//! The parameters of a topology in results.

use super::{Arrangement, Lattice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of each kind of topology, as `experiment.fabric.topology` in `docs/reference/result.md` has them. The
/// links follow from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FamilyParameters {
    /// One switch.
    Single,
    /// A torus.
    Torus(Lattice),
    /// A mesh.
    Mesh(Lattice),
    /// A HyperX.
    Hyperx(Lattice),
    /// A k-ary n-tree.
    KAryNTree {
        /// Ports down per switch.
        k: u32,
        /// Levels.
        n: u32,
    },
    /// A generalised fat tree.
    Xgft {
        /// As in the file.
        down: Vec<u32>,
        /// As in the file.
        up: Vec<u32>,
        /// As in the file.
        parallel: Vec<u32>,
    },
    /// A dragonfly.
    Dragonfly {
        /// NICs per switch.
        p: u32,
        /// Switches per group.
        a: u32,
        /// Global ports per switch.
        h: u32,
        /// Groups.
        groups: u32,
        /// As in the file.
        arrangement: Arrangement,
    },
    /// A megafly.
    Megafly {
        /// NICs per leaf.
        p: u32,
        /// Leaves, and spines, per group.
        s: u32,
        /// Global ports per spine.
        h: u32,
        /// Groups.
        groups: u32,
        /// As in the file.
        arrangement: Arrangement,
    },
    /// A Slim Fly.
    SlimFly {
        /// Size of the field.
        q: u32,
        /// NICs per switch.
        p: u32,
    },
    /// A k-ary n-direct s-indirect network.
    Kns {
        /// Routers on a line.
        k: u32,
        /// Dimensions.
        n: u32,
        /// Stages of a line.
        s: u32,
        /// NICs per switch.
        concentration: u32,
    },
    /// A graph.
    Graph {
        /// A text per switch, `port:nNIC` or `port:sSWITCH.PORT` for every port in use.
        ports: Vec<String>,
    },
}

/// How the switches of a topology are arranged in a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arranged {
    /// On levels.
    Levels,
    /// As its links suggest.
    ByLinks,
    /// On a grid of these numbers of switches in each dimension, the first of which varies fastest.
    Grid(Vec<u32>),
    /// Groups of this number of consecutive switches, on a circle.
    Groups(u32),
}

impl FamilyParameters {
    /// The arrangement of the switches in a drawing.
    #[must_use]
    pub fn arranged(self) -> Arranged {
        match self {
            Self::Torus(lattice) | Self::Mesh(lattice) | Self::Hyperx(lattice) => {
                Arranged::Grid(lattice.dimensions)
            }
            Self::Dragonfly { a: size, .. } | Self::SlimFly { q: size, .. } => {
                Arranged::Groups(size)
            }
            Self::Megafly { s, .. } => Arranged::Groups(s.saturating_mul(2)),
            Self::Graph { .. } => Arranged::ByLinks,
            Self::Single | Self::KAryNTree { .. } | Self::Xgft { .. } | Self::Kns { .. } => {
                Arranged::Levels
            }
        }
    }
}
