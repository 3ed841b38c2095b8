//! Links, as their senders know them: the credits of the buffer at the far end, credits on their
//! way back, and whether the sender waits for them (`docs/model/infiniband.md` §3).
//!
//! A link is the only thing between two devices. The sender takes credits and asks when more
//! arrive; the receiver hands returned credits to the link, which says whether the sender must be
//! woken, and when. `credit_return` has the ticks in which credits return.

use super::credit_return::{CreditReturn, DrainRates};
use super::credit_returns::CreditReturns;
use super::ports::{InPort, Pointer, Port, Ports};
use super::state::{Output, OutputVl};
use crate::engine::ids::OutputId;
use crate::engine::variant::Variant;
use crate::prefetch::{prefetch, prefetch_all};
use crate::spec::Tick;
use crate::spec::voq::Buffers;

/// The links of all outputs, numbered as these.
#[derive(Debug)]
pub(super) struct Links<V: Variant> {
    vls: usize,
    /// Per output · VLs + VL: the sending end.
    ends: Vec<OutputVl<V>>,
    /// Per such end and in-port of its switch: the credits of the head of its VoQ; 0 if they are not known. Empty until an
    /// output lacks credits.
    head_credits: Vec<u16>,
    /// Ports of a switch.
    radix: usize,
    /// Per output: credits on their way back.
    returns: Vec<CreditReturns<V>>,
    /// Per output to a NIC with a sink: the credits that answers return. Answers do not wait for
    /// the sink, so their credits may overtake the credits of data. Empty without sink rate.
    answers: Vec<Option<Box<CreditReturns<V>>>>,
}

impl<V: Variant> Links<V> {
    /// Links with all credits at their senders. `with_sinks`: NICs have sinks of some rate.
    pub(super) fn new(outputs: &[Output], buffers: &Buffers, radix: u32, with_sinks: bool) -> Self {
        let pool = |output: &Output| {
            if output.to.is_nic() {
                buffers.nic_sink.per_vl.iter()
            } else {
                buffers.input.per_vl.iter()
            }
        };
        let end = |&credits: &u32| OutputVl {
            heads: Ports::NONE,
            credits: credits as u16,
            pointer: Pointer::START,
            keeps_heads: false,
        };
        let answers = |output: &Output| output.to.is_nic().then(Box::default);
        Self {
            vls: buffers.input.per_vl.len(),
            ends: outputs
                .iter()
                .flat_map(|output| pool(output).map(end))
                .collect(),
            head_credits: Vec::new(),
            radix: radix as usize,
            returns: outputs
                .iter()
                .map(|output| CreditReturns::over(output.latency.into()))
                .collect(),
            answers: if with_sinks {
                outputs.iter().map(answers).collect()
            } else {
                Vec::new()
            },
        }
    }

    #[inline]
    fn at(&self, output: OutputId, vl: u8) -> usize {
        output.index() * self.vls + usize::from(vl)
    }

    /// The end of `output` on `vl`. It may have more credits than it knows of, if they are fewer than
    /// those that [`Links::credits`] was last asked for.
    #[inline(always)]
    pub(super) fn vl(&self, output: OutputId, vl: u8) -> &OutputVl<V> {
        &self.ends[self.at(output, vl)]
    }

    /// As [`Links::vl`].
    #[inline(always)]
    pub(super) fn vl_mut(&mut self, output: OutputId, vl: u8) -> &mut OutputVl<V> {
        let at = self.at(output, vl);
        &mut self.ends[at]
    }

    /// The credits that are kept of the head of the VoQ of `in_port` for an output VL; 0 if they are not known.
    #[inline]
    pub(super) fn head_credits_mut(
        &mut self,
        (output, vl): (OutputId, u8),
        in_port: InPort,
    ) -> &mut u16 {
        let at = self.at(output, vl);
        self.ends[at].keeps_heads = true;
        if self.head_credits.is_empty() {
            self.head_credits = vec![0; self.ends.len() * self.radix];
        }
        &mut self.head_credits[at * self.radix + usize::from(in_port.number())]
    }

    /// The head of the VoQ of `in_port` for an output VL has left.
    #[inline(always)]
    pub(super) fn head_left(&mut self, (output, vl): (OutputId, u8), in_port: InPort) {
        let at = self.at(output, vl);
        if self.ends[at].keeps_heads {
            self.head_credits[at * self.radix + usize::from(in_port.number())] = 0;
        }
    }

    /// Prefetches the end of `output` on `vl`.
    #[inline]
    pub(super) fn prefetch_vl(&self, output: OutputId, vl: u8) {
        prefetch(&self.ends, self.at(output, vl));
    }

    /// Prefetches the credits on their way back to `output`.
    #[inline]
    pub(super) fn prefetch_returns(&self, output: OutputId) {
        prefetch_all(&self.returns, output.index());
    }

    /// Prefetches where the credits on their way back to `output` are that lie elsewhere.
    #[inline]
    pub(super) fn prefetch_other_returns(&self, output: OutputId) {
        let returns = self.returns.get(output.index());
        if let Some(others) = returns.and_then(CreditReturns::others) {
            prefetch(std::slice::from_ref(others), 0);
        }
    }

    /// Prefetches the first and the last of these, which come next, and where one is added.
    #[inline]
    pub(super) fn prefetch_ends_of_returns(&self, output: OutputId) {
        let returns = self.returns.get(output.index());
        if let Some(others) = returns.and_then(CreditReturns::others) {
            let (first, second) = others.as_slices();
            prefetch(first, 0);
            let last = if second.is_empty() { first } else { second };
            prefetch(last, last.len());
        }
    }

    /// The ends of all outputs, numbered output · VLs + VL.
    pub(super) fn vls(&self) -> &[OutputVl<V>] {
        &self.ends
    }

    /// Ticks that a credit takes to `output`.
    #[inline]
    pub(super) fn latency(&self, output: OutputId) -> Tick {
        self.returns[output.index()].latency.into()
    }

    /// Credits returned by answers, if they are kept apart.
    #[inline]
    fn answers(&mut self, output: OutputId) -> Option<&mut CreditReturns<V>> {
        // Plain fabrics have no answers.
        if V::IS_PLAIN {
            return None;
        }
        self.answers.get_mut(output.index())?.as_deref_mut()
    }

    /// Credits of `vl` that `output` has in tick `now`. Applies the credit returns that are due only
    /// if the ledger has less than `wanted`.
    #[inline]
    pub(super) fn credits(
        &mut self,
        (output, vl): (OutputId, u8),
        wanted: u16,
        drain: &DrainRates,
        now: Tick,
    ) -> u16 {
        let at = self.at(output, vl);
        if self.ends[at].credits < wanted {
            self.apply_returns(output, drain, now);
        }
        self.ends[at].credits
    }

    #[inline(never)]
    fn apply_returns(&mut self, output: OutputId, drain: &DrainRates, now: Tick) {
        let first = output.index() * self.vls;
        let ends = &mut self.ends[first..first + self.vls];
        let mut add = |vl: u8, returned| ends[usize::from(vl)].credits += returned;
        self.returns[output.index()].apply(drain, now, &mut add);
        if !V::IS_PLAIN
            && let Some(Some(answers)) = self.answers.get_mut(output.index())
        {
            answers.apply(drain, now, add);
        }
    }

    /// The tick when `missing` more credits of `vl` arrive at `output`, or an earlier one in which
    /// it must look again. If no arrival is scheduled, the next credit return wakes `output`.
    pub(super) fn due(
        &mut self,
        (output, vl): (OutputId, u8),
        missing: u32,
        drain: &DrainRates,
    ) -> Option<Tick> {
        if let Some(answers) = self.answers(output) {
            // Data and answers return credits independently: the output looks again at the
            // next credit of either.
            let next = answers.tick_of(drain, vl, 1);
            let data = self.returns[output.index()].tick_of(drain, vl, 1);
            return next.into_iter().chain(data).min();
        }
        let data = &mut self.returns[output.index()];
        let at = data.tick_of(drain, vl, missing);
        data.sender_waits |= at.is_none();
        at
    }

    /// The receiver returns credits to `output`. Returns the tick in which `output` must be woken,
    /// if it waits for them.
    #[inline(always)]
    pub(super) fn return_credits(
        &mut self,
        output: OutputId,
        credit_return: CreditReturn<V>,
        drain: &DrainRates,
        now: Tick,
    ) -> Option<Tick> {
        let first = output.index() * self.vls;
        let ends = &mut self.ends[first..first + self.vls];
        let add = |vl: u8, returned| ends[usize::from(vl)].credits += returned;
        let returns = &mut self.returns[output.index()];
        let not_before = returns.push(credit_return, now, add);
        let waits = std::mem::take(&mut returns.sender_waits);
        waits.then(|| credit_return.credit_tick(drain, 0).max(not_before))
    }

    /// A NIC returns the credits of an answer to `output`, which does not wait for them.
    pub(super) fn return_answer_credits(
        &mut self,
        output: OutputId,
        credit_return: CreditReturn<V>,
        now: Tick,
    ) {
        let first = output.index() * self.vls;
        let ends = &mut self.ends[first..first + self.vls];
        let add = |vl: u8, returned| ends[usize::from(vl)].credits += returned;
        if let Some(Some(answers)) = self.answers.get_mut(output.index()) {
            answers.push(credit_return, now, add);
        }
    }

    /// Whether credits of `vl` are on their way to `output`.
    pub(super) fn any_on(&self, output: OutputId, vl: u8) -> bool {
        self.returns[output.index()].any_on(vl)
    }
}
