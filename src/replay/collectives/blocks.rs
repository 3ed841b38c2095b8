//! Sizes of the blocks that the data of a collective are divided into.

use crate::program::AlltoallBlocks;

/// The division of data into blocks, with sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// One vector cut into `parts` of equal size, except that the first ones are one byte
    /// longer if need be. (The element size is not in a trace.)
    Even {
        /// Length of the vector.
        total: u64,
        /// Number of parts, at least 1.
        parts: u64,
    },
    /// Blocks of any size: entry i is the sum of the blocks before i.
    Listed(Vec<u64>),
    /// Block `i * n + j` goes from member i to member j of n.
    Pairs(Vec<AlltoallBlocks>),
    /// Every block that the member handles has this size: it knows only its own.
    Own(u64),
    /// The blocks of [`Blocks::Pairs`] that one member knows: its row and its column.
    Cross {
        /// The member.
        me: u32,
        /// By receiver.
        send: Box<[u64]>,
        /// By sender.
        receive: Box<[u64]>,
    },
}

impl Blocks {
    /// Blocks of the given sizes; `None` if their sum exceeds 64 bits.
    #[must_use]
    pub fn listed(sizes: &[u64]) -> Option<Self> {
        let mut before = Vec::with_capacity(sizes.len() + 1);
        let mut sum = 0_u64;
        before.push(sum);
        for &size in sizes {
            sum = sum.checked_add(size)?;
            before.push(sum);
        }
        Some(Self::Listed(before))
    }

    /// Blocks of every pair of members; `None` if their sum exceeds 64 bits.
    #[must_use]
    pub fn pairs(rows: &[AlltoallBlocks]) -> Option<Self> {
        let n = rows.len() as u64;
        let mut sum = 0_u64;
        for row in rows {
            let total = match *row {
                AlltoallBlocks::Each(bytes) => bytes.checked_mul(n)?,
                AlltoallBlocks::Split { total, .. } => total,
            };
            sum = sum.checked_add(total)?;
        }
        Some(Self::Pairs(rows.to_vec()))
    }

    /// Members of [`Blocks::Pairs`], else 0.
    #[must_use]
    pub fn rows(&self) -> u32 {
        match self {
            Self::Pairs(rows) => rows.len() as u32,
            Self::Even { .. } | Self::Listed(_) | Self::Own(_) | Self::Cross { .. } => 0,
        }
    }

    /// Size of `count` blocks from `first` on, wrapping round at the last one;
    /// `count` is at most the number of blocks, and 1 for all but [`Blocks::Even`] and
    /// [`Blocks::Listed`].
    #[must_use]
    pub fn bytes(&self, first: u64, count: u64) -> u64 {
        let blocks = match self {
            Self::Even { parts, .. } => *parts,
            Self::Listed(before) => before.len() as u64 - 1,
            Self::Pairs(rows) => {
                let n = rows.len() as u64;
                return rows[(first / n) as usize].to((first % n) as u32);
            }
            Self::Own(bytes) => return *bytes,
            Self::Cross { me, send, receive } => {
                let n = send.len() as u64;
                let (from, to) = (first / n, (first % n) as usize);
                let row = from == u64::from(*me);
                return if row {
                    send[to]
                } else {
                    receive[from as usize]
                };
            }
        };
        let end = first + count;
        if end <= blocks {
            self.before(end) - self.before(first)
        } else {
            self.before(blocks) - self.before(first) + self.before(end - blocks)
        }
    }

    /// Sum of the blocks before `block`, of those that have an order.
    fn before(&self, block: u64) -> u64 {
        match self {
            Self::Even { total, parts } => {
                // (total mod parts) and block are both at most 2^32.
                total / parts * block + (total % parts).min(block)
            }
            Self::Listed(before) => before[block as usize],
            Self::Pairs(_) | Self::Own(_) | Self::Cross { .. } => 0,
        }
    }
}
