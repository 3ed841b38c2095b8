//! Outages and degradations of links (`docs/model/fabric.md` §10): known before a run, so when a link starts its next
//! packet follows in closed form. [`power`](super::power) asks for it.

use super::degraded::RateChanges;
use super::far_end::FarEnd;
use super::ids::OutputId;
use super::power::LinkRate;
use super::voq::layout;
use crate::ids::SwitchPort;
use crate::spec::outages::MAX_OUTAGE_TICKS;
use crate::spec::{FabricSpec, Switch, Tick};
use crate::stats::LinkEnd;
use crate::topology::Topology;
use flitwise_base::units::{TickLength, human_count, human_time};

/// The tick in which a link that stays down starts its next packet: the calendar lets no event of this tick come.
pub(super) const NEVER: Tick = 2 * MAX_OUTAGE_TICKS;

/// A link that stays down, and the packets that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownLink {
    /// Its sending end.
    pub from: LinkEnd,
    /// Its receiving end.
    pub to: LinkEnd,
    /// The first tick of the outage.
    pub since: Tick,
    /// Packets in front of it.
    pub packets: u64,
}

impl DownLink {
    /// The links in the order of their sending ends, NICs first.
    pub(super) fn in_order(links: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut links: Vec<Self> = links.collect();
        links.sort_by_key(|link| match link.from {
            LinkEnd::Nic(nic) => (0, nic.get(), 0),
            LinkEnd::Port { switch, port } => (1, switch.get(), port.get()),
        });
        links
    }

    /// The link as text, in a fabric whose ticks have length `tick`; `topology` knows the names.
    #[must_use]
    pub fn text(&self, topology: &Topology, tick: TickLength) -> String {
        let end = |end: LinkEnd| match end {
            LinkEnd::Nic(nic) => topology.nic_label(nic),
            LinkEnd::Port { switch, port } => topology.port_label(SwitchPort::new(switch, port)),
        };
        format!(
            "the link from {} to {} went down at {} and stays down; {} for it",
            end(self.from),
            end(self.to),
            human_time(tick.ps(self.since)),
            match self.packets {
                1 => "1 packet waits".to_owned(),
                packets => format!("{} packets wait", human_count(packets)),
            }
        )
    }
}

/// The outages and degradations of a link, at its sending end.
#[derive(Debug)]
pub(super) struct Outages {
    ends: (LinkEnd, LinkEnd),
    /// First tick, and first tick after it; in their order, and apart from each other.
    times: Vec<(Tick, Tick)>,
    /// Packets that wait for the link, as link power counts them. A packet that will never start waits for good.
    waiting: u64,
    /// Ticks in which it was down and packets waited, all before tick `down_wait_to`, and the same when counting began anew.
    down_wait: Tick,
    down_wait_to: Tick,
    down_wait_before: Tick,
    /// Its rates, if they change.
    rates: Option<RateChanges>,
    /// Ticks for which packets at lower rates took longer, and the same when counting began anew.
    longer: f64,
    longer_before: f64,
}

impl Outages {
    /// The outages and degradations of the links of all outputs, whose far ends are `ends`; empty if there are none.
    /// Outputs of NICs are from number `ports` on.
    pub(super) fn of_outputs(
        spec: &FabricSpec,
        ports: usize,
        ends: &[FarEnd],
    ) -> Vec<Option<Box<Self>>> {
        if spec.outages.is_empty() && spec.degraded.is_empty() {
            return Vec::new();
        }
        let radix = spec.topology.radix();
        let rates = match &spec.switch {
            Switch::Voq(voq) => layout::rates(spec, voq),
            Switch::Hierarchical(_) => spec.degraded_rates(),
        };
        let flit_bytes = match &spec.switch {
            Switch::Voq(_) => Some(spec.units.flit_bytes),
            Switch::Hierarchical(_) => None,
        };
        let rates = (rates.as_slice(), flit_bytes);
        let of_output = |(output, &to): (OutputId, &FarEnd)| {
            if !to.is_connected() {
                return None;
            }
            let ends = (output.link_end(ports, radix), to.link_end(radix));
            let is_own = |at: SwitchPort| [ends.0, ends.1].contains(&LinkEnd::from(at));
            let mut times: Vec<_> = (spec.outages.iter())
                .filter(|outage| is_own(outage.at))
                .map(|outage| (outage.from, outage.until.unwrap_or(NEVER)))
                .collect();
            times.sort_unstable();
            times.dedup_by(|next, last| {
                let meets = next.0 <= last.1;
                if meets {
                    last.1 = last.1.max(next.1);
                }
                meets
            });
            let events = spec.degraded.iter().filter(|event| is_own(event.at));
            let at = spec.topology.port_at(ends.0);
            let own = spec.link_rate(at.switch, at.port);
            let outages = Self {
                ends,
                times,
                waiting: 0,
                down_wait: 0,
                down_wait_to: 0,
                down_wait_before: 0,
                rates: RateChanges::new(events, rates, own),
                longer: 0.0,
                longer_before: 0.0,
            };
            let is_any = !outages.times.is_empty() || outages.rates.is_some();
            is_any.then(|| Box::new(outages))
        };
        OutputId::all(ends.len() as u32)
            .zip(ends)
            .map(of_output)
            .collect()
    }

    /// The first tick from `tick` on in which a packet can start. `tick` is the one in which the link becomes free, or later.
    pub(super) fn next_start(&self, tick: Tick) -> Tick {
        let start = self.next_up(tick);
        match &self.rates {
            // An outage may begin in that tick.
            Some(rates) => self.next_up(rates.next_start(start)),
            None => start,
        }
    }

    /// The first tick from `tick` on in which it is up.
    fn next_up(&self, tick: Tick) -> Tick {
        match self.times[self.ended_by(tick)..].first() {
            Some(&(from, until)) if from <= tick => until,
            _ => tick,
        }
    }

    /// The number of outages that have ended by tick `tick`.
    fn ended_by(&self, tick: Tick) -> usize {
        self.times.partition_point(|&(_, until)| until <= tick)
    }

    /// The outage that ended last by tick `tick`.
    pub(super) fn last_before(&self, tick: Tick) -> Option<(Tick, Tick)> {
        let last = self.times[..self.ended_by(tick)].last().copied();
        last.filter(|&(_, until)| until < NEVER)
    }

    /// The ticks from `since` until before `to` in which the link is down.
    pub(super) fn ticks(&self, since: Tick, to: Tick) -> Tick {
        let within = |&(from, until): &(Tick, Tick)| {
            let begins = from.max(since);
            until.min(to).saturating_sub(begins)
        };
        self.times.iter().map(within).sum()
    }

    /// A packet begins to wait for the link in tick `now`.
    pub(super) fn waits(&mut self, now: Tick) {
        if self.waiting == 0 {
            self.down_wait_to = self.down_wait_to.max(now);
        }
        self.waiting += 1;
    }

    /// `down_wait` until before tick `to`. A packet that was granted waits until it starts.
    fn down_wait_until(&self, to: Tick) -> Tick {
        let still = if self.waiting > 0 {
            self.ticks(self.down_wait_to, to)
        } else {
            0
        };
        self.down_wait + still - self.ticks(to, self.down_wait_to)
    }

    /// The ticks up to the end of tick `now` in which it was down and packets waited, since counting began.
    pub(super) fn down_wait(&self, now: Tick) -> Tick {
        self.down_wait_until(now + 1) - self.down_wait_before
    }

    /// A packet of this `size` in bytes and flits that waits will start in tick `start`. Returns its rate, and for
    /// how long the link holds it.
    pub(super) fn leaves(&mut self, start: Tick, size: (u32, u32)) -> (LinkRate, Tick) {
        if start < NEVER {
            self.waiting -= 1;
            self.down_wait += self.ticks(self.down_wait_to, start);
            self.down_wait_to = self.down_wait_to.max(start);
        }
        let rates = self.rates.as_mut();
        let Some(slow) = rates.and_then(|rates| rates.starts(start, size)) else {
            return (LinkRate::Own, 0);
        };
        if start < NEVER {
            self.longer += slow.longer;
        }
        (LinkRate::Lower(slow.rate), slow.held)
    }

    /// All packets that will start have left in tick `end`.
    pub(super) fn is_free_at(&mut self, end: Tick) {
        if let Some(rates) = &mut self.rates {
            rates.is_free_at(end);
        }
    }

    /// The ticks for which packets at lower rates took longer, since counting began.
    pub(super) fn longer_ticks(&self) -> Tick {
        (self.longer - self.longer_before).round() as Tick
    }

    /// Counts anew from the tick after `now` on.
    pub(super) fn restart(&mut self, now: Tick) {
        self.longer_before = self.longer;
        self.down_wait_before = self.down_wait_until(now + 1);
    }

    /// The link, if in tick `now` it is down for good and packets wait for it.
    pub(super) fn stays_down(&self, now: Tick) -> Option<DownLink> {
        let (since, until) = *self.times.last()?;
        let is_stuck = until >= NEVER && since <= now && self.waiting > 0;
        is_stuck.then_some(DownLink {
            from: self.ends.0,
            to: self.ends.1,
            since,
            packets: self.waiting,
        })
    }
}
