//! Next hops and VL classes (`docs/model.md` §7).

use super::families::{cube, dragonfly, graph, tree, xgft};
use super::vls;
use super::wiring::{End, Wiring};
use flitwise::fabric::spec::{FabricSpec, Paths, TrunkSelection, UpPorts};
use flitwise::fabric::topology::{Cube, Shape};
use flitwise::random::{Purpose, Stream};

/// What routing knows of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub src: u32,
    pub dst: u32,
    pub sl: u8,
    /// VL class within its leg, 0 or 1; only means something on rings and dragonflies.
    pub class: usize,
    /// The leg of its path decided last.
    pub leg: Leg,
    /// VL on which it came.
    pub vl: usize,
}

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

/// The routing part of one switch.
#[derive(Debug, Clone)]
pub struct Router<'s> {
    spec: &'s FabricSpec,
    wiring: &'s Wiring,
    switch: u32,
    /// Next link of the trunk in each direction (two per dimension).
    next_link: Vec<usize>,
    /// Port for every NIC, in explicit graphs.
    table: Vec<usize>,
    /// What draws the switches at which first legs end, at ports with a NIC.
    streams: Vec<Option<Stream>>,
}

impl<'s> Router<'s> {
    pub fn new(spec: &'s FabricSpec, wiring: &'s Wiring, switch: u32) -> Self {
        let directions = match spec.topology.shape() {
            Shape::Cube(cube) => 2 * cube.dimensions().len(),
            _ => 0,
        };
        let table = match spec.topology.shape() {
            Shape::Graph(_) => graph::routes(wiring, switch),
            _ => Vec::new(),
        };
        let stream = |far: &Option<End>| match (spec.routing.paths, far) {
            (Paths::Valiant { seed }, &Some(End::Nic(nic))) => {
                Some(Stream::new(seed, Purpose::Paths, [nic as u64, 0]))
            }
            _ => None,
        };
        let ports = &wiring.ports[switch as usize];
        Self {
            spec,
            wiring,
            switch,
            next_link: vec![0; directions],
            table,
            streams: ports.iter().map(stream).collect(),
        }
    }

    /// Which leg a packet that came in by port `input` goes on with.
    fn leg(&mut self, input: usize, header: Header) -> Leg {
        let leg = match &mut self.streams[input] {
            Some(stream) => Leg::First(stream.below(self.wiring.homes.len() as u64) as u32),
            None => header.leg,
        };
        match leg {
            Leg::First(nic) if self.wiring.switch_of(nic) == self.switch => Leg::Second,
            leg => leg,
        }
    }

    /// Decides the next hop of a packet that came in by port `input`. `queued`
    /// tells the credits in use in the output buffer of a port, `waiting` those of
    /// packets that were routed to it here and have not been granted that buffer.
    pub fn route(
        &mut self,
        input: usize,
        header: Header,
        queued: impl Fn(usize) -> u32,
        waiting: impl Fn(usize) -> u32,
    ) -> NextHop {
        let spec = self.spec;
        if let Some(tables) = &spec.routing.forwarding {
            let row = &tables.ports[self.switch as usize];
            return NextHop {
                output: row[header.dst as usize].index(),
                class: header.class,
                leg: header.leg,
            };
        }
        let leg = self.leg(input, header);
        let begins = leg != header.leg && leg == Leg::Second;
        let class = if begins { 0 } else { header.class };
        let dst = match leg {
            Leg::First(nic) => nic,
            Leg::Only | Leg::Second => header.dst,
        };
        let home = self.wiring.switch_of(dst);
        let upwards = |own: usize, first: usize, count: usize| {
            if own < first || spec.routing.up_ports == UpPorts::Destination {
                return own;
            }
            let around = (0..count).map(|step| first + (own - first + step) % count);
            around
                .min_by_key(|&port| waiting(port) + queued(port))
                .expect("there is an up-port")
        };
        let without_classes = |output| NextHop {
            output,
            class: 0,
            leg,
        };
        match spec.topology.shape() {
            Shape::Dragonfly(fly) if home != self.switch => {
                let output = dragonfly::route(fly, self.switch, home, dst);
                let global = output >= dragonfly::first_global(fly) as usize;
                let class = if global { 1 } else { class };
                NextHop { output, class, leg }
            }
            Shape::Dragonfly(_) => {
                let output = self.wiring.homes[dst as usize].1;
                NextHop { output, class, leg }
            }
            _ if home == self.switch => without_classes(self.wiring.homes[dst as usize].1),
            Shape::Cube(cube) => {
                // The class lasts as long as the dimension.
                let kept = if begins { 0 } else { class };
                let (output, class) = self.route_on_cube(cube, (home, dst), input, kept, queued);
                NextHop { output, class, leg }
            }
            Shape::Tree(tree) => {
                let k = tree.k() as usize;
                without_classes(upwards(tree::route(*tree, self.switch, dst), k, k))
            }
            Shape::Xgft(tree) => {
                let (own, first, count) = xgft::route(tree, self.switch, dst);
                without_classes(upwards(own, first, count))
            }
            Shape::Graph(_) => without_classes(self.table[dst as usize]),
            Shape::Single(_) => unreachable!("every NIC is at the only switch"),
        }
    }

    /// VL on which a packet that came in by port `input` goes on to `next`.
    pub fn vl(&self, input: usize, header: Header, next: NextHop) -> usize {
        let at = (self.switch, input);
        vls::vl_behind(self.spec, self.wiring, at, header, next)
    }

    /// The link of the trunk in dimension order, and the class there. `home`: switch and NIC that
    /// the packet goes to; `kept`: its class if it stays in the dimension.
    fn route_on_cube(
        &mut self,
        cube: &Cube,
        (home, dst): (u32, u32),
        input: usize,
        kept: usize,
        queued: impl Fn(usize) -> u32,
    ) -> (usize, usize) {
        let step = cube::route(cube, self.spec.routing.ring_tie, self.switch, home);
        let trunk = cube.trunk() as usize;
        let link = match self.spec.routing.trunk {
            TrunkSelection::Destination => dst as usize % trunk,
            TrunkSelection::RoundRobin => {
                let link = self.next_link[step.side];
                self.next_link[step.side] = (link + 1) % trunk;
                link
            }
            TrunkSelection::LeastQueued => (0..trunk)
                .min_by_key(|link| queued(step.first_port + link))
                .expect("a trunk has links"),
        };
        let stays = cube::dimension_of(cube, input) == Some(step.dimension);
        let class = match (step.closes_ring, stays) {
            (true, _) => 1,
            (false, true) => kept,
            (false, false) => 0,
        };
        (step.first_port + link, class)
    }
}
