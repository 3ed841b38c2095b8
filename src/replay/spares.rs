//! Spare receives: they may have taken a message or not, and take those that no other receive takes.

use super::program::{Place, RankId};
use flitwise_formats::matching::Unmatched;

/// Receives with requests from this number on are spare: they take messages without a counterpart.
pub const SPARE: u64 = 1 << 62;

/// A [spare](SPARE) receive.
pub(super) struct Spare {
    pub rank: RankId,
    pub number: u64,
    pub from: Option<u32>,
    pub key: Option<u64>,
}

/// The spare receives.
#[derive(Default)]
pub(super) struct Spares {
    left: Vec<Spare>,
    /// Rank and number of those that took a message.
    pub taken: Vec<(RankId, u64)>,
}

impl Spares {
    pub fn add(&mut self, spare: Spare) {
        self.left.push(spare);
    }

    /// Gives messages that no receive takes to spare ones; false if these take all of them.
    pub fn leave(&mut self, unmatched: &mut Unmatched<Place>) -> bool {
        let (dst, message, left) = match unmatched {
            Unmatched::Sends {
                src,
                dst,
                tag,
                count,
                ..
            } => (*dst, (*src, *tag), count),
            // From whom they are is not known.
            Unmatched::Numbers {
                dst,
                sends,
                receives,
            } if *sends > *receives => {
                let mut left = *sends - *receives;
                self.take(*dst, None, &mut left);
                *receives = *sends - left;
                return left > 0;
            }
            Unmatched::Numbers { .. } | Unmatched::Receives { .. } => return true,
        };
        self.take(dst, Some(message), left);
        *left > 0
    }

    /// Gives up to `left` messages to rank `dst`, of this sender with this key, to spare receives.
    fn take(&mut self, dst: u32, message: Option<(u32, u64)>, left: &mut u64) {
        let taken = &mut self.taken;
        self.left.retain(|spare| {
            let fits = message.is_none_or(|(src, key)| {
                spare.from.is_none_or(|from| from == src) && spare.key.is_none_or(|k| k == key)
            });
            let takes = *left > 0 && spare.rank.get() == dst && fits;
            if takes {
                *left -= 1;
                taken.push((spare.rank, spare.number));
            }
            !takes
        });
    }
}
