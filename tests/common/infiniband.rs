//! InfiniBand fabrics.

use super::specs::{even_pool, sc2vl, service_level};
use flitwise::fabric::ids::PortId;
use flitwise::fabric::spec::congestion::{
    CctControl, CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marker, Marking,
    PortCongestion, PortVlMarker, SlCongestion, SlScope, SourceControl, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::hierarchical::{
    self, CentralLink, CentralQueues, Hierarchical, Pool, Scheduler, VirtualAllocation,
};
use flitwise::fabric::spec::voq::{
    Acks, Allocator, Buffers, Hca, InputQueues, LinkRates, PortStandard, StaticPool, VlArb,
};
use flitwise::fabric::spec::{
    CongestionControl, FabricSpec, ForwardingTables, LinkLatency, Notification, Qos, Routing,
    ServiceLevel, SlToVl, Stages, Switch, Tick, Units, VlPolicy, Voq,
};
use flitwise::fabric::topology::Topology;
use flitwise::units::{Ratio, TickLength};
use std::collections::BTreeMap;

pub fn ratio(num: u64, den: u64) -> Ratio {
    Ratio::new(num, den).unwrap()
}

/// A pool divided statically: `credits` for each of `vls` VLs.
pub fn static_pool(vls: u8, credits: u32) -> StaticPool {
    StaticPool {
        total: credits * u32::from(vls),
        per_vl: vec![credits; usize::from(vls)],
    }
}

/// A small `voq` fabric with short latencies: two SLs on two VLs, packets of 4 flits of 64
/// bytes, all links at 1 flit per tick, 64 credits of a flit per VL.
pub fn voq_fabric(topology: Topology) -> FabricSpec {
    let level = |name: &str, sc: u8| ServiceLevel {
        scs: vec![sc],
        ..service_level(name, [0, 0], 256)
    };
    FabricSpec {
        topology,
        routing: Routing::default(),
        units: Units {
            tick: TickLength::whole(16_000),
            flit_bytes: 64,
            flits_per_credit: 1,
            header_bytes: 0,
        },
        link_latency: LinkLatency::usual(5, 3),
        qos: Qos {
            vls: 2,
            service_levels: vec![level("zero", 0), level("one", 1)],
            sc2vl: sc2vl(&[0, 1]),
            vl_policy: VlPolicy::ServiceChannels,
        },
        switch: Switch::Voq(Box::new(Voq {
            stages: Stages {
                input_store: 1,
                routing: 2,
                allocation: 1,
                crossbar: 1,
                output_store: 1,
            },
            buffers: Buffers {
                nic_queue: 8,
                nic_sink: static_pool(2, 64),
                input: static_pool(2, 64),
                output: 8,
            },
            links: LinkRates {
                nic: Ratio::ONE,
                switch: Ratio::ONE,
                exceptions: BTreeMap::new(),
            },
            crossbar_speedup: 1,
            port_standard: PortStandard::InfiniBand,
            allocator: Allocator::default(),
            input_queues: InputQueues::VirtualOutput,
            isolation: None,
            vlarb: VlArb::RoundRobin,
            hca: Hca {
                send_rate: None,
                sink_rate: None,
                vlarb: VlArb::RoundRobin,
                acks: Acks::None,
                ack_bytes: 30,
            },
        })),
        congestion_control: None,
        link_power: None,
        outages: Vec::new(),
        degraded: Vec::new(),
        bit_errors: None,
    }
}

/// Three switches in a ring with a NIC each. Port 0 is the NIC, 1 leads up, 2 down; tables lead all
/// packets down, on one VL per SL.
pub fn ring_with_tables() -> FabricSpec {
    let mut spec = voq_fabric(Topology::cube(&[3], true, 1, 1, None).unwrap());
    spec.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
        default: vec![0, 1],
        hcas: BTreeMap::new(),
        ports: BTreeMap::new(),
    });
    spec.routing.forwarding = Some(ForwardingTables {
        ports: [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
            .map(|row| row.map(PortId::new).to_vec())
            .to_vec(),
        engine: None,
    });
    spec
}

/// Gives a small `voq` fabric hierarchical switches with the same latencies and input buffers.
/// The other buffers have two packets per VL.
pub fn with_hierarchical_switches(mut spec: FabricSpec) -> FabricSpec {
    let voq = voq_of(&mut spec);
    let stages = voq.stages;
    let of = |pool: &StaticPool| own_pool(pool.per_vl.len() as u8, pool.per_vl[0]);
    let small = own_pool(2, 8);
    spec.switch = Switch::Hierarchical(Box::new(Hierarchical {
        timing: hierarchical::Timing {
            stages,
            mport_speedup: 1,
            central_speedup: 1,
        },
        virtual_allocation: VirtualAllocation::Informed,
        allocator: hierarchical::Allocator::default(),
        buffers: hierarchical::Buffers {
            nic_queue: small.clone(),
            nic_sink: of(&voq.buffers.nic_sink),
            input: of(&voq.buffers.input),
            output: small.clone(),
            central: small,
            central_queues: CentralQueues::PerVl,
            central_link: CentralLink::ByOutput,
        },
        scheduler: Scheduler::RrVl,
    }));
    spec
}

/// A pool of which each of `vls` VLs has `credits` of its own and no others.
pub fn own_pool(vls: u8, credits: u32) -> Pool {
    even_pool(vls, credits * u32::from(vls), credits, credits)
}

/// The part of a specification that only `voq` fabrics have.
pub fn voq_of(spec: &mut FabricSpec) -> &mut Voq {
    match &mut spec.switch {
        Switch::Voq(voq) => voq,
        _ => panic!("not a voq fabric"),
    }
}

/// Congestion control at the level of queue pairs: threshold of `weight` at every port, every
/// eligible packet marked, gaps between marks fixed if a test wants some, entry i of the table a delay of i / 2^`shift` packets.
pub fn control(weight: u8, shift: u8, timer: Tick) -> CongestionControl {
    let port = PortCongestion {
        threshold: weight,
        victim_mask: false,
        packet_size: 0,
        marking_rate: 0,
        credit_mask: false,
        cs_threshold: 0,
        cs_return_delay: CctEntry::NONE,
    };
    let level = SlCongestion {
        ccti_increase: 1,
        ccti_min: 0,
        ccti_timer: timer,
        trigger_threshold: 0,
    };
    CongestionControl {
        marker: Marker::PortVl(PortVlMarker {
            host_ports: port,
            switch_ports: port,
            exceptions: BTreeMap::new(),
            compare: FillComparison::AnyQueue,
            marking: Marking::Fixed,
            marking_seed: 1,
        }),
        notification: Notification::Cnp { bytes: 42 },
        source: SourceControl::Cct(CctControl {
            level: FlowLevel::Qp,
            sl_scope: SlScope::Flow,
            timer: TimerScope::PerFlow,
            timer_restart: TimerRestart::AtExpiry,
            ccti_bound: CctiBound::Saturate,
            ird_base: IrdBase::Packet,
            cct: (0..128)
                .map(|multiplier| CctEntry { multiplier, shift })
                .collect(),
            ccti_limit: 127,
            service_levels: vec![level; 2],
        }),
    }
}

/// The thresholds and the like, where there are such.
pub fn marker_of(control: &mut CongestionControl) -> &mut PortVlMarker {
    match &mut control.marker {
        Marker::PortVl(marker) => marker,
        Marker::None => panic!("nothing marks"),
    }
}

/// The table and the like, where there is one.
pub fn cct_of(control: &mut CongestionControl) -> &mut CctControl {
    match &mut control.source {
        SourceControl::Cct(control) => control,
        SourceControl::None => panic!("sources do nothing"),
    }
}
