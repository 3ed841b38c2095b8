//! Barrier.

use super::decide::Barrier;
use super::group::{Fold, Group, Turn, ceil_log2};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: Barrier, n: u32) -> u32 {
    match algorithm {
        Barrier::Dissemination => ceil_log2(n),
        Barrier::InNetwork => 1,
        Barrier::RecursiveDoubling => Fold::new(n).bits() + 2,
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Barrier, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    match algorithm {
        // Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
        Barrier::Dissemination => {
            let distance = 1 << k;
            round.send_token(group.after(me, distance), k);
            round.recv_token(group.before(me, distance), k);
        }
        // Its tree has the steps.
        Barrier::InNetwork => {}
        Barrier::RecursiveDoubling => {
            let fold = Fold::new(group.n);
            match fold.turn(me, k, fold.bits()) {
                Turn::HandIn(to) | Turn::Return(to) => round.send_token(to, k),
                Turn::TakeIn(from) | Turn::GetBack(from) => round.recv_token(from, k),
                Turn::Exchange { rank, i } => {
                    let partner = fold.position(rank ^ (1 << i));
                    round.send_token(partner, k);
                    round.recv_token(partner, k);
                }
                Turn::Idle => {}
            }
        }
    }
}
