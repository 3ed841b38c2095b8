//! The NICs: the state of each, and of all of them.

use super::buffers::VlBuffers;
use super::schedule::DrainRate;
use crate::engine::calendar::Wake;
use crate::engine::congestion::FlowId;
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
    pub next_on_vls: NextOnVls,
}

/// The heads of application queues that are next on their VL: shorter ones yield to them (`docs/model/fabric.md` §5, phase 3).
#[derive(Debug, Clone, Default)]
pub(super) struct NextOnVls(Vec<NextOnVl>);

/// A head in the application queue `key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NextOnVl {
    pub key: u32,
    /// Of a queue pair.
    pub flow: FlowId,
    pub vl: u8,
    pub credits: u16,
}

impl NextOnVls {
    /// Whether `head` yields to another.
    #[inline]
    pub(super) fn yields(&self, head: NextOnVl) -> bool {
        let goes_first = |next: &NextOnVl| next.vl == head.vl && next.credits > head.credits;
        self.0.iter().any(goes_first)
    }

    /// `head` lacks quota.
    pub(super) fn add(&mut self, head: NextOnVl) {
        if self.0.iter().all(|next| next.vl != head.vl) {
            self.0.push(head);
        }
    }

    /// The head of queue `key` moves.
    #[inline]
    pub(super) fn remove(&mut self, key: u32) {
        self.0.retain(|next| next.key != key);
    }

    /// Heads that are held are next no more; `is_held` says which are.
    #[inline]
    pub(super) fn remove_held(&mut self, is_held: impl Fn(&NextOnVl) -> bool) {
        self.0.retain(|next| !is_held(next));
    }
}
