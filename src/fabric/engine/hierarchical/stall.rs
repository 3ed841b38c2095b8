//! Who waits for whom, when nothing moves any more.
//!
//! A head packet is *live* if it has quota in its next buffer, or if a FIFO there
//! that holds the space is giving credits back, is still being filled, or has a
//! live head. What is left when all live packets are struck out can never move.

use super::Fabric;
use super::control::Control;
use crate::fabric::engine::pool::NONE;
use crate::fabric::engine::stall::{Place, Stall, Waiting, dead_cycle};
use std::collections::BTreeMap;

/// A FIFO: the kind of its buffer, which of these, and the queue in it.
type Node = (Place, usize, usize);

impl<C: Control> Fabric<C> {
    /// A cycle of packets that can never move, if there is one.
    pub(super) fn find_cycle(&mut self) -> Option<Stall> {
        // FIFOs whose head waits for space, with the FIFOs that hold that space.
        let mut dead: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for place in [Place::Input, Place::Central, Place::Output] {
            for buffer in 0..self.buffers(place) {
                for queue in 0..self.queues(place) {
                    let node = (place, buffer, queue);
                    if self.head(node) != NONE
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
        Some(Stall { cycle, blocked })
    }

    fn buffers(&self, place: Place) -> usize {
        match place {
            Place::Central => self.ports / 2,
            Place::Input | Place::Output => self.ports,
        }
    }

    fn queues(&self, place: Place) -> usize {
        match place {
            Place::Central => self.central_buffers.stride(),
            Place::Input | Place::Output => self.vls,
        }
    }

    fn head(&self, (place, buffer, queue): Node) -> u32 {
        match place {
            Place::Input => {
                let heads = &self.inputs[buffer].heads;
                self.input_buffers.head(heads, buffer, queue)
            }
            Place::Central => self.central_buffers.head(&[], buffer, queue),
            Place::Output => {
                let heads = &self.links[buffer].heads;
                self.output_buffers.head(heads, buffer, queue)
            }
        }
    }

    /// FIFOs that hold the space which the head of `node` waits for; `None` if it
    /// does not wait, or if such a FIFO is sure to give space.
    fn waits_for(&mut self, node: Node) -> Option<Vec<Node>> {
        let (place, buffer, _) = node;
        let packet = self.packets[self.head(node)];
        let output = packet.output as usize;
        let vl = usize::from(packet.vl);
        let (next, at, queue) = match place {
            Place::Output => {
                let link = &self.links[buffer];
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
        let (credits, now) = (packet.credits.into(), self.now);
        let holders = match next {
            Place::Input => self.input_buffers.holders(at, queue, credits, now),
            Place::Central => self.central_buffers.holders(at, queue, credits, now),
            Place::Output => self.output_buffers.holders(at, queue, credits, now),
        };
        // A holder without a head is being filled: its header is on the way.
        let gives = |&q: &usize| {
            self.head((next, at, q)) == NONE
                || match next {
                    Place::Input => self.input_buffers.is_draining(at, q),
                    Place::Central => self.central_buffers.is_draining(at, q),
                    Place::Output => self.output_buffers.is_draining(at, q),
                }
        };
        if holders.is_empty() || holders.iter().any(gives) {
            return None;
        }
        Some(holders.into_iter().map(|q| (next, at, q)).collect())
    }

    fn describe(&self, node: Node) -> Waiting {
        let packet = self.packets[self.head(node)];
        let (place, buffer, queue) = node;
        let (port, vl) = match place {
            Place::Central => (buffer / 2 * 4 + buffer % 2, packet.vl.into()),
            Place::Input | Place::Output => (buffer, queue as u32),
        };
        let port = port as u32;
        Waiting {
            place,
            switch: port / self.radix,
            port: port % self.radix,
            vl,
            dst: packet.dst,
            flits: packet.flits,
        }
    }
}
