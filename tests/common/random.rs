//! Random small fabrics, and traffic for them.
//!
//! Everything is drawn as plain numbers first and made to fit afterwards, so
//! that a failing case shrinks to a small one.

use super::random_buffers::{empty_buffers, raw_buffers};
use super::random_cables;
use super::random_infiniband;
use super::random_queueing::{choose_up_ports, raw_scheme};
use super::random_tables::{RawTables, tables};
use super::random_topology;
use super::random_topology::topology;
use super::specs::hierarchical_of;
use flitwise::fabric::ids::SwitchId;
use flitwise::fabric::spec::congestion::SourceControl;
use flitwise::fabric::spec::hierarchical::{
    AllocationRule, Allocator, CentralLink, DTABLE_UNIT_BYTES, DTableEntry, Scheduler, Timing,
    VirtualAllocation,
};
use flitwise::fabric::spec::validate::MAX_CLASS_TURNS;
use flitwise::fabric::spec::{
    CongestionControl, DetourRule, Detours, FabricSpec, Hierarchical, Intermediate, LinkLatency,
    Notification, Paths, Qos, QueueingScheme, RingTie, Routing, SchemeKind, ServiceLevel, Stages,
    Switch, TrunkSelection, Units, UpPorts, VlPolicy,
};
use flitwise::fabric::topology::{Peer, Shape, Topology};
use flitwise::units::TickLength;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeSet;

/// How hard a fabric may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Every queue has room for a largest packet of its own, and service
    /// levels share VLs class by class or not at all: nothing can deadlock.
    Sound,
    /// Anything that can be built: shared space only, VL classes that get
    /// in each other's way, central queues as drawn. It may well deadlock.
    Any,
}

/// Runs `cases` cases, or as many as `PROPTEST_CASES` says. A case that failed
/// is kept beside the test and tried first from then on.
pub fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config.max_shrink_iters = 3000;
    if std::env::var_os("PROPTEST_MAX_SHRINK_TIME").is_none() {
        // A failure is to be told before whoever runs the tests gives up.
        config.max_shrink_time = 120_000;
    }
    config.failure_persistence = Some(Box::new(FileFailurePersistence::WithSource(
        "proptest-regressions",
    )));
    config
}

fn speedup() -> BoxedStrategy<u32> {
    prop_oneof![6 => 1u32..=4, 1 => 5u32..=20, 1 => Just(255)].boxed()
}

prop_compose! {
    fn timing()(
        flit_bytes in prop_oneof![
            3 => prop_oneof![Just(8u32), Just(16), Just(64)],
            1 => 1u32..=300,
        ],
        (link, host_link) in (1u64..=20, 1u64..=9),
        (input_store, routing, output_store) in (0u64..=3, 0u64..=12, 0u64..=8),
        (allocation, crossbar) in (1u64..=9, 1u64..=3),
        (mport_speedup, central_speedup) in (speedup(), speedup()),
    ) -> (u32, LinkLatency, Timing) {
        let latency = LinkLatency::usual(link, host_link);
        let timing = Timing {
            stages: Stages { input_store, routing, allocation, crossbar, output_store },
            mport_speedup,
            central_speedup,
        };
        (flit_bytes, latency, timing)
    }
}

/// Most service levels of a fabric.
const MAX_LEVELS: usize = 12;
/// Most VLs of a fabric.
const MAX_VLS: u8 = 32;
/// SCs that service levels can have: 0 to 31 but for 15, which is reserved.
const SCS: usize = 31;

/// A service level before it fits: VLs of its SCs, and the flits of its largest
/// packet.
type RawLevel = (Vec<u8>, u32);

/// Service levels, and how many VLs there may be at most (an even number).
fn raw_levels() -> BoxedStrategy<(Vec<RawLevel>, u8)> {
    let scs = prop_oneof![4 => vec(any::<u8>(), 2..=2), 1 => vec(any::<u8>(), 1..=6)];
    let levels = prop_oneof![
        8 => vec((scs.clone(), 1u32..=20), 1..=5),
        1 => vec((scs, 1u32..=20), 6..=MAX_LEVELS),
    ];
    let vls = prop_oneof![10 => Just(6u8), 1 => Just(2), 1 => Just(16), 1 => Just(MAX_VLS)];
    (levels, vls).boxed()
}

/// The service levels with their SCs and VLs. With several VL classes a level has an SC for each,
/// on VLs of their own, else any number of SCs, of which several may share a VL. With DBBM it has
/// as many `queues` in each class as there are SCs for.
fn service_levels(
    kind: Kind,
    (raw, vls): &(Vec<RawLevel>, u8),
    flit_bytes: u32,
    classes: usize,
    queues: Option<u8>,
) -> Qos {
    let most = MAX_CLASS_TURNS as usize / (classes * classes);
    let queues = queues.map(|queues| {
        if classes > 1 {
            queues.min(most as u8)
        } else {
            queues
        }
    });
    let queues = queues.map(|queues| queues.min((SCS / (classes * raw.len())) as u8).max(1));
    let mut vl_of_sc = [None; 32];
    let mut free = (0u8..32).filter(|&sc| sc != 15);
    let mut left = SCS;
    let mut levels = Vec::new();
    for (i, (raw_vls, flits)) in raw.iter().enumerate() {
        let (a, b) = (raw_vls[0] % vls, raw_vls[raw_vls.len() - 1] % vls);
        let mut on: Vec<u8> = match kind {
            Kind::Any if classes == 2 && a == b => vec![a, (a + 1) % vls],
            Kind::Any if classes == 2 => vec![a, b],
            // Beyond two classes there may be VLs above `vls`.
            _ if classes > 1 => {
                let n = classes as u8;
                let first = (a / n).min(32 / n - 1);
                (first * n..(first + 1) * n).collect()
            }
            _ => raw_vls.iter().map(|vl| vl % vls).collect(),
        };
        if let Some(queues) = queues {
            on = dbbm_vls(raw_vls, *vls, classes, usize::from(queues));
        }
        // Those that follow need at least one or two each.
        let reserved = (raw.len() - i - 1) * queues.map_or(classes, |n| classes * usize::from(n));
        on.truncate(left - reserved);
        left -= on.len();
        let scs: Vec<u8> = free.by_ref().take(on.len()).collect();
        for (&sc, vl) in scs.iter().zip(on) {
            vl_of_sc[usize::from(sc)] = Some(vl);
        }
        levels.push(ServiceLevel {
            name: format!("SL{i}"),
            traffic_class: i as u8,
            scs,
            mtu_bytes: flits * flit_bytes - flits % flit_bytes,
        });
    }
    Qos {
        vls: vl_of_sc.iter().flatten().max().unwrap() + 1,
        service_levels: levels,
        sc2vl: vl_of_sc,
        vl_policy: queues.map_or(VlPolicy::ServiceChannels, |queues| {
            VlPolicy::Queueing(QueueingScheme::new(SchemeKind::Dbbm, queues))
        }),
    }
}

/// VLs of `queues` SCs in each class; with two classes even ones for the first, odd ones for the
/// second.
fn dbbm_vls(raw: &[u8], vls: u8, classes: usize, queues: usize) -> Vec<u8> {
    let all = (0..classes).flat_map(|class| (0..queues).map(move |queue| (class, queue)));
    all.map(|(class, queue)| {
        let vl = (raw[queue % raw.len()] as usize + queue / raw.len()) % usize::from(vls);
        ((vl / classes).min(32 / classes - 1) * classes + class) as u8
    })
    .collect()
}

/// Most classes of central queues in a switch.
pub fn classes(topology: &Topology) -> u32 {
    let neighbours = |switch: SwitchId| {
        let peers = topology.port_ids().map(|port| topology.peer(switch, port));
        let switches = peers.filter_map(|peer| match peer {
            Peer::Switch { switch, .. } => Some(switch),
            Peer::None | Peer::Nic(_) => None,
        });
        switches.collect::<BTreeSet<SwitchId>>().len() as u32
    };
    1 + topology.switch_ids().map(neighbours).max().unwrap()
}

/// A scheduler before it fits: which one, and its table.
type RawScheduler = (u8, Vec<(u8, u32)>);

fn scheduler(raw: &RawScheduler, spec: &FabricSpec) -> Scheduler {
    let sls = spec.qos.service_levels.len();
    let (which, table) = raw;
    match which {
        0 => Scheduler::RrVl,
        1 => Scheduler::Sbt {
            weights: {
                // Some are 0, but not all.
                let weight = |sl: usize| table[sl % table.len()].1;
                let mut weights: Vec<u32> = (0..sls).map(weight).collect();
                let first = usize::from(table[0].0) % sls;
                weights[first] = weights[first].max(1);
                weights
            },
        },
        _ => {
            let mut entries: Vec<DTableEntry> = (0..table.len().max(sls))
                .map(|i| {
                    // The first entries see to it that every SL has one.
                    let (sl, extra) = table[i % table.len()];
                    let sl = if i < sls { i } else { usize::from(sl) % sls };
                    let bytes = spec.max_flits(sl) * spec.units.flit_bytes;
                    DTableEntry {
                        sl: sl as u8,
                        weight: bytes.div_ceil(DTABLE_UNIT_BYTES) + extra,
                    }
                })
                .collect();
            let turn = usize::from(table[0].0) % entries.len();
            entries.rotate_left(turn);
            Scheduler::DTable { entries }
        }
    }
}

/// Minimal paths or, less often, detours.
pub fn paths() -> BoxedStrategy<Paths> {
    prop_oneof![2 => Just(Paths::Minimal), 1 => detours()].boxed()
}

/// Detours by any rule; over groups where [`fit_paths`] finds some.
pub fn detours() -> BoxedStrategy<Paths> {
    let rule = prop_oneof![
        Just(DetourRule::Valiant),
        Just(DetourRule::UgalL),
        Just(DetourRule::UgalG),
        Just(DetourRule::Par),
    ];
    let bias = prop_oneof![2 => Just(0u32), 1 => 0u32..=40];
    let intermediate = prop_oneof![Just(Intermediate::Nic), Just(Intermediate::Group)];
    (rule, intermediate, bias, any::<u64>())
        .prop_map(|(rule, intermediate, bias, seed)| {
            Paths::Detours(Detours {
                rule,
                intermediate,
                bias,
                seed,
            })
        })
        .boxed()
}

/// The same paths, over NICs if `topology` has no groups.
pub fn fit_paths(paths: Paths, topology: &Topology) -> Paths {
    match (paths, topology.shape()) {
        (Paths::Minimal, _) => Paths::Minimal,
        (_, Shape::Dragonfly(_)) => paths,
        (Paths::Detours(detours), shape) => Paths::Detours(Detours {
            intermediate: Intermediate::Nic,
            rule: match (detours.rule, shape) {
                (DetourRule::Par, Shape::Megafly(_) | Shape::Kns(_)) => DetourRule::UgalL,
                (rule, _) => rule,
            },
            ..detours
        }),
    }
}

/// A random small fabric.
pub fn fabric(kind: Kind) -> BoxedStrategy<FabricSpec> {
    fabric_with(kind, Just(None), topology(), Just(RawTables::NONE)).boxed()
}

/// A random small tree whose packets choose their up-ports, with or without congestion control.
pub fn choosing_tree(kind: Kind) -> BoxedStrategy<FabricSpec> {
    let control = proptest::option::of(random_infiniband::congestion(MAX_LEVELS));
    let tables = Just(RawTables::NONE);
    fabric_with(kind, control, random_topology::tree(), tables)
        .prop_map(|mut spec| {
            choose_up_ports(&mut spec);
            spec
        })
        .boxed()
}

/// A random small fabric with congestion control.
pub fn controlled_fabric(kind: Kind) -> BoxedStrategy<FabricSpec> {
    fabric_with(
        kind,
        random_infiniband::congestion(MAX_LEVELS).prop_map(Some),
        topology(),
        Just(RawTables::NONE),
    )
    .boxed()
}

/// A random small fabric with SL-to-VL tables, forwarding tables or both, with or without
/// congestion control.
pub fn table_fabric(kind: Kind) -> BoxedStrategy<FabricSpec> {
    let control = proptest::option::of(random_infiniband::congestion(MAX_LEVELS));
    fabric_with(kind, control, topology(), tables()).boxed()
}

/// Routing before it fits, without tables.
fn raw_routing() -> BoxedStrategy<Routing> {
    let tie = prop_oneof![Just(RingTie::Positive), Just(RingTie::SourceParity)];
    let trunk = prop_oneof![
        Just(TrunkSelection::Destination),
        Just(TrunkSelection::RoundRobin),
        Just(TrunkSelection::LeastQueued),
    ];
    let up_ports = prop_oneof![Just(UpPorts::Destination), Just(UpPorts::LeastQueued)];
    (tie, (trunk, up_ports, paths()))
        .prop_map(|(ring_tie, (trunk, up_ports, paths))| Routing {
            ring_tie,
            trunk,
            up_ports,
            paths,
            ..Routing::default()
        })
        .boxed()
}

/// Makes `routing` fit the topology, the tables and the SCs that `levels` service levels may have.
fn fit_routing(
    kind: Kind,
    topology: &Topology,
    tables: &RawTables,
    levels: usize,
    mut routing: Routing,
) -> Routing {
    let paths = fit_paths(routing.paths, topology);
    // Legs on a ring take two SCs of each level.
    let scs = usize::from(2 * paths.legs()) * levels;
    routing.paths = if tables.is_none() && scs <= SCS {
        paths
    } else {
        Paths::Minimal
    };
    tables.put_forwarding(kind, topology, &mut routing);
    if routing.forwarding.is_some() {
        routing.up_ports = UpPorts::Destination;
    }
    routing
}

/// VL classes that each service level needs: one with forwarding tables, else those of all legs of a path.
fn vl_classes(topology: &Topology, routing: &Routing) -> usize {
    match routing.forwarding {
        Some(_) => 1,
        None => usize::from(routing.paths.classes(topology.vl_classes())),
    }
}

/// An allocator, the rule by which sources pick their queues, and which central buffer a packet takes, before
/// they fit.
pub fn raw_allocation() -> BoxedStrategy<(Allocator, VirtualAllocation, CentralLink)> {
    let rule = prop_oneof![
        3 => Just(AllocationRule::Pipelined),
        2 => Just(AllocationRule::Rounds),
        1 => Just(AllocationRule::Serial),
    ];
    let picks = prop_oneof![
        Just(VirtualAllocation::Informed),
        Just(VirtualAllocation::Blind)
    ];
    let link = prop_oneof![
        2 => Just(CentralLink::ByOutput),
        1 => Just(CentralLink::ByInput),
        1 => any::<u64>().prop_map(|seed| CentralLink::Random { seed }),
    ];
    let iterations = prop_oneof![2 => Just(1u32), 1 => 2u32..=4];
    (rule, iterations, picks, link)
        .prop_map(|(rule, iterations, picks, link)| (Allocator { rule, iterations }, picks, link))
        .boxed()
}

/// A switch with empty buffers and the plainest scheduler. In a sound fabric with several switches no queue keeps the
/// others of its buffer waiting.
fn empty_switch(
    timing: Timing,
    (mut allocator, mut virtual_allocation, link): (Allocator, VirtualAllocation, CentralLink),
    per_vl: bool,
    is_sound: bool,
) -> Switch {
    match allocator.rule {
        AllocationRule::Rounds => {
            virtual_allocation = VirtualAllocation::Blind;
            allocator.iterations = allocator.iterations.max(if is_sound { 2 } else { 1 });
        }
        AllocationRule::Pipelined | AllocationRule::Serial => allocator.iterations = 1,
    }
    let mut buffers = empty_buffers(per_vl);
    buffers.central_link = link;
    Switch::Hierarchical(Box::new(Hierarchical {
        timing,
        virtual_allocation,
        allocator,
        buffers,
        scheduler: Scheduler::RrVl,
    }))
}

/// Gives `spec` congestion control, for no more service levels than there are and with notifications that are CNPs.
fn put_control(spec: &mut FabricSpec, control: Option<CongestionControl>) {
    let levels = spec.qos.service_levels.len();
    spec.congestion_control = control.map(|mut control| {
        if let SourceControl::Cct(cct) = &mut control.source {
            cct.service_levels.truncate(levels);
        }
        if !matches!(control.notification, Notification::Cnp { .. }) {
            control.notification = Notification::Cnp { bytes: 8 };
        }
        Box::new(control)
    });
}

prop_compose! {
    fn fabric_with(
        kind: Kind,
        control: impl Strategy<Value = Option<CongestionControl>>,
        topology: impl Strategy<Value = Topology>,
        tables: impl Strategy<Value = RawTables>,
    )(
        (topology, tables) in (topology, tables),
        (flit_bytes, link_latency, timing) in timing(),
        levels in raw_levels(),
        (flits_per_credit, header_bytes) in (1u32..=8, prop_oneof![Just(0u32), 0u32..=70]),
        buffers in raw_buffers(),
        per_vl in any::<bool>(),
        routing in raw_routing(),
        raw_scheduler in (0u8..3, vec((any::<u8>(), 0u32..=8), 5..=12)),
        control in control,
        (allocation, queues) in (raw_allocation(), prop_oneof![3 => Just(None), 1 => (1u8..=5).prop_map(Some)]),
        scheme in raw_scheme(),
        cables in random_cables::flights(),
    ) -> FabricSpec {
        // A central buffer taken literally couples the directions of a mesh.
        let per_vl = per_vl && (kind == Kind::Any || topology.switches() == 1);
        let is_sound = kind == Kind::Sound && topology.switches() > 1;
        let classes = if per_vl { 1 } else { classes(&topology) };
        let routing = fit_routing(kind, &topology, &tables, levels.0.len(), routing);
        let vl_classes = vl_classes(&topology, &routing);
        let mut qos = service_levels(kind, &levels, flit_bytes, vl_classes, queues);
        tables.put_sl2vl(kind, &topology, levels.1, &mut qos);
        let tick = TickLength::whole(640);
        let mut spec = FabricSpec {
            topology,
            routing,
            units: Units { tick, flit_bytes, flits_per_credit, header_bytes },
            link_latency,
            qos,
            switch: empty_switch(timing, allocation, per_vl, is_sound),
            congestion_control: None,
            link_power: None,
            outages: Vec::new(),
            degraded: Vec::new(),
            bit_errors: None,
        };
        spec.link_latency.exceptions = random_cables::differing(&spec.topology, &cables);
        put_control(&mut spec, control);
        if let Some(scheme) = scheme.filter(|_| tables.is_none()) {
            scheme.put(&mut spec, 32);
        }
        let scheduler = scheduler(&raw_scheduler, &spec);
        hierarchical_of(&mut spec).scheduler = scheduler;
        buffers.put(kind, classes, &mut spec);
        spec
    }
}
