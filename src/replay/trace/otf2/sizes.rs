//! The sizes of collectives, which an archive has as sums over all members.
//!
//! All members have to take the same steps, so they have to agree on the sizes: they are derived from the sums of all of them,
//! before the replay begins.

use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use flitwise_formats::limits::MAX_OTF2_SIZES;
use flitwise_formats::otf2::{Collective, Operation};

/// A collective as all its members together describe it.
#[derive(Debug, Clone, Copy)]
struct Instance {
    operation: Operation,
    /// The size of a block or a vector; of blocks that differ, the largest sum that a member has of all.
    size: u64,
    /// Where the sums of the members begin, if their blocks differ.
    at: usize,
}

/// The collectives of a communicator, in the order of its members' calls.
#[derive(Debug, Default, Clone)]
pub(super) struct Sizes {
    instances: Vec<Instance>,
    /// Sums of members.
    sums: Vec<u64>,
}

/// A member of a communicator: its place, and the number of members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub me: u32,
    pub n: u32,
    pub root: u32,
}

impl Member {
    fn is_root(self) -> bool {
        self.me == self.root
    }

    /// A part of a sum over all members, or over all others if the collective was in place.
    fn part(self, sum: u64) -> u64 {
        let n = u64::from(self.n.max(1));
        let others = (n - 1).max(1);
        if sum.is_multiple_of(n) || !sum.is_multiple_of(others) {
            sum.div_ceil(n)
        } else {
            sum / others
        }
    }
}

/// Sums that are kept of each member.
fn kept(operation: Operation) -> usize {
    match operation {
        Operation::Gatherv
        | Operation::Scatterv
        | Operation::Allgatherv
        | Operation::ReduceScatter => 1,
        Operation::Alltoallv | Operation::Alltoallw => 2,
        _ => 0,
    }
}

impl Sizes {
    /// Number of sums that are kept.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Notes what a member says of collective `number`; false if there are more sums than are kept.
    pub fn note(
        &mut self,
        number: usize,
        member: Member,
        operation: Operation,
        call: &Collective,
    ) -> bool {
        if number >= self.instances.len() {
            let at = self.sums.len();
            let more = kept(operation) * member.n as usize;
            if at + more > MAX_OTF2_SIZES {
                return false;
            }
            self.sums.resize(at + more, 0);
            let size = 0;
            self.instances.push(Instance {
                operation,
                size,
                at,
            });
        }
        let Some(instance) = self.instances.get_mut(number) else {
            return true;
        };
        // The members call different ones: the comparison of the ranks says so.
        if instance.operation != operation {
            return true;
        }
        instance.size = instance.size.max(size(member, operation, call));
        let mut keep = |column: usize, sum| {
            let at = instance.at + column * member.n as usize + member.me as usize;
            if let Some(place) = self.sums.get_mut(at) {
                *place = sum;
            }
        };
        match operation {
            Operation::Gatherv if !member.is_root() => keep(0, call.sent),
            Operation::Scatterv if !member.is_root() => keep(0, call.received),
            Operation::Allgatherv => keep(0, call.sent),
            Operation::ReduceScatter => keep(0, call.received),
            Operation::Alltoallv | Operation::Alltoallw => {
                keep(0, call.sent);
                keep(1, call.received);
            }
            _ => {}
        }
        true
    }

    /// The contribution of a member to collective `number`.
    pub fn contribution(
        &self,
        number: usize,
        member: Member,
        operation: Operation,
        call: &Collective,
    ) -> Contribution {
        let known = self.instances.get(number);
        let known = known.filter(|known| known.operation == operation);
        let size = known.map_or_else(|| size(member, operation, call), |known| known.size);
        let n = member.n as usize;
        let sums = |column: usize| {
            let at = known.map_or(usize::MAX, |known| known.at);
            let start = at.saturating_add(column * n);
            let sums = self.sums.get(start..start.saturating_add(n));
            sums.unwrap_or_default()
        };
        let root = member.root;
        match operation {
            Operation::Gatherv => Contribution::Gatherv {
                root,
                blocks: rooted(member, size, sums(0)),
            },
            Operation::Scatterv => Contribution::Scatterv {
                root,
                blocks: rooted(member, size, sums(0)),
            },
            Operation::Alltoallv | Operation::Alltoallw => spread(member, sums(0), sums(1)),
            Operation::Allgatherv => Contribution::Known(CollectiveKind::Allgather {
                blocks: gathered(size, sums(0)),
            }),
            Operation::ReduceScatter => {
                let part = |&sum: &u64| sum / n.max(1) as u64;
                let blocks = sums(0).iter().map(part).collect();
                Contribution::Known(CollectiveKind::ReduceScatter { blocks })
            }
            _ => Contribution::Known(equal(operation, member, size)),
        }
    }
}

/// A collective all of whose blocks have one size.
fn equal(operation: Operation, member: Member, bytes: u64) -> CollectiveKind {
    let (root, n) = (member.root, member.n as usize);
    let blocks = || vec![bytes; n];
    match operation {
        Operation::Bcast => CollectiveKind::Bcast { root, bytes },
        Operation::Reduce => CollectiveKind::Reduce { root, bytes },
        Operation::Allreduce => CollectiveKind::Allreduce { bytes },
        Operation::Scan => CollectiveKind::Scan { bytes },
        Operation::Exscan => CollectiveKind::Exscan { bytes },
        Operation::Gather => CollectiveKind::Gather {
            root,
            blocks: blocks(),
        },
        Operation::Scatter => CollectiveKind::Scatter {
            root,
            blocks: blocks(),
        },
        Operation::Allgather => CollectiveKind::Allgather { blocks: blocks() },
        Operation::ReduceScatterBlock => CollectiveKind::ReduceScatter { blocks: blocks() },
        Operation::Alltoall => CollectiveKind::Alltoall {
            blocks: vec![AlltoallBlocks::Each(bytes); n],
        },
        _ => CollectiveKind::Barrier,
    }
}

/// The size that a member derives from its sums alone, as Score-P counts them; 0 where it can't.
fn size(member: Member, operation: Operation, call: &Collective) -> u64 {
    let Collective { sent, received, .. } = *call;
    let me = u64::from(member.me);
    match operation {
        // The root sends the message to each member, and all receive it.
        Operation::Bcast if received > 0 => received,
        Operation::Bcast => member.part(sent),
        Operation::Reduce if sent > 0 || member.n > 1 => sent,
        Operation::Reduce => received,
        Operation::Gather if !member.is_root() => sent,
        Operation::Scatter if !member.is_root() => received,
        // The root counts only if there is no other member.
        Operation::Gather | Operation::Scatter if member.n > 1 => 0,
        Operation::Gather | Operation::Scatter => sent.max(received),
        Operation::Allreduce
        | Operation::Allgather
        | Operation::Alltoall
        | Operation::ReduceScatterBlock => member.part(sent.max(received)),
        // Member i receives the vectors of members 0 to i.
        Operation::Scan => received / (me + 1),
        Operation::Exscan if me > 0 => received / me,
        Operation::Exscan => sent / u64::from(member.n.saturating_sub(1).max(1)),
        // The sum of all blocks.
        Operation::Gatherv if member.is_root() => received,
        Operation::Scatterv if member.is_root() => sent,
        Operation::Allgatherv => received,
        _ => 0,
    }
}

/// The sizes that a member knows of a gatherv or a scatterv whose blocks are `total` bytes: the root's own block is what the others
/// leave.
fn rooted(member: Member, total: u64, others: &[u64]) -> RootedBlocks {
    let at = |place: u32| others.get(place as usize).copied().unwrap_or(0);
    if !member.is_root() {
        return RootedBlocks::Own(at(member.me));
    }
    let sum = others
        .iter()
        .fold(0, |sum: u64, &block| sum.saturating_add(block));
    let mut blocks = others.to_vec();
    if let Some(own) = blocks.get_mut(member.root as usize) {
        *own = total.saturating_sub(sum);
    }
    RootedBlocks::All(blocks.into())
}

/// The blocks of an allgatherv: each member counts its block once for every member, or for every other one in place.
fn gathered(total: u64, sent: &[u64]) -> Vec<u64> {
    let n = sent.len().max(1) as u64;
    let all = sent
        .iter()
        .fold(0, |sum: u64, &block| sum.saturating_add(block));
    let in_place = all != total.saturating_mul(n);
    let times = if in_place { (n - 1).max(1) } else { n };
    sent.iter().map(|&sum| sum / times).collect()
}

/// The blocks of an all-to-all of which only the sums of each member are known: each is in proportion to what its sender sends in
/// all and its receiver receives in all.
fn spread(member: Member, sent: &[u64], received: &[u64]) -> Contribution {
    let sum = |all: &[u64]| all.iter().fold(0, |sum: u64, &one| sum.saturating_add(one));
    let total = u128::from(sum(sent).max(sum(received)).max(1));
    let block = |sent: u64, received: u64| {
        let block = u128::from(sent) * u128::from(received) / total;
        u64::try_from(block).unwrap_or(u64::MAX)
    };
    let own = |all: &[u64]| all.get(member.me as usize).copied().unwrap_or(0);
    Contribution::Alltoallv {
        send: received.iter().map(|&to| block(own(sent), to)).collect(),
        receive: sent
            .iter()
            .map(|&from| block(from, own(received)))
            .collect(),
    }
}

/// The contribution to a collective between two groups, in which every member sends straight to all of the other side; `None` if
/// it has a root, or parts that the other side does not send.
pub(super) fn between(
    operation: Operation,
    call: &Collective,
    own: usize,
    others: usize,
    others_are_first: bool,
) -> Option<Contribution> {
    match operation {
        Operation::Barrier => return Some(Contribution::Known(CollectiveKind::Barrier)),
        Operation::Allreduce | Operation::Allgather | Operation::Alltoall => {}
        _ => return None,
    }
    let to_them = |sum: u64| -> Box<[u64]> {
        let each = sum / others.max(1) as u64;
        let (us, them) = (vec![0; own], vec![each; others]);
        if others_are_first {
            [them, us].concat().into()
        } else {
            [us, them].concat().into()
        }
    };
    Some(Contribution::Alltoallv {
        send: to_them(call.sent),
        receive: to_them(call.received),
    })
}
