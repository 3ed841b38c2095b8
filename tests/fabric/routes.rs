//! The routes that topologies have of their own.

use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::RingTie;
use flitwise::fabric::topology::{Link, Peer, Ports, Shape, Topology};

/// The first candidate.
fn first_port(topology: &Topology, tie: RingTie, switch: SwitchId, dst: NicId) -> PortId {
    topology.candidates(tie, switch, dst).first().unwrap()
}

fn port_of(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

/// A link between two ports, each as (switch, port).
fn link(a: (u32, u32), b: (u32, u32)) -> Link {
    [a, b].map(|(switch, port)| port_of(switch, port))
}

/// Follows the next hops; returns the switches visited.
fn walk(topology: &Topology, tie: RingTie, src: NicId, dst: NicId) -> usize {
    let mut switch = topology.attachment(src).switch;
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
            for src in topology.nic_ids() {
                for dst in topology.nic_ids() {
                    let visited = walk(topology, tie, src, dst);
                    let shortest = match topology.shape() {
                        Shape::Cube(c) => {
                            let [a, b] = [src, dst].map(|nic| topology.attachment(nic).switch);
                            1 + (0..c.lattice.dimensions.len())
                                .map(|d| {
                                    let (x, y) =
                                        (c.lattice.coordinate(a, d), c.lattice.coordinate(b, d));
                                    let straight = x.abs_diff(y);
                                    if c.wraps() {
                                        straight.min(c.lattice.dimensions[d] - straight)
                                    } else {
                                        straight
                                    }
                                })
                                .sum::<u32>() as usize
                        }
                        _ => {
                            let part = |nic: NicId, l: u32| nic.get() / 3u32.pow(l + 1);
                            let common = (0..3).find(|&l| part(src, l) == part(dst, l));
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
    for src in tapered.nic_ids() {
        for dst in tapered.nic_ids() {
            let part = |nic: NicId, level| nic.get() / tree.hosts_below(level);
            let up = (1..=3).find(|&level| part(src, level) == part(dst, level));
            let up = up.unwrap();
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
    for switch in tree.switch_ids() {
        let mut ports = vec![0; 36];
        for dst in tree.nic_ids() {
            ports[first_port(&tree, RingTie::Positive, switch, dst).index()] += 1;
        }
        for side in [0..18, 18..36] {
            let mut counts = ports[side].to_vec();
            counts.dedup();
            assert_eq!(counts.len(), 1, "switch {switch}: {ports:?}");
        }
    }
    // All packets for a destination come down from one top switch by one link.
    for dst in [0, 17, 18, 700, 1943].map(NicId::new) {
        let mut ports = Vec::new();
        let elsewhere = |src: &NicId| src.get() / 324 != dst.get() / 324;
        for src in NicId::all(1944).filter(elsewhere) {
            let mut switch = tree.attachment(src).switch;
            let mut above = None;
            for _ in 0..4 {
                let port = first_port(&tree, RingTie::Positive, switch, dst);
                if switch.get() >= 216 {
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
    let nics: Vec<_> = (0..4)
        .flat_map(|s| [port_of(s, 0), port_of(s, 1)])
        .collect();
    let links = [
        link((0, 2), (1, 2)),
        link((0, 3), (1, 3)),
        link((1, 4), (2, 2)),
        link((2, 3), (3, 2)),
        link((3, 3), (0, 4)),
    ];
    let square = Topology::graph(4, &nics, &links).unwrap();
    for src in NicId::all(8) {
        for dst in NicId::all(8) {
            let sides = (src.get() / 2).abs_diff(dst.get() / 2);
            let hops = sides.min(4 - sides) as usize;
            assert_eq!(walk(&square, RingTie::Positive, src, dst), hops + 1);
        }
    }
    let first = SwitchId::new(0);
    let port = |dst| first_port(&square, RingTie::Positive, first, NicId::new(dst)).get();
    // To switch 1 by both links in turn; to switch 2 by the links least used so far; to
    // switch 3 there is one route.
    assert_eq!((2..8).map(port).collect::<Vec<_>>(), [2, 3, 4, 2, 4, 4]);
    let own = square.candidates(RingTie::Positive, first, NicId::new(1));
    assert_eq!(own, Ports::one(PortId::new(1)));
    for (nics, links, part) in [
        (vec![port_of(0, 0), port_of(0, 0)], vec![], "listed twice"),
        (vec![port_of(0, 0), port_of(2, 0)], vec![], "names switch 2"),
        (vec![port_of(0, 0)], vec![link((1, 1), (1, 2))], "to itself"),
        (vec![port_of(0, 0)], vec![], "no route to NIC 0"),
        (vec![], vec![], "at least one switch"),
    ] {
        let error = Topology::graph(2, &nics, &links).unwrap_err();
        assert!(error.problem.contains(part), "{error}");
    }
    let huge = Topology::graph(1, &[port_of(0, u32::MAX)], &[]);
    assert!(huge.is_err());
}

#[test]
fn destro_sends_all_packets_for_one_destination_through_one_root() {
    let tree = Topology::k_ary_n_tree(4, 2, None).unwrap();
    for dst in NicId::all(16) {
        let mut roots: Vec<_> = SwitchId::all(4)
            .filter(|leaf| leaf.get() != dst.get() / 4)
            .map(|leaf| first_port(&tree, RingTie::Positive, leaf, dst))
            .collect();
        roots.dedup();
        assert_eq!(roots, [PortId::new(4 + dst.get() % 4)]);
    }
}
