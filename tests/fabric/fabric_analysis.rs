//! What the analysis says of a fabric before anything runs on it: values worked out by hand,
//! all routes one by one, and the engine as judge of deadlocks.

use crate::analysis::{self, Cuts, SlowGraph, mixed_fabric, overload};
use crate::common::ids::pair;
use crate::common::lone_packet::lone_packet;
use crate::common::random::{Kind, config, fabric};
use crate::common::script::jam;
use crate::common::specs::{
    even_pool, hierarchical_of, jamming_ring, opa_gen1, sc2vl, service_level,
};
use flitwise::fabric::analysis::Routes;
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::channels::{Buffer, Channel, ChannelGraph, Credits, Towards};
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::path::{NoRoute, path, path_via};
use flitwise::fabric::analysis::routes::{RouteAnalysis, RoutingLoop};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::hierarchical::{CentralQueues, Scheduler};
use flitwise::fabric::spec::{FabricSpec, Paths, RingTie, TrunkSelection, UpPorts};
use flitwise::fabric::topology::{Peer, Ports, Shape, Topology};
use proptest::prelude::*;

fn spec_of(topology: Topology) -> FabricSpec {
    opa_gen1(topology, Scheduler::RrVl)
}

fn torus(dimensions: &[u32], concentration: u32) -> FabricSpec {
    spec_of(Topology::cube(dimensions, true, concentration, 1, None).unwrap())
}

fn mesh(dimensions: &[u32]) -> FabricSpec {
    spec_of(Topology::cube(dimensions, false, 1, 1, None).unwrap())
}

fn tree(k: u32, n: u32) -> FabricSpec {
    spec_of(Topology::k_ary_n_tree(k, n, None).unwrap())
}

fn routes_of(spec: &FabricSpec) -> RouteAnalysis {
    RouteAnalysis::new(spec, spec).unwrap()
}

fn cycle_of(spec: &FabricSpec) -> Option<Vec<Channel>> {
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

/// Dimension order, but for packets between opposite corners of one square of a
/// mesh, which all go round it clockwise.
struct Planted<'a> {
    spec: &'a FabricSpec,
    /// Switches of the square, clockwise.
    square: [SwitchId; 4],
}

impl Routes for Planted<'_> {
    fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let home = self.spec.topology.attachment(dst).switch;
        let at = |s: SwitchId| self.square.iter().position(|&c| c == s);
        match (at(switch), at(home)) {
            (Some(from), Some(to)) if (from + 2) % 4 == to => {
                port_to(self.spec, switch, self.square[(from + 1) % 4])
            }
            _ => self.spec.candidates(switch, dst),
        }
    }
}

fn port_to(spec: &FabricSpec, from: SwitchId, to: SwitchId) -> Ports {
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

proptest! {
    #![proptest_config(config(150))]

    /// What `check` passes never deadlocks.
    #[test]
    fn a_fabric_without_a_cycle_never_deadlocks(spec in mixed_fabric()) {
        if cycle_of(&spec).is_none() {
            prop_assert_eq!(overload(&spec, 24), RunEnd::Drained);
        }
    }

    /// Fabrics built to be sound have no cycle.
    #[test]
    fn sound_fabrics_pass(spec in fabric(Kind::Sound)) {
        prop_assert_eq!(cycle_of(&spec), None);
    }

    /// All routes at once are the sum of the routes one by one.
    #[test]
    fn the_walk_agrees_with_single_routes(mut spec in fabric(Kind::Any)) {
        // Packets that choose have more than a single route: see `tests/fabric/up_ports.rs`.
        spec.routing.up_ports = UpPorts::Destination;
        let routes = routes_of(&spec);
        let topology = &spec.topology;
        let mut by_hops = vec![0; routes.pairs_by_hops.len()];
        let mut links = vec![0; routes.link_pairs.len()];
        // Of paths with two legs the hops of one leg count, and the links of both.
        let mut one_leg = spec.clone();
        one_leg.routing.paths = Paths::Minimal;
        let vias: Vec<NicId> = match spec.routing.paths {
            Paths::Minimal => vec![NicId::new(0)],
            Paths::Valiant { .. } => topology.nic_ids().collect(),
        };
        for pair in analysis::all_pairs(&spec) {
            let route = path(&one_leg, &one_leg, pair, 0, 1).unwrap();
            by_hops[route.steps.len() - 1] += 1;
            for &via in &vias {
                let route = path_via(&spec, &spec, pair, via, 0, 1).unwrap();
                for step in &route.steps[..route.steps.len() - 1] {
                    let candidates = match spec.routing.trunk {
                        TrunkSelection::Destination => Ports::one(step.port_out),
                        _ => step.candidates,
                    };
                    let share = routes.share / vias.len() as u64 / u64::from(candidates.count());
                    for port in candidates.iter() {
                        links[topology.port_index(step.switch, port)] += share;
                    }
                }
            }
        }
        prop_assert_eq!(&routes.pairs_by_hops, &by_hops);
        prop_assert_eq!(&routes.link_pairs, &links);
        prop_assert_eq!(routes.connected(), routes.pairs);
        let distances = Distances::new(&spec).unwrap();
        if let Shape::Dragonfly(_) = topology.shape() {
            // Two global links may be a short cut, which minimal routing does not take.
            prop_assert!(routes.diameter() <= 3);
            prop_assert!(routes.total_hops() >= distances.total_hops());
        } else {
            // These routings take shortest paths.
            prop_assert_eq!(&routes.pairs_by_hops, &distances.pairs_by_hops);
        }
    }

    /// The latency of a route is what the engine measures.
    #[test]
    fn a_lone_packet_takes_as_long_as_its_route_says(
        spec in fabric(Kind::Any), pick in any::<[u32; 4]>(),
    ) {
        let found = lone_packet(&spec, pick);
        prop_assume!(found.is_some());
        let (route, end, packet) = found.unwrap();
        prop_assert_eq!(end, RunEnd::Drained);
        prop_assert_eq!(packet.flits, route.flits);
        prop_assert_eq!(packet.delivered - packet.injected, route.tail);
    }

    /// The dependency graph is the one that following every packet gives.
    #[test]
    fn the_graph_agrees_with_single_packets(mut spec in mixed_fabric()) {
        spec.routing.trunk = TrunkSelection::Destination;
        spec.routing.up_ports = UpPorts::Destination;
        let routes = routes_of(&spec);
        let graph = ChannelGraph::new(&spec, &routes).unwrap();
        let slow = SlowGraph::new(&spec);
        let cycle = graph.cycle();
        if spec.routing.paths != Paths::Minimal {
            // Where the only source behind a port is the only destination before another, the graph
            // has a turn from one to the other that no packet takes.
            prop_assert!(graph.dependencies() >= slow.edges.len() as u64);
            prop_assert!(graph.queues >= slow.queues.len() as u64);
            prop_assert!(cycle.is_some() || !slow.cyclic());
            return Ok(());
        }
        prop_assert_eq!(graph.dependencies(), slow.edges.len() as u64);
        prop_assert_eq!(graph.queues, slow.queues.len() as u64);
        prop_assert_eq!(cycle.is_some(), slow.cyclic());
        for (i, channel) in cycle.iter().flatten().enumerate() {
            let cycle = cycle.as_ref().unwrap();
            let next = &cycle[(i + 1) % cycle.len()];
            let edge = (analysis::key(channel), analysis::key(next));
            prop_assert!(slow.edges.contains(&edge), "{:?}", edge);
        }
    }

    /// Wherever four packets chase each other, the cycle is found.
    #[test]
    fn a_planted_cycle_is_found(
        (width, height) in (2u32..=6, 2u32..=6), (x, y) in (any::<u32>(), any::<u32>()),
    ) {
        let mut spec = mesh(&[width, height]);
        // One VL, which all destinations share.
        spec.qos.service_levels.truncate(1);
        spec.qos.service_levels[0].scs.truncate(1);
        prop_assert_eq!(cycle_of(&spec), None);
        let corner = x % (width - 1) + y % (height - 1) * width;
        let square = [corner, corner + 1, corner + 1 + width, corner + width].map(SwitchId::new);
        let routes = RouteAnalysis::new(&spec, &Planted { spec: &spec, square }).unwrap();
        prop_assert_eq!(routes.connected(), routes.pairs);
        let cycle = ChannelGraph::new(&spec, &routes).unwrap().cycle().unwrap();
        prop_assert!(cycle.iter().all(|channel| square.contains(&channel.switch)), "{:?}", cycle);
    }

    /// A bound on the bisection is never below the least cut.
    #[test]
    fn bounds_of_the_bisection_are_bounds(spec in fabric(Kind::Any)) {
        prop_assume!(spec.topology.switches() <= 12);
        let Some(bound) = Bisection::bound(&spec) else {
            let switch_of = |nic| spec.topology.attachment(nic).switch;
            let first = switch_of(NicId::new(0));
            let mut nics = spec.topology.nic_ids();
            prop_assert!(nics.all(|nic| switch_of(nic) == first));
            return Ok(());
        };
        prop_assert!(bound.links >= Cuts::least_with(&spec, bound.half));
    }
}
