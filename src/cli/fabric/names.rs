//! Names of a fabric and its parts.

use crate::fabric::spec::FabricSpec;
use crate::fabric::topology::{Peer, Shape, Topology};

/// "torus 4x4, concentration 8, trunk 10".
pub(super) fn fabric(spec: &FabricSpec) -> String {
    let topology = &spec.topology;
    match topology.shape() {
        Shape::Single => "single switch".to_owned(),
        Shape::Cube(cube) => {
            let sizes: Vec<String> = cube.dimensions().iter().map(u32::to_string).collect();
            format!(
                "{} {}, concentration {}, trunk {}",
                if cube.wraps() { "torus" } else { "mesh" },
                sizes.join("x"),
                cube.concentration(),
                cube.trunk()
            )
        }
        Shape::Tree(tree) => format!("{}-ary {}-tree", tree.k(), tree.n()),
        Shape::Xgft(tree) => format!(
            "fat tree, down {:?}, up {:?}, parallel {:?}",
            tree.down(),
            tree.up(),
            tree.parallel()
        ),
        Shape::Graph(_) => "graph".to_owned(),
    }
}

/// "switch 5 (1,1)": with coordinates on cubes, level and position in trees.
pub(super) fn switch(topology: &Topology, switch: u32) -> String {
    match topology.shape() {
        Shape::Single | Shape::Graph(_) => format!("switch {switch}"),
        Shape::Cube(cube) => {
            let coordinates: Vec<String> = (0..cube.dimensions().len())
                .map(|d| cube.coordinate(switch, d).to_string())
                .collect();
            format!("switch {switch} ({})", coordinates.join(","))
        }
        Shape::Tree(tree) => {
            let (level, position) = tree.position(switch);
            format!("switch {switch} (level {level}, {position})")
        }
        Shape::Xgft(tree) => {
            let (level, position) = tree.position(switch);
            format!("switch {switch} (level {level}, {position})")
        }
    }
}

/// "switch 5 port 2", "NIC 3" or "nothing": what a port is connected to.
pub(super) fn peer(topology: &Topology, switch: u32, port: u32) -> String {
    match topology.peer(switch, port) {
        Peer::None => "nothing".into(),
        Peer::Nic(nic) => format!("NIC {nic}"),
        Peer::Switch { switch, port } => format!("switch {switch} port {port}"),
    }
}

/// "1 link", "2 links", "3 switches", "4 dependencies".
pub(super) fn counted(n: u64, what: &str) -> String {
    let count = crate::units::human_count(n);
    match what.strip_suffix('y') {
        _ if n == 1 => format!("{count} {what}"),
        Some(stem) => format!("{count} {stem}ies"),
        None if what.ends_with("ch") => format!("{count} {what}es"),
        None => format!("{count} {what}s"),
    }
}
