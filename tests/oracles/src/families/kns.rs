//! k-ary n-direct 1-indirect: routers, then the switches of their lines. Ports of a router: the NICs, then a dimension each; of a
//! line's switch: a coordinate each.

use super::{Plan, digits, in_order};
use flitwise::fabric::topology::Kns;

/// The switch of the line of `router` in `dimension`: the other coordinates, the lowest dimension first, number it.
fn line(kns: &Kns, router: u32, dimension: usize) -> u32 {
    let (k, n) = (kns.k(), kns.n() as usize);
    let mut others = digits(router, &vec![k; n]);
    others.remove(dimension);
    let number = others
        .iter()
        .rev()
        .fold(0, |number, digit| number * k + digit);
    k.pow(n as u32) + dimension as u32 * k.pow(n as u32 - 1) + number
}

pub fn plan(kns: &Kns, nics: u32) -> Plan {
    let (k, n) = (kns.k(), kns.n());
    let routers = k.pow(n);
    let mut cables = Vec::new();
    for router in 0..routers {
        let at = digits(router, &vec![k; n as usize]);
        for (d, &coordinate) in at.iter().enumerate() {
            let port = kns.concentration() + d as u32;
            cables.push([(router, port), (line(kns, router, d), coordinate)]);
        }
    }
    Plan {
        switches: routers + n * k.pow(n - 1),
        ports: k.max(kns.concentration() + n),
        homes: in_order(nics, kns.concentration()),
        cables,
    }
}

/// Dimension order: to the line of the lowest dimension in which the coordinates differ, and along it.
pub fn route(kns: &Kns, switch: u32, home: u32) -> usize {
    let (k, n) = (kns.k(), kns.n());
    let there = digits(home, &vec![k; n as usize]);
    if let Some(dimension) = dimension_of_line(kns, switch) {
        return there[dimension] as usize;
    }
    let here = digits(switch, &vec![k; n as usize]);
    let d = (0..n as usize).find(|&d| here[d] != there[d]);
    kns.concentration() as usize + d.expect("another router")
}

fn dimension_of_line(kns: &Kns, switch: u32) -> Option<usize> {
    let number = switch.checked_sub(kns.k().pow(kns.n()))?;
    Some((number / kns.k().pow(kns.n() - 1)) as usize)
}

/// The dimension of a port of `switch`; `None` for NICs.
pub fn dimension_of(kns: &Kns, switch: u32, port: usize) -> Option<usize> {
    dimension_of_line(kns, switch).or_else(|| port.checked_sub(kns.concentration() as usize))
}
