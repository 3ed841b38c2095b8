//! Trees: k-ary n-trees, XGFT and fat trees of switches of one radix.

use crate::config::document::error::ConfigError;
use crate::config::fabric::topology::needed::need;
use crate::fabric::topology::{FatTreeSize, Topology};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTree {
    pub k: Option<u32>,
    pub n: Option<u32>,
    pub hosts: Option<u32>,
}

impl RawTree {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name| need(value, "k-ary-n-tree", name, "");
        let (k, n) = (need(self.k, "k")?, need(self.n, "n")?);
        Ok(Topology::k_ary_n_tree(k, n, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawXgft {
    pub down: Option<Vec<u32>>,
    pub up: Option<Vec<u32>>,
    pub parallel: Option<Vec<u32>>,
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

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFatTree {
    pub nodes: Option<u32>,
    pub levels: Option<u32>,
    pub radix: Option<u32>,
    pub oversubscription: Option<u32>,
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
