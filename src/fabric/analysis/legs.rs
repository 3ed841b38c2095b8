//! Paths with detours, from the minimal routes (`docs/model/fabric.md` §7): every turn that a packet may take on any leg, whatever
//! the queues. Each leg goes by minimal routes, on VL classes that [`FabricSpec::first_class`] tells.
//!
//! The turns are counted as if every source sent to every NIC, itself included. So they may include
//! turns that no packet takes, where a single NIC lies behind a port.

use super::routes::RouteAnalysis;
use super::turns::TurnBits;
use crate::ids::{NicId, PortId, SwitchId};
use crate::spec::{DetourRule, Detours, FabricSpec, Intermediate};
use crate::topology::Peer;

/// Whether legs begin at switches without NICs, too.
pub(super) fn begin_anywhere(spec: &FabricSpec) -> bool {
    spec.routing
        .paths
        .detours()
        .is_some_and(|d| d.rule == DetourRule::Par || d.intermediate == Intermediate::Group)
}

/// Adds the loads and turns of detours to the minimal routes in `routes`. The loads remain the loads of minimal paths
/// if the queues decide, or if detours lead over groups.
pub(super) fn add_detours(spec: &FabricSpec, routes: &mut RouteAnalysis) {
    let Some(&detours) = spec.routing.paths.detours() else {
        return;
    };
    if detours.rule == DetourRule::Valiant && detours.intermediate == Intermediate::Nic {
        // With N NICs, N − 1 of the N paths from each source to a NIC's switch are for one of its
        // destinations each, and as many lead from there to each destination.
        let nics = u64::from(spec.topology.nics());
        routes.share = routes.share.saturating_mul(nics);
        for pairs in &mut routes.link_pairs {
            *pairs = pairs.saturating_mul(2 * nics.saturating_sub(1));
        }
    }
    let first = detours.first_leg();
    let legs = Legs {
        spec,
        detours,
        bits: TurnBits::new(spec),
        first: spec.first_class(first),
        last: spec.first_class(first + 1),
    };
    for switch in spec.topology.switch_ids() {
        legs.add_turns(switch, routes);
    }
}

struct Legs<'a> {
    spec: &'a FabricSpec,
    detours: Detours,
    bits: TurnBits,
    /// First VL class of the first leg of a detour.
    first: u8,
    /// First VL class of the second leg.
    last: u8,
}

impl Legs<'_> {
    fn add_turns(&self, switch: SwitchId, routes: &mut RouteAnalysis) {
        let radix = routes.turns.radix;
        let base = switch.index() * radix;
        let ports = self.spec.topology.port_ids();
        let starts: Vec<u32> = ports
            .clone()
            .map(|port| self.starts(routes.turns.injected[base + port.index()], switch, port))
            .collect();
        for port_in in ports.clone() {
            let row = (base + port_in.index()) * radix;
            let turns = &routes.turns.through[row..row + radix];
            let (ends, asked) = (self.ends(turns, switch, port_in), self.asked(turns, switch));
            for port_out in ports.clone() {
                let at = row + port_out.index();
                let start = starts[port_out.index()];
                let minimal = routes.turns.through[at];
                let mut set = self.on_detour(minimal, switch, port_out);
                set |= self.passing(self.shifted(ends, self.first), start, self.last);
                if self.has_minimal() {
                    set |= minimal;
                }
                set |= self.leaving(asked, start, switch, port_out);
                routes.turns.through[at] = set;
            }
        }
        // Injected packets have class 0, and may take a detour at once.
        let injected = self.bits.turn(0, 0, NicId::new(0));
        for port_out in ports {
            let at = base + port_out.index();
            let minimal = routes.turns.injected[at];
            let mut set = self.leaving(injected, starts[port_out.index()], switch, port_out);
            if self.has_minimal() {
                set |= minimal;
            }
            routes.turns.injected[at] = set;
        }
    }

    /// Whether some packets take no detour.
    fn has_minimal(&self) -> bool {
        self.detours.rule.is_adaptive() || self.detours.intermediate == Intermediate::Group
    }

    fn peer(&self, switch: SwitchId, port: PortId) -> Peer {
        self.spec.topology.peer(switch, port)
    }

    /// Whether `port` leads to another switch, or, on topologies with groups, to another group.
    fn leads_away(&self, switch: SwitchId, port: PortId) -> bool {
        let Peer::Switch { switch: far, .. } = self.peer(switch, port) else {
            return false;
        };
        let group = |switch| self.spec.topology.family().global_group(switch);
        group(switch).is_none() || group(switch) != group(far)
    }

    /// The turns of minimal routes with which the first leg of a detour ends at `switch`, of the `turns` from `port_in`.
    fn ends(&self, turns: &[u32], switch: SwitchId, port_in: PortId) -> u32 {
        let ports = self.spec.topology.port_ids();
        let counts = |port: &PortId| match self.detours.intermediate {
            Intermediate::Nic => matches!(self.peer(switch, *port), Peer::Nic(_)),
            Intermediate::Group => self.leads_away(switch, port_in),
        };
        let sets = ports.filter(counts).map(|port| turns[port.index()]);
        sets.fold(0, |ends, turn| ends | turn)
    }

    /// The turns of minimal routes at which packets are asked again, of the `turns` from an in-port.
    fn asked(&self, turns: &[u32], switch: SwitchId) -> u32 {
        if self.detours.rule != DetourRule::Par {
            return 0;
        }
        let ports = self.spec.topology.port_ids();
        let sets = ports
            .filter(|&port| self.leads_away(switch, port))
            .map(|port| turns[port.index()]);
        sets.fold(0, |asked, turn| asked | turn)
    }

    /// The turns with which legs begin at a port. `injected` are the turns that packets from `switch` make to this port on
    /// minimal routes.
    fn starts(&self, injected: u32, switch: SwitchId, port: PortId) -> u32 {
        match self.peer(switch, port) {
            Peer::Nic(nic) => injected | self.bits.turn(0, 0, nic),
            Peer::Switch { .. } | Peer::None => injected,
        }
    }

    /// The same turns, for packets with any destination, and so in any queue.
    fn in_all_queues(&self, turns: u32) -> u32 {
        let all = self.bits.all(turns).map(|turn| {
            let queues = (0..self.bits.queues()).map(NicId::new);
            queues.fold(0, |set, dst| {
                set | self.bits.turn(turn.before, turn.after, dst)
            })
        });
        all.fold(0, |set, turn| set | turn)
    }

    /// Turns of a leg whose first VL class is `first`, which are like `turns` of minimal routes.
    fn shifted(&self, turns: u32, first: u8) -> u32 {
        self.bits.all(turns).fold(0, |set, turn| {
            let (before, after) = (turn.before + first, turn.after + first);
            set | self.bits.turn(before, after, NicId::new(turn.queue))
        })
    }

    /// The turns of both legs of a detour like the minimal routes with `turns`. Only second legs lead to NICs. The first leg
    /// goes to any NIC, so any packet may take its turns.
    fn on_detour(&self, turns: u32, switch: SwitchId, port: PortId) -> u32 {
        let first = match self.peer(switch, port) {
            Peer::Switch { .. } => self.in_all_queues(self.shifted(turns, self.first)),
            Peer::Nic(_) | Peer::None => 0,
        };
        first | self.shifted(turns, self.last)
    }

    /// The turns with which packets leave their minimal path, on which they had the turns `asked`, for a port where legs
    /// begin with the turns `starts`. The first leg may end where it begins.
    fn leaving(&self, asked: u32, starts: u32, switch: SwitchId, port: PortId) -> u32 {
        let first = match self.peer(switch, port) {
            Peer::Switch { .. } => self.in_all_queues(self.passing(asked, starts, self.first)),
            Peer::Nic(_) | Peer::None => 0,
        };
        match self.detours.intermediate {
            Intermediate::Nic => first | self.passing(asked, starts, self.last),
            Intermediate::Group => first,
        }
    }

    /// The turns of packets that come with the turns `ends`, and whose next leg, with `first` as its first VL class,
    /// begins with the turns `starts`.
    fn passing(&self, ends: u32, starts: u32, first: u8) -> u32 {
        let mut set = 0;
        for end in self.bits.all(ends) {
            for start in self.bits.all(starts) {
                let dst = NicId::new(start.queue);
                set |= self.bits.turn(end.before, start.after + first, dst);
            }
        }
        set
    }
}
