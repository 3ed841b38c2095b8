//! Explicit graphs: the cables are as listed; the routes are the shortest.

use super::Plan;
use crate::wiring::{End, Wiring};
use flitwise_fabric::topology::{Peer, Topology};

/// The plan of the first plane.
pub fn plan(topology: &Topology) -> Plan {
    let planes = topology.planes();
    let (nics, switches) = (topology.nics() / planes, topology.switches() / planes);
    let mut homes = vec![(0, 0); nics as usize];
    let mut cables = Vec::new();
    let listed = topology.listed_peers().expect("a graph lists its links");
    for (index, &peer) in (0..switches * topology.radix()).zip(listed) {
        let here = (index / topology.radix(), index % topology.radix());
        match peer {
            Peer::None => {}
            // An aggregation node.
            Peer::Nic(nic) if nic.get() >= topology.nics() => {}
            Peer::Nic(nic) => homes[nic.index() / planes as usize] = here,
            Peer::Switch { switch, port } => {
                let there = (switch.get(), port.get());
                // Every cable is listed at both ends.
                if here < there {
                    cables.push([here, there]);
                }
            }
        }
    }
    Plan {
        switches,
        ports: topology.radix(),
        homes,
        cables,
    }
}

/// The port of `switch` towards every NIC: for one NIC after the other the neighbour must
/// be nearer, and of several such ports the one used by the fewest NICs yet is taken. A NIC of another plane has
/// none: 0 stands for it.
pub fn routes(wiring: &Wiring, switch: u32) -> Vec<usize> {
    let here = switch as usize;
    let mut used = vec![0; wiring.radix()];
    let mut table = Vec::new();
    for &(home, home_port) in &wiring.homes {
        if home == here {
            table.push(home_port);
            continue;
        }
        let hops = distances(wiring, home);
        let mut best: Option<usize> = None;
        for (port, far) in wiring.ports[here].iter().enumerate() {
            let Some(End::Port { switch: next, .. }) = *far else {
                continue;
            };
            if hops[next] < hops[here] && best.is_none_or(|best| used[port] < used[best]) {
                best = Some(port);
            }
        }
        if let Some(best) = best {
            used[best] += 1;
        }
        table.push(best.unwrap_or(0));
    }
    table
}

/// Hops from every switch to `home`, by relaxing all links until nothing changes.
fn distances(wiring: &Wiring, home: usize) -> Vec<u32> {
    let mut hops = vec![u32::MAX - 1; wiring.ports.len()];
    hops[home] = 0;
    loop {
        let before = hops.clone();
        for (switch, ports) in wiring.ports.iter().enumerate() {
            for far in ports {
                if let Some(End::Port { switch: next, .. }) = far {
                    hops[switch] = hops[switch].min(hops[*next] + 1);
                }
            }
        }
        if hops == before {
            return hops;
        }
    }
}
