//! Networks for static analysis: ORCS's graphs, experiments, and dumps of subnets, and that broken ones are
//! refused with file and line.

use super::subnet::two_switches;
use crate::common::data::data;
use flitwise::config::{LoadedNetwork, NetworkSource, load_network, network_text};
use flitwise::oblivious::{Graph, HostId, Lost, Network, NodeId, PathChoice};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Listing 1 of the ORCS report, to the character.
pub const LISTING_1: &str = r#"digraph network {
    "S1" -> "H1" [ comment = "H1" ];
    "S1" -> "H2" [ comment = "H2" ];
    "S1" -> "H3" [ comment = "H3" ];
    "S1" -> "H4" [ comment = "H4" ];

    "H1" -> "S1" [ comment = "*" ];
    "H2" -> "S1" [ comment = "*" ];
    "H3" -> "S1" [ comment = "*" ];
    "H4" -> "S1" [ comment = "*" ];

    "S1" -> "S11" [ comment = "H5" ];
    "S1" -> "S11" [ comment = "H6" ];
    "S1" -> "S12" [ comment = "H7" ];
    "S1" -> "S12" [ comment = "H8" ];

    "S11" -> "S1" [ comment = "H1,H2" ];
    "S11" -> "S1" [ comment = "H3,H4" ];
    "S12" -> "S1" [ comment = "H1,H2" ];
    "S12" -> "S1" [ comment = "H3,H4" ];
}
"#;

pub fn written(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Names along the route of a pair.
fn route(network: &Network, src: u32, dst: u32, path: u32) -> Result<Vec<String>, Lost> {
    let mut route = Vec::new();
    network.route(HostId::new(src), HostId::new(dst), path, &mut route)?;
    let graph = &network.graph;
    Ok(route.iter().map(|&edge| graph.edge_text(edge)).collect())
}

#[test]
fn the_listing_of_the_orcs_report() {
    let dir = tempfile::tempdir().unwrap();
    let loaded = load_network(Some(&written(dir.path(), "listing", LISTING_1)), None, &[]).unwrap();
    assert!(loaded.routed && loaded.source == NetworkSource::Graph && loaded.fabric().is_none());
    let graph = &loaded.network.graph;
    assert_eq!((graph.host_count(), graph.nodes().len()), (4, 7));
    assert_eq!(
        route(&loaded.network, 0, 3, 0).unwrap(),
        ["H1 -> S1 port 1", "S1 port 4 -> H4"]
    );
    let [note] = &loaded.notes[..] else {
        panic!("{:?}", loaded.notes);
    };
    assert_eq!(note.line, Some(12));
    assert_eq!(
        note.text,
        "`H5` and 3 more destinations of comments are in no edge, so nothing is sent there"
    );
    // The second cable from S11 to S1 has the line of its route.
    let s11 = graph.edges()[graph.edges_as_given()[12].index()].from;
    let place = loaded.entry_place(s11, HostId::new(3), 0).unwrap();
    assert!(place.ends_with("listing:18"), "{place}");
}

#[test]
fn the_first_edge_of_the_file_takes_a_packet() {
    let text = "digraph { H1 -> s; H2 -> s; s -> H1 [comment=\"*\"]; s -> H2 [comment=H2] }";
    let read = Network::from_dot(text).unwrap();
    assert_eq!(
        route(&read.network, 0, 1, 0),
        Err(Lost::WrongHost(read.network.graph.node_of(HostId::new(0))))
    );
    let text = "digraph { H1 -> s; H2 -> s; s -> H2 [comment=\"s,H2\"]; s -> H1 [comment=\"*\"] }";
    let read = Network::from_dot(text).unwrap();
    assert!(read.routed && read.notes.is_empty());
    for (src, dst) in [(0, 1), (1, 0)] {
        assert_eq!(route(&read.network, src, dst, 0).unwrap().len(), 2);
    }
    // A drawing has no routes.
    let read = Network::from_dot("digraph { H1 -> s -> H1; H2 -> s -> H2 }").unwrap();
    assert!(!read.routed);
    assert!(matches!(
        route(&read.network, 0, 1, 0),
        Err(Lost::NoEntry(_))
    ));
}

#[test]
fn graphs_that_are_no_network_are_refused_with_line_and_cure() {
    for (text, line, part) in [
        ("graph { H1 -> s }", Some(1), "write `--`"),
        (
            "digraph {\nH1 -> s -> H1\ns -> t\n}",
            Some(3),
            "has no direction back; add \"t\" -> \"s\"",
        ),
        (
            "digraph {\nH1 -> s -> H1\nH1 -> t -> H1\n}",
            Some(3),
            "a second edge leaves `H1`, whose name begins with `H`",
        ),
        (
            "digraph {\nH1 -> s -> H1\nH2\n}",
            Some(3),
            "host H2 has no cable",
        ),
        (
            "digraph {\nH1 -> H2 -> H1\n}",
            Some(2),
            "connected to each other",
        ),
        (
            "digraph {\nH1 -> s -> H1\ns -> s\n}",
            Some(3),
            "has a cable to itself",
        ),
        (
            "digraph { a -> b -> c -> a -> c -> b -> a }",
            None,
            "has no host",
        ),
        (
            "digraph {\nH1 -> s -> H1\n",
            Some(3),
            "found the end of the file",
        ),
    ] {
        let e = Network::from_dot(text).unwrap_err();
        assert!(e.problem.contains(part), "{text}: {e}");
        assert_eq!(e.line, line, "{text}: {e}");
    }
}

fn cables() -> String {
    let cables = two_switches(&[([4, 5], "4xQDR"), ([5, 4], "4xQDR")], 8, 1);
    format!("# Topology file\nvendid=0x0\n{cables}")
}

const TABLES: &str = "Unicast lids [0-9] of switch Lid 6 guid 0x20 ('leaf'):\n\
    0x0001 001 # a\n0x0006 000\n0x0008 004 # b\n0x0009 005 # b\n\
    Unicast lids [0-9] of switch Lid 7 guid 0x21 ('spine'):\n0x0001 004\n0x0007 000\n0x0008 001\n0x0009 001\n";

fn dumped(dir: &Path, cables: &str, tables: &str) -> Result<LoadedNetwork, String> {
    let cables = written(dir, "cables", cables);
    let tables = written(dir, "tables", tables);
    load_network(Some(&cables), Some(&tables), &[]).map_err(|e| e.to_string())
}

/// Whatever uses the speeds, and even if a key sets them.
#[test]
fn a_width_that_no_link_has_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cables = cables().replacen("4xQDR", "99xQDR", 1);
    let e = dumped(dir.path(), &cables, TABLES).unwrap_err();
    assert!(
        e.contains("a link speed of `99xQDR`; links have the width 1x"),
        "{e}"
    );
    let experiment = "fabric = { kind = 'hierarchical', topology = { kind = 'ibnetdiscover', file = 'cables' } }";
    let file = written(dir.path(), "experiment.toml", experiment);
    let e = load_network(Some(&file), None, &[])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(e.contains("a link speed of `99xQDR`"), "{e}");
}

#[test]
fn each_address_of_a_host_is_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let loaded = dumped(dir.path(), &cables(), TABLES).unwrap();
    assert!(loaded.routed && loaded.source == NetworkSource::Discovery);
    assert_eq!(loaded.network.tables.paths(), 2);
    let to_b = |path| route(&loaded.network, 0, 1, path).unwrap();
    assert_eq!(
        to_b(0),
        [
            "a -> leaf port 1",
            "leaf port 4 -> spine port 5",
            "spine port 1 -> b"
        ]
    );
    assert_eq!(to_b(1)[1], "leaf port 5 -> spine port 4");
    // Host a has one address, which serves as both.
    assert_eq!(
        route(&loaded.network, 1, 0, 0),
        route(&loaded.network, 1, 0, 1)
    );
    let graph = &loaded.network.graph;
    let rates: Vec<f64> = ["a -> leaf port 1", "leaf port 4 -> spine port 5"]
        .iter()
        .map(|text| {
            graph
                .edges()
                .iter()
                .find(|e| graph.edge_text(graph.edge(e.reverse).reverse) == **text)
                .unwrap()
                .rate
        })
        .collect();
    assert_eq!(rates, [0.25, 1.0]);
    let leaf = graph.switch_of(HostId::new(0));
    let place = loaded.entry_place(leaf, HostId::new(1), 1).unwrap();
    assert!(place.ends_with("tables:5"), "{place}");
    // Without tables: cables only.
    let loaded = load_network(Some(&dir.path().join("cables")), None, &[]).unwrap();
    assert!(!loaded.routed);
}

#[test]
fn missing_entries_are_noted() {
    let dir = tempfile::tempdir().unwrap();
    let without = TABLES
        .replace("0x0009 005 # b\n", "")
        .replace("0x0009 001", "0x0009 255");
    let loaded = dumped(dir.path(), &cables(), &without).unwrap();
    let [note] = &loaded.notes[..] else {
        panic!("{:?}", loaded.notes);
    };
    assert_eq!(note.line, Some(1));
    assert!(
        note.text
            .contains("switch leaf (0x20) has no entry for LID 9 (b)"),
        "{note:?}"
    );
    assert!(
        note.text.ends_with("(1 more entries are missing)"),
        "{note:?}"
    );
    assert!(matches!(
        route(&loaded.network, 0, 1, 1),
        Err(Lost::NoEntry(_))
    ));
}

#[test]
fn wrong_entries_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (cables, tables, part) in [
        (
            ("", ""),
            ("0x0008 004", "0x0008 001"),
            "tables:4: switch leaf (0x20) sends LID 8 (b) out of port 1, which leads to a",
        ),
        (
            ("", ""),
            ("0x0008 004", "0x0008 007"),
            "tables:4: switch leaf (0x20) sends LID 8 (b) out of port 7, to which nothing",
        ),
        (
            ("", ""),
            ("guid 0x21", "guid 0x22"),
            "tables: there is no table of switch spine (0x21)",
        ),
        (
            ("", ""),
            ("0x0001 001", "0x0001 1x"),
            "tables:2: no entry of a table",
        ),
        (
            ("lid 1 lmc 0", "lid 8 lmc 0"),
            ("", ""),
            "cables:14: a second port with LID 8",
        ),
        (
            ("lid 1 lmc 0", "lid 9 lmc 0"),
            ("", ""),
            "cables: LID 9 is of b, whose LIDs are 8 to 9, and of a",
        ),
        (("lmc 1", "lmc 8"), ("", ""), "cables:14: an LMC is 0 to 7"),
        (
            ("[4]	\"S-20\"[5]", "[4]	\"S-20\"[6]"),
            ("", ""),
            "does not lead back",
        ),
    ] {
        let cables = self::cables().replace(cables.0, cables.1);
        let tables = TABLES.replace(tables.0, tables.1);
        let message = dumped(dir.path(), &cables, &tables).unwrap_err();
        assert!(message.contains(part), "{message}\nnot\n{part}");
    }
}

#[test]
fn the_content_tells_what_a_file_is() {
    let dir = tempfile::tempdir().unwrap();
    let load = |text: &str, sets: &[String]| {
        load_network(Some(&written(dir.path(), "some.txt", text)), None, sets)
    };
    for text in [
        "# a\n[fabric]\n",
        "[[job]]\ntrace = \"a.vef\"\n",
        "fabric.topology = { kind = \"single\", nics = 4 }\n",
    ] {
        assert!(load(text, &[]).unwrap().fabric().is_some(), "{text}");
    }
    // The network of an empty file is no default.
    let set = ["fabric.kind=voq".to_owned()];
    for text in ["", " \n\t\n", "\u{feff}", "# a\n\n# b"] {
        let message = load(text, &[]).unwrap_err().to_string();
        assert!(message.contains("describes no network"), "{message}");
        assert!(load(text, &["seed=2".to_owned()]).is_err());
        assert!(load(text, &set).is_ok());
    }
    let dot = "// a\n# b\n/* c */ Digraph { H1 -> s -> H1 }";
    assert_eq!(load(dot, &[]).unwrap().source, NetworkSource::Graph);
    let message = load(dot, &set).unwrap_err().to_string();
    assert!(
        message.contains("is a graph in the DOT language; leave it out"),
        "{message}"
    );
    let message = load("graph = 1\n", &[]).unwrap_err().to_string();
    assert!(message.contains("unknown key `graph`"), "{message}");
    let tables = Some(Path::new("lfts"));
    let message = load_network(None, tables, &[]).unwrap_err().to_string();
    assert!(
        message.contains("--tables: lfts: forwarding tables name switches by GUID"),
        "{message}"
    );
}

#[test]
fn real_dumps_give_the_network_of_their_fabric() {
    let Some(dir) = data("ib") else { return };
    let set = dir.join("ft2-324h-ftree");
    let file = |name: &str| set.join(name);
    let loaded = load_network(
        Some(&file("ibnetdiscover.txt.gz")),
        Some(&file("opensm-lfts.dump.gz")),
        &[],
    )
    .unwrap();
    let sets = [
        "fabric.kind=voq".to_owned(),
        format!(
            "fabric.topology={{kind=\"ibnetdiscover\",file={:?}}}",
            file("ibnetdiscover.txt.gz")
        ),
        format!("fabric.forwarding={:?}", file("opensm-lfts.dump.gz")),
    ];
    let experiment = load_network(None, None, &sets).unwrap();
    assert_eq!(loaded.network, experiment.network);
    assert!(loaded.notes.is_empty());
}

/// Every column of CHECK.tsv but the cycle on one VL, which `import_infiniband` and `network_routing` look at.
#[test]
fn surveys_of_real_tables_are_what_others_found() {
    let Some(dir) = data("ib") else { return };
    let check = std::fs::read_to_string(dir.join("CHECK.tsv")).unwrap();
    let mut lines = check.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut sets = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let text = |name: &str| fields[names.iter().position(|n| *n == name).unwrap()];
        let number = |name: &str| text(name).parse::<u64>().unwrap();
        let set = dir.join(text("set"));
        let load = |tables: &str| {
            let cables = set.join("ibnetdiscover.txt.gz");
            load_network(Some(&cables), Some(&set.join(tables)), &[]).unwrap()
        };
        let loaded = load("opensm-lfts.dump.gz");
        let network = &loaded.network;
        let graph = &network.graph;
        assert_eq!(u64::from(graph.host_count()), number("hosts"), "{line}");
        let switches = graph.nodes().len() as u64 - number("hosts");
        assert_eq!(switches, number("switches"), "{line}");
        let between = graph.edges().len() as u64 - 2 * number("hosts");
        assert_eq!(between, number("dir_isl"), "{line}");
        let survey = network.survey();
        assert_eq!(survey.connected(), number("pairs_ok"), "{line}");
        assert_eq!(
            survey.pairs - survey.connected(),
            number("pairs_bad"),
            "{line}"
        );
        let hops: Vec<String> = (survey.by_edges.iter().enumerate())
            .filter(|(_, pairs)| **pairs > 0)
            .map(|(edges, pairs)| format!("'{edges}': {pairs}"))
            .collect();
        assert_eq!(
            format!("{{{}}}", hops.join(", ")),
            text("hops_histogram"),
            "{line}"
        );
        let (min, max, used) = survey.between_switches(network).unwrap();
        assert_eq!(min, number("min_isl_paths"), "{line}");
        assert_eq!(max, number("max_isl_paths"), "{line}");
        assert_eq!(used as u64, number("isl_used"), "{line}");
        let agrees = agrees(&loaded, &load("dump_fts.txt.gz"), &set);
        assert_eq!(agrees, text("dump_fts_agrees") == "True", "{line}");
        assert_eq!(
            service_levels(&set, network),
            text("sl_histogram"),
            "{line}"
        );
        sets += 1;
    }
    assert!(sets >= 4, "only {sets} sets of dumps");
}

/// Whether the tables are as another program read them back, which leaves out the last LID if it is a multiple of 64.
fn agrees(one: &LoadedNetwork, again: &LoadedNetwork, set: &Path) -> bool {
    let counts = std::fs::read_to_string(set.join("check.json")).unwrap();
    let whole = counts.contains("\"lids_missing_in_dump_fts\": 0");
    assert_eq!(again.notes.is_empty(), whole, "{}", set.display());
    let graph = &one.network.graph;
    let edge = |loaded: &LoadedNetwork, host, node| {
        let tables = &loaded.network.tables;
        tables.next(graph, node, tables.column(host, 0))
    };
    every(graph).all(|(node, host)| {
        let (first, second) = (edge(one, host, node), edge(again, host, node));
        first == second || (second.is_none() && !whole)
    })
}

/// The ordered pairs of hosts by the service level that the subnet administrator gave their paths, as CHECK.tsv has them, in
/// the order of the file; nothing if it was not asked.
fn service_levels(set: &Path, network: &Network) -> String {
    let paths = set.join("path_sl.txt.gz");
    if !paths.exists() {
        return String::new();
    }
    let mut counts: Vec<(String, u64)> = Vec::new();
    let mut pairs = BTreeSet::new();
    for path in network_text(&paths).unwrap().lines() {
        let [src, dst, sl] = path.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{path}");
        };
        assert!(pairs.insert((src.to_owned(), dst.to_owned())), "{path}");
        match counts.iter_mut().find(|(level, _)| level == sl) {
            Some((_, count)) => *count += 1,
            None => counts.push((sl.to_owned(), 1)),
        }
    }
    let hosts = u64::from(network.graph.host_count());
    assert_eq!(pairs.len() as u64, hosts * (hosts - 1));
    let counts: Vec<String> = counts
        .iter()
        .map(|(sl, count)| format!("'{sl}': {count}"))
        .collect();
    format!("{{{}}}", counts.join(", "))
}

/// Every node with every host.
fn every(graph: &Graph) -> impl Iterator<Item = (NodeId, HostId)> {
    let hosts = graph.host_count();
    let nodes = NodeId::all(graph.nodes().len() as u32);
    nodes.flat_map(move |node| HostId::all(hosts).map(move |host| (node, host)))
}

/// What `opensm -l 1` made of 16 hosts on 6 switches in ibsim: two addresses per host, by all three tools.
#[test]
fn real_tables_with_two_addresses_per_host() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/networks/lmc1");
    let load = |tables: &str| {
        let cables = dir.join("ibnetdiscover.txt");
        load_network(Some(&cables), Some(&dir.join(tables)), &[]).unwrap()
    };
    let loaded = load("opensm-lfts.dump");
    for other in ["opensm.fdbs", "dump_fts.txt"] {
        assert_eq!(load(other).network, loaded.network, "{other}");
    }
    for choice in [PathChoice::First, PathChoice::BySource, PathChoice::ByPair] {
        let survey = loaded.network.survey_by(choice);
        assert_eq!((survey.pairs, survey.connected()), (240, 240), "{choice:?}");
        assert_eq!(survey.by_edges, [0, 0, 48, 0, 192], "{choice:?}");
    }
    let both = |dst| [0, 1].map(|path| route(&loaded.network, 0, dst, path).unwrap());
    let differ = (1..16).map(both).filter(|[one, two]| one != two).count();
    assert_eq!(differ, 12, "each pair of different leaves has two routes");
}
