//! Fabrics of the references.

use flitwise::fabric::spec::hierarchical::{
    Allocator, Buffers, CentralLink, CentralQueues, Pool, Quota, Scheduler, Timing,
    VirtualAllocation,
};
use flitwise::fabric::spec::{
    FabricSpec, Hierarchical, LinkLatency, Qos, Routing, ServiceLevel, Stages, Switch, Units,
    VlPolicy,
};
use flitwise::fabric::topology::Topology;
use flitwise::units::TickLength;

/// Table 1 of OpaSim, with 8 ticks per allocation (16 in all).
pub fn opa_timing() -> Timing {
    Timing {
        stages: Stages {
            input_store: 50,
            routing: 32,
            allocation: 8,
            crossbar: 2,
            output_store: 50,
        },
        mport_speedup: 3,
        central_speedup: 4,
    }
}

/// OpaSim's units: flits of 8 B at 100 Gb/s.
pub fn opa_units(flits_per_credit: u32) -> Units {
    Units {
        tick: TickLength::whole(640),
        flit_bytes: 8,
        flits_per_credit,
        header_bytes: 0,
    }
}

/// The hierarchical switch of a specification.
pub fn hierarchical_of(spec: &mut FabricSpec) -> &mut Hierarchical {
    match &mut spec.switch {
        Switch::Hierarchical(switch) => switch,
        _ => panic!("not a hierarchical fabric"),
    }
}

/// A pool in which every one of `vls` VLs has the same quota.
pub fn even_pool(vls: u8, total: u32, exclusive: u32, max: u32) -> Pool {
    Pool {
        total,
        per_vl: vec![Quota { exclusive, max }; usize::from(vls)],
    }
}

/// The SC2VL table in which SC i travels on `vls[i]`.
pub fn sc2vl(vls: &[u8]) -> [Option<u8>; 32] {
    let mut table = [None; 32];
    for (entry, &vl) in table.iter_mut().zip(vls) {
        *entry = Some(vl);
    }
    table
}

pub fn service_level(name: &str, scs: [u8; 2], mtu_bytes: u32) -> ServiceLevel {
    ServiceLevel {
        name: name.into(),
        traffic_class: 0,
        scs: scs.to_vec(),
        mtu_bytes,
    }
}

/// Omni-Path as in Hiperion: five service levels, of which BE and BK share the
/// VLs 6 and 7; 64 KiB buffers in the switch and 32 KiB send queues, in credits
/// of 64 bytes.
pub fn opa_gen1(topology: Topology, scheduler: Scheduler) -> FabricSpec {
    let vls = 8;
    let service_levels = vec![
        service_level("VO", [0, 1], 128),
        service_level("VI", [2, 3], 256),
        service_level("CL", [4, 5], 512),
        service_level("BE", [6, 7], 1024),
        service_level("BK", [8, 9], 1024),
    ];
    FabricSpec {
        topology,
        routing: Routing::default(),
        units: opa_units(8),
        link_latency: LinkLatency::usual(8, 8),
        qos: Qos {
            vls,
            service_levels,
            sc2vl: sc2vl(&[0, 1, 2, 3, 4, 5, 6, 7, 6, 7]),
            vl_policy: VlPolicy::ServiceChannels,
        },
        switch: Switch::Hierarchical(Box::new(Hierarchical {
            timing: opa_timing(),
            virtual_allocation: VirtualAllocation::Informed,
            allocator: Allocator::default(),
            buffers: Buffers {
                nic_queue: even_pool(vls, 512, 64, 384),
                nic_sink: even_pool(vls, 1024, 64, 768),
                input: even_pool(vls, 1024, 64, 768),
                output: even_pool(vls, 1024, 64, 768),
                central: even_pool(vls, 1024, 16, 768),
                central_queues: CentralQueues::PerNeighbour,
                central_link: CentralLink::ByOutput,
            },
            scheduler,
        })),
        congestion_control: None,
        link_power: None,
        outages: Vec::new(),
        degraded: Vec::new(),
        bit_errors: None,
    }
}

/// The router of OpaSim: one service level over eight VLs, buffers of 64
/// credits of four flits, 4 of them exclusive and at most 48 for one VL.
pub fn opasim(topology: Topology) -> FabricSpec {
    let vls = 8;
    let pool = even_pool(vls, 64, 4, 48);
    FabricSpec {
        topology,
        routing: Routing::default(),
        units: opa_units(4),
        link_latency: LinkLatency::usual(8, 8),
        qos: Qos {
            vls,
            service_levels: vec![ServiceLevel {
                name: "all".into(),
                traffic_class: 0,
                scs: (0..vls).collect(),
                mtu_bytes: 256,
            }],
            sc2vl: sc2vl(&[0, 1, 2, 3, 4, 5, 6, 7]),
            vl_policy: VlPolicy::ServiceChannels,
        },
        switch: Switch::Hierarchical(Box::new(Hierarchical {
            timing: opa_timing(),
            virtual_allocation: VirtualAllocation::Informed,
            allocator: Allocator::default(),
            buffers: Buffers {
                nic_queue: pool.clone(),
                nic_sink: pool.clone(),
                input: pool.clone(),
                output: pool.clone(),
                central: pool,
                central_queues: CentralQueues::PerVl,
                central_link: CentralLink::ByOutput,
            },
            scheduler: Scheduler::RrVl,
        })),
        congestion_control: None,
        link_power: None,
        outages: Vec::new(),
        degraded: Vec::new(),
        bit_errors: None,
    }
}

/// A ring of four switches that jams: two service levels use the same two VLs
/// as VL classes in opposite order, so that each VL goes all the way
/// round, and a buffer holds one packet per VL.
pub fn jamming_ring() -> FabricSpec {
    let ring = Topology::cube(&[4], true, 1, 1, None).unwrap();
    let mut spec = opa_gen1(ring, Scheduler::RrVl);
    spec.qos.vls = 2;
    spec.qos.sc2vl = sc2vl(&[0, 1, 1, 0]);
    spec.qos.service_levels = vec![
        service_level("up", [0, 1], 128),
        service_level("down", [2, 3], 128),
    ];
    let pool = even_pool(2, 4, 2, 2);
    let buffers = &mut hierarchical_of(&mut spec).buffers;
    for own in [
        &mut buffers.nic_queue,
        &mut buffers.nic_sink,
        &mut buffers.input,
        &mut buffers.output,
    ] {
        *own = pool.clone();
    }
    buffers.central = even_pool(2, 16, 2, 2);
    spec
}
