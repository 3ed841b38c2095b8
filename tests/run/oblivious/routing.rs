//! The engines that compute forwarding tables.

use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::topology::Topology;
use flitwise::oblivious::{Dependencies, HostId, Network, NodeId, RoutingEngine};
use std::collections::{BTreeMap, BTreeSet};

fn routed(topology: Topology, engine: RoutingEngine) -> Network {
    let spec = FabricSpec::opa_gen1(Topology::single(2).unwrap()).unwrap();
    let graph = Network::of_fabric(&FabricSpec { topology, ..spec })
        .unwrap()
        .graph;
    let tables = engine.route(&graph).unwrap();
    Network { graph, tables }
}

/// Every level of a full tree carries the same on all its links.
#[test]
fn fat_trees_are_balanced() {
    for topology in [
        Topology::k_ary_n_tree(4, 3, None).unwrap(),
        Topology::xgft(&[4, 4, 8], &[1, 4, 4], &[1, 1, 1], None).unwrap(),
        Topology::xgft(&[18, 18], &[1, 9], &[1, 2], None).unwrap(),
    ] {
        let network = routed(topology, RoutingEngine::FatTree);
        let survey = network.survey();
        assert_eq!(survey.connected(), survey.pairs);
        let mut by_ends = BTreeMap::new();
        let hosts = HostId::all(network.graph.host_count());
        let leaves: BTreeSet<NodeId> = hosts.map(|host| network.graph.switch_of(host)).collect();
        for (edge, &routes) in network.graph.edges().iter().zip(&survey.routes_on) {
            let hosts = [edge.from, edge.to].map(|node| network.graph.host_at(node).is_some());
            if hosts == [false, false] {
                // A leaf at the lower end or not, and the direction.
                let ends = [edge.from, edge.to].map(|node| leaves.contains(&node));
                by_ends
                    .entry((ends, edge.from < edge.to))
                    .or_insert_with(Vec::new)
                    .push(routes);
            }
        }
        for (ends, routes) in by_ends {
            let (least, most) = (routes.iter().min(), routes.iter().max());
            assert_eq!(least, most, "{ends:?}");
        }
    }
}

/// Switches 5, 6 and 7 of the mesh have no hosts and are the roots. From 6 there is no way down to switch 1.
#[test]
fn roots_that_do_not_reach_all_hosts_are_none() {
    let mesh = Topology::cube(&[2, 2, 2], false, 2, 1, Some(10)).unwrap();
    let network = routed(mesh, RoutingEngine::UpDown);
    assert_eq!(network.survey().connected(), 10 * 9);
    assert_eq!(Dependencies::of(&network).cycle(), None);
}

/// Three leaves in a row, with a switch above every two neighbours: from the first to the last one has to go up twice.
#[test]
fn a_row_of_trees_is_no_fat_tree() {
    let end = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
    let nics = [end(0, 0), end(1, 0), end(2, 0)];
    let links = [(0, 1, 3, 0), (3, 1, 1, 1), (1, 2, 4, 0), (4, 1, 2, 1)];
    let links = links.map(|(a, p, b, q)| [end(a, p), end(b, q)]);
    let row = Topology::graph(5, &nics, &links).unwrap();
    let graph = routed(row, RoutingEngine::MinHop).graph;
    let error = RoutingEngine::FatTree.route(&graph).unwrap_err();
    assert!(
        error
            .problem
            .contains("no path from s2 leads up and then down to s0"),
        "{error}"
    );
}

#[test]
fn engines_are_as_short_as_they_say_and_trees_are_told_apart() {
    let torus = || Topology::cube(&[4, 4], true, 1, 1, None).unwrap();
    let min_hop = routed(torus(), RoutingEngine::MinHop).survey();
    let dfsssp = routed(torus(), RoutingEngine::Dfsssp);
    assert_eq!(min_hop.by_edges, dfsssp.survey().by_edges);
    assert!(Dependencies::of(&dfsssp).cycle().is_some());
    let updn = routed(torus(), RoutingEngine::UpDown);
    assert_eq!(updn.survey().connected(), 240);
    assert_eq!(Dependencies::of(&updn).cycle(), None);
    let error = RoutingEngine::FatTree.route(&updn.graph).unwrap_err();
    assert!(error.problem.contains("no fat tree"), "{error}");
    assert!(
        "lash"
            .parse::<RoutingEngine>()
            .unwrap_err()
            .contains("updn")
    );
}

/// Three levels: where destinations reach few switches of the second level, its up-ports carry the same nonetheless.
#[test]
fn trees_of_three_levels_are_balanced_by_all() {
    for engine in RoutingEngine::ALL {
        let tree = Topology::xgft(&[6, 6, 12], &[1, 6, 6], &[1, 1, 1], None).unwrap();
        let network = routed(tree, engine);
        let (least, most, _) = network.survey().between_switches(&network).unwrap();
        assert!(most <= 2 * least, "{engine}: {least} to {most}");
    }
}
