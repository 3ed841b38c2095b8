//! The hierarchical switch of OpaSim and Hiperion as plain data (`docs/model.md`).

mod central;
mod parameters;
mod presets;
mod validate;
mod zero_load;

pub(crate) use self::central::Classes;
pub use self::parameters::HierarchicalParameters;

use self::zero_load::Header;
use super::{BufferCredits, PortVls, Switch, SwitchKind, Waits, ZeroLoad};
use crate::ids::{NicId, PortId};
use crate::spec::qos::MAX_LEVELS;
use crate::spec::{FabricSpec, SpecError, Stages, Tick};
use crate::stats::LinkStats;
use crate::topology::{Peer, Topology};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// The data VLs of a port.
pub(crate) const PORT_VLS: PortVls = PortVls {
    port: "a port",
    most: MAX_LEVELS as u8,
};

/// Ports of an MPort.
pub const MPORT_PORTS: u32 = 4;
/// Central buffers of an MPort.
pub const MPORT_CENTRALS: u32 = 2;

/// MPort of a port.
#[must_use]
pub fn mport(port: PortId) -> u32 {
    port.get() / MPORT_PORTS
}

/// Number of the central buffer between two ports of a switch; `None` within an MPort.
#[must_use]
pub fn central_between(in_port: PortId, out_port: PortId) -> Option<u32> {
    let from = mport(in_port);
    (from != mport(out_port)).then_some(MPORT_CENTRALS * from + out_port.get() % MPORT_CENTRALS)
}

/// The hierarchical switch, with the NICs and the output scheduler that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hierarchical {
    /// Latencies and rates inside the switch.
    #[serde(flatten)]
    pub timing: Timing,
    /// The rule by which the sources pick a queue.
    pub virtual_allocation: VirtualAllocation,
    /// Buffer sizes and quotas.
    #[serde(flatten)]
    pub buffers: Buffers,
    /// Scheduler of every switch output and NIC.
    // The JSON has it beside the service levels, whose shares it keeps.
    #[serde(skip)]
    pub scheduler: Scheduler,
}

/// Latencies in ticks and rates in flits per tick (OpaSim, DIAB-18-12-1, Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// Latencies; a packet crosses one crossbar, of an MPort, or also the central one.
    // In the JSON at the end of the switch, for every kind.
    #[serde(skip)]
    pub stages: Stages,
    /// Ticks, 0 to [`Stages::allocation`], in which a crossbar port stands still between two
    /// packets: so much of an allocation waits for the transfer before it to end. Ours; no
    /// publication says how far the two overlap (`docs/validation.md`).
    #[serde(rename = "allocation_gap_ticks")]
    pub allocation_gap: Tick,
    /// Flits per tick from an input buffer through its MPort crossbar.
    pub mport_speedup: u32,
    /// Flits per tick from a central buffer through the central crossbar.
    pub central_speedup: u32,
}

impl Timing {
    /// Ticks of an allocation that may pass before the ports it is for are free.
    #[must_use]
    pub(crate) fn allocation_overlap(&self) -> Tick {
        self.stages.allocation.saturating_sub(self.allocation_gap)
    }

    /// Ticks from a header's arrival at the switch until it leaves at zero load, with
    /// `crossings` crossbars on its path: 1 within an MPort, else 2.
    #[must_use]
    pub(crate) fn without_load(&self, crossings: u64) -> Tick {
        self.stages.input_store
            + self.stages.routing
            + crossings * (self.stages.allocation + self.stages.crossbar)
            + self.stages.output_store
    }
}

/// Which of its queues a buffer picks in virtual allocation
/// (`docs/model.md` §6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VirtualAllocation {
    /// The next one with a ready header that its target can take now.
    #[default]
    Informed,
    /// The next one with a ready header, as OpaSim and Hiperion describe it.
    Blind,
}

/// Share of a buffer that one VL (or one central queue) may take, in credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Credits reserved for this VL alone.
    pub exclusive: u32,
    /// Most credits this VL may hold.
    pub max: u32,
}

impl Quota {
    /// No credits.
    pub const NONE: Self = Self {
        exclusive: 0,
        max: 0,
    };
}

/// A buffer whose credits are shared dynamically between VLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Size of the buffer in credits.
    #[serde(rename = "credits")]
    pub total: u32,
    /// Quota of each VL, indexed by VL; as many as [`Qos::vls`](crate::spec::Qos::vls).
    #[serde(flatten, serialize_with = "lists_by_vl")]
    pub per_vl: Vec<Quota>,
}

/// A list of each part of the quotas.
fn lists_by_vl<S: Serializer>(per_vl: &[Quota], s: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Lists {
        exclusive: Vec<u32>,
        max: Vec<u32>,
    }
    let parts = |&Quota { exclusive, max }: &Quota| (exclusive, max);
    let (exclusive, max) = per_vl.iter().map(parts).unzip();
    Lists { exclusive, max }.serialize(s)
}

/// The division of a central buffer into FIFOs (see `docs/model.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CentralQueues {
    /// One FIFO per (VL, next neighbour or local NICs).
    PerNeighbour,
    /// One FIFO per VL, the drawing taken literally; may deadlock on a torus.
    PerVl,
}

/// All buffers of the fabric; sizes are per port except the central ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Buffers {
    /// NIC send queue.
    pub nic_queue: Pool,
    /// NIC receive buffer.
    pub nic_sink: Pool,
    /// Switch input buffer.
    #[serde(rename = "input_buffer")]
    pub input: Pool,
    /// Switch output buffer.
    #[serde(rename = "output_buffer")]
    pub output: Pool,
    /// Central buffer, two per MPort. The quota of a VL holds for each of the
    /// queues of that VL.
    #[serde(rename = "central_buffer")]
    pub central: Pool,
    /// Division of the central buffers into queues.
    pub central_queues: CentralQueues,
}

/// Output scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Scheduler {
    /// One packet per VL in turn (OpaSim).
    RrVl,
    /// Simple Bandwidth Table (Hiperion, Algorithm 1): weight per SL.
    Sbt {
        /// Packets per table turn, indexed by SL.
        weights: Vec<u32>,
    },
    /// Deficit table (Hiperion, Algorithm 2).
    #[serde(rename = "dtable")]
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

impl Serialize for DTableEntry {
    /// As `[sl, weight]`.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Self { sl, weight } = self;
        (sl, weight).serialize(s)
    }
}

/// Bytes that one unit of DTable weight stands for.
pub const DTABLE_UNIT_BYTES: u32 = 64;

impl SwitchKind for Hierarchical {
    fn stages(&self) -> &Stages {
        &self.timing.stages
    }

    fn validate_timing(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        spec.validate_hierarchical_timing(&self.timing)
    }

    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError> {
        spec.validate_hierarchical(self)
    }

    fn input_credits(&self, vl: usize) -> u32 {
        self.buffers.input.per_vl[vl].max
    }

    fn nic_queue_credits(&self) -> u32 {
        self.buffers.nic_queue.total
    }

    fn buffer_credits(&self, topology: &Topology) -> BufferCredits {
        let b = &self.buffers;
        let (ports, nics) = (topology.connected_ports(), u64::from(topology.nics()));
        let all_ports: Vec<PortId> = topology.port_ids().collect();
        let connected = |switch| {
            let used = move |&port: &PortId| topology.peer(switch, port) != Peer::None;
            let mports = all_ports.chunks(MPORT_PORTS as usize);
            mports.filter(|mport| mport.iter().any(used)).count() as u64
        };
        let mports: u64 = topology.switch_ids().map(connected).sum();
        BufferCredits {
            input: ports * u64::from(b.input.total),
            output: ports * u64::from(b.output.total),
            central: 2 * mports * u64::from(b.central.total),
            nic: nics * (u64::from(b.nic_queue.total) + u64::from(b.nic_sink.total)),
        }
    }

    /// Queue wait begins in the output buffer.
    fn waits_for(&self, link: &LinkStats, in_input_buffers: u64) -> u64 {
        in_input_buffers + link.queue_wait_ticks
    }

    fn waits(&self) -> Waits<'_> {
        Waits::FromBufferToBuffer(&self.buffers)
    }

    fn about_ports(&self, radix: u32) -> String {
        format!(" on {} MPorts", radix / MPORT_PORTS)
    }

    fn mport(&self, port: PortId) -> Option<u32> {
        Some(mport(port))
    }

    fn at_zero_load(&self, spec: &FabricSpec, _: NicId, payload: u32) -> Box<dyn ZeroLoad + '_> {
        Box::new(Header::start(spec, self, payload))
    }
}

impl FabricSpec {
    /// The hierarchical switch, if the fabric has switches of this kind.
    #[must_use]
    pub fn hierarchical(&self) -> Option<&Hierarchical> {
        match &self.switch {
            Switch::Hierarchical(switch) => Some(switch),
            _ => None,
        }
    }
}
