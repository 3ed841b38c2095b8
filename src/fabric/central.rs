//! Which queues a central buffer has (`docs/model.md` §2).

use super::spec::CentralQueues;
use super::topology::{Peer, Topology};

/// Classes of queues: local NICs are class 0, then the neighbours of a switch in
/// the order of their lowest port; or one class for all.
#[derive(Debug)]
pub(super) struct Classes {
    /// Most classes of any switch.
    pub count: usize,
    /// Class of each port, counted over all switches.
    pub of_port: Vec<u16>,
}

impl Classes {
    pub(super) fn new(topology: &Topology, queues: CentralQueues) -> Self {
        let (radix, switches) = (topology.radix(), topology.switches());
        let mut of_port = vec![0; radix as usize * switches as usize];
        let mut count = 1;
        let mut neighbours = Vec::new();
        let switches = if queues == CentralQueues::PerVl {
            0
        } else {
            switches
        };
        for switch in 0..switches {
            neighbours.clear();
            for port in 0..radix {
                if let Peer::Switch { switch: other, .. } = topology.peer(switch, port) {
                    let known = neighbours
                        .iter()
                        .position(|&n| n == other)
                        .unwrap_or_else(|| {
                            neighbours.push(other);
                            neighbours.len() - 1
                        });
                    of_port[(switch * radix + port) as usize] = known as u16 + 1;
                }
            }
            count = count.max(neighbours.len() + 1);
        }
        Self { count, of_port }
    }

    /// The classes that have a queue in central buffer (`mport`, `j`) of `switch`,
    /// ascending: those with a port of parity `j` outside the MPort.
    pub(super) fn existing(
        &self,
        topology: &Topology,
        switch: u32,
        mport: u32,
        j: u32,
    ) -> impl Iterator<Item = usize> + use<> {
        let radix = topology.radix();
        let mut exists = vec![false; self.count];
        for port in (j..radix).step_by(2) {
            if port / 4 != mport && topology.peer(switch, port) != Peer::None {
                exists[usize::from(self.of_port[(switch * radix + port) as usize])] = true;
            }
        }
        (0..self.count).filter(move |&class| exists[class])
    }
}
