//! Who waits for whom, when nothing moves any more.
//!
//! A head packet is *live* if it has quota in its next buffer, if that buffer is
//! giving credits back, or if some packet there that holds the space is itself
//! live. What is left when all live packets are struck out can never move.

use super::Engine;
use super::packet::NONE;
use std::fmt;

/// Buffer in which a packet waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Input buffer of a port.
    Input,
    /// Central buffer of an MPort: the port is 4 × MPort + 0 or 1.
    Central,
    /// Output buffer of a port.
    Output,
}

/// A packet that waits for space held by the next one of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Kind of buffer it waits in.
    pub place: Place,
    /// Switch.
    pub switch: u32,
    /// Port within the switch.
    pub port: u32,
    /// VL it queues on.
    pub vl: u32,
    /// Destination NIC.
    pub dst: u32,
    /// Size in flits.
    pub flits: u32,
}

/// A cycle of packets that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The cycle: each packet waits for space that the next one holds.
    pub cycle: Vec<Waiting>,
    /// Head packets that can never move.
    pub blocked: usize,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "deadlock: {} head packets can never move; they wait in a cycle:",
            self.blocked
        )?;
        for w in &self.cycle {
            let place = match w.place {
                Place::Input => "input",
                Place::Central => "central buffer at",
                Place::Output => "output",
            };
            writeln!(
                f,
                "  switch {} {place} port {} VL {}: {} flits for NIC {}",
                w.switch, w.port, w.vl, w.flits, w.dst
            )?;
        }
        Ok(())
    }
}

/// A FIFO: the bank (0 inputs, 1 centrals, 2 outputs), its buffer and queue.
type Node = (usize, usize, usize);

impl Engine {
    /// A cycle of packets that can never move, if there is one.
    pub(super) fn find_stall(&mut self) -> Option<Stall> {
        let mut dead: Vec<Node> = Vec::new();
        for bank in 0..3 {
            for buffer in 0..self.buffers(bank) {
                for queue in 0..self.stride(bank) {
                    if self.head(bank, buffer, queue) != NONE
                        && self.blocked_on((bank, buffer, queue)).is_some()
                    {
                        dead.push((bank, buffer, queue));
                    }
                }
            }
        }
        loop {
            let before = dead.len();
            let known = dead.clone();
            dead.retain(|&node| self.holder(node, &known).is_some());
            if dead.len() == before {
                break;
            }
        }
        let first = *dead.first()?;
        // Every dead packet waits for a dead one: following them must close a cycle.
        let (mut path, mut node) = (Vec::new(), first);
        while !path.contains(&node) {
            path.push(node);
            node = self.holder(node, &dead)?;
        }
        let start = path.iter().position(|&n| n == node)?;
        let cycle = path[start..].iter().map(|&n| self.describe(n)).collect();
        Some(Stall {
            cycle,
            blocked: dead.len(),
        })
    }

    fn buffers(&self, bank: usize) -> usize {
        if bank == 1 {
            self.ports / 2
        } else {
            self.ports
        }
    }

    fn stride(&self, bank: usize) -> usize {
        if bank == 1 {
            self.central_buffers.stride()
        } else {
            self.vls
        }
    }

    fn head(&self, bank: usize, buffer: usize, queue: usize) -> u32 {
        match bank {
            0 => self.input_buffers.head(buffer, queue),
            1 => self.central_buffers.head(buffer, queue),
            _ => self.output_buffers.head(buffer, queue),
        }
    }

    /// Where the head of `node` must go, if it has no quota there and no
    /// credits are on their way.
    fn blocked_on(&mut self, (bank, buffer, queue): Node) -> Option<Node> {
        let id = self.head(bank, buffer, queue);
        let packet = self.packets[id];
        let now = self.now;
        let to: Node = if bank == 2 {
            let output = self.outputs[buffer];
            if output.to_nic {
                return None;
            }
            (0, output.peer as usize, packet.vl.into())
        } else {
            let output = packet.output as usize;
            if bank == 1 || buffer / 4 == output / 4 {
                (2, output, packet.vl.into())
            } else {
                let class = usize::from(self.class_of_port[output]);
                (
                    1,
                    2 * (buffer / 4) + output % 2,
                    class * self.vls + usize::from(packet.vl),
                )
            }
        };
        let next = match to.0 {
            0 => &mut self.input_buffers,
            1 => &mut self.central_buffers,
            _ => &mut self.output_buffers,
        };
        let stuck =
            !next.has_quota(to.1, to.2, packet.credits, now) && !next.is_draining(to.1, now);
        stuck.then_some(to)
    }

    /// A dead FIFO that holds what `node` waits for; `None` if `node` is live.
    fn holder(&mut self, node: Node, dead: &[Node]) -> Option<Node> {
        let (bank, buffer, own) = self.blocked_on(node)?;
        let mut found = None;
        for queue in (own..=own).chain(0..self.stride(bank)) {
            if self.head(bank, buffer, queue) == NONE {
                continue;
            }
            if !dead.contains(&(bank, buffer, queue)) {
                return None;
            }
            found = found.or(Some((bank, buffer, queue)));
        }
        // Space held by packets whose headers have not joined a FIFO yet: live.
        found
    }

    fn describe(&self, (bank, buffer, queue): Node) -> Waiting {
        let packet = self.packets[self.head(bank, buffer, queue)];
        let port = if bank == 1 {
            buffer / 2 * 4 + buffer % 2
        } else {
            buffer
        } as u32;
        Waiting {
            place: [Place::Input, Place::Central, Place::Output][bank],
            switch: port / self.radix,
            port: port % self.radix,
            vl: (queue % self.vls) as u32,
            dst: packet.dst,
            flits: packet.flits,
        }
    }
}
