//! Deadlock: finds head packets that wait for each other in a cycle. It runs between ticks,
//! when nothing has moved for a while, and changes nothing.
//!
//! A head packet is *live* if it has quota in its next buffer and yields to no other. It is also live if it yields
//! to a live head, or if one of the FIFOs there that hold the missing credits has a pending credit return, is still
//! being filled, or has a live head. Where a buffer has picked another queue and requests
//! nothing else, a head is live if that queue has a live head. Packets that are not live can
//! never move. The search
//! for the cycle itself is in [`deadlock`](crate::engine::deadlock).

use super::Fabric;
use super::state::{Buffer, Queue};
use crate::engine::deadlock::{Deadlock, Place, Waiting, dead_cycle};
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::ids::SwitchPort;
use std::collections::BTreeMap;

impl<V: Variant> Fabric<V> {
    /// A cycle of packets that can never move; `None` if there is none.
    pub(super) fn find_deadlock(&mut self) -> Option<Deadlock> {
        let mut waiting = BTreeMap::new();
        self.add_waiting(&mut waiting);
        dead_cycle(waiting, |queue| self.describe_head(queue))
    }

    /// Adds the FIFOs whose head waits for credits, with the FIFOs that hold those credits.
    pub(super) fn add_waiting(&mut self, waiting: &mut BTreeMap<Queue, Vec<Queue>>) {
        for buffer in self.buffers() {
            for queue in 0..self.queues(buffer) {
                let node = (buffer, queue);
                if self.head(node) != PacketId::NONE
                    && let Some(holders) = self.waits_for(node)
                {
                    waiting.insert(node, holders);
                }
            }
        }
    }

    /// All buffers of switches.
    fn buffers(&self) -> impl Iterator<Item = Buffer> + use<V> {
        let (ports, centrals) = (self.ports as u32, self.switches.centrals.len() as u32);
        let inputs = InputId::all(ports).map(Buffer::Input);
        let centrals = CentralId::all(centrals).map(Buffer::Central);
        let outputs = OutputId::all(ports).map(Buffer::Output);
        inputs.chain(centrals).chain(outputs)
    }

    /// Number of queues in a buffer.
    fn queues(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Central(_) => self.switches.central_buffers.fifos.stride(),
            Buffer::Input(_) | Buffer::Output(_) => self.vls,
        }
    }

    /// Head of a FIFO, or [`PacketId::NONE`].
    pub(super) fn head(&self, (buffer, queue): Queue) -> PacketId {
        match buffer {
            Buffer::Input(input) => {
                let heads = &self.switches.inputs[input].heads;
                self.switches.input_fifos.head(heads, input.index(), queue)
            }
            Buffer::Central(central) => {
                let fifos = &self.switches.central_buffers.fifos;
                fifos.head(&[], central.index(), queue)
            }
            Buffer::Output(output) => {
                let heads = &self.senders[output].heads;
                let fifos = &self.switches.output_buffers.fifos;
                fifos.head(heads, output.index(), queue)
            }
        }
    }

    /// The FIFO that packet `id`, the head of `node`, goes to next. Its output must not lead to a NIC.
    pub(super) fn next_of(&self, node: Queue, id: PacketId) -> Queue {
        let packet = &self.kernel.packets[id];
        let (output, vl) = (packet.output, packet.vl.into());
        match node.0 {
            Buffer::Output(output) => (Buffer::Input(self.senders[output].to.input()), vl),
            Buffer::Input(input) if input.mport() != output.mport() => {
                let links = &self.switches.central_links;
                let central = links.between::<V>(input, output, || id);
                let queue = self.switches.central_queue(output, packet.vl);
                (Buffer::Central(central), queue)
            }
            Buffer::Input(_) | Buffer::Central(_) => (Buffer::Output(output), vl),
        }
    }

    /// FIFOs that hold the credits which the head of `node` waits for, or the one with the head to which it yields.
    /// `None` if it does not wait, or if one of these FIFOs is sure to return credits.
    fn waits_for(&mut self, node: Queue) -> Option<Vec<Queue>> {
        let blocking = match node.0 {
            Buffer::Input(input) => self.switches.blocking_vl::<V>(input),
            Buffer::Central(central) => self.switches.blocking_queue::<V>(central),
            Buffer::Output(_) => None,
        };
        if let Some(queue) = blocking.filter(|&queue| queue != node.1) {
            return Some(vec![(node.0, queue)]);
        }
        if let Buffer::Output(output) = node.0
            && self.senders[output].to.is_nic()
        {
            return None;
        }
        let id = self.head(node);
        let (next, queue) = self.next_of(node, id);
        let packet = self.kernel.packets[id];
        let (credits, now) = (packet.credits.into(), self.kernel.now);
        let holders = match next {
            Buffer::Input(input) => {
                let upstream = self.switches.inputs[input].upstream;
                self.links.holders(upstream, queue, credits, now)
            }
            Buffer::Central(central) => {
                let ledgers = &mut self.switches.central_buffers.credits;
                ledgers.holders(central.index(), queue, credits, now)
            }
            Buffer::Output(output) => {
                let ledgers = &mut self.switches.output_buffers.credits;
                ledgers.holders(output.index(), queue, credits, now)
            }
        };
        if holders.is_empty() {
            return self.ahead_of((next, queue), id).map(|ahead| vec![ahead]);
        }
        // A FIFO that holds credits without a head is being filled: its header has yet to become ready. It is not among
        // the FIFOs that wait, and so it is live.
        if holders.iter().any(|&q| self.returns_credits((next, q))) {
            return None;
        }
        Some(holders.into_iter().map(|q| (next, q)).collect())
    }

    /// Whether credits of a FIFO are on their way back to the sender into its buffer.
    fn returns_credits(&self, (buffer, queue): Queue) -> bool {
        match buffer {
            Buffer::Input(input) => {
                let upstream = self.switches.inputs[input].upstream;
                self.links.any_on(upstream, queue)
            }
            Buffer::Central(central) => {
                let ledgers = &self.switches.central_buffers.credits;
                ledgers.has_pending_return(central.index(), queue)
            }
            Buffer::Output(output) => {
                let ledgers = &self.switches.output_buffers.credits;
                ledgers.has_pending_return(output.index(), queue)
            }
        }
    }

    /// The head of a FIFO, for the report.
    pub(super) fn describe_head(&self, queue: Queue) -> Waiting {
        let packet = self.kernel.packets[self.head(queue)];
        let (place, at) = self.place_of(queue);
        let vl = match place {
            Place::Input | Place::Output => queue.1 as u32,
            Place::Central => packet.vl.into(),
        };
        Waiting {
            place,
            switch: at.switch,
            port: at.port,
            vl,
            dst: packet.dst,
            flits: packet.flits,
        }
    }

    /// The place of a FIFO, for the report.
    pub(super) fn place_of(&self, (buffer, _): Queue) -> (Place, SwitchPort) {
        match buffer {
            Buffer::Input(input) => (Place::Input, input.at(self.radix)),
            Buffer::Central(central) => (Place::Central, central.named_by().at(self.radix)),
            Buffer::Output(output) => (Place::Output, output.at(self.radix)),
        }
    }
}
