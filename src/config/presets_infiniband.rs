//! Parameters of the InfiniBand presets. Sections are those of
//! *InfiniBand Congestion Control: Modelling and validation* (Gran and Reinemo, 2011).

use super::presets::{FabricDefaults, KindDefaults};
use super::presets_congestion::CONGESTION;
use super::raw::{RawNics, RawScheduler, RawTopology, TopologyKind};
use super::raw_infiniband::RawHcaRate;
use crate::fabric::infiniband::Acks;
use crate::units::{Latency, Rate, Ratio};

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

/// Section 3.3: the 648-port switch, a three-stage Clos network of 36-port QDR switches:
/// 36 of the first stage with 18 hosts each, 18 above. The paper gives no latencies and
/// buffers, so they are ours: 6 ticks of 16 ns (96 ns) through a switch, near the 100 ns
/// that such switches are sold with, 3 m of cable (16 ns); 32 KiB per input port; some three packets
/// of 2 KiB in an output buffer, which should be small.
pub(super) fn ib_qdr_648() -> FabricDefaults {
    FabricDefaults {
        topology: RawTopology {
            down: Some(vec![18, 36]),
            up: Some(vec![1, 18]),
            ..RawTopology::of(TopologyKind::Xgft)
        },
        flit: 64,
        // LRH 8, BTH 12, ICRC 4, VCRC 2.
        header: 26,
        credit: 64,
        link: Latency::Time(16_000),
        host_link: Latency::Time(16_000),
        input: Latency::Ticks(1),
        routing: Latency::Ticks(2),
        allocation: Latency::Ticks(1),
        crossbar: Latency::Ticks(1),
        output: Latency::Ticks(1),
        input_buffer: 32_768,
        output_buffer: 8192,
        nic_queue: 8192,
        nic_sink: 32_768,
        mtu: 2048,
        scheduler: RawScheduler::IbVlarb,
        kind: KindDefaults::Voq(VoqDefaults {
            host_speed: gigabits(320),
            switch_speed: gigabits(320),
            crossbar_speedup: 1,
            send_rate: RawHcaRate::Unlimited,
            sink_rate: RawHcaRate::Unlimited,
            acks: Acks::None,
            // LRH 8, BTH 12, AETH 4, ICRC 4, VCRC 2.
            ack: 30,
        }),
        congestion: CONGESTION,
    }
}

/// Sections 4 to 6: H1 to H3 (NICs 0 to 2) at one switch, H4 to H7 (3 to 6) at another. Host
/// links DDR x4; endpoints 13.1 Gb/s ("just above 13 Gbps"); between the switches three times
/// the measured 11.4 Gb/s, where the nominal QDR x4 would be 32. Buffers and latencies as
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
            switch_speed: gigabits(342),
            crossbar_speedup: 1,
            send_rate: endpoint,
            sink_rate: endpoint,
            acks: Acks::PerMessage,
            ack: 30,
        }),
        ..ib_qdr_648()
    }
}
