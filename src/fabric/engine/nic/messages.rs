//! Messages on their way, the queues in which they wait at their NICs, and how they are cut into
//! packets (`docs/model/fabric.md` §2, `docs/model/infiniband.md` §8).

use super::unopened::{Unopened, UnopenedPool};
use crate::engine::counters::Counters;
use crate::engine::pool::{InFlight, MOST_ENTRIES, MessageId, Pool};
use crate::ids::NicId;
use crate::spec::{FabricSpec, Switch, Tick, Units};
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

/// Messages of a NIC that are kept whole, whether they are opened or not: so few that their size
/// does not matter, and only a burst needs the short form. In debug builds there are so few that the
/// comparison with the oracle covers both.
const WHOLE_PER_NIC: usize = if cfg!(debug_assertions) { 1 } else { 8 };

/// All messages in flight. A message is *opened* when its first packet is cut, unless that is the only one. Where many
/// wait for that, most of them are kept in a shorter form, and their ids say so ([`UnopenedPool`]).
#[derive(Debug)]
pub(in crate::engine) struct Messages {
    pool: Pool<MessageId, InFlight>,
    unopened: UnopenedPool,
    /// From this number of whole messages on, a new one is kept in the shorter form.
    most_whole: usize,
    /// Packets know their source. Then a message of one packet keeps the shorter form until it is delivered.
    packets_know_source: bool,
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
            unopened: UnopenedPool::default(),
            most_whole: WHOLE_PER_NIC * spec.topology.endpoints() as usize,
            packets_know_source: matches!(spec.switch, Switch::Voq(_)),
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
        self.pool.is_empty() && self.unopened.count() == 0
    }

    /// Whether no more messages can be numbered.
    #[inline]
    pub(in crate::engine) fn is_full(&self) -> bool {
        self.pool.is_full() || self.pool.used() + self.unopened.count() >= MOST_ENTRIES
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
        if self.is_full() {
            return None;
        }
        counters.counts.messages += 1;
        if self.pool.used() >= self.most_whole
            && let Some(unopened) = Unopened::of(message)
        {
            return Some(self.unopened.insert(unopened));
        }
        let mtu = self.largest[usize::from(message.sl)].payload;
        Some(self.pool.insert(InFlight::new(message, mtu)))
    }

    /// Removes message `id` from `src`, of one packet, if it is kept in the shorter form.
    #[inline]
    pub(in crate::engine) fn take_unopened(
        &mut self,
        id: MessageId,
        src: NicId,
    ) -> Option<InFlight> {
        UnopenedPool::has(id)
            .then(|| InFlight::new(&self.unopened.remove(id).message(src), u32::MAX))
    }

    /// The workload's name of message `id`.
    #[inline]
    pub(in crate::engine) fn token(&self, id: MessageId) -> u64 {
        if UnopenedPool::has(id) {
            return self.unopened.get(id).token();
        }
        self.pool[id].token
    }

    /// Whether the injection of message `id` is to be reported.
    #[inline]
    pub(in crate::engine) fn reports_injection(&self, id: MessageId) -> bool {
        if UnopenedPool::has(id) {
            return self.unopened.get(id).reports_injection();
        }
        self.pool[id].report_injection
    }

    /// The id of message `id` of `nic` once its first packet is cut.
    #[inline]
    fn open(&mut self, id: MessageId, nic: NicId) -> MessageId {
        if !UnopenedPool::has(id) {
            return id;
        }
        let message = self.unopened.remove(id);
        let mtu = self.largest[usize::from(message.sl())].payload;
        let opened = InFlight {
            next: message.next,
            ..InFlight::new(&message.message(nic), mtu)
        };
        self.pool.insert(opened)
    }

    /// Cuts the next packet off message `id` of `nic`, perhaps the first and the `last` one. Returns the id that the
    /// message now has, and the position of the packet within it.
    #[inline]
    fn cut_first(&mut self, id: MessageId, nic: NicId, last: bool) -> (MessageId, u32) {
        if last && self.packets_know_source && UnopenedPool::has(id) {
            return (id, 0);
        }
        let id = self.open(id, nic);
        (id, self.cut(id))
    }

    /// Receiving NIC of message `id`.
    #[inline]
    pub(in crate::engine) fn dst(&self, id: MessageId) -> NicId {
        if UnopenedPool::has(id) {
            return self.unopened.get(id).dst();
        }
        self.pool[id].dst
    }

    /// The message behind `id` in its queue.
    #[inline]
    pub(super) fn next(&self, id: MessageId) -> MessageId {
        if UnopenedPool::has(id) {
            return self.unopened.get(id).next;
        }
        self.pool[id].next
    }

    /// Puts message `next` behind `id` in its queue.
    #[inline]
    pub(super) fn link(&mut self, id: MessageId, next: MessageId) {
        if UnopenedPool::has(id) {
            self.unopened.get_mut(id).next = next;
        } else {
            self.pool[id].next = next;
        }
    }

    #[inline]
    pub(in crate::engine) fn prefetch(&self, id: MessageId) {
        if UnopenedPool::has(id) {
            self.unopened.prefetch(id);
        } else {
            self.pool.prefetch(id);
        }
    }

    /// Forgets a message that has been delivered.
    #[inline]
    pub(in crate::engine) fn remove(&mut self, id: MessageId) {
        self.pool.remove(id);
    }

    /// The next packet of message `id`, and whether it is the last one.
    #[inline]
    pub(in crate::engine) fn next_packet(&self, id: MessageId) -> (DataPacket, bool) {
        let (sl, left) = if UnopenedPool::has(id) {
            let message = self.unopened.get(id);
            (message.sl(), message.bytes.into())
        } else {
            let message = &self.pool[id];
            (message.sl, message.bytes_left)
        };
        let largest = &self.largest[usize::from(sl)];
        let most = u64::from(largest.payload);
        let packet = if left < most {
            DataPacket::new(left as u32, self.units)
        } else {
            largest.packet
        };
        (packet, left <= most)
    }

    /// Cuts the next packet off message `id`, which is opened. Returns its position within the message.
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

    /// The queue whose last message is linked to its first one.
    #[inline]
    pub(super) fn of_ring(last: MessageId, messages: &Messages) -> Self {
        Self {
            first: messages.next(last),
            last,
        }
    }

    /// Links the last message to the first one, and returns it; [`MessageId::NONE`] if there is none.
    #[inline]
    pub(super) fn into_ring(self, messages: &mut Messages) -> MessageId {
        if self.is_empty() {
            return MessageId::NONE;
        }
        messages.link(self.last, self.first);
        self.last
    }

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
        messages.link(last, id);
        false
    }

    /// Cuts the next packet off the first message, which `nic` sends. `last`: it is the last packet of the message,
    /// which leaves the queue. Returns the message and the position of the packet within it.
    #[inline]
    pub(in crate::engine) fn cut(
        &mut self,
        nic: NicId,
        messages: &mut Messages,
        last: bool,
    ) -> (MessageId, u32) {
        let is_only = self.first == self.last;
        let (id, index) = messages.cut_first(self.first, nic, last);
        if !last {
            self.first = id;
            if is_only {
                self.last = id;
            }
        } else if is_only {
            self.first = MessageId::NONE;
        } else {
            self.first = messages.next(id);
        }
        (id, index)
    }
}
