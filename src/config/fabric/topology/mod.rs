//! `[fabric.topology]` as written. Its `kind` decides which keys it has: see `tagged`. Each family declares its keys in
//! its own file in `fabric/topology/`, but for those whose keys have several forms.

pub(super) mod graphs;

use crate::config::document::ConfigError;
use crate::config::fabric::topology::graphs::{RawDiscovery, RawGraph, RawSingle};
use crate::config::import::Imported;
use crate::fabric::topology::{
    DragonflyKeys, FatTreeKeys, KnsKeys, LatticeKeys, MegaflyKeys, SlimFlyKeys, Topology, TreeKeys,
    XgftKeys,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub(crate) enum RawTopology {
    Single(RawSingle),
    Torus(LatticeKeys),
    Mesh(LatticeKeys),
    KAryNTree(TreeKeys),
    Xgft(XgftKeys),
    Dragonfly(DragonflyKeys),
    Hyperx(LatticeKeys),
    SlimFly(SlimFlyKeys),
    Megafly(MegaflyKeys),
    FatTree(FatTreeKeys),
    Kns(KnsKeys),
    Graph(RawGraph),
    Ibnetdiscover(RawDiscovery),
}

impl RawTopology {
    /// Builds the graph. If a file in `dir` describes it, also returns what else the file says.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<(Topology, Option<Imported>), ConfigError> {
        let built = match self {
            Self::Single(keys) => return Ok((keys.resolve()?, None)),
            Self::Torus(keys) => keys.torus(),
            Self::Mesh(keys) => keys.mesh(),
            Self::KAryNTree(keys) => keys.topology(),
            Self::Xgft(keys) => keys.topology(),
            Self::Dragonfly(keys) => keys.topology(),
            Self::Hyperx(keys) => keys.hyperx(),
            Self::SlimFly(keys) => keys.topology(),
            Self::Megafly(keys) => keys.topology(),
            Self::FatTree(keys) => keys.topology(),
            Self::Kns(keys) => keys.topology(),
            Self::Graph(keys) => return Ok((keys.resolve()?, None)),
            Self::Ibnetdiscover(keys) => {
                let imported = keys.resolve(dir)?;
                return Ok((imported.topology.clone(), Some(imported)));
            }
        };
        Ok((built?, None))
    }
}
