//! Deadlocks: packets that wait for each other in a cycle.
//!
//! Each fabric tells this module which queues hold the credits that the head of a queue waits
//! for, and the module finds the cycle. A head is *live* if it waits for no credits, or if one of
//! the queues that hold these credits has a live head. All other heads can never move.

use crate::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// Buffer in which a packet waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Input buffer of a port.
    Input,
    /// Central buffer of an MPort: the port is 4 × MPort + 0 or 1.
    Central,
    /// Output buffer of a port.
    Output,
}

/// A packet that waits for credits held by the next packet of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Kind of buffer it waits in.
    pub place: Place,
    /// Switch.
    pub switch: SwitchId,
    /// Port within the switch.
    pub port: PortId,
    /// VL it queues on.
    pub vl: u32,
    /// Destination NIC.
    pub dst: NicId,
    /// Size in flits.
    pub flits: u32,
}

/// A cycle of packets that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// The cycle: each packet waits for credits that the next packet holds.
    pub cycle: Vec<Waiting>,
    /// Head packets that can never move.
    pub blocked: usize,
}

impl Deadlock {
    /// The cycle as text, a line for each packet. `topology`: the one of the fabric; it knows the names.
    #[must_use]
    pub fn text(&self, topology: &Topology) -> String {
        let mut text = format!(
            "deadlock: {} head packets can never move; they wait in a cycle:\n",
            self.blocked
        );
        for w in &self.cycle {
            let place = match w.place {
                Place::Input => "input",
                Place::Central => "central buffer at",
                Place::Output => "output",
            };
            let port = topology.port_text(SwitchPort::new(w.switch, w.port));
            let nic = topology.nic_text(w.dst);
            text += &format!(
                "  switch {} {place} {port} VL {}: {} flits for {nic}\n",
                w.switch, w.vl, w.flits
            );
        }
        text
    }
}

/// The deadlock of queues whose heads can never move, if there is one. `waiting`: the queues whose head
/// waits for credits, each with the queues that hold these credits. `describe` reports the head of a queue.
pub(super) fn dead_cycle<N: Ord + Copy>(
    mut waiting: BTreeMap<N, Vec<N>>,
    describe: impl FnMut(N) -> Waiting,
) -> Option<Deadlock> {
    loop {
        let is_live = |holders: &Vec<N>| holders.iter().any(|h| !waiting.contains_key(h));
        let live: Vec<N> = waiting
            .iter()
            .filter(|(_, holders)| is_live(holders))
            .map(|(&node, _)| node)
            .collect();
        if live.is_empty() {
            break;
        }
        for node in live {
            waiting.remove(&node);
        }
    }
    // Heads that can never move wait for such heads only: following them closes a cycle.
    let (mut path, mut node) = (Vec::new(), *waiting.keys().next()?);
    while !path.contains(&node) {
        path.push(node);
        node = *waiting.get(&node)?.first()?;
    }
    let start = path.iter().position(|&n| n == node)?;
    Some(Deadlock {
        cycle: path.drain(start..).map(describe).collect(),
        blocked: waiting.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queues of the cycle, and the number of dead heads.
    fn found<const N: usize>(waits: [(u32, Vec<u32>); N]) -> Option<(Vec<u32>, usize)> {
        let describe = |queue| Waiting {
            place: Place::Input,
            switch: SwitchId::new(0),
            port: PortId::new(0),
            vl: queue,
            dst: NicId::new(0),
            flits: 1,
        };
        let Deadlock { cycle, blocked } = dead_cycle(BTreeMap::from(waits), describe)?;
        Some((cycle.iter().map(|waiting| waiting.vl).collect(), blocked))
    }

    #[test]
    fn a_head_is_dead_if_it_waits_for_dead_heads_only() {
        // 1 and 2 wait for each other, 3 for 1, 4 for 1 or 9, 5 for 4. The head of 9 is live.
        let waits = [
            (1, vec![2]),
            (2, vec![1]),
            (3, vec![1]),
            (4, vec![1, 9]),
            (5, vec![4]),
        ];
        assert_eq!(found(waits), Some((vec![1, 2], 3)));
        assert_eq!(found([(4, vec![9]), (5, vec![4])]), None);
    }
}
