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
mod double_tree;
mod gather;
mod group;
mod halving;
pub mod in_network;
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
use in_network::{Flow, Only, Tree};
use std::sync::Arc;
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
    /// Whether the switches carry it out.
    fn is_in_network(self) -> bool {
        matches!(
            self,
            Self::Bcast(Bcast::InNetwork)
                | Self::Reduce(Reduce::InNetwork)
                | Self::Allreduce(Allreduce::InNetwork)
                | Self::Barrier(Barrier::InNetwork)
        )
    }

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
    /// An operation in the network, and no tree for it.
    #[error(
        "\"in-network\" needs aggregation nodes in the switches of a fabric; take another algorithm"
    )]
    Tree,
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
    /// The tree of an operation in the network.
    tree: Option<Arc<Tree>>,
}

impl Plan {
    /// Plans `kind` among `members` members. `choices` gives the algorithm, or else the
    /// table in [`decide`](mod@decide).
    ///
    /// # Errors
    /// If the root or the sizes do not fit the communicator, or the algorithm is one of the network.
    pub fn new(
        kind: &CollectiveKind,
        members: usize,
        choices: &Choices,
    ) -> Result<Self, PlanError> {
        Self::with_tree(kind, members, choices, None)
    }

    /// As [`Plan::new`]; an operation in the network takes `tree`, which is of the members.
    ///
    /// # Errors
    /// If the root or the sizes do not fit the communicator, or there is no tree where one is needed.
    pub fn with_tree(
        kind: &CollectiveKind,
        members: usize,
        choices: &Choices,
        tree: Option<&Arc<Tree>>,
    ) -> Result<Self, PlanError> {
        let n = u32::try_from(members).map_err(|_| PlanError::Members(members))?;
        if n == 0 {
            return Err(PlanError::Members(members));
        }
        let (root, algorithm, blocks, rounds) = Self::shape(kind, n, choices)?;
        if root >= n {
            return Err(PlanError::Root { root, n });
        }
        let mut group = Group::new(n, root);
        if algorithm == Algorithm::Allreduce(Allreduce::Hierarchical) {
            group = choices.parts(group);
        }
        let plan = Self::of(algorithm, group, blocks, rounds);
        if algorithm.is_in_network() {
            plan.through(tree.ok_or(PlanError::Tree)?)
        } else {
            Ok(plan)
        }
    }

    /// The same through the switches of `tree`.
    fn through(mut self, tree: &Arc<Tree>) -> Result<Self, PlanError> {
        let Blocks::Even { total, .. } = self.blocks else {
            return Err(PlanError::Tree);
        };
        // Ranks may disagree about who is in a communicator.
        if tree.members() != self.group.n {
            return Err(PlanError::Blocks {
                blocks: tree.members() as usize,
                n: self.group.n,
            });
        }
        // A barrier is one segment without data.
        let barrier = matches!(self.algorithm, Algorithm::Barrier(_));
        let (parts, rounds) = tree.shape(if barrier { 1 } else { total });
        self.blocks = Blocks::Even { total, parts };
        self.rounds = if self.group.n == 1 || total == 0 && !barrier {
            0
        } else {
            rounds
        };
        self.tree = Some(Arc::clone(tree));
        Ok(self)
    }

    /// The tree of an operation in the network.
    pub(crate) fn tree(&self) -> Option<&Arc<Tree>> {
        self.tree.as_ref()
    }

    /// The root, algorithm, blocks and number of rounds of `kind` among `n` members.
    fn shape(
        kind: &CollectiveKind,
        n: u32,
        choices: &Choices,
    ) -> Result<(u32, Algorithm, Blocks, u32), PlanError> {
        let even = |total: u64, (parts, rounds)| Ok((Blocks::Even { total, parts }, rounds));
        let listed = |sizes: &[u64], rounds| {
            fits(sizes.len(), n)?;
            Ok((Blocks::listed(sizes).ok_or(PlanError::Size)?, rounds))
        };
        let (root, algorithm, shape) = match kind {
            CollectiveKind::Bcast { root, bytes } => {
                let a = choices.of_bcast(*bytes, n);
                let shape = bcast::shape(a, n, *bytes, choices.segment());
                (*root, Algorithm::Bcast(a), even(*bytes, shape))
            }
            CollectiveKind::Reduce { root, bytes } => {
                let a = choices.of_reduce(*bytes, n);
                let shape = even(*bytes, reduce::shape(a, n));
                (*root, Algorithm::Reduce(a), shape)
            }
            CollectiveKind::Allreduce { bytes } => {
                let a = choices.of_allreduce(*bytes, n);
                let shape = even(*bytes, allreduce::shape(a, n, *bytes, choices));
                (0, Algorithm::Allreduce(a), shape)
            }
            CollectiveKind::Gather { root, blocks } => {
                let a = choices.gather.unwrap_or_else(|| decide::rooted(blocks));
                let shape = listed(blocks, gather::rounds(a, n));
                (*root, Algorithm::Gather(a), shape)
            }
            CollectiveKind::Scatter { root, blocks } => {
                let a = choices.scatter.unwrap_or_else(|| decide::rooted(blocks));
                (*root, Algorithm::Scatter(a), listed(blocks, 1))
            }
            CollectiveKind::Allgather { blocks } => {
                let a = choices.of_allgather(blocks, n);
                let shape = listed(blocks, allgather::rounds(a, n));
                (0, Algorithm::Allgather(a), shape)
            }
            CollectiveKind::Alltoall { blocks } => {
                let a = choices.of_alltoall(blocks, n);
                fits(blocks.len(), n)?;
                let pairs = Blocks::pairs(blocks).ok_or(PlanError::Size);
                let shape = pairs.map(|pairs| (pairs, alltoall::rounds(a, n)));
                (0, Algorithm::Alltoall(a), shape)
            }
            CollectiveKind::Barrier => {
                let a = choices.barrier.unwrap_or(Barrier::Dissemination);
                let shape = even(0, (1, barrier::rounds(a, n)));
                (0, Algorithm::Barrier(a), shape)
            }
            CollectiveKind::ReduceScatter { blocks } => {
                let a = choices.of_reduce_scatter(blocks);
                let rounds = reduce_scatter::rounds(a, n);
                (0, Algorithm::ReduceScatter(a), listed(blocks, rounds))
            }
            CollectiveKind::Scan { bytes } => {
                let a = choices.scan.unwrap_or(Scan::RecursiveDoubling);
                (0, Algorithm::Scan(a), even(*bytes, (1, scan::rounds(n))))
            }
            CollectiveKind::Exscan { bytes } => {
                let a = choices.exscan.unwrap_or(Scan::RecursiveDoubling);
                (0, Algorithm::Exscan(a), even(*bytes, (1, scan::rounds(n))))
            }
        };
        let (blocks, rounds) = shape?;
        Ok((root, algorithm, blocks, rounds))
    }

    /// The plan of an operation whose root and sizes fit.
    fn of(algorithm: Algorithm, group: Group, blocks: Blocks, rounds: u32) -> Self {
        Self {
            algorithm,
            group,
            blocks,
            rounds: if group.n == 1 { 0 } else { rounds },
            tree: None,
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
        if let (Some(tree), Blocks::Even { parts, .. }) = (&self.tree, &self.blocks) {
            return tree.rounds(me, self.rounds, *parts);
        }
        match self.algorithm {
            Algorithm::Gather(Rooted::Linear) if me != self.group.root => 1,
            _ => self.rounds,
        }
    }

    /// Writes the steps of member `me` in round `k` to `sink`.
    pub fn round(&self, me: u32, k: u32, sink: &mut dyn Sink) {
        let group = &self.group;
        let round = &mut Round::new(sink, &self.blocks);
        if let Some(tree) = &self.tree {
            return tree.round(self.flow(), me, k, round);
        }
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

impl Plan {
    /// Whose data travel through the switches.
    fn flow(&self) -> Flow {
        let root = self.group.root;
        let (from, to) = match self.algorithm {
            Algorithm::Bcast(_) => (Only::Member(root), Only::AllBut(root)),
            Algorithm::Reduce(_) => (Only::All, Only::Member(root)),
            Algorithm::Barrier(_) => (Only::None, Only::None),
            _ => (Only::All, Only::All),
        };
        Flow { from, to }
    }
}

/// Checks that there is a size for each of `n` members.
fn fits(blocks: usize, n: u32) -> Result<(), PlanError> {
    if blocks == n as usize {
        Ok(())
    } else {
        Err(PlanError::Blocks { blocks, n })
    }
}
