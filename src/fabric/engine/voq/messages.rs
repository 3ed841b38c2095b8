//! Phase 3: messages join the send queue of their queue pair. They are cut into packets as the send
//! engine of the NIC fetches these (`docs/model-infiniband.md` §8).

use super::Fabric;
use super::rate::Length;
use crate::fabric::engine::pool::{InFlight, MessageId, NONE};
use crate::fabric::workload::Message;

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// A message joins the send queue of its queue pair.
    #[inline]
    pub(super) fn enqueue(&mut self, message: &Message) {
        debug_assert!(message.created <= self.now, "a message from the future");
        debug_assert_ne!(
            message.src, message.dst,
            "the fabric carries no message to oneself"
        );
        if self.messages.is_full() {
            // The run ends with this tick.
            return;
        }
        let (src, dst, sl) = (message.src.get(), message.dst.get(), message.sl);
        let mtu = self.largest_packets[usize::from(sl)].payload;
        let id = self.messages.insert(InFlight::new(message, mtu));
        self.counters.messages += 1;
        let (routes, congestion) = (&self.routes, &mut self.congestion);
        let pair = self.queue_pairs.find(src, (sl, dst), || {
            let flow = congestion
                .as_mut()
                .map_or(0, |congestion| congestion.sources.flow(src, sl, dst));
            (routes.vl_at_nic(src, dst, sl), flow)
        });
        let state = self.queue_pairs.pair_mut(pair);
        let tail = std::mem::replace(&mut state.tail, id);
        if state.head == NONE {
            state.head = id;
            let vl = state.vl;
            let credits = self.next_packet_credits(id);
            self.queue_pairs.insert(src, pair, credits);
            self.nics[src as usize].waiting_vls |= 1 << vl;
        } else {
            self.messages[tail].next = id;
        }
    }

    /// Length of the next packet of `message`, and whether it is the last one.
    #[inline]
    pub(super) fn next_packet(&self, message: MessageId) -> (Length, bool) {
        let message = &self.messages[message];
        let largest = &self.largest_packets[usize::from(message.sl)];
        let (left, most) = (message.bytes_left, u64::from(largest.payload));
        let length = match left < most {
            true => Length::of_data(left as u32, self.units),
            false => largest.length,
        };
        (length, left <= most)
    }

    /// Credits that the next packet of `message` takes.
    #[inline]
    pub(super) fn next_packet_credits(&self, message: MessageId) -> u16 {
        let message = &self.messages[message];
        let largest = &self.largest_packets[usize::from(message.sl)];
        if message.bytes_left >= largest.payload.into() {
            return largest.credits;
        }
        let flits = self.units.data_flits(message.bytes_left as u32);
        self.units.credits(flits) as u16
    }

    /// Cuts the next packet off the first message of `pair`, the queue pair at position `at`.
    /// `last`: it is the last packet of the message. Returns its position within the message.
    #[inline(always)]
    pub(super) fn cut_packet(&mut self, nic: u32, pair: u32, at: usize, last: bool) -> u32 {
        let state = *self.queue_pairs.pair(pair);
        let (id, vl) = (state.head, usize::from(state.vl));
        let message = &mut self.messages[id];
        let mtu = u64::from(self.largest_packets[usize::from(state.sl)].payload);
        let index = message.next_index;
        message.bytes_left -= message.bytes_left.min(mtu);
        message.next_index = index.wrapping_add(1);
        let mut next = id;
        if last {
            next = message.next;
            self.queue_pairs.pair_mut(pair).head = next;
        }
        let next = (next != NONE).then(|| self.next_packet_credits(next));
        if next.is_none() {
            self.exhausted.push((nic, pair));
        }
        if self.queue_pairs.advance(nic, vl, at, next) {
            self.nics[nic as usize].waiting_vls &= !(1 << vl);
        }
        index
    }
}
