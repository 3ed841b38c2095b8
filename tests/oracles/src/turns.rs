//! The packets that take the turns of a switch, and how long packets wait in its input buffers, counted tick by
//! tick.

use flitwise_fabric::spec::Tick;
use std::collections::BTreeMap;

/// Flits and waits by switch, in-port and out-port.
pub type Turns = BTreeMap<(usize, usize, usize), (u64, Tick)>;

/// The turns of one switch.
#[derive(Debug, Clone, Default)]
pub struct SwitchTurns {
    /// Ticks that each packet has waited that waits now.
    waiting: BTreeMap<usize, Tick>,
    /// Flits and waits of the packets granted, by in-port and out-port.
    granted: BTreeMap<(usize, usize), (u64, Tick)>,
}

impl SwitchTurns {
    /// Packet `packet` could have been granted its way in this tick, and was not.
    pub fn waits(&mut self, packet: usize) {
        *self.waiting.entry(packet).or_default() += 1;
    }

    /// It has `flits` flits, and is granted its way from an in-port to an out-port.
    pub fn granted(&mut self, packet: usize, flits: u32, turn: (usize, usize)) {
        let (sum, waited) = self.granted.entry(turn).or_default();
        *sum += u64::from(flits);
        *waited += self.waiting.remove(&packet).unwrap_or(0);
    }

    /// The turns in words of switch `switch`.
    pub fn of_switch(
        &self,
        switch: usize,
    ) -> impl Iterator<Item = ((usize, usize, usize), (u64, Tick))> {
        let granted = self.granted.iter();
        granted.map(move |(&(input, output), &counts)| ((switch, input, output), counts))
    }
}
