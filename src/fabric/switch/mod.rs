//! The kinds of switch, each with the NICs that belong to it. A kind has a folder: its plain data,
//! the checks of these data, the parameters from which they are computed, its presets, and its
//! times at zero load. This file lists the kinds. Its trait [`SwitchKind`] has the questions that
//! the rest of the program asks a kind.

pub mod hierarchical;
pub mod voq;

use self::hierarchical::Hierarchical;
use self::voq::Voq;
use super::ids::{NicId, PortId};
use super::spec::{FabricSpec, Hop, LinkRates, SpecError, Stages, Tick};
use super::stats::LinkStats;
use super::topology::Topology;
use serde::{Deserialize, Serialize};

/// A kind of switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

    /// Checks latencies and speed-ups.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    fn validate_timing(&self, spec: &FabricSpec) -> Result<(), SpecError>;

    /// Checks everything else. Units, timing, service levels and congestion control of `spec`
    /// have been checked.
    ///
    /// # Errors
    /// As [`SwitchKind::validate_timing`].
    fn validate(&self, spec: &FabricSpec) -> Result<(), SpecError>;

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

    /// Credits of all buffers in a fabric of `topology`.
    fn buffer_credits(&self, topology: &Topology) -> BufferCredits;

    /// Ticks, summed over packets, that packets in a switch waited for the link of a port, whose
    /// counts are `link`. In input buffers they waited for `in_input_buffers` ticks before a grant.
    fn waits_for(&self, link: &LinkStats, in_input_buffers: u64) -> u64;

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

    /// A packet with `payload` bytes, alone in the fabric `spec`, on the link from NIC `src`.
    fn at_zero_load(&self, spec: &FabricSpec, src: NicId, payload: u32) -> Box<dyn ZeroLoad + '_>;
}

/// A packet that is alone in the fabric. In tick 0 its header leaves the NIC.
pub trait ZeroLoad {
    /// Takes the packet over `hop` and the link behind it, of `latency` ticks.
    fn pass(&mut self, spec: &FabricSpec, hop: Hop, latency: Tick) -> Passage;

    /// Tick in which the header arrives behind the last link.
    fn header(&self) -> Tick;

    /// Tick in which the tail arrives there.
    fn tail(&self) -> Tick;
}

/// The passage of a packet through a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passage {
    /// Tick in which its header leaves the output buffer.
    pub leaves: Tick,
    /// Number of the central buffer on its way, if there is one.
    pub central: Option<u32>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// None: unreliable transport.
    None,
    /// The last packet of every message.
    PerMessage,
    /// Every packet.
    PerPacket,
}
