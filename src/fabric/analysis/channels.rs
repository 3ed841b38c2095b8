//! The channel dependency graph: which queue can wait for credits of which other queue.
//!
//! A fabric whose graph has no cycle cannot deadlock (Dally and Seitz, 1987). The channels of
//! hierarchical switches are the queues of `docs/model/fabric.md` §2. A packet of at most c credits
//! waits for credits of one queue only if c credits of that queue are exclusive. Otherwise it
//! also waits for the credits that the queues of the buffer share. These credits are one more
//! channel, which waits for all queues that may use them. The channels of `voq` switches are the
//! VLs of their input buffers, which share no credits. [`routes`](super::routes) finds which
//! turns packets take.

use super::graph::{Graph, couple};
use super::routes::RouteAnalysis;
use super::turns::{VlPair, VlPairs};
use super::{MAX_TURNS, TooLarge};
use crate::ids::SwitchId;
use crate::spec::{Classes, FabricSpec, Hop, Paths};
use crate::switch::Waits;
use crate::switch::hierarchical::{CentralLink, CentralQueues, Quota, centrals_between};
use crate::topology::Peer;

/// Kind of buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Buffer {
    /// Input buffer of a port.
    Input,
    /// Output buffer of a port.
    Output,
    /// Central buffer of an MPort.
    Central,
}

/// The credits that a packet waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credits {
    /// Credits of a queue of this VL. In central buffers a queue also has a class.
    Queue {
        /// Virtual lane.
        vl: u8,
        /// The destination of the packets of a queue of a central buffer; `None` in other buffers.
        towards: Option<Towards>,
    },
    /// Credits that the queues of the buffer share.
    Shared,
}

/// The destination of the packets of a queue of a central buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    /// The NICs of the switch.
    Nics,
    /// A neighbouring switch.
    Switch(SwitchId),
    /// Everywhere: there is one queue per VL.
    All,
}

/// A channel: a queue, or the shared credits, of one buffer of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Kind of the buffer.
    pub buffer: Buffer,
    /// Switch.
    pub switch: SwitchId,
    /// Port within the switch, or number of the central buffer: 2 × MPort + 0 or 1.
    pub index: u32,
    /// Queue or shared credits.
    pub credits: Credits,
}

/// The queues that packets use, and their dependencies.
#[derive(Debug)]
pub struct ChannelGraph<'a> {
    spec: &'a FabricSpec,
    classes: Classes,
    nodes: Nodes,
    graph: Graph,
    /// Every destination has a queue of its own, and packets take minimal paths. Then the graph of each destination
    /// is the graph of its routes, which has a cycle only if there is a routing loop.
    pub per_destination: bool,
    /// Number of queues in use.
    pub queues: u64,
    /// Number of queues in use with fewer exclusive credits than the largest packet on their VL
    /// takes: in input, output and central buffers.
    pub without_room: [u64; 3],
}

impl<'a> ChannelGraph<'a> {
    /// The graph of a fabric whose packets take the routes of `routes`.
    ///
    /// # Errors
    /// If there are more queues or dependencies than [`MAX_TURNS`].
    pub fn new(spec: &'a FabricSpec, routes: &RouteAnalysis) -> Result<Self, TooLarge> {
        let topology = &spec.topology;
        let (queues, link) = central_buffers(spec);
        let classes = Classes::new(topology, queues, link);
        let nodes = Nodes {
            ports: topology.switches() as usize * topology.radix() as usize,
            vls: usize::from(spec.qos.vls),
            classes: classes.count,
        };
        TooLarge::check("queues:", nodes.count() as u64, MAX_TURNS)?;
        let mut builder = Builder {
            spec,
            nodes,
            quotas: BUFFERS.map(|buffer| Quotas::new(spec, buffer)),
            used: vec![false; nodes.count()],
            edges: Vec::new(),
        };
        let pairs = VlPairs::new(spec);
        let per_destination = has_queues_per_destination(spec);
        for switch in topology.switch_ids() {
            match spec.switch.kind().waits() {
                Waits::FromBufferToBuffer(_) => {
                    builder.add_switch(switch, routes, &classes, &pairs);
                }
                Waits::FromInputToInput { .. } => builder.add_inputs(switch, routes, &pairs),
            }
            let edges = builder.edges.len() as u64;
            TooLarge::check("dependencies between queues:", edges, MAX_TURNS)?;
        }
        if per_destination {
            builder.edges.clear();
        }
        builder.add_shared();
        let mut without_room = [0; 3];
        let mut queues = 0;
        for node in (0..nodes.queues()).filter(|&node| builder.used[node]) {
            let (buffer, _) = nodes.buffer(node);
            let short = builder.quotas[buffer as usize].borrows[node % nodes.vls];
            without_room[buffer as usize] += u64::from(short);
            queues += 1;
        }
        Ok(Self {
            spec,
            per_destination,
            graph: Graph::new(nodes.count(), builder.edges),
            classes,
            nodes,
            queues,
            without_room,
        })
    }

    /// Number of dependencies.
    #[must_use]
    pub fn dependencies(&self) -> u64 {
        self.graph.edges() as u64
    }

    /// A cycle of channels: each can wait for the next, and the last for the first. `None` if
    /// there is no cycle.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<Channel>> {
        let cycle = self.graph.cycle()?;
        Some(cycle.iter().map(|&n| self.channel(n as usize)).collect())
    }

    /// The channel of a node.
    fn channel(&self, node: usize) -> Channel {
        let (buffer, at) = self.nodes.buffer(node);
        let radix = self.spec.topology.radix() as usize;
        let per_switch = match buffer {
            Buffer::Central => radix / 2,
            Buffer::Input | Buffer::Output => radix,
        };
        let switch = SwitchId::new((at / per_switch) as u32);
        let index = (at % per_switch) as u32;
        let credits = if node >= self.nodes.queues() {
            Credits::Shared
        } else {
            let class = match buffer {
                Buffer::Central => Some(self.nodes.class(node)),
                Buffer::Input | Buffer::Output => None,
            };
            Credits::Queue {
                vl: (node % self.nodes.vls) as u8,
                towards: class.map(|class| self.towards(switch, index, class)),
            }
        };
        Channel {
            buffer,
            switch,
            index,
            credits,
        }
    }

    /// The destination of the packets of class `class` in central buffer `central` of a switch.
    fn towards(&self, switch: SwitchId, central: u32, class: usize) -> Towards {
        if central_buffers(self.spec).0 == CentralQueues::PerVl {
            return Towards::All;
        }
        let topology = &self.spec.topology;
        let port = self.classes.served(topology, central % 2).find(|&port| {
            let of_port = self.classes.of_port[topology.port_index(switch, port)];
            usize::from(of_port) == class && topology.peer(switch, port) != Peer::None
        });
        match port.map(|port| topology.peer(switch, port)) {
            Some(Peer::Switch { switch, .. }) => Towards::Switch(switch),
            _ => Towards::Nics,
        }
    }
}

/// The kinds of buffers, in the order of their nodes.
const BUFFERS: [Buffer; 3] = [Buffer::Input, Buffer::Output, Buffer::Central];

/// Numbering of the nodes. First come the queues of all input buffers, of all output buffers
/// and of all central buffers, by class and VL. Then come the shared credits of every buffer
/// in the same order.
#[derive(Debug, Clone, Copy)]
struct Nodes {
    /// Switch ports; there are half as many central buffers.
    ports: usize,
    vls: usize,
    /// Classes of queues per central buffer.
    classes: usize,
}

impl Nodes {
    /// Number of queues, which are the first nodes.
    fn queues(self) -> usize {
        (2 * self.ports + self.ports / 2 * self.classes) * self.vls
    }

    /// Number of nodes.
    fn count(self) -> usize {
        self.queues() + 2 * self.ports + self.ports / 2
    }

    /// Node of a queue. `class` only matters in central buffers.
    fn queue(self, buffer: Buffer, at: usize, class: usize, vl: usize) -> usize {
        let queue = match buffer {
            Buffer::Input => at,
            Buffer::Output => self.ports + at,
            Buffer::Central => 2 * self.ports + at * self.classes + class,
        };
        queue * self.vls + vl
    }

    /// Class of the queue of a central buffer.
    fn class(self, node: usize) -> usize {
        (node / self.vls - 2 * self.ports) % self.classes
    }

    /// Node of the shared credits of a buffer.
    fn shared(self, buffer: Buffer, at: usize) -> usize {
        let before = match buffer {
            Buffer::Input => 0,
            Buffer::Output => self.ports,
            Buffer::Central => 2 * self.ports,
        };
        self.queues() + before + at
    }

    /// The buffer that a node belongs to: its kind and number.
    fn buffer(self, node: usize) -> (Buffer, usize) {
        let (at, classes) = match node.checked_sub(self.queues()) {
            Some(shared) => (shared, 1),
            None => (node / self.vls, self.classes),
        };
        if at < self.ports {
            (Buffer::Input, at)
        } else if at < 2 * self.ports {
            (Buffer::Output, at - self.ports)
        } else {
            (Buffer::Central, (at - 2 * self.ports) / classes)
        }
    }
}

/// Whether every destination has a queue of its own and all packets for it take the paths of a tree. Where sources decide
/// paths, the queues of a destination are taken for one that all packets share, which finds every cycle.
fn has_queues_per_destination(spec: &FabricSpec) -> bool {
    let waits = spec.switch.kind().waits();
    let per_destination = matches!(
        waits,
        Waits::FromInputToInput {
            per_destination: true
        }
    );
    per_destination && spec.routing.paths == Paths::Minimal && spec.routing.source_routes.is_empty()
}

/// The division of central buffers, and which one a packet takes; without effect in a fabric that has none.
fn central_buffers(spec: &FabricSpec) -> (CentralQueues, CentralLink) {
    match spec.switch.kind().waits() {
        Waits::FromBufferToBuffer(buffers) => (buffers.central_queues, buffers.central_link),
        Waits::FromInputToInput { .. } => (CentralQueues::PerVl, CentralLink::ByOutput),
    }
}

/// The quotas of one kind of buffer, by VL, as far as the graph needs them.
struct Quotas {
    /// A packet may take more than the exclusive credits of its queue.
    borrows: Vec<bool>,
    /// A queue may hold more than its exclusive credits.
    holds_shared: Vec<bool>,
}

impl Quotas {
    fn new(spec: &FabricSpec, buffer: Buffer) -> Self {
        let Waits::FromBufferToBuffer(buffers) = spec.switch.kind().waits() else {
            // The buffer of every VL holds the largest packet: other fabrics are refused.
            let none = vec![false; usize::from(spec.qos.vls)];
            return Self {
                borrows: none.clone(),
                holds_shared: none,
            };
        };
        let pool = match buffer {
            Buffer::Input => &buffers.input,
            Buffer::Output => &buffers.output,
            Buffer::Central => &buffers.central,
        };
        let short = |(vl, q): (u8, &Quota)| q.exclusive < spec.max_credits_on_vl(vl);
        Self {
            borrows: (0..).zip(&pool.per_vl).map(short).collect(),
            holds_shared: pool.per_vl.iter().map(|q| q.max > q.exclusive).collect(),
        }
    }
}

/// Collects the edges of the graph.
struct Builder<'a> {
    spec: &'a FabricSpec,
    nodes: Nodes,
    /// By [`Buffer`].
    quotas: [Quotas; 3],
    /// Nodes that packets use.
    used: Vec<bool>,
    edges: Vec<(u32, u32)>,
}

impl Builder<'_> {
    /// Adds the queues and dependencies of a switch and its links: [`Waits::FromBufferToBuffer`].
    fn add_switch(
        &mut self,
        switch: SwitchId,
        routes: &RouteAnalysis,
        classes: &Classes,
        pairs: &VlPairs,
    ) {
        let topology = &self.spec.topology;
        let base = switch.index() * topology.radix() as usize;
        let first_edge = self.edges.len();
        let link = central_buffers(self.spec).1;
        for port_in in topology.port_ids() {
            let from_nic = match topology.peer(switch, port_in) {
                Peer::None => continue,
                Peer::Nic(_) => true,
                Peer::Switch { .. } => false,
            };
            for port_out in topology.port_ids() {
                let out = base + port_out.index();
                let hop = Hop {
                    switch,
                    in_port: port_in,
                    out_port: port_out,
                };
                for VlPair { before, after } in pairs.of_hop(routes, hop) {
                    // Only a NIC waits for the input buffer behind its link.
                    let waits = (!from_nic).then(|| {
                        self.nodes
                            .queue(Buffer::Input, base + port_in.index(), 0, before)
                    });
                    let centrals = centrals_between(link, port_in, port_out);
                    if centrals.is_empty() {
                        self.wait(waits, Buffer::Output, out, 0, after);
                    }
                    for central in centrals {
                        let class = usize::from(classes.of_port[out]);
                        let central = base / 2 + central as usize;
                        let held = self.wait(waits, Buffer::Central, central, class, after);
                        self.wait(Some(held), Buffer::Output, out, 0, after);
                    }
                }
            }
        }
        let switches = self.spec.hierarchical();
        if switches.is_some_and(|switch| switch.allocator.blocks_other_queues()) {
            // The queue that a buffer has picked keeps the others waiting.
            couple(&mut self.edges, first_edge, |queue| {
                self.nodes.buffer(queue as usize)
            });
        }
        self.add_links(switch);
    }

    /// Adds the queues and dependencies of the input buffers of a switch:
    /// [`Waits::FromInputToInput`]. How they organise a VL does not matter: all packets of the VL
    /// share its credits, and a packet behind the head of a FIFO waits for a packet of the same VL and
    /// buffer.
    fn add_inputs(&mut self, switch: SwitchId, routes: &RouteAnalysis, pairs: &VlPairs) {
        let topology = &self.spec.topology;
        let tables = self.spec.qos.vl_policy.tables();
        for port_in in topology.port_ids() {
            let own = |vl| {
                let at = topology.port_index(switch, port_in);
                self.nodes.queue(Buffer::Input, at, 0, vl)
            };
            let from = topology.peer(switch, port_in);
            if let (Peer::Nic(nic), Some(tables)) = (from, tables) {
                let levels = 0..self.spec.qos.service_levels.len();
                let vls = levels.filter_map(|sl| tables.at_hca(nic, sl as u8));
                for vl in vls.filter(|&vl| usize::from(vl) < self.nodes.vls) {
                    self.used[own(vl.into())] = true;
                }
            }
            for port_out in topology.port_ids() {
                let to = topology.peer(switch, port_out);
                // With tables it is the turn from switch to switch that counts.
                let ends = matches!(from, Peer::Nic(_)) || matches!(to, Peer::Nic(_));
                if from == Peer::None || tables.is_some() && ends {
                    continue;
                }
                let hop = Hop {
                    switch,
                    in_port: port_in,
                    out_port: port_out,
                };
                for VlPair { before, after } in pairs.of_hop(routes, hop) {
                    self.used[own(before)] = true;
                    let Peer::Switch { switch: next, port } = to else {
                        continue;
                    };
                    let into = topology.port_index(next, port);
                    let next = self.nodes.queue(Buffer::Input, into, 0, after);
                    self.used[next] = true;
                    if let Peer::Switch { .. } = from {
                        self.edges.push((own(before) as u32, next as u32));
                    }
                }
            }
        }
    }

    /// Adds the waits of the output buffers of a switch. The turns of the switch must have been
    /// added.
    fn add_links(&mut self, switch: SwitchId) {
        let topology = &self.spec.topology;
        for port in topology.port_ids() {
            let Peer::Switch {
                switch: next,
                port: port_in,
            } = topology.peer(switch, port)
            else {
                continue;
            };
            let out = topology.port_index(switch, port);
            let into = topology.port_index(next, port_in);
            for vl in 0..self.nodes.vls {
                let node = self.nodes.queue(Buffer::Output, out, 0, vl);
                if self.used[node] {
                    self.wait(Some(node), Buffer::Input, into, 0, vl);
                }
            }
        }
    }

    /// Adds that packets move on to a queue, and that `from` can wait for it. Returns the node
    /// of the queue.
    fn wait(
        &mut self,
        from: Option<usize>,
        buffer: Buffer,
        at: usize,
        class: usize,
        vl: usize,
    ) -> usize {
        let queue = self.nodes.queue(buffer, at, class, vl);
        self.used[queue] = true;
        if let Some(from) = from {
            self.edges.push((from as u32, queue as u32));
            if self.quotas[buffer as usize].borrows[vl] {
                let shared = self.nodes.shared(buffer, at);
                self.used[shared] = true;
                self.edges.push((from as u32, shared as u32));
            }
        }
        queue
    }

    /// Adds the waits of shared credits for every queue of the buffer that may hold them.
    fn add_shared(&mut self) {
        for queue in 0..self.nodes.queues() {
            let (buffer, at) = self.nodes.buffer(queue);
            let shared = self.nodes.shared(buffer, at);
            let holds = self.quotas[buffer as usize].holds_shared[queue % self.nodes.vls];
            if self.used[queue] && self.used[shared] && holds {
                self.edges.push((shared as u32, queue as u32));
            }
        }
    }
}
