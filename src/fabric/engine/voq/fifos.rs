//! Input buffers that organise the packets of a VL as a FIFO (`docs/model/infiniband.md` §2), or as one for each
//! destination (§15, `PerFlow`).
//!
//! Only the head of a FIFO is in a VoQ, and so requests its output. The packets behind it are
//! listed here. When the head is granted, the next one becomes the head, and joins its VoQ at the
//! end of phase 6. So grants, credits and arbiters know of VoQs only.

use super::flows::{Flow, FlowTable};
use super::packet::{Packet, Packets};
use super::state::Queue;
use crate::engine::ids::InputId;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::prefetch::prefetch;
use crate::spec::voq::InputQueues;

/// Which VLs of an in-port have packets in their FIFO. Most of the time most have none: then nothing else is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VlFifos {
    /// Bit set of the VLs whose head is in a VoQ.
    heads: u32,
    /// Bit set of the VLs with packets behind the head.
    behind: u32,
}

impl VlFifos {
    /// A packet comes on `vl`. Returns whether it is the head of its FIFO.
    #[inline(always)]
    pub(super) fn is_head(&mut self, vl: u8) -> bool {
        let vl = 1 << vl;
        let is_head = self.heads & vl == 0;
        self.heads |= vl;
        is_head
    }

    /// The head of the FIFO of `vl` is granted. Returns whether no packet is behind it.
    #[inline(always)]
    pub(super) fn is_last(&mut self, vl: u8) -> bool {
        let vl = 1 << vl;
        let is_last = self.behind & vl == 0;
        if is_last {
            self.heads &= !vl;
        }
        is_last
    }
}

/// The FIFO of a flow at an in-port.
#[derive(Debug, Clone, Copy, Default)]
struct FlowFifo {
    /// Its head is in a VoQ.
    has_head: bool,
    /// The packets behind the head.
    behind: Queue,
}

/// The packets behind heads.
#[derive(Debug)]
enum Places {
    /// Per in-port · VLs + VL on which packets come; [`VlFifos`] says which have a head.
    PerVl(Vec<Queue>),
    /// Per in-port: those with a packet.
    PerFlow(Vec<FlowTable<FlowFifo>>),
}

/// The FIFOs of all in-ports.
#[derive(Debug)]
pub(super) struct Fifos {
    vls: usize,
    places: Places,
}

/// The FIFO of an in-port for the packets that come on a VL and go to a NIC.
pub(super) type FifoAt = (InputId, u8, NicId);

impl Fifos {
    /// Empty FIFOs, if in-ports have FIFOs.
    pub(super) fn of(queues: InputQueues, in_ports: usize, vls: usize) -> Option<Box<Self>> {
        let places = match queues {
            InputQueues::Fifo => Places::PerVl(vec![Queue::default(); in_ports * vls]),
            InputQueues::PerFlow => {
                Places::PerFlow((0..in_ports).map(|_| FlowTable::default()).collect())
            }
            InputQueues::VirtualOutput | InputQueues::Isolating => return None,
        };
        Some(Box::new(Self { vls, places }))
    }

    /// Prefetches the FIFO of `input` for packets that come on VL `came_on`, if it does not depend on the packet.
    #[inline]
    pub(super) fn prefetch(&self, input: InputId, came_on: u8) {
        if let Places::PerVl(fifos) = &self.places {
            prefetch(
                fifos,
                input
                    .index()
                    .wrapping_mul(self.vls)
                    .wrapping_add(came_on.into()),
            );
        }
    }

    /// Whether in-ports have a FIFO for each VL.
    #[inline]
    pub(super) fn are_of_vls(&self) -> bool {
        matches!(self.places, Places::PerVl(_))
    }

    /// Appends packet `id`, whose header has become ready, to the FIFO `at`. Returns whether it is the head; with a FIFO for
    /// each VL it is not, as [`VlFifos::is_head`] returned false. `of_vls`: the FIFOs of the in-port.
    #[inline(never)]
    pub(super) fn join<V: Variant>(
        &mut self,
        id: PacketId,
        at: FifoAt,
        of_vls: &mut VlFifos,
        packets: &mut Packets<V>,
    ) -> bool {
        let Places::PerVl(fifos) = &mut self.places else {
            return self.join_flow(id, at, packets);
        };
        let (input, came_on, _) = at;
        of_vls.behind |= 1 << came_on;
        let behind = &mut fifos[input.index() * self.vls + usize::from(came_on)];
        behind.append(id, |tail| &mut packets[tail].next);
        false
    }

    fn join_flow<V: Variant>(
        &mut self,
        id: PacketId,
        (input, came_on, dst): FifoAt,
        packets: &mut Packets<V>,
    ) -> bool {
        let Places::PerFlow(tables) = &mut self.places else {
            return true;
        };
        let FlowFifo { has_head, behind } = tables[input.index()].entry(Flow::new(came_on, dst));
        if !std::mem::replace(has_head, true) {
            return true;
        }
        behind.append(id, |tail| &mut packets[tail].next);
        false
    }

    /// The head of the FIFO `at` is granted. Returns the packet behind it, which is the next head; with a FIFO for each VL
    /// there is one: [`VlFifos::is_last`] has said so.
    #[inline(never)]
    pub(super) fn head_granted<V: Variant>(
        &mut self,
        at: FifoAt,
        of_vls: &mut VlFifos,
        packets: &mut Packets<V>,
    ) -> Option<PacketId> {
        let Places::PerVl(fifos) = &mut self.places else {
            return self.flow_granted(at, packets);
        };
        let (input, came_on, _) = at;
        let behind = &mut fifos[input.index() * self.vls + usize::from(came_on)];
        let next = take_first(behind, packets);
        if behind.head == PacketId::NONE {
            of_vls.behind &= !(1 << came_on);
        }
        Some(next)
    }

    fn flow_granted<V: Variant>(
        &mut self,
        (input, came_on, dst): FifoAt,
        packets: &mut Packets<V>,
    ) -> Option<PacketId> {
        let Places::PerFlow(tables) = &mut self.places else {
            return None;
        };
        let flow = Flow::new(came_on, dst);
        let FlowFifo { behind, .. } = tables[input.index()].entry(flow);
        match behind.head {
            PacketId::NONE => {
                tables[input.index()].remove(flow);
                None
            }
            _ => Some(take_first(behind, packets)),
        }
    }

    /// The packets behind the heads.
    pub(super) fn behind_heads<'a, V: Variant>(
        &'a self,
        packets: &'a Packets<V>,
    ) -> impl Iterator<Item = &'a Packet<V>> {
        let or_none = |id| (id != PacketId::NONE).then_some(id);
        let (per_vl, per_flow) = match &self.places {
            Places::PerVl(fifos) => (&fifos[..], &[][..]),
            Places::PerFlow(tables) => (&[][..], &tables[..]),
        };
        let per_flow = per_flow.iter().flat_map(FlowTable::values);
        let per_flow = per_flow.map(|fifo| &fifo.behind);
        per_vl.iter().chain(per_flow).flat_map(move |behind| {
            let next = move |&id: &PacketId| or_none(packets[id].next);
            std::iter::successors(or_none(behind.head), next).map(|id| &packets[id])
        })
    }
}

/// Takes the first packet out of a queue that has one.
#[inline(always)]
fn take_first<V: Variant>(queue: &mut Queue, packets: &mut Packets<V>) -> PacketId {
    let first = queue.head;
    queue.head = std::mem::replace(&mut packets[first].next, PacketId::NONE);
    first
}
