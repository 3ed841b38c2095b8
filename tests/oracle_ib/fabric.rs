//! The whole fabric, and the eight phases of a tick (section 5). Phase 1 is in `arrival`.

use super::hca::Hca;
use super::link::{End, Link};
use super::packet::{Packet, PacketId, PacketKind};
use super::routing::{self, Leg};
use super::sample::{FlowSample, Sample};
use super::switch::{Offer, Switch};
use super::wiring::{PortLinks, Wiring};
use super::{CctiChange, Departure, IbRun, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::{FabricSpec, Tick, Voq};
use flitwise::fabric::stats::{CctStats, CongestionStats};
use flitwise::fabric::workload::{AppQueue, Message, PacketReport, Workload};
use std::collections::BTreeMap;

/// Everything there is, at one moment.
pub struct Fabric<'s> {
    pub(super) spec: &'s FabricSpec,
    pub(super) voq: &'s Voq,
    pub(super) hcas: Vec<Hca<'s>>,
    pub(super) switches: Vec<Switch<'s>>,
    pub(super) links: Vec<Link>,
    pub(super) packets: Vec<Packet>,
    pub(super) messages: Vec<MessageState>,
    pub(super) messages_delivered: u64,
    /// Offers of each switch, between phases 5 and 6.
    pub(super) offers: Vec<Vec<Offer>>,
    /// Messages whose last tail left its adapter in the tick before.
    pub(super) left: Vec<usize>,
    /// Flits that left and reached an adapter.
    pub(super) flits_sent: u64,
    pub(super) flits_received: u64,
    pub(super) reports: Vec<PacketReport>,
    pub(super) departures: Vec<Departure>,
    pub(super) ccti: Vec<CctiChange>,
    pub(super) samples: Vec<Sample>,
    pub(super) payload: BTreeMap<(u32, u32, u8), u64>,
    pub(super) notifications: u64,
    pub(super) becns: u64,
    pub(super) threshold_events: u64,
    pub(super) now: Tick,
    /// Things that happened in this tick.
    pub moved: usize,
}

pub(super) struct MessageState {
    pub(super) message: Message,
    pub(super) packets: u32,
    pub(super) delivered: u32,
}

impl<'s> Fabric<'s> {
    pub fn new(spec: &'s FabricSpec, voq: &'s Voq) -> Self {
        let Wiring {
            links,
            switches,
            hcas,
        } = Wiring::new(spec, voq);
        let hca =
            |(id, &(up, down)): (usize, &(usize, usize))| Hca::new(spec, voq, id as u32, up, down);
        let switch =
            |(id, ports): (usize, &Vec<PortLinks>)| Switch::new(spec, voq, id as u32, ports);
        Self {
            spec,
            voq,
            hcas: hcas.iter().enumerate().map(hca).collect(),
            offers: vec![Vec::new(); switches.len()],
            switches: switches.iter().enumerate().map(switch).collect(),
            links,
            packets: Vec::new(),
            messages: Vec::new(),
            messages_delivered: 0,
            left: Vec::new(),
            flits_sent: 0,
            flits_received: 0,
            reports: Vec::new(),
            departures: Vec::new(),
            ccti: Vec::new(),
            samples: Vec::new(),
            payload: BTreeMap::new(),
            notifications: 0,
            becns: 0,
            threshold_events: 0,
            now: 0,
            moved: 0,
        }
    }

    /// One tick: the phases of section 5.
    pub fn tick(&mut self, now: Tick, workload: &mut impl Workload) {
        self.now = now;
        self.arrive(now, workload);
        self.release(now, workload);
        self.create(now, workload);
        self.route(now);
        self.offer(now);
        self.accept(now);
        self.start(now, workload);
        self.leave(now);
    }

    /// Phase 2: credits left in the tick before are free; injections are reported.
    fn release(&mut self, now: Tick, workload: &mut impl Workload) {
        for link in &mut self.links {
            link.release();
        }
        for message in self.left.drain(..) {
            let message = &self.messages[message].message;
            if message.report_injection {
                workload.injected(now, message.token);
            }
        }
    }

    /// Phase 3: the workload creates messages.
    fn create(&mut self, now: Tick, workload: &mut impl Workload) {
        if workload.next_tick().is_some_and(|due| due <= now) {
            let mut created = Vec::new();
            workload.act(now, &mut created);
            for message in created {
                self.moved += 1;
                self.enqueue(message);
            }
        }
    }

    /// Cuts a message into packets and puts them in the send queue.
    fn enqueue(&mut self, message: Message) {
        assert_ne!(
            message.src, message.dst,
            "an adapter does not send to itself"
        );
        let spec = self.spec;
        let mtu = u64::from(spec.qos.service_levels[usize::from(message.sl)].mtu_bytes);
        let flow = (message.src.get(), message.dst.get(), message.sl);
        let vl = routing::vl_at_nic(self.spec, flow.0, flow.1, flow.2);
        let count = message.bytes.div_ceil(mtu).max(1) as u32;
        for index in 0..count {
            let rest = message.bytes - mtu * u64::from(index);
            let payload = rest.min(mtu) as u32;
            let flits = spec.units.data_flits(payload);
            self.packets.push(Packet {
                message: Some(self.messages.len()),
                index,
                last: index + 1 == count,
                payload,
                bytes: payload + spec.units.header_bytes,
                ..blank(spec, flow, flits, vl)
            });
            let id = self.packets.len() - 1;
            self.hcas[message.src.index()].enqueue(id, &self.packets[id]);
        }
        self.messages.push(MessageState {
            message,
            packets: count,
            delivered: 0,
        });
    }

    /// Phase 4: routing completes.
    fn route(&mut self, now: Tick) {
        for switch in &mut self.switches {
            switch.route(now, &mut self.packets, &self.links);
        }
    }

    /// Phase 5: outputs offer.
    fn offer(&mut self, now: Tick) {
        for (switch, offers) in self.switches.iter().zip(&mut self.offers) {
            *offers = switch.offers(now, &self.packets, &mut self.links);
        }
    }

    /// Phase 6: inputs accept, Port VLs are judged.
    fn accept(&mut self, now: Tick) {
        for (switch, offers) in self.switches.iter_mut().zip(&self.offers) {
            self.moved += switch.accept(now, offers, &mut self.packets, &mut self.links);
        }
    }

    /// Phase 7: adapters pick, links start, sinks start.
    fn start(&mut self, now: Tick, workload: &mut impl Workload) {
        for nic in 0..self.hcas.len() {
            let (hca, packets) = (&mut self.hcas[nic], &mut self.packets);
            let link = hca.leaving;
            let response = hca.respond(now, packets, &mut self.links[link]);
            if let Some(id) = response {
                self.start_on(now, link, id);
            }
            let (hca, packets) = (&mut self.hcas[nic], &mut self.packets);
            self.moved += hca.pick(now, packets, &mut self.links[link]);
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
        let token = packet
            .message
            .map(|message| self.messages[message].message.token);
        self.departures.push(Departure {
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
                self.left.extend(last.filter_map(|packet| packet.message));
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
    pub fn check_conservation(&self) {
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

    /// Ticks that a flit takes on the slowest server.
    pub fn slowest_flit(&self) -> Tick {
        let rates = [self.voq.hca.send_rate, self.voq.hca.sink_rate];
        let servers = rates
            .into_iter()
            .flatten()
            .map(|r| r.den().div_ceil(r.num()));
        let links = self.links.iter().map(|link| link.server.flit_ticks());
        servers.chain(links).max().unwrap_or(1)
    }

    /// True if congestion control holds a packet that could go otherwise.
    pub fn holds_something(&self) -> bool {
        self.hcas.iter().any(|hca| hca.holds_something(self.now))
    }

    /// True if credits are on their way that congestion control may have held back.
    pub fn has_credits_under_way(&self) -> bool {
        self.spec.congestion_control.is_some()
            && self.links.iter().any(|link| link.has_credits_under_way())
    }

    pub fn all_delivered(&self) -> bool {
        self.messages_delivered == self.messages.len() as u64
    }

    /// A sample at the end of tick `now`.
    pub fn sample(&mut self, now: Tick) {
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
        self.samples.push(Sample {
            tick: now,
            payload: std::mem::take(&mut self.payload),
            port_vls,
            flows,
        });
    }

    pub fn report(self, end: RunEnd, end_tick: Tick) -> IbRun {
        self.check_conservation();
        let has_table = self.hcas.iter().any(|hca| hca.flows.is_some());
        let all_sent = self.hcas.iter().flat_map(|hca| &hca.ccti_of_sent);
        let sent: Vec<u16> = all_sent.copied().collect();
        IbRun {
            end,
            end_tick,
            reports: self.reports,
            departures: self.departures,
            ccti: self.ccti,
            messages: self.messages.len() as u64,
            messages_delivered: self.messages_delivered,
            links: self.links.into_iter().map(|link| link.counts).collect(),
            samples: self.samples,
            congestion: CongestionStats {
                marked: self.switches.iter().map(Switch::marked).sum(),
                notifications_sent: self.notifications,
                notifications_received: self.becns,
                cct: has_table.then_some(CctStats {
                    threshold_events: self.threshold_events,
                }),
                level_sum: sent.iter().copied().map(u64::from).sum(),
                packets: sent.len() as u64,
                level_max: sent.iter().copied().max().unwrap_or(0),
            },
        }
    }
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
        credits: spec.units.credits(flits),
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
