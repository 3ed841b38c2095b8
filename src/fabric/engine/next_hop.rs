//! Routing, for both kinds of switch: which output a packet takes at a switch (`docs/model/fabric.md` §7). The router's table has
//! the candidate of each destination. [`choice`](super::choice) picks among several candidates.
//! [`detours`](super::detours) decides which packets leave the minimal path, and towards which NIC.

use super::choice::{Choice, Occupancy};
use super::detours::{Detours, Leg, Progress};
use super::ids::{InputId, OutputId};
use super::pool::PacketId;
use crate::ids::{NicId, SwitchId, SwitchPort};
use crate::routing::Router;
use crate::spec::{FabricSpec, Tick};
use std::sync::Arc;

/// The input of a routing decision: a packet at a switch, and the fill of the outputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<O> {
    pub switch: SwitchId,
    /// In-port of the packet.
    pub input: InputId,
    pub packet: PacketId,
    /// NIC that the packet is for.
    pub dst: NicId,
    /// The present tick.
    pub now: Tick,
    pub occupancy: O,
}

/// The result of a routing decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextHop {
    /// Out-port.
    pub output: OutputId,
    /// The first VL class of the leg of its path that the packet is on.
    pub first_class: u8,
    /// The leg begins here, and so the packet has that class in front of the switch.
    pub leg_begins: bool,
}

impl NextHop {
    /// VL class of a packet in front of the switch, if it came with `class`.
    #[inline(always)]
    pub(super) fn class_before(&self, class: u8) -> u8 {
        if self.leg_begins {
            self.first_class
        } else {
            class
        }
    }
}

/// The candidate of each destination at each switch.
#[derive(Debug)]
pub(super) struct Table {
    radix: u32,
    router: Arc<Router>,
}

impl Table {
    /// The table's out-port to `dst` at `switch`.
    #[inline(always)]
    pub(super) fn candidate(&self, switch: SwitchId, dst: NicId) -> OutputId {
        let port = self.router.first_port(switch, dst);
        OutputId::of(SwitchPort::new(switch, port), self.radix)
    }

    /// As [`Table::candidate`], of a header that is routed in tick `now`.
    fn candidate_at(&self, now: Tick, switch: SwitchId, dst: NicId) -> OutputId {
        let port = self.router.first_port_at(now, switch, dst);
        OutputId::of(SwitchPort::new(switch, port), self.radix)
    }
}

/// Outputs that nothing waits for.
struct Empty;

impl Occupancy for Empty {
    fn in_buffer(&mut self, _: OutputId) -> u32 {
        0
    }

    fn waiting(&self, _: OutputId) -> u32 {
        0
    }
}

/// The routing of a fabric.
#[derive(Debug)]
pub(super) struct NextHops {
    table: Table,
    choice: Choice,
    detours: Option<Box<Detours>>,
    /// Nothing but the table decides.
    by_table: bool,
}

impl NextHops {
    /// `router` is the one of `spec`.
    pub(super) fn new(spec: &FabricSpec, router: &Arc<Router>) -> Self {
        let (choice, detours) = (Choice::new(spec), Detours::new(spec).map(Box::new));
        Self {
            table: Table {
                radix: spec.topology.radix(),
                router: Arc::clone(router),
            },
            by_table: matches!(choice, Choice::Only) && detours.is_none() && !router.changes(),
            choice,
            detours,
        }
    }

    /// Whether the next hop depends on the moment, or on other packets and so on the order in which the packets of
    /// different in-ports are routed.
    #[inline]
    pub(super) fn by_others(&self) -> bool {
        let by_queues = self.detours.as_ref().is_some_and(|d| d.by_queues());
        by_queues || self.choice.by_others() || self.table.router.changes()
    }

    /// Prefetches the data for a packet to `dst` at `switch`.
    #[inline]
    pub(super) fn prefetch(&self, switch: SwitchId, dst: NicId) {
        self.table.router.prefetch(switch, dst);
    }

    /// The next output of a packet to `dst` at `switch`, if the destination alone decides.
    pub(super) fn by_destination(&self, switch: SwitchId, dst: NicId) -> OutputId {
        let first = self.table.candidate(switch, dst);
        self.choice.foresee(switch, first, dst, &mut Empty)
    }

    /// The progress of packet `id` on its path; `None` if all paths are minimal.
    pub(super) fn progress(&self, id: PacketId) -> Option<Progress> {
        self.detours.as_ref().map(|detours| detours.progress(id))
    }

    /// Packet `id` comes from another block, with this progress.
    pub(super) fn set_progress(&mut self, id: PacketId, progress: Option<Progress>) {
        if let (Some(detours), Some(progress)) = (&mut self.detours, progress) {
            detours.set_progress(id, progress);
        }
    }

    /// Returns the next hop of a packet. Call this once for each packet and switch.
    #[inline(always)]
    pub(super) fn decide(&mut self, at: Context<impl Occupancy>) -> NextHop {
        if self.by_table {
            NextHop {
                output: self.table.candidate(at.switch, at.dst),
                first_class: 0,
                leg_begins: false,
            }
        } else {
            self.choose(at)
        }
    }

    /// As [`decide`](Self::decide), if more than the table decides. Not inlined, for the sake of all other
    /// fabrics.
    #[inline(never)]
    fn choose(&mut self, mut at: Context<impl Occupancy>) -> NextHop {
        let Leg {
            target,
            first_class,
            begins,
        } = match &mut self.detours {
            None => Leg {
                target: at.dst,
                first_class: 0,
                begins: false,
            },
            Some(detours) => detours.leg(&mut at, &self.table, &self.choice),
        };
        let first = self.table.candidate_at(at.now, at.switch, target);
        let choice = &mut self.choice;
        NextHop {
            output: choice.output(at.switch, first, target, at.occupancy),
            first_class,
            leg_begins: begins,
        }
    }
}
