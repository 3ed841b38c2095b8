//! Gather to all. Block i comes from member i.

use super::decide::Allgather;
use super::group::{Group, ceil_log2};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: Allgather, n: u32) -> u32 {
    match algorithm {
        Allgather::Ring => n - 1,
        Allgather::Bruck => ceil_log2(n),
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Allgather, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    match algorithm {
        Allgather::Ring => ring(group, me, k, k, round),
        Allgather::Bruck => {
            // Blocks me … me + 2^k − 1 are here; as many more come from 2^k ahead
            // (Bruck et al., Efficient algorithms for all-to-all communications, 1997).
            let distance = 1_u32 << k;
            let count = distance.min(group.n - distance).into();
            let ahead = group.after(me, distance);
            round.send(group.before(me, distance), me.into(), count, k);
            round.recv(ahead, ahead.into(), count, k);
        }
    }
}

/// Step `k` of n − 1 round the ring of relative positions; position p has block p.
pub(super) fn ring(group: &Group, rel: u32, k: u32, tag: u32, round: &mut Round<'_>) {
    ring_of(group, rel, 0, k, tag, round);
}

/// As [`ring`], but position p starts with block `p + shift`.
pub(super) fn ring_of(
    group: &Group,
    rel: u32,
    shift: u32,
    k: u32,
    tag: u32,
    round: &mut Round<'_>,
) {
    let sent = group.before(group.after(rel, shift), k);
    let received = group.before(sent, 1);
    round.send(group.member(group.after(rel, 1)), sent.into(), 1, tag);
    round.recv(group.member(group.before(rel, 1)), received.into(), 1, tag);
}
