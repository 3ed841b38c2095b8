//! Input buffers that organise the packets of a VL as a FIFO (`docs/model-infiniband.md` §2), or as one for each
//! destination (§15, `PerFlow`).
//!
//! Only the head of a FIFO is in a VoQ, and so requests its output. The packets behind it are
//! listed here. When the head is granted, the next one becomes the head, and joins its VoQ at the
//! end of phase 6. So grants, credits and arbiters know of VoQs only.

use super::flows::{Flow, FlowTable};
use super::packet::Packet;
use super::parts::Queue;
use crate::fabric::engine::ids::InputId;
use crate::fabric::engine::pool::{PacketId, Pool};
use crate::fabric::ids::NicId;
use crate::fabric::spec::voq::InputQueues;

/// The FIFO of an (in-port, VL), or of a flow there.
#[derive(Debug, Clone, Copy, Default)]
struct Fifo {
    /// Its head is in a VoQ.
    has_head: bool,
    /// The packets behind the head.
    behind: Queue,
}

/// Where the FIFOs are.
#[derive(Debug)]
enum Places {
    /// Per in-port · VLs + VL on which packets come.
    PerVl(Vec<Fifo>),
    /// Per in-port: those with a packet.
    PerFlow(Vec<FlowTable<Fifo>>),
}

/// The FIFOs of all in-ports.
#[derive(Debug)]
pub(super) struct Fifos {
    vls: usize,
    places: Places,
    /// Packets that became heads in this tick by the grant of the packet before them; empty
    /// between ticks.
    pub new_heads: Vec<PacketId>,
}

impl Fifos {
    /// Empty FIFOs, if in-ports organise VLs in this way.
    pub(super) fn of(queues: InputQueues, in_ports: usize, vls: usize) -> Option<Box<Self>> {
        let places = match queues {
            InputQueues::Fifo => Places::PerVl(vec![Fifo::default(); in_ports * vls]),
            InputQueues::PerFlow => {
                Places::PerFlow((0..in_ports).map(|_| FlowTable::default()).collect())
            }
            InputQueues::VirtualOutput | InputQueues::Isolating => return None,
        };
        Some(Box::new(Self {
            vls,
            places,
            new_heads: Vec::new(),
        }))
    }

    /// The FIFO of `input` for packets that come on VL `came_on` and go to `dst`.
    fn at(&mut self, input: InputId, came_on: u8, dst: NicId) -> &mut Fifo {
        match &mut self.places {
            Places::PerVl(fifos) => &mut fifos[input.index() * self.vls + usize::from(came_on)],
            Places::PerFlow(tables) => tables[input.index()].entry(Flow::new(came_on, dst)),
        }
    }

    /// Appends packet `id`, whose header has become ready. Returns true if it is the head of its
    /// FIFO.
    pub(super) fn join<const L: usize>(
        &mut self,
        id: PacketId,
        packets: &mut Pool<PacketId, Packet<L>>,
    ) -> bool {
        let Packet {
            input,
            buffer_vl,
            dst,
            ..
        } = packets[id];
        let Fifo { has_head, behind } = self.at(input, buffer_vl, dst);
        if !std::mem::replace(has_head, true) {
            return true;
        }
        match behind.head {
            PacketId::NONE => behind.head = id,
            _ => packets[behind.tail].next = id,
        }
        behind.tail = id;
        false
    }

    /// The head of the FIFO of `input` for packets that come on VL `came_on` and go to `dst` is granted. The
    /// packet behind it is the next head.
    pub(super) fn head_granted<const L: usize>(
        &mut self,
        (input, came_on): (InputId, u8),
        dst: NicId,
        packets: &mut Pool<PacketId, Packet<L>>,
    ) {
        let Fifo { has_head, behind } = self.at(input, came_on, dst);
        let next = behind.head;
        if next == PacketId::NONE {
            *has_head = false;
            if let Places::PerFlow(tables) = &mut self.places {
                tables[input.index()].remove(Flow::new(came_on, dst));
            }
            return;
        }
        behind.head = std::mem::replace(&mut packets[next].next, PacketId::NONE);
        self.new_heads.push(next);
    }

    /// The packets behind the heads.
    pub(super) fn behind_heads<'a, const L: usize>(
        &'a self,
        packets: &'a Pool<PacketId, Packet<L>>,
    ) -> impl Iterator<Item = &'a Packet<L>> {
        let or_none = |id| (id != PacketId::NONE).then_some(id);
        let (per_vl, per_flow) = match &self.places {
            Places::PerVl(fifos) => (&fifos[..], &[][..]),
            Places::PerFlow(tables) => (&[][..], &tables[..]),
        };
        let per_flow = per_flow.iter().flat_map(FlowTable::values);
        per_vl.iter().chain(per_flow).flat_map(move |fifo| {
            let next = move |&id: &PacketId| or_none(packets[id].next);
            std::iter::successors(or_none(fifo.behind.head), next).map(|id| &packets[id])
        })
    }
}
