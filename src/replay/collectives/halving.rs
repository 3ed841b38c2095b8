//! Recursive halving and doubling among a power of two of the members
//! (Rabenseifner, Optimization of Collective Reduction Operations, 2004).

use super::group::{Fold, Group};
use super::step::Round;

/// Which blocks belong to a rank of the fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Block r to rank r: the vector has as many parts as there are ranks.
    PerRank,
    /// A block per member: a rank has its own and its partner's.
    PerMember,
}

/// The members that exchange ranges of blocks.
pub(super) struct Halving<'a> {
    pub group: &'a Group,
    pub fold: Fold,
    pub share: Share,
}

impl<'a> Halving<'a> {
    /// The members of `group` that form a power of two.
    pub(super) fn new(group: &'a Group, share: Share) -> Self {
        let fold = Fold::new(group.n);
        Self { group, fold, share }
    }

    fn member(&self, rank: u32) -> u32 {
        self.group.member(self.fold.position(rank))
    }

    /// First block and number of blocks of `count` ranks from `first` on.
    fn blocks(&self, first: u32, count: u32) -> (u64, u64) {
        match self.share {
            Share::PerRank => (first.into(), count.into()),
            Share::PerMember => {
                let start = self.fold.position(first);
                let end = self.fold.position(first + count);
                (start.into(), (end - start).into())
            }
        }
    }

    /// Step `i` of the reduce-scatter: sends the partner its half of the present range,
    /// and combines the other half.
    pub(super) fn halve(&self, rank: u32, i: u32, tag: u32, round: &mut Round<'_>) {
        let half = self.fold.size >> (i + 1);
        let partner = rank ^ half;
        let to = self.member(partner);
        let blocks = |rank: u32| self.blocks(rank & !(half - 1), half);
        let (first, count) = blocks(partner);
        round.send(to, first, count, tag);
        let (first, count) = blocks(rank);
        round.combine(to, first, count, tag);
    }

    /// Step `i` of the gather to all: partners exchange all their blocks.
    pub(super) fn double(&self, rank: u32, i: u32, tag: u32, round: &mut Round<'_>) {
        let owned = 1_u32 << i;
        let partner = rank ^ owned;
        let to = self.member(partner);
        let blocks = |rank: u32| self.blocks(rank & !(owned - 1), owned);
        let (first, count) = blocks(rank);
        round.send(to, first, count, tag);
        let (first, count) = blocks(partner);
        round.recv(to, first, count, tag);
    }

    /// Gather of the blocks up a binomial tree to rank 0.
    pub(super) fn gather(&self, rank: u32, tag: u32, round: &mut Round<'_>) {
        let ranks = Group::new(self.fold.size, 0);
        for child in ranks.children(rank) {
            let (first, count) = self.blocks(child, ranks.subtree(child));
            round.recv(self.member(child), first, count, tag);
        }
        if let Some(parent) = ranks.parent(rank) {
            let (first, count) = self.blocks(rank, ranks.subtree(rank));
            round.send(self.member(parent), first, count, tag);
        }
    }
}
