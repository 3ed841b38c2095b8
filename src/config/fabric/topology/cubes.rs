//! Tori, meshes, HyperX and KNS.

use crate::config::document::ConfigError;
use crate::config::fabric::topology::needed::need;
use crate::fabric::topology::{KnsSize, Topology};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["dimensions"]))]
pub(crate) struct RawCube {
    /// Switches in each dimension, as in `[4, 4]`.
    pub dimensions: Option<Vec<u32>>,
    /// NICs per switch.
    #[schemars(extend("default" = 1))]
    pub concentration: Option<u32>,
    /// Parallel links between two switches.
    #[schemars(extend("default" = 1))]
    pub trunk: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawCube {
    /// A torus if links `wrap` around, else a mesh.
    pub(crate) fn resolve(&self, kind: &str, wrap: bool) -> Result<Topology, ConfigError> {
        let dimensions = need(
            self.dimensions.as_ref(),
            kind,
            "dimensions",
            ", e.g. [4, 4]",
        )?;
        let (concentration, trunk) = (self.concentration.unwrap_or(1), self.trunk.unwrap_or(1));
        Ok(Topology::cube(
            dimensions,
            wrap,
            concentration,
            trunk,
            self.hosts,
        )?)
    }

    pub(crate) fn resolve_hyperx(&self) -> Result<Topology, ConfigError> {
        let dimensions = self.dimensions.as_ref();
        let dimensions = need(dimensions, "hyperx", "dimensions", ", e.g. [4, 4]")?;
        let (concentration, trunk) = (self.concentration.unwrap_or(1), self.trunk.unwrap_or(1));
        Ok(Topology::hyperx(
            dimensions,
            concentration,
            trunk,
            self.hosts,
        )?)
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["k", "n"]))]
pub(crate) struct RawKns {
    /// Routers on a line.
    pub k: Option<u32>,
    /// Dimensions.
    pub n: Option<u32>,
    /// Stages of the tree that joins the routers of a line.
    #[schemars(extend("default" = 1))]
    pub s: Option<u32>,
    /// NICs per router.
    #[schemars(extend("default" = 1))]
    pub concentration: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

impl RawKns {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        let k = need(self.k, "kns", "k", ", the routers on a line")?;
        let n = need(self.n, "kns", "n", ", the dimensions")?;
        let size = KnsSize {
            k,
            n,
            s: self.s.unwrap_or(1),
            concentration: self.concentration.unwrap_or(1),
        };
        Ok(Topology::kns(size, self.hosts)?)
    }
}
