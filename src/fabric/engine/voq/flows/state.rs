//! The state that keeps hot flows apart: with credits of their own, or isolated.

use super::isolating::Isolating;
use super::ledgers::FlowLedgers;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::engine::voq::packet::{Packet, Packets};
use crate::spec::Voq;
use crate::spec::voq::InputQueues;

/// The state that keeps hot flows apart from the others.
#[derive(Debug)]
pub(in super::super) enum Flows<V: Variant> {
    PerFlow(FlowLedgers<V>),
    Isolating(Isolating),
}

impl<V: Variant> Flows<V> {
    /// The state of an empty fabric with `in_ports` ports of switches and `outputs` outputs; `None` if input buffers do
    /// not keep hot flows apart.
    pub(in super::super) fn new(
        voq: &Voq,
        in_ports: usize,
        outputs: usize,
        vls: usize,
    ) -> Option<Box<Self>> {
        let flows = match (voq.input_queues, &voq.isolation) {
            (InputQueues::PerFlow, _) => {
                Self::PerFlow(FlowLedgers::new(outputs, &voq.buffers.input.per_vl))
            }
            (InputQueues::Isolating, Some(settings)) => {
                Self::Isolating(Isolating::new(settings, in_ports, outputs, vls))
            }
            _ => return None,
        };
        Some(Box::new(flows))
    }

    /// The state of isolated flows, if flows are isolated.
    pub(in super::super) fn isolating(&mut self) -> Option<&mut Isolating> {
        match self {
            Self::Isolating(isolating) => Some(isolating),
            Self::PerFlow(_) => None,
        }
    }

    /// The ledgers of the flows beyond a link to a switch, if flows have credits of their own.
    pub(super) fn ledgers(&mut self) -> Option<&mut FlowLedgers<V>> {
        match self {
            Self::PerFlow(ledgers) => Some(ledgers),
            Self::Isolating(_) => None,
        }
    }

    /// Packet `id`, whose header has become ready, joins its FIFO if that is sorted. Returns whether it is likely to wait
    /// behind another; `None` if there is no such FIFO.
    pub(in super::super) fn join(
        &mut self,
        id: PacketId,
        packets: &mut Packets<V>,
    ) -> Option<bool> {
        self.isolating()
            .map(|isolating| isolating.join(id, packets))
    }

    /// The packets behind the heads.
    pub(in super::super) fn behind_heads<'a>(
        &'a self,
        packets: &'a Packets<V>,
    ) -> impl Iterator<Item = &'a Packet<V>> {
        let isolating = match self {
            Self::Isolating(isolating) => Some(isolating),
            Self::PerFlow(_) => None,
        };
        isolating
            .into_iter()
            .flat_map(|isolating| isolating.behind_heads(packets))
    }
}
