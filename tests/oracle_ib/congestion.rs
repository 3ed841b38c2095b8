//! Congestion control: Port VLs of switches (section 9), flows of adapters (section 11).

use flitwise::fabric::ids::{PortId, SwitchId};
use flitwise::fabric::spec::congestion::{
    CctControl, CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marking, PortCongestion,
    PortVlMarker, SlScope, SourceControl, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::random::{Purpose, Stream};
use flitwise::units::Ratio;
use std::collections::BTreeMap;

/// The state of an (output, VL).
#[derive(Debug, Clone)]
pub struct PortVl {
    settings: PortCongestion,
    compare: FillComparison,
    marking: Marking,
    congested: bool,
    starved: bool,
    /// Eligible packets still to pass before the next mark.
    passing: u16,
    stream: Stream,
    /// Packets marked since the last sample, and in all.
    pub marked: u64,
    pub marked_in_all: u64,
}

impl PortVl {
    pub fn new(
        spec: &FabricSpec,
        marker: &PortVlMarker,
        switch: u32,
        (port, vl): (usize, usize),
    ) -> Self {
        let topology = &spec.topology;
        let output = u64::from(switch) * u64::from(topology.radix()) + port as u64;
        Self {
            settings: marker.port(topology, SwitchId::new(switch), PortId::new(port as u32)),
            compare: marker.compare,
            marking: marker.marking,
            congested: false,
            starved: false,
            passing: 0,
            stream: Stream::new(marker.marking_seed, Purpose::Marking, [output, vl as u64]),
            marked: 0,
            marked_in_all: 0,
        }
    }

    /// End of phase 6, if the fill has changed: `queues` of so many flits, `size` flits for
    /// the VL in an input buffer. `before`: the same without packets that joined in this
    /// tick, if one did and still waits. `root`: the next buffer has credits.
    pub fn judge(&mut self, queues: &[u64], before: Option<&[u64]>, size: u64, root: bool) {
        let settings = self.settings;
        let crossed = |weight, queues: &[u64]| crossed(self.compare, weight, queues, size);
        let found_crossed = before.is_some_and(|before| crossed(settings.threshold, before));
        if !crossed(settings.threshold, queues) {
            self.congested = false;
        } else if found_crossed && (root || settings.victim_mask) {
            self.congested = true;
        }
        self.starved = settings.credit_mask && crossed(settings.cs_threshold, queues) && !root;
    }

    /// How much later the credits of a packet come back that is granted now, and takes
    /// the time of `bytes` bytes on the link it came by, of `rate` flits of so many bytes.
    pub fn held_back(&self, bytes: u32, rate: (Ratio, u32)) -> Tick {
        if self.starved {
            times(self.settings.cs_return_delay, bytes, rate)
        } else {
            0
        }
    }

    /// A packet of `bytes` bytes is granted: is it marked?
    pub fn mark(&mut self, bytes: u64) -> bool {
        let eligible = self.congested || self.starved;
        if !eligible || bytes < 64 * u64::from(self.settings.packet_size) {
            return false;
        }
        let marked = match self.marking {
            Marking::Random => {
                let share = u64::MAX / (u64::from(self.settings.marking_rate) + 1);
                self.stream.bits() <= share
            }
            Marking::Fixed => self.passing == 0,
        };
        self.passing = if marked {
            self.settings.marking_rate
        } else {
            self.passing.saturating_sub(1)
        };
        self.marked += u64::from(marked);
        self.marked_in_all += u64::from(marked);
        marked
    }
}

/// The delay of an entry after `bytes` bytes on a link of `rate` flits of `flit_bytes` per tick.
fn times(entry: CctEntry, bytes: u32, (rate, flit_bytes): (Ratio, u32)) -> Tick {
    let p = u128::from(rate.num()) * u128::from(flit_bytes);
    let q = u128::from(rate.den());
    let over = u128::from(bytes) * q * u128::from(entry.multiplier);
    (over / (p << entry.shift)) as Tick
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
    /// It has sent a packet.
    pub has_sent: bool,
}

/// The flows of one adapter.
#[derive(Debug, Clone)]
pub struct Flows<'s> {
    spec: &'s FabricSpec,
    control: &'s CctControl,
    /// Rate of the adapter's link, in flits per tick.
    rate: Ratio,
    flows: BTreeMap<FlowKey, Flow>,
    /// End and bytes of the previous packet of each holder.
    previous: BTreeMap<Option<FlowKey>, (Tick, u32)>,
}

impl<'s> Flows<'s> {
    /// `None` if sources do nothing.
    pub fn new(spec: &'s FabricSpec, rate: Ratio) -> Option<Self> {
        let SourceControl::Cct(control) = &spec.congestion_control.as_deref()?.source else {
            return None;
        };
        Some(Self {
            spec,
            control,
            rate,
            flows: BTreeMap::new(),
            previous: BTreeMap::new(),
        })
    }

    /// What holds the packets of a flow: the flow, or (`None`) the adapter.
    pub fn holder(&self, key: FlowKey) -> Option<FlowKey> {
        match self.control.sl_scope {
            SlScope::Flow => Some(key),
            SlScope::Link => None,
        }
    }

    /// The index that a flow has at first, and never falls below.
    fn minimum(&self, key: FlowKey) -> u16 {
        self.control.service_levels[key.sl()].ccti_min.into()
    }

    /// Below which the index that holds packets of `key` never falls.
    pub fn least(&self, key: FlowKey) -> u16 {
        match self.control.sl_scope {
            SlScope::Flow => self.minimum(key),
            SlScope::Link => {
                let levels = self.control.service_levels.iter();
                levels.map(|level| level.ccti_min).max().unwrap().into()
            }
        }
    }

    /// The index that holds packets of `key`.
    pub fn ccti(&self, key: FlowKey) -> u16 {
        let least = self.least(key);
        match self.holder(key) {
            Some(key) => self.flows.get(&key).map_or(least, |flow| flow.ccti),
            None => {
                let indices = self.flows.values().map(|flow| flow.ccti);
                indices.chain([least]).max().unwrap()
            }
        }
    }

    fn flow(&mut self, key: FlowKey) -> &mut Flow {
        let ccti = self.minimum(key);
        self.flows.entry(key).or_insert(Flow {
            ccti,
            timer: None,
            has_sent: false,
        })
    }

    pub fn key(&self, sl: u8, dst: u32) -> FlowKey {
        FlowKey::of(self.control.level, sl, dst)
    }

    /// A BECN arrives. Returns the new index, and whether that is an event of the log.
    pub fn becn(&mut self, now: Tick, key: FlowKey) -> (u16, bool) {
        let (control, level) = (self.control, self.control.service_levels[key.sl()]);
        let flow = self.flow(key);
        let raised = flow.ccti + u16::from(level.ccti_increase);
        if raised <= control.ccti_limit {
            flow.ccti = raised;
        } else if control.ccti_bound == CctiBound::Saturate {
            flow.ccti = control.ccti_limit;
        }
        let restarts = control.timer_restart == TimerRestart::OnBecn;
        if control.timer == TimerScope::PerFlow && (flow.timer.is_none() || restarts) {
            flow.timer = Some(now + level.ccti_timer);
        }
        let trigger = u16::from(level.trigger_threshold);
        (flow.ccti, trigger != 0 && flow.ccti >= trigger)
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
    pub fn delay(&self, key: FlowKey) -> Tick {
        let ccti = self.ccti(key);
        match self.previous.get(&self.holder(key)) {
            Some(&(_, bytes)) if ccti > 0 => {
                let bytes = match self.control.ird_base {
                    IrdBase::Packet => bytes,
                    IrdBase::MaxPacket => self.largest(),
                };
                let rate = (self.rate, self.spec.units.flit_bytes);
                times(self.control.cct[usize::from(ccti)], bytes, rate)
            }
            _ => 0,
        }
    }

    /// Bytes of link time of the largest data packet of any SL: whole flits on hierarchical
    /// fabrics.
    fn largest(&self) -> u32 {
        let levels = self.spec.qos.service_levels.iter();
        let largest =
            levels.map(|level| level.mtu_bytes).max().unwrap() + self.spec.units.header_bytes;
        let flit = self.spec.units.flit_bytes;
        match self.spec.hierarchical() {
            Some(_) => largest.max(1).div_ceil(flit) * flit,
            None => largest,
        }
    }

    /// Is the next packet of `key` held at `now`?
    pub fn holds(&self, now: Tick, key: FlowKey) -> bool {
        let previous = self.previous.get(&self.holder(key));
        previous.is_some_and(|&(end, _)| self.ccti(key) > 0 && now < end + self.delay(key))
    }

    /// A packet of `key` was picked; the engine is done with it at `end`.
    pub fn sent(&mut self, key: FlowKey, end: Tick, bytes: u32) {
        self.flow(key).has_sent = true;
        self.previous.insert(self.holder(key), (end, bytes));
    }

    /// Every flow that has sent: its index, and the delay that holds its next packet.
    pub fn sample(&self) -> Vec<(FlowKey, (u16, Tick))> {
        let sent = self.flows.iter().filter(|(_, flow)| flow.has_sent);
        sent.map(|(&key, flow)| (key, (flow.ccti, self.delay(key))))
            .collect()
    }
}
