//! Outages and degradations of links (`docs/model/fabric.md` §10): the engine against the oracles on random fabrics, and times that were
//! worked out by hand.

use crate::common::infiniband::{static_pool, voq_fabric, voq_of, with_hierarchical_switches};
use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband::{self, tree_fabric};
use crate::common::random_outages::{degraded, outages};
use crate::common::random_traffic;
use crate::common::script::{Cue, Script, message};
use crate::compare::compare_sampled;
use crate::engine_vs_oracle_ib::compare;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{Degradation, FabricSpec, Outage, Switch, TableChange, Tick};
use flitwise::fabric::stats::{LinkEnd, LinkStats};
use flitwise::fabric::topology::Topology;
use flitwise::oblivious::{EdgeId, Failure, Graph, Network, RoutingEngine};
use flitwise::units::Ratio;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Gives `spec` the tables of up*/down*, if nothing else decides in their place.
fn with_tables(spec: &FabricSpec) -> Option<FabricSpec> {
    let mut spec = spec.clone();
    let tables = RoutingEngine::UpDown.tables_of(&spec.topology, &[], 1);
    spec.routing.forwarding = Some(tables.ok()?.tables);
    spec.validate().is_ok().then_some(spec)
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn random_outages_agree(
        drawn in prop_oneof![3 => random_infiniband::fabric(), 1 => tree_fabric()],
        outages in outages(),
        traffic in random_infiniband::traffic(),
        interval in prop::option::of(1u64..200),
        tables in any::<bool>(),
    ) {
        let mut spec = tables.then(|| with_tables(&drawn)).flatten().unwrap_or(drawn);
        outages.put(&mut spec);
        let script = random_infiniband::script(&spec, &traffic);
        compare(&spec, &script, interval)?;
    }

    #[test]
    fn random_degradations_agree(
        drawn in prop_oneof![3 => random_infiniband::fabric(), 1 => tree_fabric()],
        events in degraded(),
        traffic in random_infiniband::traffic(),
        interval in prop::option::of(1u64..200),
        tables in any::<bool>(),
    ) {
        let mut spec = tables.then(|| with_tables(&drawn)).flatten().unwrap_or(drawn);
        events.put(&mut spec);
        let script = random_infiniband::script(&spec, &traffic);
        compare(&spec, &script, interval)?;
    }

    #[test]
    fn random_outages_of_hierarchical_switches_agree(
        spec in prop_oneof![
            random::fabric(Kind::Any),
            random::controlled_fabric(Kind::Any),
            random::choosing_tree(Kind::Any),
            random::table_fabric(Kind::Any),
            random::table_fabric(Kind::Sound),
        ],
        outages in prop_oneof![outages(), degraded()],
        traffic in random_traffic::traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        let mut spec = spec;
        outages.put(&mut spec);
        let script = random_traffic::script(&spec, &traffic);
        compare_sampled(&spec, &script, interval)?;
    }
}

fn port(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

/// Two switches, two NICs each, without outages: of `voq` and of hierarchical switches.
fn pairs() -> [FabricSpec; 2] {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 2, 1, None).unwrap());
    voq_of(&mut spec).buffers.input = static_pool(2, 64);
    [with_hierarchical_switches(spec.clone()), spec]
}

/// The port of switch 0 to switch 1, and back.
const BETWEEN: u32 = 2;
const BACK: u32 = 3;

/// Compares the engine with the oracle of the kind of switch.
fn compare_either(spec: &FabricSpec, script: &Script) {
    match spec.switch {
        Switch::Voq(_) => {
            compare(spec, script, None).unwrap();
        }
        Switch::Hierarchical(_) => {
            compare_sampled(spec, script, None).unwrap();
        }
    }
}

/// Runs both models on messages of one packet from NIC 0 to NIC 2, created in these ticks; returns when each is delivered.
fn deliveries(spec: &FabricSpec, ticks: &[Tick]) -> Vec<Tick> {
    deliveries_of(64, spec, ticks)
}

/// The same for messages of this size.
fn deliveries_of(bytes: u64, spec: &FabricSpec, ticks: &[Tick]) -> Vec<Tick> {
    let messages = (0..).zip(ticks);
    let lines = messages.map(|(i, &tick)| (Cue::At(tick), message(i, 0, 2, 0, bytes)));
    let script = Script::new(lines);
    compare_either(spec, &script);
    let mut script = script;
    Engine::new(spec).unwrap().run(&mut script);
    let mut told = script.told().delivered;
    told.sort_unstable_by_key(|&(_, token)| token);
    told.into_iter().map(|(tick, _)| tick).collect()
}

/// The tick in which the packet created in tick 1000 starts over the link between the switches, found as the first tick of
/// an outage that does not hold it up, less one.
fn start_between(spec: &FabricSpec, undisturbed: Tick) -> Tick {
    let held_up = |from: &Tick| {
        let mut spec = spec.clone();
        spec.outages = vec![Outage {
            at: port(0, BETWEEN),
            from: *from,
            until: Some(5000),
        }];
        deliveries(&spec, &[1000])[0] > undisturbed
    };
    (1000..undisturbed).take_while(held_up).last().unwrap()
}

/// An outage that begins as late as in the tick of a header's start holds it up by its length; one tick later the packet
/// is drained.
#[test]
fn an_outage_of_t_delays_a_lone_packet_by_t() {
    for spec in pairs() {
        let undisturbed = deliveries(&spec, &[1000])[0];
        let start = start_between(&spec, undisturbed);
        let cases = [
            (start, 0),
            (start, 1),
            (start, 70),
            (start - 20, 999),
            (start + 1, 500),
        ];
        for (from, ticks) in cases.into_iter().filter(|&(_, ticks)| ticks > 0) {
            let mut spec = spec.clone();
            // The other end names the same cable, and both directions are down.
            for at in [port(0, BETWEEN), port(1, BACK)] {
                spec.outages = vec![Outage {
                    at,
                    from,
                    until: Some(from + ticks),
                }];
                let late = (from + ticks).saturating_sub(start);
                let late = if from > start { 0 } else { late };
                assert_eq!(
                    deliveries(&spec, &[1000]),
                    [undisturbed + late],
                    "{from} {ticks}"
                );
            }
        }
    }
}

#[test]
fn a_host_link_that_is_down_holds_up_its_nic() {
    for mut spec in pairs() {
        let undisturbed = deliveries(&spec, &[1000, 9000]);
        let at = port(0, 0);
        spec.outages = vec![Outage {
            at,
            from: 0,
            until: Some(4000),
        }];
        let late = deliveries(&spec, &[1000, 9000]);
        assert_eq!(late[0], undisturbed[0] + 3000);
        assert_eq!(late[1], undisturbed[1]);
    }
}

/// Outages that meet or overlap are one.
#[test]
fn a_link_is_up_when_none_of_its_outages_lasts() {
    for mut spec in pairs() {
        let outage = |from, until| Outage {
            at: port(0, BETWEEN),
            from,
            until: Some(until),
        };
        spec.outages = vec![outage(0, 9000)];
        let one = deliveries(&spec, &[1000]);
        spec.outages = vec![
            outage(3000, 9000),
            outage(200, 700),
            outage(0, 2000),
            outage(2000, 3000),
        ];
        assert_eq!(deliveries(&spec, &[1000]), one);
    }
}

#[test]
fn a_link_that_stays_down_ends_the_run_by_name() {
    for mut spec in pairs() {
        spec.outages = vec![Outage {
            at: port(1, BACK),
            from: 2000,
            until: None,
        }];
        let lines = [
            (Cue::At(100), 0, 2),
            (Cue::At(3000), 1, 2),
            (Cue::At(3000), 2, 3),
            (Cue::At(3000), 0, 1),
        ];
        let lines = (0..)
            .zip(lines)
            .map(|(i, (cue, src, dst))| (cue, message(i, src, dst, 0, 64)));
        let script = Script::new(lines);
        compare_either(&spec, &script);
        let mut script = script;
        let end = Engine::new(&spec).unwrap().run(&mut script);
        let RunEnd::LinksDown(links) = end else {
            panic!("{end:?}");
        };
        assert_eq!(script.told().delivered.len(), 3);
        let [link] = links[..] else {
            panic!("{links:?}")
        };
        assert_eq!(link.from, LinkEnd::from(port(0, BETWEEN)));
        assert_eq!((link.since, link.packets), (2000, 1));
        let text = link.text(&spec.topology, spec.units.tick);
        assert!(
            text.starts_with("the link from switch 0 port 2 to switch 1 port 3 went down at"),
            "{text}"
        );
        assert!(
            text.ends_with("and stays down; 1 packet waits for it"),
            "{text}"
        );
    }
}

/// The last link of the way from NIC 0 to NIC 2.
const LAST: (u32, u32) = (1, 0);

/// The degradation of the cable at a port to a part of the rate 1 of all links.
fn degradation(at: (u32, u32), part: (u64, u64), from: Tick, until: Option<Tick>) -> Degradation {
    Degradation {
        at: port(at.0, at.1),
        from,
        until,
        rate: Ratio::new(part.0, part.1).unwrap(),
    }
}

/// A packet of 4 flits takes 16 ticks at a quarter of the rate, 12 more. In each switch behind, its tail catches up by the
/// 3 ticks that it would have waited for its header to be routed and granted. Behind another slow link the header itself is
/// late by 3 ticks, until its flit is there as a whole.
#[test]
fn a_packet_takes_a_degraded_link_for_longer() {
    let [_, spec] = pairs();
    let undisturbed = deliveries_of(256, &spec, &[1000])[0];
    let slow = |at| degradation(at, (1, 4), 0, None);
    let (between, last) = (slow((0, BETWEEN)), slow(LAST));
    for (events, late) in [
        (vec![between], 9),
        (vec![last], 12),
        (vec![slow((0, 0))], 6),
        (vec![between, last], 15),
        (vec![slow((0, 1))], 0),
        // The lowest rate holds.
        (vec![last, degradation(LAST, (1, 2), 0, None)], 12),
    ] {
        let mut spec = spec.clone();
        spec.degraded = events;
        assert_eq!(deliveries_of(256, &spec, &[1000]), [undisturbed + late]);
    }
}

/// A link between hierarchical switches holds the packet for these 12 ticks.
#[test]
fn a_degraded_link_of_hierarchical_switches_holds_a_packet() {
    let [spec, _] = pairs();
    let undisturbed = deliveries_of(256, &spec, &[1000])[0];
    let slow = |at| degradation(at, (1, 4), 0, None);
    let (between, last) = (slow((0, BETWEEN)), slow(LAST));
    for (events, late) in [
        (vec![between], 12),
        (vec![last], 12),
        (vec![slow((0, 0))], 12),
        (vec![between, last], 24),
        (vec![slow((0, 1))], 0),
        // 4 flits at 3/5 of the rate take 6 2/3 ticks.
        (vec![degradation(LAST, (3, 5), 0, None)], 3),
        (vec![last, degradation(LAST, (1, 2), 0, None)], 12),
        (vec![degradation(LAST, (1, 4), 0, Some(1001))], 0),
    ] {
        let mut spec = spec.clone();
        spec.degraded = events;
        assert_eq!(deliveries_of(256, &spec, &[1000]), [undisturbed + late]);
    }
}

/// The tick of its start decides how a packet is sent.
#[test]
fn a_packet_that_has_started_keeps_its_rate() {
    let [_, mut spec] = pairs();
    let undisturbed = deliveries_of(256, &spec, &[1000])[0];
    // Four flits and a latency of 3.
    let start = undisturbed + 1 - 3 - 4;
    for (from, until, late) in [
        (start, None, 12),
        (start + 1, None, 0),
        (0, Some(start), 0),
        (0, Some(start + 1), 12),
    ] {
        spec.degraded = vec![degradation(LAST, (1, 4), from, until)];
        assert_eq!(deliveries_of(256, &spec, &[1000]), [undisturbed + late]);
    }
}

/// At 3/4 of the rate 4 flits take 16/3 ticks. A packet at the same rate follows at once, one at another rate in the next
/// whole tick.
#[test]
fn packets_of_different_rates_share_no_tick() {
    let [_, mut spec] = pairs();
    let start = deliveries_of(256, &spec, &[1000])[0] + 1 - 3 - 4;
    for (until, delivered) in [
        (None, start + 11 - 1 + 3),
        (Some(start + 1), start + 6 + 4 - 1 + 3),
    ] {
        spec.degraded = vec![degradation(LAST, (3, 4), 0, until)];
        assert_eq!(deliveries_of(512, &spec, &[1000]), [delivered]);
    }
}

#[test]
fn half_the_rate_doubles_the_time_of_a_stream() {
    const PACKETS: u64 = 100;
    for mut spec in pairs() {
        let stream = |spec: &FabricSpec| deliveries_of(PACKETS * 256, spec, &[1000])[0];
        let undisturbed = stream(&spec);
        spec.degraded = vec![degradation(LAST, (1, 2), 0, None)];
        assert_eq!(stream(&spec), undisturbed + PACKETS * 4);
    }
}

#[test]
fn the_own_rate_as_an_event_changes_nothing() {
    for mut spec in pairs() {
        let undisturbed = deliveries_of(1000, &spec, &[1000, 1001, 1500]);
        spec.degraded = vec![degradation(LAST, (1, 1), 0, Some(1400))];
        assert_eq!(deliveries_of(1000, &spec, &[1000, 1001, 1500]), undisturbed);
    }
}

/// A ring of four switches, one NIC each, with the tables of up*/down*.
fn ring() -> FabricSpec {
    let ring = voq_fabric(Topology::cube(&[4], true, 1, 1, None).unwrap());
    with_tables(&ring).unwrap()
}

/// Messages from everyone to everyone, again and again.
fn all_to_all() -> Script {
    let lines = (0..120u64).map(|i| {
        let (src, step) = ((i % 4) as u32, 1 + (i / 4 % 3) as u32);
        (Cue::At(i * 15), message(i, src, (src + step) % 4, 0, 300))
    });
    Script::new(lines)
}

/// The messages of [`all_to_all`] on each edge by the static analysis, 10 of every pair.
fn loads(network: &Network) -> BTreeMap<EdgeId, u64> {
    let mut loads = BTreeMap::new();
    for src in network.graph.host_ids() {
        for dst in network.graph.host_ids().filter(|&dst| dst != src) {
            let mut route = Vec::new();
            network.route(src, dst, 0, &mut route).unwrap();
            for edge in route {
                *loads.entry(edge).or_default() += 10;
            }
        }
    }
    loads
}

/// Whether the links out of switches carried these loads.
#[track_caller]
fn check_loads(links: &[LinkStats], loads: &BTreeMap<EdgeId, u64>, graph: &Graph) {
    // Each NIC sends 30 messages.
    let injection = links
        .iter()
        .find(|link| matches!(link.from, LinkEnd::Nic(_)));
    let flits = injection.unwrap().flits / 30;
    let mut idle = 0;
    for link in links {
        let LinkEnd::Port { switch, port } = link.from else {
            continue;
        };
        let mut edges = graph.edges_of(graph.switch_node(switch));
        let edge = edges.find(|&edge| graph.edge(edge).port == port.get());
        // The cable that is down has no edge.
        let load = edge.and_then(|edge| loads.get(&edge)).copied().unwrap_or(0);
        assert_eq!(link.flits, load * flits, "{:?}", link.from);
        idle += u32::from(load == 0);
    }
    assert_eq!(idle, 2, "both directions of the cable that is down");
}

#[test]
fn an_outage_with_its_tables_from_tick_0_is_a_failure() {
    let mut voq = ring();
    let failure = [Failure::parse("s0 port 1").unwrap()];
    let routed = RoutingEngine::UpDown
        .tables_of(&voq.topology, &failure, 1)
        .unwrap();
    voq.outages = vec![Outage {
        at: port(0, 1),
        from: 0,
        until: None,
    }];
    voq.routing.changes = vec![TableChange {
        from: 0,
        tables: routed.tables.clone(),
        failed: routed.failed.clone(),
    }];
    for spec in [with_hierarchical_switches(voq.clone()), voq] {
        let mut failed = spec.clone();
        (failed.outages, failed.routing.changes) = (Vec::new(), Vec::new());
        failed.routing.forwarding = Some(routed.tables.clone());
        failed.routing.failed = routed.failed.clone();
        let run = |spec: &FabricSpec| {
            let (mut script, mut engine) = (all_to_all(), Engine::new(spec).unwrap());
            assert_eq!(engine.run(&mut script), RunEnd::Drained);
            let stats = engine.stats();
            (script.told(), stats.end_tick, stats.links)
        };
        assert_eq!(run(&spec), run(&failed));
        let analysed = Network::of_fabric(&failed).unwrap();
        check_loads(&run(&spec).2, &loads(&analysed), &analysed.graph);
        let mut before = spec.clone();
        (before.outages, before.routing.changes) = (Vec::new(), Vec::new());
        assert_ne!(run(&before), run(&failed));
    }
}

/// Degradations fit many random fabrics, in spite of the limit of different rates.
#[test]
fn random_fabrics_have_room_for_degradations() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let drawn = (random_infiniband::fabric(), degraded());
    let mut with = 0;
    for _ in 0..100 {
        let (mut spec, events) = drawn.new_tree(&mut runner).unwrap().current();
        events.put(&mut spec);
        with += usize::from(!spec.degraded.is_empty());
    }
    assert!(with > 60, "{with} of 100");
}
