//! Sources: the index of each flow into the congestion control table, its timer, and how
//! long its next packet has to wait (`docs/model-infiniband.md` §11).
//!
//! Timers take no events: between two BECNs an index only falls, at known ticks, so it is
//! brought up to date when somebody looks.

use crate::fabric::infiniband::{
    CctiBound, CongestionControl, FlowLevel, IrdBase, SlScope, TimerRestart, TimerScope,
};
use crate::fabric::series::SourceSample;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::units::Ratio;
use std::collections::BTreeMap;

/// Index of a flow in [`Sources`].
pub(in crate::fabric::engine) type FlowId = u32;

/// A flow: a queue pair, or all packets of an SL of an adapter.
#[derive(Debug, Clone, Copy)]
struct Flow {
    ccti: u16,
    sl: u8,
    /// Per flow: the tick in which the timer expires, `Tick::MAX` if it is off. Per SL: the
    /// tick up to which the index is up to date.
    timer: Tick,
    /// It has sent a packet.
    has_sent: bool,
    nic: u32,
    dst: u32,
}

/// The packet that a delay follows.
#[derive(Debug, Clone, Copy, Default)]
struct Previous {
    /// When the sender was done with it.
    end: Tick,
    /// Its bytes, perhaps 0; none before the first packet.
    bytes: Option<u32>,
}

/// All flows.
#[derive(Debug)]
pub(in crate::fabric::engine) struct Sources {
    control: CongestionControl,
    /// Rate of the link of each adapter, in bytes per tick.
    rates: Vec<Ratio>,
    /// Bytes whose time every delay multiplies, if not those of the previous packet.
    base_bytes: Option<u32>,
    /// The largest `CCTI_Min`, below which the index of an adapter never falls.
    least: u16,
    by_key: BTreeMap<(u32, u8, u32), FlowId>,
    flows: Vec<Flow>,
    /// Per holder of packets.
    previous: Vec<Previous>,
    /// Flows of each adapter, if an adapter holds all of its packets.
    of_nic: Vec<Vec<FlowId>>,
}

impl Sources {
    /// `rates`: of the link of each adapter, in bytes per tick.
    pub(in crate::fabric::engine) fn new(
        spec: &FabricSpec,
        control: &CongestionControl,
        rates: Vec<Ratio>,
    ) -> Self {
        let base_bytes = match control.ird_base {
            IrdBase::Packet => None,
            IrdBase::MaxPacket => Some(spec.largest_data_bytes()),
        };
        Self::with_base(control, rates, base_bytes)
    }

    fn with_base(control: &CongestionControl, rates: Vec<Ratio>, base_bytes: Option<u32>) -> Self {
        let holders = match control.sl_scope {
            SlScope::Flow => 0,
            SlScope::Link => rates.len(),
        };
        let levels = control.service_levels.iter();
        Self {
            control: control.clone(),
            rates,
            base_bytes,
            least: levels.map(|level| level.ccti_min).max().unwrap_or(0).into(),
            by_key: BTreeMap::new(),
            flows: Vec::new(),
            previous: vec![Previous::default(); holders],
            of_nic: vec![Vec::new(); holders],
        }
    }

    /// The flow of packets from `nic` to `dst` on `sl`.
    pub(in crate::fabric::engine) fn flow(&mut self, nic: u32, sl: u8, dst: u32) -> FlowId {
        let dst = match self.control.level {
            FlowLevel::Qp => dst,
            FlowLevel::Sl => u32::MAX,
        };
        let level = &self.control.service_levels[usize::from(sl)];
        let (flows, previous) = (&mut self.flows, &mut self.previous);
        let of_nic = &mut self.of_nic;
        *self.by_key.entry((nic, sl, dst)).or_insert_with(|| {
            let id = flows.len() as FlowId;
            match of_nic.get_mut(nic as usize) {
                Some(of_nic) => of_nic.push(id),
                None => previous.push(Previous::default()),
            }
            flows.push(Flow {
                ccti: level.ccti_min.into(),
                sl,
                timer: match self.control.timer {
                    TimerScope::PerFlow => Tick::MAX,
                    TimerScope::PerSl => 0,
                },
                has_sent: false,
                nic,
                dst,
            });
            id
        })
    }

    /// Who holds the packets of `flow`: the flow, or its adapter.
    #[inline]
    pub(in crate::fabric::engine) fn holder(&self, flow: FlowId) -> usize {
        match self.control.sl_scope {
            SlScope::Flow => flow as usize,
            SlScope::Link => self.flows[flow as usize].nic as usize,
        }
    }

    /// `flow` with all timers up to tick `now`, included.
    fn at(&self, flow: FlowId, now: Tick) -> Flow {
        let mut flow = self.flows[flow as usize];
        let level = &self.control.service_levels[usize::from(flow.sl)];
        let (least, period) = (u16::from(level.ccti_min), level.ccti_timer);
        let expired = match self.control.timer {
            TimerScope::PerFlow if flow.timer > now => 0,
            TimerScope::PerFlow => 1 + (now - flow.timer) / period,
            TimerScope::PerSl => now / period - flow.timer / period,
        };
        flow.ccti = u16::try_from(expired)
            .map_or(0, |expired| flow.ccti.saturating_sub(expired))
            .max(least);
        match self.control.timer {
            TimerScope::PerFlow if expired > 0 && flow.ccti > least => {
                flow.timer += expired * period;
            }
            TimerScope::PerFlow if expired > 0 => flow.timer = Tick::MAX,
            TimerScope::PerFlow => {}
            TimerScope::PerSl => flow.timer = now,
        }
        flow
    }

    /// The index that holds packets of `flow` in phase 7 of tick `now`, and the first tick
    /// after it in which it may fall, unless a BECN comes before; `Tick::MAX` if it is at its
    /// minimum.
    fn index(&self, flow: FlowId, now: Tick) -> (u16, Tick) {
        if self.control.sl_scope == SlScope::Flow {
            let flow = self.at(flow, now);
            return (flow.ccti, self.falls(&flow, now));
        }
        let nic = self.flows[flow as usize].nic as usize;
        let (mut ccti, mut falls) = (self.least, Tick::MAX);
        for &other in &self.of_nic[nic] {
            let other = self.at(other, now);
            if other.ccti > ccti {
                (ccti, falls) = (other.ccti, self.falls(&other, now));
            } else if other.ccti == ccti {
                falls = falls.min(self.falls(&other, now));
            }
        }
        (ccti, falls)
    }

    /// Index that holds packets of `flow` in phase 7 of tick `now`.
    pub(in crate::fabric::engine) fn ccti(&self, flow: FlowId, now: Tick) -> u16 {
        self.index(flow, now).0
    }

    /// Phase 1 of tick `now`: a BECN for `flow`. Timers of this tick come after it. True if
    /// the adapter logs an event.
    pub(in crate::fabric::engine) fn becn(&mut self, flow: FlowId, now: Tick) -> bool {
        let mut state = self.at(flow, now.saturating_sub(1));
        let level = &self.control.service_levels[usize::from(state.sl)];
        let limit = self.control.ccti_limit;
        let raised = state.ccti.saturating_add(level.ccti_increase.into());
        state.ccti = match self.control.ccti_bound {
            CctiBound::Saturate => raised.min(limit),
            CctiBound::Skip if raised > limit => state.ccti,
            CctiBound::Skip => raised,
        };
        let starts = self.control.timer_restart == TimerRestart::OnBecn || state.timer == Tick::MAX;
        if self.control.timer == TimerScope::PerFlow && starts {
            state.timer = now.saturating_add(level.ccti_timer);
        }
        let trigger = u16::from(level.trigger_threshold);
        self.flows[flow as usize] = state;
        trigger > 0 && state.ccti >= trigger
    }

    /// A packet of `bytes` was sent; the send engine is done with it at `end`.
    pub(in crate::fabric::engine) fn sent(&mut self, flow: FlowId, end: Tick, bytes: u32) {
        self.flows[flow as usize].has_sent = true;
        let holder = self.holder(flow);
        self.previous[holder] = Previous {
            end,
            bytes: Some(bytes),
        };
    }

    /// The delay after `previous` at an index of `ccti`.
    fn delay(&self, ccti: u16, previous: Previous, nic: u32) -> Tick {
        let Some(bytes) = previous.bytes.filter(|_| ccti > 0) else {
            return 0;
        };
        let entry = self.control.cct[usize::from(ccti)];
        let bytes = self.base_bytes.unwrap_or(bytes);
        entry.delay(bytes, self.rates[nic as usize])
    }

    /// `None` if a packet of `flow` may be sent in phase 7 of tick `now`, else the tick in
    /// which to look again: the delay may be over, or the index has fallen.
    #[inline]
    pub(in crate::fabric::engine) fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        let raw = &self.flows[flow as usize];
        let previous = self.previous[self.holder(flow)];
        if previous.bytes.is_none() || raw.ccti == 0 && self.control.sl_scope == SlScope::Flow {
            // Timers only lower an index.
            return None;
        }
        let (ccti, falls) = self.index(flow, now);
        let delay = self.delay(ccti, previous, raw.nic);
        let until = previous.end.saturating_add(delay);
        if now >= until || ccti == 0 {
            return None;
        }
        Some(until.min(falls))
    }

    /// First tick after `now` in which the index that holds packets of `flow` may fall.
    pub(in crate::fabric::engine) fn next_fall(&self, flow: FlowId, now: Tick) -> Tick {
        self.index(flow, now).1
    }

    fn falls(&self, flow: &Flow, now: Tick) -> Tick {
        let level = &self.control.service_levels[usize::from(flow.sl)];
        match self.control.timer {
            _ if flow.ccti <= level.ccti_min.into() => Tick::MAX,
            TimerScope::PerFlow => flow.timer,
            TimerScope::PerSl => (now / level.ccti_timer + 1).saturating_mul(level.ccti_timer),
        }
    }

    /// The flows that have sent, at the end of tick `now`.
    pub(in crate::fabric::engine) fn sample(&self, now: Tick) -> Vec<SourceSample> {
        let sent = (0..self.flows.len() as u32).filter(|&id| self.flows[id as usize].has_sent);
        let mut samples: Vec<_> = sent
            .map(|id| {
                let flow = self.at(id, now);
                let previous = self.previous[self.holder(id)];
                SourceSample {
                    nic: flow.nic,
                    sl: flow.sl,
                    dst: (flow.dst != u32::MAX).then_some(flow.dst),
                    ccti: flow.ccti,
                    delay: self.delay(self.ccti(id, now), previous, flow.nic),
                }
            })
            .collect();
        samples.sort_unstable();
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::infiniband::{
        CctEntry, FillComparison, Marking, Notification, PortCongestion, SlCongestion,
    };
    use proptest::prelude::*;

    fn control(timer: TimerScope, level: SlCongestion) -> CongestionControl {
        let port = PortCongestion {
            threshold: 1,
            victim_mask: false,
            packet_size: 0,
            marking_rate: 0,
            credit_mask: false,
            cs_threshold: 0,
            cs_return_delay: CctEntry::NONE,
        };
        CongestionControl {
            host_ports: port,
            switch_ports: port,
            exceptions: BTreeMap::new(),
            compare: FillComparison::Sum,
            marking: Marking::Fixed,
            marking_seed: 0,
            notification: Notification::Cnp { bytes: 42 },
            level: FlowLevel::Qp,
            sl_scope: SlScope::Flow,
            timer,
            timer_restart: TimerRestart::AtExpiry,
            ccti_bound: CctiBound::Saturate,
            ird_base: IrdBase::Packet,
            cct: (0..128)
                .map(|i| CctEntry {
                    multiplier: i,
                    shift: 2,
                })
                .collect(),
            ccti_limit: 20,
            service_levels: vec![level],
        }
    }

    proptest! {
        /// Indices brought up to date when somebody looks are those of timers that act in
        /// every tick.
        #[test]
        fn timers_need_no_events(
            (per_flow, on_becn, skip) in any::<(bool, bool, bool)>(),
            (increase, least, period) in (0u8..6, 0u8..3, 1u64..12),
            becns in prop::collection::vec(0u64..100, 0..20),
            looks in prop::collection::vec(0u64..140, 0..30),
        ) {
            let scope = if per_flow { TimerScope::PerFlow } else { TimerScope::PerSl };
            let level = SlCongestion {
                ccti_increase: increase,
                ccti_min: least,
                ccti_timer: period,
                trigger_threshold: 0,
            };
            let mut control = control(scope, level);
            if on_becn {
                control.timer_restart = TimerRestart::OnBecn;
            }
            if skip {
                control.ccti_bound = CctiBound::Skip;
            }
            let mut sources = Sources::with_base(&control, vec![Ratio::ONE], None);
            let flow = sources.flow(0, 0, 1);
            let (mut ccti, mut timer) = (u16::from(least), None);
            for now in 0..140u64 {
                for _ in becns.iter().filter(|&&at| at == now) {
                    sources.becn(flow, now);
                    if !skip || ccti + u16::from(increase) <= 20 {
                        ccti = (ccti + u16::from(increase)).min(20);
                    }
                    if on_becn || timer.is_none() {
                        timer = Some(now + period);
                    }
                }
                let expires = match scope {
                    TimerScope::PerFlow => timer == Some(now),
                    TimerScope::PerSl => now > 0 && now % period == 0,
                };
                if expires {
                    ccti = ccti.saturating_sub(1).max(least.into());
                    timer = (ccti > least.into()).then_some(now + period);
                }
                if looks.contains(&now) {
                    prop_assert_eq!(sources.ccti(flow, now), ccti, "at {}", now);
                }
            }
        }
    }
}
