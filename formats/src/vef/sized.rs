//! Checks the size fields of one collective against each other.

use super::collective::{Misfit, Op};

/// Line, first and second size field of one member.
pub(super) type Part = (u64, u64, u64);

/// The sizes of one collective in the order of its communicator, never empty.
pub(super) struct Sizes<'a> {
    pub g: u64,
    pub op: Op,
    pub parts: &'a [Part],
}

impl Sizes<'_> {
    pub fn at(&self, position: u32) -> Part {
        self.parts
            .get(position as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The only member with a field that belongs to the root.
    pub fn root(&self, field: impl Fn(&Part) -> u64) -> Result<Option<u32>, Misfit> {
        let mut roots = (0..).zip(self.parts).filter(|(_, p)| field(p) > 0);
        let first = roots.next().map(|(i, _)| i);
        match roots.next() {
            Some((_, part)) => Err(self.misfit(part, "sizes of a root at one member only")),
            None => Ok(first),
        }
    }

    pub fn all(&self, ok: impl Fn(Part) -> bool, expected: &str) -> Result<(), Misfit> {
        self.each(|_| true, ok, expected)
    }

    /// All members but the root.
    pub fn rest(&self, root: u32, ok: impl Fn(Part) -> bool, expected: &str) -> Result<(), Misfit> {
        self.each(|position| position != root, ok, expected)
    }

    /// The root alone.
    pub fn only(&self, root: u32, ok: impl Fn(Part) -> bool, expected: &str) -> Result<(), Misfit> {
        self.each(|position| position == root, ok, expected)
    }

    fn each(
        &self,
        of: impl Fn(u32) -> bool,
        ok: impl Fn(Part) -> bool,
        expected: &str,
    ) -> Result<(), Misfit> {
        let mut parts = (0..).zip(self.parts).filter(|&(position, _)| of(position));
        match parts.find(|&(_, &part)| !ok(part)) {
            Some((_, part)) => Err(self.misfit(part, expected)),
            None => Ok(()),
        }
    }

    pub fn sum(&self, blocks: &[u64]) -> Result<u64, Misfit> {
        let sum = blocks.iter().try_fold(0u64, |sum, &b| sum.checked_add(b));
        sum.ok_or_else(|| self.misfit(&self.at(0), "sizes whose sum fits 64 bits"))
    }

    #[cold]
    fn misfit(&self, &(line, send, recv): &Part, expected: &str) -> Misfit {
        let (g, name) = (self.g, self.op.name());
        (
            line,
            format!("the sizes {send} {recv} do not fit {name} (G{g}): expected {expected}"),
        )
    }
}
