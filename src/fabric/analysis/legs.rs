//! Paths of two legs, from the minimal routes (`docs/model.md` §7). Every packet goes first to the
//! switch of a NIC drawn at random, then to its destination, each time by a minimal route. The VL
//! classes of the second leg come after the classes of the first.
//!
//! The turns are counted as if every source sent to every NIC, itself included. So they may include
//! turns that no packet takes, where a single NIC lies behind a port.

use super::routes::RouteAnalysis;
use super::turns::TurnBits;
use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::spec::FabricSpec;
use crate::fabric::topology::{Peer, Topology};

/// Replaces the loads and turns of minimal routes in `routes` by the loads and turns of paths with two
/// legs.
pub(super) fn add_second_leg(spec: &FabricSpec, routes: &mut RouteAnalysis) {
    // With N NICs, N − 1 of the N paths from each source to a NIC's switch are for one of its
    // destinations each, and as many lead from there to each destination.
    let nics = u64::from(spec.topology.nics());
    routes.share = routes.share.saturating_mul(nics);
    for pairs in &mut routes.link_pairs {
        *pairs = pairs.saturating_mul(2 * nics.saturating_sub(1));
    }
    let legs = Legs {
        topology: &spec.topology,
        bits: TurnBits::new(spec),
        of_leg: spec.classes_of_leg(),
    };
    for switch in spec.topology.switch_ids() {
        legs.add_turns(switch, routes);
    }
}

struct Legs<'a> {
    topology: &'a Topology,
    bits: TurnBits,
    /// VL classes of each leg.
    of_leg: u8,
}

impl Legs<'_> {
    fn add_turns(&self, switch: SwitchId, routes: &mut RouteAnalysis) {
        let radix = routes.turns.radix;
        let base = switch.index() * radix;
        let peer = |port: PortId| self.topology.peer(switch, port);
        let injected = |port: PortId| routes.turns.injected[base + port.index()];
        let ports = self.topology.port_ids();
        let starts: Vec<u32> = ports
            .clone()
            .map(|port| self.starts(injected(port), peer(port)))
            .collect();
        for port_in in ports.clone() {
            let row = (base + port_in.index()) * radix;
            let to_nics = ports
                .clone()
                .filter(|&port| matches!(peer(port), Peer::Nic(_)))
                .map(|port| routes.turns.through[row + port.index()]);
            let ends = to_nics.fold(0, |ends, turn| ends | turn);
            for port_out in ports.clone() {
                let at = row + port_out.index();
                routes.turns.through[at] = self.on_both(routes.turns.through[at], peer(port_out))
                    | self.passing(ends, starts[port_out.index()]);
            }
        }
        for port_out in ports {
            let at = base + port_out.index();
            let first = match peer(port_out) {
                Peer::Switch { .. } => self.first_leg(routes.turns.injected[at]),
                Peer::Nic(_) | Peer::None => 0,
            };
            // The first leg can end where it begins.
            let second = self.passing(
                self.bits.turn(0, 0, NicId::new(0)),
                starts[port_out.index()],
            );
            routes.turns.injected[at] = first | second;
        }
    }

    /// The turns with which legs begin at a port that leads to `to`. `injected` are the turns that
    /// packets from NICs of the switch make to this port on minimal routes.
    fn starts(&self, injected: u32, to: Peer) -> u32 {
        match to {
            Peer::Nic(nic) => injected | self.bits.turn(0, 0, nic),
            Peer::Switch { .. } | Peer::None => injected,
        }
    }

    /// The turns of a first leg like the minimal routes with `turns`. Whatever its destination, and
    /// so its queue, any packet may take it.
    fn first_leg(&self, turns: u32) -> u32 {
        let all = self.bits.all(turns).map(|turn| {
            let queues = (0..self.bits.queues()).map(NicId::new);
            queues.fold(0, |set, dst| {
                set | self.bits.turn(turn.before, turn.after, dst)
            })
        });
        all.fold(0, |set, turn| set | turn)
    }

    /// The turns of the first and second legs like the minimal routes with `turns`. Only second
    /// legs lead to NICs.
    fn on_both(&self, turns: u32, to: Peer) -> u32 {
        let first = match to {
            Peer::Switch { .. } => self.first_leg(turns),
            Peer::Nic(_) | Peer::None => 0,
        };
        self.bits.all(turns).fold(first, |set, turn| {
            let (before, after) = (turn.before + self.of_leg, turn.after + self.of_leg);
            set | self.bits.turn(before, after, NicId::new(turn.queue))
        })
    }

    /// The turns of packets whose first leg ends here, where minimal routes have the turns `ends`,
    /// and whose second leg begins with the turns `starts`.
    fn passing(&self, ends: u32, starts: u32) -> u32 {
        let mut set = 0;
        for end in self.bits.all(ends) {
            for start in self.bits.all(starts) {
                let dst = NicId::new(start.queue);
                set |= self.bits.turn(end.before, start.after + self.of_leg, dst);
            }
        }
        set
    }
}
