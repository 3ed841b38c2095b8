//! Packets that wait for each other in a cycle.

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
