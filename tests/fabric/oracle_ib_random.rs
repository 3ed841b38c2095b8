//! The oracle of the InfiniBand fabric on random fabrics: its own assertions, what must hold
//! of every run, and settings that must not make a difference.

use crate::common::ids::port_of;
use crate::common::infiniband::voq_of;
use crate::common::random::config;
use crate::common::random_infiniband::{fabric, script, traffic};
use crate::common::script::Script;
use flitwise::fabric::engine::Engine;
use flitwise::fabric::spec::congestion::{Marker, SourceControl};
use flitwise::fabric::spec::voq::{VlArb, VlWeight};
use flitwise::fabric::spec::{
    CongestionControl, FabricSpec, ForwardingTables, Paths, SlToVl, TrunkSelection, UpPorts,
    VlPolicy,
};
use flitwise_oracles::voq::{self as oracle_ib, IbRun, RunEnd};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

/// Delays of congestion control add up.
const TICKS: u64 = 20_000_000;

fn run(spec: &FabricSpec, mut script: Script) -> (IbRun, Script) {
    let run = oracle_ib::run(spec, &mut script, TICKS);
    assert_eq!(run.end, RunEnd::Drained);
    assert_eq!(run.messages, run.messages_delivered);
    (run, script)
}

/// Packets of a queue pair arrive in the order in which they left.
fn assert_order(spec: &FabricSpec, run: &IbRun, messages: &BTreeMap<u64, (u32, u32, u8)>) {
    let by_destination = spec.routing.trunk == TrunkSelection::Destination
        && spec.routing.up_ports == UpPorts::Destination
        && spec.routing.paths == Paths::Minimal;
    if !by_destination {
        return;
    }
    let mut last: BTreeMap<(u32, u32, u8), u64> = BTreeMap::new();
    for report in &run.reports {
        let before = last.insert(messages[&report.token], report.injected);
        assert!(before.is_none_or(|before| before < report.injected));
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn everything_arrives_in_order(spec in fabric(), traffic in traffic()) {
        spec.validate().unwrap();
        let script = script(&spec, &traffic);
        let messages = script.messages();
        let (run, _) = run(&spec, script);
        assert_order(&spec, &run, &messages);
    }

    #[test]
    fn what_does_not_matter_changes_nothing(spec in fabric(), traffic in traffic()) {
        let told = |spec: &FabricSpec| {
            spec.validate().unwrap();
            run(spec, script(spec, &traffic)).1.told()
        };
        // Congestion control that never marks.
        let mut calm = spec.clone();
        calm.congestion_control = None;
        let expected = told(&calm);
        if let Some(control) = &spec.congestion_control {
            let mut control = CongestionControl::clone(control);
            if let SourceControl::Cct(cct) = &mut control.source {
                for level in &mut cct.service_levels {
                    level.ccti_min = 0;
                }
            }
            if let Marker::PortVl(marker) = &mut control.marker {
                for port in [&mut marker.host_ports, &mut marker.switch_ports] {
                    (port.threshold, port.credit_mask) = (0, false);
                }
            }
            let mut idle = spec.clone();
            idle.congestion_control = Some(Box::new(control));
            prop_assert_eq!(&told(&idle), &expected);
        }
        // A table in which every VL has one packet at a time is round robin. A packet without bytes
        // takes no weight, so each has a header; the largest packet must still fit into the buffers.
        if calm.units.header_bytes == 0 {
            calm.units.header_bytes = 1;
            for level in &mut calm.qos.service_levels {
                level.mtu_bytes -= 1;
            }
        }
        let vls = calm.qos.vls;
        let low: Vec<_> = (0..vls).map(|vl| VlWeight { vl, weight: 1 }).collect();
        let tables = VlArb::Tables { high: Vec::new(), low, high_limit: 3 };
        let mut round = calm.clone();
        (voq_of(&mut round).vlarb, voq_of(&mut round).hca.vlarb) =
            (VlArb::RoundRobin, VlArb::RoundRobin);
        let mut by_table = calm.clone();
        (voq_of(&mut by_table).vlarb, voq_of(&mut by_table).hca.vlarb) = (tables.clone(), tables);
        prop_assert_eq!(told(&round), told(&by_table));
    }

    #[test]
    fn tables_that_say_the_same_change_nothing(spec in fabric(), traffic in traffic()) {
        let mut spec = spec;
        let topology = spec.topology.clone();
        if topology.vl_classes() > 1 {
            return Ok(());
        }
        spec.routing.trunk = TrunkSelection::Destination;
        spec.routing.up_ports = UpPorts::Destination;
        spec.routing.paths = Paths::Minimal;
        (spec.routing.forwarding, spec.routing.failed) = (None, Vec::new());
        for level in &mut spec.qos.service_levels {
            level.scs.truncate(1);
        }
        let vl = |sl: &flitwise::fabric::spec::ServiceLevel| {
            spec.qos.sc2vl[usize::from(sl.scs[0])].unwrap()
        };
        let default = spec.qos.service_levels.iter().map(vl).collect();
        let port = |switch, dst| {
            let candidates = topology.candidates(spec.routing.ring_tie, switch, dst);
            candidates.of_destination(dst).unwrap()
        };
        let row = |switch| topology.nic_ids().map(|dst| port(switch, dst)).collect();
        let ports = topology.switch_ids().map(row).collect();
        let mut own = spec.clone();
        own.qos.vl_policy = VlPolicy::ServiceChannels;
        let mut given = spec.clone();
        given.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
            default,
            hcas: BTreeMap::new(),
            ports: BTreeMap::new(),
        });
        given.routing.forwarding = Some(ForwardingTables { ports, engine: None });
        given.validate().unwrap();
        let (own, given) =
            (run(&own, script(&own, &traffic)), run(&given, script(&given, &traffic)));
        prop_assert_eq!(own.1.told(), given.1.told());
    }
}

/// What random runs must come across, or they show nothing.
#[test]
fn random_fabrics_reach_the_corners() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..150 {
        let spec = fabric().new_tree(&mut runner).unwrap().current();
        let traffic = traffic().new_tree(&mut runner).unwrap().current();
        let (run, _) = run(&spec, script(&spec, &traffic));
        let mut note = |name, found: bool| *seen.entry(name).or_default() += u32::from(found);
        note("marks", run.sent.iter().any(|d| d.fecn));
        note("BECNs", !run.ccti.is_empty());
        note("timers", run.ccti.windows(2).any(|w| w[1].ccti < w[0].ccti));
        note(
            "credit waits",
            run.links.iter().any(|link| link.credit_wait > 0),
        );
        note("two VLs", run.sent.iter().any(|d| d.vl > 0));
    }
    for (name, count) in seen {
        assert!(count >= 15, "{name} in {count} of 150 runs only");
    }
}

#[test]
fn the_engine_refuses_what_it_does_not_do() {
    use flitwise::fabric::topology::Topology;
    // More different rates than it keeps lines for.
    let mut spec = crate::common::infiniband::voq_fabric(Topology::single(12).unwrap());
    let links = &mut voq_of(&mut spec).links;
    let rate = |port: u32| crate::common::infiniband::ratio(1, u64::from(port) + 2);
    let rates = (0..12).map(|port| (port_of(0, port), rate(port)));
    links.exceptions = rates.collect();
    let refused = Engine::new(&spec).unwrap_err();
    assert_eq!(refused.key, "fabric.link_speeds");
}
