//! The switches: their in-ports with the queues behind them, and what arbitrates among these.

use super::arbiter::Arbiters;
use super::fifos::{FifoAt, Fifos};
use super::flows::{Flows, Isolating};
use super::layout;
use super::packet::{Packet, Packets};
use super::rate::SubTick;
use super::state::{Input, Output, OutputQueue, number_queues};
use crate::engine::ids::InputId;
use crate::engine::list::List;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::voq::Allocator;
use crate::spec::{FabricSpec, Voq};

/// All switches. Outputs belong to the fabric: NICs have some too.
#[derive(Debug)]
pub(super) struct Switches<V: Variant> {
    pub inputs: List<InputId, Input<V>>,
    /// Per in-port: sub-tick time from which the crossbar port that reads its buffer is free. They lie side by side,
    /// because an output looks at the in-ports of all its heads.
    pub inputs_free: Vec<SubTick>,
    /// VoQs, numbered as [`Input::queue`] says.
    pub queues: Vec<OutputQueue>,
    /// FIFOs, if input buffers have them; the VoQs then hold their heads.
    pub fifos: Option<Box<Fifos>>,
    /// The state that keeps hot flows apart from the others, if input buffers do that.
    pub flows: Option<Box<Flows<V>>>,
    /// `None`: one iteration of iSLIP.
    pub allocator: Option<Allocator>,
    pub arbiters: Arbiters,
    /// Per VL: credits of an input buffer.
    pub buffer_credits: Vec<u32>,
    /// Output buffers may be too full for a packet: see `layout::output_buffer_may_fill`.
    output_buffer_may_fill: bool,
}

impl<V: Variant> Switches<V> {
    /// Idle switches with these `inputs`, whose queues get their numbers.
    pub(super) fn new(
        spec: &FabricSpec,
        voq: &Voq,
        mut inputs: List<InputId, Input<V>>,
        outputs: &[Output],
    ) -> Self {
        let (ports, vls) = (inputs.len(), usize::from(spec.qos.vls));
        let queues = number_queues(&mut inputs, outputs, vls);
        Self {
            inputs_free: vec![SubTick::default(); ports],
            inputs,
            queues: vec![OutputQueue::default(); queues],
            fifos: Fifos::of(voq.input_queues, ports, vls),
            flows: Flows::new(voq, ports, outputs.len(), vls),
            allocator: Some(voq.allocator).filter(|&a| a != Allocator::default()),
            arbiters: Arbiters::new(&voq.vlarb, ports),
            buffer_credits: voq.buffers.input.per_vl.clone(),
            output_buffer_may_fill: layout::output_buffer_may_fill(spec, voq),
        }
    }

    /// Whether output buffers may be too full for a packet.
    #[inline(always)]
    pub(super) fn output_buffer_may_fill(&self) -> bool {
        !V::IS_PLAIN && self.output_buffer_may_fill
    }

    /// The in-port that `queue` belongs to.
    pub(super) fn input_of(&self, queue: usize) -> InputId {
        let inputs = &self.inputs;
        let behind = inputs.partition_point(|input| input.first_queue as usize <= queue);
        InputId::new(behind as u32 - 1)
    }

    /// Whether hot flows are kept apart: a packet may then lack credits that its VL has.
    #[inline(always)]
    pub(super) fn has_flows(&self) -> bool {
        V::part(&self.flows).is_some()
    }

    /// The state of isolated flows, if flows are isolated.
    #[inline(always)]
    pub(super) fn isolating(&mut self) -> Option<&mut Isolating> {
        V::part_mut(&mut self.flows).and_then(Flows::isolating)
    }

    /// Whether flows have credits of their own.
    pub(super) fn credits_are_per_flow(&self) -> bool {
        matches!(self.flows.as_deref(), Some(Flows::PerFlow(_)))
    }

    /// Appends packet `id` to its FIFO, if it has one and is not its head. Returns whether it did.
    #[inline(always)]
    pub(super) fn join_behind_head(
        &mut self,
        id: PacketId,
        at: FifoAt,
        packets: &mut Packets<V>,
    ) -> bool {
        let Some(fifos) = self.fifos.as_deref_mut() else {
            return false;
        };
        let of_vls = &mut self.inputs[at.0].fifos;
        // The FIFOs of a plain fabric are of VLs.
        if (V::IS_PLAIN || fifos.are_of_vls()) && of_vls.is_head(at.1) {
            return false;
        }
        !fifos.join(id, at, of_vls, packets)
    }

    /// All packets in VoQs.
    pub(super) fn in_voqs(&self, packets: &Packets<V>) -> Vec<PacketId> {
        let mut heads = Vec::new();
        for queue in &self.queues {
            let mut at = queue.fifo.head;
            while at != PacketId::NONE {
                heads.push(at);
                at = packets[at].next;
            }
        }
        heads
    }

    /// The packets behind heads of FIFOs.
    pub(super) fn behind_heads<'a>(
        &'a self,
        packets: &'a Packets<V>,
    ) -> impl Iterator<Item = &'a Packet<V>> {
        let (fifos, flows) = (self.fifos.iter(), self.flows.iter());
        let behind = fifos.flat_map(|fifos| fifos.behind_heads(packets));
        behind.chain(flows.flat_map(|flows| flows.behind_heads(packets)))
    }
}
