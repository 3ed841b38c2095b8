//! Fabrics from graphs in files: the same one in every format, what a file says of cables and routes, and broken files,
//! which are refused with file, line and cure.

use super::network_files::{LISTING_1, written};
use flitwise::config::{ConfigError, FabricOnly, load_fabric, load_network};
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::FabricSpec;
use flitwise::oblivious::RoutingEngine;
use proptest::prelude::*;
use std::path::Path;

/// Three hosts on two switches, with two cables between them: in DOT, as a list of edges, as NetworkX writes GraphML
/// and node-link data.
const FORMATS: [(&str, &str); 4] = [
    (
        "fabric.dot",
        r#"strict graph "" {
    node [shape=box];
    a [type=host]; s1 [type=switch]; b [type=host]; c [type=host]; s2 [type=switch];
    a -- s1 [rate="HDR", weight=1];
    b -- s1 [rate="HDR"];
    c -- s2 [rate="100Gb/s", length="2m"];
    s1 -- s2 [rate="HDR", length="20m", medium=fibre];
}
"#,
    ),
    (
        "fabric.edges",
        "# a comment\na s1 HDR\nb,s1,rate=HDR\nc s2 100Gb/s 2m\ns1\ts2 {'length_m': 20, 'rate': 'HDR', 'medium': \
         'fibre'}\n",
    ),
    (
        "fabric.graphml",
        r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <key id="d3" for="edge" attr.name="medium" attr.type="string" />
  <key id="d2" for="edge" attr.name="length_m" attr.type="double" />
  <key id="d1" for="edge" attr.name="rate" attr.type="string"><default>HDR</default></key>
  <key id="d0" for="node" attr.name="type" attr.type="string"><default>host</default></key>
  <graph edgedefault="undirected">
    <node id="a" /><node id="s1"><data key="d0">switch</data></node><node id="b" /><node id="c" />
    <node id="s2"><data key="d0">switch</data></node>
    <edge source="a" target="s1" />
    <edge source="b" target="s1" />
    <edge source="c" target="s2"><data key="d1">100Gb/s</data><data key="d2">2.0</data></edge>
    <edge source="s1" target="s2"><data key="d2">20</data><data key="d3">fibre</data></edge>
  </graph>
</graphml>
"#,
    ),
    (
        "fabric.json",
        r#"{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"type": "host", "id": "a"},
 {"type": "switch", "id": "s1"}, {"type": "host", "id": "b"}, {"type": "host", "id": "c"}, {"type": "switch", "id": "s2"}],
 "links": [{"rate": "HDR", "source": "a", "target": "s1"}, {"rate_gbps": 200.0, "source": "b", "target": "s1"},
 {"rate_gbps": 100, "length_m": 2, "source": "c", "target": "s2"},
 {"rate": "HDR", "length": "2000cm", "medium": "fiber", "source": "s1", "target": "s2"}]}"#,
    ),
];

/// The fabric of a file, with further keys.
fn load(name: &str, text: &str, sets: &[&str]) -> Result<FabricOnly, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), name, text);
    let experiment = format!(
        "[fabric]\npreset = \"ib-hdr\"\ntick = \"160ps\"\ntopology = {{ kind = \"graph\", file = \"{name}\" }}\n"
    );
    let experiment = written(dir.path(), "e.toml", &experiment);
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load_fabric(Some(&experiment), &sets)
}

fn port(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

/// The latency and the rate of the link at a port, as multiples of the preset's.
fn link(fabric: &FabricSpec, at: SwitchPort) -> (u64, f64) {
    let rate = fabric.link_rate(at.switch, at.port).to_f64() / fabric.fastest_link().to_f64();
    let ticks = fabric.link_latency.at(&fabric.topology, at.switch, at.port);
    (ticks, rate)
}

#[test]
fn all_formats_describe_the_same_fabric() {
    let mut first: Option<FabricSpec> = None;
    for (name, text) in FORMATS {
        let fabric = load(name, text, &[])
            .unwrap_or_else(|e| panic!("{name}: {e}"))
            .fabric;
        let topology = &fabric.topology;
        assert_eq!((topology.nics(), topology.switches()), (3, 2), "{name}");
        let names = topology.names().unwrap();
        let hosts = [0, 1, 2].map(|nic| names.nic_label(NicId::new(nic)).to_owned());
        assert_eq!(hosts, ["a", "b", "c"], "{name}");
        assert_eq!(names.port_label(port(1, 1)), "s2 port 2");
        // A cable of the preset is 5 m long: 25 ns are 157 ticks of 160 ps; 20 m of fibre 98 ns, 2 m of any kind 10 ns.
        assert_eq!(link(&fabric, port(0, 0)), (157, 1.0), "{name}");
        assert_eq!(link(&fabric, port(0, 2)), (613, 1.0), "{name}");
        assert_eq!(link(&fabric, port(1, 1)), (613, 1.0), "{name}");
        assert_eq!(link(&fabric, port(1, 0)), (63, 0.5), "{name}");
        assert_eq!(
            *first.get_or_insert_with(|| fabric.clone()),
            fabric,
            "{name}"
        );
    }
}

#[test]
fn keys_win_over_the_file() {
    let (name, text) = FORMATS[1];
    let sets = [
        "fabric.link_latency=\"16ns\"",
        "fabric.host_link_speed=\"EDR\"",
    ];
    let fabric = load(name, text, &sets).unwrap().fabric;
    assert_eq!(link(&fabric, port(0, 2)), (100, 1.0));
    assert_eq!(link(&fabric, port(1, 0)), (63, 0.5));
    assert_eq!(link(&fabric, port(0, 0)), (157, 0.5));
    // Hierarchical switches have one rate, and lengths as any.
    let preset = "fabric.preset=\"opa-gen1\"";
    let e = load("x", text, &[preset]).unwrap_err().to_string();
    assert!(e.contains("fabric.tick"), "{e}");
    let opa = |rate: &str| {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), "g", text);
        let keys = format!("[fabric]\n{rate}\ntopology = {{ kind = \"graph\", file = \"g\" }}");
        load_fabric(Some(&written(dir.path(), "e.toml", &keys)), &[])
    };
    let e = opa("").unwrap_err().to_string();
    assert!(
        e.contains("g:2: a link of 200 Gb/s, and all links of hierarchical switches have 100 Gb/s"),
        "{e}"
    );
    let fabric = opa("link_rate = \"25GB/s\"").unwrap().fabric;
    // 98 ns in ticks of 320 ps.
    assert_eq!(link(&fabric, port(0, 2)), (307, 1.0));
}

#[test]
fn cables_without_a_rate_are_as_the_keys_say() {
    let text = "a s EDR\nb s\nc t\ns t HDR\ns t\n";
    let fabric = load("g", text, &["fabric.link_speed=\"EDR\""])
        .unwrap()
        .fabric;
    let rates = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 2)].map(|(s, p)| link(&fabric, port(s, p)).1);
    assert_eq!(rates, [0.5, 1.0, 1.0, 0.5, 0.5]);
    let fabric = load("g", text, &[]).unwrap().fabric;
    assert_eq!(link(&fabric, port(1, 2)).1, 1.0);
}

#[test]
fn parallel_edges_are_parallel_links_and_names_may_tell_hosts() {
    let text = "H0 s\nH1 t\ns t 1m\ns t 2m copper\n";
    let fabric = load("g", text, &[]).unwrap().fabric;
    assert_eq!(
        (
            fabric.topology.nics(),
            fabric.topology.directed_switch_links()
        ),
        (2, 4)
    );
    assert_eq!(link(&fabric, port(0, 1)).0, 32);
    // 8.6 ns.
    assert_eq!(link(&fabric, port(1, 2)).0, 54);
    // Both directions, as of a directed graph.
    let directed = "H0 s\ns H0\nH1 t\nt H1\ns t\nt s 1m\ns t 2m copper\nt s\n";
    let both = load("g", directed, &[]).unwrap().fabric;
    assert_eq!(both.link_latency, fabric.link_latency);
    assert_eq!(both.topology, fabric.topology);
}

#[test]
fn routes_are_those_of_the_file_unless_a_key_names_others() {
    let ring = "digraph { H0 -> s -> H0; H1 -> t -> H1 [comment=x]; H2 -> u -> H2;
        s -> t [comment=\"H1 H2\"]; t -> s [comment=H0]; t -> u [comment=H2]; u -> t [comment=\"*\"]; s -> u; u -> s;
        s -> H0 [comment=H0]; }";
    let e = load("g", ring, &[]).unwrap_err().to_string();
    assert!(
        e.contains("a second edge leaves")
            || e.contains("second cable")
            || e.contains("no direction back"),
        "{e}"
    );
    let ring = "digraph { H0 -> s; H1 -> t; H2 -> u; s -> H0 [comment=H0]; t -> H1 [comment=H1]; u -> H2 [comment=H2];
        s -> t [comment=\"H1 H2\"]; t -> s [comment=H0]; t -> u [comment=H2]; u -> t [comment=\"*\"]; s -> u; u -> s }";
    let given = load("g", ring, &[]).unwrap();
    assert_eq!(given.tables.forwarding.as_deref(), Some("g"));
    let ports = &given.fabric.routing.forwarding.as_ref().unwrap().ports;
    let row = |ports: [u32; 3]| ports.map(PortId::new).to_vec();
    assert_eq!(*ports, [row([0, 1, 1]), row([1, 0, 2]), row([1, 1, 0])]);
    let minimal = load("g", ring, &["fabric.routing=\"minimal\""]).unwrap();
    assert_eq!(minimal.fabric.routing.forwarding, None);
    // The engine has one rule, whether links fail or not.
    let min_hop = load("g", ring, &["fabric.routing=\"min-hop\""]).unwrap();
    let tables = RoutingEngine::MinHop.tables_of(&min_hop.fabric.topology, &[], 1);
    let tables = Some(tables.unwrap().tables);
    assert_eq!(min_hop.fabric.routing.forwarding, tables);
    let up_down = load("g", ring, &["fabric.routing=\"updn\""]).unwrap();
    assert!(up_down.tables.forwarding.is_none() && up_down.fabric.routing.forwarding.is_some());
    let incomplete = ring.replace("[comment=H1]", "[comment=H9]");
    let e = load("g", &incomplete, &[]).unwrap_err();
    assert!(
        e.to_string().contains("no edge of t has H1 in its comment"),
        "{e}"
    );
    // As its cure says.
    let cured = load("g", &incomplete, &["fabric.routing=\"min-hop\""]).unwrap();
    assert_eq!(cured.fabric, min_hop.fabric);
}

#[test]
fn an_exported_fabric_is_the_same_network_again() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        "fabric.topology={ kind = \"torus\", dimensions = [3, 3], concentration = 2 }".to_owned(),
    ];
    let torus = load_network(None, None, &sets).unwrap();
    let mut dot = Vec::new();
    torus.network.write_orcs(&mut dot, true).unwrap();
    written(dir.path(), "torus.dot", std::str::from_utf8(&dot).unwrap());
    let experiment = "[fabric]\ntopology = { kind = \"graph\", file = \"torus.dot\" }";
    let again = load_network(Some(&written(dir.path(), "e.toml", experiment)), None, &[]).unwrap();
    assert_eq!(again.network.survey(), torus.network.survey());
    let fabric = &again.fabric().unwrap().topology;
    assert_eq!((fabric.nics(), fabric.switches()), (18, 9));
}

#[test]
fn broken_graphs_are_refused_with_file_line_and_cure() {
    let node = "{\"nodes\": [{\"id\": 1}, {\"id\": 2}],\n\"links\": [";
    let xml = |body: &str| {
        format!("<graphml>\n<graph edgedefault=\"undirected\">\n{body}</graph></graphml>")
    };
    let cases = [
        ("a s\nb", "g:2: `b` alone; an edge has two nodes"),
        ("a s 5", "g:1: `5` has no unit; write a rate as 100Gb/s"),
        ("a s 5parsecs", "g:1: `5parsecs` is no rate"),
        (
            "a s {'weight': [1, 2]}",
            "g:1: expected `'name': value` of a dictionary",
        ),
        (
            "a s\ns a\nb s",
            "b and s (line 3) are not; list each link once, or all in both",
        ),
        ("a s\nb s\nc t\nd t", "g:3: no cables lead from s to c"),
        ("a s\na s\nb b", "g:3: b has a cable to itself"),
        ("a b\nb c\nc a", "the network has no host"),
        ("a b", "hosts a and b are connected to each other"),
        ("H1 s\nH1 t\ns t", "g:2: a second edge leaves `H1`"),
        ("a s -1m", "is no rate"),
        ("a s 1m 2ns\nb s", "g:1: both a length and a latency"),
        ("a s rate=fast\nb s", "g:1: `fast` is no link speed"),
        (
            "a s length=long\nb s",
            "g:1: `long` is no length of a cable",
        ),
        (
            "a s medium=air length=1m\nb s",
            "g:1: the medium `air`; write fibre or copper",
        ),
        ("a s 0m\nb s", "is 0; it must be at least 1"),
        (
            "graph { a -- s; b -- s [comment=a] }",
            "g:1: a `comment` of an undirected edge",
        ),
        (
            "graph { a [type=host]; a -- s }",
            "s has no attribute `type`, and a has one",
        ),
        (
            "graph {\na [type=gpu]; a -- s }",
            "g:2: a is of type `gpu`; write host",
        ),
        (
            "graph {\na [type=host]; s [type=switch]; t [kind=switch];\na -- s; a -- t; s -- t }",
            "host a has a second cable",
        ),
        (
            "digraph { a -> s [length=1m]; s -> a [length=2m]; b -> s; s -> b }",
            "the two directions of the cable",
        ),
        ("<graphml>\n<a></graphml>", "this is no XML"),
        (
            "<!DOCTYPE g [<!ENTITY a \"b\">]>\n<graphml/>",
            "this is no XML: XML with DTD detected",
        ),
        (
            "<svg/>",
            "g:1: the element `svg` where GraphML begins with `graphml`",
        ),
        (
            "<graphml>\n</graphml>",
            "there is no `graph` in this GraphML",
        ),
        (
            &xml("<node id=\"a\"/>\n<node id=\"a\"/>"),
            "g:4: a second node a",
        ),
        (
            &xml("<node id=\"a\"/>\n<edge source=\"a\" target=\"b\"/>"),
            "g:4: an edge of b, which is no node",
        ),
        (&xml("<node/>"), "g:3: the element node has no `id`"),
        (
            &xml("<hyperedge/>"),
            "g:3: an element `hyperedge` is not read",
        ),
        ("{\"nodes\": [}", "g:1: this is no node-link JSON"),
        ("{\"nodes\": []}", "there are no `links` (or `edges`)"),
        ("{\"schema\": 1}", "there are no `nodes`"),
        (
            &format!("{node}\n{{\"source\": 1}}]}}"),
            "g:3: a link without a `target`",
        ),
        (&format!("{node}\n3]}}"), "g:3: expected a link"),
        (
            &format!("{node}{{\"source\": 1, \"target\": 3}}]}}"),
            "g:2: an edge of 3, which is no node of the file",
        ),
        (
            "seed = 1",
            "is an experiment file; kind \"graph\" reads DOT",
        ),
        (
            "Switch 8 \"S-0000000000000001\"",
            "so take kind = \"ibnetdiscover\"",
        ),
    ];
    for (text, part) in cases {
        let e =
            load("g", text, &[]).and_then(|loaded| Ok(loaded.fabric.validate_but_datelines()?));
        let e = e.unwrap_err().to_string();
        assert!(e.contains(part), "{text}\n{e}");
        assert!(e.contains("fabric.topology"), "{text}\n{e}");
    }
    let (name, text) = FORMATS[1];
    for (set, part) in [
        (
            "fabric.topology.nics=[[0, 0]]",
            "fabric.topology.nics: the file (fabric.topology.file) has the whole graph",
        ),
        ("fabric.forwarding=\"x\"", "kind \"ibnetdiscover\""),
        ("fabric.topology.file=\"none\"", "none"),
    ] {
        let e = load(name, text, &[set]).unwrap_err().to_string();
        assert!(e.contains(part), "{set}\n{e}");
    }
}

#[test]
fn analysis_reads_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = None;
    for (name, text) in FORMATS.into_iter().chain([("orcs.dot", LISTING_1)]) {
        let loaded = load_network(Some(&written(dir.path(), name, text)), None, &[]).unwrap();
        assert!(loaded.fabric().is_none());
        assert_eq!(loaded.routed, name == "orcs.dot");
        if !loaded.routed {
            let graph = loaded.network.graph;
            let rates: Vec<f64> = graph.edges().iter().map(|edge| edge.rate).collect();
            assert_eq!(
                rates.iter().filter(|&&rate| rate == 0.5).count(),
                2,
                "{name}"
            );
            assert_eq!(*first.get_or_insert_with(|| rates.clone()), rates, "{name}");
        }
    }
    assert!(load_network(Some(Path::new("-x")), None, &[]).is_err());
}

proptest! {
    /// Damaged files are refused with a line, or read; nothing panics.
    #[test]
    fn damaged_graphs_are_read_or_refused(
        which in 0usize..4,
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[\\PC\n]{0,3}"), 0..4),
    ) {
        let mut text: Vec<char> = FORMATS[which].1.chars().collect();
        for (at, length, new) in cuts {
            let at = at.index(text.len() + 1);
            text.splice(at..(at + length).min(text.len()), new.chars());
        }
        let text: String = text.into_iter().collect();
        crate::fuzz_corpus::graphs::graph_file(text.as_bytes());
        if let Err(e) = load("g", &text, &[]) {
            prop_assert!(!e.problem.is_empty());
        }
    }
}
