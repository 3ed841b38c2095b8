//! The hierarchical switch of OpaSim and Hiperion as plain data (`docs/model/fabric.md`).

mod central;
pub(crate) mod parameters;
mod presets;
mod validate;
pub(super) mod zero_load;

pub(crate) use self::central::Classes;

use super::{BufferCredits, PortVls, SwitchKind, Waits};
use crate::ids::PortId;
use crate::spec::json::is_default;
use crate::spec::qos::MAX_LEVELS;
use crate::spec::{Stages, Tick};
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::ops::Range;

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

/// Numbers of the central buffers that a packet between two ports of a switch may take; none within
/// an MPort.
#[must_use]
pub fn centrals_between(link: CentralLink, in_port: PortId, out_port: PortId) -> Range<u32> {
    let from = mport(in_port);
    let first = MPORT_CENTRALS * from;
    if from == mport(out_port) {
        return first..first;
    }
    let only = |port: PortId| {
        let central = first + port.get() % MPORT_CENTRALS;
        central..central + 1
    };
    match link {
        CentralLink::ByOutput => only(out_port),
        CentralLink::ByInput => only(in_port),
        CentralLink::Random { .. } => first..first + MPORT_CENTRALS,
    }
}

/// The hierarchical switch, with the NICs and the output scheduler that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hierarchical {
    /// Latencies and rates inside the switch.
    #[serde(flatten)]
    pub timing: Timing,
    /// The rule by which the sources pick a queue.
    pub virtual_allocation: VirtualAllocation,
    /// The allocator; absent where it is pipelined.
    #[serde(skip_serializing_if = "is_default")]
    pub allocator: Allocator,
    /// Buffer sizes and quotas.
    #[serde(flatten)]
    pub buffers: Buffers,
    /// Scheduler of every switch output and NIC.
    // The JSON has it beside the service levels, whose shares it keeps.
    #[serde(skip)]
    pub scheduler: Scheduler,
}

/// Latencies in ticks and rates in flits per tick (OpaSim, DIAB-18-12-1, Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Timing {
    /// Latencies; a packet crosses one crossbar, of an MPort, or also the central one.
    // In the JSON at the end of the switch, for every kind.
    #[serde(skip)]
    pub stages: Stages,
    /// Flits per tick from an input buffer through its MPort crossbar.
    #[schemars(extend("unit" = "flits/tick"))]
    pub mport_speedup: u32,
    /// Flits per tick from a central buffer through the central crossbar.
    #[schemars(extend("unit" = "flits/tick"))]
    pub central_speedup: u32,
}

/// The allocator of the crossbars (`docs/model/fabric.md` §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Allocator {
    /// When sources and targets allocate.
    pub rule: AllocationRule,
    /// Iterations of a round, at least 1. Only [`AllocationRule::Rounds`] has more than one.
    pub iterations: u32,
}

impl Default for Allocator {
    /// A pipelined allocator.
    fn default() -> Self {
        Self {
            rule: AllocationRule::Pipelined,
            iterations: 1,
        }
    }
}

impl Allocator {
    /// Whether sources and targets allocate in rounds.
    #[must_use]
    pub fn is_in_rounds(&self) -> bool {
        self.rule == AllocationRule::Rounds
    }

    /// Whether the queue that a source has picked keeps its other queues waiting: it is the only one
    /// that the source requests until it is granted.
    #[must_use]
    pub fn blocks_other_queues(&self) -> bool {
        self.is_in_rounds() && self.iterations == 1
    }
}

/// When sources and targets allocate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationRule {
    /// Hierarchical switches: in every tick; the next allocation overlaps the present transfer.
    #[default]
    Pipelined,
    /// Hierarchical switches: in every tick that is divisible by the allocation time. A source that has picked a queue keeps
    /// it until it is granted.
    Rounds,
    /// Hierarchical switches: in every tick; the next allocation of a source begins when its packet has left.
    Serial,
}

/// Which of the two central buffers of an MPort a packet to another MPort takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CentralLink {
    /// The one with the parity of its out-port.
    #[default]
    ByOutput,
    /// The one with the parity of its in-port.
    ByInput,
    /// Either, drawn for each packet.
    Random {
        /// Decides the draws.
        seed: u64,
    },
}

impl Serialize for CentralLink {
    /// By name: the seed follows from the seed of the experiment.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(match self {
            Self::ByOutput => "by-output",
            Self::ByInput => "by-input",
            Self::Random { .. } => "random",
        })
    }
}

/// Which of its queues a buffer picks in virtual allocation
/// (`docs/model/fabric.md` §6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Pool {
    /// Size of the buffer in credits.
    #[serde(rename = "credits")]
    #[schemars(extend("unit" = "credits"))]
    pub total: u32,
    /// Quota of each VL, indexed by VL; as many as [`Qos::vls`](crate::spec::Qos::vls).
    #[serde(flatten, serialize_with = "lists_by_vl")]
    #[schemars(with = "Lists")]
    pub per_vl: Vec<Quota>,
}

/// Quotas as a list of each part.
#[derive(Serialize, JsonSchema)]
struct Lists {
    /// The part reserved for each VL.
    #[schemars(extend("unit" = "credits"))]
    exclusive: Vec<u32>,
    /// The most that each VL may use.
    #[schemars(extend("unit" = "credits"))]
    max: Vec<u32>,
}

fn lists_by_vl<S: Serializer>(per_vl: &[Quota], s: S) -> Result<S::Ok, S::Error> {
    let parts = |&Quota { exclusive, max }: &Quota| (exclusive, max);
    let (exclusive, max) = per_vl.iter().map(parts).unzip();
    Lists { exclusive, max }.serialize(s)
}

/// The division of a central buffer into FIFOs (see `docs/model/fabric.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CentralQueues {
    /// One FIFO per (VL, next neighbour or local NICs).
    PerNeighbour,
    /// One FIFO per VL, the drawing taken literally; may deadlock on a torus.
    PerVl,
}

/// All buffers of the fabric; sizes are per port except the central ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Which central buffer a packet takes; absent where the out-port decides.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "String", extend("enum" = ["by-input", "random"]))]
    pub central_link: CentralLink,
}

/// Output scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
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
        /// The arbitration table, as [index of the service level, weight in units of 64 B].
        entries: Vec<DTableEntry>,
    },
}

/// One entry of a DTable arbitration table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "(u8, u32)")]
#[schemars(with = "(u8, u32)")]
pub struct DTableEntry {
    /// Service level served by this entry.
    pub sl: u8,
    /// Weight in units of 64 bytes.
    pub weight: u32,
}

impl From<DTableEntry> for (u8, u32) {
    fn from(entry: DTableEntry) -> Self {
        (entry.sl, entry.weight)
    }
}

/// Bytes that one unit of DTable weight stands for.
pub const DTABLE_UNIT_BYTES: u32 = 64;

impl Hierarchical {
    /// Whether buffers pick their queues blindly.
    pub(crate) fn allocates_blindly(&self) -> bool {
        self.virtual_allocation == VirtualAllocation::Blind
    }

    /// Ticks before a source is free from which it is idle for allocation.
    pub(crate) fn source_overlap(&self) -> Tick {
        match self.allocator.rule {
            AllocationRule::Serial => 0,
            AllocationRule::Pipelined | AllocationRule::Rounds => self.timing.stages.allocation,
        }
    }

    /// Returns the first tick from `tick` on in which the switch allocates.
    pub(crate) fn next_allocation(&self, tick: Tick) -> Tick {
        if self.allocator.is_in_rounds() {
            tick.next_multiple_of(self.timing.stages.allocation)
        } else {
            tick
        }
    }

    /// Returns the tick in which a header that arrives in tick `arrives` leaves the switch at zero load, with
    /// `crossings` crossbars on its path: 1 within an MPort, else 2.
    fn leaves_without_load(&self, arrives: Tick, crossings: u32) -> Tick {
        let stages = &self.timing.stages;
        let cross = |ready: Tick| self.next_allocation(ready) + stages.allocation + stages.crossbar;
        let ready = arrives + stages.input_store + stages.routing;
        (0..crossings).fold(ready, |ready, _| cross(ready)) + stages.output_store
    }
}

impl SwitchKind for Hierarchical {
    fn stages(&self) -> &Stages {
        &self.timing.stages
    }

    fn input_credits(&self, vl: usize) -> u32 {
        self.buffers.input.per_vl[vl].max
    }

    fn nic_queue_credits(&self) -> u32 {
        self.buffers.nic_queue.total
    }

    fn buffer_credits(&self, topology: &Topology, ports: &[Vec<PortId>]) -> BufferCredits {
        let b = &self.buffers;
        // The ports of an MPort follow each other.
        let mports = |ports: &Vec<PortId>| ports.chunk_by(|&a, &b| mport(a) == mport(b)).count();
        let mports = ports.iter().map(mports).sum::<usize>() as u64;
        let ports = ports.iter().map(Vec::len).sum::<usize>() as u64;
        let nics = u64::from(topology.endpoints());
        BufferCredits {
            input: ports * u64::from(b.input.total),
            output: ports * u64::from(b.output.total),
            central: 2 * mports * u64::from(b.central.total),
            nic: nics * (u64::from(b.nic_queue.total) + u64::from(b.nic_sink.total)),
        }
    }

    /// Queue wait begins in the output buffer.
    fn waits_for(&self, queue_wait_ticks: u64, in_input_buffers: u64) -> u64 {
        in_input_buffers + queue_wait_ticks
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
}
