//! The counts of a run of the fabric.

pub use super::ids::LinkEnd;
use super::ids::{PortId, SwitchPort};
use super::spec::{FabricSpec, Tick};
use super::topology::Topology;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counters of one run, or of the part of it since they were restarted. Two runs of the
/// same experiment give equal values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FabricStats {
    /// First tick that was counted: 0 unless counting was restarted.
    pub start_tick: Tick,
    /// Last tick that was simulated.
    pub end_tick: Tick,
    /// Messages handed to NICs.
    pub messages: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Packets that left a NIC.
    pub packets: u64,
    /// Flits that left a NIC, whole packets counted at their header.
    pub flits_injected: u64,
    /// Flits that reached their NIC.
    pub flits_delivered: u64,
    /// Flits of packets between the two at the end.
    pub flits_in_flight: u64,
    /// Flits that crossed switch-to-switch links.
    pub flit_hops: u64,
    /// Flits that crossed links between NIC and switch.
    pub host_flit_hops: u64,
    /// Events processed by the engine; a measure of work, not of the model.
    pub events: u64,
    /// Of the packets and flits that left a NIC, those that left the aggregation node of a switch.
    #[serde(default, skip_serializing_if = "Carried::is_none")]
    pub from_switches: Carried,
    /// Per service level, indexed by SL.
    pub service_levels: Vec<SlStats>,
    /// Every connected outgoing link: NICs first, then switch ports.
    pub links: Vec<LinkStats>,
    /// The turns that packets passed, by switch, in-port and out-port. Not in a record.
    #[serde(skip)]
    pub turns: Vec<TurnStats>,
    /// The counts of congestion control; `None` without it.
    pub congestion: Option<CongestionStats>,
}

/// Counters of congestion control, whichever marker and source control there are. The *control
/// level* of a flow says how far its source slows it down: 0 is not at all, the rest is up to the
/// source control (a congestion control table: the CCTI).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CongestionStats {
    /// Packets marked by a switch.
    pub marked: u64,
    /// Packets with a notification that a destination created (InfiniBand: CNPs, and ACKs with
    /// BECN).
    pub notifications_sent: u64,
    /// Notifications that reached a source (InfiniBand: BECNs).
    pub notifications_received: u64,
    /// Sum over all data packets of the control level of their flow when they were sent.
    pub level_sum: u64,
    /// Data packets sent: `level_sum` over this is the mean control level.
    pub packets: u64,
    /// Highest control level a data packet was sent with.
    pub level_max: u16,
    /// The counts of congestion control tables; `None` with any other source control.
    pub cct: Option<CctStats>,
}

/// Counters of sources with a congestion control table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CctStats {
    /// BECNs that left an index at `Trigger_Threshold` or above: events that a NIC logs.
    pub threshold_events: u64,
}

impl CongestionStats {
    /// Mean over all data packets of the control level of their flow when they were sent; 0
    /// without data packets.
    #[must_use]
    pub fn mean_level(&self) -> f64 {
        self.level_sum as f64 / self.packets.max(1) as f64
    }
}

impl FabricStats {
    /// The counts of no fabric at all, with `levels` service levels.
    #[must_use]
    pub fn none(levels: usize) -> Self {
        Self {
            service_levels: vec![SlStats::default(); levels],
            ..Self::default()
        }
    }

    /// Ticks that were counted, from `start_tick` to `end_tick`; 0 if counting was restarted
    /// and nothing simulated since.
    #[must_use]
    pub fn ticks(&self) -> Tick {
        (self.end_tick + 1).saturating_sub(self.start_tick)
    }
}

/// Data packets, and what they carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Packets.
    pub packets: u64,
    /// Their flits.
    pub flits: u64,
    /// The same in units of link time, if they were delivered
    /// ([`FabricSpec::link_units`](super::spec::FabricSpec::link_units)).
    pub units: u64,
    /// Payload bytes of delivered messages.
    pub bytes: u64,
}

impl Carried {
    /// Whether there is nothing: a record does not name it.
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Counters of one service level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlStats {
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Flits delivered.
    pub flits: u64,
    /// The same in units of link time
    /// ([`FabricSpec::link_units`](super::spec::FabricSpec::link_units)).
    pub units: u64,
    /// Payload bytes of delivered messages.
    pub bytes: u64,
    /// Of these, what was delivered to aggregation nodes of switches.
    #[serde(default, skip_serializing_if = "Carried::is_none")]
    pub to_switches: Carried,
    /// Ticks from the creation of a message to its delivery, per message.
    pub end_to_end: Latency,
    /// Ticks from the header leaving the NIC to the tail arriving, per packet.
    pub network: Latency,
}

impl SlStats {
    /// Deliveries to NICs.
    #[must_use]
    pub fn to_nics(&self) -> Carried {
        Carried {
            packets: self.packets.saturating_sub(self.to_switches.packets),
            flits: self.flits.saturating_sub(self.to_switches.flits),
            units: self.units.saturating_sub(self.to_switches.units),
            bytes: self.bytes.saturating_sub(self.to_switches.bytes),
        }
    }
}

/// Latencies below this number of ticks are counted one by one: a histogram computes the place of
/// each.
const SMALL: usize = 1 << 12;

/// Distribution of a latency in ticks: mean and maximum are exact, quantiles
/// have three significant digits.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "LatencyCounts")]
pub struct Latency {
    /// Observations of each tick below [`SMALL`]; empty before the first one.
    small: Vec<u32>,
    /// The other observations, and the part beyond the counts above; `None` without any.
    histogram: Option<Histogram<u64>>,
    count: u64,
    sum: u128,
    max: Tick,
}

/// A histogram without observations.
fn new_histogram() -> Histogram<u64> {
    // Three significant digits always form a valid histogram.
    Histogram::new(3).unwrap_or_else(|_| unreachable!())
}

impl Latency {
    /// Adds one observation.
    #[inline]
    pub fn record(&mut self, ticks: Tick) {
        self.sum += u128::from(ticks);
        self.max = self.max.max(ticks);
        self.count += 1;
        match self
            .small
            .get_mut(usize::try_from(ticks).unwrap_or(usize::MAX))
        {
            Some(count) if *count < u32::MAX => *count += 1,
            _ => self.record_elsewhere(ticks),
        }
    }

    /// Adds an observation that the counts of single ticks do not have room for yet, or not at all.
    #[inline(never)]
    fn record_elsewhere(&mut self, ticks: Tick) {
        if self.small.is_empty() {
            self.small = vec![0; SMALL];
            if ticks < SMALL as Tick {
                self.small[ticks as usize] = 1;
                return;
            }
        }
        self.record_in_histogram(ticks, 1);
    }

    fn record_in_histogram(&mut self, ticks: Tick, count: u64) {
        let histogram = self.histogram.get_or_insert_with(new_histogram);
        // The histogram resizes itself; only a value of 2^63 ticks could fail.
        let _ = histogram.record_n(ticks, count);
    }

    /// Adds all observations of another distribution.
    pub fn merge(&mut self, other: &Self) {
        if self.small.len() < other.small.len() {
            self.small.resize(other.small.len(), 0);
        }
        for (at, &count) in other.small.iter().enumerate() {
            match self.small[at].checked_add(count) {
                Some(sum) => self.small[at] = sum,
                // As `record` does with the excess of a count.
                None => self.record_in_histogram(at as Tick, count.into()),
            }
        }
        if let Some(others) = &other.histogram {
            let histogram = self.histogram.get_or_insert_with(new_histogram);
            // The histogram resizes itself.
            let _ = histogram.add(others);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all observations.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean in ticks; 0 without observations.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count() == 0 {
            0.0
        } else {
            self.sum as f64 / self.count() as f64
        }
    }

    /// Quantile `q` in 0..=1; 0 without observations.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Tick {
        if self.count == 0 {
            return 0;
        }
        let mut all = self.histogram.clone().unwrap_or_else(new_histogram);
        for (ticks, &count) in (0..).zip(&self.small) {
            if count > 0 {
                let _ = all.record_n(ticks, count.into());
            }
        }
        all.value_at_quantile(q).min(self.max)
    }

    /// Largest observation; 0 without observations.
    #[must_use]
    pub fn max(&self) -> Tick {
        self.max
    }

    /// Observations by ticks, in ascending order: all below 4096 ticks on their own, the others to three
    /// significant digits.
    pub fn counts(&self) -> impl Iterator<Item = (Tick, u64)> + '_ {
        let mut all: Vec<(Tick, u64)> = (0..)
            .zip(&self.small)
            .filter(|&(_, &count)| count > 0)
            .map(|(ticks, &count)| (ticks, count.into()))
            .collect();
        all.extend(self.buckets().map(|(to, count)| (to.min(self.max), count)));
        // A tick whose count was exceeded is in both.
        all.sort_unstable();
        all.into_iter()
    }

    /// The buckets of the histogram that have observations: the highest tick of each, and its
    /// observations.
    fn buckets(&self) -> impl Iterator<Item = (Tick, u64)> + '_ {
        let recorded = self.histogram.iter().flat_map(Histogram::iter_recorded);
        recorded.map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LatencyCounts::from(self).serialize(serializer)
    }
}

/// A [`Latency`] as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LatencyCounts {
    /// Ticks and observations, of all ticks that were counted one by one.
    exact: Vec<(Tick, u32)>,
    /// Ticks that stand for a bucket of the histogram, and its observations.
    buckets: Vec<(Tick, u64)>,
    sum: u128,
    max: Tick,
}

impl From<&Latency> for LatencyCounts {
    fn from(latency: &Latency) -> Self {
        let counted = (0..).zip(latency.small.iter().copied());
        Self {
            exact: counted.filter(|&(_, count)| count > 0).collect(),
            buckets: latency.buckets().collect(),
            sum: latency.sum,
            max: latency.max,
        }
    }
}

impl From<LatencyCounts> for Latency {
    fn from(counts: LatencyCounts) -> Self {
        let mut latency = Self::default();
        if !counts.exact.is_empty() || !counts.buckets.is_empty() {
            latency.small = vec![0; SMALL];
        }
        for (ticks, count) in counts.exact {
            let at = usize::try_from(ticks).unwrap_or(usize::MAX);
            if let Some(small) = latency.small.get_mut(at) {
                *small = count;
                latency.count += u64::from(count);
            }
        }
        for (ticks, count) in counts.buckets {
            latency.record_in_histogram(ticks, count);
            latency.count = latency.count.saturating_add(count);
        }
        (latency.sum, latency.max) = (counts.sum, counts.max);
        latency
    }
}

/// Counters of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStats {
    /// Sending end.
    pub from: LinkEnd,
    /// Receiving end.
    pub to: LinkEnd,
    /// Flits sent.
    pub flits: u64,
    /// The same in units of link time
    /// ([`FabricSpec::link_units`](super::spec::FabricSpec::link_units)).
    pub units: u64,
    /// Packets sent.
    pub packets: u64,
    /// Ticks in which packets were ready, the link free, and none had credits
    /// (like InfiniBand's XmitWait).
    pub credit_wait_ticks: u64,
    /// Sum over the packets sent of the ticks between being ready to leave and
    /// leaving: the queueing in front of the link.
    pub queue_wait_ticks: u64,
    /// Tries to send packets that failed; `None` if there are no bit errors.
    pub retries: Option<u64>,
    /// Ticks for which it was busy beyond the time that its packets take at its own rate.
    #[serde(default)]
    pub longer_ticks: u64,
    /// Ticks in which packets waited for it while it was asleep, going up or down, or in an outage.
    #[serde(default, skip_serializing_if = "is_none")]
    pub down_wait_ticks: u64,
    /// Ticks, summed over packets, that packets waited for this link: in input buffers, in front of it,
    /// and at a NIC for credits. This and the next are 0 before
    /// [`attribute_waits`](super::held_up::attribute_waits).
    pub waited_ticks: u64,
    /// Ticks, summed over packets, that packets anywhere waited because of this link.
    pub held_up_ticks: u64,
    /// The ticks that it spent in each power state; `None` if it is always up.
    pub states: Option<LinkStateTicks>,
}

/// No tick: a record does not name it.
fn is_none(ticks: &u64) -> bool {
    *ticks == 0
}

impl LinkStats {
    /// Whether the link leads to or from the aggregation node of a switch of `topology`, inside that switch.
    #[must_use]
    pub fn is_inside(&self, topology: &Topology) -> bool {
        let inside = |end| matches!(end, LinkEnd::Nic(nic) if topology.aggregates(nic));
        inside(self.from) || inside(self.to)
    }

    /// Ticks for which it was busy. All of a packet counts when it starts.
    #[must_use]
    pub fn busy_ticks(&self, spec: &FabricSpec) -> f64 {
        let low = self.states.map_or(0, |states| states.low_bytes);
        let at = spec.topology.port_at(self.from);
        spec.busy_ticks(at, self.units, low) + self.longer_ticks as f64
    }
}

/// The ticks that a link spent in each power state (`docs/model/link-power.md`). They add up to all counted
/// ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStateTicks {
    /// Ticks with all lanes.
    pub up: Tick,
    /// Ticks on the low lanes, or on none.
    pub down: Tick,
    /// Ticks of going up.
    pub waking: Tick,
    /// Ticks of going down.
    pub sleeping: Tick,
    /// The number of times that it began to go up.
    pub wakes: u64,
    /// Bytes of the packets that went on the low lanes.
    pub low_bytes: u64,
}

impl AddAssign for LinkStateTicks {
    fn add_assign(&mut self, other: Self) {
        self.up += other.up;
        self.down += other.down;
        self.waking += other.waking;
        self.sleeping += other.sleeping;
        self.wakes += other.wakes;
        self.low_bytes += other.low_bytes;
    }
}

/// The packets that came in by one port of a switch and left by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnStats {
    /// The switch and the port by which they came in.
    pub input: SwitchPort,
    /// The port by which they left.
    pub out_port: PortId,
    /// Flits of the packets granted the crossbar.
    pub flits: u64,
    /// Ticks from when they could be granted the crossbar to when they were, summed over the packets
    /// granted. In a FIFO only its head can be granted.
    pub wait_ticks: u64,
}

impl TurnStats {
    /// The turn from `input` to `out_port`, if packets passed it.
    pub(super) fn of(
        input: SwitchPort,
        out_port: u32,
        flits: u64,
        wait_ticks: u64,
    ) -> Option<Self> {
        (flits > 0).then_some(Self {
            input,
            out_port: PortId::new(out_port),
            flits,
            wait_ticks,
        })
    }
}
