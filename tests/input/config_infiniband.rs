//! The keys of InfiniBand mean what `docs/reference/experiment.md` says.

use crate::common::ids::{hop, port_of};
use crate::common::resolved::{fabric, plan_with, ratio, refused, voq};
use flitwise::config::experiment_json;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::voq::{Acks, InputQueues, VlArb, VlWeight};
use flitwise::fabric::spec::{FabricSpec, VlPolicy};
use flitwise::fabric::topology::{Peer, Shape};
use flitwise::units::{Ratio, TickLength};

/// Flits per tick times the flits of a second: the rate in bit/s, in lowest terms.
fn bits_per_second(spec: &FabricSpec, rate: Ratio) -> f64 {
    let t = &spec.units;
    rate.to_f64() * f64::from(t.flit_bytes) * 8e12 / t.tick.length_ps().to_f64()
}

#[test]
fn the_test_bed_has_the_rates_of_the_paper() {
    let spec = fabric("fabric.preset = \"ib-ddr-testbed\"");
    let t = &spec.topology;
    assert_eq!((t.nics(), t.switches()), (7, 2));
    let at = |nic| t.attachment(nic).switch.get();
    let switches: Vec<_> = t.nic_ids().map(at).collect();
    assert_eq!(switches, [0, 0, 0, 1, 1, 1, 1]);
    let (a, SwitchPort { switch, port }) = (port_of(0, 3), port_of(1, 4));
    assert_eq!(t.peer(a.switch, a.port), Peer::Switch { switch, port });
    // An eighth of 512 bits at 34.2 Gb/s of payload, 2,048 of 2,074 B.
    let link = 34.2e9 * 2074.0 / 2048.0;
    let tick = spec.units.tick.length_ps().to_f64();
    assert!((tick - 64e12 / link).abs() < 1e-6, "{tick}");
    assert_eq!(spec.units.flit_bytes, 64);
    let v = voq(&spec);
    let close = |rate, bits: f64| (bits_per_second(&spec, rate) / bits - 1.0).abs() < 1e-12;
    assert!(close(v.links.nic, 16e9) && close(v.links.switch, link));
    // 13.1 Gb/s of payload in packets of 2,048 B, which take 33 flits with their headers.
    assert_eq!(spec.max_flits(0), 33);
    for rate in [v.hca.send_rate.unwrap(), v.hca.sink_rate.unwrap()] {
        assert!(close(rate, 13.1e9 * 2074.0 / 2048.0));
    }
    assert_eq!((v.hca.acks, v.hca.ack_bytes), (Acks::PerMessage, 30));
    assert_eq!(spec.units.header_bytes, 26);
    assert_eq!((spec.qos.vls, spec.qos.service_levels.len()), (1, 1));
    assert_eq!(v.buffers.input.per_vl, [512]);
    assert!(spec.congestion_control.is_none());
}

#[test]
fn the_648_port_switch_is_a_clos_network_of_36_port_switches() {
    let spec = fabric("fabric.preset = \"ib-qdr-648\"");
    let t = &spec.topology;
    assert_eq!((t.nics(), t.switches(), t.radix()), (648, 54, 36));
    let Shape::Xgft(tree) = t.shape() else {
        panic!("no tree");
    };
    let range = |level| tree.switches_of(level).start.get()..tree.switches_of(level).end.get();
    assert_eq!((range(1), range(2)), (0..36, 36..54));
    let is_linked = |s, p| t.peer(s, p) != Peer::None;
    assert!(SwitchId::all(54).all(|s| PortId::all(36).all(|p| is_linked(s, p))));
    assert_eq!(spec.units.tick, TickLength::whole(2_000));
    let v = voq(&spec);
    assert_eq!((v.links.nic, v.links.switch), (ratio(1, 8), ratio(1, 8)));
    assert_eq!((v.hca.send_rate, v.hca.sink_rate), (None, None));
}

#[test]
fn links_and_adapters_have_rates_of_their_own() {
    let spec = fabric(
        r#"
        [fabric]
        kind = "voq"
        topology = { kind = "mesh", dimensions = [2, 2] }
        link_speed = "QDR"
        host_link_speed = "SDR x4"
        link_speeds = [{ switch = 0, port = 1, speed = "EDR x1" }, { switch = 3, port = 0, speed = "4Gb/s" }]
        tick = "10ns"
        hca_send_rate = "1/7"
        hca_sink_rate = 0.25
        crossbar_speedup = 2
        acks = "per-packet"
        ack = "64B"
        "#,
    );
    let v = voq(&spec);
    assert_eq!(spec.units.tick, TickLength::whole(10_000));
    assert_eq!((v.links.switch, v.links.nic), (ratio(5, 8), ratio(5, 32)));
    let rate = |end: SwitchPort| v.links.at(&spec.topology, end.switch, end.port);
    let at = |switch, port| rate(port_of(switch, port));
    // Both directions alike: switch 1 has the other end of the link at port 1 of switch 0.
    let near = port_of(0, 1);
    let Peer::Switch { switch, port } = spec.topology.peer(near.switch, near.port) else {
        panic!("no link");
    };
    let far = SwitchPort { switch, port };
    assert_eq!((rate(near), rate(far)), (ratio(125, 256), ratio(125, 256)));
    assert_eq!((at(3, 0), at(2, 0)), (ratio(5, 64), ratio(5, 32)));
    assert_eq!(
        (v.hca.send_rate, v.hca.sink_rate),
        // Flits per cycle, the time of a flit on the fastest link: 5/8 flits per tick.
        (Some(ratio(5, 56)), Some(ratio(5, 32)))
    );
    assert_eq!(
        (v.crossbar_speedup, v.hca.acks, v.hca.ack_bytes),
        (2, Acks::PerPacket, 64)
    );
    // Without `tick` it is an eighth of a flit of the fastest link, single ones included.
    let text = r#"
        [fabric]
        kind = "voq"
        topology = { kind = "single", nics = 4 }
        host_link_speed = "SDR x1"
        link_speeds = [{ switch = 0, port = 2, speed = "150Gb/s" }]
        "#;
    let tick = fabric(text).units.tick.length_ps();
    assert_eq!((tick.num(), tick.den()), (1280, 3));
    for (change, part) in [
        ("link_speed = \"QDR x5\"", "`QDR x5` is no link speed"),
        ("link_speed = \"0Gb/s\"", "is no rate of a link"),
        ("link_speed = 5", "expected a link speed such as"),
        ("tick = \"20ns\"", "at most 1 is possible: shorten the tick"),
        ("tick = \"0ns\"", "fabric.tick: is 0"),
        ("hca_send_rate = \"fast\"", "unknown value `fast`"),
        ("hca_send_rate = \"400Gb/s\"", "fabric.hca_send_rate"),
        ("hca_sink_rate = 0", "a rate of 0 moves nothing"),
        (
            "link_speeds = [{ switch = 0, port = 40, speed = \"SDR\" }]",
            "there is no port 40 at a switch 0: switches 0 to 0, ports 0 to 7",
        ),
        (
            "link_rate = \"4GB/s\"",
            "fabric.link_rate: belongs to the \"hierarchical\" kind",
        ),
        (
            "exclusive = \"1 packets\"",
            "fabric.exclusive: belongs to the \"hierarchical\" kind",
        ),
        ("crossbar_speedup = 0", "fabric.crossbar_speedup: is 0"),
        ("acks = \"never\"", "unknown value `never`"),
        ("input_queues = \"lifo\"", "unknown value `lifo`"),
    ] {
        let text = format!(
            "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"single\", nics = 4 }}\n{change}"
        );
        let message = refused(&text);
        assert!(message.contains(part), "{change}: {message}");
    }
    let message = refused("[fabric]\nlink_speed = \"QDR\"");
    assert!(
        message.contains("fabric.link_speed: belongs to the \"voq\" and \"input-queued\" kinds"),
        "{message}"
    );
    let message = refused("[fabric]\ninput_queues = \"fifo\"");
    assert!(
        message.contains("fabric.input_queues: belongs to the \"voq\" and \"input-queued\" kinds"),
        "{message}"
    );
    let message = refused("[fabric]\npreset = \"opasim\"\nkind = \"voq\"");
    assert!(
        message.contains("fabric.kind: the preset has switches of another kind"),
        "{message}"
    );
}

#[test]
fn input_queues_are_a_choice_of_their_own() {
    let queues = |keys: &str| {
        let text = format!(
            "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"single\", nics = 4 }}\n{keys}"
        );
        voq(&fabric(&text)).input_queues
    };
    assert_eq!(queues(""), InputQueues::VirtualOutput);
    let named = "input_queues = \"virtual-output\"";
    assert_eq!(queues(named), InputQueues::VirtualOutput);
    assert_eq!(queues("input_queues = \"fifo\""), InputQueues::Fifo);
    assert_eq!(queues("input_queues = \"per-flow\""), InputQueues::PerFlow);
    let isolating = "input_queues = \"isolating\"\nisolation_queues = 2";
    assert_eq!(queues(isolating), InputQueues::Isolating);
    let dbbm = "[qos]\nvl_policy = \"dbbm\"\nqueues = 2";
    let both = format!("input_queues = \"fifo\"\n{dbbm}");
    assert_eq!(queues(&both), InputQueues::Fifo);
    assert_eq!(queues(dbbm), InputQueues::VirtualOutput);
}

const THREE: &str = r#"
[fabric]
kind = "voq"
topology = { kind = "single", nics = 4 }
[qos]
service_levels = [{ name = "A", scs = [0] }, { name = "B", scs = [1], mtu = "256B" }, { name = "C", scs = [2] }]
"#;

#[test]
fn buffers_are_divided_among_vls() {
    let credits = |text: &str| -> Vec<u32> {
        let spec = fabric(text);
        voq(&spec).buffers.input.per_vl.clone()
    };
    assert_eq!(credits(THREE), [170, 170, 170]);
    // VL 1 is not used.
    let two = THREE.replace("scs = [1]", "scs = [3]");
    assert_eq!(
        credits(&two),
        [128, 0, 128, 128].map(|c| if c == 0 { 0 } else { 512 / 3 })
    );
    let listed = THREE.replace(
        "[qos]",
        "input_buffer_vls = [\"3 packets\", \"6400B\", \"25%\"]\n[qos]",
    );
    assert_eq!(credits(&listed), [99, 100, 128]);
    for (change, part) in [
        ("[\"3 packets\", \"6400B\"]", "2 sizes, but VL 2 is used"),
        ("[\"60%\", \"60%\", \"60%\"]", "add up"),
        (
            "[\"60%\", \"10%\", \"1 credits\"]",
            "VL 2 has 1 credits, but the largest packet takes 33",
        ),
    ] {
        let text = THREE.replace("[qos]", &format!("input_buffer_vls = {change}\n[qos]"));
        let message = refused(&text);
        let part = part.replace("add up", "credits together, but the buffer has 512");
        assert!(message.contains(&part), "{change}: {message}");
    }
}

#[test]
fn arbitration_tables() {
    let arbiters = |text: &str| {
        let spec = fabric(&format!("{THREE}{text}"));
        let v = voq(&spec);
        (v.vlarb.clone(), v.hca.vlarb.clone())
    };
    let round = || VlArb::RoundRobin;
    assert_eq!(arbiters(""), (round(), round()));
    assert_eq!(arbiters("scheduler = \"rr\""), (round(), round()));
    let tables = "vlarb = { high = [[0, 16]], low = [[1, 4], [2, 8]], high_limit = 3 }\n";
    let entry = |vl, weight| VlWeight { vl, weight };
    let given = VlArb::Tables {
        high: vec![entry(0, 16)],
        low: vec![entry(1, 4), entry(2, 8)],
        high_limit: 3,
    };
    assert_eq!(arbiters(tables), (given.clone(), given.clone()));
    let own = format!("{tables}hca_vlarb = {{ low = [[2, 1], [1, 1], [0, 255]] }}");
    let hca = VlArb::Tables {
        high: vec![],
        low: vec![entry(2, 1), entry(1, 1), entry(0, 255)],
        high_limit: 0,
    };
    assert_eq!(arbiters(&own), (given, hca));
    // Kept while another scheduler is chosen.
    assert_eq!(
        arbiters(&format!("{tables}scheduler = \"rr\"")),
        (round(), round())
    );
    for (text, part) in [
        (
            "vlarb = { low = [[0, 1], [1, 1]] }",
            "qos.vlarb: VL 2 is used but has no entry",
        ),
        ("vlarb = { low = [[0, 256]] }", "255"),
        (
            "vlarb = { low = [[9, 1]] }",
            "names VL 9, but there are 3 VLs",
        ),
        ("vlarb = { hihg = [] }", "did you mean `high`?"),
        (
            "scheduler = \"sbt\"",
            "qos.scheduler: belongs to the \"hierarchical\" kind",
        ),
    ] {
        let message = refused(&format!("{THREE}{text}"));
        assert!(message.contains(part), "{text}: {message}");
    }
    let message = refused("[qos]\nscheduler = \"ib-vlarb\"");
    assert!(
        message.contains("qos.scheduler: \"ib-vlarb\" belongs to the \"voq\" kind"),
        "{message}"
    );
}

#[test]
fn sl_to_vl_and_forwarding_tables() {
    let text = r#"
        [fabric]
        kind = "voq"
        topology = { kind = "torus", dimensions = [3], concentration = 2 }
        sl2vl = { default = [0, 2], hca = [{ hca = 5, vls = [1, 1] }], port = [{ switch = 0, in = 2, out = 3, vls = [2, 0] }] }
        forwarding = [[0, 1, 2, 2, 3, 3], [3, 3, 0, 1, 2, 2], [2, 2, 3, 3, 0, 1]]
        [qos]
        service_levels = [{ name = "A" }, { name = "B" }]
        "#;
    let spec = fabric(text);
    let v = voq(&spec);
    let VlPolicy::SlToVl(tables) = &spec.qos.vl_policy else {
        panic!("no tables");
    };
    assert_eq!(
        (
            tables.at_hca(NicId::new(0), 1),
            tables.at_hca(NicId::new(5), 0)
        ),
        (Some(2), Some(1))
    );
    assert_eq!(
        (
            tables.at_switch(hop(0, 2, 3), 1),
            tables.at_switch(hop(0, 3, 2), 1)
        ),
        (Some(0), Some(2))
    );
    assert_eq!(spec.qos.vls, 3);
    assert_eq!(v.buffers.input.per_vl.len(), 3);
    let lft = spec.routing.forwarding.as_ref().unwrap();
    assert_eq!(lft.ports[1], [3, 3, 0, 1, 2, 2].map(PortId::new));
    assert!(!spec.needs_classes());
    let json = experiment_json(&plan_with(text, &[]).unwrap().experiment);
    assert_eq!(json["qos"]["sl2vl"]["ports"]["0 2 3"], "2 0");
    assert_eq!(json["fabric"]["forwarding"][1], "3 3 0 1 2 2");
    for (from, to, part) in [
        (
            "{ name = \"A\" }",
            "{ name = \"A\", scs = [0] }",
            "qos.service_levels.0.scs",
        ),
        (
            "{ name = \"B\" }]",
            "{ name = \"B\" }, { name = \"C\" }]",
            "2 entries for 3 service levels",
        ),
        (
            "[1, 1]",
            "[1, 15]",
            "VL 15; an InfiniBand port has at most 15",
        ),
        ("hca = 5", "hca = 6", "there is no NIC 6"),
        (
            "[2, 2, 3, 3, 0, 1]]",
            "[2, 2, 3, 3, 0, 0]]",
            "where it is not",
        ),
        (
            "[2, 2, 3, 3, 0, 1]]",
            "[2, 2, 3, 3, 0]]",
            "5 entries for 6 destinations",
        ),
        (
            "[3, 3, 0, 1, 2, 2], [2, 2, 3, 3, 0, 1]]",
            "[2, 2, 0, 1, 2, 2], [3, 3, 3, 3, 0, 1]]",
            "loop",
        ),
        (
            "port = [",
            "port = [{ switch = 0, in = 2, out = 3, vls = [0, 0] }, ",
            "fabric.sl2vl.port.1: is listed twice",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let message = refused(&text.replacen(from, to, 1));
        assert!(message.contains(part), "{to}: {message}");
    }
}

#[test]
fn trees_and_graphs() {
    let spec = fabric(
        "[fabric]\nkind = \"voq\"\ntopology = { kind = \"xgft\", down = [18, 18, 6], up = [1, 18, 3], parallel = [1, 1, 6], hosts = 1900 }",
    );
    assert_eq!(
        (spec.topology.nics(), spec.topology.switches()),
        (1900, 270)
    );
    for (text, part) in [
        (
            "{ kind = \"xgft\", down = [4, 4] }",
            "needs `up` (parents per level), such as {kind=\"xgft\",down=[4,4],up=[1,4]}",
        ),
        (
            "{ kind = \"xgft\", down = [4, 4], up = [1] }",
            "up: has 1 numbers, but down has 2",
        ),
        (
            "{ kind = \"xgft\", down = [4, 4], up = [2, 4] }",
            "a NIC has one port",
        ),
        (
            "{ kind = \"xgft\", down = [4, 0], up = [1, 4] }",
            "every number must be at least 1",
        ),
        (
            "{ kind = \"xgft\", down = [60, 4], up = [1, 61] }",
            "switches of 121 ports",
        ),
        (
            "{ kind = \"xgft\", down = [65536, 65536], up = [1, 4] }",
            "at most 2^22 ports",
        ),
        (
            "{ kind = \"xgft\", down = [4, 4], up = [1, 4], hosts = 17 }",
            "takes 1 to 16",
        ),
        (
            "{ kind = \"xgft\", down = [4, 4], up = [1, 4], k = 2 }",
            "which takes down, up, parallel, hosts",
        ),
        (
            "{ kind = \"graph\", switches = 2, nics = 4 }",
            "takes [switch, port] of every NIC",
        ),
        (
            "{ kind = \"graph\", switches = 2, nics = [[0, 0], [1, 0]] }",
            "has no route to NIC",
        ),
        (
            "{ kind = \"graph\", switches = 1, nics = [[0, 0], [0, 0]] }",
            "listed twice",
        ),
        (
            "{ kind = \"graph\", switches = 1, nics = [[0, 4000000000]] }",
            "ports",
        ),
        (
            "{ kind = \"graph\", switches = 1, nics = [[0, -1]] }",
            "expected a whole number from 0",
        ),
        (
            "{ kind = \"single\", nics = [[0, 0]] }",
            "takes the number of NICs",
        ),
    ] {
        let message = refused(&format!("[fabric]\ntopology = {text}"));
        assert!(message.contains(part), "{text}: {message}");
    }
    for (topology, routing, part) in [
        (
            "{ kind = \"graph\", switches = 1, nics = [[0, 0]] }",
            "dor",
            "a graph takes \"minimal\"",
        ),
        (
            "{ kind = \"xgft\", down = [4], up = [1] }",
            "dor",
            "\"dor\" routes tori and meshes",
        ),
    ] {
        let message = refused(&format!(
            "[fabric]\ntopology = {topology}\nrouting = \"{routing}\""
        ));
        assert!(message.contains(part), "{message}");
    }
}

/// A tick, a cycle and the crossbar go by links that exist.
#[test]
fn speeds_that_no_link_has_decide_nothing() {
    let of = |text: &str| fabric(&format!("fabric.preset = \"ib-qdr-648\"\n{text}"));
    let single = "fabric.topology = { kind = \"single\", nics = 4 }\n";
    let host = "fabric.host_link_speed = \"SDR x4\"\n";
    let other = "fabric.link_speed = \"SDR x4\"\n";
    let slow = of(&format!("{single}{host}{other}"));
    assert_eq!(slow.units.tick, TickLength::whole(8_000));
    assert_eq!(of(&format!("{single}{host}")), slow);
    // Two switches, whose only link is slow by its own entry.
    let two = "fabric.topology = { kind = \"torus\", dimensions = [2], concentration = 2 }\n";
    let links = of(&format!("{two}{host}"));
    let at = |switch: SwitchId| links.topology.port_ids().map(move |port| (switch, port));
    let all = links.topology.switch_ids().flat_map(at);
    let is_between = |&(switch, port): &(SwitchId, PortId)| {
        matches!(links.topology.peer(switch, port), Peer::Switch { .. })
    };
    let listed: Vec<String> = all
        .filter(is_between)
        .map(|(switch, port)| format!("{{ switch = {switch}, port = {port}, speed = \"SDR x4\" }}"))
        .collect();
    let listed = format!("fabric.link_speeds = [{}]\n", listed.join(", "));
    let all_slow = of(&format!("{two}{host}{listed}"));
    assert_eq!(all_slow.units.tick, TickLength::whole(8_000));
}
