//! The links of a fabric, and what they connect.

use super::link::{End, Link};
use flitwise::fabric::ids::{PortId, SwitchId};
use flitwise::fabric::spec::voq::StaticPool;
use flitwise::fabric::spec::{FabricSpec, Tick, Voq};
use flitwise::fabric::topology::Peer;

/// The links of a switch port, by their index: the one that arrives, and the one that leaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortLinks {
    pub arriving: Option<usize>,
    pub leaving: Option<usize>,
}

/// All links, and who has which, by their index.
pub struct Wiring {
    pub links: Vec<Link>,
    /// Per switch and port.
    pub switches: Vec<Vec<PortLinks>>,
    /// Per adapter: the link to its switch, and the link from there.
    pub hcas: Vec<(usize, usize)>,
}

impl Wiring {
    pub fn new(spec: &FabricSpec, voq: &Voq) -> Self {
        let topology = &spec.topology;
        let (radix, count) = (topology.radix() as usize, topology.switches() as usize);
        let mut wiring = Self {
            links: Vec::new(),
            switches: vec![vec![PortLinks::default(); radix]; count],
            hcas: vec![(0, 0); topology.nics() as usize],
        };
        for switch in 0..count {
            for port in 0..radix {
                wiring.connect(spec, voq, switch, port);
            }
        }
        wiring
    }

    /// Adds the link that leaves `port` of `switch`, and the one that comes from an adapter there.
    fn connect(&mut self, spec: &FabricSpec, voq: &Voq, switch: usize, port: usize) {
        let here = End::Port { switch, port };
        let (b, flight) = (&voq.buffers, spec.link_latency);
        let (id, at) = (SwitchId::new(switch as u32), PortId::new(port as u32));
        let rate = (voq.links.at(&spec.topology, id, at), spec.units.flit_bytes);
        let links = &mut self.links;
        let mut add = |from, to, latency: Tick, own: u32, far: &StaticPool| {
            let (sizes, per_credit) = (far.per_vl.clone(), spec.units.flits_per_credit);
            links.push(Link::new((from, to), latency, rate, own, sizes, per_credit));
            links.len() - 1
        };
        match spec.topology.peer(id, at) {
            Peer::None => {}
            Peer::Nic(nic) => {
                let there = End::Nic(nic.index());
                let up = add(there, here, flight.host, b.nic_queue, &b.input);
                let down = add(here, there, flight.host, b.output, &b.nic_sink);
                self.switches[switch][port] = PortLinks {
                    arriving: Some(up),
                    leaving: Some(down),
                };
                self.hcas[nic.index()] = (up, down);
            }
            Peer::Switch {
                switch: next,
                port: entry,
            } => {
                let (next, entry) = (next.index(), entry.index());
                let there = End::Port {
                    switch: next,
                    port: entry,
                };
                let link = add(here, there, flight.switch, b.output, &b.input);
                self.switches[switch][port].leaving = Some(link);
                self.switches[next][entry].arriving = Some(link);
            }
        }
    }
}
