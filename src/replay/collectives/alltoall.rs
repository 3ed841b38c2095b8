//! All-to-all. Block `i * n + j` goes from member i to member j; a member's block
//! for itself is copied without a message.

use super::decide::Alltoall;
use super::group::Group;
use super::step::Round;

/// Rounds.
pub(super) fn rounds(_: Alltoall, n: u32) -> u32 {
    n - 1
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Alltoall, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let block = |from: u32, to: u32| u64::from(from) * u64::from(group.n) + u64::from(to);
    let send = |distance: u32, round: &mut Round<'_>| {
        let to = group.after(me, distance);
        round.send(to, block(me, to), 1, 0);
    };
    match algorithm {
        Alltoall::Pairwise => send(k + 1, round),
        Alltoall::Linear if k == 0 => (1..group.n).for_each(|distance| send(distance, round)),
        Alltoall::Linear => {}
    }
    let from = group.before(me, k + 1);
    round.recv(from, block(from, me), 1, 0);
}
