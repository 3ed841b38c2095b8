//! Messages of which no packet has been cut, in a short form: in a burst millions of them wait at their
//! NICs.

use crate::engine::pool::MessageId;
use crate::ids::NicId;
use crate::prefetch::prefetch;
use crate::spec::Tick;
use crate::spec::qos::MAX_LEVELS;
use crate::workload::Message;

/// Bits for the number of a NIC: a fabric has at most 2^22 ports.
const NIC_BITS: u32 = 24;
/// Set if the injection is to be reported.
const REPORT: u32 = 1 << 31;

/// A message of which no packet has been cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unopened {
    created: Tick,
    token: u32,
    /// Payload in bytes.
    pub bytes: u32,
    /// Receiving NIC, from [`NIC_BITS`] on the service level, and [`REPORT`].
    to: u32,
    /// Next message of the same queue. Of an entry that is not in use, the next one that is not.
    pub next: MessageId,
}

// The replay keeps 24 B of such a message, and a queue pair that has only this one 15 B: 64 B in all.
const _: () = assert!(size_of::<Unopened>() == 24 && MAX_LEVELS <= 1 << (31 - NIC_BITS));

impl Unopened {
    /// The short form of `message`; `None` if one of its numbers is too large.
    #[inline]
    pub(super) fn of(message: &Message) -> Option<Self> {
        let dst = message.dst.get();
        if dst >> NIC_BITS != 0 {
            return None;
        }
        let report = if message.report_injection { REPORT } else { 0 };
        Some(Self {
            created: message.created,
            token: u32::try_from(message.token).ok()?,
            bytes: u32::try_from(message.bytes).ok()?,
            to: dst | u32::from(message.sl) << NIC_BITS | report,
            next: MessageId::NONE,
        })
    }

    #[inline]
    pub(super) fn token(&self) -> u64 {
        self.token.into()
    }

    #[inline]
    pub(super) fn reports_injection(&self) -> bool {
        self.to & REPORT != 0
    }

    #[inline]
    pub(super) fn dst(&self) -> NicId {
        NicId::new(self.to & ((1 << NIC_BITS) - 1))
    }

    #[inline]
    pub(super) fn sl(&self) -> u8 {
        ((self.to & !REPORT) >> NIC_BITS) as u8
    }

    /// The message, which `src` sends.
    #[inline]
    pub(super) fn message(&self, src: NicId) -> Message {
        Message {
            token: self.token(),
            report_injection: self.reports_injection(),
            ..Message::new(src, self.dst(), self.sl(), self.bytes.into(), self.created)
        }
    }
}

/// The unopened messages that are kept in this form. Their ids have [`TAG`] and lack the bit behind it.
#[derive(Debug)]
pub(super) struct UnopenedPool {
    entries: Vec<Unopened>,
    /// The entry that was removed last; the others follow by [`Unopened::next`].
    free: MessageId,
    count: usize,
}

/// Entries that stay although none is in use.
const MOST_KEPT: usize = 1 << 16;

/// Marks the id of an entry: positions stay below it.
const TAG: u32 = 1 << 30;

impl Default for UnopenedPool {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: MessageId::NONE,
            count: 0,
        }
    }
}

impl UnopenedPool {
    /// Whether message `id` belongs here.
    #[inline(always)]
    pub(super) fn has(id: MessageId) -> bool {
        id.get() >> 30 == 1
    }

    #[inline]
    fn position(id: MessageId) -> usize {
        (id.get() & !TAG) as usize
    }

    /// Messages in this form.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn prefetch(&self, id: MessageId) {
        prefetch(&self.entries, Self::position(id));
    }

    #[inline]
    pub(super) fn insert(&mut self, message: Unopened) -> MessageId {
        self.count += 1;
        let id = self.free;
        if id == MessageId::NONE {
            self.entries.push(message);
            return MessageId::new((self.entries.len() as u32 - 1) | TAG);
        }
        let entry = &mut self.entries[Self::position(id)];
        self.free = std::mem::replace(entry, message).next;
        id
    }

    #[inline]
    pub(super) fn get(&self, id: MessageId) -> &Unopened {
        &self.entries[Self::position(id)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: MessageId) -> &mut Unopened {
        &mut self.entries[Self::position(id)]
    }

    /// Removes message `id`; after a burst, the memory as well if it was the last one.
    #[inline]
    pub(super) fn remove(&mut self, id: MessageId) -> Unopened {
        self.count -= 1;
        let free = std::mem::replace(&mut self.free, id);
        let entry = &mut self.entries[Self::position(id)];
        let message = std::mem::replace(
            entry,
            Unopened {
                next: free,
                ..*entry
            },
        );
        if self.count == 0 && self.entries.len() > MOST_KEPT {
            *self = Self::default();
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_short_form_loses_nothing() {
        let message = Message {
            token: u32::MAX.into(),
            report_injection: true,
            ..Message::new(
                NicId::new(3),
                NicId::new((1 << NIC_BITS) - 1),
                MAX_LEVELS as u8 - 1,
                u32::MAX.into(),
                Tick::MAX,
            )
        };
        let (token, bytes) = (message.token + 1, message.bytes + 1);
        let with = |token, bytes| Message {
            token,
            bytes,
            ..message
        };
        for known in [
            message,
            Message {
                report_injection: false,
                sl: 0,
                ..message
            },
        ] {
            let short = Unopened::of(&known).unwrap();
            assert_eq!(short.message(known.src), known);
        }
        assert!(Unopened::of(&with(token, 1)).is_none() && Unopened::of(&with(1, bytes)).is_none());
        let far = Message {
            dst: NicId::new(1 << NIC_BITS),
            ..message
        };
        assert!(Unopened::of(&far).is_none());
    }

    proptest! {
        /// Every id stands for its own message until it is removed, and entries are used again.
        #[test]
        fn ids_name_their_messages(steps in prop::collection::vec(any::<(bool, usize)>(), 0..200)) {
            let (mut pool, mut model, mut most) = (UnopenedPool::default(), Vec::new(), 0);
            for (token, (add, at)) in (0..).zip(steps) {
                if add || model.is_empty() {
                    let message = Message::new(NicId::new(0), NicId::new(1), 0, token, 0).with_token(token);
                    let id = pool.insert(Unopened::of(&message).unwrap());
                    prop_assert!(UnopenedPool::has(id));
                    model.push((id, message));
                } else {
                    let (id, message) = model.swap_remove(at % model.len());
                    prop_assert_eq!(pool.remove(id).message(NicId::new(0)), message);
                }
                most = most.max(model.len());
                prop_assert_eq!((pool.count(), pool.entries.len()), (model.len(), most));
            }
            for (id, message) in model {
                prop_assert_eq!(pool.get(id).message(NicId::new(0)), message);
            }
        }
    }
}
