//! Records of a fixed number of words, aligned to cache lines. The deficit table scheduler
//! keeps its state in them.

/// Records with the same number of words. A record of up to 16 words lies within one cache
/// line.
#[derive(Debug)]
pub(super) struct Records {
    /// Never grows, which would change the alignment of the first record.
    words: Vec<u32>,
    /// Index of the first record in `words`.
    first: usize,
    /// Words of a record.
    size: usize,
    /// Words from one record to the next.
    stride: usize,
}

const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / 4;

impl Records {
    /// `count` records of `size` words, all 0.
    pub(super) fn new(count: usize, size: usize) -> Self {
        let stride = if size <= LINE_WORDS {
            size.next_power_of_two()
        } else {
            size.next_multiple_of(LINE_WORDS)
        };
        let words = vec![0; count * stride + LINE_WORDS];
        let first = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS);
        Self {
            words,
            first,
            size,
            stride,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, record: usize) -> &mut [u32] {
        let at = self.first + record * self.stride;
        &mut self.words[at..at + self.size]
    }

    /// Prefetches a record.
    #[inline]
    pub(super) fn prefetch(&self, record: usize) {
        crate::prefetch::prefetch(&self.words, self.first + record * self.stride);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_apart_and_within_a_line() {
        for size in 1..40 {
            let mut records = Records::new(5, size);
            for record in 0..5 {
                records.get_mut(record).fill(record as u32 + 1);
            }
            for record in 0..5 {
                let words = records.get_mut(record);
                assert_eq!(words, vec![record as u32 + 1; size]);
                let start = words.as_ptr() as usize % LINE_BYTES;
                assert!(size > LINE_WORDS || start + 4 * size <= LINE_BYTES);
            }
        }
    }
}
