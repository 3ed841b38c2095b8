//! Phase 3: messages join the queue of their queue pair. They are cut into packets as the send
//! engine of the NIC fetches these (`docs/model/infiniband.md` §8).

use super::Fabric;
use crate::engine::congestion::FlowId;
use crate::engine::nic::Place;
use crate::engine::pool::MessageId;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::workload::Message;

impl<V: Variant> Fabric<V> {
    /// A message joins the queue of its queue pair. Does nothing if there are too many messages.
    #[inline]
    pub(super) fn append(&mut self, message: &Message) {
        let kernel = &mut self.kernel;
        let Some(id) = kernel.create(message) else {
            return;
        };
        let Message { src, dst, sl, .. } = *message;
        let vl = self.routes.vl_at_nic(src, dst, sl);
        let congestion = &mut self.congestion;
        let flow = || {
            congestion.as_mut().map_or(FlowId::default(), |congestion| {
                congestion.flow(src, sl, dst)
            })
        };
        let (message, queue) = ((message, id), (vl.into(), vl));
        let messages = &mut kernel.messages;
        if self.nics.queue_pairs.append(message, queue, messages, flow) {
            self.nics.state[src].waiting_vls |= 1 << vl;
        }
    }

    /// Cuts the next packet off the first message of the queue pair at `place` on `vl`. `last`: it is the last packet of
    /// the message. Returns the message, and the position of the packet within it.
    #[inline(always)]
    pub(super) fn cut_packet(
        &mut self,
        (nic, vl, place): (NicId, usize, Place),
        last: bool,
    ) -> (MessageId, u32) {
        let key = self.nics.queue_pairs.waiting(nic, vl).at(place).key();
        let messages = &mut self.kernel.messages;
        let cut = self.nics.queue_pairs.cut((nic, vl, place), messages, last);
        if cut.exhausted {
            self.work.exhausted.push((nic, key));
            if self.nics.queue_pairs.remove(nic, vl, place) {
                self.nics.state[nic].waiting_vls &= !(1 << vl);
            }
        }
        (cut.message, cut.index)
    }
}
