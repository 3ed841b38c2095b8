//! Turns among packets of different lengths (`docs/model/fabric.md` §6, 4): a head that its idle target could not grant has
//! been passed over, and shorter heads for the same queue yield to it.
//!
//! A target knows how many credits the longest of its passed-over heads takes at most, so packets of one length cause no search.

use super::eligibility::Head;
use super::state::{Buffer, Queue};
use super::{Event, Fabric};
use crate::engine::ids::{CentralId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::Tick;

/// A packet that has not been passed over in its buffer.
pub(super) const NEVER: Tick = Tick::MAX;

/// Sources of an output, a bit per position.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sources {
    /// Those with a head that was passed over; some may have none any more.
    pub passed_over: u64,
    /// Those with a head that yields, to be woken once a head that was passed over is granted.
    pub yielding: u64,
}

/// A head to which others yield, and the sources that have heads which were passed over.
struct Found {
    ahead: Option<Queue>,
    passed_over: u64,
}

impl<V: Variant> Fabric<V> {
    /// Notes that an output, idle, could not grant `head`.
    #[inline]
    pub(super) fn pass_over_at_output(&mut self, output: OutputId, head: Head) {
        let packet = &mut self.kernel.packets[head.id];
        if packet.ready == NEVER {
            packet.ready = self.kernel.now;
            let to = &mut self.switches.outputs[output];
            to.longest = to.longest.max(packet.credits);
            self.switches.sources[output].passed_over |= 1 << head.position;
        }
    }

    /// As [`pass_over_at_output`](Self::pass_over_at_output), for a central buffer.
    #[inline]
    pub(super) fn pass_over_at_central(&mut self, central: CentralId, head: Head) {
        let packet = &mut self.kernel.packets[head.id];
        if packet.ready == NEVER {
            packet.ready = self.kernel.now;
            let to = &mut self.switches.centrals[central];
            to.longest = to.longest.max(packet.credits);
            to.passed_over |= 1 << head.position;
        }
    }

    /// Whether `head` yields to another one for an output. If so, its source will be woken.
    #[inline(never)]
    pub(super) fn yields_at_output(&mut self, output: OutputId, head: Head) -> bool {
        let sources = self.switches.sources[output].passed_over;
        let found = self.find_ahead((Buffer::Output(output), head.queue), head.id, sources);
        let to = &mut self.switches.outputs[output];
        if found.ahead.is_some() {
            to.holds_back = true;
            self.switches.sources[output].yielding |= 1 << head.position;
            return true;
        }
        self.switches.sources[output].passed_over = found.passed_over;
        if found.passed_over == 0 {
            to.longest = 0;
        }
        false
    }

    /// As [`yields_at_output`](Self::yields_at_output), for a central buffer.
    #[inline(never)]
    pub(super) fn yields_at_central(&mut self, central: CentralId, head: Head) -> bool {
        let sources = self.switches.centrals[central].passed_over;
        let found = self.find_ahead(
            (Buffer::Central(central), head.queue),
            head.id,
            sources.into(),
        );
        let to = &mut self.switches.centrals[central];
        if found.ahead.is_some() {
            to.yielding |= 1 << head.position;
            return true;
        }
        to.passed_over = found.passed_over as u8;
        if found.passed_over == 0 {
            to.longest = 0;
        }
        false
    }

    /// The FIFO of a head to which packet `id` yields, which waits for this queue of a target.
    pub(super) fn ahead_of(&self, to: Queue, id: PacketId) -> Option<Queue> {
        let sources = match to.0 {
            Buffer::Output(output) => self.switches.sources[output].passed_over,
            Buffer::Central(central) => self.switches.centrals[central].passed_over.into(),
            Buffer::Input(_) => 0,
        };
        self.find_ahead(to, id, sources).ahead
    }

    /// Looks at the heads of `sources` for one to which packet `id` yields.
    fn find_ahead(&self, to: Queue, id: PacketId, mut sources: u64) -> Found {
        let mut found = Found {
            ahead: None,
            passed_over: 0,
        };
        while sources != 0 && found.ahead.is_none() {
            let position = sources.trailing_zeros();
            sources &= sources - 1;
            self.look_at_source(position, to, id, &mut found);
        }
        found
    }

    /// Looks at the heads of the source at `position`, until one of them is found ahead of packet `id`.
    fn look_at_source(&self, position: u32, to: Queue, id: PacketId, found: &mut Found) {
        match self.source_of(to.0, position) {
            Buffer::Input(port) => {
                let mut vls = self.switches.inputs[port].ready;
                while vls != 0 && found.ahead.is_none() {
                    let node = (Buffer::Input(port), vls.trailing_zeros() as usize);
                    vls &= vls - 1;
                    self.look_at_head(node, position, (to, id), found);
                }
            }
            source => {
                // Only the first of these queues can have a head for the same queue of the target.
                let output = self.kernel.packets[id].output;
                let same = self.switches.central_queue(output, to.1 as u8);
                self.look_at_head((source, same), position, (to, id), found);
                for queue in self.switches.queues_towards(output) {
                    if found.passed_over & 1 << position != 0 {
                        break;
                    }
                    self.look_at_head((source, queue), position, (to, id), found);
                }
            }
        }
    }

    /// Looks at the head of `node`, which belongs to the source at `position`, for packet `id`, which waits for `to`.
    #[inline]
    fn look_at_head(
        &self,
        node: Queue,
        position: u32,
        (to, id): (Queue, PacketId),
        found: &mut Found,
    ) {
        let head = self.head(node);
        if head == PacketId::NONE || self.kernel.packets[head].ready == NEVER {
            return;
        }
        let next = self.next_of(node, head);
        if next.0 != to.0 {
            return;
        }
        found.passed_over |= 1 << position;
        let (rival, packet) = (&self.kernel.packets[head], &self.kernel.packets[id]);
        let before = packet.ready.min(self.kernel.now);
        if next == to && rival.credits > packet.credits && rival.ready < before {
            found.ahead = Some(node);
        }
    }

    /// The source of `target` at `position`. Input buffers have no sources: links write them.
    fn source_of(&self, target: Buffer, position: u32) -> Buffer {
        match target {
            Buffer::Central(central) => Buffer::Input(central.mport().input(position)),
            Buffer::Output(output) => match position.checked_sub(4) {
                None => Buffer::Input(output.mport().input(position)),
                Some(central) => {
                    Buffer::Central(self.switches.outputs[output].first_central.plus(central))
                }
            },
            Buffer::Input(_) => target,
        }
    }

    /// Wakes the sources that yielded at `output`, once it is idle again.
    #[cold]
    pub(super) fn wake_yielding_at_output(&mut self, output: OutputId, free_at: Tick) {
        self.switches.outputs[output].holds_back = false;
        let waiting = std::mem::take(&mut self.switches.sources[output].yielding);
        let at = self.idle_again(free_at);
        self.wake_sources_of_output(output, waiting, at);
    }

    /// As [`wake_yielding_at_output`](Self::wake_yielding_at_output), for a central buffer.
    #[cold]
    pub(super) fn wake_yielding_at_central(&mut self, central: CentralId, free_at: Tick) {
        let mut waiting = std::mem::take(&mut self.switches.centrals[central].yielding);
        let at = self.idle_again(free_at);
        while waiting != 0 {
            let port = central.mport().input(waiting.trailing_zeros());
            waiting &= waiting - 1;
            self.wake(Event::Input(port), at);
        }
    }

    /// The tick after a grant in which a target is idle again whose port is free at `free_at`.
    fn idle_again(&self, free_at: Tick) -> Tick {
        let idle_at = free_at.saturating_sub(self.timing.stages.allocation);
        idle_at.max(self.kernel.now + 1)
    }
}
