//! Topologies of small diameter: dragonflies, megaflies and slim flies.

use crate::config::document::error::ConfigError;
use crate::config::fabric::topology::needed::need;
use crate::fabric::topology::{Arrangement, DragonflySize, MegaflySize, Topology};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDragonfly {
    pub p: Option<u32>,
    pub a: Option<u32>,
    pub h: Option<u32>,
    pub groups: Option<u32>,
    pub arrangement: Option<RawArrangement>,
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
        let arrangement = RawArrangement::resolve(self.arrangement);
        Ok(Topology::dragonfly(size, arrangement, self.hosts)?)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMegafly {
    pub p: Option<u32>,
    pub s: Option<u32>,
    pub h: Option<u32>,
    pub groups: Option<u32>,
    pub arrangement: Option<RawArrangement>,
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
        let arrangement = RawArrangement::resolve(self.arrangement);
        Ok(Topology::megafly(size, arrangement, self.hosts)?)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawArrangement {
    PalmTree,
    #[serde(alias = "absolute")]
    Consecutive,
    Relative,
}

impl RawArrangement {
    pub(crate) fn resolve(raw: Option<Self>) -> Arrangement {
        match raw {
            None | Some(Self::PalmTree) => Arrangement::PalmTree,
            Some(Self::Consecutive) => Arrangement::Consecutive,
            Some(Self::Relative) => Arrangement::Relative,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSlimFly {
    pub q: Option<u32>,
    pub p: Option<u32>,
    pub hosts: Option<u32>,
}

impl RawSlimFly {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let q = need(self.q, "slim-fly", "q", ", a power of a prime")?;
        Ok(Topology::slim_fly(q, self.p, self.hosts)?)
    }
}
