//! Next hops and VL classes (`docs/model/fabric.md` §7).

use super::detours::{self, QueueOf, Streams};
use super::families::{self, Among, cube, dragonfly, graph};
use super::vls;
use super::wiring::{End, Wiring};
use flitwise_fabric::ids::{NicId, NicPair};
use flitwise_fabric::spec::{DetourRule, FabricSpec, Tick, TrunkSelection, UpPorts};
use flitwise_fabric::topology::{Cube, Shape};

/// The header of a packet, as routing sees it.
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

/// The next hop of a packet, and its state from there on.
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
    /// The minimal path. A packet on its way to the first switch has this leg as well.
    #[default]
    Only,
    /// Towards this NIC.
    First(u32),
    /// On to the destination.
    Second,
}

/// The fill of the outputs, in credits.
pub struct Load<'a> {
    /// Credits in use in the output buffer of a port of the present switch.
    pub queued: &'a dyn Fn(usize) -> u32,
    /// Credits of the packets that were routed to a port of the present switch and have not been granted that buffer.
    pub waiting: &'a dyn Fn(usize) -> u32,
    /// Both together, at a port of another switch.
    pub elsewhere: QueueOf<'a>,
}

impl Load<'_> {
    /// The queue of a port of `switch`, seen from switch `present`.
    fn of(&self, present: u32, switch: u32, port: usize) -> u32 {
        if present == switch {
            (self.queued)(port) + (self.waiting)(port)
        } else {
            (self.elsewhere)(switch, port)
        }
    }
}

/// The routing part of one switch.
#[derive(Debug, Clone)]
pub struct Router<'s> {
    spec: &'s FabricSpec,
    wiring: &'s Wiring,
    switch: u32,
    /// Next link of the trunk that begins at each port.
    next_link: Vec<usize>,
    /// Port for every NIC, in explicit graphs.
    table: Vec<usize>,
    /// The random stream of the packets of each port.
    streams: Streams,
}

impl<'s> Router<'s> {
    pub fn new(spec: &'s FabricSpec, wiring: &'s Wiring, switch: u32) -> Self {
        let table = match spec.topology.shape() {
            Shape::Graph(_) => graph::routes(wiring, switch),
            _ => Vec::new(),
        };
        Self {
            spec,
            wiring,
            switch,
            next_link: vec![0; wiring.radix()],
            table,
            streams: detours::streams(spec, wiring, switch),
        }
    }

    /// The next leg of a packet that came in by port `input`.
    fn leg(&mut self, input: usize, header: Header, load: &Load<'_>) -> Leg {
        let (spec, here) = (self.spec, (self.switch, header.dst));
        let Some(rules) = spec.routing.paths.detours() else {
            return Leg::Only;
        };
        let from_nic = matches!(
            self.wiring.ports[self.switch as usize][input],
            Some(End::Nic(_))
        );
        let mut leg = header.leg;
        if detours::is_asked(spec, leg, from_nic) {
            let stream = self.streams[input].as_mut().expect("the port draws");
            let via = detours::draw(spec, self.wiring, here, stream);
            let port = |nic| self.port_now(nic, load);
            let queue_of = |switch, port| load.of(self.switch, switch, port);
            let cost = |via| detours::cost(spec, self.wiring, here, via, &port, &queue_of);
            let takes = |via| {
                rules.rule == DetourRule::Valiant
                    || cost(None) > cost(Some(via)) + u64::from(rules.bias)
            };
            leg = via.filter(|&via| takes(via)).map_or(Leg::Only, Leg::First);
        }
        match leg {
            Leg::First(nic)
                if detours::ends(spec, rules, self.switch, self.wiring.switch_of(nic)) =>
            {
                Leg::Second
            }
            leg => leg,
        }
    }

    /// The port that a packet to NIC `dst` would take here now.
    fn port_now(&self, dst: u32, load: &Load<'_>) -> usize {
        let (spec, switch) = (self.spec, self.switch);
        let home = self.wiring.switch_of(dst);
        if home == switch {
            return self.wiring.homes[dst as usize].1;
        }
        if let Some(&port) = self.table.get(dst as usize).filter(|_| !self.is_node(dst)) {
            return port;
        }
        match self.step(home, dst) {
            (own, Among::Trunk { first, count }) => match spec.routing.trunk {
                TrunkSelection::Destination => own,
                TrunkSelection::RoundRobin => first + self.next_link[first],
                TrunkSelection::LeastQueued => (first..first + count)
                    .min_by_key(|&port| (load.queued)(port))
                    .expect("a trunk has links"),
            },
            (own, Among::Up { first, count })
                if own >= first && spec.routing.up_ports == UpPorts::LeastQueued =>
            {
                let around = (0..count).map(|step| first + (own - first + step) % count);
                around
                    .min_by_key(|&port| load.of(switch, switch, port))
                    .expect("there is an up-port")
            }
            (own, _) => own,
        }
    }

    /// The port that the pair's own route names here, if it has one.
    fn of_pair(&self, header: Header) -> Option<usize> {
        let [src, dst] = [header.src, header.dst].map(NicId::new);
        let route = self.spec.routing.source_routes.get(NicPair { src, dst })?;
        let here = route.iter().find(|at| at.switch.get() == self.switch);
        Some(here.expect("the packet keeps to its route").port.index())
    }

    /// Decides in tick `now` the next hop of a packet that came in by port `input`.
    pub fn route(&mut self, now: Tick, input: usize, header: Header, load: &Load<'_>) -> NextHop {
        let spec = self.spec;
        if let Some(output) = self.of_pair(header) {
            return NextHop {
                output,
                class: header.class,
                leg: header.leg,
            };
        }
        let mut changes = spec.routing.changes.iter().rev();
        let changed = changes.find(|change| change.from <= now);
        let first = spec.routing.forwarding.as_ref();
        if let Some(tables) = changed.map(|change| &change.tables).or(first) {
            let row = &tables.ports[self.switch as usize];
            let home = self.wiring.switch_of(header.dst);
            let listed = row.get(header.dst as usize);
            return NextHop {
                output: match listed {
                    Some(port) => port.index(),
                    None if home == self.switch => self.wiring.homes[header.dst as usize].1,
                    // Beside tables nothing chooses among the links of a trunk.
                    None => match self.step(home, header.dst) {
                        (_, Among::Trunk { first, .. }) => first,
                        (own, _) => own,
                    },
                },
                class: header.class,
                leg: header.leg,
            };
        }
        let leg = self.leg(input, header, load);
        let class = if leg == header.leg { header.class } else { 0 };
        let dst = match leg {
            Leg::First(nic) => nic,
            Leg::Only | Leg::Second => header.dst,
        };
        let home = self.wiring.switch_of(dst);
        let output = self.port_now(dst, load);
        if spec.routing.trunk == TrunkSelection::RoundRobin
            && home != self.switch
            && self.table.is_empty()
            && let (_, Among::Trunk { first, count }) = self.step(home, dst)
        {
            let next = &mut self.next_link[first];
            *next = (*next + 1) % count;
        }
        // The port of an aggregation node is like the first one, which leads to a NIC.
        let like = |port: usize| match self.wiring.ports[self.switch as usize][port] {
            Some(End::Nic(_)) => 0,
            _ => port,
        };
        let class = match spec.topology.shape() {
            Shape::Dragonfly(fly) => {
                let global = like(output) >= dragonfly::first_global(fly) as usize;
                if global { 1 } else { class }
            }
            Shape::Cube(cube) if home != self.switch => {
                self.cross_cube(cube, output, like(input), class)
            }
            // Classes number the hops of a leg.
            Shape::SlimFly(_) if home != self.switch => {
                let ports = &self.wiring.ports[self.switch as usize];
                let from_link = matches!(ports[input], Some(End::Port { .. }));
                usize::from(from_link && leg == header.leg)
            }
            Shape::SlimFly(_) => class,
            _ => 0,
        };
        NextHop { output, class, leg }
    }

    /// VL to `next` of a packet that came in by port `input`.
    pub fn vl(&self, input: usize, header: Header, next: NextHop) -> usize {
        let at = (self.switch, input);
        vls::vl_behind(self.spec, self.wiring, at, header, next)
    }

    /// Whether an endpoint is an aggregation node.
    fn is_node(&self, endpoint: u32) -> bool {
        endpoint >= self.spec.topology.nics()
    }

    /// The port towards endpoint `dst` at another switch, `home`, and the ports that are as good.
    fn step(&self, home: u32, dst: u32) -> (usize, Among) {
        let at = (self.switch, home, dst);
        if self.is_node(dst) {
            families::step_to_node(self.spec, self.wiring, at)
        } else {
            families::step(self.spec, self.wiring, at)
        }
    }

    /// A packet takes the link at `output`. Its class there, if it is `kept` as long as the packet stays in the dimension.
    fn cross_cube(&self, cube: &Cube, output: usize, input: usize, kept: usize) -> usize {
        let (here, ..) = families::on_plane(self.spec, (self.switch, 0, 0));
        let stays = cube::dimension_of(cube, input) == cube::dimension_of(cube, output);
        match (cube::closes_ring(cube, here, output), stays) {
            (true, _) => 1,
            (false, true) => kept,
            (false, false) => 0,
        }
    }
}
