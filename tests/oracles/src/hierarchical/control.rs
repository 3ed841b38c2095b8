//! Congestion control in the whole fabric: notifications, timers, and its observables
//! (`docs/model/infiniband.md` §10 to §13).

use super::fabric::Fabric;
use super::packet::PacketId;
use crate::congestion::FlowKey;
use crate::power::StateTicks;
use crate::sizes::flits_of_cnp;
use crate::{CctiChange, FlowSample, Sample};
use flitwise_fabric::spec::Tick;
use std::collections::BTreeMap;

impl Fabric<'_> {
    /// Phase 1: the tail of packet `id` is at its NIC, and if it was data, it was delivered.
    pub fn notify(&mut self, now: Tick, id: PacketId) {
        let packet = self.packets[id].clone();
        let here = packet.dst as usize;
        if self.spec.congestion_control.is_none() {
            return;
        }
        if packet.message.is_none() {
            self.congestion.notifications_received += 1;
            let Some(flows) = &mut self.nics[here].flows else {
                return;
            };
            let flow = flows.key(packet.sl, packet.src);
            let (ccti, event) = flows.becn(now, flow);
            let log = self.congestion.cct.get_or_insert_default();
            log.threshold_events += u64::from(event);
            self.note_ccti(now, here, flow, ccti);
        } else if packet.fecn {
            let cnp = flits_of_cnp(self.spec).expect("no ACKs here");
            let flow = (packet.dst, packet.src, packet.sl);
            self.packets.push(self.packet(flow, cnp, now));
            let cnp = self.packets.len() - 1;
            self.nics[here].cnps.push_back(cnp);
            self.congestion.notifications_sent += 1;
        }
    }

    /// Phase 1, after everything that arrived: timers expire.
    pub fn expire(&mut self, now: Tick) {
        for nic in 0..self.nics.len() {
            let flows = self.nics[nic].flows.as_mut();
            for (flow, ccti) in flows.map_or_else(Vec::new, |flows| flows.expire(now)) {
                self.note_ccti(now, nic, flow, ccti);
            }
        }
    }

    fn note_ccti(&mut self, tick: Tick, nic: usize, flow: FlowKey, ccti: u16) {
        self.ccti.push(CctiChange {
            tick,
            nic: nic as u32,
            flow,
            ccti,
        });
    }

    /// Phase 7: the link of `nic` starts data packet `id`.
    pub fn starts_at_nic(&mut self, now: Tick, nic: usize, id: PacketId) {
        let packet = &mut self.packets[id];
        packet.injected = now;
        self.packets_injected += 1;
        self.flits_scheduled += u64::from(packet.flits);
        let Some(ccti) = self.nics[nic].starts(now, id, packet) else {
            return;
        };
        let counts = &mut self.congestion;
        counts.packets += 1;
        counts.level_sum += u64::from(ccti);
        counts.level_max = counts.level_max.max(ccti);
    }

    /// Whether congestion control holds a packet, or may have held back the credits that it waits
    /// for.
    pub fn is_held_back(&self, now: Tick) -> bool {
        let mut links = self.links.iter();
        let controlled = self.spec.congestion_control.is_some();
        if controlled && links.any(|link| link.credits.are_under_way()) {
            return true;
        }
        let mut nics = self.nics.iter();
        nics.any(|nic| nic.holds_for_now(now, &self.packets))
    }

    /// Ticks in power states since the sample before: of links between switches, and of NICs.
    fn sample_power(&mut self) -> [StateTicks; 2] {
        let mut sums = [StateTicks::default(); 2];
        for link in &mut self.links {
            let is_host = link.counts.is_host_link();
            sums[usize::from(is_host)] += link.sample_power().unwrap_or_default();
        }
        sums
    }

    /// A sample at the end of tick `now`.
    pub fn take_sample(&mut self, now: Tick) {
        let mut port_vls = BTreeMap::new();
        for (id, switch) in self.switches.iter_mut().enumerate() {
            let seen = switch.marking.as_mut();
            let seen = seen.map_or_else(Vec::new, |marking| marking.sample(&self.packets));
            for ((output, vl), seen) in seen {
                port_vls.insert((id, output, vl), seen);
            }
        }
        let mut flows = BTreeMap::new();
        for (id, nic) in (0..).zip(&self.nics) {
            for (key, (ccti, delay)) in nic.sample() {
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
}
