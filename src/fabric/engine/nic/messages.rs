//! Messages on their way, the queues in which they wait at their NICs, and how they are cut into
//! packets (`docs/model/fabric.md` §2, `docs/model/infiniband.md` §8).

use crate::engine::counters::Counters;
use crate::engine::pool::{InFlight, MessageId, Pool};
use crate::spec::{FabricSpec, Tick, Units};
use crate::workload::Message;

/// Size of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct DataPacket {
    /// Length on the wire, headers included.
    pub bytes: u32,
    pub flits: u32,
    /// Credits that it takes in any buffer.
    pub credits: u16,
}

impl DataPacket {
    fn new(payload: u32, units: Units) -> Self {
        let flits = units.data_flits(payload);
        Self {
            bytes: payload + units.header_bytes,
            flits,
            credits: units.credits(flits) as u16,
        }
    }
}

/// The largest packet of an SL. Most packets are as large, so nothing is divided for them.
#[derive(Debug, Clone, Copy)]
struct LargestPacket {
    /// In bytes.
    payload: u32,
    packet: DataPacket,
}

/// All messages in flight.
#[derive(Debug)]
pub(in crate::engine) struct Messages {
    pool: Pool<MessageId, InFlight>,
    units: Units,
    /// Per SL.
    largest: Vec<LargestPacket>,
}

impl Messages {
    pub(in crate::engine) fn new(spec: &FabricSpec) -> Self {
        let units = spec.units;
        let levels = spec.qos.service_levels.iter();
        Self {
            pool: Pool::new(),
            units,
            largest: levels
                .map(|level| LargestPacket {
                    payload: level.mtu_bytes,
                    packet: DataPacket::new(level.mtu_bytes, units),
                })
                .collect(),
        }
    }

    /// Whether no message is in flight.
    #[inline]
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }

    /// Whether no more messages can be numbered.
    #[inline]
    pub(in crate::engine) fn is_full(&self) -> bool {
        self.pool.is_full()
    }

    /// Per SL: largest payload of a packet in bytes.
    pub(in crate::engine) fn mtu_bytes(&self) -> Vec<u32> {
        self.largest.iter().map(|largest| largest.payload).collect()
    }

    /// Stores a message that is created by tick `now`. Returns `None` if there are too many, which
    /// ends the run after this tick.
    #[inline]
    pub(in crate::engine) fn create(
        &mut self,
        message: &Message,
        now: Tick,
        counters: &mut Counters,
    ) -> Option<MessageId> {
        debug_assert!(message.created <= now, "a message from the future");
        debug_assert_ne!(
            message.src, message.dst,
            "the fabric carries no message to oneself"
        );
        if self.pool.is_full() {
            return None;
        }
        let mtu = self.largest[usize::from(message.sl)].payload;
        counters.counts.messages += 1;
        Some(self.pool.insert(InFlight::new(message, mtu)))
    }

    #[inline]
    pub(in crate::engine) fn prefetch(&self, id: MessageId) {
        self.pool.prefetch(id);
    }

    /// Forgets a message that has been delivered.
    #[inline]
    pub(in crate::engine) fn remove(&mut self, id: MessageId) {
        self.pool.remove(id);
    }

    /// The next packet of message `id`, and whether it is the last one.
    #[inline]
    pub(in crate::engine) fn next_packet(&self, id: MessageId) -> (DataPacket, bool) {
        let message = &self.pool[id];
        let largest = &self.largest[usize::from(message.sl)];
        let (left, most) = (message.bytes_left, u64::from(largest.payload));
        let packet = if left < most {
            DataPacket::new(left as u32, self.units)
        } else {
            largest.packet
        };
        (packet, left <= most)
    }

    /// Cuts the next packet off message `id`. Returns its position within the message.
    #[inline]
    fn cut(&mut self, id: MessageId) -> u32 {
        let message = &mut self.pool[id];
        let most = u64::from(self.largest[usize::from(message.sl)].payload);
        let index = message.next_index;
        message.bytes_left -= message.bytes_left.min(most);
        message.next_index = index.wrapping_add(1);
        index
    }
}

impl std::ops::Index<MessageId> for Messages {
    type Output = InFlight;
    #[inline]
    fn index(&self, id: MessageId) -> &InFlight {
        &self.pool[id]
    }
}

impl std::ops::IndexMut<MessageId> for Messages {
    #[inline]
    fn index_mut(&mut self, id: MessageId) -> &mut InFlight {
        &mut self.pool[id]
    }
}

/// A FIFO of messages at a NIC, linked by [`InFlight::next`].
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct MessageQueue {
    first: MessageId,
    /// Means nothing if the queue is empty.
    last: MessageId,
}

impl MessageQueue {
    pub(in crate::engine) const EMPTY: Self = Self {
        first: MessageId::NONE,
        last: MessageId::NONE,
    };

    /// The first message, which the next packet comes from; [`MessageId::NONE`] if there is none.
    #[inline]
    pub(in crate::engine) fn first(&self) -> MessageId {
        self.first
    }

    #[inline]
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.first == MessageId::NONE
    }

    /// Appends message `id`. Returns whether the queue was empty.
    #[inline]
    pub(in crate::engine) fn push(&mut self, id: MessageId, messages: &mut Messages) -> bool {
        let last = std::mem::replace(&mut self.last, id);
        if self.first == MessageId::NONE {
            self.first = id;
            return true;
        }
        messages[last].next = id;
        false
    }

    /// Cuts the next packet off the first message. `last`: it is the last packet of the message,
    /// which leaves the queue. Returns its position within the message.
    #[inline]
    pub(in crate::engine) fn cut(&mut self, messages: &mut Messages, last: bool) -> u32 {
        let id = self.first;
        let index = messages.cut(id);
        if last {
            self.first = messages[id].next;
        }
        index
    }
}
