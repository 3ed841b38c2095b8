//! `[fabric.topology]` as written. Its `kind` decides which keys it has: see `tagged`.

pub(super) mod cubes;
pub(super) mod dragonflies;
pub(super) mod graphs;
mod needed;
pub(super) mod trees;

use crate::config::document::ConfigError;
use crate::config::fabric::topology::cubes::{RawCube, RawKns};
use crate::config::fabric::topology::dragonflies::{RawDragonfly, RawMegafly, RawSlimFly};
use crate::config::fabric::topology::graphs::{RawDiscovery, RawGraph, RawSingle};
use crate::config::fabric::topology::trees::{RawFatTree, RawTree, RawXgft};
use crate::config::import::Imported;
use crate::fabric::topology::Topology;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub(crate) enum RawTopology {
    Single(RawSingle),
    Torus(RawCube),
    Mesh(RawCube),
    KAryNTree(RawTree),
    Xgft(RawXgft),
    Dragonfly(RawDragonfly),
    Hyperx(RawCube),
    SlimFly(RawSlimFly),
    Megafly(RawMegafly),
    FatTree(RawFatTree),
    Kns(RawKns),
    Graph(RawGraph),
    Ibnetdiscover(RawDiscovery),
}

impl RawTopology {
    /// Builds the graph. If a file in `dir` describes it, also returns what else the file says.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<(Topology, Option<Imported>), ConfigError> {
        let built = match self {
            Self::Single(raw) => raw.resolve(),
            Self::Torus(raw) => raw.resolve("torus", true),
            Self::Mesh(raw) => raw.resolve("mesh", false),
            Self::KAryNTree(raw) => raw.resolve(),
            Self::Xgft(raw) => raw.resolve(),
            Self::Dragonfly(raw) => raw.resolve(),
            Self::Hyperx(raw) => raw.resolve_hyperx(),
            Self::SlimFly(raw) => raw.resolve(),
            Self::Megafly(raw) => raw.resolve(),
            Self::FatTree(raw) => raw.resolve(),
            Self::Kns(raw) => raw.resolve(),
            Self::Graph(raw) => raw.resolve(),
            Self::Ibnetdiscover(raw) => {
                let imported = raw.resolve(dir)?;
                return Ok((imported.topology.clone(), Some(imported)));
            }
        };
        Ok((built?, None))
    }
}
