//! What `flitwise fabric` says of InfiniBand fabrics: dependencies through tables, times,
//! rates.

use crate::common::ids::pair;
use crate::common::lone_packet::lone_packet;
use crate::common::paths::levels_and_vias;
use crate::common::random::config;
use crate::common::random_infiniband;
use crate::common::resolved;
use flitwise::fabric::analysis::channels::{Buffer, ChannelGraph};
use flitwise::fabric::analysis::path::path_via;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::RunEnd;
use flitwise::fabric::ids::{PortId, SwitchId};
use flitwise::fabric::spec::voq::InputQueues;
use flitwise::fabric::spec::{FabricSpec, Paths, TrunkSelection, UpPorts, VlPolicy};
use flitwise::fabric::topology::Peer;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::{BTreeMap, BTreeSet};

/// (dependencies, length of the cycle found)
fn graph_of(spec: &FabricSpec) -> (u64, Option<usize>) {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    let graph = ChannelGraph::new(spec, &routes).unwrap();
    assert_eq!(graph.without_room, [0; 3]);
    let cycle = graph.cycle();
    for channel in cycle.iter().flatten() {
        assert_eq!(channel.buffer, Buffer::Input);
    }
    (graph.dependencies(), cycle.map(|cycle| cycle.len()))
}

/// Five switches in a ring, one NIC each: port 1 leads up, port 2 down.
const RING: &str = r#"
[fabric]
kind = "voq"
topology = { kind = "graph", switches = 5, nics = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], links = [
    [0, 1, 1, 2], [1, 1, 2, 2], [2, 1, 3, 2], [3, 1, 4, 2], [4, 1, 0, 2],
] }
"#;

#[test]
fn a_ring_can_deadlock_and_tables_cut_the_cycle() {
    // One VL: in each direction every input waits for the next one.
    assert_eq!(graph_of(&resolved::fabric(RING)), (10, Some(5)));
    // Packets that pass switch 0 go on VL 1 from there; nothing passes two switches.
    let cut = r#"sl2vl = { default = [0], port = [
        { switch = 0, in = 2, out = 1, vls = [1] }, { switch = 0, in = 1, out = 2, vls = [1] }] }"#;
    assert_eq!(
        graph_of(&resolved::fabric(&format!("{RING}{cut}"))),
        (10, None)
    );
    // The tables of another switch that lead back to VL 0 do not matter; one direction does.
    let half = r#"sl2vl = { default = [0], port = [{ switch = 0, in = 2, out = 1, vls = [1] }] }"#;
    assert_eq!(
        graph_of(&resolved::fabric(&format!("{RING}{half}"))),
        (10, Some(5))
    );
    // A second SL that the tables leave on VL 0 closes the cycle again.
    let two = cut
        .replace("[0], port", "[0, 0], port")
        .replace("vls = [1]", "vls = [1, 0]");
    let levels = "[qos]\nservice_levels = [{ name = \"A\" }, { name = \"B\" }]\n";
    let (_, cycle) = graph_of(&resolved::fabric(&format!("{RING}{two}\n{levels}")));
    assert_eq!(cycle, Some(5));
    // A torus has its VL classes, as on the other kind of switch.
    let torus = "[fabric]\nkind = \"voq\"\ntopology = { kind = \"torus\", dimensions = [5] }\n";
    assert_eq!(graph_of(&resolved::fabric(torus)).1, None);
}

#[test]
fn fat_trees_cannot_deadlock() {
    for text in [
        "fabric.preset = \"ib-qdr-648\"",
        "fabric.preset = \"ib-ddr-testbed\"",
        "[fabric]\nkind = \"voq\"\ntopology = { kind = \"xgft\", down = [18, 18, 6], up = [1, 18, 3], parallel = [1, 1, 6] }",
        "[fabric]\nkind = \"voq\"\ntopology = { kind = \"xgft\", down = [4, 3, 2], up = [1, 2, 1], parallel = [1, 2, 3] }",
    ] {
        assert_eq!(graph_of(&resolved::fabric(text)).1, None, "{text}");
    }
}

#[test]
fn rates_of_links_bound_uniform_traffic() {
    let bound = |text: &str| {
        let spec = resolved::fabric(text);
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        let radix = spec.topology.radix() as usize;
        let busiest = routes
            .busiest_link()
            .map(|(at, _)| (at / radix, at % radix));
        (routes.uniform_bound(spec.topology.nics()), busiest)
    };
    // Two NICs here, two there; of 3 flits of a NIC 2 cross the link.
    let pair = |speeds: &str| {
        bound(&format!(
            "[fabric]\nkind = \"voq\"\ntick = \"16ns\"\n{speeds}\ntopology = {{ kind = \"graph\", switches = 2, \
             nics = [[0, 0], [0, 1], [1, 0], [1, 1]], links = [[0, 2, 1, 3]] }}\n"
        ))
    };
    assert_eq!(pair(""), ((3, 4), Some((0, 2))));
    assert_eq!(pair("link_speed = \"SDR\"").0, (3, 16));
    assert_eq!(
        pair("link_speeds = [{ switch = 1, port = 3, speed = \"DDR\" }]").0,
        (3, 8)
    );
    // The adapters are the limit.
    assert_eq!(pair("host_link_speed = \"SDR\"").0, (1, 4));
    // The slow link is full before the one that more pairs cross.
    let ring = RING.replace(
        "[fabric]",
        "[fabric]\nlink_speeds = [{ switch = 3, port = 1, speed = \"SDR x1\" }]",
    );
    assert_eq!(bound(&ring).1, Some((3, 1)));
}

/// Switch, input port and VL.
type Queue = (SwitchId, PortId, u8);

/// Dependencies by following every packet of every SL, by the destination of the packet.
fn slow_graphs(spec: &FabricSpec) -> BTreeMap<u32, BTreeSet<(Queue, Queue)>> {
    let mut edges: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let nics = spec.topology.nics();
    for (src, dst) in (0..nics).flat_map(|src| (0..nics).map(move |dst| (src, dst))) {
        if src == dst {
            continue;
        }
        for (sl, via) in levels_and_vias(spec, pair(src, dst)) {
            let route = path_via(spec, spec, pair(src, dst), via, sl, 1).unwrap();
            for (a, b) in route.steps.iter().zip(&route.steps[1..]) {
                if matches!(spec.topology.peer(a.switch, a.port_in), Peer::Nic(_)) {
                    continue;
                }
                let before = route
                    .steps
                    .iter()
                    .take_while(|step| *step != a)
                    .last()
                    .unwrap();
                let here = (a.switch, a.port_in, before.channel.1);
                let next = (b.switch, b.port_in, a.channel.1);
                edges.entry(dst).or_default().insert((here, next));
            }
        }
    }
    edges
}

/// Takes away queues that wait for nothing that is left, until there is none.
fn has_cycle(mut edges: BTreeSet<(Queue, Queue)>) -> bool {
    loop {
        let waiting: BTreeSet<Queue> = edges.iter().map(|(from, _)| *from).collect();
        let before = edges.len();
        edges.retain(|(_, to)| waiting.contains(to));
        if edges.len() == before {
            return !edges.is_empty();
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// The latency of a route is what the engine measures.
    #[test]
    fn a_lone_packet_takes_as_long_as_its_route_says(
        mut spec in random_infiniband::fabric(), pick in any::<[u32; 4]>(),
    ) {
        spec.congestion_control = None;
        let found = lone_packet(&spec, pick);
        prop_assume!(found.is_some());
        let (route, end, packet) = found.unwrap();
        prop_assert!(matches!(end, RunEnd::Drained | RunEnd::Finished));
        prop_assert_eq!(packet.flits, route.flits);
        prop_assert_eq!(packet.delivered - packet.injected, route.tail);
    }

    /// The dependency graph is the one that following every packet gives.
    #[test]
    fn the_graph_agrees_with_single_packets(mut spec in random_infiniband::fabric()) {
        spec.routing.trunk = TrunkSelection::Destination;
        spec.routing.up_ports = UpPorts::Destination;
        let (dependencies, _) = graph_of(&spec);
        let rings_by_class = spec.needs_classes();
        let by_destination = slow_graphs(&spec);
        let per_flow = spec.voq().unwrap().input_queues == InputQueues::PerFlow;
        if per_flow && spec.routing.paths == Paths::Minimal {
            // The queues of different destinations do not wait for each other.
            prop_assert_eq!(dependencies, 0);
            prop_assert!(!by_destination.into_values().any(has_cycle));
            return Ok(());
        }
        let slow: BTreeSet<_> = by_destination.into_values().flatten().collect();
        prop_assert!(dependencies >= slow.len() as u64);
        // Classes of rings are joined over all destinations of a turn.
        if !rings_by_class {
            prop_assert_eq!(dependencies, slow.len() as u64);
        }
    }
}

/// What the comparisons above must come across.
#[test]
fn random_fabrics_have_tables() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut tables = 0;
    for _ in 0..100 {
        let tree = random_infiniband::fabric().new_tree(&mut runner);
        let spec = tree.unwrap().current();
        tables += u32::from(matches!(spec.qos.vl_policy, VlPolicy::SlToVl(_)));
    }
    assert!(tables >= 10, "{tables} of 100");
}
