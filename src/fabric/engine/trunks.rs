//! Which of the parallel links of a trunk a packet takes (`docs/model.md` §7). The trunk itself
//! comes from `fabric::routing`.

use crate::fabric::spec::{FabricSpec, TrunkSelection};
use crate::fabric::topology::Peer;

/// The trunks of a fabric, and how a link is chosen.
#[derive(Debug)]
pub(super) struct Trunks {
    /// Parallel links of each trunk.
    links: u32,
    /// Whether a port, numbered within its switch, leads to other switches.
    is_link: Vec<bool>,
    selection: TrunkSelection,
    /// With `TrunkSelection::RoundRobin`: the next link of each trunk, by the trunk's first port,
    /// numbered over all switches.
    next: Vec<u32>,
}

impl Trunks {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let is_link = |port| {
            let mut switches = 0..topology.switches();
            switches.any(|switch| matches!(topology.peer(switch, port), Peer::Switch { .. }))
        };
        let links = match spec.routing.forwarding {
            // The tables name the link.
            Some(_) => 1,
            None => topology.family().trunk(),
        };
        Self {
            links,
            is_link: (0..topology.radix()).map(is_link).collect(),
            selection: spec.routing.trunk,
            next: vec![0; (topology.switches() * topology.radix()) as usize],
        }
    }

    /// True if trunks have more than one link.
    #[inline]
    pub(super) fn has_several(&self) -> bool {
        self.links > 1
    }

    /// True if `port`, numbered within its switch, leads to other switches.
    #[inline]
    pub(super) fn is_link(&self, port: u32) -> bool {
        self.is_link[port as usize]
    }

    /// True if the choice depends on other packets, and so on the order of the in-ports.
    #[inline]
    pub(super) fn by_others(&self) -> bool {
        self.links > 1 && self.selection != TrunkSelection::Destination
    }

    /// The link, counted from 0, that a packet for `dst` takes of the trunk with first port
    /// `first`. `used(port)`: how much the output buffer of `port` holds. Ports are numbered over
    /// all switches.
    #[inline]
    pub(super) fn choose(&mut self, first: u32, dst: u32, mut used: impl FnMut(u32) -> u32) -> u32 {
        match self.selection {
            TrunkSelection::Destination => dst % self.links,
            TrunkSelection::RoundRobin => {
                let next = &mut self.next[first as usize];
                let link = *next;
                *next = (link + 1) % self.links;
                link
            }
            TrunkSelection::LeastQueued => {
                let links = (0..self.links).map(|link| (used(first + link), link));
                links.min().map_or(0, |(_, link)| link)
            }
        }
    }
}
