//! Networks written for other programs, and read again.

use super::network_files::{LISTING_1, written};
use flitwise::config::load_network;
use flitwise::oblivious::{EdgeId, Graph, HostId, Network};
use std::path::Path;

/// The network as ORCS reads it, read again.
fn through_orcs(network: &Network) -> Network {
    let mut text = Vec::new();
    network.write_orcs(&mut text, true).unwrap();
    let read = Network::from_dot(std::str::from_utf8(&text).unwrap()).unwrap();
    assert!(read.routed && read.notes.is_empty());
    read.network
}

/// The edges of all routes, along the first path of each host.
fn routes(network: &Network) -> Vec<Option<Vec<EdgeId>>> {
    let hosts = || HostId::all(network.graph.host_count());
    let pairs = hosts().flat_map(|src| hosts().map(move |dst| (src, dst)));
    pairs
        .map(|(src, dst)| {
            let mut route = Vec::new();
            network.route(src, dst, 0, &mut route).ok().map(|()| route)
        })
        .collect()
}

#[test]
fn a_network_that_is_written_for_orcs_has_the_same_routes() {
    let lmc = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/networks/lmc1");
    let (cables, tables) = (lmc.join("ibnetdiscover.txt"), lmc.join("opensm-lfts.dump"));
    let mut networks = vec![
        load_network(Some(&cables), Some(&tables), &[])
            .unwrap()
            .network,
        Network::from_dot(LISTING_1).unwrap().network,
    ];
    for topology in [
        "{kind=\"torus\",dimensions=[3,3],concentration=2}",
        "{kind=\"xgft\",down=[4,4],up=[1,4]}",
        "{kind=\"dragonfly\",p=2,a=4,h=2}",
    ] {
        let set = format!("fabric.topology={topology}");
        networks.push(
            load_network(None, None, &[set])
                .unwrap_or_else(|e| panic!("{e}"))
                .network,
        );
    }
    for network in networks {
        let again = through_orcs(&network);
        assert_eq!(routes(&again), routes(&network));
        let ends = |network: &Network| -> Vec<_> {
            let edges = network.graph.edges().iter();
            edges
                .map(|edge| (edge.from, edge.to, edge.reverse))
                .collect()
        };
        assert_eq!(ends(&again), ends(&network));
        // The names that ORCS needs stay as they are.
        assert_eq!(through_orcs(&again), again);
    }
}

#[test]
fn a_network_that_is_written_for_ibsim_has_the_same_cables() {
    let dir = tempfile::tempdir().unwrap();
    let set = "fabric.topology={kind=\"torus\",dimensions=[3,3],concentration=2}".to_owned();
    for network in [
        load_network(None, None, &[set]).unwrap().network,
        Network::from_dot(LISTING_1).unwrap().network,
    ] {
        let mut text = Vec::new();
        network
            .graph
            .to_discovery()
            .unwrap()
            .write(&mut text)
            .unwrap();
        let text = String::from_utf8(text).unwrap();
        let again = load_network(Some(&written(dir.path(), "net", &text)), None, &[]).unwrap();
        let ends = |graph: &Graph| {
            let name = |node| graph.node(node).name.clone();
            let mut all: Vec<_> = (graph.edges().iter())
                .map(|edge| (name(edge.from), name(edge.to)))
                .collect();
            all.sort();
            all
        };
        assert_eq!(ends(&again.network.graph), ends(&network.graph));
    }
    // A switch has 254 ports at most.
    let hosts: String = (0..255).map(|h| format!("H{h} -> s -> H{h}\n")).collect();
    let network = Network::from_dot(&format!("digraph {{ {hosts} }}"))
        .unwrap()
        .network;
    let e = network.graph.to_discovery().unwrap_err();
    assert!(e.problem.contains("s has a port 255"), "{e}");
}
