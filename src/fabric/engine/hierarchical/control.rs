//! The state of congestion control of the hierarchical switch (`docs/model/infiniband.md` §12). The rules are in
//! [`congestion`](crate::engine::congestion).

use super::packet::Packet;
use crate::engine::congestion::{ByteRates, Congestion, FlowId};
use crate::engine::nic::QueuePairs;
use crate::engine::pool::PacketId;
use crate::ids::NicId;
use crate::spec::{CongestionControl, FabricSpec, SpecError, Tick};
use flitwise_base::units::Ratio;
use std::collections::VecDeque;

/// The state of congestion control, and of NICs as far as only congestion control needs it.
#[derive(Debug)]
pub(super) struct ControlState {
    pub congestion: Congestion,
    flit_bytes: u32,
    /// Credits of the largest packet on each VL.
    pub largest: Vec<u32>,
    pub queue_pairs: QueuePairs,
    pub nics: Vec<NicCongestion>,
    /// Packets in the send queue, per flow or per NIC, whichever congestion control holds
    /// back.
    in_send_queue: Vec<u32>,
}

/// The state that congestion control adds to a NIC.
#[derive(Debug, Default)]
pub(super) struct NicCongestion {
    /// One more than the key of the queue pair served last.
    pub pointer: u32,
    /// A bit for each VL that a queue pair with a message uses. Others may be set.
    pub vls: u32,
    /// CNPs to send, in order.
    pub cnps: VecDeque<PacketId>,
    /// The link was idle between the last data packet and a CNP behind it.
    pub was_idle: bool,
}

impl ControlState {
    /// `control`, the congestion control of `spec`.
    ///
    /// # Errors
    /// If the fabric is too large.
    pub(super) fn new(spec: &FabricSpec, control: &CongestionControl) -> Result<Self, SpecError> {
        let topology = &spec.topology;
        let nics = topology.endpoints() as usize;
        let flit_bytes = spec.units.flit_bytes;
        let rate = Ratio::whole(flit_bytes.into());
        let rates = ByteRates {
            nics: vec![rate; nics],
            links: vec![rate],
        };
        Ok(Self {
            congestion: Congestion::new(spec, control, rates)?,
            flit_bytes,
            largest: (0..spec.qos.vls)
                .map(|vl| spec.max_credits_on_vl(vl))
                .collect(),
            queue_pairs: QueuePairs::new(
                topology.endpoints(),
                spec.qos.service_levels.len(),
                1,
                true,
            ),
            nics: (0..nics).map(|_| NicCongestion::default()).collect(),
            in_send_queue: Vec::new(),
        })
    }

    /// A packet of `flow` moved to the send queue.
    pub(super) fn queued(&mut self, flow: FlowId) {
        let holder = self.congestion.holder(flow);
        if self.in_send_queue.len() <= holder {
            self.in_send_queue.resize(holder + 1, 0);
        }
        self.in_send_queue[holder] += 1;
    }

    /// `None` if a packet of `flow` may move to the send queue in tick `now`, else the tick in
    /// which to check again. Another event may wake the NIC earlier.
    pub(super) fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        let holder = self.congestion.holder(flow);
        if self
            .in_send_queue
            .get(holder)
            .is_none_or(|&packets| packets == 0)
        {
            return self.congestion.held_until(flow, now);
        }
        (self.congestion.level(flow, now) > 0).then(|| self.congestion.next_fall(flow, now))
    }

    /// Phase 7: the link of `nic` starts to send a data packet. Returns the control level of its
    /// flow, and the tick in which the NIC must wake if the next packet of the flow is held back.
    pub(super) fn sent(&mut self, now: Tick, nic: NicId, packet: &Packet) -> (u16, Option<Tick>) {
        let flow = self.congestion.flow(nic, packet.sl, packet.dst);
        self.in_send_queue[self.congestion.holder(flow)] -= 1;
        let end = now + Tick::from(packet.flits);
        let bytes = packet.flits * self.flit_bytes;
        self.congestion.sent(flow, end, bytes);
        let level = self.congestion.level(flow, now);
        (level, (level > 0).then_some(end))
    }

    /// Phase 6: ticks by which congestion control delays the credit return of `packet`, which
    /// leaves its input buffer.
    pub(super) fn return_delay(&self, packet: &Packet) -> Tick {
        let bytes = packet.flits * self.flit_bytes;
        let port_vl = (packet.output, packet.vl);
        // All links have the same rate.
        self.congestion.credit_return_delay(port_vl, 0, bytes)
    }

    /// Returns whether the link of `nic` was idle before it sent a CNP, and forgets that.
    pub(super) fn was_idle_before_cnp(&mut self, nic: Option<NicId>) -> bool {
        nic.is_some_and(|nic| std::mem::take(&mut self.nics[nic.index()].was_idle))
    }
}
