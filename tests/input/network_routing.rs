//! Routings of ours and VLs on real subnets, against what opensm made of them (`CHECK.tsv`).

use crate::common::data::data;
use flitwise::config::load_network;
use flitwise::oblivious::{Dependencies, Layers, Network, RoutingEngine};
use std::path::PathBuf;

fn set(name: &str) -> Option<Network> {
    let dir: PathBuf = data("ib")?.join(name);
    let tables = dir.join("opensm-lfts.dump.gz");
    let loaded = load_network(Some(&dir.join("ibnetdiscover.txt.gz")), Some(&tables), &[]);
    Some(loaded.unwrap().network)
}

#[test]
fn our_fat_trees_are_as_balanced_as_those_of_opensm() {
    for (name, routes) in [("ft2-324h-ftree", 306), ("ft2-648h-ftree", 630)] {
        let Some(given) = set(name) else { return };
        let tables = RoutingEngine::FatTree.route(&given.graph).unwrap();
        let ours = Network {
            graph: given.graph.clone(),
            tables,
        };
        for network in [&given, &ours] {
            let survey = network.survey();
            assert_eq!(survey.connected(), survey.pairs);
            let (least, most, _) = survey.between_switches(network).unwrap();
            assert_eq!([least, most], [routes, routes], "{name}");
            assert_eq!(Dependencies::of(network).cycle(), None);
        }
    }
}

/// The numbers of docs/log/congestion-check.md, "Routing engines": routes on a cable between switches, and VLs.
#[test]
fn a_torus_is_routed_as_the_pages_say() {
    let Some(given) = set("torus-4x4x4-dor") else {
        return;
    };
    let by = |engine: RoutingEngine| Network {
        graph: given.graph.clone(),
        tables: engine.route(&given.graph).unwrap(),
    };
    for (network, routes, vls) in [
        (by(RoutingEngine::MinHop), [11, 65], 6),
        (by(RoutingEngine::Dfsssp), [15, 62], 6),
        (by(RoutingEngine::UpDown), [1, 180], 1),
        (given.clone(), [16, 48], 4),
    ] {
        let survey = network.survey();
        assert_eq!(survey.connected(), survey.pairs);
        let (least, most, _) = survey.between_switches(&network).unwrap();
        assert_eq!([least, most], routes);
        assert_eq!(Layers::of(&network).unwrap().count(), vls);
    }
}

/// `cdg_cycle_if_one_vl`. Layers have no cycle where one VL has.
#[test]
fn cycles_on_one_vl_are_those_of_the_independent_walk() {
    let Some(dir) = data("ib") else { return };
    let check = std::fs::read_to_string(dir.join("CHECK.tsv")).unwrap();
    let mut rows = check
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = header
        .iter()
        .position(|name| *name == "cdg_cycle_if_one_vl")
        .unwrap();
    let mut sets = 0;
    for row in rows {
        let network = set(row[0]).unwrap();
        let cycle = Dependencies::of(&network).cycle();
        assert_eq!(cycle.is_some(), row[column] == "True", "{}", row[0]);
        let layers = Layers::of(&network).unwrap();
        assert_eq!(layers.count() > 1, cycle.is_some(), "{}", row[0]);
        for edges in cycle.iter() {
            let next = edges.iter().cycle().skip(1);
            for (edge, next) in edges.iter().zip(next) {
                assert_eq!(network.graph.edge(*edge).to, network.graph.edge(*next).from);
            }
        }
        sets += 1;
    }
    assert!(sets >= 10);
}
