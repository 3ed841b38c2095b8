//! Counts the messages of a trace by size and by the ranks that exchange them.

use hashbrown::HashMap;

use crate::limits::MAX_PAIRS;

/// Traffic from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

/// Messages from point to point.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages, also from a rank to itself.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Messages of a rank to itself.
    pub self_messages: u64,
    /// Messages by size: entry 0 counts empty messages, entry `i` messages of 2^(i − 1) ≤ bytes < 2^i.
    pub sizes: Vec<u64>,
    /// Traffic of the rank pairs, most bytes first.
    pub pairs: Vec<Pair>,
    /// Messages and bytes of the pairs beyond the first [`MAX_PAIRS`].
    pub other_pairs: (u64, u64),
}

/// Counts the messages of a [`Traffic`].
#[derive(Debug, Clone, Default)]
pub struct Tally {
    traffic: Traffic,
    /// Messages and bytes.
    pairs: HashMap<(u32, u32), (u64, u64)>,
}

impl Tally {
    /// Counts a message of `bytes` bytes from rank `src` to rank `dst`.
    pub fn add(&mut self, src: u32, dst: u32, bytes: u64) {
        let traffic = &mut self.traffic;
        traffic.messages += 1;
        traffic.bytes = traffic.bytes.saturating_add(bytes);
        traffic.self_messages += u64::from(src == dst);
        count_size(&mut traffic.sizes, bytes);
        let room = self.pairs.len() < MAX_PAIRS;
        let (messages, sum) = if room || self.pairs.contains_key(&(src, dst)) {
            self.pairs.entry((src, dst)).or_default()
        } else {
            &mut traffic.other_pairs
        };
        *messages += 1;
        *sum = sum.saturating_add(bytes);
    }

    /// The messages so far. Pairs with a larger `weight` come first, then pairs of smaller ranks.
    #[must_use]
    pub fn finish(self, weight: impl Fn(&Pair) -> (u64, u64)) -> Traffic {
        let mut traffic = self.traffic;
        let pair = |((src, dst), (messages, bytes))| Pair {
            src,
            dst,
            messages,
            bytes,
        };
        traffic.pairs = self.pairs.into_iter().map(pair).collect();
        let key = |p: &Pair| (std::cmp::Reverse(weight(p)), p.src, p.dst);
        traffic.pairs.sort_unstable_by_key(key);
        traffic
    }
}

/// Counts a message in the sizes of a [`Traffic`].
pub(crate) fn count_size(sizes: &mut Vec<u64>, bytes: u64) {
    let class = (u64::BITS - bytes.leading_zeros()) as usize;
    if class >= sizes.len() {
        sizes.resize(class + 1, 0);
    }
    sizes[class] += 1;
}
