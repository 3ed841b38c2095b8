//! The fabric as plain data: what the experiment file resolves to, and the
//! only thing that the engine and the oracle share besides the topology.

use super::infiniband::{CongestionControl, Notification, SwitchKind, VlMap};
use super::topology::Topology;
use super::workload::Queueing;
use crate::units::TickLength;
use thiserror::Error;

/// Simulated time in ticks; one tick is one switch clock period
/// ([`Timing::tick`]).
pub type Tick = u64;

/// A complete, resolved fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricSpec {
    /// Switches, NICs and the links between them.
    pub topology: Topology,
    /// How a packet finds its way.
    pub routing: Routing,
    /// Latencies and rates.
    pub timing: Timing,
    /// How the sources of the hierarchical switch pick a queue.
    pub virtual_allocation: VirtualAllocation,
    /// Buffer sizes and quotas.
    pub buffers: Buffers,
    /// Service levels, channels, virtual lanes and the output scheduler.
    pub qos: Qos,
    /// Header bytes added to the payload of every packet (0 for Omni-Path).
    pub header_bytes: u32,
    /// Kind of the switches, with what only that kind has.
    pub kind: SwitchKind,
    /// InfiniBand congestion control, which either kind may have.
    pub congestion_control: Option<Box<CongestionControl>>,
}

/// Which of its queues a buffer of the hierarchical switch picks in virtual allocation
/// (`docs/model.md` §6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VirtualAllocation {
    /// The next one with a ready header that its target can take now.
    #[default]
    Informed,
    /// The next one with a ready header, as OpaSim and Hiperion describe it.
    Blind,
}

/// Latencies in ticks and rates in flits per tick of the hierarchical switch
/// (OpaSim, DIAB-18-12-1, Table 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Length of one tick (640 ps for 8-byte flits at 12.5 GB/s).
    pub tick: TickLength,
    /// Bytes in one flit.
    pub flit_bytes: u32,
    /// FLY: flight over a switch-to-switch link, at least 1.
    pub link: Tick,
    /// INJ: flight over a link between NIC and switch, both ways, at least 1.
    pub host_link: Tick,
    /// SB: storing a flit in an input buffer.
    pub input_store: Tick,
    /// RT: routing a header.
    pub routing: Tick,
    /// AT: one allocation (virtual and switch allocation together), at least 1.
    pub allocation: Tick,
    /// Ticks, 0 to [`Timing::allocation`], in which a crossbar port stands still between two
    /// packets: so much of an allocation waits for the transfer before it to end. Ours; no
    /// publication says how far the two overlap (`docs/validation.md`).
    pub allocation_gap: Tick,
    /// X: crossing a crossbar, either kind, at least 1.
    pub crossbar: Tick,
    /// SB: storing a flit in an output buffer.
    pub output_store: Tick,
    /// Flits per tick from an input buffer through its MPort crossbar.
    pub mport_speedup: u32,
    /// Flits per tick from a central buffer through the central crossbar.
    pub central_speedup: u32,
}

/// Share of a buffer that one VL (or one central queue) may take, in credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Credits reserved for this VL alone.
    pub exclusive: u32,
    /// Most credits this VL may hold.
    pub max: u32,
}

/// A buffer whose space is shared dynamically between VLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Size of the buffer in credits.
    pub total: u32,
    /// Quota of each VL, indexed by VL; as many as [`Qos::vls`].
    pub per_vl: Vec<Quota>,
}

/// How a central buffer is divided into FIFOs (see `docs/model.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CentralQueues {
    /// One FIFO per (VL, next neighbour or local NICs).
    PerNeighbour,
    /// One FIFO per VL, the drawing taken literally; may deadlock on a torus.
    PerVl,
}

/// All buffers of the fabric; sizes are per port except the central ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffers {
    /// Flits that one credit stands for.
    pub flits_per_credit: u32,
    /// NIC send queue.
    pub nic_queue: Pool,
    /// NIC receive buffer.
    pub nic_sink: Pool,
    /// Switch input buffer.
    pub input: Pool,
    /// Switch output buffer.
    pub output: Pool,
    /// Central buffer, two per MPort. The quota of a VL holds for each of the
    /// queues of that VL.
    pub central: Pool,
    /// Division of the central buffers into queues.
    pub central_queues: CentralQueues,
}

/// Which of the parallel links of a trunk a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrunkSelection {
    /// Destination NIC modulo the number of links; keeps the order of a flow.
    Destination,
    /// Each routed packet takes the next link.
    RoundRobin,
    /// The link whose output buffer has the fewest credits reserved; ties go
    /// to the lowest index.
    LeastQueued,
}

/// Direction taken when both ways round an even ring are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingTie {
    /// Always the positive direction.
    Positive,
    /// Positive from even coordinates, negative from odd ones.
    SourceParity,
}

/// Routing settings; the algorithm follows from the topology (dimension order
/// on torus and mesh, DESTRO on trees).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routing {
    /// Tie-breaking on rings.
    pub ring_tie: RingTie,
    /// Link selection on trunks.
    pub trunk: TrunkSelection,
}

/// Quality of service: SL → SC → VL and the scheduler (Hiperion, section 2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// VLs per buffer: the highest VL in use plus one, at most 32.
    pub vls: u8,
    /// The service levels, indexed by SL, at most 32.
    pub service_levels: Vec<ServiceLevel>,
    /// SC2VL: VL of each SC, `None` where the SC is not used; 32 entries.
    pub sc2vl: [Option<u8>; 32],
    /// Scheduler of every switch output and NIC.
    pub scheduler: Scheduler,
}

/// One service level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLevel {
    /// Name used in experiments and results, e.g. `CL`.
    pub name: String,
    /// Traffic class that this SL belongs to, below 32.
    pub traffic_class: u8,
    /// SL2SC: the SCs of this SL. On a torus the first two are the dateline
    /// classes 0 and 1; elsewhere the destination picks one.
    pub scs: Vec<u8>,
    /// Largest payload of one packet in bytes.
    pub mtu_bytes: u32,
}

/// Output scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduler {
    /// One packet per VL in turn (OpaSim).
    RrVl,
    /// Simple Bandwidth Table (Hiperion, Algorithm 1): weight per SL.
    Sbt {
        /// Packets per table turn, indexed by SL.
        weights: Vec<u32>,
    },
    /// Deficit table (Hiperion, Algorithm 2).
    DTable {
        /// The arbitration table.
        entries: Vec<DTableEntry>,
    },
}

/// One entry of a DTable arbitration table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DTableEntry {
    /// Service level served by this entry.
    pub sl: u8,
    /// Weight in units of 64 bytes.
    pub weight: u32,
}

/// Bytes that one unit of DTable weight stands for.
pub const DTABLE_UNIT_BYTES: u32 = 64;

/// A fabric that cannot be built, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct SpecError {
    /// Experiment-file key that the problem belongs to.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Timing {
    /// Ticks of an allocation that may pass before the ports it is for are free.
    #[must_use]
    pub fn allocation_overlap(&self) -> Tick {
        self.allocation.saturating_sub(self.allocation_gap)
    }

    /// Flits of a packet with `payload` bytes and `header` bytes; at least 1.
    #[must_use]
    pub fn flits(&self, payload: u32, header: u32) -> u32 {
        (u64::from(payload) + u64::from(header))
            .div_ceil(u64::from(self.flit_bytes))
            .max(1)
            .try_into()
            .unwrap_or(u32::MAX)
    }
}

impl FabricSpec {
    /// Flits of the largest packet of service level `sl`, be it a CNP.
    #[must_use]
    pub fn max_flits(&self, sl: usize) -> u32 {
        let mtu = self.qos.service_levels[sl].mtu_bytes;
        let data = self.timing.flits(mtu, self.header_bytes);
        data.max(self.cnp_flits().unwrap_or(0))
    }

    /// Flits of a congestion notification packet, if there are any.
    #[must_use]
    pub fn cnp_flits(&self) -> Option<u32> {
        match self.congestion_control.as_ref()?.notification {
            Notification::Cnp { bytes } => Some(self.timing.flits(bytes, 0)),
            Notification::Ack | Notification::AckNow => None,
        }
    }

    /// Bytes for which the largest data packet of any service level takes a link.
    #[must_use]
    pub fn largest_data_bytes(&self) -> u32 {
        let levels = self.qos.service_levels.iter();
        let units = levels.map(|level| self.link_units(level.mtu_bytes)).max();
        let bytes_per_unit = self.timing.flit_bytes / self.link_units_per_flit().max(1);
        units.unwrap_or(1).saturating_mul(bytes_per_unit)
    }

    /// How messages queue at NICs: congestion control holds flows to one destination and lets
    /// others pass.
    #[must_use]
    pub fn queueing(&self) -> Queueing {
        match self.kind {
            SwitchKind::Hierarchical if self.congestion_control.is_none() => Queueing::PerLevel,
            SwitchKind::Hierarchical | SwitchKind::Voq(_) => Queueing::PerPair,
        }
    }

    /// Credits taken by a packet of `flits` flits.
    #[must_use]
    pub fn credits(&self, flits: u32) -> u32 {
        flits.div_ceil(self.buffers.flits_per_credit)
    }

    /// Credits of the largest packet that can travel on `vl`; 0 if none can.
    #[must_use]
    pub fn max_credits_on_vl(&self, vl: u8) -> u32 {
        (0..self.qos.service_levels.len())
            .filter(|&sl| self.qos.vls_of(sl).any(|v| v == vl))
            .map(|sl| self.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }

    /// True if the routing needs a VL class per SC of every service level: on rings and
    /// dragonflies, unless SL-to-VL tables decide the VLs.
    #[must_use]
    pub fn needs_classes(&self) -> bool {
        let by_tables = matches!(&self.kind, SwitchKind::Voq(voq)
            if voq.vl_map != VlMap::ServiceChannels);
        self.topology.vl_classes() > 1 && !by_tables
    }
}

impl Qos {
    /// VLs that service level `sl` can travel on, one per SC of the SL.
    pub fn vls_of(&self, sl: usize) -> impl Iterator<Item = u8> + '_ {
        self.service_levels[sl]
            .scs
            .iter()
            .filter_map(|&sc| self.sc2vl.get(usize::from(sc)).copied().flatten())
    }
}
