//! Plans of one member, from what it knows by itself.

use super::blocks::Blocks;
use super::decide::{Alltoall, Choices, Rooted};
use super::group::Group;
use super::in_network::Tree;
use super::{Algorithm, Plan, PlanError, alltoall, fits, gather};
use crate::program::{Contribution, RootedBlocks};
use std::sync::Arc;

impl Plan {
    /// The plan of member `me` of `members`, from its own `contribution`. Where not all members
    /// know all sizes, the algorithm is `linear`; an all-to-all may be chosen to be `pairwise`.
    ///
    /// # Errors
    /// If the member, the root or the sizes do not fit the communicator, or if another member than
    /// the root knows all sizes.
    pub fn of_member(
        contribution: &Contribution,
        me: u32,
        members: usize,
        choices: &Choices,
    ) -> Result<Self, PlanError> {
        Self::of_member_with_tree(contribution, me, members, choices, None)
    }

    /// As [`Plan::of_member`]; an operation in the network takes `tree`, which is of the members.
    ///
    /// # Errors
    /// As [`Plan::of_member`], or if there is no tree where one is needed.
    pub fn of_member_with_tree(
        contribution: &Contribution,
        me: u32,
        members: usize,
        choices: &Choices,
        tree: Option<&Arc<Tree>>,
    ) -> Result<Self, PlanError> {
        let n = u32::try_from(members).map_err(|_| PlanError::Members(members))?;
        if me >= n {
            return Err(PlanError::Member { me, n });
        }
        let group = Group::new(n, 0);
        match contribution {
            Contribution::Known(kind) => Self::with_tree(kind, members, choices, tree),
            Contribution::Gatherv { root, blocks } => {
                let (group, blocks) = rooted(*root, blocks, me, n)?;
                let rounds = gather::rounds(Rooted::Linear, n);
                let algorithm = Algorithm::Gather(Rooted::Linear);
                Ok(Self::of(algorithm, group, blocks, rounds))
            }
            Contribution::Scatterv { root, blocks } => {
                let (group, blocks) = rooted(*root, blocks, me, n)?;
                let algorithm = Algorithm::Scatter(Rooted::Linear);
                Ok(Self::of(algorithm, group, blocks, 1))
            }
            Contribution::Alltoallv { send, receive } => {
                for sizes in [send, receive] {
                    fits(sizes.len(), n)?;
                }
                let algorithm = match choices.alltoall {
                    Some(Alltoall::Pairwise) => Alltoall::Pairwise,
                    Some(Alltoall::Linear | Alltoall::Bruck) | None => Alltoall::Linear,
                };
                let blocks = Blocks::Cross {
                    me,
                    send: send.clone(),
                    receive: receive.clone(),
                };
                let rounds = alltoall::rounds(algorithm, n);
                Ok(Self::of(
                    Algorithm::Alltoall(algorithm),
                    group,
                    blocks,
                    rounds,
                ))
            }
        }
    }
}

/// The blocks that member `me` handles, if it is the root or not as it says.
fn rooted(root: u32, blocks: &RootedBlocks, me: u32, n: u32) -> Result<(Group, Blocks), PlanError> {
    if root >= n {
        return Err(PlanError::Root { root, n });
    }
    let blocks = match blocks {
        RootedBlocks::All(sizes) if me == root => {
            fits(sizes.len(), n)?;
            Blocks::listed(sizes).ok_or(PlanError::Size)?
        }
        RootedBlocks::Own(bytes) if me != root => Blocks::Own(*bytes),
        RootedBlocks::All(_) | RootedBlocks::Own(_) => return Err(PlanError::Known { me, root }),
    };
    Ok((Group::new(n, root), blocks))
}
