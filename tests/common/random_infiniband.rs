//! Random InfiniBand fabrics and traffic, small enough for the oracle.

use super::infiniband::{ratio, static_pool, voq_fabric, voq_of};
use super::random::{Kind, fit_paths, paths};
use super::random_cables;
use super::random_queueing::{raw_input_queues, raw_scheme};
use super::random_tables::RawTables;
use super::random_topology;
use super::script::{Cue, Script, message};
use super::specs::sc2vl;
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::congestion::{
    CctControl, CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marker, Marking,
    PortCongestion, PortVlMarker, SlCongestion, SlScope, SourceControl, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::voq::{
    Acks, AllocationRule, Allocator, Buffers, LinkRates, VlArb, VlWeight,
};
use flitwise::fabric::spec::{
    CongestionControl, FabricSpec, Hop, LinkLatency, Notification, Paths, QueueingScheme, RingTie,
    SchemeKind, ServiceLevel, SlToVl, TrunkSelection, UpPorts, VlPolicy,
};
use flitwise::fabric::topology::Topology;
use flitwise::units::Ratio;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn topology() -> BoxedStrategy<Topology> {
    let cube = |wrap| {
        move |(dimensions, concentration, trunk): (Vec<u32>, u32, u32)| {
            Topology::cube(&dimensions, wrap, concentration, trunk, None).unwrap()
        }
    };
    prop_oneof![
        (2u32..8).prop_map(|nics| Topology::single(nics).unwrap()),
        (vec(2u32..4, 1..3), 1u32..3, 1u32..3).prop_map(cube(false)),
        (vec(3u32..6, 1..2), 1u32..3, 1u32..3).prop_map(cube(true)),
        Just(Topology::k_ary_n_tree(2, 2, None).unwrap()),
        super::random_topology::xgft(),
        super::random_topology::graph(),
        super::random_topology::dragonfly(),
    ]
    .boxed()
}

fn rate() -> BoxedStrategy<Ratio> {
    prop_oneof![
        Just(Ratio::ONE),
        Just(ratio(1, 2)),
        Just(ratio(2, 3)),
        Just(ratio(3, 7)),
        Just(ratio(171, 256)),
        Just(ratio(1, 5)),
    ]
    .boxed()
}

/// Parts of a flit that a tick is, on links of rate 1.
fn fineness() -> BoxedStrategy<Ratio> {
    prop_oneof![
        3 => Just(Ratio::ONE),
        1 => Just(ratio(1, 3)),
        2 => Just(ratio(1, 8)),
    ]
    .boxed()
}

fn arbiter(vls: u8) -> BoxedStrategy<VlArb> {
    let entry = (0..vls, 0u8..20).prop_map(|(vl, weight)| VlWeight { vl, weight });
    let limit = prop_oneof![Just(0u8), Just(1), Just(255)];
    let tables = (vec(entry.clone(), 0..4), vec(entry, 0..4), limit).prop_map(
        move |(high, mut low, high_limit)| {
            // Every VL has to be served.
            low.extend((0..vls).map(|vl| VlWeight { vl, weight: 5 }));
            VlArb::Tables {
                high,
                low,
                high_limit,
            }
        },
    );
    prop_oneof![Just(VlArb::RoundRobin), tables].boxed()
}

fn port() -> BoxedStrategy<PortCongestion> {
    // Large weights mark most.
    let threshold = prop_oneof![0u8..=15, 13u8..=15];
    let marks = (threshold, any::<bool>(), 0u8..8, 0u16..4);
    let delay = prop_oneof![
        Just(CctEntry::NONE),
        (0u16..40, 0u8..=3).prop_map(|(multiplier, shift)| CctEntry { multiplier, shift }),
        (0u16..400, 0u8..=3).prop_map(|(multiplier, shift)| CctEntry { multiplier, shift }),
    ];
    (marks, any::<bool>(), 0u8..=15, delay)
        .prop_map(
            |(marks, credit_mask, cs_threshold, cs_return_delay)| PortCongestion {
                threshold: marks.0,
                victim_mask: marks.1,
                packet_size: marks.2,
                marking_rate: marks.3,
                credit_mask,
                cs_threshold,
                cs_return_delay,
            },
        )
        .boxed()
}

/// What belongs to a service level.
fn level() -> BoxedStrategy<SlCongestion> {
    (0u8..8, 0u8..3, 10u64..400, 0u8..6)
        .prop_map(
            |(ccti_increase, ccti_min, ccti_timer, trigger_threshold)| SlCongestion {
                ccti_increase,
                ccti_min,
                ccti_timer,
                trigger_threshold,
            },
        )
        .boxed()
}

/// Congestion control of fabrics with `sls` service levels. One in 16 has no marker, one in
/// 16 no source control.
pub fn congestion(sls: usize) -> BoxedStrategy<CongestionControl> {
    (complete(sls), 0u8..16, 0u8..16)
        .prop_map(|(mut control, marker, source)| {
            if marker == 0 {
                control.marker = Marker::None;
            }
            if source == 0 {
                control.source = SourceControl::None;
            }
            control
        })
        .boxed()
}

/// Congestion control with a marker and a source control.
fn complete(sls: usize) -> BoxedStrategy<CongestionControl> {
    let compare = prop_oneof![
        Just(FillComparison::AnyQueue),
        Just(FillComparison::Sum),
        Just(FillComparison::SumShared),
    ];
    let notification = prop_oneof![
        Just(Notification::Cnp { bytes: 42 }),
        Just(Notification::Cnp { bytes: 100 }),
        Just(Notification::Ack),
        Just(Notification::AckNow),
    ];
    let scope = prop_oneof![
        Just((FlowLevel::Qp, SlScope::Flow)),
        Just((FlowLevel::Sl, SlScope::Flow)),
        Just((FlowLevel::Sl, SlScope::Link)),
    ];
    let timer = prop_oneof![
        Just((TimerScope::PerFlow, TimerRestart::AtExpiry)),
        Just((TimerScope::PerFlow, TimerRestart::OnBecn)),
        Just((TimerScope::PerSl, TimerRestart::AtExpiry)),
    ];
    let marking = prop_oneof![Just(Marking::Random), Just(Marking::Fixed)];
    let bound = prop_oneof![Just(CctiBound::Saturate), Just(CctiBound::Skip)];
    let base = prop_oneof![Just(IrdBase::Packet), Just(IrdBase::MaxPacket)];
    let modes = (compare, notification, scope, timer);
    let choices = (marking, any::<u64>(), bound, base);
    let table = (3u16..=127, 0u16..20, 0u8..=3);
    (port(), port(), modes, choices, table, vec(level(), sls))
        .prop_map(
            |(
                host_ports,
                switch_ports,
                modes,
                choices,
                (ccti_limit, step, shift),
                service_levels,
            )| {
                CongestionControl {
                    marker: Marker::PortVl(PortVlMarker {
                        host_ports,
                        switch_ports,
                        exceptions: BTreeMap::new(),
                        compare: modes.0,
                        marking: choices.0,
                        marking_seed: choices.1,
                    }),
                    notification: modes.1,
                    source: SourceControl::Cct(CctControl {
                        level: modes.2.0,
                        sl_scope: modes.2.1,
                        timer: modes.3.0,
                        timer_restart: modes.3.1,
                        ccti_bound: choices.2,
                        ird_base: choices.3,
                        cct: (0..128)
                            .map(|i| CctEntry {
                                multiplier: i * step,
                                shift,
                            })
                            .collect(),
                        ccti_limit,
                        service_levels,
                    }),
                }
            },
        )
        .boxed()
}

/// Service levels on VLs: a VL for each VL class, no two of which share one. With DBBM they have
/// `queues` SCs in each class.
fn levels(spec: &mut FabricSpec, mtus: &[u32], pairs: u8, queues: Option<u8>) {
    let classes = spec.routing.paths.classes(spec.topology.vl_classes());
    // There are 15 SCs below the reserved one.
    let queues = queues.map(|queues| match classes {
        1 => queues,
        2 => queues.min(2),
        _ => 1,
    });
    // Nor are there more data VLs.
    let most = 15 / classes;
    let pairs = pairs.min(most);
    let mut vl_of_sc = Vec::new();
    let mut levels = Vec::new();
    for (sl, &mtu_bytes) in (0u8..most).zip(mtus) {
        let first = vl_of_sc.len() as u8;
        let vl = sl % pairs;
        if let Some(queues) = queues {
            for class in 0..classes {
                let vls = (0..queues).map(|queue| (vl + queue) % pairs);
                vl_of_sc.extend(vls.map(|vl| classes * vl + class));
            }
        } else if classes == 1 {
            vl_of_sc.extend([vl, (vl + 1) % pairs]);
        } else {
            vl_of_sc.extend((0..classes).map(|class| classes * vl + class));
        }
        levels.push(ServiceLevel {
            name: format!("SL{sl}"),
            traffic_class: sl,
            scs: (first..vl_of_sc.len() as u8).collect(),
            mtu_bytes,
        });
    }
    spec.qos.vls = classes * pairs;
    spec.qos.sc2vl = sc2vl(&vl_of_sc);
    spec.qos.service_levels = levels;
    if let Some(queues) = queues {
        spec.qos.vl_policy = VlPolicy::Queueing(QueueingScheme::new(SchemeKind::Dbbm, queues));
    }
}

prop_compose! {
    fn frame(topology: impl Strategy<Value = Topology>)(
        topology in topology,
        latencies in (1u64..8, 1u64..6, 0u64..4, 0u64..4, 1u64..4, 1u64..3, 0u64..4),
        header_bytes in prop_oneof![Just(0u32), Just(26)],
        flits_per_credit in 1u32..4,
        mtus in vec(40u32..600, 1..4),
        pairs in 1u8..4,
        queues in prop_oneof![2 => Just(None), 1 => (1u8..=3).prop_map(Some)],
        parity in any::<bool>(),
        trunk in prop_oneof![
            Just(TrunkSelection::Destination),
            Just(TrunkSelection::RoundRobin),
            Just(TrunkSelection::LeastQueued),
        ],
        up_ports in prop_oneof![Just(UpPorts::Destination), Just(UpPorts::LeastQueued)],
        (paths, scheme, cables) in (paths(), raw_scheme(), random_cables::flights()),
    ) -> FabricSpec {
        let mut spec = voq_fabric(topology);
        let t = &mut voq_of(&mut spec).stages;
        let (link, host_link, ..) = latencies;
        (_, _, t.input_store, t.routing, t.allocation, t.crossbar, t.output_store) = latencies;
        spec.link_latency = LinkLatency::usual(link, host_link);
        spec.link_latency.exceptions = random_cables::differing(&spec.topology, &cables);
        spec.units.header_bytes = header_bytes;
        spec.units.flits_per_credit = flits_per_credit;
        spec.routing.trunk = trunk;
        spec.routing.up_ports = up_ports;
        spec.routing.paths = fit_paths(paths, &spec.topology);
        spec.routing.ring_tie = if parity { RingTie::SourceParity } else { RingTie::Positive };
        levels(&mut spec, &mtus, pairs, queues);
        if let Some(scheme) = scheme {
            scheme.put(&mut spec, 15);
        }
        spec
    }
}

/// One iteration of iSLIP, or something else.
fn allocator() -> BoxedStrategy<Allocator> {
    let rule = prop_oneof![
        Just(AllocationRule::Islip),
        Just(AllocationRule::RoundRobin)
    ];
    let other = (rule, 1u32..=3).prop_map(|(rule, iterations)| Allocator { rule, iterations });
    prop_oneof![1 => Just(Allocator::default()), 1 => other].boxed()
}

/// A random sound `voq` fabric.
pub fn fabric() -> BoxedStrategy<FabricSpec> {
    fabric_on(topology()).boxed()
}

/// The same on a tree, with its own routing.
pub fn tree_fabric() -> BoxedStrategy<FabricSpec> {
    fabric_on(random_topology::tree())
        .prop_map(|mut spec| {
            (spec.routing.forwarding, spec.routing.failed) = (None, Vec::new());
            spec
        })
        .boxed()
}

fn fabric_on(topology: BoxedStrategy<Topology>) -> BoxedStrategy<FabricSpec> {
    frame(topology)
        .prop_flat_map(|spec| {
            let (vls, sls) = (spec.qos.vls, spec.qos.service_levels.len());
            let by_class = spec.needs_classes();
            let tables = (vec(0..vls, sls), vec(vec(0..vls, sls), 0..3));
            let acks = prop_oneof![
                Just(Acks::None),
                Just(Acks::PerMessage),
                Just(Acks::PerPacket)
            ];
            let sizes = (0u32..8, 0u32..8, 0u32..6, 0u32..6);
            (
                (Just(spec), raw_input_queues(), allocator()),
                (fineness(), rate(), rate(), vec(rate(), 0..4)),
                (option::of(rate()), option::of(rate()), acks),
                (arbiter(vls), arbiter(vls), 1u32..4),
                option::of(tables).prop_map(move |tables| tables.filter(|_| !by_class)),
                (sizes, 1u32..4, option::of(any::<u64>())),
                option::of(congestion(sls)),
            )
                .prop_map(
                    move |(basis, links, hca, arbiters, tables, sizes, congestion)| {
                        let (mut spec, queues, allocator) = basis;
                        let (send, sink, acks) = hca;
                        put_rates(&mut spec, links, (send, sink));
                        let voq = voq_of(&mut spec);
                        (voq.allocator, voq.hca.acks) = (allocator, acks);
                        (voq.vlarb, voq.hca.vlarb, voq.crossbar_speedup) = arbiters;
                        if let Some(tables) = tables {
                            put_sl2vl(&mut spec, tables);
                        }
                        let (credits, packets, forwarding) = sizes;
                        put_buffers(&mut spec, packets, credits);
                        put_forwarding(&mut spec, by_class, forwarding);
                        put_congestion(&mut spec, congestion);
                        queues.put(&mut spec);
                        spec
                    },
                )
        })
        .boxed()
}

/// Gives `spec` the rates of its links and NICs, each times `fineness`.
fn put_rates(
    spec: &mut FabricSpec,
    (fineness, nic, switch, differing): (Ratio, Ratio, Ratio, Vec<Ratio>),
    (send, sink): (Option<Ratio>, Option<Ratio>),
) {
    let fine = |rate: Ratio| rate.checked_mul(fineness).unwrap();
    let differing: Vec<_> = differing.into_iter().map(fine).collect();
    let exceptions = random_cables::differing(&spec.topology, &differing);
    let voq = voq_of(spec);
    voq.links = LinkRates {
        nic: fine(nic),
        switch: fine(switch),
        exceptions,
    };
    (voq.hca.send_rate, voq.hca.sink_rate) = (send.map(fine), sink.map(fine));
}

/// Gives `spec` SL-to-VL tables: the default, and of `others` the first to the last NIC, the rest to out-ports of switch 0.
fn put_sl2vl(spec: &mut FabricSpec, (default, others): (Vec<u8>, Vec<Vec<u8>>)) {
    let nics = spec.topology.nics();
    let hop_to = |output| Hop {
        switch: SwitchId::new(0),
        in_port: PortId::new(0),
        out_port: PortId::new(output),
    };
    let mut others = others.into_iter();
    let hcas = others.next().map(|table| (NicId::new(nics - 1), table));
    spec.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
        default,
        hcas: hcas.into_iter().collect(),
        ports: (0..).map(hop_to).zip(others).collect(),
    });
}

/// Gives `spec` input and receive buffers for `packets` largest packets of each VL, the others for one, and each some credits more.
fn put_buffers(spec: &mut FabricSpec, packets: u32, (a, b, c, d): (u32, u32, u32, u32)) {
    let vls = spec.qos.vls;
    let least = spec.largest_packet_credits().max(2);
    voq_of(spec).buffers = Buffers {
        input: static_pool(vls, least * packets + a),
        nic_sink: static_pool(vls, least * packets + b),
        output: least + c,
        nic_queue: least + d,
    };
}

/// Gives `spec` forwarding tables if there is a seed for them and its paths and VLs go with tables.
fn put_forwarding(spec: &mut FabricSpec, by_class: bool, seed: Option<u64>) {
    // Queueing schemes have queues of every VL class, which tables do not follow.
    let by_queue = by_class && spec.qos.vl_policy.queueing().is_some();
    if spec.routing.paths == Paths::Minimal && !by_queue {
        let tables = RawTables::only_forwarding(seed);
        tables.put_forwarding(Kind::Sound, &spec.topology, &mut spec.routing);
    }
    if spec.routing.forwarding.is_some() {
        spec.routing.up_ports = UpPorts::Destination;
    }
}

/// Gives `spec` congestion control, which notifies by CNPs where there are no ACKs.
fn put_congestion(spec: &mut FabricSpec, control: Option<CongestionControl>) {
    let reliable = voq_of(spec).hca.acks != Acks::None;
    spec.congestion_control = control.map(|mut control| {
        let by_ack = !matches!(control.notification, Notification::Cnp { .. });
        if by_ack && !reliable {
            control.notification = Notification::Cnp { bytes: 42 };
        }
        Box::new(control)
    });
}

/// A message still without a place in a fabric.
#[derive(Debug, Clone)]
pub struct RawMessage {
    tick: u64,
    src: u32,
    dst: u32,
    sl: u8,
    bytes: u64,
    /// Go to adapter 0, to build up congestion.
    hot: bool,
}

/// Traffic for any fabric.
pub fn traffic() -> BoxedStrategy<Vec<RawMessage>> {
    let one = (
        0u64..300,
        any::<(u32, u32, u8)>(),
        0u64..4000,
        any::<bool>(),
    );
    let one = one.prop_map(|(tick, (src, dst, sl), bytes, hot)| RawMessage {
        tick,
        src,
        dst,
        sl,
        bytes,
        hot,
    });
    vec(one, 1..60).boxed()
}

/// The traffic in a fabric.
pub fn script(spec: &FabricSpec, traffic: &[RawMessage]) -> Script {
    let (nics, sls) = (spec.topology.nics(), spec.qos.service_levels.len() as u8);
    let lines = traffic.iter().zip(0..).filter_map(|(raw, token)| {
        let src = raw.src % nics;
        let dst = if raw.hot { 0 } else { raw.dst % nics };
        let mut message = message(token, src, dst, raw.sl % sls, raw.bytes);
        message.report_injection = token % 2 == 0;
        (src != dst).then_some((Cue::At(raw.tick), message))
    });
    Script::new(lines)
}
