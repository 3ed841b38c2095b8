//! Phase 3: messages join the application queues, and NICs cut them into packets while their
//! send queues have quota (`docs/model.md` §5). With congestion control a NIC chooses
//! among queue pairs instead of SLs ([`pairs`](super::pairs)). Links send the packets in
//! phase 7 ([`output`](super::output)).

use super::Fabric;
use super::buffers::Retry;
use super::control::Control;
use super::packet::Packet;
use crate::fabric::engine::bits::from_on;
use crate::fabric::engine::pool::{InFlight, MessageId, NONE};
use crate::fabric::ids::NicId;
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Workload};

impl<C: Control> Fabric<C> {
    /// Adds a message to its application queue, and lists its NIC for this phase.
    #[inline]
    pub(super) fn enqueue(&mut self, message: &Message) {
        self.append(message);
        self.touch_nic(message.src.get());
    }

    /// Stores a message. Returns `None` if there are too many, which ends the run after this
    /// tick.
    #[inline]
    pub(super) fn insert_message(&mut self, message: &Message) -> Option<MessageId> {
        debug_assert!(message.created <= self.now, "a message from the future");
        debug_assert_ne!(
            message.src, message.dst,
            "the fabric carries no message to oneself"
        );
        if self.messages.is_full() {
            return None;
        }
        let mtu = self.mtu_bytes[usize::from(message.sl)];
        let id = self.messages.insert(InFlight::new(message, mtu));
        self.counters.messages += 1;
        Some(id)
    }

    /// Adds a message to its application queue.
    #[inline]
    fn append(&mut self, message: &Message) {
        let Some(id) = self.insert_message(message) else {
            return;
        };
        let sl = usize::from(message.sl);
        if self.control.get().is_some() {
            self.append_to_pair(message, id);
            return;
        }
        let nic = &mut self.nics[message.src.index()];
        if nic.fifos.len() <= sl {
            nic.fifos.resize(sl + 1, (NONE, NONE));
        }
        let fifo = &mut nic.fifos[sl];
        if fifo.0 == NONE {
            fifo.0 = id;
            nic.waiting_sls |= 1 << sl;
        } else {
            self.messages[fifo.1].next = id;
        }
        fifo.1 = id;
    }

    /// Every listed NIC fills its send queue.
    #[inline]
    pub(super) fn fill_send_queues(&mut self, workload: &mut impl Workload) {
        for i in 0..self.dirty_nics.len() {
            let nic = self.dirty_nics[i];
            self.nics[nic as usize].dirty = false;
            if self.control.get().is_some() {
                self.fill_from_pairs(nic, workload);
            } else {
                self.fill(nic, workload);
            }
        }
        self.dirty_nics.clear();
    }

    /// Moves packets to the send queue while the head packet of some SL has quota.
    fn fill(&mut self, nic: u32, workload: &mut impl Workload) {
        let at = nic as usize;
        while !self.packets.is_full() {
            let (sls, next) = (self.nics[at].waiting_sls, self.nics[at].next);
            let ahead = from_on(sls, next);
            let (mut wake_at, mut waits, mut moved) = (Tick::MAX, false, false);
            for mut bits in [ahead, sls & !ahead] {
                while bits != 0 && !moved {
                    let sl = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let id = self.nics[at].fifos[sl].0;
                    let packet = self.next_packet(id);
                    let vl = usize::from(packet.vl);
                    if self
                        .send_queues
                        .has_quota(at, vl, packet.credits.into(), self.now)
                    {
                        self.move_packet(nic, sl, packet);
                        moved = true;
                        if self.nics[at].waiting_sls & (1 << sl) == 0
                            && let Some(next) = workload.replenish(
                                self.now,
                                AppQueue {
                                    nic: NicId::new(nic),
                                    sl: sl as u8,
                                    dst: None,
                                },
                            )
                        {
                            self.append(&next);
                        }
                    } else {
                        match self.send_queues.retry(at, vl, packet.credits.into()) {
                            Retry::At(tick) => wake_at = wake_at.min(tick),
                            Retry::AfterCreditReturn => waits = true,
                        }
                    }
                }
            }
            if moved {
                continue;
            }
            self.nics[at].waiting |= waits;
            if wake_at != Tick::MAX {
                self.wake_nic(nic, wake_at);
            }
            return;
        }
    }

    /// The next packet of message `id`.
    #[inline]
    pub(super) fn next_packet(&self, id: MessageId) -> Packet {
        let message = &self.messages[id];
        let sl = usize::from(message.sl);
        let payload = message.bytes_left.min(self.mtu_bytes[sl].into());
        let flits = self.units.data_flits(payload as u32);
        Packet {
            message: id,
            dst: message.dst,
            flits,
            index: message.next_index,
            credits: self.units.credits(flits) as u16,
            sl: message.sl,
            vl: self.vl_policy.at_nic(message.src, message.dst, message.sl),
            last: message.bytes_left == payload,
            ready: self.now,
            next: NONE,
            ..Packet::default()
        }
    }

    /// Moves `packet`, the head packet of `sl`, to the send queue.
    fn move_packet(&mut self, nic: u32, sl: usize, packet: Packet) {
        let next = self.cut_off(&packet);
        let state = &mut self.nics[nic as usize];
        state.next = sl as u8 + 1;
        if packet.last {
            state.fifos[sl].0 = next;
            if next == NONE {
                state.waiting_sls &= !(1 << sl);
            }
        }
        self.put_into_send_queue(nic, packet);
    }

    /// Cuts `packet` off its message. Returns the next message of the FIFO.
    #[inline]
    pub(super) fn cut_off(&mut self, packet: &Packet) -> MessageId {
        let message = &mut self.messages[packet.message];
        message.bytes_left -= message
            .bytes_left
            .min(self.mtu_bytes[usize::from(packet.sl)].into());
        message.next_index = message.next_index.wrapping_add(1);
        message.next
    }

    /// Adds `packet` to the send queue of `nic`.
    #[inline]
    pub(super) fn put_into_send_queue(&mut self, nic: u32, packet: Packet) {
        let (at, vl) = (nic as usize, usize::from(packet.vl));
        self.send_queues.take(at, vl, packet.credits.into());
        let id = self.packets.insert(packet);
        let heads = &mut self.links[self.ports + at].heads;
        self.send_queues.push(heads, at, vl, id, &mut self.packets);
        self.packet_ready_at_output(self.ports as u32 + nic, vl);
    }
}
