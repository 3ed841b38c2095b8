//! Reduction to all. Blocks are parts of the vector.

use super::decide::{Allreduce, Choices};
use super::group::{Fold, Group, Turn};
use super::halving::{Halving, Share};
use super::step::Round;
use super::{allgather, double_tree, reduce_scatter};

/// Parts that the vector is cut into, and rounds.
pub(super) fn shape(algorithm: Allreduce, n: u32, bytes: u64, choices: &Choices) -> (u64, u32) {
    let fold = Fold::new(n);
    match algorithm {
        Allreduce::InNetwork => (1, 1),
        Allreduce::DoubleTree => double_tree::shape(n, bytes, choices.tree_segment()),
        Allreduce::Hierarchical => {
            let within = choices.parts(Group::new(n, 0)).within;
            let rounds = (within - 1).saturating_add(n / within - 1);
            (n.into(), rounds.saturating_mul(2))
        }
        Allreduce::RecursiveDoubling => (1, fold.bits() + 2),
        Allreduce::Ring => (n.into(), (n - 1).saturating_mul(2)),
        Allreduce::Rabenseifner => (fold.size.into(), 2 * fold.bits() + 2),
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Allreduce, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let halving = Halving::new(group, Share::PerRank);
    let (fold, bits) = (halving.fold, halving.fold.bits());
    let (parts, rounds) = match algorithm {
        // Its tree has the steps.
        Allreduce::InNetwork => return,
        Allreduce::DoubleTree => return double_tree::round(group.n, me, k, round),
        Allreduce::Hierarchical => return hierarchical(group, me, k, round),
        Allreduce::Ring => {
            let distance = group.n - 1;
            return match k.checked_sub(distance) {
                None => reduce_scatter::ring(group, me, k, round),
                Some(i) => allgather::ring(group, me, i, k, round),
            };
        }
        Allreduce::RecursiveDoubling => (1, bits),
        Allreduce::Rabenseifner => (fold.size.into(), 2 * bits),
    };
    match fold.turn(me, k, rounds) {
        Turn::HandIn(to) | Turn::Return(to) => round.send(to, 0, parts, k),
        Turn::TakeIn(from) => round.combine(from, 0, parts, k),
        Turn::GetBack(from) => round.recv(from, 0, parts, k),
        Turn::Exchange { rank, i } => match algorithm {
            Allreduce::RecursiveDoubling => {
                let partner = fold.position(rank ^ (1 << i));
                round.send(partner, 0, 1, k);
                round.combine(partner, 0, 1, k);
            }
            _ if i < bits => halving.halve(rank, i, k, round),
            _ => halving.double(rank, i - bits, k, round),
        },
        Turn::Idle => {}
    }
}

/// Step `k` round the rings of a hierarchical reduction: a reduce-scatter within each part of the members, a ring of the
/// members at each place of the parts, and a gather within the parts.
fn hierarchical(group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let (inner, outer) = (
        Group::new(group.within, 0),
        Group::new(group.n / group.within, 0),
    );
    let (place, part) = (me % inner.n, me / inner.n);
    // A block of a place has one piece for each part.
    let pieces = u64::from(outer.n);
    let within = |place: u32| part * inner.n + place;
    let across = |part: u32| part * inner.n + place;
    let block = |block: u32| u64::from(block) * pieces;
    let piece = |piece: u32| u64::from(place) * pieces + u64::from(piece);
    let (inside, outside) = (inner.n - 1, outer.n - 1);
    if k < inside {
        let step = inner.scatter_step(place, k);
        round.send(within(step.to), block(step.sent), pieces, k);
        round.combine(within(step.from), block(step.received), pieces, k);
    } else if k < inside + outside {
        let step = outer.scatter_step(part, k - inside);
        round.send(across(step.to), piece(step.sent), 1, k);
        round.combine(across(step.from), piece(step.received), 1, k);
    } else if k < inside + 2 * outside {
        let step = outer.gather_step(part, k - inside - outside);
        round.send(across(step.to), piece(step.sent), 1, k);
        round.recv(across(step.from), piece(step.received), 1, k);
    } else {
        let step = inner.gather_step(place, k - inside - 2 * outside);
        round.send(within(step.to), block(step.sent), pieces, k);
        round.recv(within(step.from), block(step.received), pieces, k);
    }
}
