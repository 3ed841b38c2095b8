//! `[congestion_control]` means what `docs/reference/experiment.md` says.

use crate::common::resolved::{cct, control, corpus, fabric, plan_with, port_vl, refused, voq};
use flitwise::config::{experiment_json, resolve_text};
use flitwise::fabric::ids::{PortId, SwitchId};
use flitwise::fabric::spec::Notification;
use flitwise::fabric::spec::congestion::{
    CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marking, PortCongestion, SlCongestion,
    SlScope, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::voq::VlArb;

const QUIET: &str = "fabric.preset = \"ib-ddr-testbed\"\n[congestion_control]\n";

#[test]
fn congestion_control_has_the_names_of_the_specification() {
    let spec = fabric(&format!("{QUIET}kind = \"ib\""));
    let c = control(&spec);
    let (marker, table) = (port_vl(c), cct(c));
    let port = |threshold, victim_mask| PortCongestion {
        threshold,
        victim_mask,
        packet_size: 0,
        marking_rate: 3,
        credit_mask: false,
        cs_threshold: 0,
        cs_return_delay: CctEntry::NONE,
    };
    assert_eq!((marker.marking, marker.marking_seed), (Marking::Random, 1));
    assert_eq!(
        (table.sl_scope, table.ird_base),
        (SlScope::Flow, IrdBase::Packet)
    );
    assert_eq!(
        (table.timer_restart, table.ccti_bound),
        (TimerRestart::AtExpiry, CctiBound::Saturate)
    );
    assert_eq!(
        (marker.host_ports, marker.switch_ports),
        (port(12, true), port(12, false))
    );
    assert_eq!((table.cct.len(), table.ccti_limit), (128, 127));
    assert_eq!(table.cct[0].multiplier, 0);
    let quarter = |i: usize| table.cct[i].multiplier as usize * 4 == i << table.cct[i].shift;
    assert!((0..128).all(quarter));
    // 64 units of 1.024 us.
    let timer = spec.units.tick.ticks(65_536_000);
    let level = SlCongestion {
        ccti_increase: 1,
        ccti_min: 0,
        ccti_timer: timer,
        trigger_threshold: 0,
    };
    assert_eq!(table.service_levels, [level]);

    let text = r#"
        [fabric]
        preset = "ib-ddr-testbed"
        acks = "per-packet"
        [congestion_control]
        kind = "ib"
        Threshold = 8
        Victim_Mask = false
        Packet_Size = 4
        Marking_Rate = 10
        Credit_Mask = true
        CS_Threshold = 11
        CS_ReturnDelay = "3:16"
        host_ports = { Threshold = 7, Victim_Mask = true }
        switch_ports = { Marking_Rate = 0, CS_Threshold = 2, CS_ReturnDelay = "0:1" }
        port = [{ switch = 1, port = 1, Threshold = 0 }, { switch = 0, port = 3, Packet_Size = 9 }]
        compare = "sum-shared"
        notification = "ack"
        level = "sl"
        timer = "per-sl"
        CCT = { linear = 2, shift = 1, entries = 200 }
        CCTI_Limit = 199
        CCTI_Increase = 2
        service_levels = { default = { CCTI_Min = 5, CCTI_Timer = 10 } }
        "#;
    let spec = fabric(text);
    let c = control(&spec);
    let (marker, table) = (port_vl(c), cct(c));
    let all = PortCongestion {
        threshold: 8,
        victim_mask: false,
        packet_size: 4,
        marking_rate: 10,
        credit_mask: true,
        cs_threshold: 11,
        cs_return_delay: CctEntry {
            multiplier: 16,
            shift: 3,
        },
    };
    let host = PortCongestion {
        threshold: 7,
        victim_mask: true,
        ..all
    };
    let switch = PortCongestion {
        marking_rate: 0,
        cs_threshold: 2,
        cs_return_delay: CctEntry {
            multiplier: 1,
            shift: 0,
        },
        ..all
    };
    assert_eq!((marker.host_ports, marker.switch_ports), (host, switch));
    let at = |s, p| marker.port(&spec.topology, SwitchId::new(s), PortId::new(p));
    assert_eq!(
        at(1, 1),
        PortCongestion {
            threshold: 0,
            ..host
        }
    );
    assert_eq!(
        at(0, 3),
        PortCongestion {
            packet_size: 9,
            ..switch
        }
    );
    assert_eq!((at(1, 0), at(1, 4)), (host, switch));
    assert_eq!(marker.compare, FillComparison::SumShared);
    assert_eq!(
        (c.notification, table.level, table.timer),
        (Notification::Ack, FlowLevel::Sl, TimerScope::PerSl)
    );
    assert_eq!((table.cct.len(), table.ccti_limit), (200, 199));
    assert_eq!(
        table.cct[199],
        CctEntry {
            multiplier: 796,
            shift: 1
        }
    );
    let timer = spec.units.tick.ticks(10_240_000);
    assert_eq!(
        table.service_levels,
        [SlCongestion {
            ccti_increase: 2,
            ccti_min: 5,
            ccti_timer: timer,
            trigger_threshold: 0,
        }]
    );
    let json = experiment_json(&plan_with(text, &[]).unwrap().experiment);
    let json = &json["congestion_control"];
    assert_eq!(json["host_ports"]["Threshold"], 7);
    assert_eq!(json["port"][1]["Threshold"], 0);
    assert_eq!(json["service_levels"]["default"]["CCTI_Min"], 5);
    assert!(json["CCT"].as_str().unwrap().starts_with("0/1 4/1 8/1 "));
}

#[test]
fn tables_are_generated() {
    let cct = |text: &str| {
        let spec = fabric(&format!("{QUIET}kind = \"ib\"\nCCT = {text}"));
        cct(control(&spec)).cct.clone()
    };
    let entry = |multiplier, shift| CctEntry { multiplier, shift };
    // The largest shift that fits: 14 bits hold 16,383.
    let steep = cct("{ linear = 100 }");
    assert_eq!((steep[20], steep[21]), (entry(16_000, 3), entry(8400, 2)));
    let thirds = cct("{ linear = \"1/3\", shift = 0 }");
    assert_eq!(
        [thirds[1], thirds[2], thirds[4]],
        [entry(0, 0), entry(1, 0), entry(1, 0)]
    );
    let growing = cct("{ exponential = \"21/20\", first = \"1/4\", entries = 130 }");
    assert_eq!(growing.len(), 130);
    assert_eq!((growing[0].multiplier, growing[1]), (0, entry(2, 3)));
    for (i, e) in growing.iter().enumerate().skip(1) {
        let expected = 0.25 * 1.05f64.powi(i as i32 - 1);
        let is = f64::from(e.multiplier) / f64::from(1 << e.shift);
        assert!(
            (is - expected).abs() <= 0.5 / f64::from(1 << e.shift) + 1e-4 * expected,
            "{i}: {e:?}"
        );
    }
    let listed: Vec<String> = (0..128).map(|i| format!("[{i}, 2]")).collect();
    assert_eq!(cct(&format!("[{}]", listed.join(",")))[127], entry(127, 2));

    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..150)
        .map(|i| format!("{} {} # entry {i}\n", 3 * i, i % 4))
        .collect();
    let path = dir.path().join("cct.txt");
    std::fs::write(&path, format!("# a table\n\n{lines}")).unwrap();
    let from_file = format!("{{ file = {:?} }}", path.display().to_string());
    let table = cct(&from_file);
    assert_eq!((table.len(), table[149]), (150, entry(447, 1)));

    for (text, part) in [
        ("{ linear = 200 }", "14 bits do not hold"),
        ("{ exponential = 2, first = 1 }", "14 bits do not hold"),
        ("{ exponential = 2 }", "needs `first`"),
        (
            "{ exponential = \"1/2\", first = 1 }",
            "the factor is at least 1",
        ),
        (
            "{ linear = 1, first = 1 }",
            "belongs to an exponential table",
        ),
        (
            "{ linear = 1, shift = 4 }",
            "CCT.shift: 4; a shift has 2 bits",
        ),
        (
            "{ linear = 1, entries = 100 }",
            "100 entries; there must be 128",
        ),
        ("{ linear = 1, entries = 70000 }", "CCT.entries: 70000"),
        ("{ linear = 1, exponential = 2, first = 1 }", "give one of"),
        ("{ }", "give one of"),
        ("{ quadratic = 2 }", "entry 91 has a multiplier above 16383"),
        ("{ last = \"1ns\" }", "CCT.last: 1000 ps are 0 / 2^3"),
        ("{ last = \"1s\" }", "CCT.last: 1000000000000 ps are"),
        ("[[0, 0]]", "1 entries; there must be 128"),
        ("{ file = \"no-such-file\" }", "cannot read"),
        (
            "{ file = \"tiny.vef\" }",
            "is no entry; write a multiplier and a shift",
        ),
        (
            "{ file = \"tiny.vef\", entries = 128 }",
            "has its own entries",
        ),
    ] {
        let message = refused(&format!("{QUIET}kind = \"ib\"\nCCT = {text}"));
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    for (text, part) in [
        (
            "Threshold = 16",
            "congestion_control.Threshold: a weight of 16; it goes from 0",
        ),
        (
            "host_ports = { Threshold = 99 }",
            "congestion_control.host_ports.Threshold: a weight of 99",
        ),
        (
            "port = [{ switch = 0, port = 0, Threshold = 77 }]",
            "congestion_control.port.0.Threshold",
        ),
        (
            "port = [{ switch = 2, port = 0 }]",
            "there is no port 0 at a switch 2",
        ),
        (
            "port = [{ switch = 1, port = 0 }, { switch = 1, port = 0 }]",
            "congestion_control.port.1: this port is listed twice",
        ),
        (
            "CS_Threshold = 16",
            "congestion_control.CS_Threshold: a weight of 16; it goes from 0",
        ),
        (
            "switch_ports = { CS_ReturnDelay = \"4:1\" }",
            "congestion_control.switch_ports.CS_ReturnDelay: \"4:1\"; a shift goes to 3",
        ),
        ("CS_ReturnDelay = \"12\"", "a shift and a multiplier"),
        ("Trigger_Threshold = 256", "from 0 to 255"),
        ("marking = \"often\"", "unknown value `often`"),
        ("preset = \"ofed\"", "unknown value `ofed`"),
        (
            "sl_scope = \"link\"",
            "congestion_control.sl_scope: `link` takes the largest index",
        ),
        (
            "timer = \"per-sl\"\ntimer_restart = \"on-becn\"",
            "congestion_control.timer_restart: the timer of a service level runs freely",
        ),
        ("Packet_Size = 256", "from 0 to 255"),
        ("Marking_Rate = -1", "Marking_Rate"),
        ("CCTI_Limit = 128", "CCTI_Min"),
        (
            "CCTI_Min = 128",
            "congestion_control.CCTI_Min: 128 is above CCTI_Limit = 127",
        ),
        ("CCTI_Timer = 0", "congestion_control.CCTI_Timer: is 0"),
        ("CCTI_Timer = 65536", "units of 1.024 us up to 65535"),
        ("CCTI_Timer = \"3\"", "CCTI_Timer"),
        (
            "service_levels = { CL = { CCTI_Min = 1 } }",
            "there is no service level `CL`",
        ),
        (
            "service_levels = { default = { CCTI_Timer = 0 } }",
            "congestion_control.service_levels.default.CCTI_Timer: is 0",
        ),
        ("cnp = \"0B\"", "a CNP has at least 1 byte"),
        ("treshold = 3", "did you mean `Threshold`?"),
        ("level = \"flow\"", "unknown value `flow`"),
        ("kind = \"ecn\"", "unknown value `ecn`"),
    ] {
        let kind = if text.starts_with("kind") {
            ""
        } else {
            "kind = \"ib\"\n"
        };
        let accepted = text == "CCTI_Limit = 128";
        match plan_with(&format!("{QUIET}{kind}{text}"), &[]) {
            // More entries are generated as the limit rises.
            Ok(plan) => {
                assert!(accepted, "{text}");
                assert_eq!(cct(control(&plan.experiment.fabric)).cct.len(), 129);
            }
            Err(e) => assert!(e.to_string().contains(part) && !accepted, "{text}: {e}"),
        }
    }
    let message = refused(
        "fabric.preset = \"ib-qdr-648\"\n[congestion_control]\nkind = \"ib\"\nnotification = \"ack\"",
    );
    assert!(
        message.contains("a BECN cannot travel on ACKs"),
        "{message}"
    );
}

#[test]
fn overrides_and_baselines_switch_control_on_and_off() {
    let off = format!("{QUIET}CCTI_Timer = 7\nkind = \"none\"");
    assert!(fabric(&off).congestion_control.is_none());
    let on = plan_with(
        &off,
        &[
            "congestion_control.kind=ib",
            "congestion_control.Threshold=3",
        ],
    )
    .unwrap();
    assert_eq!(
        port_vl(control(&on.experiment.fabric)).host_ports.threshold,
        3
    );
    // The default baseline has none; the tables of a scheduler that it replaces are kept.
    let text = "job = [{ trace = \"tiny.vef\" }]\n\
        [fabric]\npreset = \"ib-ddr-testbed\"\n\
        [qos]\nvlarb = { low = [[0, 1]] }\n\
        [congestion_control]\nkind = \"ib\"\n";
    let plan = resolve_text("test.toml", text, &corpus(), &[]).unwrap();
    let base = &plan.baselines[0].experiment.fabric;
    assert!(plan.experiment.fabric.congestion_control.is_some());
    assert!(base.congestion_control.is_none());
    assert_eq!(voq(base).vlarb, VlArb::RoundRobin);
    assert!(matches!(
        voq(&plan.experiment.fabric).vlarb,
        VlArb::Tables { .. }
    ));
    let own = format!("{text}[baseline.overrides]\n\"congestion_control.Threshold\" = 0\n");
    let plan = resolve_text("test.toml", &own, &corpus(), &[]).unwrap();
    assert_eq!(
        port_vl(control(&plan.baselines[0].experiment.fabric))
            .host_ports
            .threshold,
        0
    );
}

#[test]
fn hierarchical_switches_have_congestion_control_too() {
    let spec = fabric(
        "[qos]\n[congestion_control]\nkind = \"ib\"\nservice_levels = { BK = { CCTI_Min = 3 } }",
    );
    assert!(spec.hierarchical().is_some());
    let mins: Vec<u8> = cct(control(&spec))
        .service_levels
        .iter()
        .map(|level| level.ccti_min)
        .collect();
    assert_eq!(mins, [0, 0, 0, 0, 3]);
}

#[test]
fn readings_of_the_specification_are_keys() {
    let text = format!(
        "seed = 7\n{QUIET}kind = \"ib\"\nmarking = \"fixed\"\nlevel = \"sl\"\nsl_scope = \"link\"\n\
         timer_restart = \"on-becn\"\nccti_bound = \"skip\"\nird_base = \"max-packet\"\n\
         notification = \"ack-at-once\"\n\
         service_levels = {{ default = {{ Trigger_Threshold = 4 }} }}\n"
    );
    let spec = fabric(&text);
    let c = control(&spec);
    let (marker, table) = (port_vl(c), cct(c));
    assert_eq!((marker.marking, marker.marking_seed), (Marking::Fixed, 7));
    assert_eq!(
        (table.sl_scope, table.ird_base),
        (SlScope::Link, IrdBase::MaxPacket)
    );
    assert_eq!(
        (table.timer_restart, table.ccti_bound),
        (TimerRestart::OnBecn, CctiBound::Skip)
    );
    assert_eq!(c.notification, Notification::AckNow);
    assert_eq!(table.service_levels[0].trigger_threshold, 4);
    let json = experiment_json(&plan_with(&text, &[]).unwrap().experiment);
    let json = &json["congestion_control"];
    for (key, value) in [
        ("marking", "fixed"),
        ("sl_scope", "link"),
        ("timer_restart", "on-becn"),
        ("ccti_bound", "skip"),
        ("ird_base", "max-packet"),
        ("notification", "ack-at-once"),
    ] {
        assert_eq!(json[key], value);
    }
    assert_eq!(json["host_ports"]["CS_ReturnDelay"], "0:0");
    assert_eq!(json["service_levels"]["default"]["Trigger_Threshold"], 4);
}

/// A row of the page's table of presets, written out, is the same as the preset; its other keys have their defaults.
#[test]
fn presets_set_what_the_page_says() {
    let with = |lines: &str| {
        let spec = fabric(&format!(
            "fabric.preset = \"ib-qdr-648\"\n[congestion_control]\nkind = \"ib\"\n{lines}"
        ));
        control(&spec).clone()
    };
    let page = include_str!("../../docs/reference/experiment.md");
    let cells = |line: &'static str| {
        let cells = line.trim_matches('|').split('|');
        cells
            .map(|cell| cell.trim().trim_matches('`'))
            .collect::<Vec<_>>()
    };
    let mut table = (page.lines())
        .skip_while(|line| !line.starts_with("| `preset` | `Threshold` |"))
        .take_while(|line| line.starts_with('|'));
    let keys = cells(table.next().unwrap());
    let presets: Vec<_> = table.skip(1).map(cells).collect();
    assert_eq!(presets.len(), 3);
    for row in presets {
        let given = keys.iter().zip(&row).skip(1);
        let given = given.filter(|(_, value)| **value != "ours");
        let written: String = given
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        assert_eq!(
            with(&format!("preset = {}", row[0])),
            with(&written),
            "{}",
            row[0]
        );
    }
    let quadratic = with("preset = \"simula\"\nCCT = { quadratic = \"875/573036\" }");
    let entries = &cct(&quadratic).cct;
    let multipliers = [16, 32, 64, 106, 127].map(|at| entries[at].multiplier);
    assert_eq!((multipliers, entries[5].shift), ([0, 1, 6, 17, 24], 0));
    // A packet of 2,074 B takes 518.5 ns: 8 us are 15.43 of them, 123 eighths.
    let last = with("CCT = { last = \"8us\" }");
    let entries = [1, 64, 127].map(|at| cct(&last).cct[at]);
    assert_eq!(entries.map(|entry| entry.multiplier), [0, 61, 123]);
    assert!(entries.iter().all(|entry| entry.shift == 3));
}
