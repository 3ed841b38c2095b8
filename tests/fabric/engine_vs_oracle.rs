//! The engine against the oracle: on random fabrics and traffic every packet
//! must leave and arrive in the same tick in both, and every counter be the same.

use crate::common::infiniband::{
    cct_of, control, marker_of, own_pool, voq_fabric, with_hierarchical_switches,
};
use crate::common::random::{Kind, choosing_tree, config, controlled_fabric, fabric, table_fabric};
use crate::common::random_traffic::{script, traffic};
use crate::common::script::{Cue, Script, jam, message};
use crate::common::specs::{even_pool, hierarchical_of, jamming_ring, opa_gen1, opasim};
use crate::compare::{compare, compare_sampled};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::spec::congestion::{CctEntry, FillComparison, FlowLevel};
use flitwise::fabric::spec::hierarchical::{
    AllocationRule, Allocator, CentralLink, DTableEntry, Scheduler, VirtualAllocation,
};
use flitwise::fabric::topology::Topology;
use proptest::prelude::*;

/// Compares a run with each allocator, kind of virtual allocation and rule for central buffers.
fn compare_all(mut spec: FabricSpec, script: &Script) {
    let (informed, blind) = (VirtualAllocation::Informed, VirtualAllocation::Blind);
    let allocators = [
        (AllocationRule::Pipelined, 1, informed),
        (AllocationRule::Pipelined, 1, blind),
        (AllocationRule::Rounds, 1, blind),
        (AllocationRule::Rounds, 3, blind),
        (AllocationRule::Serial, 1, informed),
    ];
    for (rule, iterations, picks) in allocators {
        let switch = hierarchical_of(&mut spec);
        switch.allocator = Allocator { rule, iterations };
        switch.virtual_allocation = picks;
        compare(&spec, script).unwrap();
    }
    for link in [CentralLink::ByInput, CentralLink::Random { seed: 7 }] {
        hierarchical_of(&mut spec).buffers.central_link = link;
        compare(&spec, script).unwrap();
    }
}

#[test]
fn jammed_ring_agrees() {
    compare_all(jamming_ring(), &jam());
}

/// A jammed fabric has no events left, though its sources pick in every tick.
#[test]
fn blind_sources_of_a_jammed_ring_sleep() {
    let mut spec = jamming_ring();
    hierarchical_of(&mut spec).virtual_allocation = VirtualAllocation::Blind;
    let mut engine = Engine::new(&spec).unwrap();
    assert!(matches!(engine.run(&mut jam()), RunEnd::Deadlock(_)));
    assert!(engine.progress().tick < 100_000);
}

/// Messages of all service levels between random NICs: mostly small, some of many
/// packets, some empty; `spread` ticks apart at most.
fn mixed(spec: &FabricSpec, messages: u64, spread: u64, longest: u64, seed: u64) -> Script {
    let nics = u64::from(spec.topology.nics());
    let sls = spec.qos.service_levels.len() as u64;
    let mut state = seed;
    let mut below = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    Script::new((0..messages).map(|token| {
        let src = below(nics);
        let dst = (src + 1 + below(nics - 1)) % nics;
        let bytes = match below(20) {
            0 => 0,
            1 => below(longest),
            2..=7 => below(4096),
            _ => below(600),
        };
        let sl = below(sls) as u8;
        (
            Cue::At(below(spread)),
            message(token, src as u32, dst as u32, sl, bytes),
        )
    }))
}

/// The DTable of Hiperion's Table 10.
fn table_10() -> Scheduler {
    let entries = (0..128u32).map(|i| match i {
        i if i % 2 == 0 => (0, 6 + u32::from(i / 2 >= 32)),
        i if i % 4 == 1 => (1, 39),
        i if i % 8 == 3 => (2, 130),
        i if i % 16 == 7 => (3, 26),
        _ => (4, 26),
    });
    let entries = entries
        .map(|(sl, weight)| DTableEntry { sl, weight })
        .collect();
    Scheduler::DTable { entries }
}

/// The real latencies, buffers and packet sizes, which random fabrics are too
/// small for.
#[test]
fn preset_fabrics_agree() {
    let tree = |k, hosts| Topology::k_ary_n_tree(k, 2, Some(hosts)).unwrap();
    let torus = Topology::cube(&[4, 4], true, 3, 10, None).unwrap();
    let sbt = Scheduler::Sbt {
        weights: vec![10, 30, 50, 5, 5],
    };
    for (seed, mut spec) in [
        opa_gen1(tree(4, 16), table_10()),
        opa_gen1(tree(8, 20), sbt),
        opa_gen1(torus, table_10()),
        opa_gen1(Topology::single(30).unwrap(), Scheduler::RrVl),
        opasim(Topology::single(48).unwrap()),
    ]
    .into_iter()
    .enumerate()
    {
        let script = mixed(&spec, 250, 1500, 50_000, seed as u64 + 1);
        compare(&spec, &script).unwrap();
        if seed % 3 == 1 {
            let switch = hierarchical_of(&mut spec);
            switch.virtual_allocation = VirtualAllocation::Blind;
            compare(&spec, &script).unwrap();
            hierarchical_of(&mut spec).allocator.rule = AllocationRule::Rounds;
            compare(&spec, &script).unwrap();
        }
    }
}

/// More queues in a central buffer than bits in a word: 6 classes of 16 VLs.
#[test]
fn many_central_queues_agree() {
    let tree = Topology::k_ary_n_tree(10, 2, Some(22)).unwrap();
    let mut spec = opa_gen1(tree, table_10());
    spec.qos.vls = 16;
    for vl in spec.qos.sc2vl.iter_mut().flatten() {
        *vl += 8;
    }
    let buffers = &mut hierarchical_of(&mut spec).buffers;
    buffers.nic_queue = even_pool(16, 512, 16, 384);
    buffers.nic_sink = buffers.nic_queue.clone();
    buffers.input = even_pool(16, 1024, 32, 768);
    buffers.output = buffers.input.clone();
    buffers.central = even_pool(16, 1536, 16, 768);
    let script = mixed(&spec, 120, 100, 4096, 7);
    compare_all(spec, &script);
}

/// A message of many packets, beside others.
#[test]
fn long_messages_agree() {
    let spec = opasim(Topology::single(8).unwrap());
    let lines = (0..8).map(|nic| {
        let bytes = 25_000 + 77 * u64::from(nic);
        (
            Cue::At(0),
            message(nic.into(), nic, (nic + 3) % 8, 0, bytes),
        )
    });
    compare(&spec, &Script::new(lines)).unwrap();
}

/// Everybody sends to NIC 0, and some to each other: with thresholds of a sixteenth of the
/// buffers, long before they are full. A NIC sends a message to NIC 0 for 3072 ticks at least, and
/// the first notification comes after some 2500, so that it finds packets to hold.
#[test]
fn controlled_hotspots_agree() {
    let tree = Topology::k_ary_n_tree(4, 2, Some(16)).unwrap();
    for (level, shift) in [(FlowLevel::Qp, 2), (FlowLevel::Sl, 3)] {
        let mut spec = opa_gen1(tree.clone(), table_10());
        let mut control = control(15, shift, 10_000);
        let cct = cct_of(&mut control);
        cct.service_levels = vec![cct.service_levels[0]; 5];
        cct.level = level;
        marker_of(&mut control).compare = FillComparison::Sum;
        spec.congestion_control = Some(Box::new(control));
        let hot = (1..16).map(|nic| (Cue::At(0), message(nic.into(), nic, 0, 2, 24576)));
        let others = (1..16).map(|nic| {
            let to = 1 + (nic + 4) % 15;
            (
                Cue::At(3000),
                message(100 + u64::from(nic), nic, to, 2, 2048),
            )
        });
        let script = Script::new(hot.chain(others));
        compare_sampled(&spec, &script, Some(1000)).unwrap();
        let mut engine = Engine::new(&spec).unwrap();
        engine.run(&mut script.clone());
        let counts = engine.stats().congestion.unwrap();
        // A run ends with the last message; notifications of its packets are still under way.
        let under_way = counts.notifications_sent - counts.notifications_received;
        assert!(
            counts.marked > 20 && counts.notifications_received > 20 && under_way < 10,
            "{counts:?}"
        );
        assert!(counts.level_sum > 0);
    }
}

/// Port VLs that are starved of credits hold those of their own packets back, and those of
/// the other VL keep their place behind them.
#[test]
fn starved_port_vls_agree() {
    let ends = [0, 1, 7, 64, 1000].map(|multiplier| {
        let mesh = Topology::cube(&[3], false, 4, 1, None).unwrap();
        let mut spec = with_hierarchical_switches(voq_fabric(mesh));
        let buffers = &mut hierarchical_of(&mut spec).buffers;
        (buffers.input, buffers.central) = (own_pool(2, 16), own_pool(2, 16));
        buffers.nic_sink = own_pool(2, 4);
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
            let from = (i % 11) as u32;
            let to = if i % 3 == 0 { 4 + from % 7 } else { 11 };
            let to = if to == from { 0 } else { to };
            (Cue::At(40 * i), message(i, from, to, (i % 2) as u8, 4000))
        });
        let script = Script::new(lines);
        compare_sampled(&spec, &script, Some(500)).unwrap();
        let mut engine = Engine::new(&spec).unwrap();
        engine.run(&mut script.clone());
        let marked = engine.stats().congestion.unwrap().marked;
        assert!(marked > 10, "{multiplier}: {marked}");
        engine.stats().end_tick
    });
    assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "{ends:?}");
    assert!(ends[4] > ends[0], "{ends:?}");
}

proptest! {
    // Nine fabrics a case.
    #![proptest_config(config(50))]

    #[test]
    fn each_allocator_agrees(
        mut spec in fabric(Kind::Any),
        traffic in traffic(),
        iterations in 1u32..=4,
        seed in any::<u64>(),
    ) {
        let links = [CentralLink::ByOutput, CentralLink::ByInput, CentralLink::Random { seed }];
        for (rule, iterations) in [
            (AllocationRule::Pipelined, 1),
            (AllocationRule::Serial, 1),
            (AllocationRule::Rounds, iterations),
        ] {
            for link in links {
                let switch = hierarchical_of(&mut spec);
                switch.allocator = Allocator { rule, iterations };
                if rule == AllocationRule::Rounds {
                    switch.virtual_allocation = VirtualAllocation::Blind;
                }
                switch.buffers.central_link = link;
                compare(&spec, &script(&spec, &traffic))?;
            }
        }
    }
}

proptest! {
    #![proptest_config(config(80))]

    #[test]
    fn sound_fabrics_agree(spec in fabric(Kind::Sound), traffic in traffic()) {
        compare(&spec, &script(&spec, &traffic))?;
    }

    #[test]
    fn congestion_control_agrees(
        spec in controlled_fabric(Kind::Sound),
        traffic in traffic(),
        interval in 1u64..=2000,
    ) {
        compare_sampled(&spec, &script(&spec, &traffic), Some(interval))?;
    }

    #[test]
    fn congestion_control_agrees_even_in_deadlock(
        spec in controlled_fabric(Kind::Any),
        traffic in traffic(),
    ) {
        compare_sampled(&spec, &script(&spec, &traffic), Some(100))?;
    }

    #[test]
    fn any_fabrics_agree_even_when_they_deadlock(spec in fabric(Kind::Any), traffic in traffic()) {
        compare(&spec, &script(&spec, &traffic))?;
    }

    #[test]
    fn planes_agree(
        (spec, planes) in fabric(Kind::Any).prop_flat_map(|spec| (Just(spec), 2_u32..=3))
            .prop_filter("its settings name parts", |(spec, planes)| spec.clone().in_planes(*planes).is_ok()),
        traffic in traffic(),
    ) {
        let script = script(&spec, &traffic).on_planes(planes);
        compare(&spec.in_planes(planes).unwrap(), &script)?;
    }

    #[test]
    fn packets_that_choose_their_up_ports_agree(
        spec in choosing_tree(Kind::Any),
        traffic in traffic(),
    ) {
        compare(&spec, &script(&spec, &traffic))?;
    }

    #[test]
    fn sound_tables_agree(spec in table_fabric(Kind::Sound), traffic in traffic()) {
        compare_sampled(&spec, &script(&spec, &traffic), Some(300))?;
    }

    #[test]
    fn tables_agree_even_in_deadlock(spec in table_fabric(Kind::Any), traffic in traffic()) {
        compare_sampled(&spec, &script(&spec, &traffic), Some(300))?;
    }

    #[test]
    fn runs_cut_short_agree(
        spec in fabric(Kind::Sound),
        traffic in traffic(),
        deliveries in 1usize..=20,
    ) {
        compare(&spec, &script(&spec, &traffic).stop_after(deliveries))?;
    }
}
