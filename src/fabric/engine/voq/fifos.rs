//! Input buffers that organise the packets of a VL as a FIFO (`docs/model-infiniband.md` §2).
//!
//! Only the head of a FIFO is in a VoQ, and so requests its output. The packets behind it are
//! listed here. When the head is granted, the next one becomes the head, and joins its VoQ at the
//! end of phase 6. So grants, credits and arbiters know of VoQs only.

use super::packet::Packet;
use super::parts::Queue;
use crate::fabric::engine::ids::InputId;
use crate::fabric::engine::pool::{PacketId, Pool};

/// The FIFO of an (in-port, VL).
#[derive(Debug, Clone, Copy, Default)]
struct Fifo {
    /// Its head is in a VoQ.
    has_head: bool,
    /// The packets behind the head.
    behind: Queue,
}

/// The FIFOs of all in-ports.
#[derive(Debug)]
pub(super) struct Fifos {
    vls: usize,
    /// Per in-port · VLs + VL on which packets come.
    fifos: Vec<Fifo>,
    /// Packets that became heads in this tick by the grant of the packet before them; empty
    /// between ticks.
    pub new_heads: Vec<PacketId>,
}

impl Fifos {
    /// Empty FIFOs.
    pub(super) fn new(in_ports: usize, vls: usize) -> Self {
        Self {
            vls,
            fifos: vec![Fifo::default(); in_ports * vls],
            new_heads: Vec::new(),
        }
    }

    fn at(&self, input: InputId, came_on: u8) -> usize {
        input.index() * self.vls + usize::from(came_on)
    }

    /// Appends packet `id`, whose header has become ready. Returns true if it is the head of its
    /// FIFO.
    pub(super) fn join<const L: usize>(
        &mut self,
        id: PacketId,
        packets: &mut Pool<PacketId, Packet<L>>,
    ) -> bool {
        let Packet {
            input, buffer_vl, ..
        } = packets[id];
        let at = self.at(input, buffer_vl);
        let Fifo { has_head, behind } = &mut self.fifos[at];
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

    /// The head of the FIFO of `input` for packets that come on VL `came_on` is granted. The packet
    /// behind it is the next head.
    pub(super) fn head_granted<const L: usize>(
        &mut self,
        input: InputId,
        came_on: u8,
        packets: &mut Pool<PacketId, Packet<L>>,
    ) {
        let at = self.at(input, came_on);
        let Fifo { has_head, behind } = &mut self.fifos[at];
        let next = behind.head;
        if next == PacketId::NONE {
            *has_head = false;
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
        self.fifos.iter().flat_map(move |fifo| {
            let next = move |&id: &PacketId| or_none(packets[id].next);
            std::iter::successors(or_none(fifo.behind.head), next).map(|id| &packets[id])
        })
    }
}
