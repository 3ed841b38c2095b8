//! Recursive halving and doubling among a power of two of the members
//! (Rabenseifner, Optimization of Collective Reduction Operations, 2004). The
//! vector is cut into as many parts as there are ranks; part r ends at rank r.

use super::group::{Fold, Group};
use super::step::Round;

fn member(group: &Group, fold: &Fold, rank: u32) -> u32 {
    group.member(fold.position(rank))
}

/// Step `i` of the reduce-scatter: the half of the present range that the
/// partner will own is sent to it, the other half combined.
pub(super) fn halve(
    group: &Group,
    fold: &Fold,
    rank: u32,
    i: u32,
    tag: u32,
    round: &mut Round<'_>,
) {
    let half = fold.size >> (i + 1);
    let partner = rank ^ half;
    let to = member(group, fold, partner);
    let start = |rank: u32| u64::from(rank & !(half - 1));
    round.send(to, start(partner), half.into(), tag);
    round.combine(to, start(rank), half.into(), tag);
}

/// Step `i` of the gather to all: partners exchange all they own.
pub(super) fn double(
    group: &Group,
    fold: &Fold,
    rank: u32,
    i: u32,
    tag: u32,
    round: &mut Round<'_>,
) {
    let owned = 1_u32 << i;
    let partner = rank ^ owned;
    let to = member(group, fold, partner);
    let start = |rank: u32| u64::from(rank & !(owned - 1));
    round.send(to, start(rank), owned.into(), tag);
    round.recv(to, start(partner), owned.into(), tag);
}

/// Gather of the parts up a binomial tree to rank 0.
pub(super) fn gather(group: &Group, fold: &Fold, rank: u32, tag: u32, round: &mut Round<'_>) {
    let ranks = Group {
        n: fold.size,
        root: 0,
    };
    for child in ranks.children(rank) {
        let count = ranks.subtree(child).into();
        round.recv(member(group, fold, child), child.into(), count, tag);
    }
    if let Some(parent) = ranks.parent(rank) {
        let count = ranks.subtree(rank).into();
        round.send(member(group, fold, parent), rank.into(), count, tag);
    }
}
