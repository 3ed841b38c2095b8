//! Reduction to a root. Blocks are parts of the vector.

use super::decide::Reduce;
use super::group::{Fold, Group, Turn};
use super::halving::{Halving, Share};
use super::step::Round;

/// Parts that the vector is cut into, and rounds.
pub(super) fn shape(algorithm: Reduce, n: u32) -> (u64, u32) {
    match algorithm {
        Reduce::Binomial | Reduce::InNetwork => (1, 1),
        Reduce::ReduceScatterGather => {
            let fold = Fold::new(n);
            (fold.size.into(), fold.bits() + 2)
        }
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Reduce, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let rel = group.relative(me);
    match algorithm {
        Reduce::Binomial => {
            for child in group.children(rel) {
                round.combine(group.member(child), 0, 1, 0);
            }
            if let Some(parent) = group.parent(rel) {
                round.send(group.member(parent), 0, 1, 0);
            }
        }
        // Its tree has the steps.
        Reduce::InNetwork => {}
        Reduce::ReduceScatterGather => {
            let halving = Halving::new(group, Share::PerRank);
            let (parts, bits) = (halving.fold.size.into(), halving.fold.bits());
            // The gather is one more exchange; the root alone gets the result.
            match halving.fold.turn(rel, k, bits + 1) {
                Turn::HandIn(to) => round.send(group.member(to), 0, parts, k),
                Turn::TakeIn(from) => round.combine(group.member(from), 0, parts, k),
                Turn::Exchange { rank, i } if i < bits => halving.halve(rank, i, k, round),
                Turn::Exchange { rank, .. } => halving.gather(rank, k, round),
                Turn::Return(_) | Turn::GetBack(_) | Turn::Idle => {}
            }
        }
    }
}
