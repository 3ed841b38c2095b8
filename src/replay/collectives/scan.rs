//! Prefix reductions, with a member's own contribution (scan) and without it (exscan).
//!
//! Recursive doubling as in MPICH: a member keeps two results, one of its aligned group of
//! 2^k positions, one of its prefix. Partners at distance 2^k exchange the group's result;
//! a result from a lower position belongs to the prefix as well. The last group may be
//! incomplete: it has no partner above it, so no member needs the rest.

use super::group::{Group, ceil_log2};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(n: u32) -> u32 {
    ceil_log2(n)
}

/// Steps of member `me` in round `k`; `inclusive` for a scan.
pub(super) fn round(inclusive: bool, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let partner = me ^ (1 << k);
    if partner >= group.n {
        return;
    }
    round.send_partial(partner, k);
    if partner > me {
        round.combine_partial(partner, k);
    } else {
        // The prefix of an exscan is empty until a lower position sends a result.
        let empty = !inclusive && me & ((1 << k) - 1) == 0;
        round.combine_prefix(partner, k, empty);
    }
}
