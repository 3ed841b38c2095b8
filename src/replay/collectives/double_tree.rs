//! Reduction to all over two trees: each takes half of the vector, and a member that passes data on in one of them is a
//! leaf of the other (P. Sanders, J. Speck, J. L. Träff: Two-tree algorithms for full bandwidth broadcast, reduction and
//! scan, Parallel Computing 35, 2009). NCCL calls it the double binary tree.
//!
//! Segments follow one another. The higher a member in a tree, the later the round in which it passes a segment up, and then
//! the earlier the round in which it passes the segment down. So all that a member receives in a round was sent [`AHEAD`]
//! rounds before or earlier, and neither tree waits for the other.

use super::group::ceil_log2;
use super::step::Round;

/// Default of the longest segment in bytes: an eighth of NCCL's buffer of 4 MiB (`NCCL_BUFFSIZE`).
const SEGMENT: u64 = 512 * 1024;
/// Most segments of each half: longer vectors get longer segments.
const MOST_SEGMENTS: u64 = 1 << 18;
/// Rounds between a segment at a member and at its parent, or at its parent and at the member: two, so that a segment has
/// the time of another one to arrive.
const AHEAD: u32 = 2;

/// Parts that the vector is cut into, first for one tree and then for the other, and rounds.
pub(super) fn shape(n: u32, bytes: u64, segment: Option<u64>) -> (u64, u32) {
    let segment = segment.unwrap_or(SEGMENT).max(1);
    let half = bytes.div_ceil(2);
    let segments = half.div_ceil(segment).clamp(1, MOST_SEGMENTS);
    (2 * segments, segments as u32 + 2 * AHEAD * ceil_log2(n))
}

/// Steps of member `me` of `n` in round `k`.
pub(super) fn round(n: u32, me: u32, k: u32, round: &mut Round<'_>) {
    let segments = (round.parts() / 2) as u32;
    let segment = |delay: u32| k.checked_sub(delay).filter(|&segment| segment < segments);
    let part = |tree: Tree, segment: u32| u64::from(tree as u32 * segments + segment);
    for tree in [Tree::First, Tree::Second] {
        let at = tree.position(me, n);
        let (up, down) = (
            AHEAD * height(at, n),
            AHEAD * (2 * ceil_log2(n) - height(at, n)),
        );
        let parent = parent(at, n).map(|parent| tree.member(parent, n));
        let children = || children(at, n).map(|child| tree.member(child, n));
        if let Some(s) = segment(up) {
            for child in children() {
                round.combine(child, part(tree, s), 1, tag(tree, s, Direction::Up));
            }
            if let Some(parent) = parent {
                round.send(parent, part(tree, s), 1, tag(tree, s, Direction::Up));
            }
        }
        if let Some(s) = segment(down) {
            if let Some(parent) = parent {
                round.recv(parent, part(tree, s), 1, tag(tree, s, Direction::Down));
            }
            for child in children() {
                round.send(child, part(tree, s), 1, tag(tree, s, Direction::Down));
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// A tag of its own for every segment of a tree and direction: two members may be neighbours in both trees.
fn tag(tree: Tree, segment: u32, direction: Direction) -> u32 {
    4 * segment + 2 * tree as u32 + direction as u32
}

/// One of the two trees. Both have the same shape.
#[derive(Clone, Copy)]
enum Tree {
    First,
    /// The first one mirrored, or among an odd number of members shifted by one: odd positions, which are leaves, become even.
    Second,
}

impl Tree {
    /// The position of a member.
    fn position(self, member: u32, n: u32) -> u32 {
        match self {
            Self::First => member,
            Self::Second if n.is_multiple_of(2) => n - 1 - member,
            Self::Second => member.checked_sub(1).unwrap_or(n - 1),
        }
    }

    /// The member at a position.
    fn member(self, position: u32, n: u32) -> u32 {
        match self {
            Self::Second if !n.is_multiple_of(2) => (position + 1) % n,
            _ => self.position(position, n),
        }
    }
}

/// The height of a position: the number of zeros at the end of its number, but at the root, 0, more than all others have.
fn height(at: u32, n: u32) -> u32 {
    match at {
        0 => ceil_log2(n),
        _ => at.trailing_zeros(),
    }
}

/// The parent of a position; `None` at the root. The others are a binary tree in which a position lies between all below it.
fn parent(at: u32, n: u32) -> Option<u32> {
    let height = 1_u32.checked_shl(at.trailing_zeros())?;
    let below = at ^ height;
    let above = height.checked_mul(2).map(|double| below | double);
    Some(above.filter(|&above| above < n).unwrap_or(below))
}

/// The children of a position.
fn children(at: u32, n: u32) -> impl Iterator<Item = u32> {
    let (left, right) = match at {
        0 => (None, (n - 1).checked_ilog2().map(|height| 1 << height)),
        _ => {
            let half = (1 << at.trailing_zeros()) >> 1;
            let halves = std::iter::successors(Some(half), |half| Some(half >> 1));
            let right = halves
                .take_while(|&half| half > 0)
                .filter_map(|half| at.checked_add(half))
                .find(|&right| right < n);
            ((half > 0).then(|| at - half), right)
        }
    };
    left.into_iter().chain(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_are_trees_and_their_leaves_differ() {
        for n in 2..200 {
            for tree in [Tree::First, Tree::Second] {
                for at in 0..n {
                    assert_eq!(tree.position(tree.member(at, n), n), at);
                    for child in children(at, n) {
                        assert_eq!(parent(child, n), Some(at), "{child} of {n}");
                        assert!(height(child, n) < height(at, n), "{child} of {n}");
                    }
                    let listed = parent(at, n)
                        .is_none_or(|above| children(above, n).any(|child| child == at));
                    assert!(listed, "{at} of {n}");
                }
            }
            let inner = |tree: Tree, member| children(tree.position(member, n), n).count() > 0;
            let both = (0..n).filter(|&m| inner(Tree::First, m) && inner(Tree::Second, m));
            assert!(both.count() <= 1, "{n} members");
        }
    }
}
