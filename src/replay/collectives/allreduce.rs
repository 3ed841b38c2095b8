//! Reduction to all. Blocks are parts of the vector.

use super::decide::Allreduce;
use super::group::{Fold, Group, Turn};
use super::halving::{Halving, Share};
use super::step::Round;
use super::{allgather, reduce_scatter};

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
    let halving = Halving::new(group, Share::PerRank);
    let (fold, bits) = (halving.fold, halving.fold.bits());
    let (parts, rounds) = match algorithm {
        Allreduce::Ring => {
            let distance = group.n - 1;
            return match k.checked_sub(distance) {
                None => reduce_scatter::ring(group, me, k, round),
                Some(i) => allgather::ring(group, me, i, k, round),
            };
        }
        Allreduce::RecursiveDoubling => (1, bits),
        Allreduce::Rabenseifner => (fold.size.into(), 2 * bits),
    };
    match fold.turn(me, k, rounds) {
        Turn::HandIn(to) | Turn::Return(to) => round.send(to, 0, parts, k),
        Turn::TakeIn(from) => round.combine(from, 0, parts, k),
        Turn::GetBack(from) => round.recv(from, 0, parts, k),
        Turn::Exchange { rank, i } => match algorithm {
            Allreduce::RecursiveDoubling => {
                let partner = fold.position(rank ^ (1 << i));
                round.send(partner, 0, 1, k);
                round.combine(partner, 0, 1, k);
            }
            _ if i < bits => halving.halve(rank, i, k, round),
            _ => halving.double(rank, i - bits, k, round),
        },
        Turn::Idle => {}
    }
}
