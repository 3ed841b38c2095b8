//! Our routings on random topologies with random failed links: every pair has a route, over what is left, as short as the
//! routing promises, and what must not deadlock has no cycle.

use crate::common::random_topology;
use flitwise::fabric::ids::{NicId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{FabricSpec, Routing};
use flitwise::fabric::topology::{Peer, Topology};
use flitwise::oblivious::{
    Dependencies, EdgeId, Failure, Graph, HostId, Layers, Network, RoutingEngine,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Hops from every switch to `home` over links that work; `None` where there is no way.
fn hops(links: &[Vec<SwitchId>], home: SwitchId) -> Vec<Option<usize>> {
    let mut hops = vec![None; links.len()];
    hops[home.index()] = Some(0);
    let mut level = vec![home];
    for next in 1.. {
        level = (level.iter().flat_map(|s| &links[s.index()]))
            .copied()
            .filter(|s| hops[s.index()].is_none())
            .collect();
        level.sort_unstable();
        level.dedup();
        if level.is_empty() {
            break;
        }
        level.iter().for_each(|s| hops[s.index()] = Some(next));
    }
    hops
}

/// The switches that a packet visits, by the tables in `routing`, over links that work.
fn route(topology: &Topology, routing: &Routing, src: NicId, dst: NicId) -> Vec<SwitchId> {
    let tables = routing.forwarding.as_ref().unwrap();
    let mut visited = vec![topology.attachment(src).switch];
    loop {
        let at = *visited.last().unwrap();
        let port = tables.ports[at.index()][dst.index()];
        for end in routing.failed.iter().flatten() {
            assert_ne!((end.switch, end.port), (at, port));
        }
        match topology.peer(at, port) {
            Peer::Nic(nic) => {
                assert_eq!(nic, dst);
                return visited;
            }
            Peer::Switch { switch, .. } => visited.push(switch),
            Peer::None => panic!("switch {at} port {port} leads nowhere"),
        }
        assert!(visited.len() <= topology.switches() as usize, "a loop");
    }
}

/// Whether edges that wait for each other form a cycle, by taking away those that wait for nothing.
fn is_cyclic(routes: &[Vec<EdgeId>]) -> bool {
    let mut waits: BTreeMap<EdgeId, BTreeSet<EdgeId>> = BTreeMap::new();
    for route in routes {
        for two in route.windows(2) {
            waits.entry(two[0]).or_default().insert(two[1]);
        }
    }
    loop {
        let before = waits.len();
        let left: BTreeSet<EdgeId> = waits.keys().copied().collect();
        waits.retain(|_, to| to.iter().any(|edge| left.contains(edge)));
        if waits.len() == before {
            return before > 0;
        }
    }
}

proptest! {
    #[test]
    fn every_pair_has_a_route_around_failures(
        topology in random_topology::topology(),
        links in 0u32..4,
        seed in any::<u64>(),
        engine in prop::sample::select(RoutingEngine::ALL.to_vec()),
    ) {
        let failures: Vec<Failure> = (links > 0).then_some(Failure::RandomLinks(links)).into_iter().collect();
        let Ok(routed) = engine.tables_of(&topology, &failures, seed) else {
            // A fat tree has to be one; and a pair may have lost every way, or there are fewer links.
            let any = RoutingEngine::MinHop.tables_of(&topology, &failures, seed);
            prop_assert!(engine == RoutingEngine::FatTree || links > 0 && any.is_err());
            return Ok(());
        };
        prop_assert_eq!(routed.failed.len(), links as usize);
        let again = engine.tables_of(&topology, &failures, seed);
        prop_assert_eq!(Ok(&routed), again.as_ref());
        let routing = Routing { forwarding: Some(routed.tables), failed: routed.failed, ..Routing::default() };
        let failed: BTreeSet<_> = routing.failed.iter().flatten().copied().collect();
        let far = |switch: SwitchId| -> Vec<SwitchId> {
            let ports = topology.port_ids().filter(|&port| !failed.contains(&SwitchPort::new(switch, port)));
            let far = ports.filter_map(|port| match topology.peer(switch, port) {
                Peer::Switch { switch, .. } => Some(switch),
                Peer::Nic(_) | Peer::None => None,
            });
            far.collect()
        };
        let working: Vec<Vec<SwitchId>> = topology.switch_ids().map(far).collect();
        for dst in topology.nic_ids() {
            let shortest = hops(&working, topology.attachment(dst).switch);
            for src in topology.nic_ids() {
                let visited = route(&topology, &routing, src, dst);
                let least = shortest[visited[0].index()].unwrap();
                let length = visited.len() - 1;
                match engine {
                    RoutingEngine::MinHop | RoutingEngine::Dfsssp => prop_assert_eq!(length, least),
                    _ => prop_assert!(length >= least),
                }
            }
        }
        let connected = |switch| {
            topology.port_ids().filter(|&port| topology.peer(switch, port) != Peer::None).count()
        };
        let connected: usize = topology.switch_ids().map(connected).sum();
        // The network of the fabric has only what works: the routing finds the same routes in it.
        let any = FabricSpec::opa_gen1(Topology::single(2).unwrap()).unwrap();
        let spec = FabricSpec { topology: topology.clone(), routing, ..any };
        let ports: usize = spec.working_ports().iter().map(Vec::len).sum();
        prop_assert_eq!(ports + failed.len(), connected);
        let network = Network::of_fabric(&spec).unwrap();
        let anew = Network { tables: engine.route(&network.graph).unwrap(), ..network.clone() };
        for src in network.graph.host_ids() {
            for dst in network.graph.host_ids() {
                let [mut found, mut expected] = [Vec::new(), Vec::new()];
                prop_assert_eq!(network.route(src, dst, 0, &mut expected), Ok(()));
                prop_assert_eq!(anew.route(src, dst, 0, &mut found), Ok(()));
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn what_must_not_deadlock_has_no_cycle(
        topology in random_topology::topology(),
        engine in prop::sample::select(RoutingEngine::ALL.to_vec()),
    ) {
        let graph = Graph::of_topology(&topology, |_, _| 1.0).unwrap();
        let Ok(tables) = engine.route(&graph) else { return Ok(()) };
        let network = Network { graph, tables };
        let hosts = || HostId::all(network.graph.host_count());
        let routes: Vec<(HostId, HostId, Vec<EdgeId>)> = hosts()
            .flat_map(|src| hosts().map(move |dst| (src, dst)))
            .map(|(src, dst)| {
                let mut route = Vec::new();
                network.route(src, dst, 0, &mut route).unwrap();
                (src, dst, route)
            })
            .collect();
        let all: Vec<Vec<EdgeId>> = routes.iter().map(|(_, _, route)| route.clone()).collect();
        let cyclic = is_cyclic(&all);
        prop_assert!(!cyclic || !matches!(engine, RoutingEngine::UpDown | RoutingEngine::FatTree));
        let cycle = Dependencies::of(&network).cycle();
        prop_assert_eq!(cycle.is_some(), cyclic);
        if let Some(cycle) = cycle {
            for (at, &edge) in cycle.iter().enumerate() {
                let next = cycle[(at + 1) % cycle.len()];
                prop_assert!(all.iter().any(|route| route.windows(2).any(|two| two == [edge, next])));
            }
        }
        // Each layer by itself has none.
        let layers = Layers::of(&network).unwrap();
        prop_assert_eq!(layers.count() > 1, cyclic);
        for layer in 0..layers.count() {
            let of_layer = |(src, dst, _): &&(HostId, HostId, Vec<EdgeId>)| {
                let key = (network.graph.switch_of(*src), *dst);
                usize::from(layers.moved.get(&key).copied().unwrap_or(0)) == layer
            };
            let routes: Vec<Vec<EdgeId>> =
                routes.iter().filter(of_layer).map(|(_, _, route)| route.clone()).collect();
            prop_assert!(!is_cyclic(&routes));
        }
    }
}
