//! Links: flits one way, credits the other.

use super::counts::LinkCounts;
use super::delay_line::DelayLine;
use super::packet::Flit;
use flitwise::fabric::spec::Tick;

/// Where a link begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Nic(usize),
    Port { switch: usize, port: usize },
}

/// One direction of a cable.
#[derive(Debug, Clone)]
pub struct Link {
    pub from: End,
    pub to: End,
    pub counts: LinkCounts,
    latency: Tick,
    flits: DelayLine<Flit>,
    /// VL of each credit on its way back.
    credits: DelayLine<usize>,
    /// When the last of them is seen: none that is returned later overtakes it.
    last_credit: Tick,
    last_sent: Option<Tick>,
    /// Flits that have entered the link.
    pub carried: u64,
}

impl Link {
    pub fn new(from: End, to: End, latency: Tick) -> Self {
        Self {
            from,
            to,
            counts: LinkCounts::new(from, to),
            latency,
            flits: DelayLine::new(),
            credits: DelayLine::new(),
            last_credit: 0,
            last_sent: None,
            carried: 0,
        }
    }

    pub fn latency(&self) -> Tick {
        self.latency
    }

    /// A flit leaves the sending end.
    pub fn send(&mut self, now: Tick, flit: Flit) {
        assert!(self.last_sent < Some(now), "a link moves one flit per tick");
        self.last_sent = Some(now);
        self.carried += 1;
        self.flits.push(now + self.latency, flit);
    }

    /// The last flit of a credit leaves the receiving buffer: the credit is
    /// free in the next tick, and seen a flight later, or later by `held_back`.
    pub fn return_credit(&mut self, now: Tick, vl: usize, held_back: Tick) {
        let seen = now + 1 + self.latency + held_back;
        self.last_credit = self.last_credit.max(seen);
        self.credits.push(self.last_credit, vl);
    }

    /// Credits that have not been seen.
    pub fn has_credits_under_way(&self) -> bool {
        self.credits.len() > 0
    }

    pub fn arriving_flit(&mut self, now: Tick) -> Option<Flit> {
        self.flits.pop_due(now)
    }

    pub fn arriving_credit(&mut self, now: Tick) -> Option<usize> {
        self.credits.pop_due(now)
    }

    pub fn flits_under_way(&self) -> usize {
        self.flits.len()
    }
}
