//! Megaflies (Shpiner et al. 2017). Ports of a leaf: the NICs, then the spines of the group; of a spine: the leaves, then
//! the global ports.

use super::Plan;
use flitwise_fabric::topology::{Arrangement, Megafly};

/// The global links from `group` to the group `to`: spine, port and number of each.
fn global_links(fly: &Megafly, group: u32, to: u32) -> Vec<(u32, u32, u32)> {
    let (s, h, g) = (fly.s(), fly.global.ports, fly.global.groups);
    let others = g - 1;
    let mut links = Vec::new();
    for k in 0..s * h / others * others {
        let q = k % others;
        let leads_to = match fly.global.arrangement {
            Arrangement::PalmTree => (group + 2 * g - q - 1) % g,
            Arrangement::Consecutive if q < group => q,
            Arrangement::Consecutive => q + 1,
            Arrangement::Relative => (group + q + 1) % g,
        };
        if leads_to == to {
            links.push((k / h, s + k % h, k / others));
        }
    }
    links
}

pub fn plan(fly: &Megafly, nics: u32) -> Plan {
    let (p, s, g) = (fly.p(), fly.s(), fly.global.groups);
    let mut cables = Vec::new();
    for group in 0..g {
        let first = group * 2 * s;
        for (leaf, spine) in (0..s).flat_map(|leaf| (0..s).map(move |spine| (leaf, spine))) {
            cables.push([(first + leaf, p + spine), (first + s + spine, leaf)]);
        }
        for to in group + 1..g {
            let back = global_links(fly, to, group);
            for (spine, port, number) in global_links(fly, group, to) {
                let far = back.iter().find(|far| far.2 == number);
                let &(far_spine, far_port, _) = far.expect("a link has two ends");
                cables.push([
                    (first + s + spine, port),
                    (to * 2 * s + s + far_spine, far_port),
                ]);
            }
        }
    }
    let home = |nic: u32| {
        let leaf = nic / p;
        (leaf / s * 2 * s + leaf % s, nic % p)
    };
    Plan {
        switches: g * 2 * s,
        ports: s + p.max(fly.global.ports),
        homes: (0..nics).map(home).collect(),
        cables,
    }
}

/// Up to a spine, over the destination's link to its group, and down.
pub fn route(fly: &Megafly, switch: u32, home: u32, dst: u32) -> usize {
    let (p, s) = (fly.p(), fly.s());
    let (group, at) = (switch / (2 * s), switch % (2 * s));
    let (to, leaf) = (home / (2 * s), home % (2 * s));
    let is_leaf = at < s;
    let port = if group == to {
        if is_leaf { p + dst % s } else { leaf }
    } else {
        let links = global_links(fly, group, to);
        let chosen = links.iter().find(|link| link.2 == dst % links.len() as u32);
        let &(spine, port, _) = chosen.expect("one of the links");
        match (is_leaf, spine == at.wrapping_sub(s)) {
            (true, _) => p + spine,
            (false, true) => port,
            (false, false) => dst % s,
        }
    };
    port as usize
}
