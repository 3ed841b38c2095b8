//! Routes of single pairs of NICs (`docs/model/fabric.md` §7): which out-port of its route comes next for each packet.
//! [`next_hop`](super::next_hop) asks at every switch.

use super::next_hop::Context;
use super::pool::PacketId;
use crate::ids::{NicId, PortId};
use crate::routing::{Cursor, SourceHops};
use crate::spec::FabricSpec;
use crate::topology::Peer;

/// The routes that packets carry with them.
#[derive(Debug)]
pub(super) struct Carried {
    /// By in-port: the NIC that is connected to it.
    source: Vec<Option<NicId>>,
    /// By packet.
    progress: Vec<Cursor>,
}

impl Carried {
    /// `None` if no pair has a route of its own.
    pub(super) fn new(spec: &FabricSpec) -> Option<Self> {
        if spec.routing.source_routes.is_empty() {
            return None;
        }
        let topology = &spec.topology;
        let source = |(switch, port)| match topology.peer(switch, port) {
            Peer::Nic(nic) => Some(nic),
            Peer::Switch { .. } | Peer::None => None,
        };
        let of = |switch| topology.port_ids().map(move |port| (switch, port));
        Some(Self {
            source: topology.switch_ids().flat_map(of).map(source).collect(),
            progress: Vec::new(),
        })
    }

    /// The progress of packet `id`.
    pub(super) fn progress(&self, id: PacketId) -> Cursor {
        let progress = self.progress.get(id.index());
        progress.copied().unwrap_or(Cursor::NONE)
    }

    pub(super) fn set_progress(&mut self, id: PacketId, progress: Cursor) {
        if self.progress.len() <= id.index() {
            self.progress.resize(id.index() + 1, Cursor::NONE);
        }
        self.progress[id.index()] = progress;
    }

    /// The out-port of a packet whose pair has a route of its own. Call this once for each packet and switch.
    pub(super) fn next<O>(&mut self, at: &Context<O>, hops: &SourceHops) -> Option<PortId> {
        let cursor = match self.source[at.input.index()] {
            Some(src) => hops.begin(src, at.dst),
            None => self.progress(at.packet),
        };
        let step = hops.step(cursor);
        let (port, behind) = step.map_or((None, Cursor::NONE), |(port, next)| (Some(port), next));
        self.set_progress(at.packet, behind);
        port
    }
}
