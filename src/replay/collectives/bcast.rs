//! Broadcast. Blocks are parts of the vector, by relative position.

use super::decide::Bcast;
use super::group::Group;
use super::step::Round;
use super::{allgather, scatter};

/// Default segment of the pipelined chain, in bytes.
const SEGMENT: u64 = 16 * 1024;
/// Most segments: longer vectors get longer segments.
const MOST_SEGMENTS: u64 = 1 << 20;

/// Parts that the vector is cut into, and rounds. A part of the chain has at most `segment`
/// bytes.
pub(super) fn shape(algorithm: Bcast, n: u32, bytes: u64, segment: Option<u64>) -> (u64, u32) {
    match algorithm {
        Bcast::Binomial | Bcast::InNetwork => (1, 1),
        Bcast::ScatterAllgather => (n.into(), n),
        Bcast::Chain => {
            let segment = segment.unwrap_or(SEGMENT).max(1);
            let segments = bytes.div_ceil(segment).clamp(1, MOST_SEGMENTS);
            (segments, segments as u32)
        }
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Bcast, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let rel = group.relative(me);
    match algorithm {
        Bcast::Binomial => {
            if let Some(parent) = group.parent(rel) {
                round.recv(group.member(parent), 0, 1, 0);
            }
            for child in group.children(rel).rev() {
                round.send(group.member(child), 0, 1, 0);
            }
        }
        Bcast::ScatterAllgather if k == 0 => scatter::tree(group, rel, 0, round),
        Bcast::ScatterAllgather => allgather::ring(group, rel, k - 1, k, round),
        // Its tree has the steps.
        Bcast::InNetwork => {}
        Bcast::Chain => {
            if rel > 0 {
                round.recv(group.member(rel - 1), k.into(), 1, k);
            }
            if rel + 1 < group.n {
                round.send(group.member(rel + 1), k.into(), 1, k);
            }
        }
    }
}
