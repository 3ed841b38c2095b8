//! The fabric of hierarchical switches (`docs/model.md`).
//!
//! A packet costs a handful of events per hop: its header becomes ready in an
//! input, central and output buffer, and somebody waits for a port or for
//! credits. Everything between follows in closed form ([`train`]). The events of
//! one tick are collected first; then each phase of `docs/model.md` §5 runs once
//! over the parts that something happened to. No effect of one part on another
//! is earlier than the next tick, so the order within a phase does not matter.

mod account;
mod allocate;
mod blind;
mod control;
mod layout;
mod nic;
mod notify;
mod output;
mod packet;
mod pairs;
mod parts;
mod records;
mod route;
mod scheduler;
mod space;
mod stall;
mod statistics;
mod train;

use self::blind::Blind;
use self::control::Control;
pub(super) use self::control::{Blindly, Congestion, Off};
use self::packet::Packet;
use self::parts::{Central, Input, Link, Nic, Output, Ports};
use self::scheduler::Schedulers;
use self::space::{CentralBank, VlBank};
use self::train::Track;
use super::Machine;
use super::calendar::{DelayLine, Wheel};
use super::counters::Counters;
use super::pool::{InFlight, PacketId, Pool};
use super::stall::Stall;
use super::ways::{Dimensions, Trunks};
use crate::fabric::central::Classes;
use crate::fabric::routing::Router;
use crate::fabric::series::Sample;
use crate::fabric::spec::{self, FabricSpec, SpecError, Tick, Timing};
use crate::fabric::stats::{CongestionStats, FabricStats};
use crate::fabric::workload::{Message, Workload};

/// A fabric in motion, with congestion control or without.
#[derive(Debug)]
pub(super) struct Fabric<C> {
    control: C,
    now: Tick,
    timing: Timing,
    radix: u32,
    vls: usize,
    ports: usize,
    /// The fabric is too large for the near caches: see `fabric::prefetch`.
    prefetching: bool,
    flits_per_credit: u32,
    header_bytes: u32,

    // The parts, numbered as in `layout`.
    inputs: Vec<Input>,
    centrals: Vec<Central>,
    /// Queues with a ready head from the 64th on, `far_words` words per central buffer.
    far_ready: Vec<u64>,
    far_words: usize,
    blind: Blind,
    outputs: Vec<Output>,
    links: Vec<Link>,
    nics: Vec<Nic>,
    schedulers: Schedulers,

    // Their buffers.
    input_buffers: VlBank,
    central_buffers: CentralBank,
    output_buffers: VlBank,
    send_queues: VlBank,
    sinks: VlBank,
    /// False if the receive buffers are so large that they never hold up a link.
    sinks_fill: bool,

    // Tables.
    router: Router,
    /// First central queue for packets to each port, and what their VL adds to it.
    first_queue: Vec<u16>,
    queue_of_vl: Vec<u8>,
    dimensions: Dimensions,
    trunks: Trunks,
    /// VL per (SL, class) on a torus, else per (SL, destination modulo length).
    vl_tables: Vec<Vec<u8>>,
    dateline: bool,
    mtu: Vec<u32>,

    packets: Pool<Packet>,
    messages: Pool<InFlight>,

    // What happens next.
    wheel: Wheel,
    /// Headers ready in input buffers: from switches, from NICs.
    input_ready: [DelayLine<(u32, PacketId)>; 2],
    /// Headers ready in central buffers: (central, queue, packet).
    central_ready: DelayLine<(u32, u32, PacketId)>,
    output_ready: DelayLine<(u32, PacketId)>,

    // Work of the present tick; empty between ticks.
    due: Vec<u32>,
    dirty_inputs: Vec<u32>,
    dirty_centrals: Vec<u32>,
    dirty_outputs: Vec<u32>,
    dirty_nics: Vec<u32>,
    requested_centrals: Vec<u32>,
    requested_outputs: Vec<u32>,
    arrivals: Vec<(u32, PacketId)>,
    outbox: Vec<Message>,

    counters: Counters,
}

/// Kinds of events on the wheel.
mod event {
    pub(super) use crate::fabric::engine::calendar::{EVENT_ID as ID, EVENT_SHIFT as SHIFT};
    /// An input buffer may have a head that can be granted.
    pub(super) const INPUT: u32 = 0;
    /// A central buffer may have one.
    pub(super) const CENTRAL: u32 = 5;
    /// An output may have a packet that can be sent.
    pub(super) const OUTPUT: u32 = 1;
    /// A NIC may move packets to its send queue.
    pub(super) const NIC: u32 = 2;
    /// The tail of a packet reaches its NIC.
    pub(super) const DELIVERY: u32 = 3;
    /// The tail of a message has left its NIC.
    pub(super) const INJECTION: u32 = 4;
}

/// Switch ports beyond which parts are fetched ahead of their use: more than 500 bytes a
/// port are in use, and a core has about 1 MiB of its own. Few enough in debug
/// builds that the comparison with the oracle goes both ways.
const PREFETCH_PORTS: usize = if cfg!(debug_assertions) { 40 } else { 1024 };
impl<C: Control> Fabric<C> {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub(super) fn new(spec: &FabricSpec, control: C) -> Result<Self, SpecError> {
        layout::check_limits(spec)?;
        let topology = &spec.topology;
        let (timing, buffers) = (spec.timing.clone(), &spec.buffers);
        let radix = topology.radix();
        let ports = (topology.switches() * radix) as usize;
        let centrals = ports / 2;
        let nic_count = topology.nics() as usize;
        let vls = usize::from(spec.qos.vls);
        let classes = Classes::new(topology, buffers.central_queues);
        let fpc = buffers.flits_per_credit;

        let bank = |count: usize, pool: &spec::Pool, track: Track| {
            let mut bank = VlBank::new(count, pool.per_vl.clone(), track);
            for buffer in 0..count {
                bank.set_space(buffer, pool.total, 0..vls);
            }
            bank
        };
        let queues = layout::CentralQueues::new(spec, &classes);
        let mut central_buffers = CentralBank::new(
            centrals,
            queues.quotas(&buffers.central.per_vl),
            Track::crossbar(timing.central_speedup, Some(timing.mport_speedup), fpc),
        );
        for c in 0..centrals as u32 {
            let (switch, local) = (2 * c / radix, c % (radix / 2));
            let existing = classes
                .existing(topology, switch, local / 2, local % 2)
                .flat_map(|class| queues.of_class(class));
            central_buffers.set_space(c as usize, buffers.central.total, existing);
        }

        let Ports {
            inputs,
            outputs,
            links,
        } = Ports::new(topology);
        let centrals_of = |c: u32| Central::new(c % (radix / 2));
        let dateline = spec.needs_classes();
        let vl_tables = (0..spec.qos.service_levels.len())
            .map(|sl| spec.qos.vls_of(sl).collect())
            .collect();
        let longest = (0..spec.qos.service_levels.len())
            .map(|sl| u64::from(spec.max_flits(sl)))
            .max()
            .unwrap_or(1);
        let reach = 2 * longest
            + timing.input_store
            + timing.routing
            + 2 * (timing.allocation + timing.crossbar)
            + timing.output_store
            + 2 * timing.link.max(timing.host_link)
            + 8;
        let far_words = queues.count().div_ceil(64).saturating_sub(1);
        let mut counters = Counters::new(spec.qos.service_levels.len());
        counters.congestion = control.get().map(|_| CongestionStats::default());
        Ok(Self {
            control,
            now: 0,
            radix,
            vls,
            prefetching: ports > PREFETCH_PORTS,
            ports,
            flits_per_credit: fpc,
            header_bytes: spec.header_bytes,
            inputs,
            centrals: (0..centrals as u32).map(centrals_of).collect(),
            far_ready: vec![0; centrals * far_words],
            far_words,
            blind: Blind::new(C::BLIND, ports, centrals),
            nics: vec![Nic::default(); nic_count],
            schedulers: Schedulers::new(spec, outputs.len()),
            outputs,
            links,
            input_buffers: bank(
                ports,
                &buffers.input,
                Track::crossbar(timing.mport_speedup, None, fpc),
            ),
            central_buffers,
            output_buffers: bank(ports, &buffers.output, Track::link(fpc)),
            send_queues: bank(nic_count, &buffers.nic_queue, Track::link(fpc)),
            sinks: bank(nic_count, &buffers.nic_sink, Track::link(fpc)),
            sinks_fill: layout::sinks_can_fill(spec),
            router: Router::new(spec),
            first_queue: queues.first_of_ports(&classes),
            queue_of_vl: queues.of_vl,
            dimensions: Dimensions::new(topology),
            trunks: Trunks::new(spec),
            vl_tables,
            dateline,
            mtu: spec
                .qos
                .service_levels
                .iter()
                .map(|sl| sl.mtu_bytes)
                .collect(),
            packets: Pool::new(),
            messages: Pool::new(),
            wheel: Wheel::new(reach),
            input_ready: [DelayLine::new(), DelayLine::new()],
            central_ready: DelayLine::new(),
            output_ready: DelayLine::new(),
            due: Vec::new(),
            dirty_inputs: Vec::new(),
            dirty_centrals: Vec::new(),
            dirty_outputs: Vec::new(),
            dirty_nics: Vec::new(),
            requested_centrals: Vec::new(),
            requested_outputs: Vec::new(),
            arrivals: Vec::new(),
            outbox: Vec::new(),
            counters,
            timing,
        })
    }

    /// Phases 1 and 2: reports what arrived, notes who has to look again.
    #[inline]
    fn collect_due(&mut self, workload: &mut impl Workload) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(self.now, &mut due);
        self.counters.events += due.len() as u64;
        for &item in &due {
            let id = item & event::ID;
            match item >> event::SHIFT {
                event::INPUT => {
                    self.inputs[id as usize].wake.arrived(self.now);
                    self.touch_input(id);
                }
                event::CENTRAL => {
                    self.centrals[id as usize].wake.arrived(self.now);
                    self.touch_central(id);
                }
                event::OUTPUT => {
                    self.links[id as usize].wake.arrived(self.now);
                    self.dirty_outputs.push(id);
                }
                event::NIC => {
                    self.nics[id as usize].wake.arrived(self.now);
                    self.touch_nic(id);
                }
                event::DELIVERY => self.deliver(id, workload),
                _ => workload.injected(self.now, self.messages[id].token),
            }
        }
        due.clear();
        self.due = due;
    }

    /// Phase 3, first half.
    #[inline]
    fn create_messages(&mut self, workload: &mut impl Workload) {
        if workload.next_tick().is_some_and(|tick| tick <= self.now) {
            let mut outbox = std::mem::take(&mut self.outbox);
            workload.act(self.now, &mut outbox);
            for message in outbox.drain(..) {
                self.enqueue(&message);
            }
            self.outbox = outbox;
        }
    }

    /// Central queue of packets on `vl` to `output`.
    #[inline]
    fn central_queue(&self, output: u32, vl: u8) -> usize {
        usize::from(self.first_queue[output as usize]) + usize::from(self.queue_of_vl[vl as usize])
    }

    /// Asks for another look at an input buffer at `at`, unless one comes earlier.
    #[inline]
    fn wake_input(&mut self, port: u32, at: Tick) {
        self.inputs[port as usize]
            .wake
            .ask(&mut self.wheel, self.now, at, event::INPUT, port);
    }

    /// Asks for another look at a central buffer.
    #[inline]
    fn wake_central(&mut self, central: u32, at: Tick) {
        let wake = &mut self.centrals[central as usize].wake;
        wake.ask(&mut self.wheel, self.now, at, event::CENTRAL, central);
    }

    /// Asks for another look at an output.
    #[inline]
    fn wake_output(&mut self, output: u32, at: Tick) {
        let wake = &mut self.links[output as usize].wake;
        wake.ask(&mut self.wheel, self.now, at, event::OUTPUT, output);
    }

    /// Asks for another look at a NIC's application queues.
    #[inline]
    fn wake_nic(&mut self, nic: u32, at: Tick) {
        self.nics[nic as usize]
            .wake
            .ask(&mut self.wheel, self.now, at, event::NIC, nic);
    }

    #[inline]
    fn touch_input(&mut self, port: u32) {
        if !std::mem::replace(&mut self.inputs[port as usize].dirty, true) {
            self.dirty_inputs.push(port);
        }
    }

    #[inline]
    fn touch_central(&mut self, central: u32) {
        if !std::mem::replace(&mut self.centrals[central as usize].dirty, true) {
            self.dirty_centrals.push(central);
        }
    }

    #[inline]
    fn touch_nic(&mut self, nic: u32) {
        if !std::mem::replace(&mut self.nics[nic as usize].dirty, true) {
            self.dirty_nics.push(nic);
        }
    }
}

impl<C: Control> Machine for Fabric<C> {
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn next_event(&self) -> Option<Tick> {
        self.wheel.next_after(self.now)
    }

    /// The phases of `docs/model.md` §5.
    #[inline]
    fn tick(&mut self, now: Tick, workload: &mut impl Workload) {
        self.now = now;
        self.collect_due(workload);
        self.create_messages(workload);
        self.fill_send_queues(workload);
        self.complete_routing();
        self.allocate();
        self.send();
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
        self.counters.start_series(&self.mtu);
        if let Some(congestion) = self.control.get_mut() {
            congestion.port_vls.start_series();
        }
    }

    fn sample(&mut self, tick: Tick) -> Sample {
        let control = self.control.get_mut();
        let (port_vls, sources) = control.map_or_else(Default::default, |congestion| {
            (
                congestion.port_vls.sample(),
                congestion.sources.sample(tick),
            )
        });
        Sample {
            tick,
            flows: self.counters.take_flows(),
            port_vls,
            sources,
        }
    }
}
