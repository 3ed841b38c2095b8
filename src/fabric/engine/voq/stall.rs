//! Who waits for whom, when nothing moves any more.
//!
//! The head of a virtual output queue is *live* if it has credits, or if the VL of the buffer
//! that it waits for is giving credits back, is still being filled, or holds a packet of a
//! queue with a live head. What is left can never move.

use super::Fabric;
use crate::fabric::engine::pool::NONE;
use crate::fabric::engine::stall::{Place, Stall, Waiting, dead_cycle};
use std::collections::{BTreeMap, BTreeSet};

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// A cycle of packets that can never move, if there is one.
    pub(super) fn find_cycle(&mut self) -> Option<Stall> {
        // Queues that hold packets, and credits that they hold, per (input, VL).
        let mut holders: BTreeMap<(u32, u8), (BTreeSet<usize>, u32)> = BTreeMap::new();
        let radix = self.radix as usize;
        for queue in 0..self.queues.len() {
            let input = (queue / self.vls / radix) as u32;
            let mut at = self.queues[queue].head;
            while at != NONE {
                let packet = &self.packets[at];
                let held = holders.entry((input, packet.buffer_vl)).or_default();
                held.0.insert(queue);
                held.1 += u32::from(packet.credits);
                at = packet.next;
            }
        }
        // Queues whose head waits for credits that no one is giving back yet.
        let mut dead: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for queue in 0..self.queues.len() {
            if self.queues[queue].head != NONE
                && let Some(waits_for) = self.waits_for(queue, &holders)
            {
                dead.insert(queue, waits_for);
            }
        }
        let (cycle, blocked) = dead_cycle(dead)?;
        let cycle = cycle
            .into_iter()
            .map(|queue| self.describe(queue))
            .collect();
        Some(Stall { cycle, blocked })
    }

    /// Queues that hold the credits which the head of `queue` waits for; `None` if it does
    /// not wait, or if credits are sure to come.
    fn waits_for(
        &mut self,
        queue: usize,
        holders: &BTreeMap<(u32, u8), (BTreeSet<usize>, u32)>,
    ) -> Option<Vec<usize>> {
        let packet = self.packets[self.queues[queue].head];
        let (output, vl) = (packet.output, packet.vl);
        let port = &self.outputs[output as usize];
        if port.to.is_nic() {
            return None;
        }
        let peer = port.to.peer();
        let output_vl = output as usize * self.vls + usize::from(vl);
        let free = self.credits(output, output_vl, packet.credits);
        if free >= packet.credits || self.returning[output as usize].any_of(vl) {
            return None;
        }
        let (held_by, held) = holders.get(&(peer, vl))?;
        // Credits that nobody holds are those of packets on their hop.
        let all = u32::from(free) + held;
        (all == self.buffer_credits[usize::from(vl)]).then(|| held_by.iter().copied().collect())
    }

    fn describe(&self, queue: usize) -> Waiting {
        let packet = &self.packets[self.queues[queue].head];
        let port = (queue / self.vls) as u32 / self.radix;
        Waiting {
            place: Place::Input,
            switch: port / self.radix,
            port: port % self.radix,
            vl: packet.buffer_vl.into(),
            dst: packet.dst,
            flits: packet.flits.into(),
        }
    }
}
