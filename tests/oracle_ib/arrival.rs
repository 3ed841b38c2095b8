//! Phase 1 of a tick (section 5): what comes out of the links, and what adapters make of whole
//! packets (sections 8, 10 and 11).

use super::CctiChange;
use super::fabric::{Fabric, blank};
use super::link::End;
use super::packet::{Flit, Packet, PacketId, PacketKind, completes_credit};
use super::routing;
use flitwise::fabric::spec::voq::Acks;
use flitwise::fabric::spec::{Notification, Tick};
use flitwise::fabric::workload::{PacketReport, Workload};

impl Fabric<'_> {
    /// Phase 1: flits and credits arrive; then adapters look at whole packets; then
    /// timers expire.
    pub(super) fn arrive(&mut self, now: Tick, workload: &mut impl Workload) {
        let mut tails = Vec::new();
        for at in 0..self.links.len() {
            self.moved += self.links[at].see_credits(now);
            while let Some(flit) = self.links[at].arriving_flit(now) {
                self.moved += 1;
                tails.extend(self.arrive_at(now, at, flit));
            }
        }
        for switch in &mut self.switches {
            switch.cross_over(now, &mut self.links);
        }
        for id in tails {
            self.arrived(now, id, workload);
        }
        for (hca, adapter) in (0..).zip(&mut self.hcas) {
            let Some(flows) = &mut adapter.flows else {
                continue;
            };
            for (flow, ccti) in flows.expire(now) {
                let tick = now;
                self.ccti.push(CctiChange {
                    tick,
                    hca,
                    flow,
                    ccti,
                });
            }
        }
    }

    /// A flit comes out of link `at`. Returns its packet if it is the tail, and at its adapter.
    fn arrive_at(&mut self, now: Tick, at: usize, flit: Flit) -> Option<PacketId> {
        match self.links[at].to {
            End::Port { switch, port } => {
                self.switches[switch].arrive(now, port, flit);
                None
            }
            End::Nic(nic) => {
                self.flits_received += 1;
                let packet = &self.packets[flit.packet];
                assert_eq!(nic, packet.dst as usize, "delivered to the wrong adapter");
                assert_eq!(now, packet.dated[flit.index as usize]);
                if packet.kind == PacketKind::Data {
                    self.hcas[nic].receive(flit);
                } else if completes_credit(
                    flit.index,
                    packet.flits,
                    self.spec.units.flits_per_credit,
                ) {
                    self.links[at].return_credit(now, flit.vl, 0);
                }
                (flit.index + 1 == packet.flits).then_some(flit.packet)
            }
        }
    }

    /// The tail of a packet is at its adapter (sections 8, 10 and 11).
    fn arrived(&mut self, now: Tick, id: PacketId, workload: &mut impl Workload) {
        let packet = self.packets[id].clone();
        let control = self.spec.congestion_control.as_deref();
        if let Some(message) = packet.message {
            self.deliver(now, message, &packet, workload);
            let notice = control.map(|control| control.notification);
            let told = packet.fecn && !packet.becn;
            let flow = (packet.src, packet.sl);
            let here = packet.dst as usize;
            if told && notice == Some(Notification::Ack) {
                self.hcas[here].congested.insert(flow);
            }
            let acknowledge = match self.voq.hca.acks {
                Acks::None => false,
                Acks::PerMessage => packet.last,
                Acks::PerPacket => true,
            };
            let at_once = told && notice == Some(Notification::AckNow);
            if acknowledge || at_once {
                let becn = self.hcas[here].congested.remove(&flow) || at_once;
                let bytes = self.voq.hca.ack_bytes;
                let ack = self.answer(now, &packet, PacketKind::Ack, bytes, becn);
                self.hcas[here].acks.push_back(ack);
            }
            if let (true, Some(Notification::Cnp { bytes })) = (told, notice) {
                let cnp = self.answer(now, &packet, PacketKind::Cnp, bytes, true);
                self.hcas[here].cnps.push_back(cnp);
            }
        } else if packet.becn {
            self.becns += 1;
            let Some(flows) = &mut self.hcas[packet.dst as usize].flows else {
                return;
            };
            let flow = flows.key(packet.sl, packet.src);
            let (ccti, event) = flows.becn(now, flow);
            self.threshold_events += u64::from(event);
            self.ccti.push(CctiChange {
                tick: now,
                hca: packet.dst,
                flow,
                ccti,
            });
        }
    }

    fn deliver(&mut self, now: Tick, at: usize, packet: &Packet, workload: &mut impl Workload) {
        let flow = (packet.src, packet.dst, packet.sl);
        *self.payload.entry(flow).or_default() += u64::from(packet.payload);
        let state = &mut self.messages[at];
        let token = state.message.token;
        let report = PacketReport {
            token,
            index: packet.index,
            flits: packet.flits,
            injected: packet.injected,
            delivered: now,
        };
        self.reports.push(report);
        workload.packet(&report);
        state.delivered += 1;
        if state.delivered == state.packets {
            self.messages_delivered += 1;
            workload.delivered(now, token);
        }
    }

    /// A CNP or an ACK, back to the sender of `packet`.
    fn answer(
        &mut self,
        now: Tick,
        packet: &Packet,
        kind: PacketKind,
        bytes: u32,
        becn: bool,
    ) -> PacketId {
        let flits = self.spec.units.flits(bytes);
        let (src, dst, sl) = (packet.dst, packet.src, packet.sl);
        let vl = routing::vl_at_nic(self.spec, src, dst, sl);
        self.notifications += u64::from(becn);
        self.packets.push(Packet {
            kind,
            becn,
            waiting_since: now,
            bytes,
            ..blank(self.spec, (src, dst, sl), flits, vl)
        });
        self.packets.len() - 1
    }
}
