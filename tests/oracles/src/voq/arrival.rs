//! Phase 1 of a tick (section 5): arrivals from links, and the handling by NICs of whole
//! packets (sections 8, 10 and 11).

use super::fabric::{Fabric, blank};
use super::packet::{Flit, Packet, PacketId, PacketKind};
use crate::CctiChange;
use crate::messages::Arrival;
use crate::sizes::{completes_credit, flits_of};
use crate::vls::vl_at_nic;
use crate::wiring::End;
use flitwise_fabric::spec::voq::Acks;
use flitwise_fabric::spec::{Notification, Tick};
use flitwise_fabric::workload::Workload;

impl Fabric<'_> {
    /// Phase 1: flits and credits arrive; then NICs look at whole packets; then
    /// timers expire.
    pub(super) fn arrive(&mut self, now: Tick, workload: &mut dyn Workload) {
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
        for (nic, hca) in (0..).zip(&mut self.hcas) {
            let Some(flows) = &mut hca.flows else {
                continue;
            };
            let expired = flows.expire(now).into_iter();
            self.ccti.extend(expired.map(|(flow, ccti)| CctiChange {
                tick: now,
                nic,
                flow,
                ccti,
            }));
        }
    }

    /// A flit comes out of link `at`. Returns its packet if it is the tail, and at its NIC.
    fn arrive_at(&mut self, now: Tick, at: usize, flit: Flit) -> Option<PacketId> {
        match self.links[at].to {
            End::Port { switch, port } => {
                self.switches[switch].arrive(now, port, flit);
                None
            }
            End::Nic(nic) => {
                self.flits_received += 1;
                let packet = &self.packets[flit.packet];
                assert_eq!(nic, packet.dst as usize, "delivered to the wrong NIC");
                assert_eq!(now, packet.dated[flit.index as usize]);
                if packet.kind == PacketKind::Data {
                    self.hcas[nic].receive(flit);
                } else if completes_credit(
                    flit.index,
                    packet.flits,
                    self.spec.units.flits_per_credit,
                ) {
                    self.links[at].return_credits(now, flit, 0);
                }
                (flit.index + 1 == packet.flits).then_some(flit.packet)
            }
        }
    }

    /// The tail of a packet is at its NIC (sections 8, 10 and 11).
    fn arrived(&mut self, now: Tick, id: PacketId, workload: &mut dyn Workload) {
        let packet = self.packets[id].clone();
        let control = self.spec.congestion_control.as_deref();
        if let Some(message) = packet.message {
            let arrival = Arrival {
                message,
                index: packet.index,
                flits: packet.flits,
                payload: packet.payload,
                injected: packet.injected,
            };
            self.messages.deliver(now, &arrival, workload);
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
                nic: packet.dst,
                flow,
                ccti,
            });
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
        let flits = flits_of(self.spec, bytes);
        let (src, dst, sl) = (packet.dst, packet.src, packet.sl);
        let vl = vl_at_nic(self.spec, src, dst, sl);
        self.notifications += u64::from(becn);
        self.packets.push(Packet {
            kind,
            becn,
            waiting_since: now,
            bytes,
            ..blank(self.spec, (src, dst, sl), flits, vl)
        });
        let id = self.packets.len() - 1;
        let link = self.hcas[src as usize].leaving;
        self.links[link].packet_waits(now, bytes);
        self.announce(now, link, id);
        id
    }
}
