//! Collectives of the ranks that remain, and as the calls of a recording.

use super::super::written::even;
use crate::mpi::{CommId, Communicator};
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RankId, RootedBlocks};
use anyhow::bail;
use flitwise_formats::recording::{Collective, Data, How, Numbers, Operation, Part, Peer};
use hashbrown::HashMap;
use std::sync::Arc;

/// The members of a communicator that remain.
pub(super) struct Members {
    /// In the numbers of the slice.
    pub ranks: Arc<[RankId]>,
    /// The places of each in `ranks`.
    places: HashMap<RankId, u32>,
    /// Their places in the whole communicator; `None` if all members remain.
    kept: Option<Box<[u32]>>,
}

impl Members {
    pub fn of(all: &[RankId], numbers: &[Option<u32>]) -> Self {
        let number = |rank: &RankId| numbers.get(rank.index()).copied().flatten();
        let kept = (0..).zip(all).filter(|(_, rank)| number(rank).is_some());
        let kept: Box<[u32]> = kept.map(|(place, _)| place).collect();
        let ranks: Arc<[RankId]> = all.iter().filter_map(number).map(RankId::new).collect();
        Self {
            places: ranks.iter().copied().zip(0..).collect(),
            kept: (kept.len() < all.len()).then_some(kept),
            ranks,
        }
    }

    pub fn communicator(&self, id: CommId) -> Arc<Communicator> {
        let members = Arc::clone(&self.ranks);
        Arc::new(Communicator { id, members })
    }

    /// The place of a rank of the slice.
    pub fn place(&self, rank: RankId) -> Option<u32> {
        self.places.get(&rank).copied()
    }
}

/// The contribution of a member to a collective of the members that remain, of which the root is one.
pub(super) fn restricted(contribution: &Contribution, members: &Members) -> Contribution {
    let Some(kept) = &members.kept else {
        return contribution.clone();
    };
    let place = |root: u32| kept.binary_search(&root).map_or(u32::MAX, |at| at as u32);
    let sizes = |all: &[u64]| -> Vec<u64> {
        let of = kept.iter().filter_map(|&at| all.get(at as usize));
        of.copied().collect()
    };
    let rooted = |blocks: &RootedBlocks| match blocks {
        RootedBlocks::All(all) => RootedBlocks::All(sizes(all).into()),
        RootedBlocks::Own(bytes) => RootedBlocks::Own(*bytes),
    };
    match contribution {
        Contribution::Known(kind) => {
            let mut kind = kind.clone();
            match &mut kind {
                CollectiveKind::Bcast { root, .. } | CollectiveKind::Reduce { root, .. } => {
                    *root = place(*root);
                }
                CollectiveKind::Gather { root, blocks }
                | CollectiveKind::Scatter { root, blocks } => {
                    (*root, *blocks) = (place(*root), sizes(blocks));
                }
                CollectiveKind::Allgather { blocks } | CollectiveKind::ReduceScatter { blocks } => {
                    *blocks = sizes(blocks);
                }
                CollectiveKind::Alltoall { blocks } => {
                    let of = kept.iter().filter_map(|&at| blocks.get(at as usize));
                    *blocks = of.copied().collect();
                }
                _ => {}
            }
            Contribution::Known(kind)
        }
        Contribution::Gatherv { root, blocks } => Contribution::Gatherv {
            root: place(*root),
            blocks: rooted(blocks),
        },
        Contribution::Scatterv { root, blocks } => Contribution::Scatterv {
            root: place(*root),
            blocks: rooted(blocks),
        },
        Contribution::Alltoallv { send, receive } => Contribution::Alltoallv {
            send: sizes(send).into(),
            receive: sizes(receive).into(),
        },
    }
}

/// The parts of a member: sizes of blocks that a call refers to.
#[derive(Default)]
struct Blocks {
    sent: Sizes,
    received: Sizes,
}

/// Sizes in bytes.
#[derive(Default)]
enum Sizes {
    #[default]
    None,
    Even(u64),
    Each(Numbers),
}

impl Sizes {
    fn each(sizes: &[u64]) -> Self {
        let size = |bytes: &u64| i64::try_from(*bytes).unwrap_or(i64::MAX);
        Self::Each(sizes.iter().map(size).collect())
    }

    fn part(&self) -> Part<'_> {
        match self {
            Self::None => Part::None,
            Self::Even(bytes) => Part::Even(Data {
                count: *bytes,
                size: 1,
            }),
            Self::Each(counts) => Part::Counts {
                size: 1,
                counts: counts.sequence(),
            },
        }
    }
}

/// Shows `call` the name of a collective without `MPI_` or `I`, and its call, which the member at place `me` makes on communicator
/// `comm` of its process.
pub(super) fn called(
    contribution: &Contribution,
    (comm, me): (u32, u32),
    how: How,
    call: impl FnOnce(&'static str, &Collective<'_>),
) -> anyhow::Result<()> {
    let (name, operation, blocks) = parts(contribution, me)?;
    let combines = matches!(
        operation,
        Operation::Reduce
            | Operation::Allreduce
            | Operation::Scan
            | Operation::Exscan
            | Operation::ReduceScatter
            | Operation::ReduceScatterBlock
    );
    let collective = Collective {
        operation,
        how,
        comm,
        root: contribution.root().map_or(Peer::Null, Peer::Rank),
        commutes: combines.then_some(true),
        sent: blocks.sent.part(),
        received: blocks.received.part(),
    };
    call(name, &collective);
    Ok(())
}

/// The name, the operation and the parts of a member at place `me`.
type Parts = (&'static str, Operation, Blocks);

fn parts(contribution: &Contribution, me: u32) -> anyhow::Result<Parts> {
    use Operation as Is;
    let own = |blocks: &[u64]| blocks.get(me as usize).copied().unwrap_or(0);
    let (name, operation, sent, received) = match contribution {
        Contribution::Known(kind) => return known(kind, me),
        Contribution::Gatherv { blocks, .. } => {
            let (sent, received) = match blocks {
                RootedBlocks::All(all) => (Sizes::Even(own(all)), Sizes::each(all)),
                RootedBlocks::Own(bytes) => (Sizes::Even(*bytes), Sizes::None),
            };
            ("gatherv", Is::Gatherv, sent, received)
        }
        Contribution::Scatterv { blocks, .. } => {
            let (sent, received) = match blocks {
                RootedBlocks::All(all) => (Sizes::each(all), Sizes::Even(own(all))),
                RootedBlocks::Own(bytes) => (Sizes::None, Sizes::Even(*bytes)),
            };
            ("scatterv", Is::Scatterv, sent, received)
        }
        Contribution::Alltoallv { send, receive } => {
            let (sent, received) = (Sizes::each(send), Sizes::each(receive));
            ("alltoallv", Is::Alltoallv, sent, received)
        }
    };
    Ok((name, operation, Blocks { sent, received }))
}

/// The same of an operation whose sizes all members know.
fn known(kind: &CollectiveKind, me: u32) -> anyhow::Result<Parts> {
    use Operation as Is;
    let own = |blocks: &[u64]| blocks.get(me as usize).copied().unwrap_or(0);
    let both = |bytes: u64| (Sizes::Even(bytes), Sizes::Even(bytes));
    let (name, operation, (sent, received)) = match kind {
        CollectiveKind::Barrier => ("barrier", Is::Barrier, (Sizes::None, Sizes::None)),
        CollectiveKind::Bcast { root, bytes } => {
            let sizes = if *root == me {
                (Sizes::Even(*bytes), Sizes::None)
            } else {
                (Sizes::None, Sizes::Even(*bytes))
            };
            ("bcast", Is::Bcast, sizes)
        }
        CollectiveKind::Reduce { bytes, .. } => ("reduce", Is::Reduce, both(*bytes)),
        CollectiveKind::Allreduce { bytes } => ("allreduce", Is::Allreduce, both(*bytes)),
        CollectiveKind::Scan { bytes } => ("scan", Is::Scan, both(*bytes)),
        CollectiveKind::Exscan { bytes } => ("exscan", Is::Exscan, both(*bytes)),
        CollectiveKind::Gather { blocks, .. } => ("gather", Is::Gather, both(own(blocks))),
        CollectiveKind::Scatter { blocks, .. } => ("scatter", Is::Scatter, both(own(blocks))),
        CollectiveKind::Allgather { blocks } => match even(blocks) {
            Some(bytes) => ("allgather", Is::Allgather, both(bytes)),
            None => {
                let sizes = (Sizes::Even(own(blocks)), Sizes::each(blocks));
                ("allgatherv", Is::Allgatherv, sizes)
            }
        },
        CollectiveKind::ReduceScatter { blocks } => match even(blocks) {
            Some(bytes) => ("reduce_scatter_block", Is::ReduceScatterBlock, both(bytes)),
            None => {
                let sizes = (Sizes::None, Sizes::each(blocks));
                ("reduce_scatter", Is::ReduceScatter, sizes)
            }
        },
        CollectiveKind::Alltoall { blocks } => match blocks.get(me as usize) {
            Some(AlltoallBlocks::Each(bytes)) => ("alltoall", Is::Alltoall, both(*bytes)),
            _ => bail!("an all-to-all of which only the sum is known has no call in a recording"),
        },
    };
    Ok((name, operation, Blocks { sent, received }))
}
