//! [`Observers`] receive every step of a packet that a fabric reports: the counters, and the probe of a watched run.

use super::counters::{Arrived, Counters, LinkCounts};
use super::ids::OutputId;
use super::nic::Messages;
use super::outages::NEVER;
use super::probe::{Obstacle, PacketSeen, Watcher};
use crate::ids::NicId;
use crate::spec::Tick;
use crate::workload::Workload;

/// The counters, and the probe of the caller.
#[derive(Debug)]
pub(super) struct Observers<P> {
    pub counters: Counters,
    pub watcher: P,
}

/// A link carries a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub output: OutputId,
    /// The link leads to or from a NIC.
    pub of_nic: bool,
    pub flits: u32,
    pub start: Tick,
    /// First tick in which the link is free again.
    pub end: Tick,
    /// Ticks that the packet waited for the link.
    pub waited: Tick,
}

impl<P: Watcher> Observers<P> {
    /// A link starts to carry a packet, or will do so.
    #[inline(always)]
    pub(super) fn started(
        &mut self,
        link: &mut LinkCounts,
        transfer: Transfer,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        let flits = u64::from(transfer.flits);
        link.packets += 1;
        link.flits += flits;
        link.queue_wait += transfer.waited;
        if transfer.of_nic {
            self.counters.counts.host_flit_hops += flits
        } else {
            self.counters.counts.flit_hops += flits
        }
        if P::WATCHES && transfer.start < NEVER {
            let Transfer {
                output,
                start,
                end,
                waited,
                ..
            } = transfer;
            self.watcher
                .tell(|probe| probe.started(start, end, seen(), output, waited));
        }
    }

    /// A data packet of `flits` flits leaves NIC `src` in tick `now`. `token` asks for its message's.
    #[inline(always)]
    pub(super) fn injected(
        &mut self,
        now: Tick,
        src: NicId,
        flits: u32,
        token: impl FnOnce() -> u64,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        self.counters.count_injected(src, flits);
        self.watcher
            .tell(|probe| probe.injected(now, seen(), src, Some(token())));
    }

    /// A CNP or an ACK leaves NIC `src` in tick `now`.
    #[inline(always)]
    pub(super) fn answer_injected(
        &mut self,
        now: Tick,
        src: NicId,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        self.watcher
            .tell(|probe| probe.injected(now, seen(), src, None));
    }

    /// The tail of a CNP or of an ACK arrives at its NIC.
    #[inline(always)]
    pub(super) fn answer_delivered(&mut self, now: Tick, seen: impl FnOnce() -> PacketSeen) {
        self.watcher
            .tell(|probe| probe.delivered(now, seen(), None));
    }

    /// A switch marks a packet that is granted to `output`.
    #[inline]
    pub(super) fn marked(
        &mut self,
        now: Tick,
        output: OutputId,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        self.counters.count(|counts| counts.marked += 1);
        self.watcher.tell(|probe| probe.marked(now, seen(), output));
    }

    /// The tail of a data packet has arrived at its NIC. Reports it to the workload.
    #[inline]
    pub(super) fn delivered(
        &mut self,
        now: Tick,
        arrived: &Arrived,
        messages: &mut Messages,
        workload: &mut dyn Workload,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        let token = || messages.token(arrived.message);
        self.watcher
            .tell(|probe| probe.delivered(now, seen(), Some(token())));
        self.counters.deliver(now, arrived, messages, workload);
    }

    /// A packet queues for `output`.
    #[inline(always)]
    pub(super) fn queued(
        &mut self,
        now: Tick,
        output: OutputId,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        self.watcher.tell(|probe| probe.queued(now, seen(), output));
    }

    /// A packet is granted the crossing to the buffer of `output`.
    #[inline(always)]
    pub(super) fn granted(
        &mut self,
        now: Tick,
        output: OutputId,
        seen: impl FnOnce() -> PacketSeen,
    ) {
        self.watcher
            .tell(|probe| probe.granted(now, seen(), output));
    }

    /// Heads of queues for `output` on `vls` cannot be granted.
    #[inline(always)]
    pub(super) fn blocked(&mut self, now: Tick, output: OutputId, vls: u32, obstacle: Obstacle) {
        self.watcher
            .tell(|probe| probe.blocked(now, output, vls, obstacle));
    }
}
