//! Parameters of the InfiniBand presets. Sections are those of
//! *InfiniBand Congestion Control: Modelling and validation* (Gran and Reinemo, 2011).

use super::presets::{FabricDefaults, KindDefaults};
use super::presets_congestion::CONGESTION;
use super::raw::{RawNics, RawScheduler, RawTopology, TopologyKind};
use super::raw_infiniband::RawHcaRate;
use crate::fabric::infiniband::Acks;
use crate::units::{Latency, PS_PER_S, Rate, Ratio};

/// What only the `voq` switch and its adapters have.
pub(super) struct VoqDefaults {
    /// Data rates in bit/s.
    pub host_speed: Ratio,
    pub switch_speed: Ratio,
    pub crossbar_speedup: u32,
    pub send_rate: RawHcaRate,
    pub sink_rate: RawHcaRate,
    pub acks: Acks,
    pub ack: u64,
}

const fn gigabits(tenths: u64) -> Ratio {
    Ratio::whole(tenths * 100_000_000)
}

/// What carries 34.2 Gb/s of payload in packets of 2,048 B and 26 B of headers.
fn payload_342() -> Ratio {
    gigabits(342)
        .checked_mul(Ratio::new(2048 + 26, 2048).unwrap_or(Ratio::ONE))
        .unwrap_or(gigabits(342))
}

/// A cable of 5 m, at the 5 ns/m of NVIDIA's *DGX SuperPOD Cabling Data Centers Design Guide*
/// ("Additional Cable Latency").
pub(super) const CABLE_PS: u64 = 25_000;

/// A generation of InfiniBand switches.
pub(super) struct Generation {
    /// Data rate of a link of four lanes in bit/s, a fraction.
    speed: (u64, u64),
    ports: u32,
    /// From port to port, in an idle switch.
    latency_ps: u64,
}

const fn generation(speed: (u64, u64), ports: u32, latency_ns: u64) -> Generation {
    Generation {
        speed,
        ports,
        latency_ps: 1000 * latency_ns,
    }
}

/// InfiniScale IV, 36 ports: 100 ns (Mellanox, *InfiniScale IV* product brief).
pub(super) const QDR: Generation = generation((32_000_000_000, 1), 36, 100);
/// SwitchX, 36 ports: 170 ns (Mellanox, *SX6036* product brief).
pub(super) const FDR: Generation = generation((600_000_000_000, 11), 36, 170);
/// Switch-IB, 36 ports: 90 ns (Mellanox, *SB7700* and *SB7800* product briefs), without FEC.
pub(super) const EDR: Generation = generation((100_000_000_000, 1), 36, 90);
/// Quantum, 40 ports: 130 ns (NVIDIA, *QM8700* data sheet), without FEC.
pub(super) const HDR: Generation = generation((200_000_000_000, 1), 40, 130);
/// Quantum-2, 64 ports. No latency of it is published by the vendor: that of [`HDR`]
/// (a reseller, router-switch.com, says "under 150 nanoseconds").
pub(super) const NDR: Generation = generation((400_000_000_000, 1), 64, 130);

/// Part of the latency of a switch that each stage but routing has. Only the sum is published.
const STAGE_PS: u64 = 10_000;

/// One switch with a NIC at every port, all links x4. A crossbar twice as fast as the links is
/// ours: at their speed, whose packets wait follows from the order of the ports
/// (`docs/congestion-control.md`). Vendors publish no buffers: 32 KiB per input
/// port and some three packets of 2 KiB in an output buffer are ours, from QDR; the faster the
/// links, the more a buffer has to cover the round trip of a credit.
pub(super) fn infiniband(generation: &Generation) -> FabricDefaults {
    let stage = Latency::Time(STAGE_PS);
    let (num, den) = generation.speed;
    let speed = Ratio::new(num, den).unwrap_or(Ratio::ONE);
    // Bytes that a link sends while a credit makes its round of cables and switch.
    let round_trip_ps = u128::from(2 * CABLE_PS + generation.latency_ps);
    let bytes = u128::from(num) * round_trip_ps / (8 * u128::from(PS_PER_S) * u128::from(den));
    let buffers = (4 * bytes as u64).next_power_of_two().max(32_768);
    FabricDefaults {
        topology: RawTopology {
            nics: Some(RawNics::Count(generation.ports)),
            ..RawTopology::of(TopologyKind::Single)
        },
        flit: 64,
        // LRH 8, BTH 12, ICRC 4, VCRC 2.
        header: 26,
        credit: 64,
        link: Latency::Time(CABLE_PS),
        host_link: Latency::Time(CABLE_PS),
        input: stage,
        routing: Latency::Time(generation.latency_ps - 4 * STAGE_PS),
        allocation: stage,
        crossbar: stage,
        output: stage,
        input_buffer: buffers,
        output_buffer: 8192,
        nic_queue: 8192,
        nic_sink: buffers,
        mtu: 2048,
        scheduler: RawScheduler::IbVlarb,
        kind: KindDefaults::Voq(VoqDefaults {
            host_speed: speed,
            switch_speed: speed,
            crossbar_speedup: 2,
            send_rate: RawHcaRate::Unlimited,
            sink_rate: RawHcaRate::Unlimited,
            acks: Acks::None,
            // LRH 8, BTH 12, AETH 4, ICRC 4, VCRC 2.
            ack: 30,
        }),
        congestion: CONGESTION,
    }
}

/// Section 3.3: the 648-port switch, a three-stage Clos network of 36-port QDR switches:
/// 36 of the first stage with 18 hosts each, 18 above. The paper gives no latencies and
/// buffers: they are those of QDR, with cables of 3 m.
pub(super) fn ib_qdr_648() -> FabricDefaults {
    FabricDefaults {
        topology: RawTopology {
            down: Some(vec![18, 36]),
            up: Some(vec![1, 18]),
            ..RawTopology::of(TopologyKind::Xgft)
        },
        link: Latency::Time(15_000),
        host_link: Latency::Time(15_000),
        ..infiniband(&QDR)
    }
}

/// Sections 4 to 6: H1 to H3 (NICs 0 to 2) at one switch, H4 to H7 (3 to 6) at another. Host
/// links DDR x4; endpoints 13.1 Gb/s ("just above 13 Gbps"); between the switches three times
/// the measured 11.4 Gb/s of payload, where the nominal QDR x4 would be 32 of data. Buffers and latencies as
/// above; reliable connections acknowledge, here per message.
pub(super) fn ib_ddr_testbed() -> FabricDefaults {
    let endpoint = RawHcaRate::Payload(Rate(Ratio::whole(13_100_000_000 / 8)));
    let hosts = [(0, 3), (1, 4)];
    let nics = hosts.iter().flat_map(|&(s, n)| (0..n).map(move |p| [s, p]));
    FabricDefaults {
        topology: RawTopology {
            switches: Some(2),
            nics: Some(RawNics::At(nics.collect())),
            links: Some(vec![[0, 3, 1, 4]]),
            ..RawTopology::of(TopologyKind::Graph)
        },
        kind: KindDefaults::Voq(VoqDefaults {
            host_speed: gigabits(160),
            switch_speed: payload_342(),
            crossbar_speedup: 2,
            send_rate: endpoint,
            sink_rate: endpoint,
            acks: Acks::PerMessage,
            ack: 30,
        }),
        ..ib_qdr_648()
    }
}
