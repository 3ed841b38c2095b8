//! Reduction to all. Blocks are parts of the vector.

use super::decide::Allreduce;
use super::group::{Fold, Group, Role};
use super::step::Round;
use super::{allgather, halving};

/// Parts that the vector is cut into, and rounds.
pub(super) fn shape(algorithm: Allreduce, n: u32) -> (u64, u32) {
    let fold = Fold::new(n);
    match algorithm {
        Allreduce::RecursiveDoubling => (1, fold.bits() + 2),
        Allreduce::Ring => (n.into(), (n - 1).saturating_mul(2)),
        Allreduce::Rabenseifner => (fold.size.into(), 2 * fold.bits() + 2),
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Allreduce, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    match algorithm {
        Allreduce::RecursiveDoubling => {
            let fold = Fold::new(group.n);
            folded(&fold, me, k, fold.bits(), 1, round, |rank, i, round| {
                let partner = fold.position(rank ^ (1 << i));
                round.send(partner, 0, 1, k);
                round.combine(partner, 0, 1, k);
            });
        }
        Allreduce::Rabenseifner => {
            let fold = Fold::new(group.n);
            let bits = fold.bits();
            let parts = fold.size.into();
            folded(&fold, me, k, 2 * bits, parts, round, |rank, i, round| {
                if i < bits {
                    halving::halve(group, &fold, rank, i, k, round);
                } else {
                    halving::double(group, &fold, rank, i - bits, k, round);
                }
            });
        }
        Allreduce::Ring => {
            let distance = group.n - 1;
            if k < distance {
                let sent = group.before(me, k);
                let combined = group.before(me, k + 1);
                round.send(group.after(me, 1), sent.into(), 1, k);
                round.combine(group.before(me, 1), combined.into(), 1, k);
            } else {
                // Position p ended with part p + 1.
                allgather::ring_of(group, me, 1, k - distance, k, round);
            }
        }
    }
}

/// Wraps `inner`, an exchange of `rounds` rounds among a power of two of the
/// members, in one round before (the others hand in their vectors of `parts`
/// parts) and one after (they get the result).
fn folded(
    fold: &Fold,
    me: u32,
    k: u32,
    rounds: u32,
    parts: u64,
    round: &mut Round<'_>,
    inner: impl FnOnce(u32, u32, &mut Round<'_>),
) {
    let last = rounds + 1;
    match fold.role(me) {
        Role::Out(server) if k == 0 => round.send(server, 0, parts, k),
        Role::Out(server) if k == last => round.recv(server, 0, parts, k),
        Role::Out(_) => {}
        Role::In { partner, .. } if k == 0 => {
            if let Some(partner) = partner {
                round.combine(partner, 0, parts, k);
            }
        }
        Role::In { partner, .. } if k == last => {
            if let Some(partner) = partner {
                round.send(partner, 0, parts, k);
            }
        }
        Role::In { rank, .. } => inner(rank, k - 1, round),
    }
}
