//! Prefix reductions, with the own contribution (scan) and without (exscan).
//!
//! Recursive doubling as in MPICH: a member keeps the result of its aligned group of
//! 2^k positions and that of its prefix. Partners at distance 2^k exchange the former;
//! what comes from a lower position belongs to the prefix as well. A group at the end
//! may be incomplete: no later partner is above it, so nobody misses the rest.

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
        // The prefix of an exscan is empty until something comes from below.
        let empty = !inclusive && me & ((1 << k) - 1) == 0;
        round.combine_prefix(partner, k, empty);
    }
}
