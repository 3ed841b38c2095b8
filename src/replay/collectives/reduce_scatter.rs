//! Reduction whose result is scattered. Block i of it belongs to member i.

use super::decide::ReduceScatter;
use super::group::{Fold, Group, Turn};
use super::halving::{Halving, Share};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: ReduceScatter, n: u32) -> u32 {
    match algorithm {
        ReduceScatter::Ring => n - 1,
        ReduceScatter::RecursiveHalving => Fold::new(n).bits() + 2,
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(
    algorithm: ReduceScatter,
    group: &Group,
    me: u32,
    k: u32,
    round: &mut Round<'_>,
) {
    match algorithm {
        ReduceScatter::Ring => ring(group, me, k, round),
        ReduceScatter::RecursiveHalving => {
            let halving = Halving::new(group, Share::PerMember);
            let all = group.n.into();
            match halving.fold.turn(me, k, halving.fold.bits()) {
                Turn::HandIn(to) => round.send(to, 0, all, k),
                Turn::TakeIn(from) => round.combine(from, 0, all, k),
                Turn::Exchange { rank, i } => halving.halve(rank, i, k, round),
                Turn::Return(to) => round.send(to, to.into(), 1, k),
                Turn::GetBack(from) => round.recv(from, me.into(), 1, k),
                Turn::Idle => {}
            }
        }
    }
}

/// Step `k` of n − 1 round the ring; position p ends with block p.
pub(super) fn ring(group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let step = group.scatter_step(me, k);
    round.send(step.to, step.sent.into(), 1, k);
    round.combine(step.from, step.received.into(), 1, k);
}
