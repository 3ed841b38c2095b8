//! HyperX, slim fly, megafly, KNS and fat trees: sizes, degrees and distances in closed form, and freedom of
//! deadlock. How their switches are linked, the oracle's wiring tells (`wiring`), and random comparisons route them.

use crate::common::ids::pair;
use crate::common::infiniband::voq_fabric;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::ids::SwitchId;
use flitwise::fabric::topology::{Arrangement, FatTreeSize, KnsSize, MegaflySize, Topology};

/// The routes of `topology`, which reach everything and cannot deadlock.
fn routes(topology: Topology) -> RouteAnalysis {
    let mut spec = voq_fabric(topology);
    if spec.needs_classes() {
        // A VL for each class.
        spec.qos.service_levels.truncate(1);
        spec.qos.service_levels[0].scs = vec![0, 1];
    }
    spec.validate().unwrap();
    let routes = RouteAnalysis::new(&spec, &spec).unwrap();
    assert_eq!(routes.connected(), routes.pairs);
    assert_eq!(ChannelGraph::new(&spec, &routes).unwrap().cycle(), None);
    routes
}

/// Links of each switch to others, which are all of a number.
fn degree(topology: &Topology) -> u32 {
    let degree = |switch| topology.linked_switches(switch).count() as u32;
    let mut degrees = topology.switch_ids().map(degree);
    let first = degrees.next().unwrap();
    assert!(degrees.all(|degree| degree == first));
    first
}

#[test]
fn slim_flies_have_two_hops_and_the_published_degrees() {
    // Besta and Hoefler: degree (3q - d) / 2 for q = 4w + d.
    let published = [
        (3, 5),
        (4, 6),
        (5, 7),
        (7, 11),
        (8, 12),
        (9, 13),
        (11, 17),
        (13, 19),
    ];
    for (q, links) in published {
        let topology = Topology::slim_fly(q, Some(1), None).unwrap();
        assert_eq!(topology.switches(), 2 * q * q);
        assert_eq!(degree(&topology), links, "q = {q}");
        // Neighbours are one hop away, all others two.
        let switches = u64::from(2 * q * q);
        let near = switches * u64::from(links);
        let far = switches * (switches - 1) - near;
        assert_eq!(routes(topology).pairs_by_hops, [0, near, far], "q = {q}");
    }
    // The graph of Hoffman and Singleton: switches without a link have one common neighbour, so a link carries the
    // pairs of its ends, and the two-hop pairs that begin or end with it: 6 on either side.
    let topology = Topology::slim_fly(5, None, None).unwrap();
    assert_eq!(topology.nics(), 200);
    let most = routes(topology).link_pairs.into_iter().max();
    assert_eq!(most, Some(16 * (1 + 6 + 6)));
    for q in [0, 2, 6, 10, 50, 53] {
        assert!(Topology::slim_fly(q, None, None).is_err(), "q = {q}");
    }
}

#[test]
fn a_hyperx_takes_a_hop_for_each_coordinate() {
    let topology = Topology::hyperx(&[4, 3, 2], 2, 1, None).unwrap();
    let sizes = (topology.switches(), topology.nics(), degree(&topology));
    assert_eq!(sizes, (24, 48, 3 + 2 + 1));
    // Switches that differ in one, two and three coordinates; four pairs of NICs each.
    let [one, two, three] = [3 + 2 + 1, 3 * 2 + 3 + 2, 3 * 2].map(|others| 24 * others * 4);
    assert_eq!(routes(topology).pairs_by_hops, [48, one, two, three]);
}

#[test]
fn megaflies_go_up_over_and_down() {
    let arrangements = [
        Arrangement::PalmTree,
        Arrangement::Consecutive,
        Arrangement::Relative,
    ];
    for arrangement in arrangements {
        let (p, s, h, groups) = (2, 3, 2, None);
        let size = MegaflySize { p, s, h, groups };
        let topology = Topology::megafly(size, arrangement, None).unwrap();
        assert_eq!((topology.switches(), topology.nics()), (7 * 6, 7 * 6));
        // At one switch; in one group; elsewhere.
        let by_hops = [42, 0, 42 * 4, 42 * 36];
        assert_eq!(routes(topology).pairs_by_hops, by_hops);
    }
}

fn kns(k: u32, n: u32, s: u32, concentration: u32) -> Topology {
    let size = KnsSize {
        k,
        n,
        s,
        concentration,
    };
    Topology::kns(size, None).unwrap()
}

#[test]
fn kns_takes_two_links_for_each_coordinate() {
    let topology = kns(3, 2, 1, 2);
    assert_eq!((topology.switches(), topology.nics()), (9 + 2 * 3, 18));
    let by_hops = [18, 0, 9 * 4 * 4, 0, 9 * 4 * 4];
    assert_eq!(routes(topology).pairs_by_hops, by_hops);
}

/// On a line that is a tree of s stages with q ports down, (q − 1) q^(l−1) of the others are 2 l links away, and
/// the distances of the dimensions add up.
#[test]
fn lines_of_several_stages_are_trees() {
    for (q, n, s) in [
        (2u32, 1, 2),
        (2, 2, 2),
        (2, 3, 2),
        (3, 2, 2),
        (2, 2, 3),
        (4, 1, 2),
    ] {
        let k = q.pow(s);
        let topology = kns(k, n, s, 1);
        let (routers, on_line) = (k.pow(n), s * k / q);
        let lines = n * k.pow(n - 1);
        assert_eq!(topology.switches(), routers + lines * on_line);
        assert_eq!(topology.nics(), routers);
        // All ways to be 0, 1, … levels apart in each dimension.
        let one: Vec<u64> = (0..=s)
            .map(|level| match level {
                0 => 1,
                _ => u64::from((q - 1) * q.pow(level - 1)),
            })
            .collect();
        let mut levels = vec![1u64];
        for _ in 0..n {
            let mut sum = vec![0; levels.len() + s as usize];
            for (i, many) in levels.iter().enumerate() {
                for (j, more) in one.iter().enumerate() {
                    sum[i + j] += many * more;
                }
            }
            levels = sum;
        }
        let mut by_hops = vec![0; 2 * levels.len() - 1];
        for (level, many) in levels.iter().enumerate().skip(1) {
            by_hops[2 * level] = u64::from(routers) * many;
        }
        let routes = routes(topology);
        assert_eq!(
            routes.pairs_by_hops, by_hops,
            "{k}-ary {n}-direct {s}-indirect"
        );
        // A link between a router and its line carries what changes this coordinate: from each of the
        // k^d sources that agree above it, to k − 1 coordinates and all destinations beyond.
        let most = u64::from((k - 1) * k.pow(n - 1));
        assert_eq!(routes.link_pairs.iter().max(), Some(&most));
    }
}

/// DESTRO inside of a line: up by the digits of the destination's coordinate, down again the same way.
#[test]
fn lines_are_routed_by_the_coordinate_of_the_destination() {
    let spec = voq_fabric(kns(4, 2, 2, 1));
    // From (0, 0) to (3, 1). Routers 0 to 15; dimension 0: stage 0 from 16, 2 switches for each of 4 lines, stage 1 from 24.
    let route = path(&spec, &spec, pair(0, 7), 0, 64).unwrap();
    let hops: Vec<_> = (route.steps.iter())
        .map(|step| (step.switch.get(), step.port_out.get()))
        .collect();
    // To 3 = 11 in base 2: up by port 2 + 1, down by 1, then 1. Line 0 of dimension 0 is switches 16, 17 and
    // 24, 25; line 3 of dimension 1 (x = 3) is switches 32 + 6, 7. To 1 from 0 there stays below one switch.
    let expected = [(0, 1), (16, 3), (25, 1), (17, 1), (3, 2), (38, 1), (7, 0)];
    assert_eq!(hops, expected);
    let text = |switch| spec.topology.switch_text(SwitchId::new(switch));
    assert_eq!(text(3), "switch 3 (3,0)");
    assert_eq!(text(25), "switch 25 (dimension 0, line 0, level 1, 1)");
    assert_eq!(text(38), "switch 38 (dimension 1, line 3, level 0, 0)");
}

#[test]
fn stages_must_be_a_root_of_the_routers_on_a_line() {
    for (k, s) in [(4, 0), (6, 2), (8, 2), (2, 2), (7, u32::MAX)] {
        let size = KnsSize {
            k,
            n: 1,
            s,
            concentration: 1,
        };
        let error = Topology::kns(size, None).unwrap_err();
        assert_eq!(error.key, "fabric.topology.s", "{error}");
    }
}

#[test]
fn fat_trees_are_generalised_fat_trees() {
    let tree = |nodes, levels, radix, oversubscription| {
        let size = FatTreeSize {
            nodes,
            levels,
            radix,
            oversubscription,
        };
        Topology::fat_tree(size, None)
    };
    let whole = tree(None, 3, 8, 1).unwrap();
    assert_eq!((whole.nics(), whole.switches()), (128, 32 + 32 + 16));
    let xgft = |down: &[u32], up: &[u32], parallel: &[u32]| {
        Topology::xgft(down, up, parallel, None).unwrap()
    };
    assert_eq!(whole, xgft(&[4, 4, 8], &[1, 4, 4], &[1, 1, 1]));
    // Two NICs for each up-port.
    let tapered = tree(None, 2, 12, 2).unwrap();
    assert_eq!(tapered, xgft(&[8, 12], &[1, 4], &[1, 1]));
    for (sizes, said) in [
        ((Some(100), 3, 8, 1), "a multiple of 16"),
        ((None, 3, 9, 1), "must be even"),
        ((None, 0, 8, 1), "1 to 8 levels"),
        ((None, 2, 8, 2), "oversubscription"),
        ((None, 2, 8, 0), "at least 1"),
        ((None, 1, 8, 3), "no links up"),
    ] {
        let (nodes, levels, radix, over) = sizes;
        let error = tree(nodes, levels, radix, over).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
