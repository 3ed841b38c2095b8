//! Pools of the messages and packets in flight. The index of an entry identifies it. A later entry
//! reuses the index of a removed one.

use crate::ids::NicId;
use crate::prefetch::prefetch_all;
use crate::spec::Tick;
use crate::workload::Message;
use flitwise_base::define_ids;

/// Names an entry of a [`Pool`] or of a list.
pub(super) trait EntryId: Copy {
    /// The name of the entry at this position.
    fn of(position: u32) -> Self;
    /// Position of the entry.
    fn position(self) -> usize;
}

define_ids! {
    /// A packet in flight.
    PacketId;
    /// A message in flight.
    MessageId;
}

/// Makes ids the names of entries.
macro_rules! name_entries {
    ($($name:ident)+) => {$(
        impl EntryId for $name {
            #[inline(always)]
            fn of(position: u32) -> Self {
                Self::new(position)
            }

            #[inline(always)]
            fn position(self) -> usize {
                self.index()
            }
        }
    )+};
}

pub(super) use name_entries;

name_entries!(PacketId MessageId);

impl PacketId {
    /// No packet.
    pub(super) const NONE: Self = Self::new(u32::MAX);
}

impl MessageId {
    /// No message.
    pub(super) const NONE: Self = Self::new(u32::MAX);
}

/// A message, from its creation to its delivery.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct InFlight {
    /// The workload's name of the message.
    pub token: u64,
    pub created: Tick,
    /// Payload in bytes that has not been cut into packets yet.
    pub bytes_left: u64,
    /// Payload in bytes.
    pub bytes: u64,
    /// Packets that have not been delivered yet, including packets that have not been cut yet.
    pub undelivered: u64,
    /// Next message of the same send queue or application FIFO.
    pub next: MessageId,
    pub src: NicId,
    pub dst: NicId,
    /// Position within the message of the next packet to be cut.
    pub next_index: u32,
    pub sl: u8,
    pub report_injection: bool,
}

impl InFlight {
    /// A message that was just created. `mtu_bytes`: largest payload of a packet.
    #[inline]
    pub(super) fn new(message: &Message, mtu_bytes: u32) -> Self {
        Self {
            token: message.token,
            created: message.created,
            bytes_left: message.bytes,
            bytes: message.bytes,
            undelivered: if message.bytes <= mtu_bytes.into() {
                1
            } else {
                message.bytes.div_ceil(mtu_bytes.into())
            },
            next: MessageId::NONE,
            src: message.src,
            dst: message.dst,
            next_index: 0,
            sl: message.sl,
            report_injection: message.report_injection,
        }
    }
}

/// Most messages, and most packets, at a time, as an event must carry their number beside its
/// kind. Fewer in unit tests, which fill the pools.
pub(super) const MOST_ENTRIES: usize = if cfg!(test) { 1 << 14 } else { 1 << 28 };

/// A slab: the entry that was removed last is reused first.
#[derive(Debug)]
pub(super) struct Pool<I, T> {
    entries: Vec<T>,
    free: Vec<I>,
}

impl<I: EntryId, T> Pool<I, T> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: T) -> I {
        if let Some(id) = self.free.pop() {
            self.entries[id.position()] = entry;
            id
        } else {
            let id = self.entries.len();
            self.entries.push(entry);
            I::of(id as u32)
        }
    }

    /// Whether no entry may be added any more, as an event could not carry its number.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MOST_ENTRIES
    }

    /// Entries in use.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether no entry is in use.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// All entries, including entries that are not in use.
    pub(super) fn entries(&self) -> &[T] {
        &self.entries
    }

    #[inline]
    pub(super) fn prefetch(&self, id: I) {
        prefetch_all(&self.entries, id.position());
    }

    #[inline]
    pub(super) fn remove(&mut self, id: I) {
        self.free.push(id);
    }
}

impl<I: EntryId, T> std::ops::Index<I> for Pool<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.position()]
    }
}

impl<I: EntryId, T> std::ops::IndexMut<I> for Pool<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.position()]
    }
}
