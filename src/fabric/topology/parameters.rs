//! The parameters of a topology in results.

use super::{Arrangement, Lattice, Topology};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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

/// A topology in results: its parameters and its sizes.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TopologyForm {
    #[serde(flatten)]
    parameters: FamilyParameters,
    /// The number of NICs.
    nics: u32,
    /// The number of switches.
    switches: u32,
    /// Ports per switch, surplus ones included.
    radix: u32,
}

impl Topology {
    /// Its parameters, from which its links follow.
    #[must_use]
    pub fn parameters(&self) -> FamilyParameters {
        self.family().parameters(self)
    }
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        TopologyForm {
            parameters: self.parameters(),
            nics: self.nics(),
            switches: self.switches(),
            radix: self.radix,
        }
        .serialize(s)
    }
}

impl JsonSchema for Topology {
    fn schema_name() -> Cow<'static, str> {
        "Topology".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TopologyForm::json_schema(generator)
    }
}
