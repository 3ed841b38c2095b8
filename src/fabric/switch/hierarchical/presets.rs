//! Presets: parameters of hierarchical switches, from publications and of commercial devices, each
//! with its source.

use super::parameters::HierarchicalParameters;
use super::{Allocator, CentralLink, CentralQueues, Scheduler, VirtualAllocation};
use crate::parameters::{BufferBytes, CABLE_PS, Parameters, Stages, SwitchParameters};
use crate::spec::{FabricSpec, SpecError};
use crate::topology::Topology;
use flitwise_base::units::{BufferPart, Latency, Ratio};
use std::collections::BTreeMap;

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
            link_latencies: BTreeMap::new(),
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
        virtual_allocation: VirtualAllocation::Informed,
        allocator: Allocator::default(),
        mport_speedup: 3,
        central_speedup: 4,
        central_buffer: 65_536,
        central_buffer_grows: true,
        exclusive: [BufferPart::Packets(4), BufferPart::Packets(1)],
        max: BufferPart::Share(Ratio::new(3, 4).unwrap_or(Ratio::ONE)),
        central_exclusive: BufferPart::Packets(1),
        central_max: None,
        central_queues: CentralQueues::PerNeighbour,
        central_link: CentralLink::ByOutput,
        scheduler: Scheduler::RrVl,
    }
}

/// Presets on a topology of choice, with one service level.
impl FabricSpec {
    /// Omni-Path at 100 Gb/s: [`Parameters::opa_gen1`], and 8 VLs.
    ///
    /// # Errors
    /// If the fabric does not fit the limits of a specification.
    ///
    /// # Examples
    /// ```
    /// use flitwise_fabric::spec::FabricSpec;
    /// use flitwise_fabric::topology::Topology;
    ///
    /// let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
    /// assert_eq!(spec.topology.nics(), 16);
    /// assert_eq!(spec.units.flit_bytes, 8);
    /// # Ok::<(), flitwise_fabric::spec::SpecError>(())
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
}
