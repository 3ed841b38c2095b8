//! Phase 5: whether the head of a queue can be granted its target now, and if not, when it
//! may be. Picking a queue is in [`allocate`](super::allocate) and [`blind`](super::blind).

use super::Fabric;
use super::buffers::Buffers;
use super::ledgers::Retry;
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::spec::Tick;

/// Whether the head of a queue can be granted its target in this tick.
pub(super) enum Eligibility {
    Eligible,
    /// The head is not eligible before this tick.
    NotBefore(Tick),
    /// No tick is known. The source is registered with the target, which wakes it.
    Waiting,
}

impl Eligibility {
    /// The eligibility of a packet of `credits` for a queue of a buffer whose port is idle from `idle_at` on.
    #[inline(always)]
    fn of<const HEADS: usize, const USED: usize>(
        buffers: &mut Buffers<HEADS, USED>,
        (buffer, queue): (usize, usize),
        credits: u32,
        (idle_at, now): (Tick, Tick),
    ) -> Self {
        if idle_at > now {
            return Self::NotBefore(idle_at);
        }
        if buffers.credits.has_quota(buffer, queue, credits, now) {
            return Self::Eligible;
        }
        match buffers.credits.retry(buffer, queue, credits) {
            Retry::At(tick) => Self::NotBefore(tick),
            Retry::AfterCreditReturn => Self::Waiting,
        }
    }

    /// First tick after `now` in which the head may be picked; the end of time if none is known.
    pub(super) fn next_tick(&self, now: Tick) -> Tick {
        match *self {
            Self::Eligible => now + 1,
            Self::NotBefore(tick) => tick,
            Self::Waiting => Tick::MAX,
        }
    }
}

impl<V: Variant> Fabric<V> {
    /// Checks the head of `vl` of an input buffer. Returns its output as well.
    #[inline(always)]
    pub(super) fn check_input_head(&mut self, port: InputId, vl: u32) -> (Eligibility, OutputId) {
        let heads = &self.switches.inputs[port].heads;
        let id = self
            .switches
            .input_fifos
            .head(heads, port.index(), vl as usize);
        let packet = &self.kernel.packets[id];
        let (output, position) = (packet.output, port.position());
        let credits = u32::from(packet.credits);
        let next_vl = usize::from(packet.vl);
        let eligibility = if port.mport() == output.mport() {
            self.check_output(output, next_vl, credits, position)
        } else {
            let central = self
                .switches
                .central_links
                .between::<V>(port, output, || id);
            let queue = self.switches.central_queue(output, packet.vl);
            let found = self.check_central(central, queue, credits, position);
            let idle_at = self.switches.centrals[central].port_free_at;
            self.report(&found, output, next_vl, idle_at);
            found
        };
        (eligibility, output)
    }

    /// Checks the head of a queue of a central buffer. Returns the head as well.
    #[inline(always)]
    pub(super) fn check_central_head(
        &mut self,
        central: CentralId,
        queue: u32,
    ) -> (Eligibility, PacketId) {
        let at = central.index();
        let id = self
            .switches
            .central_buffers
            .fifos
            .head(&[], at, queue as usize);
        let packet = &self.kernel.packets[id];
        let (output, vl) = (packet.output, packet.vl.into());
        let credits = u32::from(packet.credits);
        let position = u32::from(self.switches.centrals[central].position);
        (self.check_output(output, vl, credits, position), id)
    }

    /// Whether an output buffer can take a packet of `credits` on `vl` now. If not even a
    /// later tick is known, registers the source at `position` to be woken.
    #[inline]
    fn check_output(
        &mut self,
        output: OutputId,
        vl: usize,
        credits: u32,
        position: u32,
    ) -> Eligibility {
        let to = &mut self.switches.outputs[output];
        let overlap = self.timing.stages.allocation;
        let ticks = (to.port_free_at.saturating_sub(overlap), self.kernel.now);
        let found = Eligibility::of(
            &mut self.switches.output_buffers,
            (output.index(), vl),
            credits,
            ticks,
        );
        if let Eligibility::Waiting = found {
            to.sources_waiting |= 1 << position;
        }
        let idle_at = to.port_free_at;
        self.report(&found, output, vl, idle_at);
        found
    }

    /// Tells the probe why a head for `output` on `vl` is not granted. The port into the target buffer is
    /// idle from `idle_at` on.
    #[inline(always)]
    fn report(&mut self, found: &Eligibility, output: OutputId, vl: usize, idle_at: Tick) {
        if V::IS_WATCHED && !matches!(found, Eligibility::Eligible) {
            let overlap = self.timing.stages.allocation;
            let now = self.kernel.now;
            let obstacle = if idle_at.saturating_sub(overlap) > now {
                Obstacle::Crossbar
            } else {
                Obstacle::Buffer
            };
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, obstacle);
        }
    }

    /// Checks queue `queue` of a central buffer.
    #[inline]
    fn check_central(
        &mut self,
        central: CentralId,
        queue: usize,
        credits: u32,
        position: u32,
    ) -> Eligibility {
        let to = &mut self.switches.centrals[central];
        let overlap = self.timing.stages.allocation;
        let ticks = (to.port_free_at.saturating_sub(overlap), self.kernel.now);
        let at = (central.index(), queue);
        let found = Eligibility::of(&mut self.switches.central_buffers, at, credits, ticks);
        if let Eligibility::Waiting = found {
            to.inputs_waiting |= 1 << position;
        }
        found
    }
}
