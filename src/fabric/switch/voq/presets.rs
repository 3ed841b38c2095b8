//! Presets: parameters of InfiniBand switches, from publications and of commercial devices, each
//! with its source.

use super::parameters::{HcaRate, IsolationParameters, VoqParameters};
use super::{Acks, Allocator, PortStandard, VlArb};
use crate::parameters::{BufferBytes, CABLE_PS, Parameters, Stages, SwitchParameters};
use crate::spec::{FabricSpec, SpecError};
use crate::switch::voq::InputQueues;
use crate::topology::Topology;
use flitwise_base::units::{Latency, PS_PER_S, Rate, Ratio};
use std::collections::BTreeMap;

/// Part of the latency of a switch that each stage but routing has. Only the sum is published.
const STAGE_PS: u64 = 10_000;

const fn gigabits(tenths: u64) -> Ratio {
    Ratio::whole(tenths * 100_000_000)
}

/// Presets with InfiniBand switches. All links are x4.
///
/// A crossbar twice as fast as the links is ours: at their speed, whose packets wait follows from
/// the order of the ports (`docs/evidence/congestion-control.md`). Vendors publish no buffer sizes: 32 KiB
/// per input port and some three packets of 2 KiB in an output buffer are ours, from QDR; the
/// faster the links, the more a buffer has to cover the round trip of a credit.
impl Parameters {
    /// InfiniScale IV, 36 ports: 100 ns (Mellanox, *InfiniScale IV* product brief).
    #[must_use]
    pub fn ib_qdr() -> Self {
        Self::infiniband(gigabits(320), 100)
    }

    /// SwitchX, 36 ports: 170 ns (Mellanox, *SX6036* product brief).
    #[must_use]
    pub fn ib_fdr() -> Self {
        let speed = Ratio::new(600_000_000_000, 11).unwrap_or(Ratio::ONE);
        Self::infiniband(speed, 170)
    }

    /// Switch-IB, 36 ports: 90 ns (Mellanox, *SB7700* and *SB7800* product briefs), without FEC.
    #[must_use]
    pub fn ib_edr() -> Self {
        Self::infiniband(gigabits(1000), 90)
    }

    /// Quantum, 40 ports: 130 ns (NVIDIA, *QM8700* data sheet), without FEC.
    #[must_use]
    pub fn ib_hdr() -> Self {
        Self::infiniband(gigabits(2000), 130)
    }

    /// Quantum-2, 64 ports. No latency of it is published by the vendor: as
    /// [`Parameters::ib_hdr`] (a reseller, router-switch.com, says "under 150 nanoseconds").
    #[must_use]
    pub fn ib_ndr() -> Self {
        Self::infiniband(gigabits(4000), 130)
    }

    /// Quantum-X800, 144 ports of 800 Gb/s, which are 4 lanes of 200 Gb/s (NVIDIA, *Quantum-X800 Q3400*). No latency of
    /// it is published: as [`Parameters::ib_ndr`].
    #[must_use]
    pub fn ib_xdr() -> Self {
        Self::infiniband(gigabits(8000), 130)
    }

    /// *InfiniBand Congestion Control: Modelling and validation* (Gran and Reinemo, 2011), section
    /// 3.3: the 648-port switch, of 36-port QDR switches. The paper gives no latencies and buffers:
    /// they are [`Parameters::ib_qdr`]'s, with cables of 3 m.
    #[must_use]
    pub fn ib_qdr_648() -> Self {
        Self {
            link: Latency::Time(15_000),
            host_link: Latency::Time(15_000),
            ..Self::ib_qdr()
        }
    }

    /// The same paper, sections 4 to 6. Host links DDR x4; endpoints 13.1 Gb/s ("just above 13
    /// Gbps"); between the switches three times the measured 11.4 Gb/s of payload, where the
    /// nominal QDR x4 would be 32 of data. Buffers and latencies as [`Parameters::ib_qdr_648`];
    /// reliable connections acknowledge, here per message.
    #[must_use]
    pub fn ib_ddr_testbed() -> Self {
        let endpoint = HcaRate::Payload(Rate(Ratio::whole(13_100_000_000 / 8)));
        // The rate that carries 34.2 Gb/s of payload in packets of 2,048 B and 26 B of headers.
        let headers = Ratio::new(2048 + 26, 2048).unwrap_or(Ratio::ONE);
        let between = gigabits(342).checked_mul(headers);
        Self {
            switch: SwitchParameters::Voq(VoqParameters {
                host_speed: gigabits(160),
                send_rate: endpoint,
                sink_rate: endpoint,
                acks: Acks::PerMessage,
                ..ib_switch(between.unwrap_or(gigabits(342)))
            }),
            ..Self::ib_qdr_648()
        }
    }

    /// *Effects of Congestion Management on Energy Saving Techniques in Interconnection Networks* (Zahn et
    /// al.), Table I: links of 96 Gb/s. The publication names neither packets nor buffers nor
    /// latencies: packets of 1 KiB, 64 KiB per input port, so that also VOQsw's queues on a dragonfly hold
    /// one, no output buffers, a crossbar without speed-up and the latency of [`Parameters::ib_qdr`] are ours.
    #[must_use]
    pub fn sauron() -> Self {
        let base = Self::infiniband(gigabits(960), 100);
        Self {
            mtu_bytes: 1024,
            buffers: BufferBytes {
                input: 65_536,
                output: 0,
                nic_queue: 8192,
                nic_sink: 65_536,
            },
            switch: SwitchParameters::Voq(VoqParameters {
                port_standard: PortStandard::None,
                crossbar_speedup: 1,
                input_queues: InputQueues::Fifo,
                ..ib_switch(gigabits(960))
            }),
            ..base
        }
    }

    /// Switches whose ports are `latency_ns` apart, links of `speed` bit/s, and cables of 5 m.
    fn infiniband(speed: Ratio, latency_ns: u64) -> Self {
        let latency_ps = 1000 * latency_ns;
        let stage = Latency::Time(STAGE_PS);
        // Bytes that a link sends while a credit makes its round of cables and switch.
        let round_trip_ps = u128::from(2 * CABLE_PS + latency_ps);
        let (num, den) = (u128::from(speed.num()), u128::from(speed.den()));
        let bytes = num * round_trip_ps / (8 * u128::from(PS_PER_S) * den);
        let input = (4 * bytes as u64).next_power_of_two().max(32_768);
        Self {
            flit_bytes: 64,
            // LRH 8, BTH 12, ICRC 4, VCRC 2.
            header_bytes: 26,
            credit_bytes: 64,
            mtu_bytes: 2048,
            link: Latency::Time(CABLE_PS),
            host_link: Latency::Time(CABLE_PS),
            link_latencies: BTreeMap::new(),
            stages: Stages {
                input: stage,
                routing: Latency::Time(latency_ps - 4 * STAGE_PS),
                allocation: stage,
                crossbar: stage,
                output: stage,
            },
            buffers: BufferBytes {
                input,
                output: 8192,
                nic_queue: 8192,
                nic_sink: input,
            },
            switch: SwitchParameters::Voq(ib_switch(speed)),
        }
    }
}

fn ib_switch(speed: Ratio) -> VoqParameters {
    VoqParameters {
        host_speed: speed,
        switch_speed: speed,
        link_speeds: BTreeMap::new(),
        tick: None,
        crossbar_speedup: 2,
        port_standard: PortStandard::InfiniBand,
        allocator: Allocator::default(),
        input_queues: InputQueues::VirtualOutput,
        isolation: IsolationParameters::default(),
        input_vls: None,
        sink_vls: None,
        send_rate: HcaRate::Unlimited,
        sink_rate: HcaRate::Unlimited,
        acks: Acks::None,
        // LRH 8, BTH 12, AETH 4, ICRC 4, VCRC 2.
        ack_bytes: 30,
        vlarb: VlArb::RoundRobin,
        hca_vlarb: VlArb::RoundRobin,
    }
}

impl FabricSpec {
    /// InfiniBand switches with the parameters of one of the `ib` presets, and one VL.
    ///
    /// # Errors
    /// If the fabric does not fit the limits of a specification.
    pub fn infiniband(parameters: &Parameters, topology: Topology) -> Result<Self, SpecError> {
        parameters.with_one_level(topology, 1)
    }
}
