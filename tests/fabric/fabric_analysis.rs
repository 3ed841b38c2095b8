//! What the analysis says of a fabric before anything runs on it: values worked out by hand,
//! all routes one by one, and the engine as judge of deadlocks.

use crate::analysis::{Cuts, overload};
use crate::common::ids::pair;
use crate::common::script::jam;
use crate::common::specs::{
    even_pool, hierarchical_of, jamming_ring, opa_gen1, sc2vl, service_level,
};
use flitwise::fabric::analysis::Routes;
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::channels::{Buffer, Channel, ChannelGraph, Credits, Towards};
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::path::{NoRoute, path};
use flitwise::fabric::analysis::routes::{RouteAnalysis, RoutingLoop};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::hierarchical::{
    AllocationRule, Allocator, CentralQueues, Scheduler, VirtualAllocation,
};
use flitwise::fabric::spec::{FabricSpec, RingTie};
use flitwise::fabric::topology::{Peer, Ports, Topology};

fn spec_of(topology: Topology) -> FabricSpec {
    opa_gen1(topology, Scheduler::RrVl)
}

fn torus(dimensions: &[u32], concentration: u32) -> FabricSpec {
    spec_of(Topology::cube(dimensions, true, concentration, 1, None).unwrap())
}

pub fn mesh(dimensions: &[u32]) -> FabricSpec {
    spec_of(Topology::cube(dimensions, false, 1, 1, None).unwrap())
}

fn tree(k: u32, n: u32) -> FabricSpec {
    spec_of(Topology::k_ary_n_tree(k, n, None).unwrap())
}

pub fn routes_of(spec: &FabricSpec) -> RouteAnalysis {
    RouteAnalysis::new(spec, spec).unwrap()
}

pub fn cycle_of(spec: &FabricSpec) -> Option<Vec<Channel>> {
    ChannelGraph::new(spec, &routes_of(spec)).unwrap().cycle()
}

/// Pairs over the link from `switch` by `port`.
fn pairs(spec: &FabricSpec, routes: &RouteAnalysis, switch: u32, port: u32) -> u64 {
    routes.link_pairs[(switch * spec.topology.radix() + port) as usize]
}

#[test]
fn a_ring_of_four() {
    // NIC on port 0, + on port 1, - on port 2. The route to the opposite is +.
    let mut spec = torus(&[4], 1);
    let routes = routes_of(&spec);
    assert_eq!(routes.pairs_by_hops, [0, 8, 4]);
    assert_eq!((routes.diameter(), routes.total_hops()), (2, 16));
    for switch in 0..4 {
        // +: the neighbour behind to here and to the next, here to the next.
        assert_eq!(pairs(&spec, &routes, switch, 1), 3);
        assert_eq!(pairs(&spec, &routes, switch, 2), 1);
    }
    assert_eq!(routes.uniform_bound(4), (1, 1));
    assert_eq!(Distances::new(&spec).unwrap().pairs_by_hops, [0, 8, 4]);
    let bisection = Bisection::new(&spec).unwrap();
    assert_eq!(
        (bisection.links, bisection.half, bisection.exact),
        (2, 2, true)
    );
    // Ties go + from even switches and - from odd ones.
    spec.routing.ring_tie = RingTie::SourceParity;
    let routes = routes_of(&spec);
    for switch in 0..4 {
        assert_eq!(pairs(&spec, &routes, switch, 1), 2);
        assert_eq!(pairs(&spec, &routes, switch, 2), 2);
    }
}

#[test]
fn a_2_ary_2_tree() {
    // Leaves 0 and 1, roots 2 and 3; ports 0, 1 down, 2, 3 up.
    let spec = tree(2, 2);
    let routes = routes_of(&spec);
    assert_eq!(routes.pairs_by_hops, [4, 0, 8]);
    for leaf in 0..2 {
        for port in 0..2 {
            // Two sources of a leaf to one of the other's NICs, up and down.
            assert_eq!(pairs(&spec, &routes, leaf, 2 + port), 2);
            assert_eq!(pairs(&spec, &routes, 2 + leaf, port), 2);
        }
    }
    assert_eq!(routes.uniform_bound(4), (1, 1));
    assert_eq!(Distances::new(&spec).unwrap().pairs_by_hops, [4, 0, 8]);
    let bisection = Bisection::new(&spec).unwrap();
    assert_eq!(
        (bisection.links, bisection.half, bisection.exact),
        (2, 2, true)
    );
    assert_eq!(cycle_of(&spec), None);
}

#[test]
fn a_torus_of_3x3() {
    let spec = torus(&[3, 3], 1);
    let routes = routes_of(&spec);
    assert_eq!(routes.pairs_by_hops, [0, 36, 36]);
    for switch in 0..9 {
        for port in 1..5 {
            // One neighbour of three in a dimension, whatever the other coordinate.
            assert_eq!(pairs(&spec, &routes, switch, port), 3);
        }
    }
    let bisection = Bisection::new(&spec).unwrap();
    assert!(!bisection.exact);
    assert_eq!(bisection.half, 4);
    assert!(bisection.links >= Cuts::least(&spec));
    assert_eq!(cycle_of(&spec), None);
}

/// The design notes of the fabric: on the 8x8x4 torus the two ways of breaking ties
/// cap the load near 0.80 and near 1.0.
#[test]
fn ties_decide_what_an_8x8x4_torus_carries() {
    let mut spec = torus(&[8, 8, 4], 1);
    // Of 8 destinations along a ring, 1 + 2 + 3 + 4 hops go +, so 32 * 10 pairs a link.
    assert_eq!(routes_of(&spec).uniform_bound(256), (255, 320));
    spec.routing.ring_tie = RingTie::SourceParity;
    assert_eq!(routes_of(&spec).uniform_bound(256), (255, 256));
}

#[test]
fn one_switch_has_neither_hops_nor_halves() {
    let spec = spec_of(Topology::single(5).unwrap());
    let routes = routes_of(&spec);
    assert_eq!(routes.pairs_by_hops, [20]);
    assert_eq!(routes.busiest_link(), None);
    assert_eq!(Bisection::new(&spec), None);
    let alone = spec_of(Topology::single(1).unwrap());
    assert_eq!(routes_of(&alone).pairs_by_hops, [0u64; 0]);
    assert_eq!(routes_of(&alone).uniform_bound(1), (1, 1));
}

#[test]
fn closed_forms_of_the_bisection_are_least_cuts() {
    let cube = |dimensions: &[u32], wrap, trunk| {
        spec_of(Topology::cube(dimensions, wrap, 1, trunk, None).unwrap())
    };
    for spec in [
        cube(&[6], true, 1),
        cube(&[4, 3], true, 1),
        cube(&[4, 4], true, 2),
        cube(&[2, 2, 3], false, 1),
        cube(&[4, 2], true, 1),
        cube(&[4, 4], false, 1),
        cube(&[2, 2, 2], true, 1),
        cube(&[3, 4], false, 3),
        tree(2, 2),
        tree(2, 3),
        tree(4, 2),
    ] {
        let bisection = Bisection::new(&spec).unwrap();
        let least = Cuts::least(&spec);
        if bisection.exact {
            assert_eq!(bisection.links, least, "{:?}", spec.topology.shape());
        } else {
            assert!(bisection.links >= least);
        }
        // The cuts that are tried find it on such small fabrics.
        let bound = Bisection::bound(&spec).unwrap();
        assert_eq!(bound.links, least, "{:?} {bound:?}", spec.topology.shape());
    }
}

#[test]
fn a_ring_without_datelines_has_the_cycle_that_one_expects() {
    let mut spec = torus(&[4], 1);
    spec.qos.vls = 1;
    spec.qos.sc2vl = sc2vl(&[0, 0]);
    spec.qos.service_levels = vec![service_level("one", [0, 1], 1024)];
    let queue = |buffer, switch, index| Channel {
        buffer,
        switch,
        index,
        credits: Credits::Queue {
            vl: 0,
            towards: None,
        },
    };
    // Ports 1 and 2 are on one MPort: no central buffer between them.
    let expected: Vec<Channel> = SwitchId::all(4)
        .flat_map(|s| [queue(Buffer::Input, s, 2), queue(Buffer::Output, s, 1)])
        .collect();
    assert_eq!(cycle_of(&spec), Some(expected.clone()));
    // One SC for both classes is the same.
    spec.qos.service_levels[0].scs.pop();
    assert_eq!(cycle_of(&spec), Some(expected));
    spec.qos.service_levels[0].scs.push(1);
    spec.qos.sc2vl = sc2vl(&[0, 1]);
    spec.qos.vls = 2;
    let buffers = &mut hierarchical_of(&mut spec).buffers;
    for pool in [
        &mut buffers.input,
        &mut buffers.output,
        &mut buffers.central,
    ] {
        *pool = even_pool(2, 1024, 16, 768);
    }
    assert_eq!(cycle_of(&spec), None);
}

/// A 5x5 torus with three NICs per switch: +x is on the MPort of the NICs, the other
/// directions on the next, so that queues per VL couple directions.
fn coupled_torus(queues: CentralQueues) -> FabricSpec {
    let mut spec = torus(&[5, 5], 3);
    spec.qos.vls = 2;
    spec.qos.sc2vl = sc2vl(&[0, 1]);
    spec.qos.service_levels = vec![service_level("D", [0, 1], 128)];
    let buffers = &mut hierarchical_of(&mut spec).buffers;
    for pool in [
        &mut buffers.nic_queue,
        &mut buffers.nic_sink,
        &mut buffers.input,
        &mut buffers.output,
    ] {
        *pool = even_pool(2, 4, 2, 2);
    }
    buffers.central = even_pool(2, 20, 2, 2);
    buffers.central_queues = queues;
    spec
}

#[test]
fn central_queues_per_vl_are_flagged_and_do_deadlock() {
    let spec = coupled_torus(CentralQueues::PerVl);
    let cycle = cycle_of(&spec).unwrap();
    assert!(
        cycle.iter().any(|c| c.buffer == Buffer::Central
            && matches!(
                c.credits,
                Credits::Queue {
                    towards: Some(Towards::All),
                    ..
                }
            )),
        "{cycle:?}"
    );
    assert!(matches!(overload(&spec, 60), RunEnd::Deadlock(_)));
    let spec = coupled_torus(CentralQueues::PerNeighbour);
    assert_eq!(cycle_of(&spec), None);
    assert_eq!(overload(&spec, 60), RunEnd::Drained);
}

#[test]
fn classes_of_two_service_levels_in_each_others_way_are_flagged() {
    let spec = jamming_ring();
    assert!(cycle_of(&spec).is_some());
    let end = Engine::new(&spec).unwrap().run(&mut jam());
    assert!(matches!(end, RunEnd::Deadlock(_)));
}

#[test]
fn all_presets_pass_on_all_topologies() {
    for topology in [
        "kind=\"single\", nics=48",
        "kind=\"torus\", dimensions=[4,4], concentration=8, trunk=10",
        "kind=\"torus\", dimensions=[8,8,4]",
        "kind=\"torus\", dimensions=[3,2,5], concentration=3, hosts=50",
        "kind=\"mesh\", dimensions=[5,4], concentration=3, trunk=2",
        "kind=\"k-ary-n-tree\", k=8, n=2",
        "kind=\"k-ary-n-tree\", k=3, n=4, hosts=70",
        "kind=\"dragonfly\", p=2, a=4, h=2",
    ] {
        for preset in ["opa-gen1", "opasim"] {
            for qos in ["single", "opa-5sl"] {
                for trunk in ["destination", "round-robin", "least-queued"] {
                    let mut sets = vec![
                        format!("fabric.topology={{{topology}}}"),
                        format!("fabric.preset={preset}"),
                        format!("fabric.trunk_selection={trunk}"),
                        format!("qos.preset={qos}"),
                    ];
                    if preset == "opasim" {
                        // Its buffers of 2 KiB take small packets only.
                        let small = "{name=\"a\",tc=0,scs=[0,1],mtu=\"128B\"}";
                        sets[3] = format!("qos.service_levels=[{small}]");
                    }
                    let spec = flitwise::config::load_fabric(None, &sets).unwrap().fabric;
                    assert_eq!(spec.validate(), Ok(()));
                    assert_eq!(cycle_of(&spec), None, "{sets:?}");
                    let routes = routes_of(&spec);
                    assert_eq!(routes.connected(), routes.pairs);
                    assert_eq!((routes.lost, routes.routing_loop), (vec![], None));
                }
            }
        }
    }
}

/// A queue that a buffer keeps picked undoes the VL classes of rings. A second iteration of a round
/// passes by it, and a tree needs no classes.
#[test]
fn rounds_of_one_iteration_couple_the_queues_of_a_buffer() {
    for (iterations, has_cycle) in [(1, true), (2, false)] {
        let mut ring = torus(&[4], 1);
        for spec in [&mut ring, &mut tree(4, 2)] {
            let switch = hierarchical_of(spec);
            let rule = AllocationRule::Rounds;
            switch.allocator = Allocator { rule, iterations };
            switch.virtual_allocation = VirtualAllocation::Blind;
            let is_ring = spec.topology.nics() == 4;
            assert_eq!(cycle_of(spec).is_some(), has_cycle && is_ring);
        }
    }
}

pub fn port_to(spec: &FabricSpec, from: SwitchId, to: SwitchId) -> Ports {
    let leads = |&port: &PortId| matches!(spec.topology.peer(from, port), Peer::Switch { switch, .. } if switch == to);
    let first = spec.topology.port_ids().find(leads);
    first.map_or(Ports::NONE, Ports::one)
}

/// Two switches that send packets for NIC 2 to each other.
struct Loop<'a>(&'a FabricSpec);

impl Routes for Loop<'_> {
    fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let [first, second] = [0, 1].map(SwitchId::new);
        match (switch.get(), dst.get()) {
            (0, 2) => port_to(self.0, first, second),
            (1, 2) => port_to(self.0, second, first),
            (2, 0) => Ports::NONE,
            (2, 1) => Ports::one(PortId::new(7)),
            _ => self.0.candidates(switch, dst),
        }
    }
}

#[test]
fn broken_routes_are_found() {
    let spec = mesh(&[3]);
    let routes = RouteAnalysis::new(&spec, &Loop(&spec)).unwrap();
    let expected = RoutingLoop {
        dst: NicId::new(2),
        switches: [0, 1].map(SwitchId::new).to_vec(),
    };
    assert_eq!(routes.routing_loop, Some(expected));
    let lost = [pair(2, 0), pair(2, 1), pair(0, 2), pair(1, 2)];
    assert_eq!(routes.lost, lost);
    assert_eq!((routes.pairs, routes.connected()), (6, 2));
    let route = |src, dst| path(&spec, &Loop(&spec), pair(src, dst), 0, 64);
    assert_eq!(route(0, 2), Err(NoRoute::RoutingLoop(SwitchId::new(0))));
    assert_eq!(route(2, 0), Err(NoRoute::NoNextHop(SwitchId::new(2))));
    assert_eq!(route(2, 1), Err(NoRoute::NoNextHop(SwitchId::new(2))));
    assert!(route(0, 1).is_ok());
}

#[test]
fn fabrics_that_are_too_large_are_refused() {
    let huge = torus(&[64, 64, 64], 1);
    let error = RouteAnalysis::new(&huge, &huge).unwrap_err();
    assert!(error.to_string().contains("at most 4294967296"), "{error}");
    assert!(Distances::new(&huge).is_err());
    // The closed form does not mind.
    assert_eq!(Bisection::new(&huge).unwrap().links, 8192);
}
