//! Power states of links (`docs/model/link-power.md`) in fabrics of these switches: announcements of packets,
//! and counters. `join`, `crossing` and `nic` tell `engine::power` which packets wait, and
//! ask it how they go.

use super::{Event, Fabric};
use crate::engine::ids::OutputId;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::Tick;

/// The bytes that a packet of `bytes` bytes adds to the waiting bytes of a link. A packet without
/// bytes counts as one byte, as it must be sent as well.
#[inline]
pub(super) fn waiting_bytes(bytes: u32) -> u32 {
    bytes.max(1)
}

impl<V: Variant> Fabric<V> {
    /// First tick in which the link of a NIC with `output`, for which packets wait, may start one.
    #[inline(always)]
    pub(super) fn link_starts_at(&self, output: OutputId) -> Tick {
        let free = self.outputs[output].link_free.tick;
        match V::part(&self.kernel.power) {
            Some(power) => power.starts_at(output, free.max(self.kernel.now)),
            None => free,
        }
    }

    /// Packet `id` begins to wait for the link of `output`, and announces itself to the links
    /// behind it.
    #[inline(always)]
    pub(super) fn waits_for_link(&mut self, id: PacketId, output: OutputId) {
        let kernel = &mut self.kernel;
        if let Some(power) = V::part_mut(&mut kernel.power) {
            power.waits(output, waiting_bytes(kernel.packets[id].bytes), kernel.now);
            let ahead = power.wake_ahead();
            if ahead > 0 {
                self.announce(ahead, id, output);
            }
        }
    }

    /// Packet `id` announces itself to the `ahead` links behind `output` on its route.
    #[inline(never)]
    fn announce(&mut self, ahead: u32, id: PacketId, mut output: OutputId) {
        let (dst, now) = (self.kernel.packets[id].dst, self.kernel.now);
        let mut at = now + 1;
        for _ in 0..ahead {
            let port = &self.outputs[output];
            if port.to.is_nic() {
                break;
            }
            at += Tick::from(port.latency);
            output = self.routes.by_destination(port.to_switch, dst);
            if self.announcements.insert((at, output)) {
                self.kernel.push(at, Event::Announcement(output));
            }
        }
    }

    /// Phase 2: announcements reach their outputs.
    pub(super) fn take_announcements(&mut self) {
        let now = self.kernel.now;
        while let Some(&(at, output)) = self.announcements.first()
            && at <= now
        {
            self.announcements.pop_first();
            if let Some(power) = &mut self.kernel.power {
                power.announced(output, now);
            }
        }
    }
}
