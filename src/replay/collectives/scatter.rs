//! Scatter. Block i belongs to member i.

use super::decide::Rooted;
use super::group::Group;
use super::step::Round;

/// Steps of member `me`; everything is in one round.
pub(super) fn round(algorithm: Rooted, group: &Group, me: u32, round: &mut Round<'_>) {
    match algorithm {
        Rooted::Binomial => tree(group, group.relative(me), group.root, round),
        Rooted::Linear if me == group.root => {
            for member in (0..group.n).filter(|&member| member != me) {
                round.send(member, member.into(), 1, 0);
            }
        }
        Rooted::Linear => round.recv(group.root, me.into(), 1, 0),
    }
}

/// Down the binomial tree, where every child gets the blocks of its subtree: block
/// `base + p` (wrapping round) belongs to relative position p.
pub(super) fn tree(group: &Group, rel: u32, base: u32, round: &mut Round<'_>) {
    let first = |rel| group.after(base, rel).into();
    if let Some(parent) = group.parent(rel) {
        let count = group.subtree(rel).into();
        round.recv(group.member(parent), first(rel), count, 0);
    }
    for child in group.children(rel).rev() {
        let count = group.subtree(child).into();
        round.send(group.member(child), first(child), count, 0);
    }
}
