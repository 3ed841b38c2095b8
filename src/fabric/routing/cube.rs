//! Dimension-order routing: lowest dimension first, the shorter way round.

use super::NextHop;
use crate::fabric::spec::RingTie;
use crate::fabric::topology::{Cube, Direction};

pub(super) fn next_hop(cube: &Cube, tie: RingTie, switch: u32, home: u32) -> NextHop {
    let mut below = 1;
    for (dimension, &size) in cube.dimensions().iter().enumerate() {
        let (here, there) = (switch / below % size, home / below % size);
        below *= size;
        if here != there {
            let direction = direction(cube, tie, size, here, there);
            return NextHop::Trunk {
                first: cube.port(dimension, direction, 0),
                links: cube.trunk(),
            };
        }
    }
    // Only reached for `switch == home`, which the caller has handled.
    NextHop::Local(0)
}

fn direction(cube: &Cube, tie: RingTie, size: u32, here: u32, there: u32) -> Direction {
    if !cube.wraps() {
        return if there > here {
            Direction::Plus
        } else {
            Direction::Minus
        };
    }
    let ahead = (there + size - here) % size;
    match (2 * ahead).cmp(&size) {
        std::cmp::Ordering::Less => Direction::Plus,
        std::cmp::Ordering::Greater => Direction::Minus,
        std::cmp::Ordering::Equal => match tie {
            RingTie::SourceParity if here % 2 == 1 => Direction::Minus,
            RingTie::Positive | RingTie::SourceParity => Direction::Plus,
        },
    }
}
