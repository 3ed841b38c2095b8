//! Parameters from publications and of commercial devices, each with its source.

use super::{
    AdapterRate, BufferBytes, HierarchicalParameters, Parameters, Stages, SwitchParameters,
    VoqParameters,
};
use crate::fabric::spec::hierarchical::{CentralQueues, Scheduler, VirtualAllocation};
use crate::fabric::spec::voq::{Acks, InputQueues, VlArb};
use crate::fabric::spec::{FabricSpec, Qos, Routing, SpecError};
use crate::fabric::topology::Topology;
use crate::units::{BufferPart, Latency, PS_PER_S, Rate, Ratio};
use std::collections::BTreeMap;

/// A cable of 5 m in picoseconds, at the 5 ns/m of NVIDIA's *DGX SuperPOD Cabling Data Centers
/// Design Guide* ("Additional Cable Latency").
pub const CABLE_PS: u64 = 25_000;

/// Cycles of OpaSim, 640 ps each.
const fn cycles(count: u64) -> Latency {
    Latency::Time(640 * count)
}

/// Presets with hierarchical switches.
impl Parameters {
    /// Omni-Path at 100 Gb/s.
    ///
    /// OpaSim (DIAB-18-12-1) Table 1: RT 32, SB 50 twice, X 2 twice, FLY 8. The table
    /// prints AT 16; 8 per allocation, 16 in total, make the table, the formula and
    /// the printed 160 cycles agree: 50+32+8+2+8+2+50+8 through the central
    /// crossbar, 50+32+8+2+50+8 = 150 inside an MPort. INJ has no value there: 8.
    /// Its cycle is 640 ps, a flit of 8 B at 100 Gb/s; latencies are times, so that they stay when
    /// the link rate changes. FLY, 5.12 ns, is a metre of cable.
    /// Hiperion section 4.1: 64 KiB per port buffer, 32 KiB per NIC, 128 KiB central
    /// per MPort (two of 64 KiB), 64 B credits. Quotas are ours.
    #[must_use]
    pub fn opa_gen1() -> Self {
        Self::omni_path(12_500_000_000, cycles(8))
    }

    /// Omni-Path at 400 Gb/s. The pipeline of [`Parameters::opa_gen1`], 97 ns through the central
    /// crossbar, agrees with the "< 100 ns" of a switch in Cornelis' *CN5000 Topologies and
    /// Routing* (4.2.3); cables of 5 m.
    #[must_use]
    pub fn opa_400() -> Self {
        Self::omni_path(50_000_000_000, Latency::Time(CABLE_PS))
    }

    /// OpaSim section 2.3: QUEUE_SIZE 256 flits of 8 B, FLITS_PER_CREDIT 4, so 64 credits;
    /// MAX_VC_CREDITS 48. Its EXCLUSIVE_VC_CREDITS of 16 times 8 VLs do not fit in 64: 4
    /// here. PACKET_SIZE 16 flits.
    #[must_use]
    pub fn opasim() -> Self {
        Self {
            credit_bytes: 32,
            mtu_bytes: 128,
            buffers: BufferBytes {
                input: 2048,
                output: 2048,
                nic_queue: 2048,
                nic_sink: 2048,
            },
            switch: SwitchParameters::Hierarchical(HierarchicalParameters {
                central_buffer: 2048,
                exclusive: [BufferPart::Credits(4); 2],
                max: BufferPart::Credits(48),
                ..opa_switch(12_500_000_000)
            }),
            ..Self::opa_gen1()
        }
    }

    /// Links of `link_rate` bytes per second, and cables of latency `cable`.
    fn omni_path(link_rate: u64, cable: Latency) -> Self {
        Self {
            flit_bytes: 8,
            header_bytes: 0,
            credit_bytes: 64,
            mtu_bytes: 1024,
            link: cable,
            host_link: cable,
            stages: Stages {
                input: cycles(50),
                routing: cycles(32),
                allocation: cycles(8),
                crossbar: cycles(2),
                output: cycles(50),
            },
            buffers: BufferBytes {
                input: 65_536,
                output: 65_536,
                nic_queue: 32_768,
                nic_sink: 32_768,
            },
            switch: SwitchParameters::Hierarchical(opa_switch(link_rate)),
        }
    }
}

fn opa_switch(link_rate: u64) -> HierarchicalParameters {
    HierarchicalParameters {
        link_rate: Ratio::whole(link_rate),
        allocation_gap: Latency::Ticks(0),
        virtual_allocation: VirtualAllocation::Informed,
        mport_speedup: 3,
        central_speedup: 4,
        central_buffer: 65_536,
        exclusive: [BufferPart::Packets(4), BufferPart::Packets(1)],
        max: BufferPart::Share(Ratio::new(3, 4).unwrap_or(Ratio::ONE)),
        central_exclusive: BufferPart::Packets(1),
        central_max: None,
        central_queues: CentralQueues::PerNeighbour,
        scheduler: Scheduler::RrVl,
    }
}

/// Part of the latency of a switch that each stage but routing has. Only the sum is published.
const STAGE_PS: u64 = 10_000;

const fn gigabits(tenths: u64) -> Ratio {
    Ratio::whole(tenths * 100_000_000)
}

/// Presets with InfiniBand switches. All links are x4.
///
/// A crossbar twice as fast as the links is ours: at their speed, whose packets wait follows from
/// the order of the ports (`docs/congestion-control.md`). Vendors publish no buffer sizes: 32 KiB
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
        let endpoint = AdapterRate::Payload(Rate(Ratio::whole(13_100_000_000 / 8)));
        // What carries 34.2 Gb/s of payload in packets of 2,048 B and 26 B of headers.
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
        input_queues: InputQueues::VirtualOutput,
        input_vls: None,
        sink_vls: None,
        send_rate: AdapterRate::Unlimited,
        sink_rate: AdapterRate::Unlimited,
        acks: Acks::None,
        // LRH 8, BTH 12, AETH 4, ICRC 4, VCRC 2.
        ack_bytes: 30,
        vlarb: VlArb::RoundRobin,
        hca_vlarb: VlArb::RoundRobin,
    }
}

impl Parameters {
    /// The fabric of `topology` with its default routing and a single service level, on `vls` VLs
    /// by destination or, on rings, two VL classes.
    fn with_one_level(&self, topology: Topology, vls: u8) -> Result<FabricSpec, SpecError> {
        let vls = match topology.vl_classes() {
            1 => vls,
            classes => classes,
        };
        let qos = Qos::one_level(vls, self.mtu_bytes);
        let spec = self.spec(topology, Routing::default(), qos)?;
        spec.validate()?;
        Ok(spec)
    }
}

/// Presets on a topology of choice, with one service level.
impl FabricSpec {
    /// Omni-Path at 100 Gb/s: [`Parameters::opa_gen1`], and 8 VLs.
    ///
    /// # Errors
    /// If the switches of `topology` have more neighbours than a central buffer has room for.
    ///
    /// # Examples
    /// ```
    /// use flitwise::fabric::spec::FabricSpec;
    /// use flitwise::fabric::topology::Topology;
    ///
    /// let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
    /// assert_eq!(spec.topology.nics(), 16);
    /// assert_eq!(spec.units.flit_bytes, 8);
    /// # Ok::<(), flitwise::fabric::spec::SpecError>(())
    /// ```
    pub fn opa_gen1(topology: Topology) -> Result<Self, SpecError> {
        Parameters::opa_gen1().with_one_level(topology, 8)
    }

    /// Omni-Path at 400 Gb/s: [`Parameters::opa_400`], and 8 VLs.
    ///
    /// # Errors
    /// As [`FabricSpec::opa_gen1`].
    pub fn opa_400(topology: Topology) -> Result<Self, SpecError> {
        Parameters::opa_400().with_one_level(topology, 8)
    }

    /// OpaSim's switches: [`Parameters::opasim`], and 8 VLs.
    ///
    /// # Errors
    /// As [`FabricSpec::opa_gen1`].
    pub fn opasim(topology: Topology) -> Result<Self, SpecError> {
        Parameters::opasim().with_one_level(topology, 8)
    }

    /// InfiniBand switches with the parameters of one of the `ib` presets, and one VL.
    ///
    /// # Errors
    /// If the fabric does not fit the limits of a specification.
    pub fn infiniband(parameters: &Parameters, topology: Topology) -> Result<Self, SpecError> {
        parameters.with_one_level(topology, 1)
    }
}
