//! Tori and meshes. A switch has a coordinate in each dimension; dimension 0 varies fastest in
//! its number. Ports: the NICs, then for each dimension the trunk up, the trunk down.

use super::{Plan, Port, digits, in_order};
use flitwise_fabric::spec::RingTie;
use flitwise_fabric::topology::Cube;

/// The first port of the trunk that leads up or down in `dimension`.
fn first_port(cube: &Cube, dimension: usize, up: bool) -> u32 {
    let side = 2 * dimension as u32 + u32::from(!up);
    cube.lattice.concentration + side * cube.lattice.trunk
}

pub fn plan(cube: &Cube, nics: u32) -> Plan {
    let sizes = &cube.lattice.dimensions;
    let switches = sizes.iter().product();
    let mut cables: Vec<[Port; 2]> = Vec::new();
    for switch in 0..switches {
        for (dimension, &size) in sizes.iter().enumerate() {
            let mut there = digits(switch, sizes);
            there[dimension] += 1;
            if there[dimension] == size {
                if !cube.wraps() {
                    continue;
                }
                there[dimension] = 0;
            }
            let next = (0..switches).find(|&other| digits(other, sizes) == there);
            let next = next.expect("all coordinates are taken");
            let (up, down) = (
                first_port(cube, dimension, true),
                first_port(cube, dimension, false),
            );
            let links = 0..cube.lattice.trunk;
            cables.extend(links.map(|link| [(switch, up + link), (next, down + link)]));
        }
    }
    Plan {
        switches,
        ports: first_port(cube, sizes.len(), true),
        homes: in_order(nics, cube.lattice.concentration),
        cables,
    }
}

/// The first port of the trunk that a packet takes next. Dimension order: the first dimension in which the coordinates
/// differ, the shorter way round.
pub fn route(cube: &Cube, tie: RingTie, switch: u32, home: u32) -> usize {
    let sizes = &cube.lattice.dimensions;
    let (here, there) = (digits(switch, sizes), digits(home, sizes));
    let dimension = (0..sizes.len())
        .find(|&d| here[d] != there[d])
        .expect("the destination is at another switch");
    let (at, size) = (here[dimension], sizes[dimension]);
    let plus = if cube.wraps() {
        let up = (there[dimension] + size - at) % size;
        let down = size - up;
        match up.cmp(&down) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => match tie {
                RingTie::Positive => true,
                RingTie::SourceParity => at % 2 == 0,
            },
        }
    } else {
        there[dimension] > at
    };
    first_port(cube, dimension, plus) as usize
}

/// Whether the link at `port` of `switch` closes a ring.
pub fn closes_ring(cube: &Cube, switch: u32, port: usize) -> bool {
    let sizes = &cube.lattice.dimensions;
    let Some(dimension) = dimension_of(cube, port) else {
        return false;
    };
    let trunks = (port - cube.lattice.concentration as usize) / cube.lattice.trunk as usize;
    let at = digits(switch, sizes)[dimension];
    let end = if trunks.is_multiple_of(2) {
        sizes[dimension] - 1
    } else {
        0
    };
    cube.wraps() && at == end
}

/// The dimension along which packets come in by `port`.
pub fn dimension_of(cube: &Cube, port: usize) -> Option<usize> {
    let link = port.checked_sub(cube.lattice.concentration as usize)?;
    Some(link / (2 * cube.lattice.trunk as usize))
}
