//! The switches: their input, central and output buffers, and what allocates among these.

use super::buffers::{CentralBuffers, VlBuffers};
use super::central_links::CentralLinks;
use super::fifos::{Fifos, NEAR_VLS};
use super::layout::{self, CentralQueues};
use super::picks::{Blind, Rounds, queue_before};
use super::schedule::DrainRate;
use super::state::{Central, Input, Output};
use super::yielding::Sources;
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::list::List;
use crate::engine::pool::PacketId;
use crate::engine::turns::Turns;
use crate::engine::variant::Variant;
use crate::spec::{Classes, FabricSpec, Hierarchical, Tick};
use std::ops::Range;

/// All switches.
#[derive(Debug)]
pub(super) struct Switches {
    pub inputs: List<InputId, Input>,
    /// The credits of input buffers belong to the links.
    pub input_fifos: Fifos<NEAR_VLS>,
    /// Per in-port and VL: tick of the last grant of a packet from its FIFO.
    pub granted_at: Vec<Tick>,
    pub turns: Turns,

    pub centrals: List<CentralId, Central>,
    pub central_buffers: CentralBuffers,
    /// A bit per queue of a central buffer that has a ready head, from queue 64 on;
    /// `far_words` words per buffer. The first 64 bits lie in [`Central`].
    far_ready: Vec<u64>,
    pub far_words: usize,
    pub central_links: CentralLinks,
    /// First central queue of packets to each port, over all switches.
    first_queue: Vec<u16>,
    /// Number of central queues of packets to a port.
    queues_per_port: usize,
    /// Offset of each VL from that first queue.
    vl_offset: Vec<u8>,

    /// Of switch ports, then of NICs, of which only the counts are used.
    pub outputs: List<OutputId, Output>,
    pub output_buffers: VlBuffers,
    /// Sources of each output whose heads wait for their turn.
    pub sources: List<OutputId, Sources>,
    /// Per output, in variants with [`HAS_ANY_RULE`](Variant::HAS_ANY_RULE): credits of the packets that were routed to it and have not been
    /// granted its buffer.
    pub waiting: Vec<u32>,

    pub blind: Blind,
    pub rounds: Rounds,
    /// Ticks before a source is free from which it is idle for allocation.
    pub source_overlap: Tick,
}

impl Switches {
    /// Idle switches with these `inputs` and `outputs`.
    pub(super) fn new<V: Variant>(
        spec: &FabricSpec,
        switch: &Hierarchical,
        inputs: List<InputId, Input>,
        outputs: List<OutputId, Output>,
    ) -> Self {
        let (ports, buffers) = (inputs.len(), &switch.buffers);
        let (centrals, vls) = (ports / 2, usize::from(spec.qos.vls));
        let classes = Classes::new(&spec.topology, buffers.central_queues, buffers.central_link);
        let queues = CentralQueues::new(spec, &classes);
        let radix = spec.topology.radix();
        let central = |c: u32| Central::new(c % (radix / 2));
        let far_words = queues.count().div_ceil(64).saturating_sub(1);
        let drain = DrainRate::link(spec.units.flits_per_credit);
        Self {
            inputs,
            input_fifos: Fifos::new(ports, vls),
            granted_at: vec![0; ports * vls],
            turns: Turns::new(ports, radix),
            centrals: (0..centrals as u32).map(central).collect(),
            central_buffers: layout::central_buffers(spec, switch, &queues, &classes),
            far_ready: vec![0; centrals * far_words],
            far_words,
            central_links: CentralLinks::new(buffers.central_link, ports),
            first_queue: queues.first_of_ports(&classes),
            queues_per_port: queues.vls(),
            vl_offset: queues.of_vl,
            outputs,
            output_buffers: VlBuffers::of_pool(ports, &buffers.output, drain),
            sources: std::iter::repeat_n(Sources::default(), ports).collect(),
            waiting: vec![0; if V::HAS_ANY_RULE { ports } else { 0 }],
            blind: Blind::of(switch, (ports, centrals)),
            rounds: Rounds::of(switch, (ports, centrals)),
            source_overlap: switch.source_overlap(),
        }
    }

    /// Queue within a central buffer of packets on `vl` to `output`.
    #[inline]
    pub(super) fn central_queue(&self, output: OutputId, vl: u8) -> usize {
        usize::from(self.first_queue[output.index()]) + usize::from(self.vl_offset[vl as usize])
    }

    /// Queues within a central buffer of packets to `output`.
    pub(super) fn queues_towards(&self, output: OutputId) -> Range<usize> {
        let first = usize::from(self.first_queue[output.index()]);
        first..first + self.queues_per_port
    }

    /// The packet that an input buffer picked in this tick.
    #[inline]
    pub(super) fn picked_of_input(&self, port: InputId) -> PacketId {
        let input = &self.inputs[port];
        let vl = usize::from(input.pick);
        self.input_fifos.head(&input.heads, port.index(), vl)
    }

    /// Which of the queues from `64 * word` on of a central buffer have a ready head, a bit
    /// each.
    #[inline]
    pub(super) fn ready_word(&mut self, central: CentralId, word: u32) -> &mut u64 {
        if word == 0 {
            &mut self.centrals[central].ready
        } else {
            &mut self.far_ready[central.index() * self.far_words + word as usize - 1]
        }
    }

    /// Whether a queue of a central buffer has a ready head.
    #[inline]
    pub(super) fn central_has_ready(&self, central: CentralId) -> bool {
        let far = central.index() * self.far_words;
        self.centrals[central].ready != 0
            || self.far_ready[far..far + self.far_words]
                .iter()
                .any(|&word| word != 0)
    }

    /// The queue after `queue` in a central buffer, in a circle.
    #[inline]
    pub(super) fn queue_after(&self, queue: u32) -> u32 {
        (queue + 1) % self.central_buffers.fifos.stride() as u32
    }

    /// The first queue with a ready head at or after the pointer of a central buffer, in a
    /// circle. There must be one.
    #[inline]
    pub(super) fn next_ready(&mut self, central: CentralId) -> u32 {
        let words = 1 + self.far_words as u32;
        let next = self.centrals[central].next;
        let first = *self.ready_word(central, next / 64) & (!0 << (next % 64));
        if first != 0 {
            return next / 64 * 64 + first.trailing_zeros();
        }
        // Once around: the part of the word before the pointer comes last.
        let others = (1..=words).map(|step| (next / 64 + step) % words);
        for word in others {
            let bits = *self.ready_word(central, word);
            if bits != 0 {
                return word * 64 + bits.trailing_zeros();
            }
        }
        debug_assert!(false, "asked of a central buffer without a ready head");
        next
    }

    /// The VL that the other VLs of an input buffer wait for: its pick, if the source requests nothing
    /// else.
    pub(super) fn blocking_vl<V: Variant>(&self, port: InputId) -> Option<usize> {
        let keeps = self.rounds.are_used::<V>()
            && self.rounds.iterations == 1
            && self.rounds.picks.inputs[port];
        let next = usize::from(self.inputs[port].next);
        keeps.then(|| queue_before(next, self.input_fifos.stride()))
    }

    /// As [`blocking_vl`](Self::blocking_vl), for a queue of a central buffer.
    pub(super) fn blocking_queue<V: Variant>(&self, central: CentralId) -> Option<usize> {
        let keeps = self.rounds.are_used::<V>()
            && self.rounds.iterations == 1
            && self.rounds.picks.centrals[central];
        let next = self.centrals[central].next as usize;
        keeps.then(|| queue_before(next, self.central_buffers.fifos.stride()))
    }
}
