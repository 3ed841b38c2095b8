//! Which queues a central buffer has (`docs/model/fabric.md` §2).

use super::{CentralLink, CentralQueues, MPORT_CENTRALS, mport};
use crate::ids::{PortId, SwitchId};
use crate::topology::{Peer, Topology};

/// Classes of queues: local NICs are class 0, then the neighbours of a switch in
/// the order of their lowest port; or one class for all. Where the out-port decides the
/// central buffer, a central buffer (m, j) only serves ports of parity j, so its classes
/// are numbered within the parity: fewer queues, in the same order.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Most classes of any switch and parity.
    pub count: usize,
    /// Class, within its parity, of each port, counted over all switches.
    pub of_port: Vec<u16>,
    /// Classes are numbered within each of this number of residues of ports.
    parities: u32,
}

impl Classes {
    pub(crate) fn new(topology: &Topology, queues: CentralQueues, link: CentralLink) -> Self {
        let parities = match link {
            CentralLink::ByOutput => MPORT_CENTRALS,
            CentralLink::ByInput | CentralLink::Random { .. } => 1,
        };
        let radix = topology.radix();
        let mut of_port = Vec::with_capacity(radix as usize * topology.switches() as usize);
        let mut count = 1;
        let mut classes = Vec::new();
        for switch in topology.switch_ids() {
            let first = of_port.len();
            classes.clear();
            for port in topology.port_ids() {
                // NICs sort before all switches.
                let key = match topology.peer(switch, port) {
                    Peer::Switch { switch, .. } if queues == CentralQueues::PerNeighbour => {
                        Some(switch)
                    }
                    _ => None,
                };
                let class = classes.iter().position(|&known| known == key);
                of_port.push(class.unwrap_or_else(|| {
                    classes.push(key);
                    classes.len() - 1
                }) as u16);
            }
            let nics = classes.iter().position(Option::is_none);
            for parity in 0..parities {
                let same = || (parity..radix).step_by(parities as usize);
                let ports = || same().map(|port| first + port as usize);
                // Where the NICs do not come first by their ports, they do by rule.
                let rank = |class: u16| match nics {
                    Some(n) if usize::from(class) == n => 0,
                    Some(n) if usize::from(class) < n => class + 1,
                    _ => class,
                };
                let mut present: Vec<u16> = ports().map(|port| rank(of_port[port])).collect();
                present.sort_unstable();
                present.dedup();
                count = count.max(present.len());
                for port in ports() {
                    let rank = rank(of_port[port]);
                    of_port[port] = present.iter().position(|&p| p == rank).unwrap_or(0) as u16;
                }
            }
        }
        Self {
            count,
            of_port,
            parities,
        }
    }

    /// The classes that have a queue in central buffer (`of`, `j`) of `switch`,
    /// ascending: those with a port outside the MPort that the central buffer serves.
    pub(crate) fn existing(
        &self,
        topology: &Topology,
        switch: SwitchId,
        of: u32,
        j: u32,
    ) -> impl Iterator<Item = usize> + use<> {
        let mut exists = vec![false; self.count];
        for port in self.served(topology, j) {
            if mport(port) != of && topology.peer(switch, port) != Peer::None {
                exists[usize::from(self.of_port[topology.port_index(switch, port)])] = true;
            }
        }
        (0..self.count).filter(move |&class| exists[class])
    }

    /// The out-ports of packets in central buffers (m, `j`), outside the MPort or not.
    pub(crate) fn served(
        &self,
        topology: &Topology,
        j: u32,
    ) -> impl Iterator<Item = PortId> + use<> {
        let first = PortId::new(j % self.parities);
        let ports = PortId::within(first..PortId::new(topology.radix()));
        ports.step_by(self.parities as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_within_a_parity_nics_first() {
        // A 4x4 torus with 1 NIC and trunks of 2: NIC 0, links 1-2, 3-4, 5-6, 7-8.
        let torus = Topology::cube(&[4, 4], true, 1, 2, None).unwrap();
        let classes = |queues, link| Classes::new(&torus, queues, link);
        let (per_neighbour, by_output) = (CentralQueues::PerNeighbour, CentralLink::ByOutput);
        let any_port = classes(per_neighbour, CentralLink::ByInput);
        assert_eq!(any_port.of_port[..10], [0, 1, 1, 2, 2, 3, 3, 4, 4, 0]);
        let classes = classes(per_neighbour, by_output);
        assert_eq!(classes.count, 5);
        // Even ports: NIC, then one link of each neighbour. Unconnected ports
        // count as NICs and never have packets.
        assert_eq!(classes.of_port[..12], [0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 0]);
        let existing = |mport, j| {
            let switch = SwitchId::new(0);
            classes
                .existing(&torus, switch, mport, j)
                .collect::<Vec<_>>()
        };
        assert_eq!(existing(0, 0), [2, 3, 4]);
        assert_eq!(existing(0, 1), [3, 4]);
        assert_eq!(existing(1, 0), [0, 1, 4]);
        assert_eq!(existing(2, 1), [1, 2, 3, 4]);
        let per_vl = Classes::new(&torus, CentralQueues::PerVl, by_output);
        assert_eq!(per_vl.count, 1);
    }
}
