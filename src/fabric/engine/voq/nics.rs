//! The NICs: the state of each, and of all of them.

use super::arbiter::Arbiters;
use super::layout::Rates;
use super::rate::SubTick;
use super::state::Queue;
use crate::engine::calendar::Wake;
use crate::engine::list::List;
use crate::engine::nic::{Answering, QueuePairs};
use crate::ids::NicId;
use crate::spec::{FabricSpec, Tick, Voq};
use flitwise_base::units::Ratio;
use std::collections::VecDeque;

/// All NICs.
#[derive(Debug)]
pub(super) struct Nics {
    pub state: List<NicId, Nic>,
    pub queue_pairs: QueuePairs,
    pub arbiters: Arbiters,
    /// Per NIC: index of the rate of its send engine.
    pub send_rates: Vec<u8>,
    /// Index of the rate of the sinks; `None` if a flit leaves in the tick of its arrival.
    pub sink_rate: Option<u8>,
    pub answering: Answering,
    /// Length of an ACK on the wire in bytes.
    pub ack_bytes: u32,
}

impl Nics {
    /// Idle NICs, whose links have `link_rates`.
    pub(super) fn new(spec: &FabricSpec, voq: &Voq, rates: &Rates, link_rates: &[Ratio]) -> Self {
        let (nics, vls) = (spec.topology.endpoints(), usize::from(spec.qos.vls));
        let send_rate = |&rate: &Ratio| rates.index(voq.hca.send_rate.unwrap_or(rate));
        let levels = spec.qos.service_levels.len();
        let controlled = spec.congestion_control.is_some();
        Self {
            state: (0..nics).map(|_| Nic::new(vls)).collect(),
            queue_pairs: QueuePairs::new(nics, levels, vls, controlled),
            arbiters: Arbiters::new(&voq.hca.vlarb, nics as usize),
            send_rates: link_rates.iter().map(send_rate).collect(),
            sink_rate: voq.hca.sink_rate.map(|rate| rates.index(rate)),
            answering: Answering::new(spec),
            ack_bytes: voq.hca.ack_bytes,
        }
    }
}

/// A NIC; its link is an [`Output`](super::state::Output).
#[derive(Debug)]
pub(super) struct Nic {
    pub wake: Wake,
    /// It is in the list of NICs that run phase 7 in this tick.
    pub dirty: bool,
    /// Bit set of the VLs with a queue pair that has a packet to send.
    pub waiting_vls: u32,
    /// Sub-tick time from which the send engine is free.
    pub engine_free: SubTick,
    /// Sub-tick time from which the sink is free.
    pub sink_free: SubTick,
    /// The output buffer.
    pub buffer: Queue,
    /// The CNP queue.
    pub cnps: Queue,
    /// The ACK queue.
    pub acks: Queue,
    /// Pointer per VL: one more than the key of the queue pair served last.
    pub pointers: Vec<u32>,
    /// Injection reports to come: the tick of the report, and the token of the message.
    pub injections: VecDeque<(Tick, u64)>,
}

impl Nic {
    pub(super) fn new(vls: usize) -> Self {
        Self {
            wake: Wake::default(),
            dirty: false,
            waiting_vls: 0,
            engine_free: SubTick::default(),
            sink_free: SubTick::default(),
            buffer: Queue::default(),
            cnps: Queue::default(),
            acks: Queue::default(),
            pointers: vec![0; vls],
            injections: VecDeque::new(),
        }
    }
}
