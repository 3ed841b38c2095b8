//! The whole fabric, and the eight phases of a tick.

use super::allocation::{self, Request};
use super::blocked;
use super::counts::LevelCounts;
use super::link::Link;
use super::marking::Marking;
use super::nic::Nic;
use super::packet::{Flit, Packet, PacketId};
use super::sender::{Choice, Sender};
use super::switch::Switch;
use super::{OracleRun, SentPacket, patience, switch_of};
use crate::congestion::Flows;
use crate::messages::{Arrival, Messages, create};
use crate::routing::Leg;
use crate::sizes::{credits_of, data_flits_of, payloads};
use crate::vls::vl_at_nic;
use crate::wiring::{End, Wiring, flight};
use crate::{CctCounts, CctiChange, CongestionCounts, RunEnd, Sample, run};
use flitwise_base::units::Ratio;
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::hierarchical::CentralLink;
use flitwise_fabric::spec::{FabricSpec, Paths, Tick, TrunkSelection, UpPorts};
use flitwise_fabric::workload::{AppQueue, Message, Workload};
use std::collections::HashMap;

/// Everything there is, at one moment.
pub struct Fabric<'s> {
    pub spec: &'s FabricSpec,
    wiring: &'s Wiring,
    pub nics: Vec<Nic<'s>>,
    pub switches: Vec<Switch<'s>>,
    pub links: Vec<Link<'s>>,
    pub packets: Vec<Packet>,
    pub messages: Messages,
    /// Requests of each switch, between phases 5 and 6.
    requests: Vec<Vec<Request>>,
    /// Packets created and delivered so far of each (source, destination, SL).
    flows: HashMap<(u32, u32, u8), (u64, u64)>,
    /// Flits that have left a NIC, and that have reached one.
    flits_sent: u64,
    flits_received: u64,
    /// Data packets that NICs have scheduled, and their flits.
    pub packets_injected: u64,
    pub flits_scheduled: u64,
    levels: Vec<LevelCounts>,
    sent: Vec<SentPacket>,
    pub congestion: CongestionCounts,
    pub ccti: Vec<CctiChange>,
    pub samples: Vec<Sample>,
    /// Things that happened in this tick.
    moved: usize,
}

impl<'s> Fabric<'s> {
    pub fn new(spec: &'s FabricSpec, wiring: &'s Wiring) -> Self {
        let link = |&(from, to): &(End, End)| {
            let latency = flight(spec, (from, to));
            Link::new(spec, (from, to), latency)
        };
        let count = wiring.ports.len();
        Self {
            spec,
            wiring,
            nics: (0..wiring.homes.len())
                .map(|id| Nic::new(spec, wiring, id))
                .collect(),
            switches: (0..count).map(|id| Switch::new(spec, wiring, id)).collect(),
            links: wiring.links.iter().map(link).collect(),
            packets: Vec::new(),
            messages: Messages::default(),
            requests: vec![Vec::new(); count],
            flows: HashMap::new(),
            flits_sent: 0,
            flits_received: 0,
            packets_injected: 0,
            flits_scheduled: 0,
            levels: vec![LevelCounts::default(); spec.qos.service_levels.len()],
            sent: Vec::new(),
            congestion: CongestionCounts {
                cct: Flows::new(spec, Ratio::ONE).map(|_| CctCounts::default()),
                ..CongestionCounts::default()
            },
            ccti: Vec::new(),
            samples: Vec::new(),
            moved: 0,
        }
    }

    /// Phase 1: flits and credits arrive; packets and messages are delivered.
    fn arrive(&mut self, now: Tick, workload: &mut dyn Workload) {
        for at in 0..self.links.len() {
            let (from, to) = (self.links[at].from, self.links[at].to);
            if let Some(flit) = self.links[at].arriving_flit(now) {
                self.moved += 1;
                match to {
                    End::Nic(nic) => {
                        self.nics[nic].received.push_back(flit);
                        self.receive(now, nic, flit, workload);
                    }
                    End::Port { switch, port } => {
                        let input = &mut self.switches[switch].inputs[port];
                        input.buffer.arrive(now, flit.vl, flit);
                    }
                }
            }
            while let Some(vl) = self.links[at].credits.pop_due(now) {
                self.moved += 1;
                match from {
                    End::Nic(nic) => self.nics[nic].sender.far.give_back_one(vl),
                    End::Port { switch, port } => {
                        let output = &mut self.switches[switch].outputs[port];
                        output.sender.far.give_back_one(vl);
                    }
                }
            }
        }
        for switch in &mut self.switches {
            switch.arrive(now);
        }
        self.expire(now);
    }

    /// A flit has reached its NIC: the tail delivers the packet, and the last
    /// packet to arrive the message.
    fn receive(&mut self, now: Tick, nic: usize, flit: Flit, workload: &mut dyn Workload) {
        let packet = &self.packets[flit.packet];
        assert_eq!(nic, packet.dst as usize, "delivered to the wrong NIC");
        assert_eq!(flit.sl, packet.sl, "the SL is constant end to end");
        self.flits_received += 1;
        if flit.index + 1 < packet.flits {
            return;
        }
        if let Some(message) = packet.message {
            self.deliver(now, flit.packet, message, workload);
        }
        self.notify(now, flit.packet);
    }

    /// The tail of data packet `id` has reached its NIC.
    fn deliver(&mut self, now: Tick, id: PacketId, message: usize, workload: &mut dyn Workload) {
        let packet = &self.packets[id];
        let routing = &self.spec.routing;
        let by_destination = routing.trunk == TrunkSelection::Destination
            && routing.up_ports == UpPorts::Destination
            && routing.paths == Paths::Minimal
            && routing.changes.is_empty()
            && !matches!(
                switch_of(self.spec).buffers.central_link,
                CentralLink::Random { .. }
            );
        if by_destination {
            let flow = (packet.src, packet.dst, packet.sl);
            let (_, delivered) = self.flows.get_mut(&flow).expect("created before");
            assert_eq!(packet.place_in_flow, *delivered, "flows keep their order");
            *delivered += 1;
        }
        let arrival = Arrival {
            message,
            index: packet.index,
            flits: packet.flits,
            payload: packet.payload,
            injected: packet.injected,
        };
        let level = &mut self.levels[usize::from(packet.sl)];
        level.flits += u64::from(packet.flits);
        level.network.push(now - packet.injected);
        if let Some(message) = self.messages.deliver(now, &arrival, workload) {
            level.bytes += message.bytes;
            level.end_to_end.push(now - message.created);
        }
    }

    /// Phase 2: credits left in the tick before are free; tails that left their
    /// NIC in it are reported.
    fn release(&mut self, now: Tick, workload: &mut dyn Workload) {
        for nic in &mut self.nics {
            nic.sender.release();
        }
        for switch in &mut self.switches {
            switch.release();
        }
        self.messages.report_injections(now, workload);
    }

    /// Phase 3: the workload creates messages; NICs fill their send queues.
    fn create(&mut self, now: Tick, workload: &mut dyn Workload) {
        let controlled = self.spec.congestion_control.is_some();
        for message in create(now, workload) {
            self.moved += 1;
            self.enqueue(now, message);
        }
        for nic in 0..self.nics.len() {
            while let Some(id) = self.nics[nic].fill(now, &mut self.packets) {
                self.moved += 1;
                let packet = &self.packets[id];
                let queue = AppQueue {
                    nic: NicId::new(packet.src),
                    sl: packet.sl,
                    dst: controlled.then_some(NicId::new(packet.dst)),
                };
                if self.nics[nic].is_empty_behind(packet)
                    && let Some(next) = workload.replenish(now, queue)
                {
                    self.enqueue(now, next);
                }
            }
        }
    }

    /// Cuts a message into packets and puts them in the application queue.
    fn enqueue(&mut self, now: Tick, message: Message) {
        let payloads = payloads(self.spec, &message);
        let flow = (message.src.get(), message.dst.get(), message.sl);
        let number = self.messages.add(message, payloads.len());
        for (index, &payload) in payloads.iter().enumerate() {
            let packet = self.packet(flow, data_flits_of(self.spec, payload), now);
            let (place_in_flow, _) = self.flows.entry(flow).or_default();
            self.packets.push(Packet {
                message: Some(number),
                index: index as u32,
                last: index + 1 == payloads.len(),
                payload,
                place_in_flow: *place_in_flow,
                ..packet
            });
            *place_in_flow += 1;
            let id = self.packets.len() - 1;
            self.nics[message.src.index()].enqueue(id, &self.packets[id]);
        }
    }

    /// A packet without a message, of (source, destination, SL), ready at `now`.
    pub fn packet(&self, (src, dst, sl): (u32, u32, u8), flits: u32, now: Tick) -> Packet {
        Packet {
            message: None,
            index: 0,
            last: false,
            src,
            dst,
            sl,
            payload: 0,
            flits,
            credits: credits_of(self.spec, flits),
            place_in_flow: 0,
            ready: now,
            injected: 0,
            class: 0,
            leg: Leg::default(),
            fecn: false,
            input: usize::MAX,
            vl: vl_at_nic(self.spec, src, dst, sl),
            output: usize::MAX,
            central_link: 0,
            passed_over: None,
            flit_ticks: Vec::new(),
        }
    }

    /// Phase 4: routing completes, headers become ready.
    fn route(&mut self, now: Tick) {
        for at in 0..self.switches.len() {
            let (before, rest) = self.switches.split_at_mut(at);
            let (switch, after) = rest.split_first_mut().expect("it is one of them");
            let elsewhere = |other: u32, port: usize| match (other as usize).checked_sub(at + 1) {
                Some(other) => after[other].queue(port),
                None => before[other as usize].queue(port),
            };
            switch.route(now, &mut self.packets, &elsewhere);
        }
        for nic in &mut self.nics {
            nic.ready(now, &mut self.packets);
        }
    }

    /// Phase 5: virtual allocation.
    fn allocate_virtually(&mut self, now: Tick) {
        for (switch, requests) in self.switches.iter_mut().zip(&mut self.requests) {
            *requests = allocation::requests(switch, 0, now, self.spec, &mut self.packets);
        }
    }

    /// Phase 6: switch allocation.
    fn allocate_switch(&mut self, now: Tick) {
        for (switch, requests) in self.switches.iter_mut().zip(&self.requests) {
            let (spec, packets) = (self.spec, &mut self.packets);
            self.moved += allocation::grant(switch, requests, now, spec, packets);
            // A round continues within its tick.
            for iteration in 1..switch_of(spec).allocator.iterations {
                let requests = allocation::requests(switch, iteration, now, spec, packets);
                self.moved += allocation::grant(switch, &requests, now, spec, packets);
            }
            allocation::count_waits(switch);
            switch.update_port_vls(&self.packets);
        }
    }

    /// Phase 7: output schedulers and NICs.
    fn schedule(&mut self, now: Tick) {
        for at in 0..self.links.len() {
            let from = self.links[at].from;
            let waiting = self.waiting_for(from);
            if !self.links[at].is_up_for(now, waiting) {
                continue;
            }
            if let End::Nic(nic) = from
                && let Some(cnp) = self.nics[nic].respond(&self.packets)
            {
                self.sends(now, cnp, at);
            }
            let sender = match from {
                End::Nic(nic) => &mut self.nics[nic].sender,
                End::Port { switch, port } => &mut self.switches[switch].outputs[port].sender,
            };
            match sender.schedule(self.spec, &self.packets) {
                Choice::Nothing => {}
                Choice::NoQuota => self.links[at].counts.waited.push(now),
                Choice::Send(id) => {
                    if let End::Nic(nic) = from {
                        self.starts_at_nic(now, nic, id);
                    }
                    self.sends(now, id, at);
                }
            }
        }
    }

    /// Packets that wait for the link that begins at `from`: heads that are ready, and CNPs.
    fn waiting_for(&self, from: End) -> usize {
        match from {
            End::Nic(nic) => self.nics[nic].sender.heads() + self.nics[nic].cnps.len(),
            End::Port { switch, port } => self.switches[switch].outputs[port].sender.heads(),
        }
    }

    /// The end of a tick, as far as power states see it.
    fn end_tick(&mut self, now: Tick) {
        for at in 0..self.links.len() {
            let waiting = self.waiting_for(self.links[at].from);
            self.links[at].end_tick(now, waiting);
        }
    }

    /// The header of a packet is scheduled on a link.
    fn sends(&mut self, tick: Tick, id: PacketId, link: usize) {
        self.moved += 1;
        let (packet, link) = (&mut self.packets[id], &mut self.links[link]);
        let from = link.from;
        link.counts.packets += 1;
        link.counts.flits += u64::from(packet.flits);
        link.counts.queue_wait += tick - packet.ready;
        self.sent.push(SentPacket {
            tick,
            from: link.from,
            pair: (packet.src, packet.dst),
            token: packet.message.map(|message| self.messages.token(message)),
            index: packet.index,
            sl: packet.sl,
            vl: packet.vl,
            fecn: packet.fecn,
        });
        let held = link.held(tick, packet.flits);
        let (flits, first) = (Tick::from(packet.flits), tick + held + link.latency());
        packet.flit_ticks = (0..flits).map(|i| first + i).collect();
        self.sender_of(from).hold(held);
    }

    /// The sender of the link that begins at `from`.
    fn sender_of(&mut self, from: End) -> &mut Sender {
        match from {
            End::Nic(nic) => &mut self.nics[nic].sender,
            End::Port { switch, port } => &mut self.switches[switch].outputs[port].sender,
        }
    }

    /// Phase 8: flits leave buffers.
    fn leave(&mut self, now: Tick) {
        for nic in &mut self.nics {
            let before = self.links[nic.sender.link.expect("a NIC has a link")].carried;
            if let Some(id) = nic.sender.send(now, &mut self.links) {
                let packet = &self.packets[id];
                let last = packet.message.filter(|_| packet.last);
                self.messages.left.extend(last);
            }
            let after = self.links[nic.sender.link.expect("a NIC has a link")].carried;
            self.flits_sent += after - before;
            nic.drain(now, self.spec, &self.packets, &mut self.links);
        }
        for switch in &mut self.switches {
            let (freed, moved) = switch.cross(now, self.spec);
            self.moved += moved;
            for (port, vl, held_back) in freed {
                let link = switch.inputs[port]
                    .link
                    .expect("flits came in by this port");
                self.links[link].credits.push(now, vl, held_back);
            }
            for output in &mut switch.outputs {
                output.sender.send(now, &mut self.links);
            }
        }
    }

    /// Every flit that left a NIC has arrived or is somewhere.
    fn check_conservation(&self) {
        let links: usize = self.links.iter().map(Link::flits_under_way).sum();
        let switches: usize = self.switches.iter().map(Switch::flits).sum();
        let in_flight = (links + switches) as u64;
        assert_eq!(
            self.flits_sent,
            self.flits_received + in_flight,
            "flits were lost"
        );
    }
}

impl run::Fabric for Fabric<'_> {
    type Run = OracleRun;

    /// The phases of `docs/model/fabric.md` §5.
    fn tick(&mut self, now: Tick, workload: &mut dyn Workload) -> usize {
        self.moved = 0;
        self.links.iter_mut().for_each(Link::begin_tick);
        self.arrive(now, workload);
        self.release(now, workload);
        self.create(now, workload);
        self.route(now);
        self.allocate_virtually(now);
        self.allocate_switch(now);
        self.schedule(now);
        self.leave(now);
        self.end_tick(now);
        self.check_conservation();
        self.moved
    }

    fn sample(&mut self, now: Tick) {
        self.take_sample(now);
    }

    fn holds_for_now(&self, now: Tick) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.is_changing(now)) || self.is_held_back(now)
    }

    fn patience(&self) -> Tick {
        patience(self.spec, self.wiring)
    }

    fn all_delivered(&self) -> bool {
        self.messages.all_delivered()
    }

    fn report(mut self, end: RunEnd, end_tick: Tick) -> OracleRun {
        let blocked = blocked::blocked(self.spec, self.wiring, &mut self.switches, &self.packets);
        if end == RunEnd::Drained && self.spec.congestion_control.is_none() {
            let all_left = |link: &Link| link.counts.flits == link.carried;
            assert!(self.links.iter().all(all_left), "what was scheduled left");
        }
        let links: Vec<_> = self.links.into_iter().map(|link| link.counts).collect();
        let hops = |host: bool| {
            let links = links.iter().filter(|link| link.is_host_link() == host);
            links.map(|link| link.flits).sum()
        };
        let (flit_hops, host_flit_hops) = (hops(false), hops(true));
        let switches = self.switches.iter();
        let marked = switches.filter_map(|switch| switch.marking.as_ref());
        let marked = marked.map(Marking::marked).sum();
        OracleRun {
            end,
            end_tick,
            flit_hops,
            host_flit_hops,
            messages: self.messages.count(),
            messages_delivered: self.messages.delivered,
            reports: self.messages.reports,
            sent: self.sent,
            packets_injected: self.packets_injected,
            flits_injected: self.flits_scheduled,
            flits_delivered: self.levels.iter().map(|level| level.flits).sum(),
            turns: self
                .switches
                .iter()
                .enumerate()
                .flat_map(|(id, switch)| switch.turns.of_switch(id))
                .collect(),
            links,
            levels: self.levels,
            blocked,
            congestion: CongestionCounts {
                marked,
                ..self.congestion
            },
            ccti: self.ccti,
            samples: self.samples,
        }
    }
}
