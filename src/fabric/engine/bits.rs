//! Sets of bits, growing lists and divisions on the hot path.

use std::fmt::Debug;

/// The first set bit of `bits` at or after bit `from`, once around. `bits` is not 0.
#[inline]
pub(super) fn first_from(bits: u64, from: u8) -> u32 {
    let at_or_after = at_or_after(bits, from);
    (if at_or_after != 0 { at_or_after } else { bits }).trailing_zeros()
}

/// The bits of `bits` at or after bit `from`.
#[inline]
fn at_or_after(bits: u64, from: u8) -> u64 {
    // `from` may be 64: two shifts instead of a branch.
    bits & (!0 << (from / 2)) << (from - from / 2)
}

/// The bits of `bits` at or after bit `from`, which is at most 32.
#[inline]
pub(super) fn from_on(bits: u32, from: u8) -> u32 {
    (u64::from(bits) & (!0u64 << from)) as u32
}

/// A set of small numbers, a bit for each.
pub(super) trait BitSet: Debug + Copy + Eq + Send {
    /// No number.
    const NONE: Self;

    /// Adds `number`.
    fn insert(&mut self, number: u8);

    /// Removes `number`.
    fn remove(&mut self, number: u8);

    /// The least number.
    fn first(&self) -> Option<u8>;

    /// The numbers from `least` on.
    fn at_or_after(&self, least: u8) -> Self;
}

impl<const WORDS: usize> BitSet for [u64; WORDS] {
    const NONE: Self = [0; WORDS];

    #[inline]
    fn insert(&mut self, number: u8) {
        let (word, bit) = word_and_bit::<WORDS>(number);
        self[word] |= 1 << bit;
    }

    #[inline]
    fn remove(&mut self, number: u8) {
        let (word, bit) = word_and_bit::<WORDS>(number);
        self[word] &= !(1 << bit);
    }

    #[inline]
    fn first(&self) -> Option<u8> {
        for (at, bits) in self.iter().enumerate() {
            if *bits != 0 {
                return Some((64 * at) as u8 + bits.trailing_zeros() as u8);
            }
        }
        None
    }

    #[inline]
    fn at_or_after(&self, least: u8) -> Self {
        let (word, bit) = word_and_bit::<WORDS>(least);
        let mut set = Self::NONE;
        for (at, bits) in set.iter_mut().enumerate() {
            if at == word {
                *bits = at_or_after(self[at], bit);
            } else if at > word {
                *bits = self[at];
            }
        }
        set
    }
}

/// The word of `number` in a set of `WORDS` words, and its bit there. Behind a single word it is bit 64.
#[inline]
fn word_and_bit<const WORDS: usize>(number: u8) -> (usize, u8) {
    match WORDS {
        1 => (0, number),
        _ => (usize::from(number / 64), number % 64),
    }
}

/// Like `list.push(item)`, but the code of the caller is not laid out for the growth of the list.
#[inline(always)]
pub(super) fn push_quickly<T>(list: &mut Vec<T>, item: T) {
    #[cold]
    #[inline(never)]
    fn grow<T>(list: &mut Vec<T>) {
        list.reserve(list.len().max(8));
    }
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push(item);
}

/// A divisor that is known long before the division, which multiplies by its reciprocal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    value: u32,
    /// 2^32 / value, rounded up.
    reciprocal: u64,
}

impl Divisor {
    /// `value` is at least 1 and at most 2^16.
    pub(super) fn new(value: u32) -> Self {
        debug_assert!((1..=1 << 16).contains(&value));
        Self {
            value,
            reciprocal: (1u64 << 32).div_ceil(u64::from(value.max(1))),
        }
    }

    #[inline]
    pub(super) fn value(self) -> u32 {
        self.value
    }

    /// ⌊n / value⌋ for n < 2^16. The rounded reciprocal is too large by less than 1, so the
    /// quotient by less than n / 2^32, too little to reach the next integer.
    #[inline]
    pub(super) fn floor(self, n: u32) -> u32 {
        debug_assert!(n < 1 << 16);
        ((u64::from(n) * self.reciprocal) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_from_goes_once_around() {
        assert_eq!(first_from(0b1010, 0), 1);
        assert_eq!(first_from(0b1010, 2), 3);
        assert_eq!(first_from(0b1010, 4), 1);
        assert_eq!(first_from(0b1010, 64), 1);
        assert_eq!(first_from(1 << 63, 63), 63);
        assert_eq!(from_on(0b1010, 2), 0b1000);
        assert_eq!(from_on(u32::MAX, 32), 0);
    }

    #[test]
    fn division_by_reciprocal_is_exact() {
        for value in (1..300).chain([32767, 32768, 65535, 65536]) {
            let divisor = Divisor::new(value);
            for n in (0..70).chain((1..65536 / value).flat_map(|q| [q * value - 1, q * value])) {
                assert_eq!(divisor.floor(n), n / value, "{n} / {value}");
            }
        }
    }
}
