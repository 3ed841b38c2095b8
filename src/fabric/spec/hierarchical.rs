//! The hierarchical switch of OpaSim and Hiperion as plain data (`docs/model.md`).

use super::{FabricSpec, Stages, Switch, Tick};

/// The hierarchical switch, with the NICs and the output scheduler that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchical {
    /// Latencies and rates inside the switch.
    pub timing: Timing,
    /// How the sources pick a queue.
    pub virtual_allocation: VirtualAllocation,
    /// Buffer sizes and quotas.
    pub buffers: Buffers,
    /// Scheduler of every switch output and NIC.
    pub scheduler: Scheduler,
}

/// Latencies in ticks and rates in flits per tick (OpaSim, DIAB-18-12-1, Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Latencies; a packet crosses one crossbar, of an MPort, or also the central one.
    pub stages: Stages,
    /// Ticks, 0 to [`Stages::allocation`], in which a crossbar port stands still between two
    /// packets: so much of an allocation waits for the transfer before it to end. Ours; no
    /// publication says how far the two overlap (`docs/validation.md`).
    pub allocation_gap: Tick,
    /// Flits per tick from an input buffer through its MPort crossbar.
    pub mport_speedup: u32,
    /// Flits per tick from a central buffer through the central crossbar.
    pub central_speedup: u32,
}

impl Timing {
    /// Ticks of an allocation that may pass before the ports it is for are free.
    #[must_use]
    pub fn allocation_overlap(&self) -> Tick {
        self.stages.allocation.saturating_sub(self.allocation_gap)
    }

    /// Ticks from a header's arrival at the switch to its departure at zero load, with
    /// `crossings` crossbars on its way: 1 within an MPort, else 2.
    #[must_use]
    pub fn without_load(&self, crossings: u64) -> Tick {
        self.stages.input_store
            + self.stages.routing
            + crossings * (self.stages.allocation + self.stages.crossbar)
            + self.stages.output_store
    }
}

/// Which of its queues a buffer picks in virtual allocation
/// (`docs/model.md` §6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Size of the buffer in credits.
    pub total: u32,
    /// Quota of each VL, indexed by VL; as many as [`Qos::vls`](super::Qos::vls).
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

impl FabricSpec {
    /// The hierarchical switch, if the fabric has switches of this kind.
    #[must_use]
    pub fn hierarchical(&self) -> Option<&Hierarchical> {
        match &self.switch {
            Switch::Hierarchical(switch) => Some(switch),
            Switch::Voq(_) => None,
        }
    }
}
