//! Fabrics described by `ibnetdiscover`, forwarding and SL-to-VL tables of `opensm`: real
//! ones, where they are installed, against values found independently, and small broken ones.

use super::subnet::two_switches;
use crate::common::data::data;
use crate::common::ids::{hop, port_of};
use crate::common::resolved::{fabric, refused};
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::ids::{NicId, PortId, SwitchPort};
use flitwise::fabric::spec::{FabricSpec, VlPolicy};
use flitwise::fabric::topology::Peer;
use std::path::{Path, PathBuf};

/// Where the dumps are; none: not installed.
fn dumps() -> Option<PathBuf> {
    data("ib")
}

/// A fabric of one set of dumps, with `more` keys of [fabric].
fn imported(set: &Path, more: &str) -> FabricSpec {
    let file = |name: &str| set.join(name).display().to_string();
    fabric(&format!(
        "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"ibnetdiscover\", file = {:?} }}\n\
         forwarding = {:?}\n{more}",
        file("ibnetdiscover.txt.gz"),
        file("opensm-lfts.dump.gz")
    ))
}

fn sl2vl(set: &Path) -> String {
    format!(
        "sl2vl = {:?}\n",
        set.join("opensm-sl2vl.dump.gz").display().to_string()
    )
}

#[test]
fn real_tables_are_what_others_found_them_to_be() {
    let Some(dir) = dumps() else { return };
    let check = std::fs::read_to_string(dir.join("CHECK.tsv")).unwrap();
    let mut lines = check.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut sets = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let text = |name: &str| fields[names.iter().position(|n| *n == name).unwrap()];
        let number = |name: &str| text(name).parse::<u64>().unwrap();
        let set = dir.join(text("set"));
        sets += 1;
        let spec = imported(&set, "");
        let t = &spec.topology;
        assert_eq!(u64::from(t.nics()), number("hosts"), "{line}");
        assert_eq!(u64::from(t.switches()), number("switches"), "{line}");
        assert_eq!(t.directed_switch_links(), number("dir_isl"), "{line}");
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        assert_eq!(
            (routes.connected(), 0),
            (number("pairs_ok"), number("pairs_bad")),
            "{line}"
        );
        // They count the links to both hosts as hops, too.
        let hops = text("hops_histogram").trim_matches(['{', '}']);
        let mut pairs_by_hops = vec![0; routes.pairs_by_hops.len()];
        for entry in hops.split(", ") {
            let (hops, pairs) = entry.split_once(": ").unwrap();
            let hops: usize = hops.trim_matches('\'').parse().unwrap();
            pairs_by_hops[hops - 2] = pairs.parse().unwrap();
        }
        assert_eq!(routes.pairs_by_hops, pairs_by_hops, "{line}");
        let at = |at: &usize| {
            let SwitchPort { switch, port } = SwitchPort::of_index(*at as u32, t.radix());
            t.peer(switch, port)
        };
        let links = (0..routes.link_pairs.len()).filter(|l| matches!(at(l), Peer::Switch { .. }));
        let pairs: Vec<u64> = links.map(|l| routes.link_pairs[l]).collect();
        assert_eq!(pairs.iter().max(), Some(&number("max_isl_paths")), "{line}");
        assert_eq!(pairs.iter().min(), Some(&number("min_isl_paths")), "{line}");
        let used = pairs.iter().filter(|&&n| n > 0).count() as u64;
        assert_eq!(used, number("isl_used"), "{line}");
        let cycle = ChannelGraph::new(&spec, &routes).unwrap().cycle();
        let expected = if cycle.is_some() { "True" } else { "False" };
        assert_eq!(text("cdg_cycle_if_one_vl"), expected, "{line}");
        // The tables as another program read them back, where none is missing.
        let counts = std::fs::read_to_string(set.join("check.json")).unwrap();
        if counts.contains("\"lids_missing_in_dump_fts\": 0") && t.nics() < 100 {
            let fts = set.join("dump_fts.txt.gz").display().to_string();
            let again = fabric(&format!(
                "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"ibnetdiscover\", file = {:?} }}\n\
                 forwarding = {fts:?}\n",
                set.join("ibnetdiscover.txt.gz").display().to_string()
            ));
            assert_eq!(again.routing.forwarding, spec.routing.forwarding, "{line}");
        }
    }
    assert!(sets >= 4, "only {sets} sets of dumps");
}

#[test]
fn real_sl_to_vl_tables() {
    let Some(dir) = dumps() else { return };
    let levels = |count: usize| {
        let levels: Vec<String> = (0..count)
            .map(|sl| format!("{{ name = \"{sl}\" }}"))
            .collect();
        let levels = levels.join(", ").replace("\"0\"", "\"A\"");
        format!(
            "nic_sink = \"128KiB\"\ninput_buffer = \"128KiB\"\n[qos]\nservice_levels = [{levels}]\n"
        )
    };
    let tree = dir.join("ft2-16h-dfsssp");
    let spec = imported(&tree, &(sl2vl(&tree) + &levels(16)));
    assert_eq!(spec.qos.vls, 8);
    let VlPolicy::SlToVl(tables) = &spec.qos.vl_policy else {
        panic!("no tables");
    };
    // SL modulo 8 everywhere, so that one table is enough.
    let modulo: Vec<u8> = (0..16).map(|sl| sl % 8).collect();
    assert_eq!(
        (&tables.default, tables.hcas.len(), tables.ports.len()),
        (&modulo, 0, 0)
    );
    let routes = RouteAnalysis::new(&spec, &spec).unwrap();
    let graph = ChannelGraph::new(&spec, &routes).unwrap();
    assert_eq!(graph.cycle(), None);
    assert_eq!(tables.at_switch(hop(3, 0, 5), 9), Some(1));
    let torus = dir.join("torus-4x4x4-torus-2QoS");
    let spec = imported(&torus, &(sl2vl(&torus) + &levels(8)));
    assert_eq!(spec.qos.vls, 4);
    let VlPolicy::SlToVl(tables) = &spec.qos.vl_policy else {
        panic!("no tables");
    };
    // The first switch of the file, from port 3 to port 1: SL 1 goes on VL 3, from 1 to 2
    // on VL 1.
    assert_eq!(tables.at_switch(hop(0, 2, 0), 1), Some(3));
    assert_eq!(tables.at_switch(hop(0, 0, 1), 1), Some(1));
    assert_eq!(tables.at_hca(NicId::new(0), 7), Some(0));
}

/// Real tables on hierarchical switches: Torus-2QoS has no cycle, also where packets wait in output
/// and central buffers. Plain dimension order on one VL has the rings as cycles.
#[test]
fn real_tori_on_hierarchical_switches() {
    let Some(dir) = dumps() else { return };
    let levels: Vec<String> = (0..8).map(|sl| format!("{{ name = \"{sl}\" }}")).collect();
    let levels = levels.join(", ").replace("\"0\"", "\"A\"");
    let cycle = |set: &Path, sl2vl: &str| {
        let file = |name: &str| set.join(name).display().to_string();
        let spec = fabric(&format!(
            "[fabric]\ntopology = {{ kind = \"ibnetdiscover\", file = {:?} }}\nforwarding = {:?}\n\
             central_buffer = \"256KiB\"\n{sl2vl}\n[qos]\nservice_levels = [{levels}]\n",
            file("ibnetdiscover.txt.gz"),
            file("opensm-lfts.dump.gz"),
        ));
        assert!(spec.hierarchical().is_some());
        let routes = RouteAnalysis::new(&spec, &spec).unwrap();
        assert_eq!(routes.connected(), 64 * 63);
        ChannelGraph::new(&spec, &routes).unwrap().cycle()
    };
    let torus = dir.join("torus-4x4x4-torus-2QoS");
    assert_eq!(cycle(&torus, &sl2vl(&torus)), None);
    let torus = dir.join("torus-4x4x4-dor");
    let cycle = cycle(&torus, "sl2vl = [0, 0, 0, 0, 0, 0, 0, 0]");
    // Input and output buffers of the four switches of a ring.
    assert_eq!(cycle.map(|cycle| cycle.len()), Some(8));
}

fn cables() -> String {
    two_switches(&[([5, 4], "4xSDR")], 2, 0)
}

const TABLES: &str = "Unicast lids [0-7] of switch Lid 6 guid 0x20 ('leaf'):\n\
    0x0001 001 # a\n0x0002 005 # b\n0x0006 000 # leaf\n3 lids dumped\n\
    Unicast lids [0-7] of switch Lid 7 guid 0x21 ('spine'):\n0x0001 004\n0x0002 001\n0x0007 000\n";
const HEAD: &str = "#in out : 0  1\n";

fn vl_tables() -> String {
    let row = |vl: &str| [vl; 16].join(" ");
    let (zero, one) = (row("0"), row("1"));
    let all: String = [1, 4, 5]
        .iter()
        .flat_map(|i| {
            [1, 4, 5].map(|o| format!("{i} {o} : {}\n", if i + o == 6 { &one } else { &zero }))
        })
        .collect();
    format!(
        "Switch 0x20, base LID 6, \"leaf\"\n{HEAD}{all}\nSwitch 0x21, base LID 7, \"spine\"\n{all}\n\
         Channel Adapter 0x11, base LID 1, \"a\"\n0 0 : {zero}\n\
         Channel Adapter 0x13, base LID 2, \"b\"\n0 0 : {one}\n"
    )
}

/// An experiment on three files in a directory.
fn small(dir: &Path, cables: &str, tables: &str, vls: &str) -> String {
    let write = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text).unwrap();
        dir.join(name).display().to_string()
    };
    format!(
        "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"ibnetdiscover\", file = {:?} }}\nforwarding = {:?}\nsl2vl = {:?}\n",
        write("cables", cables),
        write("tables", tables),
        write("vls", vls)
    )
}

#[test]
fn nodes_are_numbered_by_guid_and_ports_from_zero() {
    let dir = tempfile::tempdir().unwrap();
    let spec = fabric(&small(dir.path(), &cables(), TABLES, &vl_tables()));
    let t = &spec.topology;
    assert_eq!((t.nics(), t.switches()), (2, 2));
    let attachments: Vec<_> = t.nic_ids().map(|nic| t.attachment(nic)).collect();
    assert_eq!(attachments, [port_of(0, 0), port_of(1, 0)]);
    let (a, SwitchPort { switch, port }) = (port_of(0, 4), port_of(1, 3));
    assert_eq!(t.peer(a.switch, a.port), Peer::Switch { switch, port });
    assert_eq!(
        spec.routing.forwarding.as_ref().unwrap().ports,
        [[0, 4], [3, 0]].map(|row| row.map(PortId::new))
    );
    let VlPolicy::SlToVl(tables) = &spec.qos.vl_policy else {
        panic!("no tables");
    };
    assert_eq!(
        (
            tables.at_hca(NicId::new(0), 0),
            tables.at_hca(NicId::new(1), 0)
        ),
        (Some(0), Some(1))
    );
    assert_eq!(
        (
            tables.at_switch(hop(0, 0, 4), 0),
            tables.at_switch(hop(1, 3, 0), 0)
        ),
        (Some(1), Some(0))
    );
}

#[test]
fn a_switch_without_cables_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cables");
    std::fs::write(&file, format!("{}\nSwitch	8 \"S-22\"\n", cables())).unwrap();
    let message = refused(&format!(
        "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"ibnetdiscover\", file = {:?} }}\n",
        file.display().to_string()
    ));
    assert!(
        message.contains("cables:15: a switch of which no port"),
        "{message}"
    );
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let vls = vl_tables();
    for (file, from, to, part) in [
        (
            0,
            "[4]	\"S-20\"[5]",
            "[4]	\"S-20\"[6]",
            "cables:3: port 4 of node 0x21 does not lead back",
        ),
        (
            0,
            "Ca	1 \"H-10\"",
            "Ca	1 \"H-12\"",
            "does not lead back here",
        ),
        (0, "lid 2 lmc", "lid 1 lmc", "a second port with LID 1"),
        (
            0,
            "Switch	8 \"S-21\"",
            "Switch	0 \"S-21\"",
            "cables:5: a node without its number of ports",
        ),
        (
            0,
            "Switch	8 \"S-21\"",
            "Switch	3 \"S-21\"",
            "cables:7: port 4 of node 0x21, which has 3",
        ),
        (0, "[5]	", "(5)	", "cables:7"),
        (
            1,
            "0x0002 005",
            "0x0003 005",
            "switch leaf (0x20) has no entry for LID 2 (b)",
        ),
        (
            1,
            "0x0002 005",
            "0x0002 255",
            "switch leaf (0x20) has no route for LID 2 (b)",
        ),
        (
            1,
            "0x0001 001",
            "0x0001 xyz",
            "tables:2: no entry of a table",
        ),
        (
            1,
            "0x0002 005",
            "0x0002 001",
            "switch leaf (0x20) sends LID 2 (b) out of port 1, which leads to a: a cable was moved",
        ),
        (
            1,
            "0x0002 005",
            "0x0002 007",
            "out of port 7, to which nothing is connected",
        ),
        (
            1,
            "0x0002 005",
            "0x0002 099",
            "out of port 99, to which nothing is connected",
        ),
        (
            1,
            "guid 0x21",
            "guid 0x29",
            "there is no table of switch spine (0x21), to which cables lead; write both",
        ),
        (1, "0x0002 001\n", "0x0002 004\n", "loop"),
        (
            2,
            "5 1 :",
            "5 7 :",
            "there is no table of switch 0x20 from port 5 to port 1",
        ),
        (
            2,
            "base LID 2,",
            "base LID 9,",
            "there is no table of NIC 1",
        ),
        (2, "0 0 : 0", "0 0 : ", "no table: there must be"),
    ] {
        let mut texts = [cables(), TABLES.to_owned(), vls.clone()];
        assert!(texts[file].contains(from), "{from}");
        texts[file] = texts[file].replacen(from, to, 1);
        let message = refused(&small(dir.path(), &texts[0], &texts[1], &texts[2]));
        assert!(message.contains(part), "{to}: {message}");
    }
    let text = small(dir.path(), &cables(), TABLES, &vls);
    let gone = text.replace("cables", "nowhere");
    assert!(refused(&gone).contains("nowhere"), "{}", refused(&gone));
    // Tables name nodes by GUID, so they need the fabric.
    let single = "[fabric]\nkind = \"voq\"\ntopology = { kind = \"single\", nics = 4 }\n";
    for key in ["forwarding", "sl2vl"] {
        let message = refused(&format!("{single}{key} = \"some.dump\""));
        assert!(message.contains("kind \"ibnetdiscover\""), "{message}");
    }
    let message = refused("[fabric]\ntopology = { kind = \"ibnetdiscover\" }");
    assert!(message.contains("needs `file`"), "{message}");
}
