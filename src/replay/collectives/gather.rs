//! Gather. Block i comes from member i.

use super::decide::Rooted;
use super::group::Group;
use super::step::Round;

/// Rounds: the root of the linear algorithm takes one message in each.
pub(super) fn rounds(algorithm: Rooted, n: u32) -> u32 {
    match algorithm {
        Rooted::Binomial => 1,
        Rooted::Linear => n - 1,
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Rooted, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    match algorithm {
        Rooted::Binomial => {
            let rel = group.relative(me);
            for child in group.children(rel) {
                let member = group.member(child);
                round.recv(member, member.into(), group.subtree(child).into(), 0);
            }
            if let Some(parent) = group.parent(rel) {
                let count = group.subtree(rel).into();
                round.send(group.member(parent), me.into(), count, 0);
            }
        }
        // All others in ascending order.
        Rooted::Linear if me == group.root => {
            let member = k + u32::from(k >= me);
            round.recv(member, member.into(), 1, 0);
        }
        Rooted::Linear if k == 0 => round.send(group.root, me.into(), 1, 0),
        Rooted::Linear => {}
    }
}
