//! The settings of a job for reading its trace.

use flitwise_base::units::Ratio;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The settings of a job for reading its trace. Each format uses the part that concerns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Flops per second of a rank in a TI trace, or of a GPU in a Chakra trace; more than 0.
    pub host_speed: Ratio,
    /// The clock of a DUMPI trace or a recording by which its ranks compute; `None` for the one that it suggests.
    pub compute_time: Option<ComputeTime>,
    /// Calls of a DUMPI or OTF2 trace or a recording that can't be replayed are left out.
    pub skip_unsupported: bool,
    /// A DUMPI or OTF2 trace may be without any communication between its ranks.
    pub allow_no_communication: bool,
    /// The longest time before a poll of a DUMPI or OTF2 trace or a recording that is one of its loop, and no computation, in picoseconds.
    pub poll_gap_ps: u64,
    /// The kernels of each stream of a device in a Chakra trace come one after the other.
    pub order_streams: bool,
    /// Most channels of a collective of a Chakra trace or of logs of NCCL Inspector, at least 1.
    pub channels: u32,
    /// The node of each rank; empty if each rank has a node by itself. Channels differ in the rank of a node that is next to other nodes.
    pub nodes: Arc<[u32]>,
    /// The names of all these settings in messages.
    pub wording: Wording,
}

/// The settings that some formats have no use for. Those that the same formats use are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The eager threshold and the overheads of the sends and receives of calls.
    Calls,
    /// The algorithms of collectives.
    Collectives,
    /// [`Reading::host_speed`].
    HostSpeed,
    /// [`Reading::compute_time`].
    ComputeTime,
    /// The choices that a recorder leaves open: [`Reading::poll_gap_ps`], [`Reading::skip_unsupported`] and
    /// [`Reading::allow_no_communication`].
    Recorder,
    /// [`Reading::order_streams`].
    OrderStreams,
    /// [`Reading::channels`].
    Channels,
}

/// The names of the parts of a [`Reading`] in messages: a cure has to name what the user can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// Keys of a job.
    #[default]
    Keys,
    /// Options of a command.
    Options,
}

impl Wording {
    pub(super) fn host_speed(self) -> &'static str {
        match self {
            Self::Keys => "host_speed",
            Self::Options => "--host-speed",
        }
    }

    pub(super) fn compute_time(self) -> &'static str {
        match self {
            Self::Keys => "compute_time",
            Self::Options => "--compute-time",
        }
    }

    pub(super) fn skip_unsupported(self) -> &'static str {
        match self {
            Self::Keys => "skip_unsupported = true",
            Self::Options => "--skip-unsupported",
        }
    }

    pub(super) fn order_streams(self) -> &'static str {
        match self {
            Self::Keys => "order_streams = true",
            Self::Options => "--order-streams",
        }
    }

    pub(super) fn allow_no_communication(self) -> &'static str {
        match self {
            Self::Keys => "allow_no_communication = true",
            Self::Options => "--allow-no-communication",
        }
    }
}

/// The clock by which a trace measures the computations of its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComputeTime {
    /// The wall clock.
    Wall,
    /// The processor time of a rank, which stops while other processes have its processor.
    Cpu,
}

impl ComputeTime {
    /// Its name in experiments.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
        }
    }
}

/// The speed by which SimGrid's recorder counts flops by default (`smpi/host-speed`), in flops per second: with
/// it a computation takes as long as it was recorded.
pub const HOST_SPEED: Ratio = Ratio::whole(20_000);

/// Recorders take 1 to 2 us for a call: a loop that only polls takes no longer for a turn.
pub const POLL_GAP_PS: u64 = 4_000_000;

impl Default for Reading {
    fn default() -> Self {
        Self {
            host_speed: HOST_SPEED,
            compute_time: None,
            skip_unsupported: false,
            allow_no_communication: false,
            poll_gap_ps: POLL_GAP_PS,
            order_streams: false,
            channels: 1,
            nodes: Arc::default(),
            wording: Wording::default(),
        }
    }
}
