//! Phase 3: messages join the queue of their queue pair. They are cut into packets as the send
//! engine of the NIC fetches these (`docs/model/infiniband.md` §8).

use super::Fabric;
use crate::engine::congestion::FlowId;
use crate::engine::nic::PairId;
use crate::engine::probe::Watcher;
use crate::ids::NicId;
use crate::workload::Message;

impl<P: Watcher, const L: usize, const W: usize> Fabric<P, L, W> {
    /// A message joins the queue of its queue pair. Does nothing if there are too many messages.
    #[inline]
    pub(super) fn append(&mut self, message: &Message) {
        let kernel = &mut self.kernel;
        let Some(id) = kernel.create(message) else {
            return;
        };
        let (src, dst, sl) = (message.src, message.dst, message.sl);
        let (routes, congestion) = (&self.routes, &mut self.congestion);
        let pair = self.queue_pairs.find(src, sl, dst, || {
            let flow = congestion.as_mut().map_or(FlowId::default(), |congestion| {
                congestion.flow(src, sl, dst)
            });
            (routes.vl_at_nic(src, dst, sl), flow)
        });
        let state = self.queue_pairs.pair_mut(pair);
        let vl = state.vl;
        if state.queue.push(id, &mut kernel.messages) {
            let (packet, _) = kernel.messages.next_packet(id);
            self.queue_pairs
                .insert(src, vl.into(), pair, packet.credits);
            self.nics[src.index()].waiting_vls |= 1 << vl;
        }
    }

    /// Cuts the next packet off the first message of `pair`, the queue pair at position `at`.
    /// `last`: it is the last packet of the message. Returns its position within the message.
    #[inline(always)]
    pub(super) fn cut_packet(&mut self, nic: NicId, pair: PairId, at: usize, last: bool) -> u32 {
        let messages = &mut self.kernel.messages;
        let state = self.queue_pairs.pair_mut(pair);
        let index = state.queue.cut(messages, last);
        let (vl, queue) = (usize::from(state.vl), state.queue);
        let next = (!queue.is_empty()).then(|| messages.next_packet(queue.first()).0.credits);
        if next.is_none() {
            self.exhausted.push((nic, pair));
        }
        if self.queue_pairs.advance(nic, vl, at, next) {
            self.nics[nic.index()].waiting_vls &= !(1 << vl);
        }
        index
    }
}
