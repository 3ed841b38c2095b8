//! Credits on their way back over a link.

use super::delay_line::DelayLine;
use flitwise_fabric::spec::Tick;

/// The credits that have left the buffer behind a link and that the sender has not seen.
#[derive(Debug, Clone)]
pub struct CreditReturns {
    /// Flight over the link.
    latency: Tick,
    /// VL of each credit.
    line: DelayLine<usize>,
    /// The tick in which the last of them is seen: later returns do not overtake it.
    last: Tick,
}

impl CreditReturns {
    pub fn new(latency: Tick) -> Self {
        Self {
            latency,
            line: DelayLine::new(),
            last: 0,
        }
    }

    /// The last flit of a credit leaves the receiving buffer: the credit is free in the next tick,
    /// and seen a flight later, or later by `held_back`.
    pub fn push(&mut self, now: Tick, vl: usize, held_back: Tick) {
        let seen = now + 1 + self.latency + held_back;
        self.last = self.last.max(seen);
        self.line.push(self.last, vl);
    }

    /// The VL of the next credit that is seen at `now`, if there is one left.
    pub fn pop_due(&mut self, now: Tick) -> Option<usize> {
        self.line.pop_due(now)
    }

    /// Whether there are credits that have not been seen.
    pub fn are_under_way(&self) -> bool {
        self.line.len() > 0
    }
}
