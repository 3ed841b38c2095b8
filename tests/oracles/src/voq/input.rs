//! In-ports of switches: the input buffer, its queues (section 2), and the crossbar port that reads it.

use super::packet::{Flit, PacketId};
use super::rates::crossbar_rate;
use crate::delay_line::DelayLine;
use flitwise::fabric::spec::voq::InputQueues;
use flitwise::fabric::spec::{FabricSpec, Tick, Voq};
use std::collections::{BTreeMap, VecDeque};

/// A crossbar port that carries one packet at a time.
#[derive(Debug, Clone)]
pub struct CrossbarPort {
    /// The moment from which it is free, in parts of a tick.
    pub free: u128,
    /// Parts of a tick.
    pub tick: u128,
}

impl CrossbarPort {
    pub fn new(spec: &FabricSpec, voq: &Voq) -> Self {
        let tick = u128::from(crossbar_rate(voq).num()) * u128::from(spec.units.flit_bytes);
        Self { free: 0, tick }
    }

    /// May a grant at `now` begin to use it after the allocation?
    pub fn is_idle(&self, now: Tick, voq: &Voq) -> bool {
        self.free < u128::from(now + voq.stages.allocation + 1) * self.tick
    }
}

/// A packet in a FIFO.
#[derive(Debug, Clone, Copy)]
struct InFifo {
    packet: PacketId,
    /// The queue of the (output, VL) that it is in as well.
    queue: usize,
}

#[derive(Debug, Clone)]
pub struct Input {
    /// The link that arrives here.
    pub link: Option<usize>,
    /// Flits of each packet in the buffer, with their dates.
    pub flits: BTreeMap<PacketId, VecDeque<(Tick, Flit)>>,
    /// Headers on their way to be routed.
    pub routing: DelayLine<PacketId>,
    /// All that wait for an (output, VL), in the order in which they joined: queue
    /// `output * vls + vl`.
    pub queues: Vec<VecDeque<PacketId>>,
    /// The FIFO of each VL on which packets come; none with virtual output queues.
    fifos: Vec<VecDeque<InFifo>>,
    /// The heads of the FIFOs, in the order in which they became that.
    heads: Vec<InFifo>,
    pub read: CrossbarPort,
    /// Output from which grants are looked at.
    pub pointer: usize,
}

impl Input {
    pub fn new(spec: &FabricSpec, voq: &Voq, radix: usize, link: Option<usize>) -> Self {
        let vls = usize::from(spec.qos.vls);
        Self {
            link,
            flits: BTreeMap::new(),
            routing: DelayLine::new(),
            queues: vec![VecDeque::new(); radix * vls],
            fifos: match voq.input_queues {
                InputQueues::VirtualOutput => Vec::new(),
                InputQueues::Fifo => vec![VecDeque::new(); vls],
            },
            heads: Vec::new(),
            read: CrossbarPort::new(spec, voq),
            pointer: 0,
        }
    }

    /// A packet that came on VL `came_on` has been routed: it waits for the output and VL of
    /// `queue`.
    pub fn join(&mut self, packet: PacketId, came_on: usize, queue: usize) {
        self.queues[queue].push_back(packet);
        if let Some(fifo) = self.fifos.get_mut(came_on) {
            let entry = InFifo { packet, queue };
            fifo.push_back(entry);
            if fifo.len() == 1 {
                self.heads.push(entry);
            }
        }
    }

    /// The packet that requests the output and VL of `queue`.
    pub fn head(&self, queue: usize) -> Option<PacketId> {
        if self.fifos.is_empty() {
            return self.queues[queue].front().copied();
        }
        let head = self.heads.iter().find(|head| head.queue == queue);
        head.map(|head| head.packet)
    }

    /// The packets that only a grant keeps from going on: with FIFOs their heads, else all.
    pub fn waiting(&self) -> Vec<PacketId> {
        if self.fifos.is_empty() {
            return self.queues.iter().flatten().copied().collect();
        }
        self.heads.iter().map(|head| head.packet).collect()
    }

    /// The packet that requests the output and VL of `queue` is granted. Of its FIFO, the packet
    /// behind it becomes the head.
    pub fn leave(&mut self, packet: PacketId, queue: usize) {
        assert_eq!(self.head(queue), Some(packet));
        self.queues[queue].retain(|&other| other != packet);
        self.heads.retain(|head| head.packet != packet);
        for fifo in &mut self.fifos {
            if fifo.front().is_some_and(|head| head.packet == packet) {
                fifo.pop_front();
                self.heads.extend(fifo.front());
            }
        }
    }
}
