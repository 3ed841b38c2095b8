//! All routes at once: the hops of every pair of NICs, the number of pairs that each link
//! carries, and the turns that packets take at each switch. [`channels`](super::channels) checks
//! whether these turns allow a deadlock.
//!
//! The routes to one destination form a graph towards it without cycles. The graph is a tree if
//! each switch has only one next switch. This module walks the graph from the farthest switches on, which
//! takes one step per (switch, destination) and out-port.

use super::legs::{add_detours, begin_anywhere};
use super::source_routes::SourceWalk;
use super::table_turns::TableWalk;
use super::turns::{TurnBits, Turns};
use super::{MAX_STEPS, MAX_TURNS, Routes, TooLarge, nics_at, steps};
use crate::ids::{NicId, NicPair, PortId, SwitchId, SwitchPort};
use crate::spec::FabricSpec;
use crate::topology::{Peer, Ports, VlClasses};
use flitwise_base::units::Ratio;

/// The results of an analysis of all routes of a fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouteAnalysis {
    /// Ordered pairs of different NICs.
    pub pairs: u64,
    /// Connected pairs by hops, which are the switch-to-switch links crossed. Of paths with two legs
    /// one leg counts.
    pub pairs_by_hops: Vec<u64>,
    /// The first pairs without a route, at most [`EXAMPLES`].
    pub lost: Vec<NicPair>,
    /// The first routing loop, if there is any.
    pub routing_loop: Option<RoutingLoop>,
    /// Pairs that cross each directed link between switches, in units of
    /// 1/[`RouteAnalysis::share`], by `switch * radix + port`.
    pub link_pairs: Vec<u64>,
    /// The divisor of the pairs, as they spread evenly over the links of trunks and the
    /// up-ports of trees that other packets choose.
    pub share: u64,
    /// Turns that packets take at each switch.
    pub turns: Turns,
    /// Rates of the links in flits per tick, ordered as `link_pairs`. Empty if all are 1.
    rates: Vec<Ratio>,
    /// Rate of the slowest link of a NIC in flits per tick.
    nic_rate: Ratio,
}

/// Packets that go round in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingLoop {
    /// Destination of the packets.
    pub dst: NicId,
    /// The switches of the loop, each before the next.
    pub switches: Vec<SwitchId>,
}

/// Number of pairs without a route that are reported.
pub const EXAMPLES: usize = 5;

impl RouteAnalysis {
    /// Follows the routes of all pairs.
    ///
    /// # Errors
    /// If the fabric is beyond [`MAX_STEPS`] or [`MAX_TURNS`].
    pub fn new(spec: &FabricSpec, routes: &impl Routes) -> Result<Self, TooLarge> {
        let topology = &spec.topology;
        let radix = u64::from(topology.radix());
        TooLarge::check("pairs of switch and destination:", steps(spec), MAX_STEPS)?;
        let turns = u64::from(topology.switches()) * radix * radix;
        TooLarge::check("pairs of ports of a switch:", turns, MAX_TURNS)?;
        let mut walk = Walk::new(spec);
        let by_source = SourceWalk::new(spec);
        for dst in topology.nic_ids() {
            // Pairs with routes of their own follow no other.
            by_source.count(dst, &mut walk.nics_at, |nics| *nics -= 1);
            walk.follow(routes, dst);
            walk.add_up(dst);
            by_source.count(dst, &mut walk.nics_at, |nics| *nics += 1);
        }
        for (pair, hops) in by_source.routes() {
            walk.add_route(pair, &hops);
        }
        let mut result = walk.result;
        result.turns.by_tables = walk.tables.map(|tables| tables.found);
        add_detours(spec, &mut result);
        Ok(result)
    }

    /// Pairs that are connected.
    #[must_use]
    pub fn connected(&self) -> u64 {
        self.pairs_by_hops.iter().sum()
    }

    /// Most hops of a connected pair.
    #[must_use]
    pub fn diameter(&self) -> usize {
        self.pairs_by_hops.len().saturating_sub(1)
    }

    /// Hops of all connected pairs together.
    #[must_use]
    pub fn total_hops(&self) -> u64 {
        (0..).zip(&self.pairs_by_hops).map(|(h, n)| h * n).sum()
    }

    /// The directed link `switch * radix + port` that saturates first under uniform traffic,
    /// and the pairs that cross it in units of 1/`share`. The first of several such links;
    /// `None` if no pair crosses a link.
    #[must_use]
    pub fn busiest_link(&self) -> Option<(usize, u64)> {
        // Pairs over rate, as a fraction.
        let load = |&(at, pairs): &(usize, u64)| {
            let rate = self.rates.get(at).copied().unwrap_or(Ratio::ONE);
            (
                u128::from(pairs) * u128::from(rate.den()),
                u128::from(rate.num()),
            )
        };
        let fuller = |a: &(usize, u64), b: &(usize, u64)| {
            let ((a, p), (b, q)) = (load(a), load(b));
            // Rates have at most 40 bits, and pairs practically at most 44.
            (a.saturating_mul(q)).cmp(&b.saturating_mul(p))
        };
        let links = self.link_pairs.iter().copied().enumerate();
        links.filter(|&(_, pairs)| pairs > 0).reduce(|best, link| {
            if fuller(&link, &best).is_gt() {
                link
            } else {
                best
            }
        })
    }

    /// The most that every NIC can send under uniform traffic before a link saturates, in
    /// flits per tick: (numerator, denominator). At most the rate of the NICs.
    #[must_use]
    pub fn uniform_bound(&self, nics: u32) -> (u64, u64) {
        let others = u64::from(nics.saturating_sub(1)) * self.share;
        let Some((at, pairs)) = self.busiest_link() else {
            return (self.nic_rate.num(), self.nic_rate.den());
        };
        let Some(&rate) = self.rates.get(at) else {
            return if pairs > others {
                (others, pairs)
            } else {
                (1, 1)
            };
        };
        let num = u128::from(others) * u128::from(rate.num());
        let bound = Ratio::reduced(num, u128::from(pairs) * u128::from(rate.den()));
        let bound = bound.filter(|&bound| bound < self.nic_rate);
        let bound = bound.unwrap_or(self.nic_rate);
        (bound.num(), bound.den())
    }
}

/// The next hop of packets for the present destination.
#[derive(Debug, Clone, Copy, Default)]
struct Hop {
    /// The out-ports that packets may take; none if there is no route.
    ports: Ports,
    /// The port leads to the destination itself.
    is_last: bool,
}

/// A switch whose routes are being followed, and the out-ports that are left to follow.
#[derive(Debug)]
struct Visit {
    switch: SwitchId,
    left: Ports,
}

/// The packets that arrive at a switch by one of its links: the in-port, and their VL classes, a
/// bit each.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    port_in: PortId,
    classes: u8,
}

/// Hops of a switch without a route to the destination.
const LOST: u32 = u32::MAX;

/// Mark of switches on the route that is being followed.
fn on_route(dst: NicId) -> u64 {
    2 * u64::from(dst.get()) + 1
}

/// Mark of switches whose routes are known.
fn known(dst: NicId) -> u64 {
    2 * u64::from(dst.get()) + 2
}

/// Follows the routes to one destination after the other.
pub(super) struct Walk<'a> {
    pub(super) spec: &'a FabricSpec,
    nics_at: Vec<u32>,
    /// Switches with NICs.
    sources: Vec<SwitchId>,
    /// Number of VL classes that packets use, on each leg of a path.
    class_count: u8,
    /// Packets change their VL class on their path.
    changes_class: bool,
    /// Legs of paths begin at all switches, also at those without NICs.
    begin_anywhere: bool,
    turn_bits: TurnBits,
    vl_classes: VlClasses,

    // For the present destination dst, by switch.
    /// [`on_route`] or [`known`].
    mark: Vec<u64>,
    /// Next hop.
    hop: Vec<Hop>,
    /// Hops to the destination, or [`LOST`].
    hops: Vec<u32>,
    /// NICs whose packets pass the switch, in units of 1/share.
    sources_behind: Vec<u64>,
    /// Their packets from other switches.
    arriving: Vec<Vec<Arrival>>,

    /// Switches with a route to the destination, each after its next hops.
    order: Vec<SwitchId>,
    /// Switches of the route that is being followed.
    route: Vec<Visit>,
    pub(super) tables: Option<TableWalk<'a>>,

    pub(super) result: RouteAnalysis,
}

impl<'a> Walk<'a> {
    fn new(spec: &'a FabricSpec) -> Self {
        let topology = &spec.topology;
        let (switches, radix) = (topology.switches() as usize, topology.radix() as usize);
        let nics = u64::from(topology.nics());
        let nics_at = nics_at(spec);
        let begin_anywhere = begin_anywhere(spec);
        let sources = topology
            .switch_ids()
            .filter(|s| nics_at[s.index()] > 0 || begin_anywhere)
            .collect();
        Self {
            spec,
            sources,
            class_count: if spec.needs_classes() {
                spec.classes_of_leg()
            } else {
                1
            },
            changes_class: spec.needs_classes(),
            begin_anywhere,
            turn_bits: TurnBits::new(spec),
            vl_classes: VlClasses::new(topology),
            mark: vec![0; switches],
            hop: vec![Hop::default(); switches],
            hops: vec![LOST; switches],
            sources_behind: vec![0; switches],
            arriving: vec![Vec::new(); switches],
            order: Vec::with_capacity(switches),
            route: Vec::new(),
            tables: TableWalk::new(spec),
            nics_at,
            result: RouteAnalysis {
                pairs: nics * nics.saturating_sub(1),
                pairs_by_hops: Vec::new(),
                lost: Vec::new(),
                routing_loop: None,
                link_pairs: vec![0; switches * radix],
                rates: match spec.switch.kind().links() {
                    None => Vec::new(),
                    Some(links) => {
                        let of = |s| topology.port_ids().map(move |p| links.at(topology, s, p));
                        topology.switch_ids().flat_map(of).collect()
                    }
                },
                nic_rate: topology
                    .nic_ids()
                    .map(|nic| topology.attachment(nic))
                    .map(|SwitchPort { switch, port }| spec.link_rate(switch, port))
                    .fold(Ratio::ONE, Ratio::min),
                share: spec.shares_of_pair(),
                turns: Turns {
                    radix,
                    through: vec![0; switches * radix * radix],
                    injected: vec![0; switches * radix],
                    by_tables: None,
                },
            },
        }
    }

    /// Finds the routes of every source to `dst`.
    fn follow(&mut self, routes: &impl Routes, dst: NicId) {
        self.order.clear();
        for i in 0..self.sources.len() {
            let source = self.sources[i];
            if self.mark[source.index()] != known(dst) {
                self.follow_from(routes, source, dst);
            }
        }
    }

    /// Finds the routes of `source` and of all switches that its routes pass.
    fn follow_from(&mut self, routes: &impl Routes, source: SwitchId, dst: NicId) {
        self.enter(routes, source, dst);
        while let Some(visit) = self.route.last_mut() {
            let switch = visit.switch;
            let Some(port) = visit.left.pop() else {
                self.leave(dst);
                continue;
            };
            let Peer::Switch { switch: next, .. } = self.spec.topology.peer(switch, port) else {
                continue;
            };
            let mark = self.mark[next.index()];
            if mark == on_route(dst) {
                let route = self.route.iter().map(|visit| visit.switch);
                let routing_loop = || RoutingLoop {
                    dst,
                    switches: route.skip_while(|&at| at != next).collect(),
                };
                self.result.routing_loop.get_or_insert_with(routing_loop);
            } else if mark != known(dst) {
                self.enter(routes, next, dst);
            }
        }
    }

    /// Begins to follow the routes of `switch`.
    fn enter(&mut self, routes: &impl Routes, switch: SwitchId, dst: NicId) {
        let at = switch.index();
        let hop = self.hop_of(routes, switch, dst).unwrap_or_default();
        (self.mark[at], self.hop[at]) = (on_route(dst), hop);
        let left = hop.ports;
        self.route.push(Visit { switch, left });
    }

    /// All routes of the switch at the end of the route are followed: stores its hops. It has no
    /// route if one of its next switches has none.
    fn leave(&mut self, dst: NicId) {
        let Some(Visit { switch, .. }) = self.route.pop() else {
            return;
        };
        let at = switch.index();
        let hop = self.hop[at];
        let hops = |port| match self.spec.topology.peer(switch, port) {
            _ if hop.is_last => 0,
            Peer::Switch { switch, .. } if self.mark[switch.index()] == known(dst) => {
                self.hops[switch.index()].saturating_add(1)
            }
            _ => LOST,
        };
        let hops = hop.ports.iter().map(hops).max().unwrap_or(LOST);
        self.mark[at] = known(dst);
        self.hops[at] = hops;
        self.sources_behind[at] = u64::from(self.nics_at[at]) * self.result.share;
        if hops != LOST {
            self.order.push(switch);
        }
    }

    /// The next hop at `switch`, if it leads to the destination or to other switches.
    fn hop_of(&self, routes: &impl Routes, switch: SwitchId, dst: NicId) -> Option<Hop> {
        let topology = &self.spec.topology;
        let ports = routes.choices(switch, dst);
        let peer = |port| {
            if topology.has_port(switch, port) {
                topology.peer(switch, port)
            } else {
                Peer::None
            }
        };
        let is_last = peer(ports.first()?) == Peer::Nic(dst) && ports.count() == 1;
        let leads_on = |port| matches!(peer(port), Peer::Switch { .. });
        let is_route = is_last || ports.iter().all(leads_on);
        is_route.then_some(Hop { ports, is_last })
    }

    /// Adds the pairs and turns of the routes to `dst`, the farthest switches first.
    fn add_up(&mut self, dst: NicId) {
        let home = self.spec.topology.attachment(dst).switch;
        let vls = self.vls_for(dst);
        self.note_lost(dst);
        for i in (0..self.order.len()).rev() {
            let switch = self.order[i];
            let at = switch.index();
            let own = u64::from(self.nics_at[at]) - u64::from(switch == home);
            let hops = self.hops[at] as usize;
            self.result.add_pairs(hops, own);
            let send = own > 0 || self.begin_anywhere && switch != home;
            self.pass_on(switch, send, dst, vls);
            let hop = self.hop[at];
            if let Some(tables) = &mut self.tables {
                tables.pass(switch, dst, hop.ports);
            }
        }
    }

    /// Spreads the pairs that pass `switch` over its next hops; if some of its own NICs `send`, their
    /// pairs too. Adds their turns at this switch.
    fn pass_on(&mut self, switch: SwitchId, send: bool, dst: NicId, vls: u32) {
        let radix = self.result.turns.radix;
        let at = switch.index();
        let arrived = std::mem::take(&mut self.arriving[at]);
        let ports = self.hop[at].ports;
        let (mut pairs_left, mut ports_left) = (self.sources_behind[at], ports.count());
        for port in ports.iter() {
            let pairs = pairs_left / u64::from(ports_left);
            (pairs_left, ports_left) = (pairs_left - pairs, ports_left - 1);
            let output = at * radix + port.index();
            let mut classes = 0;
            if send {
                let class = match self.class_count {
                    1 => 0,
                    _ => self.vl_classes.first(output as u32),
                };
                classes |= 1 << class;
                let turn = self.turn(0, class, dst, vls);
                self.inject(SwitchPort::new(switch, port), turn, dst);
            }
            for arrival in &arrived {
                let mut turn = 0;
                for before in
                    (0..self.class_count).filter(|class| arrival.classes >> class & 1 == 1)
                {
                    let behind = |class| {
                        let classes = &self.vl_classes;
                        classes.behind(arrival.port_in, port, output as u32, class)
                    };
                    let after = if self.class_count > 1 {
                        behind(before)
                    } else {
                        0
                    };
                    turn |= self.turn(before, after, dst, vls);
                    classes |= 1 << after;
                }
                let row = at * radix + arrival.port_in.index();
                self.result.turns.through[row * radix + port.index()] |= turn;
            }
            if let Peer::Switch {
                switch: next,
                port: port_in,
            } = self.spec.topology.peer(switch, port)
            {
                self.result.link_pairs[output] += pairs;
                self.sources_behind[next.index()] += pairs;
                self.arriving[next.index()].push(Arrival { port_in, classes });
            }
        }
        // Its room is kept for the next destination.
        self.arriving[at] = arrived;
        self.arriving[at].clear();
    }

    /// The turn of packets for `dst` from VL class `before` to `after`. `vls`: their VLs, if these
    /// do not change.
    fn turn(&self, before: u8, after: u8, dst: NicId, vls: u32) -> u32 {
        if self.changes_class {
            self.turn_bits.turn(before, after, dst)
        } else {
            vls
        }
    }

    /// VLs of packets for `dst`, a bit each, where VLs do not change.
    pub(super) fn vls_for(&self, dst: NicId) -> u32 {
        if self.spec.queueing_by_more().is_some() {
            // The source counts, too.
            let used = self.spec.qos.vls_used();
            return (0..)
                .zip(used)
                .fold(0, |vls, (vl, used)| vls | u32::from(used) << (vl & 31));
        }
        let levels = 0..self.spec.qos.service_levels.len();
        let channels = levels.filter_map(|sl| self.spec.channel(sl, 0, dst));
        channels.fold(0, |vls, channel| vls | 1 << (channel.vl & 31))
    }

    /// Adds pairs without a route to `dst`.
    fn note_lost(&mut self, dst: NicId) {
        if self.result.lost.len() >= EXAMPLES
            || self.sources.iter().all(|&s| self.hops[s.index()] != LOST)
        {
            return;
        }
        let topology = &self.spec.topology;
        let is_lost = |src| self.hops[topology.attachment(src).switch.index()] == LOST;
        let given = |src| self.spec.routing.source_routes.get(NicPair { src, dst });
        let lost = topology
            .nic_ids()
            .filter(|&src| src != dst && is_lost(src) && given(src).is_none());
        let room = EXAMPLES - self.result.lost.len();
        let lost: Vec<_> = lost.map(|src| NicPair { src, dst }).take(room).collect();
        self.result.lost.extend(lost);
    }
}
