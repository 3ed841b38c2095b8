//! The times of one packet at zero load (`docs/model/fabric.md` §4). Its flits follow each other by one tick
//! on every link, so the times of its header give all others.

use super::{Hierarchical, centrals_between};
use crate::ids::NicId;
use crate::spec::{FabricSpec, Hop, Tick};
use crate::switch::zero_load::{Passage, ZeroLoad};

/// The header of a packet.
pub(crate) struct Header<'a> {
    switch: &'a Hierarchical,
    /// Tick in which it arrives behind the last link.
    arrives: Tick,
    /// Length of the packet in flits.
    flits: u32,
}

impl<'a> Header<'a> {
    /// The header of a packet with `payload` bytes behind the link of NIC `src`.
    pub fn start(spec: &FabricSpec, switch: &'a Hierarchical, src: NicId, payload: u32) -> Self {
        let at = spec.topology.attachment(src);
        Self {
            switch,
            arrives: spec.link_latency.at(&spec.topology, at.switch, at.port),
            flits: spec.units.data_flits(payload),
        }
    }
}

impl ZeroLoad for Header<'_> {
    fn pass(&mut self, _: &FabricSpec, hop: Hop, latency: Tick) -> Passage {
        let link = self.switch.buffers.central_link;
        let central = centrals_between(link, hop.in_port, hop.out_port).next();
        let crossings = if central.is_some() { 2 } else { 1 };
        let leaves = self.switch.leaves_without_load(self.arrives, crossings);
        self.arrives = leaves + latency;
        Passage { leaves, central }
    }

    fn header(&self) -> Tick {
        self.arrives
    }

    fn tail(&self) -> Tick {
        self.arrives + u64::from(self.flits) - 1
    }
}
