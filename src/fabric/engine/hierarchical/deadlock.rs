//! Deadlock: finds head packets that wait for each other in a cycle. It runs between ticks,
//! when nothing has moved for a while, and changes nothing.
//!
//! A head packet is *live* if it has quota in its next buffer. It is also live if one of
//! the FIFOs there that hold the missing credits has a pending credit return, is still
//! being filled, or has a live head. Packets that are not live can never move. The search
//! for the cycle itself is in [`deadlock`](crate::fabric::engine::deadlock).

use super::Fabric;
use super::control::Control;
use crate::fabric::engine::deadlock::{Deadlock, Place, Waiting, dead_cycle};
use crate::fabric::engine::pool::PacketId;
use crate::fabric::engine::probe::Probe;
use crate::fabric::ids::{NicId, PortId, SwitchId};
use std::collections::BTreeMap;

/// A FIFO: the kind of its buffer, the number of the buffer, and the queue within it.
type Node = (Place, usize, usize);

impl<C: Control, P: Probe> Fabric<C, P> {
    /// A cycle of packets that can never move; `None` if there is none.
    pub(super) fn find_deadlock(&mut self) -> Option<Deadlock> {
        // FIFOs whose head waits for credits, with the FIFOs that hold those credits.
        let mut dead: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for place in [Place::Input, Place::Central, Place::Output] {
            for buffer in 0..self.buffers(place) {
                for queue in 0..self.queues(place) {
                    let node = (place, buffer, queue);
                    if self.head(node) != PacketId::NONE
                        && let Some(holders) = self.waits_for(node)
                    {
                        dead.insert(node, holders);
                    }
                }
            }
        }
        let (cycle, blocked) = dead_cycle(dead)?;
        let cycle = cycle
            .into_iter()
            .map(|queue| self.describe(queue))
            .collect();
        Some(Deadlock { cycle, blocked })
    }

    /// Number of buffers of a kind.
    fn buffers(&self, place: Place) -> usize {
        match place {
            Place::Central => self.ports / 2,
            Place::Input | Place::Output => self.ports,
        }
    }

    /// Number of queues in each buffer of a kind.
    fn queues(&self, place: Place) -> usize {
        match place {
            Place::Central => self.central_buffers.fifos.stride(),
            Place::Input | Place::Output => self.vls,
        }
    }

    /// Head of a FIFO, or [`NONE`].
    fn head(&self, (place, buffer, queue): Node) -> PacketId {
        match place {
            Place::Input => {
                let heads = &self.inputs[buffer].heads;
                self.input_fifos.head(heads, buffer, queue)
            }
            Place::Central => self.central_buffers.fifos.head(&[], buffer, queue),
            Place::Output => {
                let heads = &self.senders[buffer].heads;
                self.output_buffers.fifos.head(heads, buffer, queue)
            }
        }
    }

    /// FIFOs that hold the credits which the head of `node` waits for. `None` if it does not
    /// wait, or if one of these FIFOs is sure to return credits.
    fn waits_for(&mut self, node: Node) -> Option<Vec<Node>> {
        let (place, buffer, _) = node;
        let packet = self.kernel.packets[self.head(node)];
        let output = packet.output as usize;
        let vl = usize::from(packet.vl);
        let (next, at, queue) = match place {
            Place::Output => {
                let link = &self.senders[buffer];
                if link.to.is_nic() {
                    return None;
                }
                (Place::Input, link.to.peer() as usize, vl)
            }
            Place::Input if buffer / 4 != output / 4 => {
                let queue = self.central_queue(packet.output, packet.vl);
                (Place::Central, 2 * (buffer / 4) + output % 2, queue)
            }
            Place::Input | Place::Central => (Place::Output, output, vl),
        };
        let (credits, now) = (packet.credits.into(), self.kernel.now);
        let holders = match next {
            Place::Input => self.links.holders(buffer as u32, queue, credits, now),
            Place::Central => self
                .central_buffers
                .credits
                .holders(at, queue, credits, now),
            Place::Output => self.output_buffers.credits.holders(at, queue, credits, now),
        };
        // A FIFO that holds credits without a head is being filled: its header has yet to
        // become ready.
        let returns_credits = |&q: &usize| {
            self.head((next, at, q)) == PacketId::NONE
                || match next {
                    Place::Input => self.links.any_on(buffer as u32, q),
                    Place::Central => self.central_buffers.credits.has_pending_return(at, q),
                    Place::Output => self.output_buffers.credits.has_pending_return(at, q),
                }
        };
        if holders.is_empty() || holders.iter().any(returns_credits) {
            return None;
        }
        Some(holders.into_iter().map(|q| (next, at, q)).collect())
    }

    /// The head of a FIFO as it is reported.
    fn describe(&self, node: Node) -> Waiting {
        let packet = self.kernel.packets[self.head(node)];
        let (place, buffer, queue) = node;
        let (port, vl) = match place {
            Place::Central => (buffer / 2 * 4 + buffer % 2, packet.vl.into()),
            Place::Input | Place::Output => (buffer, queue as u32),
        };
        let port = port as u32;
        Waiting {
            place,
            switch: SwitchId::new(port / self.radix),
            port: PortId::new(port % self.radix),
            vl,
            dst: NicId::new(packet.dst),
            flits: packet.flits,
        }
    }
}
