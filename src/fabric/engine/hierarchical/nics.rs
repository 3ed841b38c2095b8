//! The NICs: the state of each, and of all of them.

use super::buffers::VlBuffers;
use super::schedule::DrainRate;
use crate::engine::calendar::Wake;
use crate::engine::list::List;
use crate::engine::nic::{Answering, MessageQueue};
use crate::ids::NicId;
use crate::spec::{FabricSpec, Hierarchical};

/// All NICs.
#[derive(Debug)]
pub(super) struct Nics {
    pub state: List<NicId, Nic>,
    pub send_queues: VlBuffers,
    /// Their answers; only with congestion control.
    pub answering: Answering,
}

impl Nics {
    /// Idle NICs.
    pub(super) fn new(spec: &FabricSpec, switch: &Hierarchical) -> Self {
        let nics = spec.topology.endpoints() as usize;
        let drain = DrainRate::link(spec.units.flits_per_credit);
        Self {
            state: (0..nics).map(|_| Nic::default()).collect(),
            send_queues: VlBuffers::of_pool(nics, &switch.buffers.nic_queue, drain),
            answering: Answering::new(spec),
        }
    }
}

/// The application side of a NIC.
#[derive(Debug, Clone, Default)]
pub(super) struct Nic {
    /// The queue of each SL, up to the last SL in use. Not used with congestion control.
    pub queues: Vec<MessageQueue>,
    /// SLs with a message, a bit each.
    pub waiting_sls: u32,
    /// SL after the one whose packet moved to the send queue last.
    pub next: u8,
    pub wake: Wake,
    /// The NIC waits for credits: the next packet that leaves the send queue must wake it.
    pub waiting: bool,
    /// It is listed for phase 3.
    pub dirty: bool,
}
