//! The trace to generate.

use super::grid::Grid;
use flitwise_base::units::Ratio;
use std::io;

/// The trace to generate.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The kernel.
    pub kernel: Kernel,
    /// Ranks, at least 2 and at most [`MAX_TASKS`](flitwise_formats::limits::MAX_TASKS).
    pub ranks: u32,
    /// Size of a message in bytes; each kernel defines which one.
    pub size: u64,
    /// Iterations, at least 1.
    pub iterations: u64,
    /// Computation of a rank per iteration, in nanoseconds.
    pub compute_ns: u64,
    /// Every rank computes between 1 − x and 1 + x times as long, with one factor for all
    /// iterations; 0 to 1.
    pub imbalance: Ratio,
    /// Seed of all draws.
    pub seed: u64,
}

/// A communication pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kernel {
    /// Every rank sends to the next rank and waits for the previous one.
    Ring,
    /// Every rank exchanges with its neighbours in a grid.
    Halo {
        /// Ranks along each dimension.
        grid: Grid,
        /// The grid has borders; else it wraps around.
        open: bool,
    },
    /// Every rank sends to every other rank.
    AllToAll(Form),
    /// Transposes within the rows, then within the columns of a grid of two dimensions.
    Fft {
        /// Rows and columns.
        grid: Grid,
        /// The communication of a transpose.
        form: Form,
    },
    /// Rank 0 sends tasks to free workers.
    MasterWorker,
    /// Panels travel along the rows of a grid, row blocks along its columns; both shrink.
    Hpl {
        /// Rows and columns.
        grid: Grid,
    },
    /// Every rank sends to random others.
    RandomAccess {
        /// Messages of a rank per iteration, at least 1.
        messages: u32,
    },
    /// Every rank exchanges with both neighbours in a ring of random order.
    RandomRing {
        /// Rings that are drawn, at least 1; the iterations are divided among them.
        rings: u64,
        /// Messages to each neighbour per iteration, at least 1.
        window: u32,
        /// A barrier ends each iteration.
        sync: bool,
    },
    /// All ranks of a group reduce, as the operation of the trace format.
    Allreduce {
        /// Groups of equal size, at least 1.
        groups: u32,
    },
    /// All ranks reduce inside nodes, then among them.
    Hierarchical {
        /// Consecutive ranks of a node, at least 2.
        node: u32,
        /// Every rank of a node reduces a part of the data with its counterparts; else the first one all of it.
        by_rank: bool,
    },
    /// Every other rank sends to rank 0, which answers each message.
    Incast {
        /// Messages of a rank without an answer, at least 1.
        window: u32,
    },
    /// Every other rank sends to rank 0, which does nothing.
    PutIncast,
    /// Every other rank asks rank 0 for data.
    GetBcast {
        /// Requests of a rank without data, at least 1.
        window: u32,
    },
    /// Ranks of the lower half and their partners in the upper half send a message to and fro.
    PingPong,
    /// Ranks of the lower half send to their partners in the upper half, which answer.
    Bandwidth {
        /// Messages that one answer follows, at least 1.
        window: u32,
    },
}

impl Kernel {
    /// True of the patterns of benchmarks, whose ranks usually do not compute.
    #[must_use]
    pub fn is_benchmark(&self) -> bool {
        matches!(
            self,
            Self::RandomRing { .. }
                | Self::Allreduce { .. }
                | Self::Hierarchical { .. }
                | Self::Incast { .. }
                | Self::PutIncast
                | Self::GetBcast { .. }
                | Self::PingPong
                | Self::Bandwidth { .. }
        )
    }
}

/// The communication by which all ranks of a group exchange data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As point-to-point messages.
    Messages,
    /// As the operation of the trace format; the replay chooses the algorithm.
    Collective,
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No trace can fulfil the specification.
    #[error("{0}")]
    Spec(String),
    /// The output can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}
