//! Explicit graphs: switches and links as they are listed.

use super::{Destination, Family, Peer, Ports, Shape, Topology, invalid};
use crate::fabric::spec::{RingTie, SpecError};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Ends of a link: (switch, port).
pub type Link = ((u32, u32), (u32, u32));

/// Most (switch, NIC) pairs of a graph: a byte each is kept.
const MAX_PAIRS: u64 = 1 << 28;

/// The routes of an explicit graph, found once: minimal hops, balanced over the ports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// Port towards each NIC, `[switch * nics + nic]`; those of NICs at the switch too.
    ports: Vec<u8>,
    nics: usize,
}

impl Graph {
    pub(super) fn build(
        switches: u32,
        nics: &[(u32, u32)],
        links: &[Link],
    ) -> Result<Topology, SpecError> {
        if switches == 0 || nics.is_empty() {
            return Err(invalid(
                "a graph needs at least one switch and one NIC".into(),
            ));
        }
        let ends = links.iter().flat_map(|&(a, b)| [a, b]);
        let ends = || nics.iter().copied().chain(ends.clone());
        if let Some((switch, port)) = ends().find(|end| end.0 >= switches) {
            return Err(invalid(format!(
                "[{switch}, {port}] names switch {switch}, but there are {switches}, from 0 on"
            )));
        }
        let ports = ends().map(|end| u64::from(end.1) + 1).max().unwrap_or(0);
        let (count, pairs) = (nics.len() as u64, u64::from(switches) * nics.len() as u64);
        if pairs > MAX_PAIRS {
            return Err(invalid(format!(
                "{switches} switches and {count} NICs: a graph has at most {MAX_PAIRS} pairs of them"
            )));
        }
        let shape = Shape::Graph(Self::default());
        let mut topology = Topology::unconnected(shape, switches.into(), ports, count)?;
        let mut taken = vec![false; topology.peers.len()];
        for (switch, port) in ends() {
            let at = switch as usize * topology.radix as usize + port as usize;
            if std::mem::replace(&mut taken[at], true) {
                return Err(invalid(format!(
                    "port {port} of switch {switch} is listed twice; a port has one link"
                )));
            }
        }
        if let Some((a, _)) = links.iter().find(|(a, b)| a.0 == b.0) {
            return Err(invalid(format!(
                "a link from switch {} to itself leads nowhere; remove it",
                a.0
            )));
        }
        for &(switch, port) in nics {
            topology.attach_next(switch, port);
        }
        for &(a, b) in links {
            topology.connect(a, b);
        }
        topology.shape = Shape::Graph(Self::route(&topology)?);
        Ok(topology)
    }

    /// Destinations one after the other: at every switch the port, among those that lead
    /// one hop nearer, which has the fewest destinations so far; ties to the lowest.
    fn route(topology: &Topology) -> Result<Self, SpecError> {
        let (switches, radix) = (topology.switches() as usize, topology.radix() as usize);
        let nics = topology.nics() as usize;
        let mut ports = vec![0u8; switches * nics];
        let mut load = vec![0u32; switches * radix];
        let mut hops = vec![u32::MAX; switches];
        let mut home = None;
        for (nic, &(at, own)) in topology.attachment.iter().enumerate() {
            if home.replace(at) != Some(at) {
                hops_to(topology, at, &mut hops);
                if let Some(lost) = hops.iter().position(|&h| h == u32::MAX) {
                    return Err(invalid(format!(
                        "switch {lost} has no route to NIC {nic} at switch {at}; add a link or leave it out"
                    )));
                }
            }
            for switch in 0..switches {
                let port = if switch as u32 == at {
                    own
                } else {
                    let nearer = |port: &u32| match topology.peer(switch as u32, *port) {
                        Peer::Switch { switch: next, .. } => {
                            hops[next as usize] + 1 == hops[switch]
                        }
                        _ => false,
                    };
                    let all = (0..radix as u32).filter(nearer);
                    let best = all.min_by_key(|&port| load[switch * radix + port as usize]);
                    let best = best.unwrap_or(0);
                    load[switch * radix + best as usize] += 1;
                    best
                };
                ports[switch * nics + nic] = port as u8;
            }
        }
        Ok(Self { ports, nics })
    }
}

/// Routed by balanced minimal hops.
impl Family for Graph {
    fn candidates(&self, _: RingTie, switch: u32, to: Destination) -> Ports {
        Ports::one(self.ports[switch as usize * self.nics + to.nic as usize].into())
    }

    fn name(&self) -> String {
        "graph".to_owned()
    }

    /// A text per switch, `port:peer` for every port that is connected.
    fn parameters(&self, topology: &Topology) -> Value {
        let of_switch = |switch: u32| {
            let ports =
                (0..topology.radix()).filter_map(|port| match topology.peer(switch, port) {
                    Peer::None => None,
                    Peer::Nic(nic) => Some(format!("{port}:n{nic}")),
                    Peer::Switch { switch, port: far } => Some(format!("{port}:s{switch}.{far}")),
                });
            ports.collect::<Vec<_>>().join(" ")
        };
        let ports: Vec<String> = (0..topology.switches()).map(of_switch).collect();
        json!({ "kind": "graph", "ports": ports })
    }
}

/// Hops from every switch to `home`; `u32::MAX` where there is no route.
fn hops_to(topology: &Topology, home: u32, hops: &mut [u32]) {
    hops.fill(u32::MAX);
    hops[home as usize] = 0;
    let mut queue = VecDeque::from([home]);
    while let Some(switch) = queue.pop_front() {
        for port in 0..topology.radix() {
            if let Peer::Switch { switch: next, .. } = topology.peer(switch, port)
                && hops[next as usize] == u32::MAX
            {
                hops[next as usize] = hops[switch as usize] + 1;
                queue.push_back(next);
            }
        }
    }
}
