//! Dragonflies (Kim et al. 2008). Ports: the NICs, the other switches of the group, the global
//! ports.

use super::{Plan, in_order};
use flitwise_fabric::topology::{Arrangement, Dragonfly};

/// A global link as one of its ends sees it.
struct Global {
    /// Position of the switch in its group.
    switch: u32,
    /// Port of that switch.
    port: u32,
    /// Which of the links between the two groups.
    number: u32,
}

/// The first global port of a switch.
pub fn first_global(fly: &Dragonfly) -> u32 {
    fly.p() + fly.a() - 1
}

/// The global links that lead from `group` to the group `to`: all ports of the group in turn.
fn global_links(fly: &Dragonfly, group: u32, to: u32) -> Vec<Global> {
    let (a, h, g) = (fly.a(), fly.global.ports, fly.global.groups);
    let others = g - 1;
    let mut links = Vec::new();
    for k in 0..a * h / others * others {
        let q = k % others;
        let leads_to = match fly.global.arrangement {
            Arrangement::PalmTree => (group + 2 * g - q - 1) % g,
            Arrangement::Consecutive if q < group => q,
            Arrangement::Consecutive => q + 1,
            Arrangement::Relative => (group + q + 1) % g,
        };
        if leads_to == to {
            links.push(Global {
                switch: k / h,
                port: first_global(fly) + k % h,
                number: k / others,
            });
        }
    }
    links
}

/// The port of the switch at position `at` of a group to the one at position `other`.
fn port_towards(fly: &Dragonfly, at: u32, other: u32) -> u32 {
    let before = (0..other).filter(|&s| s != at).count();
    fly.p() + before as u32
}

pub fn plan(fly: &Dragonfly, nics: u32) -> Plan {
    let (a, g) = (fly.a(), fly.global.groups);
    let mut cables = Vec::new();
    for group in 0..g {
        for at in 0..a {
            for other in at + 1..a {
                cables.push([
                    (group * a + at, port_towards(fly, at, other)),
                    (group * a + other, port_towards(fly, other, at)),
                ]);
            }
        }
        for to in group + 1..g {
            let back = global_links(fly, to, group);
            for near in global_links(fly, group, to) {
                let far = back.iter().find(|far| far.number == near.number);
                let far = far.expect("a link has two ends");
                cables.push([
                    (group * a + near.switch, near.port),
                    (to * a + far.switch, far.port),
                ]);
            }
        }
    }
    Plan {
        switches: g * a,
        ports: first_global(fly) + fly.global.ports,
        homes: in_order(nics, fly.p()),
        cables,
    }
}

/// At most one global link: one that makes the fewest hops, and among these the destination's.
pub fn route(fly: &Dragonfly, switch: u32, home: u32, dst: u32) -> usize {
    let (group, at) = (switch / fly.a(), switch % fly.a());
    let (home_group, home_at) = (home / fly.a(), home % fly.a());
    if group == home_group {
        return port_towards(fly, at, home_at) as usize;
    }
    let arrivals = global_links(fly, home_group, group);
    let mut best: (usize, Vec<Global>) = (usize::MAX, Vec::new());
    for link in global_links(fly, group, home_group) {
        let arrival = arrivals.iter().find(|far| far.number == link.number);
        let far = arrival.expect("a link has two ends").switch;
        let hops = 1 + usize::from(link.switch != at) + usize::from(far != home_at);
        if hops < best.0 {
            best = (hops, Vec::new());
        }
        if hops == best.0 {
            best.1.push(link);
        }
    }
    let chosen = &best.1[dst as usize % best.1.len()];
    if chosen.switch == at {
        chosen.port as usize
    } else {
        port_towards(fly, at, chosen.switch) as usize
    }
}

/// Whether packets need VL classes: without local or without global links they do not.
pub fn has_classes(fly: &Dragonfly) -> bool {
    fly.a() > 1 && fly.global.groups > 1
}
