//! Topologies of small diameter: dragonflies, megaflies and slim flies.

use crate::config::document::{ConfigError, Names};
use crate::config::fabric::topology::needed::need;
use crate::fabric::topology::{Arrangement, DragonflySize, MegaflySize, Topology};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["p", "a", "h"]))]
pub(crate) struct RawDragonfly {
    /// NICs per switch.
    pub p: Option<u32>,
    /// Switches per group.
    pub a: Option<u32>,
    /// Global ports per switch.
    pub h: Option<u32>,
    /// Number of groups.
    #[schemars(extend("x-default" = "a h + 1"))]
    pub groups: Option<u32>,
    /// Which global port leads to which group.
    #[schemars(extend("default" = "palm-tree"), with = "Option<Names<Arrangement>>")]
    pub arrangement: Option<Arrangement>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawDragonfly {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "dragonfly", name, meaning);
        let size = DragonflySize {
            p: need(self.p, "p", ", the NICs per switch")?,
            a: need(self.a, "a", ", the switches per group")?,
            h: need(self.h, "h", ", the global ports per switch")?,
            groups: self.groups,
        };
        let arrangement = self.arrangement.unwrap_or_default();
        Ok(Topology::dragonfly(size, arrangement, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["p", "s", "h"]))]
pub(crate) struct RawMegafly {
    /// NICs per leaf switch.
    pub p: Option<u32>,
    /// Leaf and spine switches per group.
    pub s: Option<u32>,
    /// Global ports per spine switch.
    pub h: Option<u32>,
    /// Number of groups.
    #[schemars(extend("x-default" = "s h + 1"))]
    pub groups: Option<u32>,
    /// Which global port leads to which group.
    #[schemars(extend("default" = "palm-tree"), with = "Option<Names<Arrangement>>")]
    pub arrangement: Option<Arrangement>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawMegafly {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "megafly", name, meaning);
        let size = MegaflySize {
            p: need(self.p, "p", ", the NICs per leaf switch")?,
            s: need(self.s, "s", ", the leaf and the spine switches per group")?,
            h: need(self.h, "h", ", the global ports per spine switch")?,
            groups: self.groups,
        };
        let arrangement = self.arrangement.unwrap_or_default();
        Ok(Topology::megafly(size, arrangement, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["q"]))]
pub(crate) struct RawSlimFly {
    /// A power of a prime from 3 to 49.
    pub q: Option<u32>,
    /// NICs per switch.
    #[schemars(extend("x-default" = "half of the links to switches, rounded up"))]
    pub p: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawSlimFly {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let q = need(self.q, "slim-fly", "q", ", a power of a prime")?;
        Ok(Topology::slim_fly(q, self.p, self.hosts)?)
    }
}
