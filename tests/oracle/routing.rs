//! Routing, VL classes and VLs (`docs/model.md` §7), from coordinates and
//! digits alone.

use super::packet::Packet;
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::{
    FabricSpec, Hop, Paths, RingTie, SlToVl, TrunkSelection, UpPorts, VlPolicy,
};
use flitwise::fabric::topology::{Arrangement, Cube, Dragonfly, Peer, Shape, Topology, Tree, Xgft};
use flitwise::random::{Purpose, Stream};

/// Where a switch sends a packet, and the state that it has from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    pub output: usize,
    /// VL class within the leg.
    pub class: usize,
    pub leg: Leg,
}

/// The leg of its path that a packet is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leg {
    /// The only one; also that of a packet on its way to the first switch.
    #[default]
    Only,
    /// To the switch of this NIC.
    First(u32),
    /// On to the destination.
    Second,
}

/// VL on which a packet of `sl` leaves NIC `src` for NIC `dst`.
pub fn vl_at_nic(spec: &FabricSpec, src: u32, dst: u32, sl: u8) -> usize {
    let VlPolicy::SlToVl(SlToVl { default, hcas, .. }) = &spec.qos.vl_policy else {
        return vl_of_class(spec, sl, dst, 0, Leg::Only);
    };
    usize::from(hcas.get(&NicId::new(src)).unwrap_or(default)[usize::from(sl)])
}

/// VL of a packet of `sl` to NIC `dst` in VL class `class` of `leg`, by service channel.
fn vl_of_class(spec: &FabricSpec, sl: u8, dst: u32, class: usize, leg: Leg) -> usize {
    let scs = &spec.qos.service_levels[usize::from(sl)].scs;
    let changes = match spec.topology.shape() {
        Shape::Cube(cube) => cube.wraps(),
        Shape::Dragonfly(fly) => fly.a() > 1 && fly.groups() > 1,
        _ => false,
    };
    // One queue after the other, class after class, leg after leg.
    let class = match leg {
        Leg::Second if changes => 2 + class,
        Leg::Second => 1,
        _ if changes => class,
        _ => 0,
    };
    let by_class = changes || spec.routing.paths != Paths::Minimal;
    let sc = match spec.qos.vl_policy {
        VlPolicy::Dbbm { queues } => {
            let queue = dst % u32::from(queues);
            scs[class * usize::from(queues) + queue as usize]
        }
        _ if by_class => scs[class],
        _ => scs[dst as usize % scs.len()],
    };
    let vl = spec.qos.sc2vl[usize::from(sc)].expect("every SC of an SL has a VL");
    usize::from(vl)
}

/// The routing part of one switch.
#[derive(Debug, Clone)]
pub struct Router {
    switch: u32,
    /// Next link of the trunk in each direction (two per dimension).
    next_link: Vec<u32>,
    /// Port for every NIC, in explicit graphs.
    table: Vec<usize>,
    /// What draws the switches at which first legs end, at ports with a NIC.
    streams: Vec<Option<Stream>>,
}

impl Router {
    pub fn new(spec: &FabricSpec, switch: u32) -> Self {
        let directions = match spec.topology.shape() {
            Shape::Cube(cube) => 2 * cube.dimensions().len(),
            _ => 0,
        };
        let table = match spec.topology.shape() {
            Shape::Graph(_) => nearest_and_least_used(&spec.topology, switch),
            _ => Vec::new(),
        };
        let stream = |port| match (
            spec.routing.paths,
            spec.topology.peer(SwitchId::new(switch), port),
        ) {
            (Paths::Valiant { seed }, Peer::Nic(nic)) => {
                Some(Stream::new(seed, Purpose::Paths, [nic.get().into(), 0]))
            }
            _ => None,
        };
        Self {
            switch,
            table,
            streams: spec.topology.port_ids().map(stream).collect(),
            next_link: vec![0; directions],
        }
    }

    /// Which leg `packet`, which came in by port `input`, goes on with.
    fn leg(&mut self, spec: &FabricSpec, input: usize, packet: &Packet) -> Leg {
        let leg = match &mut self.streams[input] {
            Some(stream) => Leg::First(stream.below(spec.topology.nics().into()) as u32),
            None => packet.leg,
        };
        match leg {
            Leg::First(nic) => {
                let end = spec.topology.attachment(NicId::new(nic)).switch;
                if end.get() == self.switch {
                    Leg::Second
                } else {
                    leg
                }
            }
            leg => leg,
        }
    }

    /// Decides the next hop of `packet`, which came in by port `input`. `queued`
    /// tells the credits in use in the output buffer of a port, `waiting` those of
    /// packets that were routed to it here and have not been granted that buffer.
    pub fn route(
        &mut self,
        spec: &FabricSpec,
        input: usize,
        packet: &Packet,
        queued: impl Fn(usize) -> u32,
        waiting: impl Fn(usize) -> u32,
    ) -> NextHop {
        if let Some(tables) = &spec.routing.forwarding {
            let row = &tables.ports[self.switch as usize];
            return NextHop {
                output: row[packet.dst as usize].index(),
                class: packet.class,
                leg: packet.leg,
            };
        }
        let leg = self.leg(spec, input, packet);
        let begins = leg != packet.leg && leg == Leg::Second;
        let class = if begins { 0 } else { packet.class };
        let dst = match leg {
            Leg::First(nic) => nic,
            Leg::Only | Leg::Second => packet.dst,
        };
        let SwitchPort { switch, port } = spec.topology.attachment(NicId::new(dst));
        let home = switch.get();
        let upwards = |own: usize, first: usize, count: usize| {
            if own < first || spec.routing.up_ports == UpPorts::Destination {
                return own;
            }
            let around = (0..count).map(|step| first + (own - first + step) % count);
            around
                .min_by_key(|&port| waiting(port) + queued(port))
                .expect("there is an up-port")
        };
        let output = match spec.topology.shape() {
            _ if home == self.switch => port.index(),
            Shape::Cube(cube) => {
                let kept =
                    move |same_dimension: bool| if same_dimension && !begins { class } else { 0 };
                let (output, class) =
                    self.route_on_cube(spec, cube, (home, dst), input, kept, queued);
                return NextHop { output, class, leg };
            }
            Shape::Tree(tree) => {
                let k = tree.k() as usize;
                upwards(route_on_tree(*tree, self.switch, dst), k, k)
            }
            Shape::Xgft(tree) => {
                let (own, first, count) = route_on_xgft(tree, self.switch, dst);
                upwards(own, first, count)
            }
            Shape::Dragonfly(fly) => {
                let output = route_on_dragonfly(fly, self.switch, home, dst);
                let global = output >= (fly.p() + fly.a() - 1) as usize;
                let class = if global { 1 } else { class };
                return NextHop { output, class, leg };
            }
            Shape::Graph(_) => self.table[dst as usize],
            Shape::Single(_) => unreachable!("every NIC is at the only switch"),
        };
        let class = match spec.topology.shape() {
            Shape::Dragonfly(_) => class,
            _ => 0,
        };
        NextHop { output, class, leg }
    }

    /// VL on which `packet`, which came in by port `input`, goes on to `next`.
    pub fn vl(&self, spec: &FabricSpec, input: usize, packet: &Packet, next: NextHop) -> usize {
        let VlPolicy::SlToVl(SlToVl { default, ports, .. }) = &spec.qos.vl_policy else {
            return vl_of_class(spec, packet.sl, packet.dst, next.class, next.leg);
        };
        let own = ports.get(&Hop {
            switch: SwitchId::new(self.switch),
            in_port: PortId::new(input as u32),
            out_port: PortId::new(next.output as u32),
        });
        usize::from(own.unwrap_or(default)[usize::from(packet.sl)])
    }

    /// Dimension order: the first dimension in which the coordinates differ. `home`: switch and
    /// NIC that the packet goes to; `kept`: its class before a dateline, by whether it stays in the
    /// dimension. Returns port and class.
    fn route_on_cube(
        &mut self,
        spec: &FabricSpec,
        cube: &Cube,
        (home, dst): (u32, u32),
        input: usize,
        kept: impl Fn(bool) -> usize,
        queued: impl Fn(usize) -> u32,
    ) -> (usize, usize) {
        let sizes = cube.dimensions();
        let here = coordinates(self.switch, sizes);
        let there = coordinates(home, sizes);
        let dimension = (0..sizes.len())
            .find(|&d| here[d] != there[d])
            .expect("the destination is at another switch");
        let (at, size) = (here[dimension], sizes[dimension]);
        let plus = if cube.wraps() {
            let up = (there[dimension] + size - at) % size;
            let down = size - up;
            match up.cmp(&down) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater => false,
                std::cmp::Ordering::Equal => match spec.routing.ring_tie {
                    RingTie::Positive => true,
                    RingTie::SourceParity => at % 2 == 0,
                },
            }
        } else {
            there[dimension] > at
        };
        let closes_ring = cube.wraps() && if plus { at + 1 == size } else { at == 0 };

        // Ports: the NICs, then for each dimension the links up, the links down.
        let trunk = cube.trunk() as usize;
        let side = 2 * dimension + usize::from(!plus);
        let first = cube.concentration() as usize + side * trunk;
        let link = match spec.routing.trunk {
            TrunkSelection::Destination => dst as usize % trunk,
            TrunkSelection::RoundRobin => {
                let link = self.next_link[side] as usize;
                self.next_link[side] = (self.next_link[side] + 1) % trunk as u32;
                link
            }
            TrunkSelection::LeastQueued => (0..trunk)
                .min_by_key(|link| queued(first + link))
                .expect("a trunk has links"),
        };

        let came_in_by = input
            .checked_sub(cube.concentration() as usize)
            .map(|link_port| link_port / (2 * trunk));
        let kept = kept(came_in_by == Some(dimension));
        (first + link, if closes_ring { 1 } else { kept })
    }
}

/// Coordinates of a switch; dimension 0 varies fastest.
fn coordinates(switch: u32, sizes: &[u32]) -> Vec<u32> {
    let mut rest = switch;
    sizes
        .iter()
        .map(|&size| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        })
        .collect()
}

/// DESTRO: down once the destination is below, else up by the destination's
/// digit. The leaf switch of NIC `dst` has the digits 1, 2, … of `dst`; going
/// down from level l chooses digit l.
fn route_on_tree(tree: Tree, switch: u32, dst: u32) -> usize {
    let k = tree.k();
    let width = k.pow(tree.n() - 1);
    let (level, w) = (switch / width, switch % width);
    let leaf = dst / k;
    let below = w / k.pow(level) == leaf / k.pow(level);
    let digit = dst / k.pow(level) % k;
    (if below { digit } else { k + digit }) as usize
}

/// D-mod-k: the switch is known by its level, the subtree it tops and its number among the
/// tops. Hosts are numbered through all subtrees. Returns the port, the first port that leads up,
/// and how many do.
fn route_on_xgft(tree: &Xgft, switch: u32, dst: u32) -> (usize, usize, usize) {
    let (m, w, p) = (tree.down(), tree.up(), tree.parallel());
    let all: u32 = m.iter().product();
    // `below`: hosts under a switch of the level; `tops`: switches that share them.
    let (mut level, mut below, mut tops, mut number) = (0, m[0], 1, switch);
    while number >= all / below * tops {
        number -= all / below * tops;
        level += 1;
        below *= m[level];
        tops *= w[level];
    }
    let subtree = number / tops;
    let first_up = (m[level] * p[level]) as usize;
    if subtree * below <= dst && dst < (subtree + 1) * below {
        // The children's subtrees have `below / m` hosts; they send packets for `dst` up by
        // link `dst / tops'` in turn, parents first, and that link leads down again.
        let child = (dst - subtree * below) / (below / m[level]);
        let link = dst / (tops / w[level]) % (w[level] * p[level]);
        return ((child + m[level] * (link / w[level])) as usize, first_up, 0);
    }
    let links = w[level + 1] * p[level + 1];
    let link = dst / tops % links;
    (first_up + link as usize, first_up, links as usize)
}

/// A global link as one of its ends sees it.
struct Global {
    /// Position of the switch in its group.
    switch: u32,
    /// Port of that switch.
    port: u32,
    /// Which of the links between the two groups.
    number: u32,
}

/// The global links that lead from `group` to the group `to`: all ports of the group in turn.
fn global_links(fly: &Dragonfly, group: u32, to: u32) -> Vec<Global> {
    let (a, h, g) = (fly.a(), fly.h(), fly.groups());
    let others = g - 1;
    let mut links = Vec::new();
    for k in 0..a * h / others * others {
        let q = k % others;
        let leads_to = match fly.arrangement() {
            Arrangement::PalmTree => (group + 2 * g - q - 1) % g,
            Arrangement::Consecutive if q < group => q,
            Arrangement::Consecutive => q + 1,
            Arrangement::Relative => (group + q + 1) % g,
        };
        if leads_to == to {
            links.push(Global {
                switch: k / h,
                port: fly.p() + a - 1 + k % h,
                number: k / others,
            });
        }
    }
    links
}

/// At most one global link: one that makes the fewest hops, and among these the destination's.
fn route_on_dragonfly(fly: &Dragonfly, switch: u32, home: u32, dst: u32) -> usize {
    let (group, at) = (switch / fly.a(), switch % fly.a());
    let (home_group, home_at) = (home / fly.a(), home % fly.a());
    let towards = |other: u32| {
        let before = (0..other).filter(|&s| s != at).count();
        fly.p() as usize + before
    };
    if group == home_group {
        return towards(home_at);
    }
    let arrivals = global_links(fly, home_group, group);
    let mut best: (usize, Vec<Global>) = (usize::MAX, Vec::new());
    for link in global_links(fly, group, home_group) {
        let arrival = arrivals.iter().find(|far| far.number == link.number);
        let far = arrival.expect("a link has two ends").switch;
        let hops = 1 + usize::from(link.switch != at) + usize::from(far != home_at);
        if hops < best.0 {
            best = (hops, Vec::new());
        }
        if hops == best.0 {
            best.1.push(link);
        }
    }
    let chosen = &best.1[dst as usize % best.1.len()];
    if chosen.switch == at {
        chosen.port as usize
    } else {
        towards(chosen.switch)
    }
}

/// Ports of `switch` in an explicit graph: for one NIC after the other the neighbour must
/// be nearer, and of several such ports the one used by the fewest NICs yet is taken.
fn nearest_and_least_used(topology: &Topology, switch: u32) -> Vec<usize> {
    let mut used = vec![0; topology.radix() as usize];
    let mut table = Vec::new();
    let switch = SwitchId::new(switch);
    for nic in topology.nic_ids() {
        let home = topology.attachment(nic);
        if home.switch == switch {
            table.push(home.port.index());
            continue;
        }
        let hops = distances(topology, home.switch);
        let mut best: Option<usize> = None;
        for port in topology.port_ids() {
            let Peer::Switch { switch: next, .. } = topology.peer(switch, port) else {
                continue;
            };
            let nearer = hops[next.index()] < hops[switch.index()];
            if nearer && best.is_none_or(|best| used[port.index()] < used[best]) {
                best = Some(port.index());
            }
        }
        let best = best.expect("graphs are connected");
        used[best] += 1;
        table.push(best);
    }
    table
}

/// Hops from every switch to `home`, by relaxing all links until nothing changes.
fn distances(topology: &Topology, home: SwitchId) -> Vec<u32> {
    let mut hops = vec![u32::MAX - 1; topology.switches() as usize];
    hops[home.index()] = 0;
    loop {
        let before = hops.clone();
        for switch in topology.switch_ids() {
            for port in topology.port_ids() {
                if let Peer::Switch { switch: next, .. } = topology.peer(switch, port) {
                    let through = hops[next.index()] + 1;
                    hops[switch.index()] = hops[switch.index()].min(through);
                }
            }
        }
        if hops == before {
            return hops;
        }
    }
}
