//! Power states of links (`docs/model/link-power.md`) and their outages, for every kind of switch: when a link may start
//! a packet.
//!
//! Nothing happens in the tick in which a link goes down. The next function that reads the link
//! updates its state in closed form. So only announcements cost events.

use super::bit_errors::BitErrors;
use super::far_end::FarEnd;
use super::ids::OutputId;
use super::observers::Observers;
use super::outages::{DownLink, Outages};
use super::probe::Watcher;
use crate::series::PowerSample;
use crate::spec::{FabricSpec, LinkPower, ManagedLinks, Tick};
use crate::stats::LinkStateTicks;

/// The sending end of a link, as far as power matters.
#[derive(Debug, Clone)]
struct Link {
    /// Bytes that wait for it: in a switch from joining to the grant, in a NIC from the pick, or
    /// the creation, to the start.
    waiting: u64,
    /// More waiting bytes than this have it go up.
    threshold: u64,
    /// A NIC is at one of its ends.
    is_host: bool,
    /// It is down, or goes down.
    is_down: bool,
    /// Tick from which it is down, after it went down last.
    slept_at: Tick,
    /// Tick in which it begins to go up, and from which it is up; `Tick::MAX` while it is down.
    wakes_at: Tick,
    up_at: Tick,
    /// First tick that begins without a packet on it, after all packets that were granted; or the
    /// tick of its last announcement.
    idle_from: Tick,
    /// All ticks before this one have been counted.
    counted_to: Tick,
    counted: LinkStateTicks,
    /// Ticks in which packets waited for it to be up, and the first tick after them.
    down_wait: Tick,
    down_wait_to: Tick,
    /// `down_wait` when counting began anew.
    down_wait_before: Tick,
    /// The counts when counting began anew, and when the last sample was taken.
    restarted: LinkStateTicks,
    sampled: LinkStateTicks,
}

impl Link {
    /// A link that is up.
    fn new(threshold: u64, is_host: bool) -> Self {
        Self {
            waiting: 0,
            threshold,
            is_host,
            is_down: false,
            slept_at: 0,
            wakes_at: 0,
            up_at: 0,
            idle_from: 0,
            counted_to: 0,
            counted: LinkStateTicks::default(),
            down_wait: 0,
            down_wait_to: 0,
            down_wait_before: 0,
            restarted: LinkStateTicks::default(),
            sampled: LinkStateTicks::default(),
        }
    }

    /// Adds the ticks from `counted_to` until before `to` to the states that the link was in. It
    /// has not gone down in them.
    fn count(&mut self, to: Tick) {
        let from = std::mem::replace(&mut self.counted_to, to);
        // `slept_at` ≤ `wakes_at` ≤ `up_at`.
        let until = |end: Tick| end.clamp(from, to);
        let (slept, wakes) = (until(self.slept_at), until(self.wakes_at));
        let up = until(self.up_at);
        let counted = &mut self.counted;
        counted.sleeping += slept - from;
        counted.down += wakes - slept;
        counted.waking += up - wakes;
        counted.up += to - up;
    }

    /// The tick in which it goes down if nothing happens before; `None` if it does not.
    fn goes_down_at(&self, power: &LinkPower) -> Option<Tick> {
        let goes_down = !self.is_down && self.waiting == 0;
        goes_down.then(|| self.idle_from.max(self.up_at) + power.down_after)
    }

    /// Brings it to the beginning of tick `now`.
    fn advance(&mut self, power: &LinkPower, now: Tick) {
        if let Some(at) = self.goes_down_at(power).filter(|&at| at <= now) {
            self.count(at);
            self.is_down = true;
            self.slept_at = at + power.sleep;
            (self.wakes_at, self.up_at) = (Tick::MAX, Tick::MAX);
        }
        self.count(now);
    }

    /// Makes the link go up from tick `now` on: as soon as it is down and has sent the
    /// packets that were granted.
    fn wake(&mut self, power: &LinkPower, now: Tick) {
        self.is_down = false;
        self.wakes_at = now.max(self.slept_at).max(self.idle_from);
        self.up_at = self.wakes_at + power.wake;
        self.counted.wakes += 1;
    }

    /// The first tick in which it can start a packet: while it is down, on its low lanes.
    fn not_before(&self) -> Tick {
        if self.is_down {
            self.slept_at
        } else {
            self.up_at
        }
    }

    /// A packet waits from tick `now` on: not for the link to be up while it sends the packets that were granted.
    fn counts_down_wait(&mut self, now: Tick) {
        let from = now.max(self.idle_from).max(self.down_wait_to);
        let until = self.not_before();
        if until > from {
            self.down_wait += until - from;
            self.down_wait_to = until;
        }
    }

    /// `down_wait` until before tick `to`.
    fn down_wait_until(&self, to: Tick) -> Tick {
        let later = self.down_wait_to.saturating_sub(to);
        self.down_wait.saturating_sub(later)
    }
}

/// The passage over its link of a packet that is granted or started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// It starts in this tick.
    pub start: Tick,
    pub rate: LinkRate,
    /// Ticks before its flits leave, for failed tries and, on links of hierarchical switches, for a lower rate.
    pub held: Tick,
}

/// The rate at which a link sends a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkRate {
    /// Its own.
    Own,
    /// The rate of its low lanes.
    LowLanes,
    /// The rate of a degradation, by its index.
    Lower(u8),
}

impl Passage {
    /// Over a link that is up in tick `start`.
    pub(super) fn at(start: Tick) -> Self {
        Self {
            start,
            rate: LinkRate::Own,
            held: 0,
        }
    }
}

/// The power states, outages, degradations and bit errors of all links that have some.
#[derive(Debug)]
pub(super) struct LinkPowers {
    /// `None`: no link goes down because it is idle.
    power: Option<LinkPower>,
    /// Per output; `None`: never goes down because it is idle.
    links: Vec<Option<Link>>,
    /// Per output; empty without outages and degradations.
    outages: Vec<Option<Box<Outages>>>,
    errors: Option<BitErrors>,
}

impl LinkPowers {
    /// All links up at tick 0. `ends`: the far end of the link of each output; outputs of NICs are from number
    /// `ports` on.
    pub(super) fn new(
        spec: &FabricSpec,
        ports: usize,
        ends: impl Iterator<Item = FarEnd>,
    ) -> Option<Box<Self>> {
        let power = spec.link_power.as_deref().cloned();
        let has_events = !spec.outages.is_empty() || !spec.degraded.is_empty();
        if power.is_none() && !has_events && spec.bit_errors.is_none() {
            return None;
        }
        let ends: Vec<FarEnd> = ends.collect();
        let link = |(at, &to): (usize, &FarEnd)| {
            let power = power.as_ref()?;
            let of_nic = at >= ports;
            let is_host = of_nic || to.is_nic();
            let is_managed = power.links == ManagedLinks::All || !is_host;
            let threshold = match power.low() {
                None => 0,
                Some(low) if of_nic => low.nic_threshold_bytes,
                Some(low) => low.switch_threshold_bytes,
            };
            (to.is_connected() && is_managed).then(|| Link::new(threshold, is_host))
        };
        Some(Box::new(Self {
            links: ends.iter().enumerate().map(link).collect(),
            outages: Outages::of_outputs(spec, ports, &ends),
            errors: BitErrors::new(spec, ports, &ends),
            power,
        }))
    }

    /// Forgets the links of all outputs but those that `is_own` names: they belong to other blocks.
    pub(super) fn keep(&mut self, is_own: impl Fn(OutputId) -> bool) {
        for (output, link) in OutputId::all(self.links.len() as u32).zip(&mut self.links) {
            if !is_own(output) {
                *link = None;
            }
        }
        for (output, outages) in OutputId::all(self.links.len() as u32).zip(&mut self.outages) {
            if !is_own(output) {
                *outages = None;
            }
        }
    }

    /// Links that a packet announces itself to, beyond the one that it waits for.
    pub(super) fn wake_ahead(&self) -> u32 {
        self.power.as_ref().map_or(0, |power| power.wake_ahead)
    }

    #[inline]
    fn outages(&self, output: OutputId) -> Option<&Outages> {
        self.outages.get(output.index())?.as_deref()
    }

    #[inline]
    fn outages_mut(&mut self, output: OutputId) -> Option<&mut Outages> {
        self.outages.get_mut(output.index())?.as_deref_mut()
    }

    /// The link of `output`, brought to the beginning of tick `now`.
    #[inline]
    fn at(&mut self, output: OutputId, now: Tick) -> Option<(&mut Link, &LinkPower)> {
        let (link, power) = (self.links[output.index()].as_mut()?, self.power.as_ref()?);
        link.advance(power, now);
        Some((link, power))
    }

    /// A packet of `bytes` begins to wait for the link of `output` in tick `now`.
    #[inline]
    pub(super) fn waits(&mut self, output: OutputId, bytes: u32, now: Tick) {
        if let Some(outages) = self.outages_mut(output) {
            outages.waits(now);
        }
        let Some((link, power)) = self.at(output, now) else {
            return;
        };
        link.waiting += u64::from(bytes);
        if link.is_down && link.waiting > link.threshold {
            link.wake(power, now);
        }
        link.counts_down_wait(now);
    }

    /// A packet announces itself to `output` in tick `now`: its link goes up, or stays up as if it
    /// had been idle only from now on.
    pub(super) fn announced(&mut self, output: OutputId, now: Tick) {
        let Some((link, power)) = self.at(output, now) else {
            return;
        };
        if link.is_down {
            link.wake(power, now);
        } else {
            link.idle_from = link.idle_from.max(now);
        }
    }

    /// A packet of `bytes` and `flits` that waits for the link of `output` is granted or started in tick `now`; it could start
    /// in tick `ready` if the link were up.
    #[inline]
    pub(super) fn leaves<P: Watcher>(
        &mut self,
        output: OutputId,
        (bytes, flits): (u32, u32),
        times: (Tick, Tick),
        observers: &mut Observers<P>,
    ) -> Passage {
        let mut passage = self.passes(output, (bytes, flits), times, observers);
        if let Some(errors) = &mut self.errors {
            passage.held += errors.held(output, flits, (times.0, passage.start));
        }
        passage
    }

    /// [`LinkPowers::leaves`] without bit errors.
    #[inline]
    fn passes<P: Watcher>(
        &mut self,
        output: OutputId,
        (bytes, flits): (u32, u32),
        (now, ready): (Tick, Tick),
        observers: &mut Observers<P>,
    ) -> Passage {
        if let Some(outages) = self.outages_mut(output) {
            let start = outages.next_start(ready);
            let (rate, held) = outages.leaves(start, (bytes, flits));
            if P::WATCHES
                && let Some((from, until)) = outages.last_before(start)
            {
                observers
                    .watcher
                    .tell(|probe| probe.woke(output, from, until));
            }
            return Passage { start, rate, held };
        }
        let Some((link, power)) = self.at(output, now) else {
            return Passage::at(ready);
        };
        debug_assert!(link.waiting >= u64::from(bytes), "a packet waits once");
        link.waiting -= u64::from(bytes);
        if link.is_down {
            link.counted.low_bytes += u64::from(bytes);
        }
        let not_before = link.not_before();
        if P::WATCHES && not_before > 0 {
            let from = link.slept_at - power.sleep;
            observers
                .watcher
                .tell(|probe| probe.woke(output, from, not_before));
        }
        Passage {
            start: ready.max(not_before),
            rate: if link.is_down {
                LinkRate::LowLanes
            } else {
                LinkRate::Own
            },
            held: 0,
        }
    }

    /// The link of `output` is free again in tick `end`, after the packets that were granted.
    #[inline]
    pub(super) fn is_free_at(&mut self, output: OutputId, end: Tick) {
        if let Some(outages) = self.outages_mut(output) {
            outages.is_free_at(end);
        }
        if let Some(link) = &mut self.links[output.index()] {
            link.idle_from = link.idle_from.max(end);
        }
    }

    /// First tick from `ready` on in which the link of `output`, for which packets wait, can start one.
    #[inline]
    pub(super) fn starts_at(&self, output: OutputId, ready: Tick) -> Tick {
        if let Some(outages) = self.outages(output) {
            return outages.next_start(ready);
        }
        match &self.links[output.index()] {
            Some(link) => ready.max(link.not_before()),
            None => ready,
        }
    }

    /// See `Kernel::outage_ticks`.
    pub(super) fn outage_ticks(&self, output: OutputId, since: Tick, to: Tick) -> Tick {
        let outages = self.outages(output);
        outages.map_or(0, |outages| outages.ticks(since, to))
    }

    /// The links that are down for good in tick `now`, with packets that wait for them.
    pub(super) fn stay_down(&self, now: Tick) -> impl Iterator<Item = DownLink> {
        let all = self.outages.iter().flatten();
        all.filter_map(move |outages| outages.stays_down(now))
    }

    /// The ticks for which the link of `output` was busy beyond the time that its packets take at its own rate.
    pub(super) fn longer_ticks(&self, output: OutputId, now: Tick) -> Tick {
        let slower = self.outages(output).map_or(0, Outages::longer_ticks);
        let errors = self.errors.as_ref();
        slower + errors.map_or(0, |errors| errors.ticks(output, now))
    }

    /// The ticks up to the end of tick `now` in which packets waited for the link of `output` while it was asleep,
    /// going up or down, or in an outage, each tick once.
    pub(super) fn down_wait(&self, output: OutputId, now: Tick) -> Tick {
        let outages = self.outages(output);
        let in_outages = outages.map_or(0, |outages| outages.down_wait(now));
        let link = self.links[output.index()].as_ref();
        let asleep = link.map_or(0, |link| {
            let until = link.down_wait_until(now + 1);
            until.saturating_sub(link.down_wait_before)
        });
        in_outages + asleep
    }

    /// Tries to send packets over the link of `output` that failed; `None` if there are no bit errors.
    pub(super) fn retries(&self, output: OutputId, now: Tick) -> Option<u64> {
        Some(self.errors.as_ref()?.retries(output, now))
    }

    /// The ticks that the link of `output` has spent in each state, up to the end of tick `now`.
    pub(super) fn ticks(&self, output: OutputId, now: Tick) -> Option<LinkStateTicks> {
        let mut link = self.links[output.index()].clone()?;
        link.advance(self.power.as_ref()?, now + 1);
        Some(difference(link.counted, link.restarted))
    }

    /// Counts anew from the tick after `now` on.
    pub(super) fn restart(&mut self, now: Tick) {
        for outages in self.outages.iter_mut().flatten() {
            outages.restart(now);
        }
        if let Some(errors) = &mut self.errors {
            errors.restart(now);
        }
        let Some(power) = &self.power else { return };
        for link in self.links.iter_mut().flatten() {
            let mut counted = link.clone();
            counted.advance(power, now + 1);
            link.restarted = counted.counted;
            link.down_wait_before = link.down_wait_until(now + 1);
        }
    }

    /// The ticks that links between switches, and links of NICs, spent in each state since the last call,
    /// up to the end of tick `now`; `None` if none goes down because it is idle.
    pub(super) fn sample(&mut self, now: Tick) -> Option<PowerSample> {
        let power = self.power.as_ref()?;
        let mut sample = PowerSample::default();
        for link in self.links.iter_mut().flatten() {
            let mut counted = link.clone();
            counted.advance(power, now + 1);
            let before = std::mem::replace(&mut link.sampled, counted.counted);
            let sum = if link.is_host {
                &mut sample.nic_links
            } else {
                &mut sample.switch_links
            };
            *sum += difference(counted.counted, before);
        }
        Some(sample)
    }
}

fn difference(now: LinkStateTicks, before: LinkStateTicks) -> LinkStateTicks {
    LinkStateTicks {
        up: now.up - before.up,
        down: now.down - before.down,
        waking: now.waking - before.waking,
        sleeping: now.sleeping - before.sleeping,
        wakes: now.wakes - before.wakes,
        low_bytes: now.low_bytes - before.low_bytes,
    }
}
