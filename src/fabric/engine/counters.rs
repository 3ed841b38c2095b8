//! The counters that both kinds of fabric share: messages, packets, latencies, and the events of
//! congestion control (`docs/model.md` §9, `docs/model-infiniband.md` §13). Each fabric counts the
//! packets and waits of its links itself.

use super::nic::Messages;
use super::pool::MessageId;
use super::recorder::Recorder;
use crate::series::FlowSample;
use crate::spec::congestion::SourceControl;
use crate::spec::{FabricSpec, Tick};
use crate::stats::{
    CctStats, CongestionStats, FabricStats, Latency, LinkStats, SlStats, TurnStats,
};
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
}

/// The counters of a link (`docs/model.md` §9, `docs/model-infiniband.md` §13).
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
    /// First tick that is counted.
    start: Tick,
    /// Flits in flight at the beginning of that tick.
    in_flight_at_start: u64,
    /// Messages created.
    pub messages: u64,
    pub messages_delivered: u64,
    /// Data packets that have left their source.
    pub packets: u64,
    pub flits_injected: u64,
    pub flits_delivered: u64,
    /// Flits that crossed links between switches.
    pub flit_hops: u64,
    /// Flits that crossed links of NICs.
    pub host_flit_hops: u64,
    /// Events of the engine.
    pub events: u64,
    /// With congestion control only.
    pub congestion: Option<CongestionStats>,
    /// While a time series is taken.
    series: Option<Box<Recorder>>,
    /// Per SL.
    service_levels: Vec<SlStats>,
}

impl Counters {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let control = spec.congestion_control.as_deref();
        let congestion = control.map(|control| CongestionStats {
            cct: matches!(control.source, SourceControl::Cct(_)).then(CctStats::default),
            ..CongestionStats::default()
        });
        Self::zero(spec.qos.service_levels.len(), congestion)
    }

    /// With `sls` SLs. `congestion`: zeros, if there is congestion control.
    fn zero(sls: usize, congestion: Option<CongestionStats>) -> Self {
        Self {
            start: 0,
            in_flight_at_start: 0,
            messages: 0,
            messages_delivered: 0,
            packets: 0,
            flits_injected: 0,
            flits_delivered: 0,
            flit_hops: 0,
            host_flit_hops: 0,
            events: 0,
            congestion,
            series: None,
            service_levels: (0..sls)
                .map(|_| SlStats {
                    messages: 0,
                    packets: 0,
                    flits: 0,
                    units: 0,
                    bytes: 0,
                    end_to_end: Latency::default(),
                    network: Latency::default(),
                })
                .collect(),
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
        let message = &mut messages[packet.message];
        workload.packet(&PacketReport {
            token: message.token,
            index: packet.index,
            flits: packet.flits,
            injected: packet.injected,
            delivered: now,
        });
        self.flits_delivered += u64::from(packet.flits);
        let sl = &mut self.service_levels[usize::from(message.sl)];
        sl.packets += 1;
        sl.flits += u64::from(packet.flits);
        sl.units += u64::from(packet.units);
        sl.network.record(now - packet.injected);
        if let Some(series) = &mut self.series {
            series.delivered(message, packet.index);
        }
        message.undelivered -= 1;
        if message.undelivered == 0 {
            self.messages_delivered += 1;
            sl.messages += 1;
            sl.bytes += message.bytes;
            sl.end_to_end.record(now - message.created);
            let token = message.token;
            messages.remove(packet.message);
            workload.delivered(now, token);
        }
    }

    /// Lets `add` count an event of congestion control.
    #[inline]
    pub(super) fn count(&mut self, add: impl Fn(&mut CongestionStats)) {
        if let Some(counts) = &mut self.congestion {
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
        let in_flight = self.in_flight();
        let series = self.series.take();
        let congestion = self.congestion.map(|counts| CongestionStats {
            cct: counts.cct.map(|_| CctStats::default()),
            ..CongestionStats::default()
        });
        *self = Self {
            series,
            start: now + 1,
            in_flight_at_start: in_flight,
            events: self.events,
            ..Self::zero(self.service_levels.len(), congestion)
        };
    }

    /// Flits of packets that have left their source and have not been delivered.
    fn in_flight(&self) -> u64 {
        self.in_flight_at_start + self.flits_injected - self.flits_delivered
    }

    /// Flits and packets delivered, and the sum of the network latencies of these packets in
    /// ticks.
    pub(super) fn delivered(&self) -> (u64, u64, u128) {
        let levels = || self.service_levels.iter();
        (
            self.flits_delivered,
            levels().map(|sl| sl.packets).sum(),
            levels().map(|sl| sl.network.sum()).sum(),
        )
    }

    /// The statistics of the service levels.
    pub(super) fn service_levels(&self) -> &[SlStats] {
        &self.service_levels
    }

    /// All statistics up to the end of tick `now`, with the statistics of `links` and of `turns`.
    pub(super) fn stats(
        &self,
        now: Tick,
        links: Vec<LinkStats>,
        turns: Vec<TurnStats>,
    ) -> FabricStats {
        FabricStats {
            start_tick: self.start,
            end_tick: now,
            messages: self.messages,
            messages_delivered: self.messages_delivered,
            packets: self.packets,
            flits_injected: self.flits_injected,
            flits_delivered: self.flits_delivered,
            flits_in_flight: self.in_flight(),
            flit_hops: self.flit_hops,
            host_flit_hops: self.host_flit_hops,
            events: self.events,
            service_levels: self.service_levels.clone(),
            links,
            turns,
            congestion: self.congestion,
        }
    }
}
