//! The kinds of switch, each with the NICs that belong to it. A kind has a folder: its plain data,
//! the checks of these data, the parameters from which they are computed, its presets, and its
//! times at zero load. This file lists the kinds. Its trait [`SwitchKind`] has the questions that
//! the rest of the program asks a kind.

pub mod hierarchical;
pub mod voq;
pub(crate) mod zero_load;

use self::hierarchical::Hierarchical;
use self::voq::Voq;
use super::ids::PortId;
use super::spec::{LinkRates, Stages};
use super::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Switch {
    /// Omni-Path: MPorts, central buffers (`docs/model/fabric.md`).
    Hierarchical(Box<Hierarchical>),
    /// InfiniBand: input buffers with virtual output queues, or FIFOs (`docs/model/infiniband.md`).
    Voq(Box<Voq>),
}

impl Switch {
    /// The answers of its kind.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn kind(&self) -> &dyn SwitchKind {
        match self {
            Self::Hierarchical(switch) => &**switch,
            Self::Voq(switch) => &**switch,
        }
    }
}

/// The numbers of data VLs that the ports of a kind of switch can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortVls {
    /// The name of such a port in messages, with its article.
    pub port: &'static str,
    /// Most VLs for data.
    pub most: u8,
}

/// The questions that a kind of switch answers about itself. Analysis, results and the command line ask only
/// these; the engine has a fabric for each kind.
pub trait SwitchKind {
    /// Latencies of its stages.
    fn stages(&self) -> &Stages;

    /// Rates of the links; `None` if every link moves one flit per tick.
    fn links(&self) -> Option<&LinkRates> {
        None
    }

    /// Whether a link is taken for the bytes of a packet, and not for whole flits.
    fn links_count_bytes(&self) -> bool {
        false
    }

    /// Whether messages queue at a NIC per destination even without congestion control.
    fn queues_per_pair(&self) -> bool {
        false
    }

    /// Which packets its NICs acknowledge.
    fn acks(&self) -> Acks {
        Acks::None
    }

    /// Credits that the packets of `vl` may take at most in an input buffer.
    fn input_credits(&self, vl: usize) -> u32;

    /// Credits of the buffer of a NIC before its link.
    fn nic_queue_credits(&self) -> u32;

    /// Credits of all buffers in a fabric of `topology`; `ports` are those in use, by switch.
    fn buffer_credits(&self, topology: &Topology, ports: &[Vec<PortId>]) -> BufferCredits;

    /// Ticks, summed over packets, that packets in a switch waited for the link of a port, given the ticks in its queue and
    /// those in input buffers before a grant.
    fn waits_for(&self, queue_wait_ticks: u64, in_input_buffers: u64) -> u64;

    /// The things that packets in its buffers wait for.
    fn waits(&self) -> Waits<'_>;

    /// Whether the fills of input buffers are recorded even without a marker.
    fn records_fills(&self) -> bool {
        false
    }

    /// The text that `fabric info` appends to the number of ports of a switch, which is `radix`.
    fn about_ports(&self, _radix: u32) -> String {
        String::new()
    }

    /// MPort of a port; `None` if the switch has no MPorts.
    fn mport(&self, _port: PortId) -> Option<u32> {
        None
    }
}

/// The things that packets in the buffers of a switch wait for.
#[derive(Debug, Clone, Copy)]
pub enum Waits<'a> {
    /// For room in the next buffer, within the switch and behind the link. The queues of a buffer
    /// may share credits.
    FromBufferToBuffer(&'a hierarchical::Buffers),
    /// In an input buffer, whose VLs share no credits, until the next input buffer has credits. A
    /// packet in an output buffer has these credits, so output buffers always drain.
    FromInputToInput {
        /// Each destination has credits of its own on each VL.
        per_destination: bool,
    },
}

/// Credits of the buffers of a whole fabric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferCredits {
    /// Input buffers of connected ports.
    pub input: u64,
    /// Output buffers of connected ports.
    pub output: u64,
    /// Central buffers.
    pub central: u64,
    /// Send queues and receive buffers of NICs.
    pub nic: u64,
}

/// Which packets a receiving NIC acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// None: unreliable transport.
    None,
    /// The last packet of every message.
    PerMessage,
    /// Every packet.
    PerPacket,
}
