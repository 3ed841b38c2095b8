//! Sources: the index of each flow into the congestion control table, its timer, and how
//! long its next packet has to wait (`docs/model-infiniband.md` §11).
//!
//! Timers take no events: between two BECNs an index only falls, at known ticks, so it is
//! brought up to date when somebody looks.

use crate::fabric::infiniband::{CongestionControl, FlowLevel, TimerScope};
use crate::fabric::series::SourceSample;
use crate::fabric::spec::Tick;
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
    /// End and flits of the previous packet; no flits before the first.
    end: Tick,
    flits: u32,
    nic: u32,
    dst: u32,
}

/// All flows.
#[derive(Debug)]
pub(in crate::fabric::engine) struct Sources {
    control: CongestionControl,
    /// Rate of the link of each adapter, in flits per tick.
    rates: Vec<Ratio>,
    by_key: BTreeMap<(u32, u8, u32), FlowId>,
    flows: Vec<Flow>,
}

impl Sources {
    /// `rates`: of the link of each adapter.
    pub(in crate::fabric::engine) fn new(control: &CongestionControl, rates: Vec<Ratio>) -> Self {
        Self {
            control: control.clone(),
            rates,
            by_key: BTreeMap::new(),
            flows: Vec::new(),
        }
    }

    /// The flow of packets from `nic` to `dst` on `sl`.
    pub(in crate::fabric::engine) fn flow(&mut self, nic: u32, sl: u8, dst: u32) -> FlowId {
        let dst = match self.control.level {
            FlowLevel::Qp => dst,
            FlowLevel::Sl => u32::MAX,
        };
        let level = &self.control.service_levels[usize::from(sl)];
        let flows = &mut self.flows;
        *self.by_key.entry((nic, sl, dst)).or_insert_with(|| {
            flows.push(Flow {
                ccti: level.ccti_min.into(),
                sl,
                timer: match self.control.timer {
                    TimerScope::PerFlow => Tick::MAX,
                    TimerScope::PerSl => 0,
                },
                end: 0,
                flits: 0,
                nic,
                dst,
            });
            flows.len() as u32 - 1
        })
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

    /// Index of `flow` in phase 7 of tick `now`.
    pub(in crate::fabric::engine) fn ccti(&self, flow: FlowId, now: Tick) -> u16 {
        self.at(flow, now).ccti
    }

    /// Phase 1 of tick `now`: a BECN for `flow`. Timers of this tick come after it.
    pub(in crate::fabric::engine) fn becn(&mut self, flow: FlowId, now: Tick) {
        let mut state = self.at(flow, now.saturating_sub(1));
        let level = &self.control.service_levels[usize::from(state.sl)];
        let raised = state.ccti.saturating_add(level.ccti_increase.into());
        state.ccti = raised.min(self.control.ccti_limit);
        if self.control.timer == TimerScope::PerFlow {
            state.timer = now.saturating_add(level.ccti_timer);
        }
        self.flows[flow as usize] = state;
    }

    /// A packet of `flits` flits was sent; the send engine is done with it at `end`.
    pub(in crate::fabric::engine) fn sent(&mut self, flow: FlowId, end: Tick, flits: u32) {
        let state = &mut self.flows[flow as usize];
        (state.end, state.flits) = (end, flits);
    }

    fn delay(&self, flow: &Flow) -> Tick {
        if flow.ccti == 0 || flow.flits == 0 {
            return 0;
        }
        let entry = self.control.cct[usize::from(flow.ccti)];
        entry.delay(flow.flits, self.rates[flow.nic as usize])
    }

    /// `None` if a packet of `flow` may be sent in phase 7 of tick `now`, else the tick in
    /// which to look again: the delay may be over, or the index has fallen.
    #[inline]
    pub(in crate::fabric::engine) fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        let raw = &self.flows[flow as usize];
        if raw.ccti == 0 || raw.flits == 0 {
            // Timers only lower an index.
            return None;
        }
        let state = self.at(flow, now);
        let until = state.end.saturating_add(self.delay(&state));
        if now >= until || state.ccti == 0 {
            return None;
        }
        Some(until.min(self.falls(&state, now)))
    }

    /// First tick after `now` in which the index of `flow` falls, unless a BECN comes before;
    /// `Tick::MAX` if it is at its minimum.
    pub(in crate::fabric::engine) fn next_fall(&self, flow: FlowId, now: Tick) -> Tick {
        self.falls(&self.at(flow, now), now)
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
        let sent = (0..self.flows.len() as u32).filter(|&id| self.flows[id as usize].flits > 0);
        let mut samples: Vec<_> = sent
            .map(|id| {
                let flow = self.at(id, now);
                SourceSample {
                    nic: flow.nic,
                    sl: flow.sl,
                    dst: (flow.dst != u32::MAX).then_some(flow.dst),
                    ccti: flow.ccti,
                    delay: self.delay(&flow),
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
        CctEntry, FillComparison, Notification, PortCongestion, SlCongestion,
    };
    use proptest::prelude::*;

    fn control(timer: TimerScope, level: SlCongestion) -> CongestionControl {
        let port = PortCongestion {
            threshold: 1,
            victim_mask: false,
            packet_size: 0,
            marking_rate: 0,
        };
        CongestionControl {
            host_ports: port,
            switch_ports: port,
            exceptions: BTreeMap::new(),
            compare: FillComparison::Sum,
            notification: Notification::Cnp { bytes: 42 },
            level: FlowLevel::Qp,
            timer,
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
            per_flow in any::<bool>(),
            (increase, least, period) in (0u8..6, 0u8..3, 1u64..12),
            becns in prop::collection::vec(0u64..100, 0..20),
            looks in prop::collection::vec(0u64..140, 0..30),
        ) {
            let scope = if per_flow { TimerScope::PerFlow } else { TimerScope::PerSl };
            let level = SlCongestion {
                ccti_increase: increase,
                ccti_min: least,
                ccti_timer: period,
            };
            let mut sources = Sources::new(&control(scope, level), vec![Ratio::ONE]);
            let flow = sources.flow(0, 0, 1);
            let (mut ccti, mut timer) = (u16::from(least), None);
            for now in 0..140u64 {
                for _ in becns.iter().filter(|&&at| at == now) {
                    sources.becn(flow, now);
                    ccti = (ccti + u16::from(increase)).min(20);
                    timer = Some(now + period);
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
