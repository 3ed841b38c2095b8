//! Phase 3 with congestion control: a NIC has a FIFO of messages per queue pair, and holds
//! back the packets of flows that were notified of congestion (`docs/model/infiniband.md`
//! §12). How long it holds them is decided in
//! [`congestion`](crate::engine::congestion).

use super::ledgers::Retry;
use super::nic::NextPacket;
use super::nics::NextOnVl;
use super::{Event, Fabric};
use crate::engine::nic::Place;
use crate::engine::pool::MessageId;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::workload::{Message, Workload};

/// All queue pairs of a NIC are scanned in one order, whatever their VLs.
const GROUP: usize = 0;

impl<V: Variant> Fabric<V> {
    /// Adds message `id` to the queue of its queue pair.
    pub(super) fn append_to_pair(&mut self, message: &Message, id: MessageId) {
        let (src, dst, sl) = (message.src, message.dst, message.sl);
        let Some(control) = V::part_mut(&mut self.control) else {
            return;
        };
        let vl = self.vl_policy.at_nic(src, dst, sl);
        control.nics[src.index()].vls |= 1 << vl;
        let (message, queue) = ((message, id), (GROUP, vl));
        let (messages, sources) = (&mut self.kernel.messages, &mut control.congestion);
        let flow = || sources.flow(src, sl, dst);
        control.queue_pairs.append(message, queue, messages, flow);
    }

    /// Moves packets to the send queue while the head packet of some queue pair has quota and
    /// is not held back.
    pub(super) fn fill_from_pairs(&mut self, nic: NicId, workload: &mut dyn Workload) {
        while !self.kernel.packets.is_full() {
            let Some(place) = self.next_pair(nic) else {
                break;
            };
            self.move_from_pair(nic, place, workload);
        }
        if let Some(control) = V::part_mut(&mut self.control)
            && control.queue_pairs.waiting(nic, GROUP).is_empty()
        {
            control.nics[nic.index()].vls = 0;
        }
    }

    /// Moves a packet of the queue pair at `place` to the send queue.
    fn move_from_pair(&mut self, nic: NicId, place: Place, workload: &mut dyn Workload) {
        let Some(control) = V::part_mut(&mut self.control) else {
            return;
        };
        let pair = control.queue_pairs.waiting(nic, GROUP).at(place);
        control.nics[nic.index()].pointer = pair.key() + 1;
        self.nics.state[nic].next_on_vls.remove(pair.key());
        control.queued(pair.flow);
        let messages = &mut self.kernel.messages;
        let first = control.queue_pairs.first(pair, messages);
        let (packet, last) = messages.next_packet(first);
        let at = (nic, GROUP, place);
        let cut = control.queue_pairs.cut(at, messages, last);
        let queue = control.queue_pairs.queue(nic, pair.key());
        let vl = pair.vl();
        let next = NextPacket { packet, last, vl };
        self.move_packet(nic, (cut.message, cut.index), next);
        if !cut.exhausted {
            return;
        }
        let more = workload.replenish(self.kernel.now, queue);
        let id = more.and_then(|message| self.kernel.create(&message));
        let Some(control) = V::part_mut(&mut self.control) else {
            return;
        };
        match id {
            Some(id) => control
                .queue_pairs
                .refill(at, &mut self.kernel.messages, id),
            None => {
                control.queue_pairs.remove(nic, GROUP, place);
            }
        }
    }

    /// Place of the queue pair whose head packet moves next. If there is none, the NIC will be
    /// woken.
    fn next_pair(&mut self, nic: NicId) -> Option<Place> {
        let (at, now) = (nic.index(), self.kernel.now);
        let (mut wake_at, mut waits) = (Tick::MAX, false);
        let mut note_retry = |retry: Retry| match retry {
            Retry::At(tick) => wake_at = wake_at.min(tick),
            Retry::AfterCreditReturn => waits = true,
        };
        let control = V::part(&self.control)?;
        let state = &control.nics[at];
        // VLs without a free credit are found first, because there may be many pairs.
        let (mut full, mut vls) = (0u32, state.vls);
        while vls != 0 {
            let vl = vls.trailing_zeros() as usize;
            vls &= vls - 1;
            if !self.nics.send_queues.credits.has_quota(at, vl, 1, now) {
                full |= 1 << vl;
                note_retry(self.nics.send_queues.credits.retry(at, vl, 1));
            }
        }
        let mut held_until = Tick::MAX;
        if full != state.vls {
            let is_held = |next: &NextOnVl| {
                full & (1 << next.vl) == 0 && control.held_until(next.flow, now).is_some()
            };
            self.nics.state[nic].next_on_vls.remove_held(is_held);
            let waiting = control.queue_pairs.waiting(nic, GROUP);
            for place in waiting.from(state.pointer) {
                let pair = waiting.at(place);
                let (vl, credits) = (usize::from(pair.vl()), pair.credits);
                if full & (1 << vl) != 0 {
                    continue;
                }
                let head = NextOnVl {
                    key: pair.key(),
                    flow: pair.flow,
                    vl: pair.vl(),
                    credits,
                };
                let next = &mut self.nics.state[nic].next_on_vls;
                let queues = &mut self.nics.send_queues.credits;
                if let Some(tick) = control.held_until(pair.flow, now) {
                    held_until = held_until.min(tick);
                } else if !queues.has_quota(at, vl, credits.into(), now) {
                    next.add(head);
                    note_retry(queues.retry(at, vl, credits.into()));
                } else if !next.yields(head) {
                    return Some(place);
                }
            }
        }
        self.nics.state[nic].waiting |= waits;
        let wake_at = wake_at.min(held_until);
        if wake_at != Tick::MAX {
            self.wake(Event::Nic(nic), wake_at);
        }
        None
    }
}
