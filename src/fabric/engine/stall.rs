//! Packets that wait for each other in a cycle.
//!
//! Each fabric says which queues hold the space that the head of a queue waits for. A head
//! *lives* if it waits for none, or if one of those queues has a head that lives. What is
//! left when all that live are struck out can never move.

use std::collections::BTreeMap;
use std::fmt;

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

/// A packet that waits for space held by the next one of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Kind of buffer it waits in.
    pub place: Place,
    /// Switch.
    pub switch: u32,
    /// Port within the switch.
    pub port: u32,
    /// VL it queues on.
    pub vl: u32,
    /// Destination NIC.
    pub dst: u32,
    /// Size in flits.
    pub flits: u32,
}

/// A cycle of packets that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The cycle: each packet waits for space that the next one holds.
    pub cycle: Vec<Waiting>,
    /// Head packets that can never move.
    pub blocked: usize,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "deadlock: {} head packets can never move; they wait in a cycle:",
            self.blocked
        )?;
        for w in &self.cycle {
            let place = match w.place {
                Place::Input => "input",
                Place::Central => "central buffer at",
                Place::Output => "output",
            };
            writeln!(
                f,
                "  switch {} {place} port {} VL {}: {} flits for NIC {}",
                w.switch, w.port, w.vl, w.flits, w.dst
            )?;
        }
        Ok(())
    }
}

/// A cycle of queues whose heads can never move, and how many such heads there are.
/// `waiting`: queues whose head waits for space, with those that hold it.
pub(super) fn dead_cycle<N: Ord + Copy>(
    mut waiting: BTreeMap<N, Vec<N>>,
) -> Option<(Vec<N>, usize)> {
    loop {
        let lives = |holders: &Vec<N>| holders.iter().any(|h| !waiting.contains_key(h));
        let live: Vec<N> = waiting
            .iter()
            .filter(|(_, holders)| lives(holders))
            .map(|(&node, _)| node)
            .collect();
        if live.is_empty() {
            break;
        }
        for node in live {
            waiting.remove(&node);
        }
    }
    // Every dead head waits for dead ones: following them must close a cycle.
    let (mut path, mut node) = (Vec::new(), *waiting.keys().next()?);
    while !path.contains(&node) {
        path.push(node);
        node = *waiting.get(&node)?.first()?;
    }
    let start = path.iter().position(|&n| n == node)?;
    Some((path.split_off(start), waiting.len()))
}

#[cfg(test)]
mod tests {
    use super::dead_cycle;
    use std::collections::BTreeMap;

    #[test]
    fn only_what_waits_for_the_dead_is_dead() {
        // 1 and 2 wait for each other, 3 for 1, 4 also for 9, which gives space, 5 for 4.
        let waits = [
            (1, vec![2]),
            (2, vec![1]),
            (3, vec![1]),
            (4, vec![1, 9]),
            (5, vec![4]),
        ];
        assert_eq!(dead_cycle(BTreeMap::from(waits)), Some((vec![1, 2], 3)));
        assert_eq!(
            dead_cycle(BTreeMap::from([(4, vec![9]), (5, vec![4])])),
            None
        );
    }
}
