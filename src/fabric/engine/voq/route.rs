//! Phase 4: routing decides output, SC and VL (`docs/model-infiniband.md` §7).

use super::layout::PortTables;
use super::parts::Input;
use super::{Fabric, event};
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::infiniband::{VlMap, Voq};
use crate::fabric::routing::Router;
use crate::fabric::spec::{FabricSpec, SpecError, TrunkSelection};
use crate::fabric::topology::Shape;

/// Not a port of a dimension.
const NO_DIMENSION: u8 = u8::MAX;

/// The ways of packets: which port, which VL.
#[derive(Debug)]
pub(super) struct Ways {
    radix: u32,
    router: Router,
    /// Linear forwarding tables: port per switch · NICs + destination.
    forwarding: Option<Vec<u16>>,
    nics: usize,
    trunk_links: u32,
    trunk: TrunkSelection,
    /// Next trunk link per first port, for round-robin trunks.
    trunk_next: Vec<u32>,
    /// Dimension of each port within a switch.
    dimension_of: Vec<u8>,
    /// Ports whose link closes a ring.
    wrap: Vec<bool>,
    dateline: bool,
    vls: Vls,
}

/// Through a switch: ports over all switches, and within it.
struct Way {
    input: u32,
    output: u32,
    entry: u8,
    exit: u8,
}

#[derive(Debug)]
enum Vls {
    /// Per SL: VL of each dateline class on rings, else of each destination modulo length.
    ServiceChannels(Vec<Vec<u8>>),
    Tables(PortTables),
}

impl Ways {
    pub(super) fn new(spec: &FabricSpec, voq: &Voq) -> Result<Self, SpecError> {
        let topology = &spec.topology;
        let (radix, ports) = (topology.radix(), topology.switches() * topology.radix());
        let mut ways = Self {
            radix,
            router: Router::new(spec),
            forwarding: voq.forwarding.as_ref().map(|tables| tables.ports.concat()),
            nics: topology.nics() as usize,
            trunk_links: 1,
            trunk: spec.routing.trunk,
            trunk_next: vec![0; ports as usize],
            dimension_of: vec![NO_DIMENSION; radix as usize],
            wrap: Vec::new(),
            dateline: spec.needs_classes(),
            vls: match &voq.vl_map {
                VlMap::ServiceChannels => Vls::ServiceChannels(
                    (0..spec.qos.service_levels.len())
                        .map(|sl| spec.qos.vls_of(sl).collect())
                        .collect(),
                ),
                VlMap::SlToVl(tables) => Vls::Tables(PortTables::new(spec, tables)?),
            },
        };
        if let Shape::Cube(cube) = topology.shape() {
            ways.trunk_links = cube.trunk();
            let dimension = |port| cube.link_of(port).map_or(NO_DIMENSION, |(d, _, _)| d as u8);
            ways.dimension_of = (0..radix).map(dimension).collect();
            let wraps = |port: u32| cube.is_wrap_link(port / radix, port % radix);
            ways.wrap = (0..ports).map(wraps).collect();
        }
        Ok(ways)
    }

    /// True if the order in which packets are routed counts.
    fn takes_turns(&self) -> bool {
        self.trunk_links > 1
            && self.trunk == TrunkSelection::RoundRobin
            && self.forwarding.is_none()
    }

    /// VL of a packet that leaves adapter `nic`.
    #[inline]
    pub(super) fn vl_at_hca(&self, nic: u32, dst: u32, sl: u8) -> u8 {
        match &self.vls {
            Vls::ServiceChannels(vls) => {
                let table = &vls[usize::from(sl)];
                table[if self.dateline {
                    0
                } else {
                    dst as usize % table.len()
                }]
            }
            Vls::Tables(tables) => tables.at_hca(nic, sl),
        }
    }

    /// Output, over all switches, of a packet for `dst` at `switch`. `in_use`: credits in the
    /// output buffer of a port.
    #[inline]
    fn output(&mut self, switch: u32, dst: u32, mut in_use: impl FnMut(u32) -> u32) -> u32 {
        if let Some(tables) = &self.forwarding {
            let port = tables[switch as usize * self.nics + dst as usize];
            return switch * self.radix + u32::from(port);
        }
        let port = self.router.first_port(switch, dst);
        let first = switch * self.radix + port;
        if self.trunk_links == 1 || self.dimension_of[port as usize] == NO_DIMENSION {
            return first;
        }
        first
            + match self.trunk {
                TrunkSelection::Destination => dst % self.trunk_links,
                TrunkSelection::RoundRobin => {
                    let next = &mut self.trunk_next[first as usize];
                    let link = *next;
                    *next = (link + 1) % self.trunk_links;
                    link
                }
                TrunkSelection::LeastQueued => {
                    let links = (0..self.trunk_links).map(|link| (in_use(first + link), link));
                    links.min().map_or(0, |(_, link)| link)
                }
            }
    }

    /// VL and dateline class of a packet of `sl` for `dst` from `input` to `output`.
    #[inline]
    fn vl(&self, way: &Way, sl: u8, dst: u32, class: u8) -> (u8, u8) {
        match &self.vls {
            Vls::Tables(tables) => (tables.at_switch(way.input, way.output, sl), class),
            Vls::ServiceChannels(vls) if self.dateline => {
                let came_in = self.dimension_of[usize::from(way.entry)];
                let goes_on = self.dimension_of[usize::from(way.exit)];
                let keeps = came_in == goes_on && goes_on != NO_DIMENSION;
                let class = u8::from(keeps && class == 1 || self.wrap[way.output as usize]);
                (vls[usize::from(sl)][usize::from(class)], class)
            }
            Vls::ServiceChannels(vls) => {
                // Divisions take their time.
                match vls[usize::from(sl)].as_slice() {
                    [vl] => (*vl, class),
                    table => (table[dst as usize % table.len()], class),
                }
            }
        }
    }
}

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// Headers dated now are routed and join their queues.
    #[inline]
    pub(super) fn complete_routing(&mut self) {
        let mut joining = std::mem::take(&mut self.joining);
        if joining.len() > 1 && self.ways.takes_turns() {
            joining.sort_unstable_by_key(|&id| self.packets[id].input);
        }
        for id in joining.drain(..) {
            self.join(id);
        }
        self.joining = joining;
    }

    fn join(&mut self, id: PacketId) {
        let now = self.now;
        let packet = &self.packets[id];
        let (input, dst, sl) = (packet.input, packet.dst, packet.sl);
        let (flits, class) = (packet.flits, packet.class);
        let Input {
            switch,
            first_port,
            local: entry,
            ..
        } = self.inputs[input as usize];
        let (outputs, leaving, pace) = (&mut self.outputs, &mut self.leaving, &self.pace);
        let output = self.ways.output(switch, dst, |output| {
            let port = &mut outputs[output as usize];
            leaving[output as usize].settle(pace, now, |_, credits| port.room += credits);
            u32::MAX - u32::from(port.room)
        });
        let exit = (output - first_port) as u8;
        let way = Way {
            input,
            output,
            entry,
            exit,
        };
        let (vl, class) = self.ways.vl(&way, sl, dst, class);
        let packet = &mut self.packets[id];
        (packet.output, packet.vl, packet.class) = (output, vl, class);
        packet.waiting_since = now;
        packet.next = NONE;

        let lane = output as usize * self.vls + usize::from(vl);
        let queue = &mut self.queues
            [(input * self.radix + u32::from(exit)) as usize * self.vls + usize::from(vl)];
        if queue.head == NONE {
            queue.head = id;
            self.inputs[input as usize].queues += 1;
            self.lanes[lane].heads.insert(entry);
            self.outputs[output as usize].lanes |= 1 << vl;
            self.dirty_outputs.push(output);
        } else {
            self.packets[queue.tail].next = id;
        }
        queue.tail = id;
        if let Some(congestion) = &mut self.congestion {
            congestion
                .port_vls
                .joined((input, output, vl), flits.into());
        }
    }

    /// Notes that a packet left for a switch.
    #[inline]
    pub(super) fn send_to_switch(&mut self, id: PacketId) {
        let at = self.joins_at(id);
        self.push(at, event::JOIN, id);
    }
}
