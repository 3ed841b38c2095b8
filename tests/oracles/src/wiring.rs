//! The links of a topology, worked out from its parameters.

use super::families::{self, Plan};
use flitwise_fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise_fabric::spec::{FabricSpec, LinkLatency, Tick};
use flitwise_fabric::topology::Topology;

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The port of a NIC.
    Nic(usize),
    /// A port of a switch.
    Port {
        /// Switch.
        switch: usize,
        /// Port of that switch.
        port: usize,
    },
}

/// Ticks of flight over the link between two ends: its own, which may be named by either end, or the usual ones.
pub(crate) fn flight(spec: &FabricSpec, (from, to): (End, End)) -> Tick {
    let latency = &spec.link_latency;
    let own = |end: End| match end {
        End::Nic(_) => None,
        End::Port { switch, port } => {
            let (switch, port) = (SwitchId::new(switch as u32), PortId::new(port as u32));
            latency
                .exceptions
                .get(&SwitchPort { switch, port })
                .copied()
        }
    };
    let between = matches!((from, to), (End::Port { .. }, End::Port { .. }));
    let usual = if between { latency.switch } else { latency.nic };
    own(from).or(own(to)).unwrap_or(usual)
}

/// At least the ticks of flight over any two links.
pub(crate) fn longest_flights(spec: &FabricSpec) -> Tick {
    let LinkLatency {
        switch,
        nic,
        exceptions,
    } = &spec.link_latency;
    let own = exceptions.values().copied().max().unwrap_or(0);
    switch + nic + 2 * own
}

/// The links of a switch port by their numbers: the one that arrives, and the one that leaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortLinks {
    pub(crate) arriving: Option<usize>,
    pub(crate) leaving: Option<usize>,
}

/// The wiring of a fabric.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// The other end of the cable at each port of each switch.
    pub ports: Vec<Vec<Option<End>>>,
    /// Switch and port of each NIC.
    pub homes: Vec<(usize, usize)>,
    /// Both ends of each link, which leads one way.
    pub(crate) links: Vec<(End, End)>,
    /// The links of each port of each switch.
    pub(crate) switch_links: Vec<Vec<PortLinks>>,
    /// The links of each NIC: to its switch, and from there.
    pub(crate) nic_links: Vec<(usize, usize)>,
}

impl Wiring {
    /// The wiring of `topology`.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let Plan {
            switches,
            ports,
            homes,
            cables,
        } = families::plan(topology);
        let radix = ports.next_multiple_of(4).max(8) as usize;
        let mut wiring = Self {
            ports: vec![vec![None; radix]; switches as usize],
            homes: homes.iter().map(|&home| numbers(home)).collect(),
            links: Vec::new(),
            switch_links: vec![vec![PortLinks::default(); radix]; switches as usize],
            nic_links: vec![(0, 0); homes.len()],
        };
        for (nic, (switch, port)) in wiring.homes.clone().into_iter().enumerate() {
            wiring.plug_in((switch, port), End::Nic(nic));
        }
        for [a, b] in cables {
            for (near, far) in [(a, b), (b, a)] {
                let (switch, port) = numbers(far);
                wiring.plug_in(numbers(near), End::Port { switch, port });
            }
        }
        wiring.number_links();
        wiring
    }

    fn plug_in(&mut self, (switch, port): (usize, usize), far: End) {
        let before = self.ports[switch][port].replace(far);
        assert_eq!(before, None, "two cables at port {port} of switch {switch}");
    }

    /// Numbers the links: port by port the one that leaves, behind the one from a NIC there.
    fn number_links(&mut self) {
        for switch in 0..self.ports.len() {
            for port in 0..self.radix() {
                let here = End::Port { switch, port };
                let Some(there) = self.ports[switch][port] else {
                    continue;
                };
                if let End::Nic(nic) = there {
                    self.links.push((there, here));
                    let up = self.links.len() - 1;
                    self.switch_links[switch][port].arriving = Some(up);
                    self.nic_links[nic] = (up, up + 1);
                }
                self.links.push((here, there));
                let link = self.links.len() - 1;
                self.switch_links[switch][port].leaving = Some(link);
                if let End::Port { switch, port } = there {
                    self.switch_links[switch][port].arriving = Some(link);
                }
            }
        }
    }

    /// Ports of every switch, connected or not.
    #[must_use]
    pub fn radix(&self) -> usize {
        self.ports[0].len()
    }

    /// The switch of a NIC.
    pub(crate) fn switch_of(&self, nic: u32) -> u32 {
        self.homes[nic as usize].0 as u32
    }
}

fn numbers((switch, port): (u32, u32)) -> (usize, usize) {
    (switch as usize, port as usize)
}
