//! Descriptions of InfiniBand fabrics: read, refused with the line at fault, and written again.

use flitwise_formats::Place;
use flitwise_formats::infiniband::{Discovery, Forwarding, Port, SwitchTable, VlTables};

const CABLES: &str = r#"# Topology file
switchguid=0x20(20)
Switch	8 "S-0000000000000020"		# "leaf" base port 0 lid 6 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "host" lid 19 4xSDR
[5]	"S-0000000000000021"[4]		# "spine" lid 7 4xSDR

Switch	8 "S-0000000000000021"		# "spine" base port 0 lid 7 lmc 0
[4]	"S-0000000000000020"[5]		# "leaf" lid 6 4xSDR

Ca	1 "H-0000000000000010"		# "host"
[1](11) 	"S-0000000000000020"[1]		# lid 19 lmc 0 "leaf" lid 6 4xSDR
"#;

#[test]
fn cables_are_read() {
    let found = Discovery::parse(CABLES).unwrap();
    assert_eq!(found.switches[&0x21], "spine");
    assert_eq!(found.adapters[&0x10], "host");
    let port = |node, port| Port { node, port };
    assert_eq!(found.cables[&port(0x20, 5)].to, port(0x21, 4));
    assert_eq!(found.cables[&port(0x10, 1)].to, port(0x20, 1));
    assert_eq!(found.lids[&port(0x10, 1)], 19);
    assert_eq!(found.switch_lids[&0x21], 7);
    assert_eq!(found.speeds[&port(0x20, 5)], "4xSDR");
    assert_eq!(found.speeds.len(), found.cables.len());
    // Names are no speeds, and old tools print none.
    let without = Discovery::parse(&CABLES.replace(" 4xSDR", "")).unwrap();
    assert!(without.speeds.is_empty());
    for (from, to, line) in [
        ("Ca	1 \"H-", "Ca	1 \"X-", 10),
        ("Switch	8 ", "Switch	0 ", 3),
        ("Switch	8 ", "Switch	256 ", 3),
        ("Switch	8 ", "Switch	", 3),
        ("Switch	8 ", "Switch	4 ", 5),
        ("Ca	1 ", "Ca	0 ", 10),
        ("[5]	\"S-0000000000000021\"[4]", "[5]", 5),
        ("[4]	", "[0]	", 8),
        ("lid 19 lmc", "lid 0 lmc", 11),
        ("lid 19 lmc", "lmc", 11),
        (
            "Switch	8 \"S-0000000000000021",
            "Switch	8 \"S-0000000000000020",
            7,
        ),
        ("Ca	1 \"H-0000000000000010", "Ca	1 \"H-0000000000000020", 10),
    ] {
        assert!(CABLES.contains(from));
        let e = Discovery::parse(&CABLES.replace(from, to)).unwrap_err();
        assert_eq!(e.place, Place::Line(line), "{to}: {e}");
    }
    assert!(Discovery::parse("").is_err());
    assert!(Discovery::parse("[1] \"S-1\"[2]").is_err());
}

/// Switch, LID and port of all entries.
fn ports(text: &str) -> Vec<(u64, u16, u8)> {
    let found = Forwarding::parse(text).unwrap();
    let of_switch = |(&guid, table): (&u64, &SwitchTable)| {
        let all: Vec<_> = (table.entries.iter())
            .map(|entry| (guid, entry.lid, entry.port))
            .collect();
        all
    };
    found.tables.iter().flat_map(of_switch).collect()
}

#[test]
fn tables_of_all_tools_are_read() {
    let opensm = "Unicast lids [0-22] of switch Lid 2 guid 0x20 ('leaf'):\n\
    0x0001 001 # Channel Adapter portguid 0x11: 'host'\n0x0002 000 # Switch\n22 lids dumped\n";
    let dump_fts = "Unicast lids [0x0-0x16] of switch DR path slid 0; dlid 0; 0,1 guid 0x20 (leaf):\n\
    \x20 Lid  Out   Destination\n       Port     Info \n0x0001 001 : (Channel)\n0x0002 000 : (S)\n";
    let ibdiagnet = "osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000000020\n\
    LID    : Port : Hops : Optimal\n0x0001 : 001  : 00   : yes\n0x0002 : 000  : 00   : yes\n\
    0x0003 : UNREACHABLE\n\n";
    let fdbs = ibdiagnet.replace("osm_ucast_mgr_", "");
    for text in [opensm, dump_fts, ibdiagnet, &fdbs] {
        assert_eq!(ports(text), [(0x20, 1, 1), (0x20, 2, 0)], "{text}");
    }
    let found = Forwarding::parse(opensm).unwrap();
    assert_eq!(found.tables[&0x20].line, 1);
    assert_eq!(
        found.tables[&0x20].entry(2).map(|entry| entry.line),
        Some(3)
    );
    assert_eq!(found.tables[&0x20].entry(3), None);
    // In any order, and in pieces.
    let pieces =
        "Unicast guid 0x20\n0x02 1\nUnicast guid 0x21\n0x01 2\nUnicast guid 0x20\n0x01 3\n";
    assert_eq!(ports(pieces), [(0x20, 1, 3), (0x20, 2, 1), (0x21, 1, 2)]);
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    for (text, line) in [
        ("", 1),
        ("0x0001 001", 1),
        ("Unicast lids of switch Lid 2", 1),
        ("osm_ucast_mgr_dump_ucast_routes: Switch", 1),
        ("Unicast guid 0x20\n0x0001 256", 2),
        ("Unicast guid 0x20\n0x0001 : 256 : 00 : yes", 2),
        ("Unicast guid 0x20\n0x0001 :", 2),
        ("Unicast guid 0x20\n0x10001 1", 2),
        ("Unicast guid 0x20\n0x01 1\n0x0001 1", 3),
        ("Unicast guid 0x20\n0x02 1\n0x01 1\n0x0001 1\n0x02 1", 4),
    ] {
        assert_eq!(
            Forwarding::parse(text).unwrap_err().place,
            Place::Line(line),
            "{text}"
        );
    }
}

#[test]
fn sl_to_vl_tables_are_read() {
    let row = "0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7";
    let text = format!(
        "Switch 0x20, base LID 2, \"leaf\"\n#in out : 0 1\n#----\n1   5   : {row} \n\n\
     Channel Adapter 0x11, base LID 22, \"host\"\n0   0   : {row} \n"
    );
    let tables = VlTables::parse(&text).unwrap();
    assert_eq!(tables.switches[&(0x20, 1, 5)][7], 7);
    assert_eq!(tables.adapters[&22][15], 7);
    for (from, to, line) in [
        (" 7 \n\n", " \n\n", 4),
        ("1   5   :", "1 :", 4),
        ("LID 22", "LID x", 6),
        ("Switch 0x20", "Switch y", 1),
    ] {
        assert!(text.contains(from));
        let e = VlTables::parse(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(e.place, Place::Line(line), "{to}: {e}");
    }
    assert!(VlTables::parse("").is_err());
}

#[test]
fn what_is_written_is_read_again() {
    let text = "Switch	8 \"S-20\"	# \"leaf\" base port 0 lid 6 lmc 0\n\
    [1]	\"H-10\"[1](11) 	# \"a b\" lid 1 4xSDR\n[5]	\"S-21\"[4]	# \"spine\" lid 7 4xSDR\n\
    Switch	8 \"S-21\"	# \"spine\"\n[4]	\"S-20\"[5]	# \"leaf\" lid 6 4xSDR\n\
    Ca	2 \"H-10\"	# \"a b\"\n[1](11) 	\"S-20\"[1]	# lid 2 lmc 1 \"leaf\" lid 6 4xSDR\n";
    let mut found = Discovery::parse(text).unwrap();
    let mut written = Vec::new();
    found.write(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let mut again = Discovery::parse(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
    for one in [&mut found, &mut again] {
        one.cables.values_mut().for_each(|cable| cable.line = 0);
    }
    assert_eq!(found, again, "{written}");
}
