//! The engine against the oracle of the InfiniBand fabric: on random fabrics and traffic every
//! packet must leave and arrive in the same tick in both, and every counter and sample be
//! the same.

use crate::common::infiniband::{control, marker_of, ratio, static_pool, voq_fabric, voq_of};
use crate::common::random::config;
use crate::common::random_infiniband::{fabric, script, traffic, tree_fabric};
use crate::common::random_queueing::choose_up_ports;
use crate::common::script::{Cue, Script, message};
use crate::compare::{
    EngineRun, as_stats, expected_sample, link_end, run_engine, states_of, turns_of,
};
use flitwise::fabric::spec::congestion::CctEntry;
use flitwise::fabric::spec::voq::{InputQueues, Isolation};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::{FabricStats, LinkEnd};
use flitwise::fabric::topology::Topology;
use flitwise::units::Ratio;
use flitwise_oracles::voq::{self as oracle_ib, End, IbRun};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// More ticks than any script here takes.
const TICKS: u64 = 2_000_000;

/// Runs both and compares all that they tell; returns what the oracle said.
pub fn compare(
    spec: &FabricSpec,
    script: &Script,
    interval: Option<Tick>,
) -> Result<IbRun, TestCaseError> {
    let mut for_oracle = script.clone();
    let oracle = oracle_ib::run_sampled(spec, &mut for_oracle, TICKS, interval);
    let engine = run_engine(spec, script, interval, (oracle.end, &for_oracle))?;
    let EngineRun { stats, samples, .. } = engine;
    if oracle.end == oracle_ib::RunEnd::Stalled {
        // The model leaves open when a deadlock is noticed.
        prop_assert!(stats.end_tick <= oracle.end_tick);
        return Ok(oracle);
    }
    prop_assert_eq!(stats.end_tick, oracle.end_tick, "end_tick");
    compare_counts(spec, &stats, &oracle, &script.messages())?;
    let expected: Vec<_> = oracle.samples.iter().map(expected_sample).collect();
    let mut taken = samples;
    if spec.congestion_control.is_none() {
        for sample in &mut taken {
            prop_assert!(sample.sources.is_empty());
        }
    }
    prop_assert_eq!(taken, expected, "samples");
    Ok(oracle)
}

fn compare_counts(
    spec: &FabricSpec,
    stats: &FabricStats,
    oracle: &IbRun,
    messages: &BTreeMap<u64, (u32, u32, u8)>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(stats.messages, oracle.messages);
    prop_assert_eq!(stats.messages_delivered, oracle.messages_delivered);
    let data = |d: &&oracle_ib::SentPacket| d.token.is_some() && matches!(d.from, End::Nic(_));
    prop_assert_eq!(
        stats.packets,
        oracle.sent.iter().filter(data).count() as u64
    );
    let delivered: u64 = oracle.reports.iter().map(|r| u64::from(r.flits)).sum();
    prop_assert_eq!(stats.flits_delivered, delivered);
    for (sl, level) in stats.service_levels.iter().enumerate() {
        let own = || {
            let on_sl =
                |r: &&_| matches!(messages.get(&token(r)), Some(m) if usize::from(m.2) == sl);
            oracle.reports.iter().filter(on_sl)
        };
        prop_assert_eq!(level.packets, own().count() as u64);
        prop_assert_eq!(level.flits, own().map(|r| u64::from(r.flits)).sum::<u64>());
        let latency = || own().map(|r| r.delivered - r.injected);
        prop_assert_eq!(level.network.sum(), latency().map(u128::from).sum::<u128>());
        prop_assert_eq!(level.network.max(), latency().max().unwrap_or(0));
    }
    let mut links: Vec<_> = oracle.links.iter().collect();
    links.sort_by_key(|link| match link.from {
        End::Nic(nic) => (0, nic, 0),
        End::Port { switch, port } => (1, switch, port),
    });
    prop_assert_eq!(stats.links.len(), links.len());
    let (mut hops, mut host_hops) = (0, 0);
    for (link, expected) in stats.links.iter().zip(links) {
        let from = link_end(expected.from);
        prop_assert_eq!(link.from, from);
        prop_assert_eq!(link.to, link_end(expected.to), "link from {:?}", from);
        prop_assert_eq!(link.flits, expected.flits, "flits from {:?}", from);
        prop_assert_eq!(link.units, expected.bytes, "bytes from {:?}", from);
        prop_assert_eq!(link.packets, expected.packets, "packets from {:?}", from);
        let (queue, credit) = (expected.queue_wait, expected.credit_wait);
        prop_assert_eq!(link.queue_wait_ticks, queue, "queue wait of {:?}", from);
        prop_assert_eq!(link.credit_wait_ticks, credit, "credit wait of {:?}", from);
        let states = expected.states.map(states_of);
        prop_assert_eq!(link.states, states, "power states of {:?}", from);
        prop_assert_eq!(link.retries, expected.retries, "retries from {:?}", from);
        let to_host = [link.from, link.to]
            .iter()
            .any(|end| matches!(end, LinkEnd::Nic(_)));
        *(if to_host { &mut host_hops } else { &mut hops }) += link.flits;
    }
    prop_assert_eq!(turns_of(stats), oracle.turns.clone());
    prop_assert_eq!((stats.flit_hops, stats.host_flit_hops), (hops, host_hops));
    let counted = spec
        .congestion_control
        .as_ref()
        .map(|_| as_stats(oracle.congestion));
    prop_assert_eq!(stats.congestion, counted);
    Ok(())
}

fn token(report: &flitwise::fabric::workload::PacketReport) -> u64 {
    report.token
}

proptest! {
    #![proptest_config(config(70))]

    #[test]
    fn random_fabrics_agree(
        spec in fabric(),
        traffic in traffic(),
        interval in prop::option::of(1u64..200),
    ) {
        compare(&spec, &script(&spec, &traffic), interval)?;
    }

    #[test]
    fn planes_agree(
        (spec, planes) in fabric().prop_flat_map(|spec| (Just(spec), 2_u32..=3))
            .prop_filter("its settings name parts", |(spec, planes)| spec.clone().in_planes(*planes).is_ok()),
        traffic in traffic(),
    ) {
        let script = script(&spec, &traffic).on_planes(planes);
        compare(&spec.in_planes(planes).unwrap(), &script, None)?;
    }

    /// Where the room in output buffers never counts: just enough of it, and all rates one.
    #[test]
    fn roomy_fabrics_agree(spec in fabric(), traffic in traffic()) {
        let mut spec = spec;
        let links = &mut voq_of(&mut spec).links;
        (links.nic, links.switch) = (Ratio::ONE, Ratio::ONE);
        links.exceptions.clear();
        voq_of(&mut spec).crossbar_speedup = 1;
        (voq_of(&mut spec).hca.send_rate, voq_of(&mut spec).hca.sink_rate) = (None, None);
        let t = voq_of(&mut spec).stages;
        let way = t.allocation + t.crossbar + t.output_store;
        let largest = spec.largest_packet_credits().max(2);
        voq_of(&mut spec).buffers.output = 2 * largest + way as u32 + 2;
        compare(&spec, &script(&spec, &traffic), None)?;
    }

    #[test]
    fn packets_that_choose_their_up_ports_agree(spec in tree_fabric(), traffic in traffic()) {
        let mut spec = spec;
        choose_up_ports(&mut spec);
        compare(&spec, &script(&spec, &traffic), None)?;
    }

    #[test]
    fn runs_cut_short_agree(
        spec in fabric(),
        traffic in traffic(),
        deliveries in 1usize..=20,
    ) {
        compare(&spec, &script(&spec, &traffic).stop_after(deliveries), None)?;
    }
}

/// Many packets for one adapter through a slow link, from adapters that are controlled: long
/// enough for indices to rise and fall again.
#[test]
fn a_controlled_hotspot_agrees() {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 4, 1, None).unwrap());
    voq_of(&mut spec).buffers.input = static_pool(2, 72);
    spec.units.header_bytes = 26;
    let voq = voq_of(&mut spec);
    voq.links.nic = ratio(1, 2);
    voq.hca.send_rate = Some(ratio(2, 5));
    voq.hca.sink_rate = Some(ratio(2, 5));
    spec.congestion_control = Some(Box::new(control(12, 2, 2000)));
    let lines = [(0, 4), (1, 5), (2, 5), (6, 5), (7, 5)]
        .into_iter()
        .zip(0..)
        .map(|((from, to), i)| (Cue::At(i * 2000), message(i, from, to, 0, 200_000)));
    let run = compare(&spec, &Script::new(lines), Some(1000)).unwrap();
    assert!(run.congestion.marked > 100 && run.congestion.level_max > 3);
}

/// Two VLs through links whose far ends are slow: Port VLs are starved of credits, hold those
/// of their own packets back, and those of the other VL keep their place behind them.
#[test]
fn starved_port_vls_agree() {
    let mut spec = voq_fabric(Topology::cube(&[3], false, 3, 1, None).unwrap());
    voq_of(&mut spec).buffers.input = static_pool(2, 24);
    let voq = voq_of(&mut spec);
    voq.links.nic = ratio(1, 2);
    voq.hca.sink_rate = Some(ratio(1, 5));
    voq_of(&mut spec).buffers.nic_sink = static_pool(2, 8);
    let with = |multiplier| {
        let mut spec = spec.clone();
        let mut control = control(0, 1, 3000);
        let marker = marker_of(&mut control);
        for port in [&mut marker.host_ports, &mut marker.switch_ports] {
            (port.credit_mask, port.cs_threshold) = (true, 12);
            port.cs_return_delay = CctEntry {
                multiplier,
                shift: 1,
            };
        }
        spec.congestion_control = Some(Box::new(control));
        let lines = (0..60u64).map(|i| {
            let from = (i % 8) as u32;
            let to = if i % 3 == 0 { 3 + from % 5 } else { 8 };
            let to = if to == from { 0 } else { to };
            (Cue::At(40 * i), message(i, from, to, (i % 2) as u8, 4000))
        });
        compare(&spec, &Script::new(lines), Some(500)).unwrap()
    };
    let ends = [0, 1, 7, 64, 1000].map(|multiplier| {
        let run = with(multiplier);
        assert!(run.congestion.marked > 10, "{multiplier}");
        run.end_tick
    });
    assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "{ends:?}");
    assert!(ends[4] > ends[0], "{ends:?}");
}

/// Half of the packets go to one NIC of three switches in a row, the others anywhere, on two VLs: stops reach the sources, and
/// queues run full and end.
#[test]
fn hot_spots_agree_where_flows_are_kept_apart() {
    let lines = (0..400u64).map(|i| {
        let from = (i % 9) as u32;
        let to = if i % 2 == 0 { 8 } else { (i / 9 % 8) as u32 };
        let to = if to == from { (to + 1) % 9 } else { to };
        (Cue::At(4 * i), message(i, from, to, (i % 3 / 2) as u8, 700))
    });
    let script = Script::new(lines);
    for (queues, thresholds) in [
        (InputQueues::PerFlow, None),
        (InputQueues::Isolating, Some((1, [8, 12, 0]))),
        (InputQueues::Isolating, Some((2, [8, 8, 4]))),
        (InputQueues::Isolating, Some((3, [1, 12, 11]))),
    ] {
        let mut spec = voq_fabric(Topology::cube(&[3], false, 3, 1, None).unwrap());
        let voq = voq_of(&mut spec);
        voq.buffers.input = static_pool(2, 24);
        voq.input_queues = queues;
        voq.isolation = thresholds.map(|(queues, parts)| Isolation::even(2, queues, parts));
        let run = compare(&spec, &script, Some(100)).unwrap();
        let some = queues == InputQueues::PerFlow || run.stops > 20;
        assert!(some, "{queues:?} {thresholds:?}: {} stops", run.stops);
    }
}

#[test]
fn a_run_without_messages_has_a_first_tick() {
    let spec = voq_fabric(Topology::single(2).unwrap());
    compare(&spec, &Script::new([]), Some(1)).unwrap();
}
