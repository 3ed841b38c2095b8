//! The source control of NICs: indices into the congestion control table
//! (`docs/model/infiniband.md` §11).

use super::{FlowKey, times};
use crate::sizes;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::congestion::{
    CctControl, CctiBound, IrdBase, SlScope, SourceControl, TimerRestart, TimerScope,
};
use flitwise_fabric::spec::{FabricSpec, Switch, Tick};
use std::collections::BTreeMap;

/// A flow of a NIC.
#[derive(Debug, Clone)]
struct Flow {
    ccti: u16,
    timer: Option<Tick>,
    /// It has sent a packet.
    has_sent: bool,
}

/// The flows of one NIC.
#[derive(Debug, Clone)]
pub struct Flows<'s> {
    spec: &'s FabricSpec,
    control: &'s CctControl,
    /// Rate of the NIC's link, in flits per tick.
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

    /// The holder of the packets of a flow: the flow, or (`None`) the NIC.
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

    /// Timers that expire at `now`, after the BECNs. Returns the changes.
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
        match self.spec.switch {
            Switch::Hierarchical(_) => sizes::flits_of(self.spec, largest) * flit,
            Switch::Voq(_) => largest,
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
