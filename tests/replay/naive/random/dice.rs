//! Choices made from bytes.

/// Bytes that decide; 0 when they are used up.
pub struct Dice<'a>(std::slice::Iter<'a, u8>);

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    /// A number below `n`, which is at most 256. Smaller bytes make smaller numbers.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) * n / 256
    }

    /// One of these, the first of them for small bytes.
    pub fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// True once in `n` times, for large bytes.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }
}
