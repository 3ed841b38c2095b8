//! The families of topologies: how each connects its switches, and the route that a packet takes
//! (`docs/model/fabric.md` §7, `docs/reference/experiment.md`), from coordinates and digits alone.

pub mod cube;
pub mod dragonfly;
pub mod graph;
pub mod hyperx;
pub mod kns;
pub mod megafly;
pub mod slim_fly;
pub mod tree;
pub mod xgft;

use super::wiring::{End, Wiring};
use flitwise_fabric::ids::SwitchId;
use flitwise_fabric::spec::FabricSpec;
use flitwise_fabric::topology::{Aggregation, Shape, Topology};

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

/// The plan of `topology`: NIC x of a fabric of planes is NIC ⌊x / planes⌋ of plane x mod planes, and the switches of a
/// plane follow the switches of the plane before.
pub fn plan(topology: &Topology) -> Plan {
    let planes = topology.planes();
    let one = plan_of_one(topology, topology.nics() / planes);
    let on = |plane: u32, (switch, port): Port| (plane * one.switches + switch, port);
    let cable = |plane, cable: &[Port; 2]| cable.map(|end| on(plane, end));
    let mut plan = Plan {
        switches: one.switches * planes,
        ports: one.ports,
        homes: (0..topology.nics())
            .map(|nic| on(nic % planes, one.homes[(nic / planes) as usize]))
            .collect(),
        cables: (0..planes)
            .flat_map(|plane| one.cables.iter().map(move |ends| cable(plane, ends)))
            .collect(),
    };
    if let Some(nodes) = topology.aggregation() {
        add_nodes(&mut plan, nodes);
    }
    plan
}

/// Internal links in each switch, behind all that is connected anywhere.
fn add_nodes(plan: &mut Plan, nodes: &Aggregation) {
    let ends = plan.cables.iter().flatten().chain(&plan.homes);
    let port = ends.map(|end| end.1 + 1).max().unwrap_or(0);
    let parent = |switch| nodes.parent(SwitchId::new(switch)).map(SwitchId::get);
    let links = |switch: u32| {
        let nics = plan.homes.iter().filter(|home| home.0 == switch).count();
        let below = |&other: &u32| parent(other) == Some(switch);
        let children = (0..plan.switches).filter(below).count();
        let neighbours = nics + children + usize::from(parent(switch).is_some());
        (neighbours as u32).clamp(1, nodes.links().unwrap_or(120 - port))
    };
    let ports = |switch| (port..port + links(switch)).map(move |port| (switch, port));
    let internal: Vec<Port> = (0..plan.switches).flat_map(ports).collect();
    let last = internal.iter().map(|home| home.1).max();
    plan.ports = plan.ports.max(last.unwrap_or(0) + 1);
    plan.homes.extend(internal);
}

/// The step of [`step`] to an aggregation node in the neighbour `home`: by their first link or trunk.
pub fn step_to_node(
    spec: &FabricSpec,
    wiring: &Wiring,
    (switch, home, node): (u32, u32, u32),
) -> (usize, Among) {
    let leads = |far: &Option<End>| matches!(*far, Some(End::Port { switch, .. }) if switch == home as usize);
    let first = wiring.ports[switch as usize].iter().position(leads);
    let first = first.expect("neighbours alone send to an aggregation node");
    let trunk = match spec.topology.shape() {
        Shape::Cube(cube) => cube.lattice.trunk,
        Shape::HyperX(hyperx) => hyperx.lattice.trunk,
        _ => return (first, Among::One),
    };
    let count = trunk as usize;
    (
        first + (node % trunk) as usize,
        Among::Trunk { first, count },
    )
}

/// The plan of one plane with `nics` NICs.
fn plan_of_one(topology: &Topology, nics: u32) -> Plan {
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
        Shape::HyperX(of) => hyperx::plan(&of.lattice, nics),
        Shape::SlimFly(fly) => slim_fly::plan(fly, nics),
        Shape::Megafly(fly) => megafly::plan(fly, nics),
        Shape::Kns(kns) => kns::plan(kns, nics),
        Shape::Graph(_) => graph::plan(topology),
    }
}

/// The ports of a switch among which a packet chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Only the one of its destination.
    One,
    /// The links of a trunk.
    Trunk { first: usize, count: usize },
    /// The up-ports, if it goes up.
    Up { first: usize, count: usize },
}

/// The port of `switch` towards NIC `dst`, which is at the switch `home`, that the destination alone chooses, and the
/// ports that are as good.
pub fn step(spec: &FabricSpec, wiring: &Wiring, at: (u32, u32, u32)) -> (usize, Among) {
    let (switch, home, dst) = on_plane(spec, at);
    let trunk = |first: usize, count: u32| {
        let among = Among::Trunk {
            first,
            count: count as usize,
        };
        (first + (dst % count) as usize, among)
    };
    let up = |(own, first, count): (usize, usize, usize)| (own, Among::Up { first, count });
    match spec.topology.shape() {
        Shape::Cube(cube) => {
            let first = cube::route(cube, spec.routing.ring_tie, switch, home);
            trunk(first, cube.lattice.trunk)
        }
        Shape::HyperX(of) => {
            let first = hyperx::route(&of.lattice, switch, home);
            trunk(first, of.lattice.trunk)
        }
        Shape::Tree(of) => {
            let k = of.k() as usize;
            up((tree::route(*of, switch, dst), k, k))
        }
        Shape::Xgft(of) => up(xgft::route(of, switch, dst)),
        Shape::Kns(of) => up(kns::route(of, switch, home)),
        Shape::Dragonfly(fly) => (dragonfly::route(fly, switch, home, dst), Among::One),
        Shape::SlimFly(fly) => (slim_fly::route(fly, switch, home, dst), Among::One),
        Shape::Megafly(fly) => (megafly::route(fly, switch, home, dst), Among::One),
        Shape::Graph(_) => (graph::routes(wiring, at.0)[at.2 as usize], Among::One),
        Shape::Single(_) => unreachable!("every NIC is at the only switch"),
    }
}

/// A switch, another one and a NIC by their numbers on their planes.
pub fn on_plane(spec: &FabricSpec, (switch, home, nic): (u32, u32, u32)) -> (u32, u32, u32) {
    let planes = spec.topology.planes();
    let switches = spec.topology.switches() / planes;
    (switch % switches, home % switches, nic / planes)
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
