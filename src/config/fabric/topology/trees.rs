//! Trees: k-ary n-trees, XGFT and fat trees of switches of one radix.

use crate::config::document::ConfigError;
use crate::config::fabric::topology::needed::need;
use crate::fabric::topology::{FatTreeSize, Topology};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["k", "n"]))]
pub(crate) struct RawTree {
    /// Down-ports of a switch.
    pub k: Option<u32>,
    /// Levels of switches.
    pub n: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawTree {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name| need(value, "k-ary-n-tree", name, "");
        let (k, n) = (need(self.k, "k")?, need(self.n, "n")?);
        Ok(Topology::k_ary_n_tree(k, n, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["down", "up"]))]
pub(crate) struct RawXgft {
    /// Children of a switch of each level, the level next to the NICs first.
    pub down: Option<Vec<u32>>,
    /// Parents of a node below each level; begins with 1.
    pub up: Option<Vec<u32>>,
    /// Parallel links to each parent; begins with 1.
    #[schemars(extend("x-default" = "1 everywhere"))]
    pub parallel: Option<Vec<u32>>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawXgft {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let down = need(self.down.as_ref(), "xgft", "down", ", e.g. [18, 36]")?;
        let up = need(self.up.as_ref(), "xgft", "up", ", e.g. [1, 18]")?;
        let single = vec![1; down.len()];
        let parallel = self.parallel.as_ref().unwrap_or(&single);
        Ok(Topology::xgft(down, up, parallel, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["levels", "radix"]))]
pub(crate) struct RawFatTree {
    /// Number of NICs: a multiple of what one subtree below the top holds.
    #[schemars(extend("x-default" = "as many as fit"))]
    pub nodes: Option<u32>,
    /// Levels of switches.
    pub levels: Option<u32>,
    /// Ports of a switch.
    pub radix: Option<u32>,
    /// NICs of a switch of the lowest level over its up-ports.
    #[schemars(extend("default" = 1))]
    pub oversubscription: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawFatTree {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "fat-tree", name, meaning);
        let size = FatTreeSize {
            nodes: self.nodes,
            levels: need(self.levels, "levels", ", the levels of switches")?,
            radix: need(self.radix, "radix", ", the ports of a switch")?,
            oversubscription: self.oversubscription.unwrap_or(1),
        };
        Ok(Topology::fat_tree(size, self.hosts)?)
    }
}
