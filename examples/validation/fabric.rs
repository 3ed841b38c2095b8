//! The fabrics of the two publications.

use crate::grid::Trunks;
use clap::ValueEnum;

/// A fabric of OpaSim (section 3) or Hiperion (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fabric {
    /// OpaSim's router of 48 ports, uniform traffic.
    Uniform,
    /// The same, every NIC sends to its neighbour.
    Neighbour,
    #[value(name = "tree-24")]
    Tree24,
    #[value(name = "tree-8")]
    Tree8,
    #[value(name = "torus-2d")]
    Torus2d,
    #[value(name = "torus-3d")]
    Torus3d,
}

impl Fabric {
    /// The fabrics of Hiperion.
    pub const HIPERION: [Self; 4] = [Self::Tree24, Self::Tree8, Self::Torus2d, Self::Torus3d];
    /// All fabrics.
    pub const ALL: [Self; 6] = [
        Self::Uniform,
        Self::Neighbour,
        Self::Tree24,
        Self::Tree8,
        Self::Torus2d,
        Self::Torus3d,
    ];

    /// Name of its experiment in `configs/` behind `validation-`, and of its results.
    pub fn file(self) -> &'static str {
        match self {
            Self::Uniform => "004-uniform",
            Self::Neighbour => "004-neighbour",
            Self::Tree24 => "001-tree-24",
            Self::Tree8 => "001-tree-8",
            Self::Torus2d => "001-torus-2d",
            Self::Torus3d => "001-torus-3d",
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "router, uniform",
            Self::Neighbour => "router, neighbour",
            Self::Tree24 => "24-ary 2-tree",
            Self::Tree8 => "8-ary 3-tree",
            Self::Torus2d => "8×8 torus",
            Self::Torus3d => "8×8×4 torus",
        }
    }

    /// Whether the choice of a trunk's link matters.
    pub fn has_trunks(self) -> bool {
        matches!(self, Self::Torus2d | Self::Torus3d)
    }

    /// Choice of a trunk's link, unless a row asks for another one. Without effect where there are none.
    pub fn trunks(self) -> Trunks {
        if self.has_trunks() {
            Trunks::RoundRobin
        } else {
            Trunks::Destination
        }
    }

    /// Load at which it is measured as saturated: just past the most that it can carry.
    pub fn full_load(self) -> f64 {
        match self {
            // Its busiest link is full at 0.799.
            Self::Torus3d => 0.8,
            _ => 1.0,
        }
    }
}
