//! Links: flits one way, credits the other.

use super::counts::LinkCounts;
use super::packet::Flit;
use crate::credit_returns::CreditReturns;
use crate::delay_line::DelayLine;
use crate::wiring::End;
use flitwise::fabric::spec::Tick;

/// One direction of a cable.
#[derive(Debug, Clone)]
pub struct Link {
    pub from: End,
    pub to: End,
    pub counts: LinkCounts,
    latency: Tick,
    flits: DelayLine<Flit>,
    pub credits: CreditReturns,
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
            credits: CreditReturns::new(latency),
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

    pub fn arriving_flit(&mut self, now: Tick) -> Option<Flit> {
        self.flits.pop_due(now)
    }

    pub fn flits_under_way(&self) -> usize {
        self.flits.len()
    }
}
