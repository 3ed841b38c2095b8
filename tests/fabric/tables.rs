//! SL-to-VL tables and forwarding tables on hierarchical switches: values worked out by hand, and
//! what analysis says of them. That engine and oracle agree on them is in `engine_vs_oracle`.

use crate::analysis::{SlowGraph, overload};
use crate::common::ids::pair;
use crate::common::lone_packet::lone_packet;
use crate::common::random::{Kind, config, table_fabric};
use crate::common::resolved::{fabric, plan_with, refused};
use crate::common::script::{Cue, Script, message};
use flitwise::config::experiment_json;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::path::path;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::hierarchical::Quota;
use flitwise::fabric::spec::{FabricSpec, TrunkSelection, UpPorts};
use proptest::prelude::*;

fn has_cycle(spec: &FabricSpec) -> bool {
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    let graph = ChannelGraph::new(spec, &routes).unwrap();
    graph.cycle().is_some()
}

/// Five switches with three NICs each: port 3 leads up the ring, port 4, at another MPort, down.
/// Buffers hold a packet or two of each VL.
const RING: &str = r#"
[qos]
service_levels = [{ name = "A", mtu = "1KiB" }]
[fabric]
topology = { kind = "torus", dimensions = [5], concentration = 3 }
input_buffer = "4KiB"
output_buffer = "4KiB"
nic_queue = "4KiB"
nic_sink = "4KiB"
central_buffer = "8KiB"
exclusive = "1 packets"
"#;

/// Every NIC sends to the switch after the next one up the ring.
fn two_hops_up(spec: &FabricSpec) -> RunEnd {
    let lines = (0..40 * 15).map(|i| {
        let src = i % 15;
        (
            Cue::At(0),
            message(i.into(), src, (src + 6) % 15, 0, 10_240),
        )
    });
    Engine::new(spec).unwrap().run(&mut Script::new(lines))
}

#[test]
fn a_ring_deadlocks_on_one_vl_and_tables_cut_the_cycle() {
    let one = fabric(&format!("{RING}sl2vl = [0]"));
    assert!(!one.needs_classes());
    assert!(has_cycle(&one));
    assert!(matches!(two_hops_up(&one), RunEnd::Deadlock(_)));
    // Packets that pass switch 0 go on VL 1 from there; nothing passes two switches.
    let cut = r#"sl2vl = { default = [0], port = [
        { switch = 0, in = 4, out = 3, vls = [1] }, { switch = 0, in = 3, out = 4, vls = [1] }] }"#;
    let cut = fabric(&format!("{RING}{cut}"));
    assert!(!has_cycle(&cut));
    assert_eq!(two_hops_up(&cut), RunEnd::Drained);
    assert_eq!(overload(&cut, 60), RunEnd::Drained);
    // One direction is not enough.
    let half = r#"sl2vl = { default = [0], port = [{ switch = 0, in = 4, out = 3, vls = [1] }] }"#;
    assert!(has_cycle(&fabric(&format!("{RING}{half}"))));
}

/// Five switches in a ring, one NIC each: port 1 leads up, port 2 down. All go up.
const UPWARDS: &str = r#"
[fabric]
topology = { kind = "graph", switches = 5, nics = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], links = [
    [0, 1, 1, 2], [1, 1, 2, 2], [2, 1, 3, 2], [3, 1, 4, 2], [4, 1, 0, 2],
] }
forwarding = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 0, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 0]]
"#;

#[test]
fn forwarding_tables_lead_all_the_way_round() {
    let spec = fabric(UPWARDS);
    let routes = RouteAnalysis::new(&spec, &spec).unwrap();
    assert_eq!(routes.pairs_by_hops, [0, 5, 5, 5, 5]);
    let radix = spec.topology.radix();
    for switch in 0..5 {
        // A link up carries the pairs at 1, 2, 3 and 4 hops as often, a link down none.
        assert_eq!(routes.link_pairs[(switch * radix + 1) as usize], 10);
        assert_eq!(routes.link_pairs[(switch * radix + 2) as usize], 0);
    }
    // A VL per destination, so that no packet waits for one that goes on where it ends; or one for all.
    assert!(!has_cycle(&spec));
    let level = "[qos]\nservice_levels = [{ name = \"A\", scs = [0] }]";
    assert!(has_cycle(&fabric(&format!("{UPWARDS}{level}"))));
    // A hop: 50 + 32 + 8 + 2 + 50 ticks within an MPort, and 8 on the link. Both ends: 8 + 142 + 8.
    let lines = (1..5).map(|dst| {
        let start = Cue::At(10_000 * u64::from(dst));
        (start, message(dst.into(), 0, dst, 0, 64))
    });
    let mut script = Script::new(lines);
    assert_eq!(
        Engine::new(&spec).unwrap().run(&mut script),
        RunEnd::Drained
    );
    for packet in &script.packets {
        let header = 150 * packet.token + 158;
        assert_eq!(packet.delivered - packet.injected, header + 7);
    }
}

/// Two leaves with a spine above them: the NICs at ports 0 and 1, the spine at port 2.
const VLS: &str = r#"
[fabric]
topology = { kind = "graph", switches = 3, nics = [[0, 0], [0, 1], [1, 0], [1, 1]], links = [[0, 2, 2, 0], [1, 2, 2, 1]] }
sl2vl = { default = [0, 2], hca = [{ hca = 1, vls = [4, 0] }], port = [
    { switch = 2, in = 0, out = 1, vls = [0, 6] }, { switch = 1, in = 2, out = 0, vls = [2, 2] }] }
[qos]
service_levels = [{ name = "A", mtu = "128B" }, { name = "B", mtu = "512B" }]
"#;

#[test]
fn vls_are_looked_up_at_every_switch() {
    let spec = fabric(VLS);
    let vls = |src, dst, sl| {
        let route = path(&spec, &spec, pair(src, dst), sl, 64).unwrap();
        let steps = route.steps.iter().map(|step| step.channel.1);
        [vec![route.injection.1], steps.collect()].concat()
    };
    assert_eq!(vls(0, 2, 0), [0, 0, 0, 2]);
    assert_eq!(vls(0, 2, 1), [2, 2, 6, 2]);
    assert_eq!(vls(1, 3, 0), [4, 0, 0, 0]);
    assert_eq!(vls(1, 3, 1), [0, 2, 6, 2]);
    assert_eq!(vls(2, 1, 1), [2, 2, 2, 2]);
    assert!(!has_cycle(&spec));
    assert_eq!(overload(&spec, 60), RunEnd::Drained);
}

/// What a VL may hold follows from the SLs that some table puts on it.
#[test]
fn buffers_have_room_for_what_the_tables_put_on_a_vl() {
    let spec = fabric(VLS);
    assert_eq!(spec.qos.vls, 7);
    // A takes 2 credits of 64 B, B 8. VL 0: both, by tables of NICs; VL 4: A alone; VL 6: B alone.
    let largest: Vec<u32> = (0..7).map(|vl| spec.max_credits_on_vl(vl)).collect();
    assert_eq!(largest, [8, 0, 8, 0, 2, 0, 8]);
    let buffers = &spec.hierarchical().unwrap().buffers;
    let quota = |exclusive, max| Quota { exclusive, max };
    let own = quota(32, 768);
    let none = Quota::NONE;
    assert_eq!(buffers.input.per_vl, [own, none, own, none, own, none, own]);
    let [a, b] = [quota(2, 768), quota(8, 768)];
    assert_eq!(buffers.central.per_vl, [b, none, b, none, a, none, b]);
    // VL 6 stands in one table alone; its packets must fit all the same.
    let mut small = spec.clone();
    let switch = crate::common::specs::hierarchical_of(&mut small);
    switch.buffers.input.per_vl[6] = quota(2, 7);
    let error = small.validate().unwrap_err();
    assert_eq!(error.key, "fabric.input_buffer");
    assert!(error.problem.contains("VL 6 takes 8 credits"), "{error}");
}

#[test]
fn tables_are_resolved_and_written() {
    let json = experiment_json(&plan_with(VLS, &[]).unwrap().experiment);
    assert_eq!(json["fabric"]["switch"]["kind"], "hierarchical");
    assert_eq!(json["qos"]["sl2vl"]["default"], "0 2");
    assert_eq!(json["qos"]["sl2vl"]["hcas"]["1"], "4 0");
    assert_eq!(json["qos"]["sl2vl"]["ports"]["2 0 1"], "0 6");
    let json = experiment_json(&plan_with(UPWARDS, &[]).unwrap().experiment);
    assert_eq!(json["fabric"]["forwarding"][1], "1 0 1 1 1");
    // All 32 VLs of a port, and both kinds of tables on a ring.
    let highest = VLS.replacen("[4, 0]", "[31, 0]", 1);
    assert_eq!(fabric(&highest).qos.vls, 32);
    let torus = "[fabric]\ntopology = { kind = \"torus\", dimensions = [3] }\n\
                 forwarding = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]\n";
    fabric(&format!("{torus}sl2vl = [0]"));
    assert_eq!(fabric(torus).classes(), 1);
    for (text, part) in [
        (
            VLS.replacen("[4, 0]", "[32, 0]", 1),
            "VL 32; a port has at most 32 for data, VL 0 to VL 31",
        ),
        (
            VLS.replacen("[4, 0]", "[4]", 1),
            "1 entries for 2 service levels",
        ),
        (VLS.replacen("hca = 1", "hca = 4", 1), "there is no NIC 4"),
        (
            UPWARDS.replacen("[0, 1, 1, 1, 1]", "[0, 2, 1, 1, 1]", 1),
            "go round in a loop",
        ),
        (
            "[fabric]\ntopology = { kind = \"k-ary-n-tree\", k = 2, n = 1 }\n\
             forwarding = [[0, 1]]\nup_ports = \"least-queued\""
                .to_owned(),
            "fabric.up_ports: the forwarding tables name the up-port",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(part), "{text}\n{message}");
    }
}

proptest! {
    #![proptest_config(config(150))]

    /// What `check` passes never deadlocks.
    #[test]
    fn a_fabric_without_a_cycle_never_deadlocks(spec in table_fabric(Kind::Any)) {
        if !has_cycle(&spec) {
            prop_assert_eq!(overload(&spec, 24), RunEnd::Drained);
        }
    }

    /// Fabrics built to be sound have no cycle.
    #[test]
    fn sound_fabrics_pass(spec in table_fabric(Kind::Sound)) {
        prop_assert_eq!(spec.validate(), Ok(()));
        prop_assert!(!has_cycle(&spec));
    }

    /// The latency of a route is what the engine measures.
    #[test]
    fn a_lone_packet_takes_as_long_as_its_route_says(
        mut spec in table_fabric(Kind::Any), pick in any::<[u32; 4]>(),
    ) {
        spec.congestion_control = None;
        let found = lone_packet(&spec, pick);
        prop_assume!(found.is_some());
        let (route, end, packet) = found.unwrap();
        prop_assert_eq!(end, RunEnd::Drained);
        prop_assert_eq!(packet.delivered - packet.injected, route.tail);
    }

    /// The dependency graph is the one that following every packet gives.
    #[test]
    fn the_graph_agrees_with_single_packets(mut spec in table_fabric(Kind::Any)) {
        spec.routing.trunk = TrunkSelection::Destination;
        spec.routing.up_ports = UpPorts::Destination;
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        let graph = ChannelGraph::new(&spec, &routes).unwrap();
        let slow = SlowGraph::new(&spec);
        prop_assert_eq!(graph.dependencies(), slow.edges.len() as u64);
        prop_assert_eq!(graph.queues, slow.queues.len() as u64);
        prop_assert_eq!(graph.cycle().is_some(), slow.cyclic());
    }
}
