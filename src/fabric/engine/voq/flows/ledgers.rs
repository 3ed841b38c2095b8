//! Credits of each flow, as the senders of links to switches know them (`docs/model/infiniband.md` §15,
//! `PerFlow`). As `link`, with a ledger for each flow in place of each VL.
//!
//! There may be a thousand flows for each of some thousand links, so a link keeps the flows that use
//! credits only: 12 bytes each, and 32 or more for each packet whose credits are on their way back. Both are
//! bounded by the packets in the fabric.

use super::table::{Flow, FlowTable};
use crate::engine::ids::OutputId;
use crate::engine::variant::Variant;
use crate::engine::voq::credit_return::{CreditReturn, DrainRates};
use crate::spec::Tick;
use std::collections::VecDeque;

/// The links of all outputs, numbered as these.
#[derive(Debug)]
pub(in super::super) struct FlowLedgers<V: Variant> {
    /// Per VL: the credits of every flow.
    sizes: Vec<u32>,
    links: Vec<FlowLink<V>>,
}

/// The credits beyond a link.
#[derive(Debug)]
struct FlowLink<V: Variant> {
    /// Credits that are not at the sender, without the returns that have been applied. No entry is 0.
    in_use: FlowTable<u32>,
    /// Credit returns in the order in which the packets leave the buffer beyond the link.
    returns: VecDeque<(Flow, CreditReturn<V>)>,
    /// Credits of the first one that have been applied.
    applied: u16,
    /// The next credit return must wake the sender.
    sender_waits: bool,
}

impl<V: Variant> FlowLink<V> {
    fn free(&mut self, flow: Flow, credits: u16) {
        if let Some(in_use) = self.in_use.get_mut(flow) {
            *in_use -= u32::from(credits);
            if *in_use == 0 {
                self.in_use.remove(flow);
            }
        }
    }

    /// Applies the credits that are back by tick `now`.
    fn apply(&mut self, drain: &DrainRates, now: Tick) {
        while let Some(&(flow, first)) = self.returns.front() {
            let back = if first.end() <= now {
                first.credits
            } else {
                first.credits_by(drain, now) as u16
            };
            if back > self.applied {
                self.free(flow, back - self.applied);
                self.applied = back;
            }
            if first.end() > now {
                return;
            }
            self.applied = 0;
            self.returns.pop_front();
        }
    }

    /// The tick in which `missing` more credits of `flow` will be back; `None` if the returns under way
    /// are too few.
    fn tick_of(&self, drain: &DrainRates, flow: Flow, mut missing: u32) -> Option<Tick> {
        let (mut previous_end, mut applied) = (0, u32::from(self.applied));
        for (of, credit_return) in &self.returns {
            let not_before = std::mem::replace(&mut previous_end, credit_return.end());
            let applied = std::mem::take(&mut applied);
            if *of != flow {
                continue;
            }
            let left = u32::from(credit_return.credits) - applied;
            if left >= missing {
                let tick = credit_return.credit_tick(drain, applied + missing - 1);
                return Some(tick.max(not_before));
            }
            missing -= left;
        }
        None
    }
}

impl<V: Variant> FlowLedgers<V> {
    /// All credits are at the senders of `outputs` links. `sizes`: credits of each flow, by VL.
    pub(in super::super) fn new(outputs: usize, sizes: &[u32]) -> Self {
        let link = |_| FlowLink {
            in_use: FlowTable::default(),
            returns: VecDeque::new(),
            applied: 0,
            sender_waits: false,
        };
        Self {
            sizes: sizes.to_vec(),
            links: (0..outputs).map(link).collect(),
        }
    }

    /// Credits of `flow` that `output` has in tick `now`.
    pub(in super::super) fn credits(
        &mut self,
        output: OutputId,
        flow: Flow,
        drain: &DrainRates,
        now: Tick,
    ) -> u16 {
        let link = &mut self.links[output.index()];
        link.apply(drain, now);
        let in_use = link.in_use.get(flow).copied().unwrap_or(0);
        // `layout::check_buffers` has checked that it fits.
        (self.sizes[flow.vl()] - in_use) as u16
    }

    /// The tick when `missing` more credits of `flow` arrive at `output`. If no arrival is scheduled, the
    /// next credit return wakes `output`.
    pub(in super::super) fn due(
        &mut self,
        output: OutputId,
        flow: Flow,
        missing: u32,
        drain: &DrainRates,
    ) -> Option<Tick> {
        let link = &mut self.links[output.index()];
        let at = link.tick_of(drain, flow, missing);
        link.sender_waits |= at.is_none();
        at
    }

    /// A packet of `flow` takes `credits`.
    pub(in super::super) fn take(&mut self, output: OutputId, flow: Flow, credits: u16) {
        let in_use = self.links[output.index()].in_use.entry(flow);
        *in_use += u32::from(credits);
        debug_assert!(*in_use <= self.sizes[flow.vl()], "credits are negative");
    }

    /// The receiver returns credits of `flow` to `output`. Returns the tick in which `output` must be
    /// woken, if it waits for any.
    pub(in super::super) fn return_credits(
        &mut self,
        output: OutputId,
        flow: Flow,
        credit_return: CreditReturn<V>,
        drain: &DrainRates,
        now: Tick,
    ) -> Option<Tick> {
        let link = &mut self.links[output.index()];
        // So no more of them are kept than are under way.
        link.apply(drain, now);
        let not_before = link.returns.back().map_or(0, |(_, last)| last.end());
        link.returns.push_back((flow, credit_return));
        let waits = std::mem::take(&mut link.sender_waits);
        waits.then(|| credit_return.credit_tick(drain, 0).max(not_before))
    }

    /// Whether credits of `flow` are on their way to `output`.
    pub(in super::super) fn any_on(&self, output: OutputId, flow: Flow) -> bool {
        let mut returns = self.links[output.index()].returns.iter();
        returns.any(|(of, _)| *of == flow)
    }
}
