//! HyperX: full meshes along the lines of a lattice. Ports: the NICs, then by dimension a trunk to each other
//! coordinate, ascending.

use super::{Plan, digits, in_order, same_but_at};
use flitwise_fabric::topology::Lattice;

/// The first port of the trunk to coordinate `there` of a dimension.
fn first_port(lattice: &Lattice, dimension: usize, here: u32, there: u32) -> u32 {
    let mut port = lattice.concentration;
    for (d, &size) in lattice.dimensions.iter().enumerate() {
        for other in 0..size {
            match (d == dimension, d < dimension) {
                (true, _) if other == there => return port,
                (true, _) if other != here => port += lattice.trunk,
                // Without the coordinate itself, whichever it is.
                (false, true) if other > 0 => port += lattice.trunk,
                _ => {}
            }
        }
    }
    unreachable!("no such coordinate")
}

pub fn plan(lattice: &Lattice, nics: u32) -> Plan {
    let sizes = &lattice.dimensions;
    let switches: u32 = sizes.iter().product();
    let mut cables = Vec::new();
    for low in 0..switches {
        for high in low + 1..switches {
            let (a, b) = (digits(low, sizes), digits(high, sizes));
            for d in (0..sizes.len()).filter(|&d| a[d] != b[d] && same_but_at(d, &a, &b)) {
                let near = first_port(lattice, d, a[d], b[d]);
                let far = first_port(lattice, d, b[d], a[d]);
                let links = 0..lattice.trunk;
                cables.extend(links.map(|link| [(low, near + link), (high, far + link)]));
            }
        }
    }
    let others: u32 = sizes.iter().map(|size| size - 1).sum();
    Plan {
        switches,
        ports: lattice.concentration + others * lattice.trunk,
        homes: in_order(nics, lattice.concentration),
        cables,
    }
}

/// The first port of the trunk in the lowest dimension in which the coordinates differ.
pub fn route(lattice: &Lattice, switch: u32, home: u32) -> usize {
    let sizes = &lattice.dimensions;
    let (here, there) = (digits(switch, sizes), digits(home, sizes));
    let d = (0..sizes.len()).find(|&d| here[d] != there[d]);
    let d = d.expect("another switch");
    first_port(lattice, d, here[d], there[d]) as usize
}

/// The dimension of a port; `None` for NICs.
pub fn dimension_of(lattice: &Lattice, port: usize) -> Option<usize> {
    let mut link = port.checked_sub(lattice.concentration as usize)?;
    for (d, &size) in lattice.dimensions.iter().enumerate() {
        let ports = (size as usize - 1) * lattice.trunk as usize;
        if link < ports {
            return Some(d);
        }
        link -= ports;
    }
    None
}
