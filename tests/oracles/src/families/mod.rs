//! The families of topologies: how each connects its switches, and the route that a packet takes
//! (`docs/model.md` §7, `docs/experiment.md`), from coordinates and digits alone.

pub mod cube;
pub mod dragonfly;
pub mod graph;
pub mod hyperx;
pub mod kns;
pub mod megafly;
pub mod slim_fly;
pub mod tree;
pub mod xgft;

use flitwise_fabric::topology::{Shape, Topology};

/// A switch and one of its ports.
pub type Port = (u32, u32);

/// The connections of a topology.
pub struct Plan {
    pub switches: u32,
    /// Ports that a switch needs.
    pub ports: u32,
    /// The port of each NIC.
    pub homes: Vec<Port>,
    /// Both ends of every cable between switches.
    pub cables: Vec<[Port; 2]>,
}

/// The plan of `topology`.
pub fn plan(topology: &Topology) -> Plan {
    let nics = topology.nics();
    match topology.shape() {
        Shape::Single(_) => Plan {
            switches: 1,
            ports: nics,
            homes: in_order(nics, nics),
            cables: Vec::new(),
        },
        Shape::Cube(cube) => cube::plan(cube, nics),
        Shape::Tree(tree) => tree::plan(*tree, nics),
        Shape::Xgft(tree) => xgft::plan(tree, nics),
        Shape::Dragonfly(fly) => dragonfly::plan(fly, nics),
        Shape::HyperX(lattice) => hyperx::plan(lattice, nics),
        Shape::SlimFly(fly) => slim_fly::plan(fly, nics),
        Shape::Megafly(fly) => megafly::plan(fly, nics),
        Shape::Kns(kns) => kns::plan(kns, nics),
        Shape::Graph(_) => graph::plan(topology),
    }
}

/// NICs in order, `per_switch` of them at the first ports of each switch.
fn in_order(nics: u32, per_switch: u32) -> Vec<Port> {
    (0..nics)
        .map(|nic| (nic / per_switch, nic % per_switch))
        .collect()
}

/// The digits of `number`, the first one in base `bases[0]`, and so on.
pub(crate) fn digits(number: u32, bases: &[u32]) -> Vec<u32> {
    let mut rest = number;
    let mut digits = Vec::new();
    for base in bases {
        digits.push(rest % base);
        rest /= base;
    }
    digits
}

/// Whether `a` and `b` are equal except at `place`.
fn same_but_at(place: usize, a: &[u32], b: &[u32]) -> bool {
    (0..a.len()).all(|i| i == place || a[i] == b[i])
}
