//! Collective operations as point-to-point messages.
//!
//! A [`Plan`] is a pure function: it gives, for every member and round, the steps
//! to carry out. It stores nothing per member, so that a plan for thousands of
//! members takes no more memory than its block sizes. One file per operation.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod blocks;
mod contribution;
pub mod decide;
mod gather;
mod group;
mod halving;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod step;

pub use decide::Choices;
pub use step::{Part, Sink, Step};

use super::program::CollectiveKind;
use blocks::Blocks;
use decide::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, ReduceScatter, Rooted, Scan};
use group::Group;
use step::Round;
use thiserror::Error;

/// An operation and the algorithm it is carried out with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Broadcast.
    Bcast(Bcast),
    /// Reduction to a root.
    Reduce(Reduce),
    /// Reduction to all.
    Allreduce(Allreduce),
    /// Gather.
    Gather(Rooted),
    /// Scatter.
    Scatter(Rooted),
    /// Gather to all.
    Allgather(Allgather),
    /// All-to-all.
    Alltoall(Alltoall),
    /// Barrier.
    Barrier(Barrier),
    /// Reduction whose result is scattered.
    ReduceScatter(ReduceScatter),
    /// Prefix reduction.
    Scan(Scan),
    /// Prefix reduction without the own contribution.
    Exscan(Scan),
}

impl Algorithm {
    /// The name of the operation in outputs, equal to its key in an experiment.
    #[must_use]
    pub fn operation(self) -> &'static str {
        match self {
            Self::Bcast(_) => "bcast",
            Self::Reduce(_) => "reduce",
            Self::Allreduce(_) => "allreduce",
            Self::Gather(_) => "gather",
            Self::Scatter(_) => "scatter",
            Self::Allgather(_) => "allgather",
            Self::Alltoall(_) => "alltoall",
            Self::Barrier(_) => "barrier",
            Self::ReduceScatter(_) => "reduce_scatter",
            Self::Scan(_) => "scan",
            Self::Exscan(_) => "exscan",
        }
    }
}

/// A collective that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A communicator without members, or with too many.
    #[error("a communicator of {0} members; it must have 1 to {most}", most = u32::MAX)]
    Members(usize),
    /// The root is not a member.
    #[error("the root is member {root}, but the communicator has only {n}")]
    Root {
        /// Position of the root.
        root: u32,
        /// Members.
        n: u32,
    },
    /// Not one size per member.
    #[error("{blocks} sizes for {n} members")]
    Blocks {
        /// Sizes given.
        blocks: usize,
        /// Members.
        n: u32,
    },
    /// There is no such member.
    #[error("member {me} of a communicator of {n}")]
    Member {
        /// The member.
        me: u32,
        /// Members.
        n: u32,
    },
    /// The root brings its own size only, or another member all of them.
    #[error("member {me} must bring {} with root {root}", if me == root { "all sizes" } else { "its own size" })]
    Known {
        /// The member.
        me: u32,
        /// Position of the root.
        root: u32,
    },
    /// The sizes do not add up in 64 bits.
    #[error("the sizes add up to 2^64 bytes or more")]
    Size,
}

/// One collective operation, ready to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    algorithm: Algorithm,
    group: Group,
    blocks: Blocks,
    rounds: u32,
}

impl Plan {
    /// Plans `kind` among `members` members. `choices` gives the algorithm, or else the
    /// table in [`decide`].
    ///
    /// # Errors
    /// If the root or the sizes do not fit the communicator.
    pub fn new(
        kind: &CollectiveKind,
        members: usize,
        choices: &Choices,
    ) -> Result<Self, PlanError> {
        let n = u32::try_from(members).map_err(|_| PlanError::Members(members))?;
        if n == 0 {
            return Err(PlanError::Members(members));
        }
        let algorithm = decide::decide(kind, n, choices);
        let even = |total: u64, (parts, rounds)| (Blocks::Even { total, parts }, rounds);
        let listed = |sizes: &[u64], rounds| match sizes.len() {
            len if len == members => Ok((Blocks::listed(sizes).ok_or(PlanError::Size)?, rounds)),
            blocks => Err(PlanError::Blocks { blocks, n }),
        };
        let (root, (blocks, rounds)) = match (algorithm, kind) {
            (Algorithm::Bcast(a), CollectiveKind::Bcast { root, bytes }) => (
                *root,
                even(*bytes, bcast::shape(a, n, *bytes, choices.segment())),
            ),
            (Algorithm::Reduce(a), CollectiveKind::Reduce { root, bytes }) => {
                (*root, even(*bytes, reduce::shape(a, n)))
            }
            (Algorithm::Allreduce(a), CollectiveKind::Allreduce { bytes }) => {
                (0, even(*bytes, allreduce::shape(a, n)))
            }
            (Algorithm::Gather(a), CollectiveKind::Gather { root, blocks }) => {
                (*root, listed(blocks, gather::rounds(a, n))?)
            }
            (Algorithm::Scatter(_), CollectiveKind::Scatter { root, blocks }) => {
                (*root, listed(blocks, 1)?)
            }
            (Algorithm::Allgather(a), CollectiveKind::Allgather { blocks }) => {
                (0, listed(blocks, allgather::rounds(a, n))?)
            }
            (Algorithm::Alltoall(a), CollectiveKind::Alltoall { blocks }) => {
                let given = blocks.len();
                if given != members {
                    return Err(PlanError::Blocks { blocks: given, n });
                }
                let blocks = Blocks::pairs(blocks).ok_or(PlanError::Size)?;
                (0, (blocks, alltoall::rounds(a, n)))
            }
            (Algorithm::Barrier(a), _) => (0, (Blocks::whole(0), barrier::rounds(a, n))),
            (Algorithm::ReduceScatter(a), CollectiveKind::ReduceScatter { blocks }) => {
                (0, listed(blocks, reduce_scatter::rounds(a, n))?)
            }
            (
                Algorithm::Scan(Scan::RecursiveDoubling)
                | Algorithm::Exscan(Scan::RecursiveDoubling),
                CollectiveKind::Scan { bytes } | CollectiveKind::Exscan { bytes },
            ) => (0, even(*bytes, (1, scan::rounds(n)))),
            _ => unreachable!("decide gives an algorithm of the operation"),
        };
        if root >= n {
            return Err(PlanError::Root { root, n });
        }
        Ok(Self::of(algorithm, Group { n, root }, blocks, rounds))
    }

    /// The plan of an operation whose root and sizes fit.
    fn of(algorithm: Algorithm, group: Group, blocks: Blocks, rounds: u32) -> Self {
        Self {
            algorithm,
            group,
            blocks,
            rounds: if group.n == 1 { 0 } else { rounds },
        }
    }

    /// The operation and its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Number of rounds of member `me`; it may have nothing to do in some of them.
    #[must_use]
    pub fn rounds(&self, me: u32) -> u32 {
        match self.algorithm {
            Algorithm::Gather(Rooted::Linear) if me != self.group.root => 1,
            _ => self.rounds,
        }
    }

    /// Writes the steps of member `me` in round `k` to `sink`.
    pub fn round(&self, me: u32, k: u32, sink: &mut dyn Sink) {
        let group = &self.group;
        let round = &mut Round::new(sink, &self.blocks);
        match self.algorithm {
            Algorithm::Bcast(a) => bcast::round(a, group, me, k, round),
            Algorithm::Reduce(a) => reduce::round(a, group, me, k, round),
            Algorithm::Allreduce(a) => allreduce::round(a, group, me, k, round),
            Algorithm::Gather(a) => gather::round(a, group, me, k, round),
            Algorithm::Scatter(a) => scatter::round(a, group, me, round),
            Algorithm::Allgather(a) => allgather::round(a, group, me, k, round),
            Algorithm::Alltoall(a) => alltoall::round(a, group, me, k, round),
            Algorithm::Barrier(a) => barrier::round(a, group, me, k, round),
            Algorithm::ReduceScatter(a) => reduce_scatter::round(a, group, me, k, round),
            Algorithm::Scan(Scan::RecursiveDoubling) => scan::round(true, group, me, k, round),
            Algorithm::Exscan(Scan::RecursiveDoubling) => scan::round(false, group, me, k, round),
        }
    }
}
