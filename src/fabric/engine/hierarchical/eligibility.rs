//! Phase 5: whether the head of a queue can be granted its target now, and if not, when it
//! may be. Picking a queue is in [`allocate`](super::allocate) and [`blind`](super::blind).

use super::Fabric;
use super::buffers::Retry;
use super::control::Control;
use crate::fabric::engine::pool::PacketId;
use crate::fabric::spec::Tick;

/// Whether the head of a queue can be granted its target in this tick.
pub(super) enum Eligibility {
    Eligible,
    /// The head is not eligible before this tick.
    NotBefore(Tick),
    /// No tick is known. The source is registered with the target, which wakes it.
    Waiting,
}

impl<C: Control> Fabric<C> {
    /// Checks the head of `vl` of an input buffer. Returns its output as well.
    #[inline(always)]
    pub(super) fn check_input_head(&mut self, port: u32, vl: u32) -> (Eligibility, u32) {
        let heads = &self.inputs[port as usize].heads;
        let id = self.input_buffers.head(heads, port as usize, vl as usize);
        let packet = &self.packets[id];
        let (output, position) = (packet.output, port % 4);
        let credits = u32::from(packet.credits);
        let next_vl = usize::from(packet.vl);
        let eligibility = if port / 4 == output / 4 {
            self.check_output(output, next_vl, credits, position)
        } else {
            let central = 2 * (port / 4) + output % 2;
            let queue = self.central_queue(output, packet.vl);
            self.check_central(central, queue, credits, position)
        };
        (eligibility, output)
    }

    /// Checks the head of a queue of a central buffer. Returns the head as well.
    #[inline(always)]
    pub(super) fn check_central_head(
        &mut self,
        central: u32,
        queue: u32,
    ) -> (Eligibility, PacketId) {
        let at = central as usize;
        let id = self.central_buffers.head(&[], at, queue as usize);
        let packet = &self.packets[id];
        let (output, vl) = (packet.output, packet.vl.into());
        let credits = u32::from(packet.credits);
        let position = u32::from(self.centrals[at].position);
        (self.check_output(output, vl, credits, position), id)
    }

    /// Whether an output buffer can take a packet of `credits` on `vl` now. If not even a
    /// later tick is known, registers the source at `position` to be woken.
    #[inline]
    fn check_output(&mut self, output: u32, vl: usize, credits: u32, position: u32) -> Eligibility {
        let to = &mut self.outputs[output as usize];
        let idle_at = to
            .port_free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            return Eligibility::NotBefore(idle_at);
        }
        if self
            .output_buffers
            .has_quota(output as usize, vl, credits, self.now)
        {
            return Eligibility::Eligible;
        }
        match self.output_buffers.retry(output as usize, vl, credits) {
            Retry::At(tick) => Eligibility::NotBefore(tick),
            Retry::AfterCreditReturn => {
                to.sources_waiting |= 1 << position;
                Eligibility::Waiting
            }
        }
    }

    /// The same for queue `queue` of a central buffer.
    #[inline]
    fn check_central(
        &mut self,
        central: u32,
        queue: usize,
        credits: u32,
        position: u32,
    ) -> Eligibility {
        let to = &mut self.centrals[central as usize];
        let idle_at = to
            .port_free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            return Eligibility::NotBefore(idle_at);
        }
        if self
            .central_buffers
            .has_quota(central as usize, queue, credits, self.now)
        {
            return Eligibility::Eligible;
        }
        match self.central_buffers.retry(central as usize, queue, credits) {
            Retry::At(tick) => Eligibility::NotBefore(tick),
            Retry::AfterCreditReturn => {
                to.inputs_waiting |= 1 << position;
                Eligibility::Waiting
            }
        }
    }
}
