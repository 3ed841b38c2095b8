//! The InfiniBand switch and its NICs as plain data (`docs/model/infiniband.md`).

mod isolation;
pub(crate) mod parameters;
mod presets;
mod validate;
pub(super) mod zero_load;

pub use self::isolation::{Isolation, MAX_ISOLATION_QUEUES};
pub use super::Acks;
pub use crate::spec::LinkRates;

use super::{BufferCredits, PortVls, SwitchKind, Waits};
use crate::ids::PortId;
use crate::spec::Stages;
use crate::spec::json::is_default;
use crate::spec::qos::MAX_LEVELS;
use crate::topology::Topology;
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most data VLs: the sixteenth is for management (IBA 1.2.1, 7.6).
pub const MAX_DATA_VLS: u8 = 15;

/// The data VLs of a port.
pub(crate) const fn port_vls(standard: PortStandard) -> PortVls {
    match standard {
        PortStandard::InfiniBand => PortVls {
            port: "an InfiniBand port",
            most: MAX_DATA_VLS,
        },
        PortStandard::None => PortVls {
            port: "a port of an input-queued switch",
            most: MAX_LEVELS as u8 - 1,
        },
    }
}

/// The standard of the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortStandard {
    /// InfiniBand: at most 15 VLs and 16 service levels.
    #[default]
    InfiniBand,
    /// None: the `input-queued` switch, with as many VLs as there are service channels.
    None,
}

/// The allocator by which outputs and in-ports of a crossbar agree on packets (`docs/model/infiniband.md` §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Allocator {
    /// Which pointers move.
    pub rule: AllocationRule,
    /// Rounds of grants and acceptances in a tick, at least 1.
    pub iterations: u32,
}

impl Default for Allocator {
    /// One iteration of iSLIP.
    fn default() -> Self {
        Self {
            rule: AllocationRule::Islip,
            iterations: 1,
        }
    }
}

/// The rule that moves the pointer of an output to its in-ports, in the first iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationRule {
    /// VOQ switches: with a grant that is accepted (McKeown, "The iSLIP scheduling algorithm for input-queued
    /// switches", IEEE/ACM Transactions on Networking 7 (2), 1999).
    #[default]
    Islip,
    /// VOQ switches: with every grant, round-robin matching, from which that paper starts.
    RoundRobin,
}

/// The InfiniBand switch, and its NICs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Voq {
    /// Latencies inside the switch.
    // In the JSON at the end of the switch, for every kind.
    #[serde(skip)]
    pub stages: Stages,
    /// Rate of the crossbar over the rate of the fastest link, at least 1.
    pub crossbar_speedup: u32,
    /// The standard that limits the VLs of a port; absent for InfiniBand's.
    #[serde(skip_serializing_if = "is_default")]
    pub port_standard: PortStandard,
    /// The allocator by which outputs and in-ports agree on packets; absent for one iteration of iSLIP.
    #[serde(skip_serializing_if = "is_default")]
    pub allocator: Allocator,
    /// The organisation of the packets of a VL in input buffers of switches.
    pub input_queues: InputQueues,
    /// Queues for hot flows; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Rates of the links.
    #[serde(flatten)]
    pub links: LinkRates,
    /// Buffer sizes.
    #[serde(flatten)]
    pub buffers: Buffers,
    /// Arbiter of every switch output.
    // The JSON has it, and the arbiter of the NICs, beside the service levels.
    #[serde(skip)]
    pub vlarb: VlArb,
    /// The NICs.
    #[serde(flatten)]
    pub hca: Hca,
}

/// The organisation of the packets of a VL in an input buffer of a switch (`docs/model/infiniband.md` §2).
/// The choice of the VL is separate: [`Qos::vl_policy`](crate::spec::Qos::vl_policy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputQueues {
    /// Virtual output queues: the first packet for each (out-port, VL) may request it.
    #[default]
    VirtualOutput,
    /// One FIFO: only its first packet may request an output (Karol, Hluchyj and Morgan, *Input
    /// Versus Output Queueing on a Space-Division Packet Switch*, IEEE Transactions on
    /// Communications 35 (12), 1987).
    Fifo,
    /// A FIFO for each destination, with credits of its own: more than a switch can have, and the bound of
    /// what queueing schemes can do (`docs/model/infiniband.md` §15).
    PerFlow,
    /// One FIFO, and a few queues beside it for the flows that block it: like FBICM (Escudero-Sahuquillo et
    /// al., *FBICM: Efficient Congestion Management for High-Performance Networks Using Distributed
    /// Deterministic Routing*, HiPC 2008).
    Isolating,
}

/// Sizes of the buffers in credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Buffers {
    /// Output buffer of a NIC.
    #[serde(rename = "nic_queue_credits")]
    pub nic_queue: u32,
    /// Receive buffer of a NIC.
    pub nic_sink: StaticPool,
    /// Switch input buffer.
    #[serde(rename = "input_buffer")]
    pub input: StaticPool,
    /// Switch output buffer.
    #[serde(rename = "output_buffer_credits")]
    pub output: u32,
}

/// A buffer that is divided statically between VLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StaticPool {
    /// Size of the buffer in credits.
    #[serde(rename = "credits")]
    #[schemars(extend("unit" = "credits"))]
    pub total: u32,
    /// Credits of each VL, indexed by VL; as many as [`Qos::vls`](crate::spec::Qos::vls).
    #[schemars(extend("unit" = "credits"))]
    pub per_vl: Vec<u32>,
}

impl Voq {
    /// Flits per tick from an input buffer to an output buffer.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn crossbar_rate(&self) -> Ratio {
        let fastest = self.links.fastest();
        let rate = fastest.checked_mul(Ratio::whole(self.crossbar_speedup.into()));
        rate.unwrap_or(fastest)
    }
}

/// Arbiter over VLs, of a switch output or a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub enum VlArb {
    /// One packet per VL in turn.
    RoundRobin,
    /// The arbitration tables of InfiniBand (IBA 1.2.1, 7.6.9).
    Tables {
        /// High-priority table, at most 64 entries: [VL, weight in units of 64 B].
        high: Vec<VlWeight>,
        /// Low-priority table, at most 64 entries: [VL, weight in units of 64 B].
        low: Vec<VlWeight>,
        /// Limit of High Priority: units of 4 KiB that high-priority packets may send
        /// before a low-priority packet gets its turn; 0: one packet, 255: no limit.
        high_limit: u8,
    },
}

/// Entry of an arbitration table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "(u8, u8)")]
#[schemars(with = "(u8, u8)")]
pub struct VlWeight {
    /// VL served.
    pub vl: u8,
    /// Units of 64 bytes per turn, rounded up to whole packets; 0 skips the entry.
    pub weight: u8,
}

impl From<VlWeight> for (u8, u8) {
    fn from(entry: VlWeight) -> Self {
        (entry.vl, entry.weight)
    }
}

/// Bytes of one unit of weight in an arbitration table.
pub const VL_WEIGHT_BYTES: u32 = 64;
/// Bytes of one unit of the Limit of High Priority.
pub const HIGH_LIMIT_BYTES: u32 = 4096;

/// NICs; rates in flits per tick, headers included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hca {
    /// Rate at which packets come from the host; `None`: at the rate of the link.
    #[serde(rename = "hca_send_flits_per_tick")]
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    pub send_rate: Option<Ratio>,
    /// Rate at which the host takes packets; `None`: as they come.
    #[serde(rename = "hca_sink_flits_per_tick")]
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    pub sink_rate: Option<Ratio>,
    /// Arbiter over the VLs of a NIC.
    #[serde(skip)]
    pub vlarb: VlArb,
    /// Acknowledgements.
    pub acks: Acks,
    /// Whole length of an ACK in bytes (30: LRH, BTH, AETH, ICRC, VCRC).
    pub ack_bytes: u32,
}

impl SwitchKind for Voq {
    fn about_ports(&self, _: u32) -> String {
        match self.input_queues {
            InputQueues::VirtualOutput => String::new(),
            InputQueues::Fifo => ", in-ports with FIFOs".to_owned(),
            InputQueues::PerFlow => ", in-ports with a queue for each destination".to_owned(),
            InputQueues::Isolating => {
                let queues = self
                    .isolation
                    .as_ref()
                    .map_or(0, |isolation| isolation.queues);
                format!(", in-ports with FIFOs and {queues} congested-flow queues")
            }
        }
    }

    fn stages(&self) -> &Stages {
        &self.stages
    }

    fn links(&self) -> Option<&LinkRates> {
        Some(&self.links)
    }

    fn links_count_bytes(&self) -> bool {
        true
    }

    fn queues_per_pair(&self) -> bool {
        true
    }

    fn acks(&self) -> Acks {
        self.hca.acks
    }

    fn input_credits(&self, vl: usize) -> u32 {
        self.buffers.input.per_vl[vl]
    }

    fn nic_queue_credits(&self) -> u32 {
        self.buffers.nic_queue
    }

    fn buffer_credits(&self, topology: &Topology, ports: &[Vec<PortId>]) -> BufferCredits {
        let b = &self.buffers;
        let ports = ports.iter().map(Vec::len).sum::<usize>() as u64;
        let nics = u64::from(topology.endpoints());
        BufferCredits {
            input: ports * u64::from(b.input.total),
            output: ports * u64::from(b.output),
            central: 0,
            nic: nics * (u64::from(b.nic_queue) + u64::from(b.nic_sink.total)),
        }
    }

    /// Queue wait begins in the input buffer; in a FIFO, also behind heads that wait for other links.
    fn waits_for(&self, queue_wait_ticks: u64, in_input_buffers: u64) -> u64 {
        match self.input_queues {
            InputQueues::VirtualOutput => queue_wait_ticks,
            InputQueues::Fifo | InputQueues::PerFlow | InputQueues::Isolating => in_input_buffers,
        }
    }

    fn waits(&self) -> Waits<'_> {
        Waits::FromInputToInput {
            per_destination: self.input_queues == InputQueues::PerFlow,
        }
    }

    fn records_fills(&self) -> bool {
        true
    }
}
