//! InfiniBand fabrics.

use super::specs::{sc2vl, service_level};
use flitwise::fabric::infiniband::{
    Acks, CctEntry, CctiBound, CongestionControl, FillComparison, FlowLevel, Hca, IrdBase,
    LinkRates, Marking, Notification, PortCongestion, SlCongestion, SlScope, SwitchKind,
    TimerRestart, TimerScope, VlArb, VlMap, Voq,
};
use flitwise::fabric::spec::{
    Buffers, CentralQueues, FabricSpec, Pool, Qos, Quota, RingTie, Routing, Scheduler,
    ServiceLevel, Tick, Timing, TrunkSelection, VirtualAllocation,
};
use flitwise::fabric::topology::Topology;
use flitwise::units::{Ratio, TickLength};
use std::collections::BTreeMap;

pub fn ratio(num: u64, den: u64) -> Ratio {
    Ratio::new(num, den).unwrap()
}

/// A pool divided statically: `credits` for each of `vls` VLs.
pub fn static_pool(vls: u8, credits: u32) -> Pool {
    let quota = Quota {
        exclusive: credits,
        max: credits,
    };
    Pool {
        total: credits * u32::from(vls),
        per_vl: vec![quota; usize::from(vls)],
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
        routing: Routing {
            ring_tie: RingTie::Positive,
            trunk: TrunkSelection::Destination,
        },
        timing: Timing {
            tick: TickLength::whole(16_000),
            flit_bytes: 64,
            link: 5,
            host_link: 3,
            input_store: 1,
            routing: 2,
            allocation: 1,
            allocation_gap: 0,
            crossbar: 1,
            output_store: 1,
            mport_speedup: 1,
            central_speedup: 1,
        },
        buffers: Buffers {
            flits_per_credit: 1,
            nic_queue: static_pool(1, 8),
            nic_sink: static_pool(2, 64),
            input: static_pool(2, 64),
            output: static_pool(1, 8),
            central: static_pool(2, 0),
            central_queues: CentralQueues::PerVl,
        },
        qos: Qos {
            vls: 2,
            service_levels: vec![level("zero", 0), level("one", 1)],
            sc2vl: sc2vl(&[0, 1]),
            scheduler: Scheduler::RrVl,
        },
        header_bytes: 0,
        virtual_allocation: VirtualAllocation::Informed,
        kind: SwitchKind::Voq(Box::new(Voq {
            links: LinkRates {
                host: Ratio::ONE,
                switch: Ratio::ONE,
                exceptions: BTreeMap::new(),
            },
            crossbar_speedup: 1,
            vlarb: VlArb::RoundRobin,
            hca: Hca {
                send_rate: None,
                sink_rate: None,
                vlarb: VlArb::RoundRobin,
                acks: Acks::None,
                ack_bytes: 30,
            },
            vl_map: VlMap::ServiceChannels,
            forwarding: None,
        })),
        congestion_control: None,
    }
}

/// The part of a specification that only `voq` fabrics have.
pub fn voq_of(spec: &mut FabricSpec) -> &mut Voq {
    match &mut spec.kind {
        SwitchKind::Voq(voq) => voq,
        SwitchKind::Hierarchical => panic!("not a voq fabric"),
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
        host_ports: port,
        switch_ports: port,
        exceptions: BTreeMap::new(),
        compare: FillComparison::AnyQueue,
        marking: Marking::Fixed,
        marking_seed: 1,
        notification: Notification::Cnp { bytes: 42 },
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
    }
}
