//! The next hops of a fabric, looked up or computed. Forwarding tables have them, or the topology
//! knows them ([`Topology::candidates`]).

use super::prefetch::prefetch;
use super::spec::{FabricSpec, RingTie};
use super::topology::Topology;

/// Largest next-hop table that is stored; beyond it hops are computed.
const MAX_TABLE: u64 = 1 << 26;

/// Next hops of all (switch, destination) pairs.
#[derive(Debug)]
pub(super) enum Router {
    /// First candidate, `[switch * nics + dst]`.
    Table { ports: Vec<u8>, nics: usize },
    Computed {
        topology: Box<Topology>,
        tie: RingTie,
    },
}

impl Router {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let (tie, nics) = (spec.routing.ring_tie, topology.nics() as usize);
        if let Some(tables) = &spec.routing.forwarding {
            // Switches have at most 120 ports, so a port fits into a byte.
            let ports = tables.ports.iter().flatten();
            let ports = ports.map(|&port| port as u8).collect();
            return Self::Table { ports, nics };
        }
        let pairs = u64::from(topology.switches()) * u64::from(topology.nics());
        if pairs > MAX_TABLE || topology.radix() > u32::from(u8::MAX) {
            return Self::Computed {
                topology: Box::new(topology.clone()),
                tie,
            };
        }
        let mut ports = Vec::with_capacity(pairs as usize);
        for switch in 0..topology.switches() {
            for dst in 0..topology.nics() {
                ports.push(first_port(topology, tie, switch, dst) as u8);
            }
        }
        Self::Table { ports, nics }
    }

    /// Prefetches what [`Router::first_port`] will look up.
    #[inline]
    pub(super) fn prefetch(&self, switch: u32, dst: u32) {
        if let Self::Table { ports, nics } = self {
            prefetch(ports, switch as usize * nics + dst as usize);
        }
    }

    /// First candidate, within the switch, of the next hop.
    #[inline]
    pub(super) fn first_port(&self, switch: u32, dst: u32) -> u32 {
        match self {
            Self::Table { ports, nics } => ports[switch as usize * nics + dst as usize].into(),
            Self::Computed { topology, tie } => first_port(topology, *tie, switch, dst),
        }
    }
}

/// The first candidate. Every topology has one, for it is connected.
fn first_port(topology: &Topology, tie: RingTie, switch: u32, dst: u32) -> u32 {
    let candidates = topology.candidates(tie, switch, dst);
    candidates.first().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::{Peer, Ports, Shape};

    /// Follows the next hops; returns the switches visited.
    fn walk(topology: &Topology, tie: RingTie, src: u32, dst: u32) -> usize {
        let (mut switch, _) = topology.attachment(src);
        for hops in 1..100 {
            let candidates = topology.candidates(tie, switch, dst);
            let mut peers = candidates.iter().map(|port| topology.peer(switch, port));
            match peers.next() {
                Some(Peer::Nic(nic)) => {
                    assert_eq!((nic, peers.next()), (dst, None));
                    return hops;
                }
                Some(Peer::Switch { switch: next, .. }) => {
                    for peer in peers {
                        assert!(matches!(peer, Peer::Switch { switch, .. } if switch == next));
                    }
                    switch = next;
                }
                _ => panic!("{candidates:?} of switch {switch} lead nowhere"),
            }
        }
        panic!("{src} does not reach {dst}");
    }

    #[test]
    fn every_pair_is_connected_by_a_shortest_path() {
        let torus = Topology::cube(&[4, 3, 2], true, 2, 3, None).unwrap();
        let mesh = Topology::cube(&[3, 4], false, 1, 1, None).unwrap();
        let tree = Topology::k_ary_n_tree(3, 3, None).unwrap();
        for topology in [&torus, &mesh, &tree] {
            for tie in [RingTie::Positive, RingTie::SourceParity] {
                for src in 0..topology.nics() {
                    for dst in 0..topology.nics() {
                        let visited = walk(topology, tie, src, dst);
                        let shortest = match topology.shape() {
                            Shape::Cube(c) => {
                                let (a, b) =
                                    (topology.attachment(src).0, topology.attachment(dst).0);
                                1 + (0..c.dimensions().len())
                                    .map(|d| {
                                        let (x, y) = (c.coordinate(a, d), c.coordinate(b, d));
                                        let straight = x.abs_diff(y);
                                        if c.wraps() {
                                            straight.min(c.dimensions()[d] - straight)
                                        } else {
                                            straight
                                        }
                                    })
                                    .sum::<u32>() as usize
                            }
                            _ => {
                                let common = (0..3)
                                    .find(|&l| src / 3u32.pow(l + 1) == dst / 3u32.pow(l + 1));
                                2 * common.unwrap() as usize + 1
                            }
                        };
                        assert_eq!(
                            visited,
                            shortest,
                            "{src} to {dst} in {:?}",
                            topology.shape()
                        );
                    }
                }
            }
        }
    }

    /// The fat tree of 1,944 hosts and 36-port switches: three levels, six links between
    /// a switch of the second and one of the third level.
    fn of_36_port_switches() -> Topology {
        Topology::xgft(&[18, 18, 6], &[1, 18, 3], &[1, 1, 6], None).unwrap()
    }

    #[test]
    fn an_xgft_is_connected_by_shortest_paths() {
        let tapered = Topology::xgft(&[3, 2, 4], &[1, 2, 1], &[1, 1, 3], Some(23)).unwrap();
        let Shape::Xgft(tree) = tapered.shape() else {
            panic!("no XGFT");
        };
        assert_eq!((tapered.switches(), tree.levels()), (18, 3));
        for src in 0..tapered.nics() {
            for dst in 0..tapered.nics() {
                let apart =
                    |level: usize| src / tree.hosts_below(level) != dst / tree.hosts_below(level);
                let up = (1..=3).find(|&level| !apart(level)).unwrap();
                let visited = walk(&tapered, RingTie::Positive, src, dst);
                assert_eq!(visited, 2 * up - 1, "{src} to {dst}");
            }
        }
    }

    #[test]
    fn d_mod_k_spreads_destinations_evenly_over_an_xgft() {
        let tree = of_36_port_switches();
        assert_eq!(
            (tree.nics(), tree.switches(), tree.radix()),
            (1944, 270, 36)
        );
        // Every switch uses every port; away from the hosts the same number of
        // destinations on each port up, and on each port down.
        for switch in 0..tree.switches() {
            let mut ports = vec![0; 36];
            for dst in 0..tree.nics() {
                ports[first_port(&tree, RingTie::Positive, switch, dst) as usize] += 1;
            }
            for side in [0..18, 18..36] {
                let mut counts = ports[side].to_vec();
                counts.dedup();
                assert_eq!(counts.len(), 1, "switch {switch}: {ports:?}");
            }
        }
        // All packets for a destination come down from one top switch by one link.
        for dst in [0, 17, 18, 700, 1943] {
            let mut ports = Vec::new();
            for src in (0..1944).filter(|src| src / 324 != dst / 324) {
                let (mut switch, _) = tree.attachment(src);
                let mut above = None;
                for _ in 0..4 {
                    let port = first_port(&tree, RingTie::Positive, switch, dst);
                    if switch >= 216 {
                        above = Some((switch, port));
                    }
                    let Peer::Switch { switch: next, .. } = tree.peer(switch, port) else {
                        panic!("{src} to {dst} ends at switch {switch}");
                    };
                    switch = next;
                }
                ports.push(above);
            }
            ports.dedup();
            assert_eq!(ports.len(), 1, "{dst}: {ports:?}");
        }
    }

    #[test]
    fn graphs_are_routed_by_minimal_hops_in_balance() {
        // A square with a double link on one side; two NICs at each corner.
        let nics: Vec<_> = (0..4).flat_map(|s| [(s, 0), (s, 1)]).collect();
        let links = [
            ((0, 2), (1, 2)),
            ((0, 3), (1, 3)),
            ((1, 4), (2, 2)),
            ((2, 3), (3, 2)),
            ((3, 3), (0, 4)),
        ];
        let square = Topology::graph(4, &nics, &links).unwrap();
        for src in 0..8u32 {
            for dst in 0..8u32 {
                let sides = (src / 2).abs_diff(dst / 2);
                let hops = sides.min(4 - sides) as usize;
                assert_eq!(walk(&square, RingTie::Positive, src, dst), hops + 1);
            }
        }
        let port = |dst| first_port(&square, RingTie::Positive, 0, dst);
        // To switch 1 by both links in turn; to switch 2 by those least used so far; to
        // switch 3 there is one way.
        assert_eq!((2..8).map(port).collect::<Vec<_>>(), [2, 3, 4, 2, 4, 4]);
        let own = square.candidates(RingTie::Positive, 0, 1);
        assert_eq!(own, Ports::one(1));
        for (nics, links, part) in [
            (vec![(0, 0), (0, 0)], vec![], "listed twice"),
            (vec![(0, 0), (2, 0)], vec![], "names switch 2"),
            (vec![(0, 0)], vec![((1, 1), (1, 2))], "to itself"),
            (vec![(0, 0)], vec![], "no route to NIC 0"),
            (vec![], vec![], "at least one switch"),
        ] {
            let error = Topology::graph(2, &nics, &links).unwrap_err();
            assert!(error.problem.contains(part), "{error}");
        }
        let huge = Topology::graph(1, &[(0, u32::MAX)], &[]);
        assert!(huge.is_err());
    }

    #[test]
    fn destro_sends_all_packets_for_one_destination_through_one_root() {
        let tree = Topology::k_ary_n_tree(4, 2, None).unwrap();
        for dst in 0..16 {
            let mut roots: Vec<_> = (0..4)
                .filter(|leaf| *leaf != dst / 4)
                .map(|leaf| first_port(&tree, RingTie::Positive, leaf, dst))
                .collect();
            roots.dedup();
            assert_eq!(roots, [4 + dst % 4]);
        }
    }
}
