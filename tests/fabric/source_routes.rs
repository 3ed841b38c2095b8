//! Routes of single pairs of NICs (`docs/model/fabric.md` §7): the engine against the oracles, and the analyses against a walk
//! of every pair, on random fabrics and routes; and what they are for.

use crate::analysis::{SlowGraph, all_pairs};
use crate::common::ids::{pair, port_of};
use crate::common::infiniband::voq_fabric;
use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband::{self, tree_fabric};
use crate::common::random_traffic;
use crate::common::script::{Cue, Script, accepted_load, jam, message};
use crate::common::specs::jamming_ring;
use crate::compare::compare_sampled;
use crate::engine_vs_oracle_ib::compare;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicPair, SwitchPort};
use flitwise::fabric::spec::{
    FabricSpec, Paths, SourceRoutes, TableChange, TrunkSelection, UpPorts,
};
use flitwise::fabric::stats::LinkEnd;
use flitwise::fabric::topology::{Peer, Topology};
use flitwise::oblivious::{Dependencies, HostId, Network, RoutingEngine};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};

/// A random path without a switch twice, by a search that tries the ports of each switch in random order.
fn random_route(
    spec: &FabricSpec,
    pair: NicPair,
    below: &mut impl FnMut(usize) -> usize,
) -> Option<Vec<SwitchPort>> {
    let topology = &spec.topology;
    let (failed, home) = (spec.routing.failed_ports(), topology.attachment(pair.dst));
    let mut route: Vec<SwitchPort> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut at = topology.attachment(pair.src).switch;
    loop {
        seen.insert(at);
        if at == home.switch {
            route.push(home);
            return Some(route);
        }
        let ports = topology.port_ids().map(|port| SwitchPort::new(at, port));
        let next = |from: SwitchPort| match topology.peer(from.switch, from.port) {
            Peer::Switch { switch, .. } => Some((from, switch)),
            Peer::Nic(_) | Peer::None => None,
        };
        let open = ports.filter(|port| !failed.contains(port)).filter_map(next);
        let open: Vec<_> = open.filter(|(_, to)| !seen.contains(to)).collect();
        at = if open.is_empty() {
            route.pop()?.switch
        } else {
            let (from, to) = open[below(open.len())];
            route.push(from);
            to
        };
    }
}

/// Gives about half the pairs of `spec` random routes. Where nothing else may decide, up*/down* leads the others.
fn with_routes(mut spec: FabricSpec, mut seed: u64) -> Option<FabricSpec> {
    let mut below = |n: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    spec.routing.trunk = TrunkSelection::Destination;
    spec.routing.up_ports = UpPorts::Destination;
    if spec.needs_classes() || spec.routing.paths != Paths::Minimal {
        spec.routing.paths = Paths::Minimal;
        let tables = RoutingEngine::UpDown.tables_of(&spec.topology, &[], 1);
        spec.routing.forwarding = Some(tables.ok()?.tables);
    }
    for pair in all_pairs(&spec).collect::<Vec<_>>() {
        if below(2) == 0 {
            let route = random_route(&spec, pair, &mut below);
            spec.routing.source_routes.0.insert(pair, route?);
        }
    }
    let some = !spec.routing.source_routes.is_empty();
    (some && spec.validate().is_ok()).then_some(spec)
}

fn has_cycle(spec: &FabricSpec) -> bool {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    let graph = ChannelGraph::new(spec, &routes).unwrap();
    graph.cycle().is_some()
}

fn hierarchical() -> impl Strategy<Value = FabricSpec> {
    prop_oneof![
        random::fabric(Kind::Any),
        random::fabric(Kind::Sound),
        random::controlled_fabric(Kind::Any),
        random::choosing_tree(Kind::Sound),
        random::table_fabric(Kind::Any),
    ]
}

fn infiniband() -> impl Strategy<Value = FabricSpec> {
    prop_oneof![3 => random_infiniband::fabric(), 1 => tree_fabric()]
}

/// Pairs by hops, and pairs over each directed link between switches.
type Loads = (BTreeMap<usize, u64>, BTreeMap<SwitchPort, u64>);

/// All pairs followed one by one.
fn walked(spec: &FabricSpec) -> Loads {
    let (mut by_hops, mut on_links) = Loads::default();
    for pair in all_pairs(spec) {
        let steps = path(spec, spec, pair, 0, 1).unwrap().steps;
        let given = spec.routing.source_routes.get(pair);
        let taken = || {
            steps
                .iter()
                .map(|step| SwitchPort::new(step.switch, step.port_out))
        };
        assert!(given.is_none_or(|route| taken().eq(route.iter().copied())));
        *by_hops.entry(steps.len() - 1).or_default() += 1;
        for at in taken().take(steps.len() - 1) {
            *on_links.entry(at).or_default() += 1;
        }
    }
    (by_hops, on_links)
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn random_routes_agree(
        drawn in infiniband(),
        seed in any::<u64>(),
        traffic in random_infiniband::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let Some(spec) = with_routes(drawn, seed) else { return Ok(()) };
        let script = random_infiniband::script(&spec, &traffic);
        let run = compare(&spec, &script, interval)?;
        let stalled = run.end == flitwise_oracles::voq::RunEnd::Stalled;
        prop_assert!(!stalled || has_cycle(&spec));
    }

    #[test]
    fn random_routes_of_hierarchical_switches_agree(
        drawn in hierarchical(),
        seed in any::<u64>(),
        traffic in random_traffic::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let Some(spec) = with_routes(drawn, seed) else { return Ok(()) };
        let script = random_traffic::script(&spec, &traffic);
        let end = compare_sampled(&spec, &script, interval)?;
        prop_assert!(!matches!(end, RunEnd::Deadlock(_)) || has_cycle(&spec));
    }

    #[test]
    fn analyses_follow_them(drawn in hierarchical(), seed in any::<u64>()) {
        let Some(spec) = with_routes(drawn, seed) else { return Ok(()) };
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        let (by_hops, on_links) = walked(&spec);
        let radix = spec.topology.radix();
        let found = (0..).zip(&routes.link_pairs).filter(|(_, pairs)| **pairs > 0);
        let found = found.map(|(at, &pairs)| (SwitchPort::of_index(at, radix), pairs / routes.share));
        prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), on_links);
        let found = (0..).zip(routes.pairs_by_hops.iter().copied()).filter(|(_, pairs)| *pairs > 0);
        prop_assert_eq!(found.collect::<BTreeMap<usize, u64>>(), by_hops);
        prop_assert_eq!(routes.connected(), routes.pairs);
        let (graph, slow) = (ChannelGraph::new(&spec, &routes).unwrap(), SlowGraph::new(&spec));
        prop_assert_eq!(graph.dependencies(), slow.edges.len() as u64);
        prop_assert_eq!(graph.queues, slow.queues.len() as u64);
        prop_assert_eq!(graph.cycle().is_some(), slow.cyclic());
    }

    #[test]
    fn static_congestion_follows_them(drawn in hierarchical(), seed in any::<u64>()) {
        let Some(spec) = with_routes(drawn, seed) else { return Ok(()) };
        let network = Network::of_fabric(&spec).unwrap();
        let mut on_edges = vec![0u64; network.graph.edges().len()];
        let mut by_edges = BTreeMap::<usize, u64>::new();
        let mut waits = BTreeSet::new();
        for pair in all_pairs(&spec) {
            let [src, dst] = [pair.src, pair.dst].map(|nic| HostId::new(nic.get()));
            let mut route = Vec::new();
            network.route(src, dst, 0, &mut route).unwrap();
            let steps = path(&spec, &spec, pair, 0, 1).unwrap().steps.len();
            prop_assert_eq!(route.len(), steps + 1);
            prop_assert_eq!(network.graph.edge(route[steps]).to, network.graph.node_of(dst));
            *by_edges.entry(route.len()).or_default() += 1;
            route.iter().for_each(|edge| on_edges[edge.index()] += 1);
            waits.extend(route.windows(2).map(|edges| [edges[0], edges[1]]));
        }
        let survey = network.survey();
        prop_assert_eq!(&survey.routes_on, &on_edges);
        let found = (0..).zip(survey.by_edges.iter().copied()).filter(|(_, pairs)| *pairs > 0);
        prop_assert_eq!(found.collect::<BTreeMap<usize, u64>>(), by_edges);
        prop_assert_eq!(Dependencies::of(&network).count(), waits.len());
    }
}

/// Most of the fabrics drawn above take the routes, and some of these can deadlock.
#[test]
fn random_routes_are_of_all_kinds() {
    let mut runner = TestRunner::deterministic();
    let (mut taken, mut cyclic, mut controlled) = (0, 0, 0);
    for seed in 0..30 {
        let drawn = [infiniband().boxed(), hierarchical().boxed()];
        for drawn in drawn {
            let drawn = drawn.new_tree(&mut runner).unwrap().current();
            let Some(spec) = with_routes(drawn, seed) else {
                continue;
            };
            taken += 1;
            cyclic += u32::from(has_cycle(&spec));
            controlled += u32::from(spec.congestion_control.is_some());
        }
    }
    println!("{taken} of 60, {cyclic} cyclic, {controlled} controlled");
    assert!(taken >= 30 && (3..taken - 3).contains(&cyclic) && controlled >= 3);
}

/// The route of a pair on a 4-ary 2-tree over spine `spine`: leaves are the switches 0 to 3.
fn over(spine: u32, src: u32, dst: u32) -> (NicPair, Vec<SwitchPort>) {
    let steps = [
        port_of(src / 4, 4 + spine),
        port_of(4 + spine, dst / 4),
        port_of(dst / 4, dst % 4),
    ];
    (pair(src, dst), steps.to_vec())
}

/// Two sources at one switch send to one destination over different spines; the third pair follows the tree.
#[test]
fn sources_of_a_switch_take_different_ways_to_a_destination() {
    let mut spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None).unwrap()).unwrap();
    spec.routing.source_routes.0 = [over(2, 0, 12), over(3, 1, 12)].into();
    let lines = (0..).zip([0, 1, 2]);
    let lines = lines.map(|(token, src)| (Cue::At(0), message(token, src, 12, 0, 800)));
    let mut engine = Engine::new(&spec).unwrap();
    assert_eq!(engine.run(&mut Script::new(lines)), RunEnd::Drained);
    let ups = [4, 5, 6, 7].map(|port| {
        let at = port_of(0, port);
        let from = LinkEnd::Port {
            switch: at.switch,
            port: at.port,
        };
        let links = engine.stats().links;
        links
            .iter()
            .filter(|link| link.from == from)
            .map(|link| link.flits)
            .sum::<u64>()
    });
    // 100 flits each; destination 12 is 0 mod 4.
    assert_eq!(ups, [100, 0, 100, 100]);
}

/// Flows that share up-links by their destinations take up-links of their own by source routes.
#[test]
fn routes_by_source_resolve_collisions_of_d_mod_k() {
    let pairs = (0..4).flat_map(|leaf| (0..3).map(move |nic| (leaf, nic)));
    let pairs = pairs.map(|(leaf, nic)| (4 * leaf + nic, 4 * ((leaf + nic + 1) % 4) + leaf));
    let lines = (0..).zip(pairs.clone());
    let lines = lines.map(|(token, (src, dst))| (Cue::At(0), message(token, src, dst, 0, 400_000)));
    let script = Script::new(lines);
    let topology = Topology::k_ary_n_tree(4, 2, None).unwrap();
    for mut spec in [
        FabricSpec::opa_gen1(topology.clone()).unwrap(),
        voq_fabric(topology),
    ] {
        let by_destination = accepted_load(&spec, script.clone());
        spec.routing.source_routes.0 = pairs.clone().map(|(s, d)| over(s % 4, s, d)).collect();
        let by_source = accepted_load(&spec, script.clone());
        assert!(by_destination < 0.34, "{by_destination}");
        assert!(by_source > 2.5 * by_destination, "{by_source}");
    }
}

/// Routes around a ring, two hops each, deadlock where up*/down* does not, and the check says so.
#[test]
fn routes_round_a_ring_deadlock() {
    let (mut ring, script) = (jamming_ring(), jam());
    // A VL for each service level.
    for level in &mut ring.qos.service_levels {
        level.scs.truncate(1);
    }
    let tables = RoutingEngine::UpDown.tables_of(&ring.topology, &[], 1);
    ring.routing.forwarding = Some(tables.unwrap().tables);
    assert!(!has_cycle(&ring));
    let up = |switch: u32| {
        let ports = ring
            .topology
            .port_ids()
            .map(|port| port_of(switch, port.get()));
        let mut ports = ports.filter(|at| {
            let peer = ring.topology.peer(at.switch, at.port);
            matches!(peer, Peer::Switch { switch: far, .. } if far.get() == (switch + 1) % 4)
        });
        ports.next().unwrap()
    };
    let routes = (0..4u32).map(|src| {
        let dst = (src + 2) % 4;
        let home = ring.topology.attachment(pair(src, dst).dst);
        (pair(src, dst), vec![up(src), up((src + 1) % 4), home])
    });
    let mut round = ring.clone();
    round.routing.source_routes.0 = routes.collect();
    assert!(has_cycle(&round));
    let end = Engine::new(&round).unwrap().run(&mut script.clone());
    assert!(matches!(end, RunEnd::Deadlock(_)), "{end:?}");
    let end = Engine::new(&ring).unwrap().run(&mut script.clone());
    assert_eq!(end, RunEnd::Drained);
}

#[test]
fn settings_that_go_with_no_routes_of_pairs_are_refused() {
    let tree = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None).unwrap()).unwrap();
    let refused = |change: &dyn Fn(&mut FabricSpec)| {
        let mut spec = tree.clone();
        spec.routing.source_routes.0 = [over(2, 0, 12)].into();
        assert_eq!(spec.validate(), Ok(()));
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    };
    let error = refused(&|spec| spec.routing.up_ports = UpPorts::LeastQueued);
    assert!(error.starts_with("fabric.up_ports"), "{error}");
    let up_down = RoutingEngine::UpDown
        .tables_of(&tree.topology, &[], 1)
        .unwrap();
    let error = refused(&|spec| {
        spec.routing.forwarding = Some(up_down.tables.clone());
        spec.routing.changes = vec![TableChange {
            from: 9,
            tables: up_down.tables.clone(),
            failed: Vec::new(),
        }];
    });
    assert!(error.contains("fabric.reroute_after"), "{error}");
    let error = refused(&|spec| {
        spec.routing.forwarding = Some(up_down.tables.clone());
        spec.routing.failed = vec![[port_of(0, 6), port_of(6, 0)]];
    });
    assert!(error.contains("has failed"), "{error}");
    let error = refused(&|spec| {
        let mut back = over(2, 0, 12).1;
        back[1] = port_of(6, 0);
        spec.routing.source_routes = SourceRoutes([(pair(0, 12), back)].into());
    });
    assert!(error.contains("comes back"), "{error}");
    let torus = Topology::cube(&[4], true, 1, 1, None).unwrap();
    let mut ring = FabricSpec::opa_gen1(torus).unwrap();
    let home = ring.topology.attachment(pair(0, 1).dst);
    let to_one = ring.topology.port_ids().map(|port| port_of(0, port.get()));
    let leads = |at: &SwitchPort| {
        let peer = ring.topology.peer(at.switch, at.port);
        matches!(peer, Peer::Switch { switch, .. } if switch == home.switch)
    };
    let to_one = to_one.into_iter().find(leads).unwrap();
    ring.routing.source_routes.0 = [(pair(0, 1), vec![to_one, home])].into();
    let error = ring.validate().unwrap_err().to_string();
    assert!(error.contains("VL classes"), "{error}");
}
