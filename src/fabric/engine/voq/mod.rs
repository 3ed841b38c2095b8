//! The fabric of InfiniBand switches and adapters (`docs/model-infiniband.md`).
//!
//! An input and an output of a switch are bound to each other for one packet at a time,
//! and after its grant nothing holds up a packet before the next switch: a grant decides
//! when every flit crosses, leaves by the link, and reaches the next buffer. So a packet takes
//! one event per hop, plus one for each look of an output that finds nothing to offer.
//!
//! `L` is the number of lines that [`line::Dates`] keeps: at least the number of
//! different rates in the fabric. Switches have up to 64 · `W` ports.

mod arbiter;
mod arrival;
mod crossbar;
mod hca;
pub(super) mod layout;
mod line;
mod packet;
mod parts;
mod ports;
mod queue_pairs;
mod release;
mod route;
mod stall;
mod statistics;

use self::arbiter::Arbiters;
use self::layout::Rates;
use self::packet::Packet;
use self::parts::{Hca, Input, Lane, Output, Queue};
use self::ports::Ports;
use self::queue_pairs::QueuePairs;
use self::release::{Crossbar, Departures, Pace};
use self::route::Ways;
use super::Machine;
use super::bits::Divisor;
use super::calendar::{EVENT_ID, EVENT_SHIFT, Wheel};
use super::congestion::{PortVls, Sources};
use super::counters::Counters;
use super::pool::{InFlight, PacketId, Pool};
use super::stall::Stall;
use crate::fabric::infiniband::{Acks, CongestionControl, Notification, Voq};
use crate::fabric::series::Sample;
use crate::fabric::spec::{FabricSpec, SpecError, Tick, Timing};
use crate::fabric::stats::{CongestionStats, FabricStats};
use crate::fabric::workload::{Message, Workload};
use crate::units::Ratio;

/// A fabric in motion.
#[derive(Debug)]
pub(super) struct Fabric<const L: usize, const W: usize> {
    now: Tick,
    timing: Timing,
    radix: u32,
    vls: usize,
    ports: usize,
    flits_per_credit: u32,
    header_bytes: u32,
    mtu: Vec<u32>,
    acks: Acks,
    ack_bytes: u32,
    /// Credits of the largest packet of all, and of the largest but for ACKs.
    largest: u16,
    largest_but_acks: u16,
    /// Credits that an input buffer has for each VL.
    buffer_credits: Vec<u32>,
    pace: Pace,
    /// Rates of the send engines, and of the sinks.
    send_rates: Vec<u8>,
    sink_rate: Option<u8>,

    // The parts, numbered as in `layout`.
    inputs: Vec<Input<W>>,
    outputs: Vec<Output>,
    hcas: Vec<Hca>,
    queue_pairs: QueuePairs,
    /// Virtual output queues: (input · radix + output in the switch) · VLs + VL.
    queues: Vec<Queue>,
    /// Output · VLs + VL.
    lanes: Vec<Lane<W>>,
    switch_arbiters: Arbiters,
    hca_arbiters: Arbiters,

    // Space.
    /// Credits on their way back to each output.
    returning: Vec<Departures<L>>,
    /// The same of answers, beside a sink that data wait for; per adapter.
    returning_answers: Vec<Departures<L>>,
    /// Output buffers of switches may be full: see `layout::room_binds`.
    room_binds: bool,
    /// Packets that leave each output buffer.
    leaving: Vec<Departures<L>>,

    ways: Ways,
    packets: Pool<Packet<L>>,
    messages: Pool<InFlight>,
    wheel: Wheel,

    congestion: Option<Box<Congestion>>,
    counters: Counters,

    // Work of the present tick; empty between ticks.
    due: Vec<u32>,
    joining: Vec<PacketId>,
    dirty_outputs: Vec<u32>,
    dirty_hcas: Vec<u32>,
    offered: Vec<u32>,
    /// Queue pairs, each with its adapter, whose last packet was picked.
    exhausted: Vec<(u32, u32)>,
    outbox: Vec<Message>,
}

/// Congestion control, if there is any.
#[derive(Debug)]
struct Congestion {
    notification: Notification,
    port_vls: PortVls,
    sources: Sources,
    /// The rates of links by their index.
    link_rates: Vec<Ratio>,
}

/// Kinds of events on the wheel.
mod event {
    /// A header joins its queue: packet.
    pub(super) const JOIN: u32 = 0;
    /// An output may have something to offer.
    pub(super) const OUTPUT: u32 = 1;
    /// An adapter may send.
    pub(super) const HCA: u32 = 2;
    /// The tail of a packet reaches its adapter: packet.
    pub(super) const DELIVERY: u32 = 3;
    /// Tails of messages have left an adapter.
    pub(super) const INJECTION: u32 = 4;
}

/// Buckets of the wheel: what lies beyond is looked at on the way.
const MOST_BUCKETS: u64 = 1 << 14;

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If it exceeds a limit of this engine. `spec` has been validated, is of the kind of
    /// `voq`, is within the limits of `layout`, has
    /// at most `L` different rates and 64 · `W` ports a switch.
    pub(super) fn new(spec: &FabricSpec, voq: &Voq) -> Result<Self, SpecError> {
        let rates = Rates::new(spec, voq);
        let (topology, buffers, timing) = (&spec.topology, &spec.buffers, &spec.timing);
        let (radix, vls) = (topology.radix(), usize::from(spec.qos.vls));
        let ports = (topology.switches() * radix) as usize;
        let nics = topology.nics();
        let pace = Pace {
            rates: rates.all(timing.flit_bytes),
            flits_per_credit: Divisor::new(buffers.flits_per_credit.min(1 << 15)),
            crossbar: Crossbar::new(voq.crossbar_rate(), timing.flit_bytes),
        };
        let (inputs, outputs) = parts::ports(spec, voq, &rates, &pace.rates);
        let lanes = outputs
            .iter()
            .flat_map(|output| {
                let pool = if output.to.is_nic() {
                    &buffers.nic_sink
                } else {
                    &buffers.input
                };
                pool.per_vl.iter().map(|quota| Lane {
                    heads: Ports::NONE,
                    ahead: Ports::ALL,
                    credits: quota.max as u16,
                })
            })
            .collect();
        let host_rate = |nic| {
            let (switch, port) = topology.attachment(nic);
            voq.links.at(topology, switch, port)
        };
        let host_rates: Vec<_> = (0..nics).map(host_rate).collect();
        let send_rates = host_rates
            .iter()
            .map(|&rate| rates.index(voq.hca.send_rate.unwrap_or(rate)))
            .collect();
        let slowest = pace.rates.last().map_or(1, |rate| rate.flit_ticks());
        let longest = u64::from(spec.largest_packet_credits())
            * u64::from(buffers.flits_per_credit)
            * slowest;
        let reach = 4 * longest
            + timing.input_store
            + timing.routing
            + timing.allocation
            + timing.crossbar
            + timing.output_store
            + 2 * timing.link.max(timing.host_link);
        let departures = |count: usize| (0..count).map(|_| Departures::default()).collect();
        let mut counters = Counters::new(spec.qos.service_levels.len());
        let congestion = spec.congestion_control.as_deref().map(|control| {
            counters.congestion = Some(CongestionStats::default());
            Box::new(Congestion::new(spec, voq, control, host_rates))
        });
        Ok(Self {
            now: 0,
            radix,
            vls,
            ports,
            flits_per_credit: buffers.flits_per_credit,
            header_bytes: spec.header_bytes,
            mtu: spec
                .qos
                .service_levels
                .iter()
                .map(|sl| sl.mtu_bytes)
                .collect(),
            acks: voq.hca.acks,
            ack_bytes: voq.hca.ack_bytes,
            largest: layout::most_credits(spec, voq),
            largest_but_acks: spec.largest_packet_credits() as u16,
            buffer_credits: buffers.input.per_vl.iter().map(|quota| quota.max).collect(),
            send_rates,
            sink_rate: voq.hca.sink_rate.map(|rate| rates.index(rate)),
            hcas: (0..nics).map(|_| Hca::new(vls)).collect(),
            queue_pairs: QueuePairs::new(nics, vls),
            queues: vec![Queue::default(); ports * radix as usize * vls],
            lanes,
            switch_arbiters: Arbiters::new(&voq.vlarb, ports),
            hca_arbiters: Arbiters::new(&voq.hca.vlarb, nics as usize),
            returning: departures(outputs.len()),
            returning_answers: departures(nics as usize),
            room_binds: layout::room_binds(spec, voq),
            leaving: departures(outputs.len()),
            ways: Ways::new(spec, voq)?,
            packets: Pool::new(),
            messages: Pool::new(),
            wheel: Wheel::new(reach.min(MOST_BUCKETS)),
            congestion,
            counters,
            inputs,
            outputs,
            pace,
            timing: timing.clone(),
            due: Vec::new(),
            joining: Vec::new(),
            dirty_outputs: Vec::new(),
            dirty_hcas: Vec::new(),
            offered: Vec::new(),
            exhausted: Vec::new(),
            outbox: Vec::new(),
        })
    }

    /// Phases 1 and 2: what arrives, and who has to look again.
    #[inline]
    fn collect_due(&mut self, workload: &mut impl Workload) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(self.now, &mut due);
        self.counters.events += due.len() as u64;
        for &item in &due {
            let id = item & EVENT_ID;
            match item >> EVENT_SHIFT {
                event::JOIN => {
                    let at = self.joins_at(id);
                    if at > self.now {
                        self.push(at, event::JOIN, id);
                    } else {
                        self.joining.push(id);
                    }
                }
                event::OUTPUT => {
                    self.outputs[id as usize].wake.arrived(self.now);
                    self.dirty_outputs.push(id);
                }
                event::HCA => {
                    self.hcas[id as usize].wake.arrived(self.now);
                    self.touch_hca(id);
                }
                event::DELIVERY => {
                    let at = self.packets[id].dates.tail();
                    if at > self.now {
                        self.push(at, event::DELIVERY, id);
                    } else {
                        self.arrive(id, workload);
                    }
                }
                _ => self.report_injections(id, workload),
            }
        }
        due.clear();
        self.due = due;
    }

    /// Phase 3.
    #[inline]
    fn create_messages(&mut self, workload: &mut impl Workload) {
        if workload.next_tick().is_none_or(|tick| tick > self.now) {
            return;
        }
        let mut outbox = std::mem::take(&mut self.outbox);
        workload.act(self.now, &mut outbox);
        for message in outbox.drain(..) {
            self.enqueue(&message);
            self.touch_hca(message.src);
        }
        self.outbox = outbox;
    }

    #[inline]
    fn push(&mut self, at: Tick, kind: u32, id: u32) {
        self.wheel.push(self.now, at, kind << EVENT_SHIFT | id);
    }

    /// Tick in which the header of a packet that left for a switch joins its queue.
    #[inline]
    fn joins_at(&self, id: PacketId) -> Tick {
        self.packets[id].dates.header() + self.timing.input_store + self.timing.routing
    }

    #[inline]
    fn wake_output(&mut self, output: u32, at: Tick) {
        let wake = &mut self.outputs[output as usize].wake;
        wake.ask(&mut self.wheel, self.now, at, event::OUTPUT, output);
    }

    #[inline]
    fn wake_hca(&mut self, nic: u32, at: Tick) {
        let wake = &mut self.hcas[nic as usize].wake;
        wake.ask(&mut self.wheel, self.now, at, event::HCA, nic);
    }

    #[inline]
    fn touch_hca(&mut self, nic: u32) {
        if !std::mem::replace(&mut self.hcas[nic as usize].dirty, true) {
            self.dirty_hcas.push(nic);
        }
    }
}

impl Congestion {
    fn new(
        spec: &FabricSpec,
        voq: &Voq,
        control: &CongestionControl,
        host_rates: Vec<Ratio>,
    ) -> Self {
        let flit = Ratio::whole(spec.timing.flit_bytes.into());
        let bytes = |rate: Ratio| rate.checked_mul(flit).unwrap_or(rate);
        let rates = host_rates.into_iter().map(bytes).collect();
        Self {
            notification: control.notification,
            port_vls: PortVls::new(spec, control),
            sources: Sources::new(spec, control, rates),
            link_rates: layout::rates(spec, voq).into_iter().map(bytes).collect(),
        }
    }

    /// Phase 6: how much later the credits of a packet of `bytes` come back that came
    /// by a link of `rate` and is granted to a Port VL, if that is starved of credits.
    #[inline]
    fn held_back(&self, (output, vl): (u32, u8), rate: u8, bytes: u32) -> Tick {
        let delay = self.port_vls.return_delay(output, vl);
        delay.map_or(0, |delay| {
            delay.delay(bytes, self.link_rates[usize::from(rate)])
        })
    }
}

impl<const L: usize, const W: usize> Machine for Fabric<L, W> {
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn next_event(&self) -> Option<Tick> {
        self.wheel.next_after(self.now)
    }

    /// The phases of `docs/model-infiniband.md` §5; what links of switches do in phase 7, and
    /// phase 8, was decided with the grants.
    #[inline]
    fn tick(&mut self, now: Tick, workload: &mut impl Workload) {
        self.now = now;
        self.collect_due(workload);
        self.create_messages(workload);
        self.complete_routing();
        self.offer();
        self.accept();
        if self.congestion.is_some() {
            self.judge();
        }
        self.send(workload);
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    fn is_full(&self) -> bool {
        self.messages.is_full() || self.packets.is_full()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn find_stall(&mut self, at: Tick) -> Option<Stall> {
        let now = std::mem::replace(&mut self.now, at);
        let found = self.find_cycle();
        self.now = now;
        found
    }

    fn restart_statistics(&mut self) {
        self.restart_counting();
    }

    fn stats(&self) -> FabricStats {
        self.count_links()
    }

    fn start_series(&mut self) {
        if let Some(congestion) = &mut self.congestion {
            congestion.port_vls.start_series();
        }
        self.counters.start_series(&self.mtu);
    }

    fn sample(&mut self, tick: Tick) -> Sample {
        let (port_vls, sources) = match &mut self.congestion {
            Some(congestion) => (
                congestion.port_vls.sample(),
                congestion.sources.sample(tick),
            ),
            None => (self.occupancy(), Vec::new()),
        };
        Sample {
            tick,
            flows: self.counters.take_flows(),
            port_vls,
            sources,
        }
    }
}
