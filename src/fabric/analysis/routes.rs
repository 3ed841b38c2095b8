//! All routes at once: the hops of every pair of NICs, the number of pairs that each link
//! carries, and the turns that packets take at each switch. Whether the turns allow a
//! deadlock is found in [`channels`](super::channels).
//!
//! The routes to one destination form a tree towards it. The tree is walked from its leaves,
//! which costs one step per (switch, destination).

use super::table_turns::TableWalk;
use super::turns::{TurnBits, Turns};
use super::{MAX_STEPS, MAX_TURNS, Routes, TooLarge, nics_at, steps};
use crate::fabric::spec::{FabricSpec, Switch, TrunkSelection};
use crate::fabric::topology::{Peer, Ports, VlClasses};
use crate::units::Ratio;

/// What follows from all routes of a fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteAnalysis {
    /// Ordered pairs of different NICs.
    pub pairs: u64,
    /// Connected pairs by hops, which are the switch-to-switch links crossed.
    pub pairs_by_hops: Vec<u64>,
    /// The first pairs (source, destination) without a route, at most [`EXAMPLES`].
    pub lost: Vec<(u32, u32)>,
    /// A destination, and the switches of a routing loop of its packets.
    pub circle: Option<(u32, Vec<u32>)>,
    /// Pairs that cross each directed link between switches, in units of
    /// 1/[`RouteAnalysis::share`], by `switch * radix + port`.
    pub link_pairs: Vec<u64>,
    /// Number of links that the pairs of a trunk are spread over.
    pub share: u64,
    /// Turns that packets take at each switch.
    pub turns: Turns,
    /// Rates of the links in flits per tick, ordered as `link_pairs`. Empty if all are 1.
    rates: Vec<Ratio>,
    /// Rate of the slowest link of a NIC in flits per tick.
    nic_rate: Ratio,
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
        for dst in 0..topology.nics() {
            walk.follow(routes, dst);
            walk.add_up(dst);
        }
        walk.result.turns.by_tables = walk.tables.map(|tables| tables.found);
        Ok(walk.result)
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
    candidates: Ports,
    /// The first candidate.
    first: u32,
    /// The next switch; `None` if the port is that of the destination itself.
    next: Option<u32>,
}

/// Hops of a switch without a route to the destination.
const LOST: u32 = u32::MAX;

/// Follows the routes to one destination after the other.
struct Walk<'a> {
    spec: &'a FabricSpec,
    nics_at: Vec<u32>,
    /// Switches with NICs.
    sources: Vec<u32>,
    /// Number of VL classes that packets use.
    class_count: u8,
    turn_bits: TurnBits,
    vl_classes: VlClasses,

    // For the present destination dst, by switch.
    /// 2 dst + 1: on the route that is being followed. 2 dst + 2: known.
    mark: Vec<u64>,
    /// Next hop.
    hop: Vec<Hop>,
    /// Hops to the destination, or [`LOST`].
    hops: Vec<u32>,
    /// NICs whose packets pass the switch.
    sources_behind: Vec<u64>,
    /// VL classes of these packets behind the switch, a bit each.
    classes: Vec<u8>,

    /// Switches with a route to the destination, each after its next hop.
    order: Vec<u32>,
    /// Switches of the route that is being followed.
    route: Vec<u32>,
    tables: Option<TableWalk<'a>>,

    result: RouteAnalysis,
}

impl<'a> Walk<'a> {
    fn new(spec: &'a FabricSpec) -> Self {
        let topology = &spec.topology;
        let (switches, radix) = (topology.switches() as usize, topology.radix() as usize);
        let nics = u64::from(topology.nics());
        let nics_at = nics_at(spec);
        let sources = (0..topology.switches())
            .filter(|&s| nics_at[s as usize] > 0)
            .collect();
        let share = match spec.routing.trunk {
            TrunkSelection::RoundRobin | TrunkSelection::LeastQueued => {
                topology.family().trunk().into()
            }
            TrunkSelection::Destination => 1,
        };
        Self {
            spec,
            sources,
            class_count: spec.classes(),
            turn_bits: TurnBits::new(spec),
            vl_classes: VlClasses::new(topology),
            mark: vec![0; switches],
            hop: vec![Hop::default(); switches],
            hops: vec![LOST; switches],
            sources_behind: vec![0; switches],
            classes: vec![0; switches],
            order: Vec::with_capacity(switches),
            route: Vec::new(),
            tables: TableWalk::new(spec),
            nics_at,
            result: RouteAnalysis {
                pairs: nics * nics.saturating_sub(1),
                pairs_by_hops: Vec::new(),
                lost: Vec::new(),
                circle: None,
                link_pairs: vec![0; switches * radix],
                rates: match &spec.switch {
                    Switch::Hierarchical(_) => Vec::new(),
                    Switch::Voq(_) => {
                        let at = |i| spec.link_rate((i / radix) as u32, (i % radix) as u32);
                        (0..switches * radix).map(at).collect()
                    }
                },
                nic_rate: (0..topology.nics())
                    .map(|nic| topology.attachment(nic))
                    .map(|(switch, port)| spec.link_rate(switch, port))
                    .fold(
                        Ratio::ONE,
                        |least, rate| if rate < least { rate } else { least },
                    ),
                share,
                turns: Turns {
                    radix,
                    through: vec![0; switches * radix * radix],
                    injected: vec![0; switches * radix],
                    by_tables: None,
                },
            },
        }
    }

    /// Finds the route of every source to `dst`.
    fn follow(&mut self, routes: &impl Routes, dst: u32) {
        let (on_route, known) = (2 * u64::from(dst) + 1, 2 * u64::from(dst) + 2);
        self.order.clear();
        for i in 0..self.sources.len() {
            let mut switch = self.sources[i];
            self.route.clear();
            // Hops from the end of the part that is followed here.
            let mut hops = loop {
                let at = switch as usize;
                if self.mark[at] == known {
                    break self.hops[at];
                }
                if self.mark[at] == on_route {
                    let start = self.route.iter().position(|&s| s == switch).unwrap_or(0);
                    let routing_loop = &self.route[start..];
                    self.result
                        .circle
                        .get_or_insert_with(|| (dst, routing_loop.to_vec()));
                    break LOST;
                }
                self.mark[at] = on_route;
                self.route.push(switch);
                let Some(hop) = self.hop_of(routes, switch, dst) else {
                    break LOST;
                };
                self.hop[at] = hop;
                let Some(next) = hop.next else {
                    self.route.pop();
                    self.set_known(switch, 0, known);
                    break 0;
                };
                switch = next;
            };
            while let Some(switch) = self.route.pop() {
                if hops != LOST {
                    hops += 1;
                }
                self.set_known(switch, hops, known);
            }
        }
    }

    /// Stores the hops from `switch` to the destination.
    fn set_known(&mut self, switch: u32, hops: u32, known: u64) {
        let at = switch as usize;
        self.mark[at] = known;
        self.hops[at] = hops;
        self.sources_behind[at] = self.nics_at[at].into();
        self.classes[at] = 0;
        if hops != LOST {
            self.order.push(switch);
        }
    }

    /// The next hop at `switch`, if it leads to the destination or to another switch.
    fn hop_of(&self, routes: &impl Routes, switch: u32, dst: u32) -> Option<Hop> {
        let topology = &self.spec.topology;
        let candidates = routes.candidates(switch, dst);
        let peer = |port| match port < topology.radix() {
            true => topology.peer(switch, port),
            false => Peer::None,
        };
        let first = candidates.first()?;
        let next = match peer(first) {
            Peer::Nic(nic) if nic == dst && candidates.count() == 1 => None,
            Peer::Switch { switch, .. } => Some(switch),
            _ => return None,
        };
        let leads_there = |port| match peer(port) {
            Peer::Switch { switch, .. } => Some(switch) == next,
            _ => next.is_none(),
        };
        candidates.iter().all(leads_there).then_some(Hop {
            candidates,
            first,
            next,
        })
    }

    /// The out-ports that packets for `dst` may take over `hop`.
    fn choices(&self, hop: Hop, dst: u32) -> Ports {
        match self.spec.routing.trunk {
            TrunkSelection::Destination => hop
                .candidates
                .of_destination(dst)
                .map_or(Ports::NONE, Ports::one),
            TrunkSelection::RoundRobin | TrunkSelection::LeastQueued => hop.candidates,
        }
    }

    /// Adds the pairs and turns of the routes to `dst`, the farthest switches first.
    fn add_up(&mut self, dst: u32) {
        let radix = self.result.turns.radix;
        let home = self.spec.topology.attachment(dst).0;
        let vls = self.vls_for(dst);
        self.note_lost(dst);
        for i in (0..self.order.len()).rev() {
            let switch = self.order[i];
            let at = switch as usize;
            let hop = self.hop[at];
            let own = u64::from(self.nics_at[at]) - u64::from(switch == home);
            let hops = self.hops[at] as usize;
            if own > 0 {
                let by_hops = &mut self.result.pairs_by_hops;
                if by_hops.len() <= hops {
                    by_hops.resize(hops + 1, 0);
                }
                by_hops[hops] += own;
                let class = self.vl_classes.first(at as u32 * radix as u32 + hop.first);
                self.classes[at] |= 1 << class;
                let turn = match self.class_count {
                    1 => vls,
                    _ => self.turn_bits.turn(0, class, dst),
                };
                for out in self.choices(hop, dst).iter() {
                    self.result.turns.injected[at * radix + out as usize] |= turn;
                }
            }
            if let Some(next) = hop.next {
                self.pass_on(switch, next, dst, vls);
                let ports = self.choices(hop, dst);
                if let Some(tables) = &mut self.tables {
                    tables.pass(switch, ports);
                }
            } else if let Some(tables) = &mut self.tables {
                tables.end(switch);
            }
        }
    }

    /// Adds the pairs that leave `switch` to its links and to the switch `next`, and their turns
    /// there.
    fn pass_on(&mut self, switch: u32, next: u32, dst: u32, vls: u32) {
        let radix = self.result.turns.radix;
        let at = switch as usize;
        let (hop, classes) = (self.hop[at], self.classes[at]);
        let ports = self.choices(hop, dst);
        let pairs = self.sources_behind[at];
        let spread = self.result.share / u64::from(ports.count().max(1));
        let next = next as usize;
        self.sources_behind[next] += pairs;
        let on = self.hop[next];
        let output = (next * radix) as u32 + on.first;
        for port in ports.iter() {
            self.result.link_pairs[at * radix + port as usize] += pairs * spread;
            let Peer::Switch { port: port_in, .. } = self.spec.topology.peer(switch, port) else {
                continue;
            };
            let mut turn = vls;
            if self.class_count > 1 {
                turn = 0;
                for class in (0..self.class_count).filter(|class| classes >> class & 1 == 1) {
                    let after = self.vl_classes.behind(port_in, on.first, output, class);
                    turn |= self.turn_bits.turn(class, after, dst);
                    self.classes[next] |= 1 << after;
                }
            }
            for out in self.choices(on, dst).iter() {
                let row = next * radix + port_in as usize;
                self.result.turns.through[row * radix + out as usize] |= turn;
            }
        }
    }

    /// VLs of packets for `dst`, a bit each, where VLs do not change.
    fn vls_for(&self, dst: u32) -> u32 {
        let levels = 0..self.spec.qos.service_levels.len();
        let channels = levels.filter_map(|sl| self.spec.channel(sl, 0, dst));
        channels.fold(0, |vls, channel| vls | 1 << (channel.vl & 31))
    }

    /// Adds pairs without a route to `dst`.
    fn note_lost(&mut self, dst: u32) {
        if self.result.lost.len() >= EXAMPLES
            || self.sources.iter().all(|&s| self.hops[s as usize] != LOST)
        {
            return;
        }
        let topology = &self.spec.topology;
        let lost = (0..topology.nics())
            .filter(|&src| src != dst && self.hops[topology.attachment(src).0 as usize] == LOST);
        let room = EXAMPLES - self.result.lost.len();
        let lost: Vec<_> = lost.map(|src| (src, dst)).take(room).collect();
        self.result.lost.extend(lost);
    }
}
