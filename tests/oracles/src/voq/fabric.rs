//! The whole fabric, and the eight phases of a tick (section 5). Phase 1 is in `arrival`.

use super::hca::Hca;
use super::link::Link;
use super::packet::{Packet, PacketId, PacketKind};
use super::rates::link_rate;
use super::switch::Switch;
use super::{IbRun, SentPacket, patience};
use crate::messages::{Messages, create};
use crate::power::StateTicks;
use crate::queueing::out_port;
use crate::routing::Leg;
use crate::sizes::{credits_of, data_flits_of, largest_credits, payloads};
use crate::vls::vl_at_nic;
use crate::wiring::{End, Wiring, flight};
use crate::{CctCounts, CctiChange, CongestionCounts, FlowSample, RunEnd, Sample, run};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::voq::InputQueues;
use flitwise_fabric::spec::{FabricSpec, Tick, Voq};
use flitwise_fabric::workload::{AppQueue, Message, Workload};
use std::collections::BTreeMap;

/// Everything there is, at one moment.
pub struct Fabric<'s> {
    pub(super) spec: &'s FabricSpec,
    pub(super) voq: &'s Voq,
    wiring: &'s Wiring,
    pub(super) hcas: Vec<Hca<'s>>,
    pub(super) switches: Vec<Switch<'s>>,
    pub(super) links: Vec<Link<'s>>,
    /// Announcements under way: tick, and link that they reach.
    announcements: Vec<(Tick, usize)>,
    pub(super) packets: Vec<Packet>,
    pub(super) messages: Messages,
    /// Flits that left and reached a NIC.
    flits_sent: u64,
    pub(super) flits_received: u64,
    sent: Vec<SentPacket>,
    pub(super) ccti: Vec<CctiChange>,
    samples: Vec<Sample>,
    pub(super) notifications: u64,
    pub(super) becns: u64,
    pub(super) threshold_events: u64,
    /// Things that happened in this tick.
    pub(super) moved: usize,
}

impl<'s> Fabric<'s> {
    pub fn new(spec: &'s FabricSpec, voq: &'s Voq, wiring: &'s Wiring) -> Self {
        let switches = 0..wiring.ports.len();
        let nics = 0..wiring.homes.len();
        let link = |&ends: &(End, End)| new_link(spec, voq, wiring, ends);
        Self {
            spec,
            voq,
            wiring,
            hcas: nics.map(|id| Hca::new(spec, voq, wiring, id)).collect(),
            switches: switches
                .map(|id| Switch::new(spec, voq, wiring, id))
                .collect(),
            links: wiring.links.iter().map(link).collect(),
            announcements: Vec::new(),
            packets: Vec::new(),
            messages: Messages::default(),
            flits_sent: 0,
            flits_received: 0,
            sent: Vec::new(),
            ccti: Vec::new(),
            samples: Vec::new(),
            notifications: 0,
            becns: 0,
            threshold_events: 0,
            moved: 0,
        }
    }

    /// Phase 2: credits left in the tick before are free; injections are reported.
    fn release(&mut self, now: Tick, workload: &mut dyn Workload) {
        for link in &mut self.links {
            link.release();
        }
        let due = |announcement: &mut (Tick, usize)| announcement.0 <= now;
        for (_, link) in self.announcements.extract_if(.., due) {
            self.links[link].announced(now);
        }
        self.messages.report_injections(now, workload);
    }

    /// Phase 3: the workload creates messages.
    fn create(&mut self, now: Tick, workload: &mut dyn Workload) {
        for message in create(now, workload) {
            self.moved += 1;
            self.enqueue(message);
        }
    }

    /// Cuts a message into packets and puts them in the send queue.
    fn enqueue(&mut self, message: Message) {
        let spec = self.spec;
        let payloads = payloads(spec, &message);
        let flow = (message.src.get(), message.dst.get(), message.sl);
        let vl = vl_at_nic(spec, flow.0, flow.1, flow.2);
        let number = self.messages.add(message, payloads.len());
        for (index, &payload) in payloads.iter().enumerate() {
            let flits = data_flits_of(spec, payload);
            self.packets.push(Packet {
                message: Some(number),
                index: index as u32,
                last: index + 1 == payloads.len(),
                payload,
                bytes: payload + spec.units.header_bytes,
                ..blank(spec, flow, flits, vl)
            });
            let id = self.packets.len() - 1;
            self.hcas[message.src.index()].enqueue(id, &self.packets[id]);
        }
    }

    /// Phase 4: routing completes.
    fn route(&mut self, now: Tick) {
        let links = &self.links;
        for at in 0..self.switches.len() {
            let (before, rest) = self.switches.split_at_mut(at);
            let (switch, after) = rest.split_first_mut().expect("it is one of them");
            let elsewhere = |packets: &[Packet], other: u32, port: usize| match (other as usize)
                .checked_sub(at + 1)
            {
                Some(other) => after[other].queue(packets, links, port),
                None => before[other as usize].queue(packets, links, port),
            };
            switch.route(now, &mut self.packets, links, &elsewhere);
        }
        let joined = self
            .switches
            .iter()
            .flat_map(|switch| switch.joined(&self.packets));
        for (id, link) in joined.collect::<Vec<_>>() {
            self.links[link].packet_waits(now, self.packets[id].bytes);
            self.announce(now, link, id);
        }
        for switch in &mut self.switches {
            switch.sort_joined(now, &mut self.links);
        }
    }

    /// A packet that waits for a link announces itself to those that follow.
    pub(super) fn announce(&mut self, now: Tick, mut link: usize, id: PacketId) {
        let ahead = self
            .spec
            .link_power
            .as_ref()
            .map_or(0, |power| power.wake_ahead);
        let mut at = now + 1;
        for _ in 0..ahead {
            let End::Port { switch, .. } = self.links[link].to else {
                return;
            };
            at += self.links[link].latency;
            let header = self.packets[id].header();
            let port = out_port(self.spec, self.wiring, switch as u32, header);
            link = self.wiring.switch_links[switch][port]
                .leaving
                .expect("routes go on by links");
            self.announcements.push((at, link));
        }
    }

    /// Phases 5 and 6: outputs grant and inputs accept, once per iteration; then Port VLs change their state.
    fn allocate(&mut self, now: Tick) {
        for switch in &mut self.switches {
            for iteration in 0..self.voq.allocator.iterations {
                let grants = switch.grants(now, iteration == 0, &self.packets, &mut self.links);
                let (packets, links) = (&mut self.packets, &mut self.links);
                self.moved += switch.accept(now, iteration == 0, &grants, packets, links);
            }
            switch.end_of_allocation(now, &self.packets, &mut self.links);
        }
    }

    /// Phase 7: NICs pick, links start, sinks start.
    fn start(&mut self, now: Tick, workload: &mut dyn Workload) {
        for nic in 0..self.hcas.len() {
            let (hca, packets) = (&mut self.hcas[nic], &mut self.packets);
            let link = hca.leaving;
            let response = hca.respond(now, packets, &mut self.links[link]);
            if let Some(id) = response {
                self.start_on(now, link, id);
            }
            let (hca, packets) = (&mut self.hcas[nic], &mut self.packets);
            let picked = hca.pick(now, packets, &mut self.links[link]);
            self.moved += usize::from(picked.is_some());
            if let Some(id) = picked {
                self.announce(now, link, id);
            }
            for (sl, dst) in self.hcas[nic].emptied() {
                let queue = AppQueue {
                    nic: NicId::new(nic as u32),
                    sl,
                    dst: Some(NicId::new(dst)),
                };
                if let Some(message) = workload.replenish(now, queue) {
                    self.enqueue(message);
                }
            }
            self.hcas[nic].start_reading(now, &self.packets);
        }
        for link in 0..self.links.len() {
            if let Some(id) = self.links[link].ready(now) {
                self.start_on(now, link, id);
            }
        }
    }

    fn start_on(&mut self, now: Tick, link: usize, id: PacketId) {
        let from = self.links[link].from;
        let packet = &mut self.packets[id];
        if let End::Nic(_) = from {
            packet.injected = now;
        }
        self.links[link].start(now, id, packet);
        self.moved += 1;
        let token = packet.message.map(|message| self.messages.token(message));
        self.sent.push(SentPacket {
            tick: now,
            from,
            kind: packet.kind,
            pair: (packet.src, packet.dst),
            token,
            index: packet.index,
            vl: packet.vl,
            fecn: packet.fecn,
            becn: packet.becn,
        });
    }

    /// Phase 8: flits leave buffers.
    fn leave(&mut self, now: Tick) {
        for link in &mut self.links {
            let (moved, tails) = link.leave(now);
            self.moved += moved;
            if matches!(link.from, End::Nic(_)) {
                self.flits_sent += moved as u64;
                let packets = tails.iter().map(|&id| &self.packets[id]);
                let last = packets.filter(|packet| packet.last);
                self.messages
                    .left
                    .extend(last.filter_map(|packet| packet.message));
            }
        }
        for switch in &mut self.switches {
            self.moved += switch.cross(now, &mut self.links);
        }
        for hca in &mut self.hcas {
            let arriving = &mut self.links[hca.arriving];
            self.moved += hca.read(now, &self.packets, arriving);
        }
    }

    /// Flits sent are flits received and flits in switches and on links.
    fn check_conservation(&self) {
        let switches: usize = self.switches.iter().map(Switch::flits).sum();
        let links = self.links.iter().map(|link| match link.from {
            End::Nic(_) => link.under_way(),
            End::Port { .. } => link.flits(),
        });
        let inside = (switches + links.sum::<usize>()) as u64;
        assert_eq!(
            self.flits_sent,
            self.flits_received + inside,
            "flits are conserved"
        );
    }

    /// Ticks in power states since the sample before: of links between switches, and of NICs.
    fn sample_power(&mut self) -> [StateTicks; 2] {
        let mut sums = [StateTicks::default(); 2];
        for link in &mut self.links {
            let of_nic = [link.from, link.to]
                .iter()
                .any(|end| matches!(end, End::Nic(_)));
            sums[usize::from(of_nic)] += link.sample_power().unwrap_or_default();
        }
        sums
    }

    /// Ticks that a flit takes on the slowest server.
    fn slowest_flit(&self) -> Tick {
        let rates = [self.voq.hca.send_rate, self.voq.hca.sink_rate];
        let servers = rates
            .into_iter()
            .flatten()
            .map(|r| r.den().div_ceil(r.num()));
        let links = self.links.iter().map(Link::flit_ticks);
        servers.chain(links).max().unwrap_or(1)
    }
}

impl run::Fabric for Fabric<'_> {
    type Run = IbRun;

    /// The phases of section 5.
    fn tick(&mut self, now: Tick, workload: &mut dyn Workload) -> usize {
        self.moved = 0;
        for link in &mut self.links {
            link.begin_tick(now);
        }
        self.arrive(now, workload);
        self.release(now, workload);
        self.create(now, workload);
        self.route(now);
        self.allocate(now);
        self.start(now, workload);
        self.leave(now);
        for link in &mut self.links {
            link.end_tick(now);
        }
        if now.is_multiple_of(64) {
            self.check_conservation();
        }
        self.moved
    }

    fn sample(&mut self, now: Tick) {
        let mut port_vls = BTreeMap::new();
        for (id, switch) in self.switches.iter_mut().enumerate() {
            for ((output, vl), seen) in switch.port_vls(&self.packets) {
                port_vls.insert((id, output, vl), seen);
            }
        }
        let mut flows = BTreeMap::new();
        for (id, hca) in (0..).zip(&self.hcas) {
            let Some(all) = &hca.flows else { continue };
            for (key, (ccti, delay)) in all.sample() {
                flows.insert((id, key), FlowSample { ccti, delay });
            }
        }
        let power = self.spec.link_power.is_some().then(|| self.sample_power());
        self.samples.push(Sample {
            tick: now,
            payload: std::mem::take(&mut self.messages.payload),
            port_vls,
            flows,
            power,
        });
    }

    fn holds_for_now(&self, now: Tick) -> bool {
        let mut links = self.links.iter();
        let controlled = self.spec.congestion_control.is_some();
        self.links.iter().any(|link| link.is_changing(now))
            || !self.announcements.is_empty()
            || controlled && links.any(Link::has_credits_under_way)
            || self.hcas.iter().any(|hca| hca.holds_something(now))
    }

    fn patience(&self) -> Tick {
        let spec = self.spec;
        // A send engine before a link that is down, or busy with a packet, is busy for a packet of which no flit moves.
        let flits = if spec.outages.is_empty() && spec.degraded.is_empty() {
            1
        } else {
            largest_credits(spec) * spec.units.flits_per_credit
        };
        patience(spec, self.voq) + self.slowest_flit() * Tick::from(flits)
    }

    fn all_delivered(&self) -> bool {
        self.messages.all_delivered()
    }

    fn report(self, end: RunEnd, end_tick: Tick) -> IbRun {
        self.check_conservation();
        let has_table = self.hcas.iter().any(|hca| hca.flows.is_some());
        let all_sent = self.hcas.iter().flat_map(|hca| &hca.ccti_of_sent);
        let sent: Vec<u16> = all_sent.copied().collect();
        IbRun {
            end,
            end_tick,
            messages: self.messages.count(),
            reports: self.messages.reports,
            sent: self.sent,
            ccti: self.ccti,
            messages_delivered: self.messages.delivered,
            turns: self
                .switches
                .iter()
                .enumerate()
                .flat_map(|(id, switch)| switch.turns.of_switch(id))
                .collect(),
            stops: self.links.iter().map(|link| link.stops).sum(),
            links: self.links.into_iter().map(|link| link.counts).collect(),
            samples: self.samples,
            congestion: CongestionCounts {
                marked: self.switches.iter().map(Switch::marked).sum(),
                notifications_sent: self.notifications,
                notifications_received: self.becns,
                cct: has_table.then_some(CctCounts {
                    threshold_events: self.threshold_events,
                }),
                level_sum: sent.iter().copied().map(u64::from).sum(),
                packets: sent.len() as u64,
                level_max: sent.iter().copied().max().unwrap_or(0),
            },
        }
    }
}

/// The link between two ends, with the buffer before it.
fn new_link<'s>(
    spec: &'s FabricSpec,
    voq: &Voq,
    wiring: &Wiring,
    (from, to): (End, End),
) -> Link<'s> {
    let buffers = &voq.buffers;
    let latency = flight(spec, (from, to));
    let (at, own, far) = match (from, to) {
        (End::Nic(_), End::Port { switch, port }) => {
            let own = buffers.nic_queue;
            ((switch, port), own, &buffers.input)
        }
        (End::Port { switch, port }, End::Nic(_)) => {
            let own = buffers.output;
            ((switch, port), own, &buffers.nic_sink)
        }
        (End::Port { switch, port }, End::Port { .. }) => {
            let own = buffers.output;
            ((switch, port), own, &buffers.input)
        }
        (End::Nic(_), End::Nic(_)) => unreachable!("NICs are at switches"),
    };
    let rate = link_rate(voq, wiring, at);
    let per_flow = voq.input_queues == InputQueues::PerFlow && matches!(to, End::Port { .. });
    let flows = per_flow.then_some(wiring.homes.len() as u32);
    let far = (far.per_vl.clone(), flows);
    Link::new(spec, (from, to), latency, rate, own, far)
}

/// A packet of nothing in particular.
pub(super) fn blank(
    spec: &FabricSpec,
    (src, dst, sl): (u32, u32, u8),
    flits: u32,
    vl: usize,
) -> Packet {
    Packet {
        kind: PacketKind::Data,
        message: None,
        index: 0,
        last: false,
        src,
        dst,
        sl,
        payload: 0,
        bytes: 0,
        flits,
        credits: credits_of(spec, flits),
        fecn: false,
        becn: false,
        class: 0,
        leg: Leg::default(),
        vl,
        output: usize::MAX,
        waiting_since: 0,
        injected: 0,
        dated: Vec::new(),
        available: Vec::new(),
    }
}
