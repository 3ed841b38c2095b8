//! k-ary n-direct s-indirect: routers, then the switches of their lines, which are trees of s stages. Ports of a router: the
//! NICs, then a dimension each; of a line's switch: down, then up.

use super::{Plan, digits, in_order, same_but_at};
use flitwise_fabric::topology::Kns;

/// The number whose digits in base `base` are these, the lowest first.
fn number(digits: &[u32], base: u32) -> u32 {
    digits.iter().rev().fold(0, |sum, digit| sum * base + digit)
}

/// Coordinates of a router.
fn coordinates(kns: &Kns, router: u32) -> Vec<u32> {
    digits(router, &vec![kns.k(); kns.n() as usize])
}

/// The line of `router` in `dimension`: the other coordinates, the lowest dimension first, number it.
fn line(kns: &Kns, router: u32, dimension: usize) -> u32 {
    let mut others = coordinates(kns, router);
    others.remove(dimension);
    number(&others, kns.k())
}

/// A switch of a line: dimension, stage and line, and the digits of its position, of which there is one fewer than stages.
type OnLine = (usize, usize, u32, Vec<u32>);

/// All switches of lines in the order of their numbers.
fn on_lines(kns: &Kns) -> Vec<OnLine> {
    let (s, n) = (kns.s() as usize, kns.n() as usize);
    let mut all = Vec::new();
    for dimension in 0..n {
        for stage in 0..s {
            for line in 0..kns.k().pow(kns.n() - 1) {
                for position in 0..kns.k() / kns.arity() {
                    let position = digits(position, &vec![kns.arity(); s - 1]);
                    all.push((dimension, stage, line, position));
                }
            }
        }
    }
    all
}

pub fn plan(kns: &Kns, nics: u32) -> Plan {
    let (arity, concentration) = (kns.arity(), kns.concentration());
    let routers = kns.k().pow(kns.n());
    let (of_lines, stages) = (on_lines(kns), kns.s() as usize);
    let mut cables = Vec::new();
    for (own, id) in of_lines.iter().zip(routers..) {
        let (dimension, stage, number_of_line, position) = own;
        if *stage == 0 {
            // Down to the routers whose coordinate has the position as its digits above the lowest.
            for router in 0..routers {
                let along = coordinates(kns, router)[*dimension];
                let along = digits(along, &vec![arity; stages]);
                if line(kns, router, *dimension) == *number_of_line && along[1..] == position[..] {
                    let port = concentration + *dimension as u32;
                    cables.push([(router, port), (id, along[0])]);
                }
            }
        }
        // Up to the switches of the next stage that differ at most in the digit of this stage.
        for (above, higher) in of_lines.iter().zip(routers..) {
            let same_line = (above.0, above.2) == (*dimension, *number_of_line);
            if same_line && above.1 == stage + 1 && same_but_at(*stage, position, &above.3) {
                let (up, down) = (arity + above.3[*stage], position[*stage]);
                cables.push([(id, up), (higher, down)]);
            }
        }
    }
    let of_line = if stages > 1 { 2 * arity } else { arity };
    Plan {
        switches: routers + of_lines.len() as u32,
        ports: of_line.max(concentration + kns.n()),
        homes: in_order(nics, concentration),
        cables,
    }
}

/// Hybrid-DOR: to the line of the lowest dimension in which the coordinates differ, and along it by DESTRO. Returns the
/// port, the first port that leads up, and how many do.
pub fn route(kns: &Kns, switch: u32, home: u32) -> (usize, usize, usize) {
    let there = coordinates(kns, home);
    let routers = kns.k().pow(kns.n());
    let Some(at) = switch.checked_sub(routers) else {
        let here = coordinates(kns, switch);
        let d = (0..here.len()).find(|&d| here[d] != there[d]);
        let port = kns.concentration() as usize + d.expect("another router");
        return (port, port + 1, 0);
    };
    let (arity, stages) = (kns.arity() as usize, kns.s() as usize);
    let (dimension, stage, _, position) = &on_lines(kns)[at as usize];
    let to = digits(there[*dimension], &vec![kns.arity(); stages]);
    // Below this stage the coordinate may differ from the position; above it must not.
    let below = (*stage..stages - 1).all(|i| position[i] == to[i + 1]);
    let ups = if stage + 1 < stages { arity } else { 0 };
    let digit = to[*stage] as usize;
    (if below { digit } else { arity + digit }, arity, ups)
}

/// The dimension of a port of `switch`; `None` for NICs.
pub fn dimension_of(kns: &Kns, switch: u32, port: usize) -> Option<usize> {
    match switch.checked_sub(kns.k().pow(kns.n())) {
        Some(at) => Some(on_lines(kns)[at as usize].0),
        None => port.checked_sub(kns.concentration() as usize),
    }
}
