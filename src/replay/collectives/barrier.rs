//! Barrier.

use super::decide::Barrier;
use super::group::{Group, ceil_log2};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: Barrier, n: u32) -> u32 {
    match algorithm {
        Barrier::Dissemination => ceil_log2(n),
    }
}

/// Steps of member `me` in round `k` (Hensgen, Finkel, Manber: Two algorithms for
/// barrier synchronization, 1988).
pub(super) fn round(algorithm: Barrier, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    match algorithm {
        Barrier::Dissemination => {
            let distance = 1 << k;
            round.send_token(group.after(me, distance), k);
            round.recv_token(group.before(me, distance), k);
        }
    }
}
