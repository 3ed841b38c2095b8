//! The counters that both kinds of fabric share: messages, packets, latencies, and the events of
//! congestion control (`docs/model/fabric.md` §9, `docs/model/infiniband.md` §13). Each fabric counts the
//! packets and waits of its links itself.

use super::nic::Messages;
use super::pool::{InFlight, MessageId};
use super::recorder::Recorder;
use crate::ids::NicId;
use crate::series::FlowSample;
use crate::spec::congestion::SourceControl;
use crate::spec::{FabricSpec, Tick};
use crate::stats::{CctStats, CongestionStats, FabricStats, LinkStats, SlStats, TurnStats};
use crate::workload::{PacketReport, Workload};

/// A data packet whose tail has reached its destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub message: MessageId,
    /// Position within the message.
    pub index: u32,
    pub flits: u32,
    /// Its length in units of link time.
    pub units: u32,
    /// Tick in which the header left the source.
    pub injected: Tick,
    /// The source, if the packet knows it.
    pub src: Option<NicId>,
}

/// The counters of a link (`docs/model/fabric.md` §9, `docs/model/infiniband.md` §13).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkCounts {
    pub flits: u64,
    pub packets: u64,
    /// Ticks in which packets waited for credits alone.
    pub credit_wait: u64,
    /// Ticks that packets waited for their turn, summed over the packets.
    pub queue_wait: u64,
}

/// Counters kept while running.
#[derive(Debug)]
pub(super) struct Counters {
    /// The counts. [`Counters::stats`] adds the last tick, the flits in flight, links and turns.
    pub counts: FabricStats,
    /// NICs; behind them come the endpoints of aggregation nodes.
    nics: u32,
    /// Flits in flight at the beginning of the first tick that is counted.
    in_flight_at_start: u64,
    /// While a time series is taken.
    series: Option<Box<Recorder>>,
}

impl Counters {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let control = spec.congestion_control.as_deref();
        let congestion = control.map(|control| CongestionStats {
            cct: matches!(control.source, SourceControl::Cct(_)).then(CctStats::default),
            ..CongestionStats::default()
        });
        Self {
            counts: FabricStats {
                congestion,
                ..FabricStats::none(spec.qos.service_levels.len())
            },
            nics: spec.topology.nics(),
            in_flight_at_start: 0,
            series: None,
        }
    }

    /// Counts a packet whose tail arrived in tick `now`, and reports it to the workload. The last
    /// packet of a message also delivers the message, and removes it from `messages`.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        now: Tick,
        packet: &Arrived,
        messages: &mut Messages,
        workload: &mut dyn Workload,
    ) {
        if let Some(message) = packet
            .src
            .and_then(|src| messages.take_unopened(packet.message, src))
        {
            self.count_packet(now, packet, &message, workload);
            self.count_message(now, &message);
            workload.delivered(now, message.token);
            return;
        }
        let message = &mut messages[packet.message];
        message.undelivered -= 1;
        self.count_packet(now, packet, message, workload);
        if message.undelivered == 0 {
            let token = message.token;
            self.count_message(now, message);
            messages.remove(packet.message);
            workload.delivered(now, token);
        }
    }

    /// Counts a packet of `message`, and reports it.
    #[inline(always)]
    fn count_packet(
        &mut self,
        now: Tick,
        packet: &Arrived,
        message: &InFlight,
        workload: &mut dyn Workload,
    ) {
        workload.packet(&PacketReport {
            token: message.token,
            index: packet.index,
            flits: packet.flits,
            injected: packet.injected,
            delivered: now,
        });
        self.counts.flits_delivered += u64::from(packet.flits);
        let sl = &mut self.counts.service_levels[usize::from(message.sl)];
        sl.packets += 1;
        sl.flits += u64::from(packet.flits);
        sl.units += u64::from(packet.units);
        if message.dst.get() >= self.nics {
            sl.to_switches.packets += 1;
            sl.to_switches.flits += u64::from(packet.flits);
            sl.to_switches.units += u64::from(packet.units);
        }
        sl.network.record(now - packet.injected);
        if let Some(series) = &mut self.series {
            series.delivered(message, packet.index);
        }
    }

    /// Counts a message of which all packets have arrived.
    #[inline(always)]
    fn count_message(&mut self, now: Tick, message: &InFlight) {
        self.counts.messages_delivered += 1;
        let sl = &mut self.counts.service_levels[usize::from(message.sl)];
        sl.messages += 1;
        sl.bytes += message.bytes;
        if message.dst.get() >= self.nics {
            sl.to_switches.bytes += message.bytes;
        }
        sl.end_to_end.record(now - message.created);
    }

    /// Counts a data packet of `flits` flits that leaves NIC `src`.
    #[inline(always)]
    pub(super) fn count_injected(&mut self, src: NicId, flits: u32) {
        self.counts.packets += 1;
        self.counts.flits_injected += u64::from(flits);
        if src.get() >= self.nics {
            self.counts.from_switches.packets += 1;
            self.counts.from_switches.flits += u64::from(flits);
        }
    }

    /// Lets `add` count an event of congestion control.
    #[inline]
    pub(super) fn count(&mut self, add: impl Fn(&mut CongestionStats)) {
        if let Some(counts) = &mut self.counts.congestion {
            add(counts);
        }
    }

    /// Counts a notification that arrived at a source. `is_event`: a source with a congestion
    /// control table logs it as an event.
    pub(super) fn count_notified(&mut self, is_event: bool) {
        self.count(|counts| {
            counts.notifications_received += 1;
            if let Some(cct) = &mut counts.cct {
                cct.threshold_events += u64::from(is_event);
            }
        });
    }

    /// Counts a data packet that was sent at this control level.
    #[inline]
    pub(super) fn count_sent(&mut self, level: u16) {
        self.count(|counts| {
            counts.packets += 1;
            counts.level_sum += u64::from(level);
            counts.level_max = counts.level_max.max(level);
        });
    }

    /// From now on, adds up the payload delivered per flow. `mtu_bytes`: per SL, the largest
    /// payload of a packet.
    pub(super) fn start_series(&mut self, mtu_bytes: &[u32]) {
        let recorder = || Box::new(Recorder::new(mtu_bytes.to_vec()));
        self.series.get_or_insert_with(recorder);
    }

    /// Payload delivered per flow since the last call.
    pub(super) fn take_flows(&mut self) -> Vec<FlowSample> {
        let series = self.series.as_mut();
        series.map_or_else(Vec::new, |series| series.flows())
    }

    /// Counts anew from the tick after `now` on.
    pub(super) fn restart(&mut self, now: Tick) {
        self.in_flight_at_start = self.in_flight();
        let congestion = self.counts.congestion.map(|counts| CongestionStats {
            cct: counts.cct.map(|_| CctStats::default()),
            ..CongestionStats::default()
        });
        self.counts = FabricStats {
            start_tick: now + 1,
            events: self.counts.events,
            congestion,
            ..FabricStats::none(self.counts.service_levels.len())
        };
    }

    /// Flits of packets that have left their source and have not been delivered.
    fn in_flight(&self) -> u64 {
        self.in_flight_at_start + self.counts.flits_injected - self.counts.flits_delivered
    }

    /// How much has happened at the NICs: messages created and delivered, packets injected and delivered.
    pub(super) fn activity(&self) -> u64 {
        let counts = &self.counts;
        let packets = counts.service_levels.iter().map(|sl| sl.packets);
        counts.messages + counts.messages_delivered + counts.packets + packets.sum::<u64>()
    }

    /// Flits and packets delivered, and the sum of the network latencies of these packets in
    /// ticks.
    pub(super) fn delivered(&self) -> (u64, u64, u128) {
        let levels = || self.counts.service_levels.iter();
        (
            self.counts.flits_delivered,
            levels().map(|sl| sl.packets).sum(),
            levels().map(|sl| sl.network.sum()).sum(),
        )
    }

    /// The statistics of the service levels.
    pub(super) fn service_levels(&self) -> &[SlStats] {
        &self.counts.service_levels
    }

    /// All statistics up to the end of tick `now`, with the statistics of `links` and of `turns`.
    pub(super) fn stats(
        &self,
        now: Tick,
        links: Vec<LinkStats>,
        turns: Vec<TurnStats>,
    ) -> FabricStats {
        FabricStats {
            end_tick: now,
            flits_in_flight: self.in_flight(),
            links,
            turns,
            ..self.counts.clone()
        }
    }
}
