//! Switches on a lattice, as tori, meshes and HyperX have them.

use super::{Cabling, FamilyInfo, LaidOut, Place, SwitchOrder, TOO_LARGE, invalid};
use crate::error::SpecError;
use crate::ids::SwitchId;
use flitwise_base::quote::cut;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of a torus, mesh or HyperX.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["dimensions"]))]
#[schemars(description = "")]
pub struct LatticeKeys {
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

/// The switches of a lattice, with the same number of NIC ports each. Dimension 0 varies fastest in switch ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lattice {
    /// Switches along each dimension.
    pub dimensions: Vec<u32>,
    /// NIC ports per switch.
    pub concentration: u32,
    /// Parallel links between neighbours.
    pub trunk: u32,
}

impl LatticeKeys {
    /// Lays out a topology of this `kind` from dimensions, concentration, trunk and number of NICs.
    pub(super) fn lay_out<F>(
        &self,
        (kind, info): (&str, &FamilyInfo),
        lay_out: impl Fn(&[u32], u32, u32, Option<u32>) -> LaidOut<F>,
    ) -> LaidOut<F> {
        let Some(dimensions) = &self.dimensions else {
            let keys = [("dimensions", "switches in each dimension", true)];
            return Err(info.missing(kind, &keys));
        };
        let (concentration, trunk) = (self.concentration.unwrap_or(1), self.trunk.unwrap_or(1));
        lay_out(dimensions, concentration, trunk, self.hosts)
    }
}

impl Lattice {
    /// A lattice, and the number of its switches, which fits into 32 bits.
    pub(super) fn new(
        dimensions: &[u32],
        concentration: u32,
        trunk: u32,
    ) -> Result<(Self, u64), SpecError> {
        let list = || cut(&format!("{dimensions:?}")).to_string();
        if dimensions.is_empty() || dimensions.iter().any(|&k| k < 2) {
            return Err(invalid(format!(
                "dimensions {}: at least one, each of 2 or more switches",
                list()
            )));
        }
        if concentration == 0 || trunk == 0 {
            return Err(invalid("concentration and trunk must be at least 1".into()));
        }
        let switches = dimensions
            .iter()
            .try_fold(1u64, |n, &k| n.checked_mul(k.into()))
            .filter(|&n| n <= u64::from(u32::MAX))
            .ok_or_else(|| {
                invalid(format!(
                    "dimensions {} make 2^32 switches or more; {TOO_LARGE}",
                    list()
                ))
            })?;
        let lattice = Self {
            dimensions: dimensions.to_vec(),
            concentration,
            trunk,
        };
        Ok((lattice, switches))
    }

    /// Coordinate of `switch` in `dimension`.
    #[must_use]
    pub fn coordinate(&self, switch: SwitchId, dimension: usize) -> u32 {
        let below: u32 = self.dimensions[..dimension].iter().product();
        switch.get() / below % self.dimensions[dimension]
    }

    /// The first dimension in which the switches `at` and `home` differ, and their coordinates there.
    pub(super) fn first_difference(&self, at: u32, home: u32) -> Option<(usize, u32, u32)> {
        let mut below = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (here, there) = (at / below % size, home / below % size);
            below *= size;
            if here != there {
                return Some((dimension, here, there));
            }
        }
        None
    }

    /// "torus 4x4, concentration 8, trunk 10", for the `kind` "torus".
    pub(super) fn name(&self, kind: &str) -> String {
        let sizes: Vec<String> = self.dimensions.iter().map(u32::to_string).collect();
        format!(
            "{kind} {}, concentration {}, trunk {}",
            sizes.join("x"),
            self.concentration,
            self.trunk
        )
    }

    /// The coordinates of `switch`.
    pub(super) fn place(&self, switch: SwitchId) -> Place {
        let dimensions = 0..self.dimensions.len();
        Place::Coordinates(dimensions.map(|d| self.coordinate(switch, d)).collect())
    }

    /// The coordinate in the last dimension: the planes, or lines, that follow one another in it are the groups.
    pub(super) fn group(&self, switch: SwitchId) -> Option<u32> {
        let last = self.dimensions.len().checked_sub(1)?;
        Some(self.coordinate(switch, last))
    }

    /// The orders of the `switches` switches by the coordinate in each dimension.
    pub(super) fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        let along = |dimension| {
            let name = format!("along dimension {dimension}");
            SwitchOrder::by(name, switches, |s| self.coordinate(s, dimension))
        };
        (0..self.dimensions.len()).map(along).collect()
    }

    /// Whether no NIC is missing in `cabling`.
    pub(super) fn is_full(&self, cabling: &Cabling) -> bool {
        let slots = u64::from(cabling.switches()) * u64::from(self.concentration);
        u64::from(cabling.nics()) == slots
    }
}
