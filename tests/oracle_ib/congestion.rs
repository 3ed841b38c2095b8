//! Congestion control: Port VLs of switches (section 9), flows of adapters (section 11).

use flitwise::fabric::infiniband::{
    CongestionControl, FillComparison, FlowLevel, PortCongestion, TimerScope,
};
use flitwise::fabric::spec::Tick;
use flitwise::units::Ratio;
use std::collections::BTreeMap;

/// The congestion state of an (output, VL).
#[derive(Debug, Clone, Default)]
pub struct PortVl {
    pub congested: bool,
    /// Eligible packets still to pass before the next mark.
    passing: u16,
    /// Packets marked since the last sample.
    pub marked: u64,
}

impl PortVl {
    /// A packet of `bytes` bytes starts: is it marked?
    pub fn mark(&mut self, settings: PortCongestion, bytes: u64) -> bool {
        if !self.congested || bytes < 64 * u64::from(settings.packet_size) {
            return false;
        }
        if self.passing > 0 {
            self.passing -= 1;
            return false;
        }
        self.passing = settings.marking_rate;
        self.marked += 1;
        true
    }
}

/// Do queues of so many flits cross the threshold of `weight`, if the buffer of a VL
/// has `size` flits?
pub fn crossed(compare: FillComparison, weight: u8, queues: &[u64], size: u64) -> bool {
    if weight == 0 {
        return false;
    }
    let threshold = u64::from(16 - weight) * size;
    let sum: u64 = queues.iter().sum();
    let in_use = queues.iter().filter(|&&flits| flits > 0).count() as u64;
    match compare {
        FillComparison::AnyQueue => queues.iter().any(|flits| 16 * flits >= threshold),
        FillComparison::Sum => 16 * sum >= threshold,
        FillComparison::SumShared => in_use > 0 && 16 * sum * in_use >= threshold,
    }
}

/// What has an index into the table, within an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKey {
    /// A queue pair: SL and destination.
    Qp { sl: u8, dst: u32 },
    /// All packets of an SL.
    Sl { sl: u8 },
}

impl FlowKey {
    pub fn of(level: FlowLevel, sl: u8, dst: u32) -> Self {
        match level {
            FlowLevel::Qp => Self::Qp { sl, dst },
            FlowLevel::Sl => Self::Sl { sl },
        }
    }

    pub fn sl(self) -> usize {
        match self {
            Self::Qp { sl, .. } | Self::Sl { sl } => sl.into(),
        }
    }
}

/// A flow of an adapter.
#[derive(Debug, Clone)]
pub struct Flow {
    pub ccti: u16,
    timer: Option<Tick>,
    /// End and flits of the previous packet.
    pub previous: Option<(Tick, u32)>,
}

/// The flows of one adapter.
#[derive(Debug, Clone)]
pub struct Flows<'s> {
    control: &'s CongestionControl,
    /// Rate of the adapter's link.
    rate: Ratio,
    flows: BTreeMap<FlowKey, Flow>,
}

impl<'s> Flows<'s> {
    pub fn new(control: &'s CongestionControl, rate: Ratio) -> Self {
        Self {
            control,
            rate,
            flows: BTreeMap::new(),
        }
    }

    /// The index that a flow has at first, and never falls below.
    pub fn least(&self, key: FlowKey) -> u16 {
        self.control.service_levels[key.sl()].ccti_min.into()
    }

    /// The index of a flow.
    pub fn ccti(&self, key: FlowKey) -> u16 {
        let flow = self.flows.get(&key);
        flow.map_or(self.least(key), |flow| flow.ccti)
    }

    fn flow(&mut self, key: FlowKey) -> &mut Flow {
        let ccti = self.least(key);
        self.flows.entry(key).or_insert(Flow {
            ccti,
            timer: None,
            previous: None,
        })
    }

    pub fn key(&self, sl: u8, dst: u32) -> FlowKey {
        FlowKey::of(self.control.level, sl, dst)
    }

    /// A BECN arrives. Returns the new index.
    pub fn becn(&mut self, now: Tick, key: FlowKey) -> u16 {
        let (control, level) = (self.control, self.control.service_levels[key.sl()]);
        let flow = self.flow(key);
        flow.ccti = (flow.ccti + u16::from(level.ccti_increase)).min(control.ccti_limit);
        if control.timer == TimerScope::PerFlow {
            flow.timer = Some(now + level.ccti_timer);
        }
        flow.ccti
    }

    /// Timers that expire at `now`, after the BECNs. Returns what changed.
    pub fn expire(&mut self, now: Tick) -> Vec<(FlowKey, u16)> {
        let mut changed = Vec::new();
        for (&key, flow) in &mut self.flows {
            let level = self.control.service_levels[key.sl()];
            let least = u16::from(level.ccti_min);
            let expires = match self.control.timer {
                TimerScope::PerFlow => flow.timer == Some(now),
                TimerScope::PerSl => now > 0 && now.is_multiple_of(level.ccti_timer),
            };
            if !expires {
                continue;
            }
            let before = flow.ccti;
            flow.ccti = before.saturating_sub(1).max(least);
            flow.timer = (flow.ccti > least).then_some(now + level.ccti_timer);
            if flow.ccti != before {
                changed.push((key, flow.ccti));
            }
        }
        changed
    }

    /// The delay after the previous packet, as the index stands now.
    pub fn delay(&self, flow: &Flow) -> Tick {
        match flow.previous {
            Some((_, flits)) if flow.ccti > 0 => {
                let entry = self.control.cct[usize::from(flow.ccti)];
                let (p, q) = (u128::from(self.rate.num()), u128::from(self.rate.den()));
                let over = u128::from(flits) * q * u128::from(entry.multiplier);
                (over / (p << entry.shift)) as Tick
            }
            _ => 0,
        }
    }

    /// Is the next packet of `key` held at `now`?
    pub fn holds(&self, now: Tick, key: FlowKey) -> bool {
        let Some(flow) = self.flows.get(&key) else {
            return false;
        };
        let delay = self.delay(flow);
        flow.previous
            .is_some_and(|(end, _)| flow.ccti > 0 && now < end + delay)
    }

    /// A packet of `key` was picked; the engine is done with it at `end`.
    pub fn sent(&mut self, key: FlowKey, end: Tick, flits: u32) {
        self.flow(key).previous = Some((end, flits));
    }

    pub fn all(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.flows.iter().map(|(&key, flow)| (key, flow))
    }
}
