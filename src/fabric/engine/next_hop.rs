//! Routing, for both kinds of switch: which output a packet takes at a switch (`docs/model/fabric.md` §7). The router's table has
//! the candidate of each destination. [`choice`](super::choice) picks among several candidates.
//! [`detours`](super::detours) decides which packets leave the minimal path, and towards which NIC.
//! [`source_routes`](super::source_routes) knows the routes of single pairs.

use super::choice::{Choice, Occupancy};
use super::detours::{self, Detours, Leg};
use super::ids::{InputId, OutputId};
use super::pool::PacketId;
use super::source_routes::Carried;
use crate::ids::{NicId, SwitchId, SwitchPort};
use crate::routing::{Cursor, Router};
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

/// The progress of a packet on its path, where a switch must know it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Progress {
    /// On a path with detours.
    Legs(detours::Progress),
    /// On a route of its pair.
    Route(Cursor),
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
    /// Routes of single pairs, which go with neither a choice nor detours.
    carried: Option<Box<Carried>>,
    /// Nothing but the table decides.
    by_table: bool,
}

impl NextHops {
    /// `router` is the one of `spec`.
    pub(super) fn new(spec: &FabricSpec, router: &Arc<Router>) -> Self {
        let (choice, detours) = (Choice::new(spec), Detours::new(spec).map(Box::new));
        let carried = Carried::new(spec).map(Box::new);
        let one_of_all = detours.is_none() && carried.is_none() && !router.changes();
        Self {
            table: Table {
                radix: spec.topology.radix(),
                router: Arc::clone(router),
            },
            by_table: matches!(choice, Choice::Only) && one_of_all,
            choice,
            detours,
            carried,
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

    /// The progress of packet `id` on its path; `None` if its place says it all.
    pub(super) fn progress(&self, id: PacketId) -> Option<Progress> {
        let carried = self.carried.as_ref();
        let route = || carried.map(|carried| Progress::Route(carried.progress(id)));
        let detours = self.detours.as_ref();
        let legs = detours.map(|detours| Progress::Legs(detours.progress(id)));
        legs.or_else(route)
    }

    /// Packet `id` comes from another block, with this progress.
    pub(super) fn set_progress(&mut self, id: PacketId, progress: Option<Progress>) {
        match (progress, &mut self.detours, &mut self.carried) {
            (Some(Progress::Legs(legs)), Some(detours), _) => detours.set_progress(id, legs),
            (Some(Progress::Route(at)), _, Some(carried)) => carried.set_progress(id, at),
            _ => {}
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
        let (carried, hops) = (self.carried.as_mut(), self.table.router.by_source());
        let port = carried
            .zip(hops)
            .and_then(|(carried, hops)| carried.next(&at, hops));
        if let Some(port) = port {
            return NextHop {
                output: OutputId::of(SwitchPort::new(at.switch, port), self.table.radix),
                first_class: 0,
                leg_begins: false,
            };
        }
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
