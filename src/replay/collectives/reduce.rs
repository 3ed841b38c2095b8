//! Reduction to a root. Blocks are parts of the vector.

use super::decide::Reduce;
use super::group::{Fold, Group, Role};
use super::halving;
use super::step::Round;

/// Parts that the vector is cut into, and rounds.
pub(super) fn shape(algorithm: Reduce, n: u32) -> (u64, u32) {
    match algorithm {
        Reduce::Binomial => (1, 1),
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
        Reduce::ReduceScatterGather => {
            let fold = Fold::new(group.n);
            let all = fold.size.into();
            match (fold.role(rel), k) {
                (Role::Out(server), 0) => round.send(group.member(server), 0, all, 0),
                (Role::Out(_), _) => {}
                (Role::In { partner, .. }, 0) => {
                    if let Some(partner) = partner {
                        round.combine(group.member(partner), 0, all, 0);
                    }
                }
                (Role::In { rank, .. }, k) if k <= fold.bits() => {
                    halving::halve(group, &fold, rank, k - 1, k, round);
                }
                (Role::In { rank, .. }, k) => halving::gather(group, &fold, rank, k, round),
            }
        }
    }
}
