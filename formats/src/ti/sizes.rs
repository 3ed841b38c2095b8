//! The sizes of a collective on which ranks must agree.

use super::action::{Collective, Elements};
use super::datatype::Datatype;

/// The size of a collective, as one rank or several ranks have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The bytes that each rank has to give: of blocks that all know, their sum.
    Same(u64),
    /// The bytes that are sent to others, less those that are received of them; 0 when all ranks are counted.
    Balance(i64),
    /// It is not in the trace.
    Unknown,
}

impl Size {
    /// As rank `me` has it. A block is counted as a replay counts it.
    pub fn of(call: &Collective, me: u32) -> Self {
        let same = |bytes: Option<u64>| bytes.map_or(Self::Unknown, Self::Same);
        match call {
            Collective::Barrier => Self::Same(0),
            Collective::Bcast { elements, .. }
            | Collective::Reduce { elements, .. }
            | Collective::Allreduce { elements, .. }
            | Collective::Scan { elements, .. }
            | Collective::Exscan { elements, .. } => same(bytes(*elements)),
            Collective::Alltoall { send, recv } | Collective::Allgather { send, recv } => {
                same(block(true, *recv, *send))
            }
            Collective::Gather { send, recv, root } => same(block(me == *root, *recv, *send)),
            Collective::Scatter { send, recv, root } => same(block(me == *root, *send, *recv)),
            Collective::Allgatherv {
                recv, recv_type, ..
            } => same(sum(recv, *recv_type)),
            Collective::ReduceScatter { recv, datatype, .. } => same(sum(recv, *datatype)),
            _ => balance(call, me).map_or(Self::Unknown, Self::Balance),
        }
    }

    /// Adds the size of another rank. If both must be the same and are not, they are returned.
    pub fn add(&mut self, other: Self) -> Option<(u64, u64)> {
        *self = match (*self, other) {
            (Self::Same(ours), Self::Same(theirs)) if ours != theirs => {
                return Some((ours, theirs));
            }
            // What one rank does not know says nothing of the others.
            (Self::Same(_), _) => return None,
            (Self::Balance(sum), Self::Balance(more)) => {
                sum.checked_add(more).map_or(Self::Unknown, Self::Balance)
            }
            _ => Self::Unknown,
        };
        None
    }
}

fn bytes(elements: Elements) -> Option<u64> {
    let size = elements.datatype.size()?;
    elements.count.checked_mul(size)
}

/// The size of one block. The root may have passed `MPI_IN_PLACE` for `other`, its own block, so that `all` counts, unless
/// a recorder left that out.
fn block(root: bool, all: Elements, other: Elements) -> Option<u64> {
    match (root, bytes(all)) {
        (true, Some(0)) | (false, _) => bytes(other),
        (true, all) => all,
    }
}

/// The bytes of a list of counts.
fn sum(counts: &[u64], datatype: Datatype) -> Option<u64> {
    let size = datatype.size()?;
    let counts = counts.iter().try_fold(0, |sum: u64, &n| sum.checked_add(n));
    counts?.checked_mul(size)
}

/// The same of a list for all ranks without the entry of `me`, which stays where it is.
fn sum_of_others(counts: &[u64], datatype: Datatype, me: u32) -> Option<u64> {
    let own = datatype.size()?.checked_mul(*counts.get(me as usize)?)?;
    sum(counts, datatype)?.checked_sub(own)
}

fn balance(call: &Collective, me: u32) -> Option<i64> {
    let (sent, received) = match call {
        Collective::Gatherv {
            recv,
            recv_type,
            root,
            ..
        } if me == *root => (0, sum_of_others(recv, *recv_type, me)?),
        Collective::Gatherv { send, .. } => (bytes(*send)?, 0),
        Collective::Scatterv {
            send,
            send_type,
            root,
            ..
        } if me == *root => (sum_of_others(send, *send_type, me)?, 0),
        Collective::Scatterv { recv, .. } => (0, bytes(*recv)?),
        Collective::Alltoallv(a) => (
            sum_of_others(&a.send, a.send_type, me)?,
            sum_of_others(&a.recv, a.recv_type, me)?,
        ),
        _ => return None,
    };
    i64::try_from(sent)
        .ok()?
        .checked_sub(i64::try_from(received).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_same_or_balance() {
        let mut same = Size::Same(4);
        assert_eq!(same.add(Size::Same(4)), None);
        assert_eq!(same.add(Size::Unknown), None);
        assert_eq!(same.add(Size::Same(5)), Some((4, 5)));
        let mut balance = Size::Balance(7);
        assert_eq!(balance.add(Size::Balance(-3)), None);
        assert_eq!(balance, Size::Balance(4));
        balance.add(Size::Unknown);
        balance.add(Size::Balance(1));
        assert_eq!(balance, Size::Unknown);
    }
}
