//! Gather to all. Block i comes from member i.

use super::decide::Allgather;
use super::group::{Fold, Group, Turn, ceil_log2};
use super::halving::{Halving, Share};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: Allgather, n: u32) -> u32 {
    match algorithm {
        Allgather::Ring => n - 1,
        Allgather::Bruck => ceil_log2(n),
        Allgather::RecursiveDoubling => Fold::new(n).bits() + 2,
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
        Allgather::RecursiveDoubling => {
            let halving = Halving::new(group, Share::PerMember);
            // All blocks, except its own for a member that stayed out.
            let others = (group.n - 1).into();
            match halving.fold.turn(me, k, halving.fold.bits()) {
                Turn::HandIn(to) => round.send(to, me.into(), 1, k),
                Turn::TakeIn(from) => round.recv(from, from.into(), 1, k),
                Turn::Exchange { rank, i } => halving.double(rank, i, k, round),
                Turn::Return(to) => round.send(to, group.after(to, 1).into(), others, k),
                Turn::GetBack(from) => round.recv(from, group.after(me, 1).into(), others, k),
                Turn::Idle => {}
            }
        }
    }
}

/// Step `k` of n − 1 round the ring of relative positions; position p has block p.
pub(super) fn ring(group: &Group, rel: u32, k: u32, tag: u32, round: &mut Round<'_>) {
    let step = group.gather_step(rel, k);
    round.send(group.member(step.to), step.sent.into(), 1, tag);
    round.recv(group.member(step.from), step.received.into(), 1, tag);
}
