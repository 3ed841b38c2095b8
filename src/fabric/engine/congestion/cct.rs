//! Sources with a congestion control table: the CCTI of each flow, its timer, and how long the next
//! packet of its holder is held (`docs/model/infiniband.md` §11).
//!
//! A BECN in phase 1 raises a CCTI; a NIC asks when it sends whether a packet is held. Timers need
//! no events: between two BECNs a CCTI only falls, in known ticks, so it is brought up to date
//! when it is read. This module does not know the packets. The fabric reports each packet that
//! it sends, and asks again when a delay may be over.

use super::FlowId;
use crate::ids::NicId;
use crate::series::SourceSample;
use crate::spec::congestion::{
    CctControl, CctiBound, FlowLevel, IrdBase, SlScope, TimerRestart, TimerScope,
};
use crate::spec::{FabricSpec, Tick};
use flitwise_base::units::Ratio;
use std::collections::BTreeMap;

/// A flow: a queue pair, or all packets of an SL of a NIC.
#[derive(Debug, Clone, Copy)]
struct Flow {
    ccti: u16,
    sl: u8,
    /// `TimerScope::PerFlow`: the tick in which the timer expires, `Tick::MAX` if it is off.
    /// `TimerScope::PerSl`: the tick up to which `ccti` is up to date, included.
    timer: Tick,
    /// It has sent a packet.
    has_sent: bool,
    nic: NicId,
    /// Destination; `None` for all packets of an SL.
    dst: Option<NicId>,
}

/// The previous packet of a holder, which a delay follows.
#[derive(Debug, Clone, Copy, Default)]
struct Previous {
    /// First tick that begins after it was sent.
    end: Tick,
    /// Its length in bytes, which may be 0; `None` before the first packet.
    bytes: Option<u32>,
}

/// All flows that have been used, and the holders of their packets.
#[derive(Debug)]
pub(super) struct CctSources {
    control: CctControl,
    /// Per NIC: rate of its link in bytes per tick.
    rates: Vec<Ratio>,
    /// Bytes whose time on the link a delay multiplies; `None`: the bytes of the previous packet.
    base_bytes: Option<u32>,
    /// The largest `CCTI_Min`: the CCTI of a NIC never falls below it.
    largest_min: u16,
    /// By (NIC, SL, destination).
    by_key: BTreeMap<(NicId, u8, Option<NicId>), FlowId>,
    flows: Vec<Flow>,
    /// Per holder.
    previous: Vec<Previous>,
    /// Per NIC: its flows, if NICs are the holders; else empty.
    of_nic: Vec<Vec<FlowId>>,
}

impl CctSources {
    /// `rates`: per NIC, the rate of its link in bytes per tick.
    pub(super) fn new(spec: &FabricSpec, control: &CctControl, rates: Vec<Ratio>) -> Self {
        let base_bytes = match control.ird_base {
            IrdBase::Packet => None,
            IrdBase::MaxPacket => Some(spec.largest_data_bytes()),
        };
        Self::with_base(control, rates, base_bytes)
    }

    fn with_base(control: &CctControl, rates: Vec<Ratio>, base_bytes: Option<u32>) -> Self {
        let holders = match control.sl_scope {
            SlScope::Flow => 0,
            SlScope::Link => rates.len(),
        };
        let levels = control.service_levels.iter();
        Self {
            control: control.clone(),
            rates,
            base_bytes,
            largest_min: levels.map(|level| level.ccti_min).max().unwrap_or(0).into(),
            by_key: BTreeMap::new(),
            flows: Vec::new(),
            previous: vec![Previous::default(); holders],
            of_nic: vec![Vec::new(); holders],
        }
    }

    /// The flow of packets from `nic` to `dst` on `sl`.
    pub(super) fn flow(&mut self, nic: NicId, sl: u8, dst: NicId) -> FlowId {
        let dst = match self.control.level {
            FlowLevel::Qp => Some(dst),
            FlowLevel::Sl => None,
        };
        let level = &self.control.service_levels[usize::from(sl)];
        let (flows, previous) = (&mut self.flows, &mut self.previous);
        let of_nic = &mut self.of_nic;
        *self.by_key.entry((nic, sl, dst)).or_insert_with(|| {
            let id = FlowId(flows.len() as u32);
            match of_nic.get_mut(nic.index()) {
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

    /// The holder of the packets of `flow`: the flow, or its NIC.
    #[inline]
    pub(super) fn holder(&self, flow: FlowId) -> usize {
        match self.control.sl_scope {
            SlScope::Flow => flow.index(),
            SlScope::Link => self.flows[flow.index()].nic.index(),
        }
    }

    /// The state of `flow` after the timers of tick `now`.
    fn state_at(&self, flow: FlowId, now: Tick) -> Flow {
        let mut flow = self.flows[flow.index()];
        let level = &self.control.service_levels[usize::from(flow.sl)];
        let (min, period) = (u16::from(level.ccti_min), level.ccti_timer);
        let expired = match self.control.timer {
            TimerScope::PerFlow if flow.timer > now => 0,
            TimerScope::PerFlow => 1 + (now - flow.timer) / period,
            TimerScope::PerSl => now / period - flow.timer / period,
        };
        flow.ccti = u16::try_from(expired)
            .map_or(0, |expired| flow.ccti.saturating_sub(expired))
            .max(min);
        match self.control.timer {
            TimerScope::PerFlow if expired > 0 && flow.ccti > min => {
                flow.timer += expired * period;
            }
            TimerScope::PerFlow if expired > 0 => flow.timer = Tick::MAX,
            TimerScope::PerFlow => {}
            TimerScope::PerSl => flow.timer = now,
        }
        flow
    }

    /// The CCTI of the holder of `flow` in phase 7 of tick `now`, and the first tick after `now`
    /// in which it may fall if no BECN comes. That is `Tick::MAX` if the CCTI is at its minimum.
    fn holder_ccti(&self, flow: FlowId, now: Tick) -> (u16, Tick) {
        if self.control.sl_scope == SlScope::Flow {
            let flow = self.state_at(flow, now);
            return (flow.ccti, self.next_fall_of(&flow, now));
        }
        let nic = self.flows[flow.index()].nic.index();
        let (mut ccti, mut next_fall) = (self.largest_min, Tick::MAX);
        for &other in &self.of_nic[nic] {
            let other = self.state_at(other, now);
            if other.ccti > ccti {
                (ccti, next_fall) = (other.ccti, self.next_fall_of(&other, now));
            } else if other.ccti == ccti && ccti > self.largest_min {
                next_fall = next_fall.min(self.next_fall_of(&other, now));
            }
        }
        (ccti, next_fall)
    }

    /// The CCTI of the holder of `flow` in phase 7 of tick `now`.
    pub(super) fn level(&self, flow: FlowId, now: Tick) -> u16 {
        self.holder_ccti(flow, now).0
    }

    /// Phase 1 of tick `now`: a BECN for `flow` arrives. Timers of this tick expire after it.
    /// Returns whether the NIC logs an event.
    pub(super) fn notified(&mut self, flow: FlowId, now: Tick) -> bool {
        let mut state = self.state_at(flow, now.saturating_sub(1));
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
        self.flows[flow.index()] = state;
        trigger > 0 && state.ccti >= trigger
    }

    /// A packet of `bytes` bytes was sent; `end` is the first tick after it.
    pub(super) fn sent(&mut self, flow: FlowId, end: Tick, bytes: u32) {
        self.flows[flow.index()].has_sent = true;
        let holder = self.holder(flow);
        self.previous[holder] = Previous {
            end,
            bytes: Some(bytes),
        };
    }

    /// The delay in ticks after packet `previous` of `nic`, at an index of `ccti`.
    fn delay(&self, ccti: u16, previous: Previous, nic: NicId) -> Tick {
        let Some(bytes) = previous.bytes.filter(|_| ccti > 0) else {
            return 0;
        };
        let entry = self.control.cct[usize::from(ccti)];
        let bytes = self.base_bytes.unwrap_or(bytes);
        entry.delay(bytes, self.rates[nic.index()])
    }

    /// `None` if a packet of `flow` may be sent in phase 7 of tick `now`. Else the tick in which to
    /// look again, as the delay is over or the CCTI may have fallen.
    #[inline]
    pub(super) fn held_until(&self, flow: FlowId, now: Tick) -> Option<Tick> {
        let stored = &self.flows[flow.index()];
        let previous = self.previous[self.holder(flow)];
        if previous.bytes.is_none() || stored.ccti == 0 && self.control.sl_scope == SlScope::Flow {
            // Timers that have not been applied yet only lower a CCTI.
            return None;
        }
        let (ccti, next_fall) = self.holder_ccti(flow, now);
        let delay = self.delay(ccti, previous, stored.nic);
        let until = previous.end.saturating_add(delay);
        if now >= until || ccti == 0 {
            return None;
        }
        Some(until.min(next_fall))
    }

    /// First tick after `now` in which the CCTI of the holder of `flow` may fall.
    pub(super) fn next_fall(&self, flow: FlowId, now: Tick) -> Tick {
        self.holder_ccti(flow, now).1
    }

    /// First tick after `now` in which the CCTI of `flow`, which is up to date, falls.
    fn next_fall_of(&self, flow: &Flow, now: Tick) -> Tick {
        let level = &self.control.service_levels[usize::from(flow.sl)];
        match self.control.timer {
            _ if flow.ccti <= level.ccti_min.into() => Tick::MAX,
            TimerScope::PerFlow => flow.timer,
            TimerScope::PerSl => (now / level.ccti_timer + 1).saturating_mul(level.ccti_timer),
        }
    }

    /// The flows that have sent, as of the end of tick `now`.
    pub(super) fn sample(&self, now: Tick) -> Vec<SourceSample> {
        let flows = (0..self.flows.len() as u32).map(FlowId);
        let sent = flows.filter(|&id| self.flows[id.index()].has_sent);
        let mut samples: Vec<_> = sent
            .map(|id| {
                let flow = self.state_at(id, now);
                let previous = self.previous[self.holder(id)];
                SourceSample {
                    nic: flow.nic,
                    sl: flow.sl,
                    dst: flow.dst,
                    level: flow.ccti,
                    delay: self.delay(self.level(id, now), previous, flow.nic),
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
    use crate::spec::congestion::{CctEntry, SlCongestion};
    use proptest::prelude::*;

    fn control(timer: TimerScope, level: SlCongestion) -> CctControl {
        CctControl {
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
        /// A CCTI that is brought up to date when it is read equals one whose timer acts in every
        /// tick.
        #[test]
        fn timers_need_no_events(
            (per_flow, on_becn, skip) in any::<(bool, bool, bool)>(),
            (increase, least, period) in (0u8..6, 0u8..3, 1u64..12),
            becns in prop::collection::vec(0u64..100, 0..20),
            reads in prop::collection::vec(0u64..140, 0..30),
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
            let mut sources = CctSources::with_base(&control, vec![Ratio::ONE], None);
            let flow = sources.flow(NicId::new(0), 0, NicId::new(1));
            let (mut ccti, mut timer) = (u16::from(least), None);
            for now in 0..140u64 {
                for _ in becns.iter().filter(|&&at| at == now) {
                    sources.notified(flow, now);
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
                if reads.contains(&now) {
                    prop_assert_eq!(sources.level(flow, now), ccti, "at {}", now);
                }
            }
        }
    }
}
