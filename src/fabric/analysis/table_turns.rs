//! The turns from VL to VL at every switch of a fabric in which SL-to-VL tables or a queueing scheme
//! decide the VLs. [`routes`](super::routes) walks the routes and calls this for each switch.

use super::turns::VlPair;
use crate::ids::{NicId, NicPair, PortId, SwitchId};
use crate::spec::{Channel, FabricSpec, Hop, LegAt, QueueingScheme, SlToVl, SourceRoutes};
use crate::topology::{Peer, Ports, Topology};
use std::collections::BTreeMap;

/// Sets of VLs, a bit each, by SL or by VL.
type VlSets = Box<[u32]>;

/// Number of bits of a set.
const VLS: u8 = u32::BITS as u8;

/// Turns from VL to VL at all switches, for all SLs and destinations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableTurns {
    /// By hop, and by the VL before the switch: the VLs after it.
    turns: BTreeMap<Hop, VlSets>,
}

impl TableTurns {
    /// VLs before and after `hop` of packets that take it.
    pub fn pairs(&self, hop: Hop) -> impl Iterator<Item = VlPair> + '_ {
        let sets = self.turns.get(&hop).into_iter();
        sets.flatten().enumerate().flat_map(|(before, set)| {
            let after = (0..usize::from(VLS)).filter(move |vl| set >> vl & 1 == 1);
            after.map(move |after| VlPair { before, after })
        })
    }
}

/// The rule that decides the VLs.
enum Rule<'a> {
    Tables(&'a SlToVl),
    /// A queueing scheme on minimal paths: the VL also tells the VL class.
    Scheme(Box<SchemeRule<'a>>),
}

/// The VLs of a queueing scheme.
struct SchemeRule<'a> {
    spec: &'a FabricSpec,
    /// By SL and VL: the channel, and its VL class.
    channels: Vec<Option<(Channel, u8)>>,
}

impl<'a> SchemeRule<'a> {
    fn new(spec: &'a FabricSpec, scheme: &'a QueueingScheme) -> Self {
        let levels = spec.qos.service_levels.len();
        let mut channels = vec![None; levels * usize::from(VLS)];
        for sl in 0..levels {
            for position in 0..scheme.total(spec.classes()) {
                if let Some(channel) = spec.channel_at(sl, position) {
                    let at = sl * usize::from(VLS) + usize::from(known(Some(channel.vl)));
                    channels[at] = Some((channel, scheme.at(position).0));
                }
            }
        }
        Self { spec, channels }
    }
}

impl Rule<'_> {
    /// VL of a packet of `sl` for `dst` behind `hop`, if it was on VL `before`.
    fn behind(&self, hop: Hop, sl: usize, dst: NicId, before: usize) -> u8 {
        known(match self {
            Self::Tables(tables) => tables.at_switch(hop, sl as u8),
            Self::Scheme(rule) => {
                let known = rule.channels[sl * usize::from(VLS) + before];
                let leg = LegAt::default();
                let behind =
                    known.and_then(|known| rule.spec.channel_behind(hop, sl, dst, leg, known));
                behind.map(|(channel, _)| channel.vl)
            }
        })
    }
}

/// Follows the packets of all SLs, one destination after the other.
pub(super) struct TableWalk<'a> {
    topology: &'a Topology,
    /// Pairs that [`follow`](Self::follow) follows.
    by_source: &'a SourceRoutes,
    rule: Rule<'a>,
    levels: usize,
    vls: usize,
    /// In-ports of each switch by which packets for the present destination arrive, with their
    /// VLs by SL.
    arriving: Vec<Vec<(PortId, VlSets)>>,
    /// Ports of each switch with NICs, and on which VLs these send, by SL. With a scheme the VLs follow from the
    /// destination, too, and are not kept here.
    injected: Vec<Vec<(PortId, VlSets)>>,
    pub found: TableTurns,
}

impl<'a> TableWalk<'a> {
    pub fn new(spec: &'a FabricSpec) -> Option<Self> {
        let topology = &spec.topology;
        let minimal = spec.routing.paths.legs() == 1;
        let scheme = spec.queueing_by_more().filter(|_| minimal);
        let rule = match (spec.qos.vl_policy.tables(), scheme) {
            (Some(tables), _) => Rule::Tables(tables),
            (None, Some(scheme)) => Rule::Scheme(Box::new(SchemeRule::new(spec, scheme))),
            (None, None) => return None,
        };
        let levels = spec.qos.service_levels.len();
        let injected = |switch: SwitchId| {
            let of_port = |port| match topology.peer(switch, port) {
                Peer::Nic(nic) => {
                    let vl = |sl| match &rule {
                        Rule::Tables(tables) => 1 << known(tables.at_hca(nic, sl as u8)),
                        Rule::Scheme(_) => 0,
                    };
                    Some((port, (0..levels).map(vl).collect()))
                }
                Peer::Switch { .. } | Peer::None => None,
            };
            topology.port_ids().filter_map(of_port).collect()
        };
        Some(Self {
            topology,
            by_source: &spec.routing.source_routes,
            levels,
            vls: spec.qos.vls.into(),
            arriving: vec![Vec::new(); topology.switches() as usize],
            injected: topology.switch_ids().map(injected).collect(),
            rule,
            found: TableTurns::default(),
        })
    }

    /// Passes the packets for NIC `dst`, the present destination, that arrive at `switch`, or start at its
    /// NICs, on to `ports_out`. Must be called for the farthest switch first.
    pub fn pass(&mut self, switch: SwitchId, dst: NicId, ports_out: Ports) {
        let arrived = std::mem::take(&mut self.arriving[switch.index()]);
        self.inject(switch, dst);
        for port_out in ports_out.iter() {
            let mut leaving: VlSets = vec![0; self.levels].into();
            // A NIC sends nothing to itself.
            let others = arrived.iter().chain(&self.injected[switch.index()]);
            let others = others.filter(|&&(port_in, _)| {
                let given = match self.topology.peer(switch, port_in) {
                    Peer::Nic(src) => self.by_source.get(NicPair { src, dst }),
                    Peer::Switch { .. } | Peer::None => None,
                };
                port_in != port_out && given.is_none()
            });
            for &(port_in, ref sets) in others {
                let hop = Hop {
                    switch,
                    in_port: port_in,
                    out_port: port_out,
                };
                let none = || vec![0; self.vls].into();
                let turns = self.found.turns.entry(hop).or_insert_with(none);
                for (sl, (set, leaving)) in sets.iter().zip(&mut leaving).enumerate() {
                    let set_before = (0..self.vls).filter(|before| set >> before & 1 == 1);
                    for before in set_before {
                        let after = 1 << self.rule.behind(hop, sl, dst, before);
                        *leaving |= after;
                        turns[before] |= after;
                    }
                }
            }
            if let Peer::Switch { switch: next, port } = self.topology.peer(switch, port_out) {
                self.arriving[next.index()].push((port, leaving));
            }
        }
    }

    /// Follows the packets of a pair along `hops`.
    pub fn follow(&mut self, pair: NicPair, hops: &[Hop]) {
        let Some(first) = hops.first() else { return };
        self.inject(first.switch, pair.dst);
        let ports = &self.injected[first.switch.index()];
        let Some((_, sets)) = ports.iter().find(|(port, _)| *port == first.in_port) else {
            return;
        };
        for (sl, set) in sets.iter().enumerate() {
            // A NIC sends on one VL.
            let mut vl = set.trailing_zeros() as usize % self.vls.max(1);
            for &hop in hops {
                let after = self.rule.behind(hop, sl, pair.dst, vl);
                let none = || vec![0; self.vls].into();
                self.found.turns.entry(hop).or_insert_with(none)[vl] |= 1 << after;
                vl = after.into();
            }
        }
    }

    /// With a scheme: puts down the VLs on which the NICs of `switch` send to `dst`.
    fn inject(&mut self, switch: SwitchId, dst: NicId) {
        let Rule::Scheme(rule) = &self.rule else {
            return;
        };
        for (port, sets) in &mut self.injected[switch.index()] {
            let Peer::Nic(nic) = self.topology.peer(switch, *port) else {
                continue;
            };
            for (sl, set) in sets.iter_mut().enumerate() {
                let channel = rule.spec.channel_at_nic(nic, dst, sl);
                *set = 1 << known(channel.map(|channel| channel.vl));
            }
        }
    }
}

/// The VL of an entry. A valid specification has one for every SL, and no more than fit a set.
fn known(vl: Option<u8>) -> u8 {
    vl.filter(|&vl| vl < VLS).unwrap_or(0)
}
