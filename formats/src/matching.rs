//! Counts sends against receives, by sender, receiver and tag.
//!
//! ```
//! use flitwise_formats::matching::{Matching, Unmatched};
//!
//! let mut matching = Matching::new(2);
//! matching.send(0, 1, 7, "a send");
//! matching.send(0, 1, 8, "another one");
//! matching.receive(Some(0), 1, Some(7), "a receive");
//! let [Unmatched::Sends { tag: 8, count: 1, place, .. }] = matching.finish()[..] else {
//!     panic!("the second one is not received");
//! };
//! assert_eq!(place, "another one");
//! ```

use flitwise_base::place::Place;
use hashbrown::HashMap;

use crate::limits::MAX_UNMATCHED;

/// The messages of a trace that were seen so far, as far as their counterparts are missing. `P` is a place in the trace.
#[derive(Debug)]
pub struct Matching<P = Place> {
    open: HashMap<(u32, u32, u64), Open<P>>,
    /// By receiver.
    receivers: Vec<Receiver>,
    /// Some messages are counted by receiver only.
    coarse: bool,
}

/// The messages with one sender, receiver and tag, as far as they differ.
#[derive(Debug)]
struct Open<P> {
    /// Sends without a receive, or (negative) receives without a send.
    net: i64,
    /// Bytes sent less bytes received, modulo 2^64.
    more: i64,
    /// The last one of the side that has more of them.
    place: P,
}

#[derive(Debug, Default, Clone, Copy)]
struct Receiver {
    sends: u64,
    receives: u64,
    /// Of the receives, those that accept any source or any tag.
    any: u64,
}

/// Messages that lack their counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched<P = Place> {
    /// Sends from `src` with `tag` that `dst` never receives.
    Sends {
        /// Sender.
        src: u32,
        /// Receiver.
        dst: u32,
        /// Tag.
        tag: u64,
        /// How many.
        count: u64,
        /// The last one.
        place: P,
    },
    /// Receives of `dst` from `src` with `tag` that never get a message.
    Receives {
        /// Sender.
        src: u32,
        /// Receiver.
        dst: u32,
        /// Tag.
        tag: u64,
        /// How many.
        count: u64,
        /// The last one.
        place: P,
    },
    /// Receives of `dst` and sends to it whose numbers differ.
    Numbers {
        /// Receiver.
        dst: u32,
        /// Messages to it.
        sends: u64,
        /// Messages that it receives.
        receives: u64,
    },
}

/// Messages with one sender, receiver and tag that have their counterparts, but with other sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uneven<P = Place> {
    src: u32,
    dst: u32,
    tag: u64,
    more: i64,
    /// The last one at the [rank](Self::rank).
    pub place: P,
}

impl<P> Uneven<P> {
    /// The rank whose messages came first to the [`Matching`] that takes one rank after the other.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.src.min(self.dst)
    }

    /// The problem, for people.
    #[must_use]
    pub fn says(&self) -> String {
        let more = if self.more > 0 { "more" } else { "fewer" };
        format!(
            "rank {} sends {} bytes {more} to rank {} with tag {} than are received; the replay uses the sizes of the sends",
            self.src,
            self.more.unsigned_abs(),
            self.dst,
            self.tag
        )
    }
}

impl<P: Copy> Unmatched<P> {
    /// The rank that it is said of.
    #[must_use]
    pub fn rank(&self) -> u32 {
        match *self {
            Self::Sends { src, .. } => src,
            Self::Receives { dst, .. } | Self::Numbers { dst, .. } => dst,
        }
    }

    /// The last of these messages; `None` if only their number is known.
    #[must_use]
    pub fn place(&self) -> Option<P> {
        match *self {
            Self::Sends { place, .. } | Self::Receives { place, .. } => Some(place),
            Self::Numbers { .. } => None,
        }
    }

    /// The problem of the [rank](Self::rank), where `tag` shows a tag, and the cure: of sends, of receives, of numbers.
    #[must_use]
    pub fn says(&self, tag: impl Fn(u64) -> String, cures: [&str; 3]) -> String {
        let [sent, received, counted] = cures;
        match *self {
            Self::Sends {
                dst, tag: t, count, ..
            } => format!(
                "sends {count} more to rank {dst} with tag {} than it receives; this is the last one: {sent}",
                tag(t)
            ),
            Self::Receives {
                src, tag: t, count, ..
            } => format!(
                "receives {count} more from rank {src} with tag {} than are sent; this is the last one: {received}",
                tag(t)
            ),
            Self::Numbers {
                sends, receives, ..
            } => format!("receives {receives} messages, but {sends} are sent to it; {counted}"),
        }
    }
}

impl<P: Copy> Matching<P> {
    /// None so far, of `ranks` ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        Self {
            open: HashMap::new(),
            receivers: vec![Receiver::default(); ranks as usize],
            coarse: false,
        }
    }

    /// A send to a rank that is there.
    pub fn send(&mut self, src: u32, dst: u32, tag: u64, place: P) {
        self.send_sized(src, dst, tag, 0, place);
    }

    /// A send of this number of bytes, whose receive states them too.
    pub fn send_sized(&mut self, src: u32, dst: u32, tag: u64, bytes: u64, place: P) {
        if let Some(receiver) = self.receivers.get_mut(dst as usize) {
            receiver.sends += 1;
        }
        self.count((src, dst, tag), 1, bytes.cast_signed(), place);
    }

    /// A receive; `None` for any.
    pub fn receive(&mut self, src: Option<u32>, dst: u32, tag: Option<u64>, place: P) {
        self.receive_sized(src, dst, tag, 0, place);
    }

    /// A receive that expects this number of bytes.
    pub fn receive_sized(
        &mut self,
        src: Option<u32>,
        dst: u32,
        tag: Option<u64>,
        bytes: u64,
        place: P,
    ) {
        let exact = src.zip(tag);
        if let Some(receiver) = self.receivers.get_mut(dst as usize) {
            receiver.receives += 1;
            receiver.any += u64::from(exact.is_none());
        }
        if let Some((src, tag)) = exact {
            let bytes = bytes.cast_signed().wrapping_neg();
            self.count((src, dst, tag), -1, bytes, place);
        }
    }

    fn count(&mut self, key: (u32, u32, u64), step: i64, bytes: i64, place: P) {
        if let Some(open) = self.open.get_mut(&key) {
            if open.net * step >= 0 {
                open.place = place;
            }
            open.net += step;
            open.more = open.more.wrapping_add(bytes);
            if (open.net, open.more) == (0, 0) {
                self.open.remove(&key);
            }
        } else if self.open.len() < MAX_UNMATCHED {
            let (net, more) = (step, bytes);
            self.open.insert(key, Open { net, more, place });
        } else {
            self.coarse = true;
        }
    }

    /// The sends that no receive with their source and tag takes: receiver, tag and how many; `None` beyond
    /// [`MAX_UNMATCHED`] open messages.
    pub fn sends_left(&self) -> Option<impl Iterator<Item = (u32, u64, u64)>> {
        let left = self.open.iter().filter(|(_, open)| open.net > 0);
        let left = left.map(|(&(_, dst, tag), open)| (dst, tag, open.net.unsigned_abs()));
        (!self.coarse).then_some(left)
    }

    /// The receives of `rank` beyond the messages that are sent to it.
    #[must_use]
    pub fn receives_too_many(&self, rank: u32) -> u64 {
        let receiver = self.receivers.get(rank as usize);
        receiver.map_or(0, |r| r.receives.saturating_sub(r.sends))
    }

    /// Takes back a receive that accepts any source or any tag.
    pub fn take_back_any(&mut self, dst: u32, count: u64) {
        if let Some(receiver) = self.receivers.get_mut(dst as usize) {
            receiver.receives = receiver.receives.saturating_sub(count);
            receiver.any = receiver.any.saturating_sub(count);
        }
    }

    /// The messages whose sizes differ between the sends and the receives that name their source and tag, in the order of receiver,
    /// sender and tag; none beyond [`MAX_UNMATCHED`] open messages.
    #[must_use]
    pub fn uneven(&self) -> Vec<Uneven<P>> {
        let open = self.open.iter().filter(|(_, open)| open.net == 0);
        let uneven = open.map(|(&(src, dst, tag), open)| Uneven {
            src,
            dst,
            tag,
            more: open.more,
            place: open.place,
        });
        let mut uneven: Vec<_> = uneven.filter(|_| !self.coarse).collect();
        uneven.sort_unstable_by_key(|one| (one.dst, one.src, one.tag));
        uneven
    }

    /// The messages without their counterpart, in the order of receiver, sender and tag. Beyond [`MAX_UNMATCHED`] open messages only the
    /// numbers of each receiver are compared.
    #[must_use]
    pub fn finish(self) -> Vec<Unmatched<P>> {
        let mut found = Vec::new();
        if !self.coarse {
            let mut open: Vec<_> = self.open.into_iter().collect();
            open.sort_unstable_by_key(|&((src, dst, tag), _)| (dst, src, tag));
            for ((src, dst, tag), Open { net, place, .. }) in open {
                let any = self.receivers.get(dst as usize).map_or(0, |r| r.any);
                let count = net.unsigned_abs();
                match net {
                    0 => {}
                    // One that accepts any may get it.
                    1.. if any > 0 => {}
                    1.. => found.push(Unmatched::Sends {
                        src,
                        dst,
                        tag,
                        count,
                        place,
                    }),
                    _ => found.push(Unmatched::Receives {
                        src,
                        dst,
                        tag,
                        count,
                        place,
                    }),
                }
            }
        }
        for (dst, r) in (0..).zip(&self.receivers) {
            let (sends, receives) = (r.sends, r.receives);
            if sends != receives && (self.coarse || r.any > 0) {
                found.push(Unmatched::Numbers {
                    dst,
                    sends,
                    receives,
                });
            }
        }
        found
    }
}
