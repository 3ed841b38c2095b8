//! Links: flits one way, credits the other.

use super::counts::LinkCounts;
use super::packet::Flit;
use crate::bit_errors::BitErrors;
use crate::credit_returns::CreditReturns;
use crate::delay_line::DelayLine;
use crate::outages::{Outages, degradations};
use crate::power::{PowerState, StateTicks};
use crate::wiring::End;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::{Degradation, FabricSpec, Tick};

/// One direction of a cable.
#[derive(Debug, Clone)]
pub struct Link<'s> {
    pub from: End,
    pub to: End,
    pub counts: LinkCounts,
    latency: Tick,
    flits: DelayLine<Flit>,
    pub credits: CreditReturns,
    last_sent: Option<Tick>,
    /// Flits that have entered the link.
    pub carried: u64,
    power: Option<PowerState<'s>>,
    outages: Outages,
    degraded: Vec<Degradation>,
    errors: Option<BitErrors>,
    /// The tick from which the flits of the packet started last leave.
    held_until: Tick,
}

impl<'s> Link<'s> {
    pub fn new(spec: &'s FabricSpec, (from, to): (End, End), latency: Tick) -> Self {
        Self {
            from,
            to,
            counts: LinkCounts::new(from, to),
            latency,
            flits: DelayLine::new(),
            credits: CreditReturns::new(latency),
            last_sent: None,
            carried: 0,
            power: PowerState::new(spec.link_power.as_deref(), (from, to)),
            outages: Outages::new(spec, (from, to)),
            degraded: degradations(spec, (from, to)).collect(),
            errors: BitErrors::new(spec, from, latency, Ratio::ONE),
            held_until: 0,
        }
    }

    /// A packet of `flits` flits starts in tick `now`. Returns the ticks for which it is held: failed tries take some, and at a lower
    /// rate its tail leaves later.
    pub fn held(&mut self, now: Tick, flits: u32) -> Tick {
        let lasts =
            |event: &&Degradation| event.from <= now && event.until.is_none_or(|until| now < until);
        let rates = self.degraded.iter().filter(lasts).map(|event| event.rate);
        let rate = rates.min().unwrap_or(Ratio::ONE);
        let mut ticks = Tick::from(flits);
        while rate.mul_floor(ticks) < flits.into() {
            ticks += 1;
        }
        let mut held = ticks - Tick::from(flits);
        if let Some(errors) = &mut self.errors {
            held += errors.held(flits);
            self.counts.retries = Some(errors.retries);
        }
        self.held_until = now + held;
        held
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

    /// Begins a tick. Only an idle link goes down, so no packet is left on it.
    pub fn begin_tick(&mut self) {
        if let Some(power) = &mut self.power {
            power.begin_tick(true);
        }
    }

    /// Phase 7 of tick `now`: `waiting` packets wait for it. Returns whether one may start.
    pub fn is_up_for(&mut self, now: Tick, waiting: usize) -> bool {
        let is_powered = self.power.as_mut().is_none_or(|power| {
            power.observe(waiting as u64, true);
            power.may_start(false)
        });
        is_powered && !self.outages.is_down(now)
    }

    /// Ends tick `now`, in which `waiting` packets still wait.
    pub fn end_tick(&mut self, now: Tick, waiting: usize) {
        let is_empty = self.last_sent != Some(now);
        if let Some(power) = &mut self.power {
            power.observe(waiting as u64, true);
            power.end_tick(is_empty);
            self.counts.states = Some(power.counts);
        }
    }

    /// The ticks that it spent in each power state since the sample before.
    pub fn sample_power(&mut self) -> Option<StateTicks> {
        self.power.as_mut().map(PowerState::sample)
    }

    /// Time alone brings it up or down.
    pub fn is_changing(&self, now: Tick) -> bool {
        self.power.as_ref().is_some_and(PowerState::is_changing)
            || self.outages.will_end(now)
            || now < self.held_until
    }

    pub fn flits_under_way(&self) -> usize {
        self.flits.len()
    }
}
