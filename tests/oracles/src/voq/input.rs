//! In-ports of switches: the input buffer, its queues (section 2), and the crossbar port that reads it.
//! Which packets are heads is in `fifos`.

use super::fifos::{Fifos, Waiting};
use super::packet::{Flit, PacketId};
use super::rates::crossbar_rate;
use crate::delay_line::DelayLine;
use flitwise_fabric::spec::{FabricSpec, Tick, Voq};
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

#[derive(Debug, Clone)]
pub struct Input {
    /// The link that arrives here.
    pub link: Option<usize>,
    /// Flits of each packet in the buffer, each with the tick of its arrival.
    pub flits: BTreeMap<PacketId, VecDeque<(Tick, Flit)>>,
    /// Headers on their way to be routed.
    pub routing: DelayLine<PacketId>,
    /// All that wait for an (output, VL), in the order in which they joined: queue
    /// `output * vls + vl`.
    pub queues: Vec<VecDeque<PacketId>>,
    /// Number of packets in all of them: most in-ports have none most of the time, and need not be looked through.
    packets: usize,
    pub fifos: Fifos,
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
            packets: 0,
            fifos: Fifos::new(voq, vls),
            read: CrossbarPort::new(spec, voq),
            pointer: 0,
        }
    }

    /// A packet that came on VL `came_on` has been routed.
    pub fn join(&mut self, waiting: Waiting, came_on: usize) {
        self.queues[waiting.queue].push_back(waiting.packet);
        self.packets += 1;
        self.fifos.join(waiting, came_on);
    }

    /// Nothing waits for any output.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The packets that may request the output and VL of `queue`, in their order.
    pub fn heads(&self, queue: usize) -> Vec<PacketId> {
        if self.queues[queue].is_empty() {
            return Vec::new();
        }
        let first = || self.queues[queue].front().copied().into_iter().collect();
        self.fifos.heads(queue).unwrap_or_else(first)
    }

    /// The packets that only a grant keeps from going on: with FIFOs their heads, else all.
    pub fn waiting(&self) -> Vec<PacketId> {
        if self.is_empty() {
            return Vec::new();
        }
        let all = || self.queues.iter().flatten().copied().collect();
        self.fifos.all_heads().unwrap_or_else(all)
    }

    /// A packet that requested the output and VL of `queue` is granted.
    pub fn leave(&mut self, packet: PacketId, queue: usize) {
        assert!(self.heads(queue).contains(&packet));
        self.queues[queue].retain(|&other| other != packet);
        self.packets -= 1;
        self.fifos.leave(packet);
    }
}
