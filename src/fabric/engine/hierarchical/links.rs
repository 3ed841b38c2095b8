//! Links, as their senders know them: the credits of the buffer at the far end, credits on their
//! way back, and whether the sender waits for them (`docs/model/fabric.md` §3).
//!
//! A link is the only thing between two devices. The sender takes credits and asks when more
//! arrive; the receiver gives them back. The link says whether the sender must be woken, and when.
//! Links are numbered as the outputs that send over them: switch ports first, then NICs.

use super::fifos::NEAR_VLS;
use super::layout;
use super::ledgers::{Ledgers, Retry};
use super::schedule::{CreditReturn, DrainRate};
use crate::engine::far_end::FarEnd;
use crate::engine::ids::OutputId;
use crate::ids::{NicId, SwitchPort};
use crate::spec::{FabricSpec, Hierarchical, Tick};

/// The links of all outputs.
#[derive(Debug)]
pub(super) struct Links {
    /// Outputs from this number on are NICs.
    ports: usize,
    /// Latency of the usual link to a switch, and to a NIC.
    latency: [Tick; 2],
    /// Latency by output; empty if all links have the usual one and no bit errors.
    latencies: Vec<Tick>,
    /// Credits of the input buffers at the far ends, by output.
    to_switches: Ledgers<NEAR_VLS>,
    /// Credits of the receive buffers of NICs, by NIC: each has one link.
    to_nics: Ledgers<NEAR_VLS>,
    /// The receive buffers are so small that a link can wait for their credits.
    sinks_fill: bool,
}

impl Links {
    /// Links with all credits at their senders.
    pub(super) fn new(spec: &FabricSpec, switch: &Hierarchical) -> Self {
        let (topology, buffers) = (&spec.topology, &switch.buffers);
        let ports = (topology.switches() * topology.radix()) as usize;
        let fpc = spec.units.flits_per_credit;
        let crossbar = DrainRate::crossbar(switch.timing.mport_speedup, None, fpc);
        let (outputs, nics) = (
            ports + topology.endpoints() as usize,
            topology.endpoints() as usize,
        );
        Self {
            ports,
            latency: [spec.link_latency.switch, spec.link_latency.nic],
            latencies: latencies(spec),
            to_switches: Ledgers::of_pool(outputs, &buffers.input, crossbar),
            to_nics: Ledgers::of_pool(nics, &buffers.nic_sink, DrainRate::link(fpc)),
            sinks_fill: layout::sinks_can_fill(spec, &buffers.nic_sink),
        }
    }

    /// Whether some links differ from the usual ones in their latency, or packets take longer than that.
    #[inline]
    pub(super) fn differ(&self) -> bool {
        !self.latencies.is_empty()
    }

    /// Latency of the link of `output`, which leads to a switch.
    #[inline]
    fn latency(&self, output: OutputId) -> Tick {
        match self.latencies.get(output.index()) {
            Some(&own) => own,
            None => self.latency[usize::from(output.nic(self.ports).is_some())],
        }
    }

    /// The rate at which packets leave input buffers.
    #[inline]
    pub(super) fn drain_rate(&self) -> &DrainRate {
        self.to_switches.drain_rate()
    }

    /// Whether `output`, whose link leads to `to`, may send a packet of `credits` on `vl` in tick
    /// `now`.
    #[inline]
    pub(super) fn has_quota(
        &mut self,
        (output, to): (OutputId, FarEnd),
        vl: usize,
        credits: u32,
        now: Tick,
    ) -> bool {
        if to.is_nic() {
            return !self.sinks_fill || self.to_nics.has_quota(to.nic().index(), vl, credits, now);
        }
        self.to_switches.has_quota(output.index(), vl, credits, now)
    }

    /// Returns when to check again, after [`Links::has_quota`] returned false.
    #[inline]
    pub(super) fn retry(&self, (output, to): (OutputId, FarEnd), vl: usize, credits: u32) -> Retry {
        if to.is_nic() {
            return self.to_nics.retry(to.nic().index(), vl, credits);
        }
        self.to_switches.retry(output.index(), vl, credits)
    }

    /// The next credit return must wake `output`.
    #[inline]
    pub(super) fn await_return(&mut self, output: OutputId) {
        self.to_switches.await_return(output.index());
    }

    /// A packet of `credits` credits on `vl` starts to leave `output` for a switch. Returns the
    /// latency of the link.
    #[inline]
    pub(super) fn pass_to_switch(&mut self, output: OutputId, vl: usize, credits: u32) -> Tick {
        self.to_switches.take(output.index(), vl, credits);
        self.latency(output)
    }

    /// A packet of `credits` credits on `vl` starts to leave for `nic`. `leaving`: the credit return
    /// of the buffer that it leaves. The NIC consumes each flit in the tick of its arrival. Returns
    /// the latency of the link.
    #[inline]
    pub(super) fn pass_to_nic(
        &mut self,
        nic: NicId,
        vl: usize,
        credits: u32,
        leaving: CreditReturn,
        now: Tick,
    ) -> Tick {
        // Both directions of a link take the same time.
        let latency = self.latency(OutputId::of_nic(nic, self.ports));
        if self.sinks_fill {
            let nic = nic.index();
            self.to_nics.take(nic, vl, credits);
            let credit_return = leaving.delayed(2 * latency);
            self.to_nics.add_return(nic, credit_return, now);
        }
        latency
    }

    /// An input buffer gives credits back to `output`: `leaving` has the ticks in which the flits
    /// start to cross. With `keep_order` the credits do not come before the credits of an earlier
    /// packet, which congestion control may have delayed. Returns the tick in which `output` must
    /// be woken, if it waits for credits.
    #[inline]
    pub(super) fn return_credits(
        &mut self,
        output: OutputId,
        leaving: CreditReturn,
        keep_order: bool,
        now: Tick,
    ) -> Option<Tick> {
        // The credits are free in the next tick. The sender sees them a link latency later.
        let mut credit_return = leaving.delayed(1 + self.latency(output));
        let (at, ledgers) = (output.index(), &mut self.to_switches);
        let mut not_before = 0;
        if keep_order {
            (credit_return, not_before) = ledgers.in_order(at, credit_return);
        }
        ledgers.add_return(at, credit_return, now);
        let waits = ledgers.take_waiting(at);
        waits.then(|| ledgers.first_credit_tick(&credit_return).max(not_before))
    }

    /// Tick in which the first credit of `leaving` is back at `output`.
    pub(super) fn first_credit_tick(&self, output: OutputId, leaving: CreditReturn) -> Tick {
        let credit_return = leaving.delayed(1 + self.latency(output));
        self.to_switches.first_credit_tick(&credit_return)
    }

    /// The queues that hold the credits which a packet of `credits` on `vl` lacks at `output`: see
    /// [`Ledgers::holders`].
    pub(super) fn holders(
        &mut self,
        output: OutputId,
        vl: usize,
        credits: u32,
        now: Tick,
    ) -> Vec<usize> {
        self.to_switches.holders(output.index(), vl, credits, now)
    }

    /// Whether credits of `vl` are on their way to `output`.
    pub(super) fn any_on(&self, output: OutputId, vl: usize) -> bool {
        self.to_switches.has_pending_return(output.index(), vl)
    }

    /// Prefetches the state of `output`.
    #[inline]
    pub(super) fn prefetch(&self, output: OutputId) {
        self.to_switches.prefetch_ledger(output.index(), 0);
    }
}

/// The latencies of the links of all outputs; empty if no link differs from the usual one, and none holds packets.
fn latencies(spec: &FabricSpec) -> Vec<Tick> {
    let (topology, latency) = (&spec.topology, &spec.link_latency);
    let holds = spec.bit_errors.is_some() || !spec.degraded.is_empty();
    if latency.exceptions.is_empty() && !holds {
        return Vec::new();
    }
    let ports = topology.switch_ids().flat_map(|switch| {
        let ports = topology.port_ids();
        ports.map(move |port| SwitchPort { switch, port })
    });
    let nics = topology.endpoint_ids().map(|nic| topology.attachment(nic));
    let all = ports.chain(nics);
    all.map(|SwitchPort { switch, port }| latency.at(topology, switch, port))
        .collect()
}
