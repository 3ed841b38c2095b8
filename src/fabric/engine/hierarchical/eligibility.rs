//! Phase 5: whether the head of a queue can be granted its target now, and if not, when it
//! may be. Picking a queue is in [`allocate`](super::allocate) and [`blind`](super::blind), which heads yield to
//! others in [`yielding`](super::yielding).

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
    /// The eligibility of a packet of `credits` for a queue of a buffer whose port is idle.
    #[inline(always)]
    fn by_quota<const HEADS: usize, const USED: usize>(
        buffers: &mut Buffers<HEADS, USED>,
        (buffer, queue): (usize, usize),
        credits: u32,
        now: Tick,
    ) -> Self {
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

/// The head of a queue of a source.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub id: PacketId,
    /// Position of its source among the sources of its target.
    pub position: u32,
    /// The queue of its target.
    pub queue: usize,
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
        let (output, next_vl, position) = (packet.output, packet.vl, port.position());
        let head = |queue| Head {
            id,
            position,
            queue,
        };
        let eligibility = if port.mport() == output.mport() {
            self.check_output(output, head(next_vl.into()))
        } else {
            let central = self
                .switches
                .central_links
                .between::<V>(port, output, || id);
            let queue = self.switches.central_queue(output, next_vl);
            let found = self.check_central(central, head(queue));
            let idle_at = self.switches.centrals[central].port_free_at;
            self.report(&found, output, next_vl.into(), idle_at);
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
        let head = Head {
            id,
            position: self.switches.centrals[central].position.into(),
            queue: packet.vl.into(),
        };
        (self.check_output(packet.output, head), id)
    }

    /// Whether an output buffer can take `head` now. If not even a later tick is known, registers the source to be
    /// woken.
    #[inline]
    fn check_output(&mut self, output: OutputId, head: Head) -> Eligibility {
        let now = self.kernel.now;
        let to = &self.switches.outputs[output];
        let (port_free_at, longest) = (to.port_free_at, to.longest);
        let idle_at = port_free_at.saturating_sub(self.timing.stages.allocation);
        if idle_at > now {
            let found = Eligibility::NotBefore(idle_at);
            self.report(&found, output, head.queue, port_free_at);
            return found;
        }
        let credits = self.kernel.packets[head.id].credits;
        let at = (output.index(), head.queue);
        let buffers = &mut self.switches.output_buffers;
        let mut found = Eligibility::by_quota(buffers, at, credits.into(), now);
        match found {
            Eligibility::Eligible if credits >= longest => return found,
            Eligibility::Eligible if !self.yields_at_output(output, head) => return found,
            Eligibility::Eligible => found = Eligibility::Waiting,
            Eligibility::Waiting => {
                self.switches.outputs[output].sources_waiting |= 1 << head.position;
            }
            Eligibility::NotBefore(_) => {}
        }
        self.pass_over_at_output(output, head);
        self.report(&found, output, head.queue, port_free_at);
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

    /// As [`check_output`](Self::check_output), for a central buffer.
    #[inline]
    fn check_central(&mut self, central: CentralId, head: Head) -> Eligibility {
        let now = self.kernel.now;
        let to = &self.switches.centrals[central];
        let longest = to.longest;
        let idle_at = to
            .port_free_at
            .saturating_sub(self.timing.stages.allocation);
        if idle_at > now {
            return Eligibility::NotBefore(idle_at);
        }
        let credits = self.kernel.packets[head.id].credits;
        let at = (central.index(), head.queue);
        let buffers = &mut self.switches.central_buffers;
        let mut found = Eligibility::by_quota(buffers, at, credits.into(), now);
        match found {
            Eligibility::Eligible if credits >= longest => return found,
            Eligibility::Eligible if !self.yields_at_central(central, head) => return found,
            Eligibility::Eligible => found = Eligibility::Waiting,
            Eligibility::Waiting => {
                self.switches.centrals[central].inputs_waiting |= 1 << head.position;
            }
            Eligibility::NotBefore(_) => {}
        }
        self.pass_over_at_central(central, head);
        found
    }
}
