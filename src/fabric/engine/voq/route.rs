//! Phase 4: routing decides output, SC and VL of each packet whose header becomes ready, and the
//! packet joins its VoQ (`docs/model-infiniband.md` §7).
//!
//! Headers at the head of output buffers need no phase: `crossing` has decided when they leave.

use super::Fabric;
use super::parts::Input;
use crate::fabric::engine::bits::push_quickly;
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::engine::trunks::Trunks;
use crate::fabric::engine::vls::{Hop, VlAndClass, Vls};
use crate::fabric::routing::Router;
use crate::fabric::spec::{FabricSpec, SpecError};

/// What routing needs to know: next hops, trunks, and the VLs.
#[derive(Debug)]
pub(super) struct Routes {
    radix: u32,
    router: Router,
    trunks: Trunks,
    vls: Vls,
}

impl Routes {
    pub(super) fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        Ok(Self {
            radix: spec.topology.radix(),
            router: Router::new(spec),
            trunks: Trunks::new(spec),
            vls: Vls::new(spec)?,
        })
    }

    /// True if the order in which packets are routed changes their routes.
    #[inline]
    pub(super) fn depends_on_order(&self) -> bool {
        self.trunks.by_others()
    }

    /// VL of a packet of `sl` for `dst` that leaves `nic`.
    #[inline]
    pub(super) fn vl_at_nic(&self, nic: u32, dst: u32, sl: u8) -> u8 {
        self.vls.at_nic(nic, dst, sl)
    }

    /// Output, numbered over all switches, of a packet for `dst` at `switch`. `used(output)`: how
    /// much the output buffer of `output` holds, in units that need only compare.
    #[inline(always)]
    fn output(&mut self, switch: u32, dst: u32, used: impl FnMut(u32) -> u32) -> u32 {
        let port = self.router.first_port(switch, dst);
        let first = switch * self.radix + port;
        if !self.trunks.has_several() || !self.trunks.is_link(port) {
            return first;
        }
        first + self.trunks.choose(first, dst, used)
    }
}

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// Phase 4: the headers that become ready in this tick are routed and join their VoQs, in the
    /// order of their in-ports.
    #[inline]
    pub(super) fn complete_routing(&mut self) {
        if self.joining.len() > 1 {
            let packets = &self.packets;
            self.joining.sort_unstable_by_key(|&id| packets[id].input);
        }
        for at in 0..self.joining.len() {
            self.join(self.joining[at]);
        }
        self.joining.clear();
    }

    /// Routes packet `id` and appends it to its VoQ.
    pub(super) fn join(&mut self, id: PacketId) {
        let now = self.now;
        let packet = &self.packets[id];
        let (input, dst, sl) = (packet.input, packet.dst, packet.sl);
        let flits = packet.flits;
        let before = VlAndClass {
            vl: packet.vl,
            class: packet.class,
        };
        let Input {
            switch,
            first_port,
            in_port,
            first_queue,
            ..
        } = self.inputs[input as usize];
        let (outputs, returns, drain) = (&mut self.outputs, &mut self.buffer_returns, &self.drain);
        let output = self.routes.output(switch, dst, |output| {
            if Self::PLAIN {
                // Never asked there: see `layout::room_binds`.
                return 0;
            }
            let port = &mut outputs[output as usize];
            returns[output as usize].apply(drain, now, |_, credits| port.room += credits);
            u32::MAX - u32::from(port.room)
        });
        let out_port = (output - first_port) as u8;
        let hop = || Hop {
            input,
            output,
            in_port: in_port.into(),
            out_port: out_port.into(),
        };
        let VlAndClass { vl, class } = self.routes.vls.behind(hop, sl, dst, before);
        let packet = &mut self.packets[id];
        (packet.output, packet.vl, packet.class) = (output, vl, class);
        packet.waiting_since = now;
        packet.next = NONE;

        let queue = usize::from(out_port) * self.vls + usize::from(vl);
        let queue = &mut self.queues[first_queue as usize + queue];
        if queue.head == NONE {
            queue.head = id;
            self.inputs[input as usize].queues += 1;
            let output_vl = output as usize * self.vls + usize::from(vl);
            self.output_vls[output_vl].heads.insert(in_port);
            self.outputs[output as usize].waiting_vls |= 1 << vl;
            push_quickly(&mut self.dirty_outputs, output);
        } else {
            self.packets[queue.tail].next = id;
        }
        queue.tail = id;
        if let Some(congestion) = Self::unless_plain(&mut self.congestion) {
            congestion
                .port_vls
                .joined((input, output, vl), flits.into());
        }
    }
}
