//! What routing decides beside the next hop: which of the parallel links of a trunk a packet
//! takes, and its VL class at datelines (`docs/model.md` §7). The next hop itself comes from
//! `fabric::routing`.

use crate::fabric::spec::{FabricSpec, TrunkSelection};
use crate::fabric::topology::{Shape, Topology};

/// The dimension of a port that leads along none.
const NO_DIMENSION: u8 = u8::MAX;

/// The dimensions of a torus or mesh, and where its rings close.
#[derive(Debug)]
pub(super) struct Dimensions {
    /// Dimension of each port within a switch.
    of_port: Vec<u8>,
    /// Per output, numbered over all switches: its link is a dateline, as it closes a ring. Empty
    /// if the topology has no dimensions.
    is_dateline: Vec<bool>,
}

impl Dimensions {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut dimensions = Self {
            of_port: vec![NO_DIMENSION; topology.radix() as usize],
            is_dateline: Vec::new(),
        };
        if let Shape::Cube(cube) = topology.shape() {
            for (port, dimension) in (0..).zip(&mut dimensions.of_port) {
                if let Some((d, _, _)) = cube.link_of(port) {
                    *dimension = d as u8;
                }
            }
            for switch in 0..topology.switches() {
                let ports = 0..topology.radix();
                let wraps = ports.map(|port| cube.is_wrap_link(switch, port));
                dimensions.is_dateline.extend(wraps);
            }
        }
        dimensions
    }

    /// True if `port`, numbered within its switch, leads along a dimension.
    #[inline]
    pub(super) fn is_link(&self, port: u32) -> bool {
        self.of_port[port as usize] != NO_DIMENSION
    }

    /// VL class behind `output` of a packet of VL class `class` that goes from `in_port` to
    /// `out_port` of a switch: 0 before a dateline of the dimension, 1 behind it.
    #[inline]
    pub(super) fn class(&self, in_port: u32, out_port: u32, output: u32, class: u8) -> u8 {
        let (came_along, goes_along) = (
            self.of_port[in_port as usize],
            self.of_port[out_port as usize],
        );
        let stays = came_along == goes_along && goes_along != NO_DIMENSION;
        u8::from(stays && class == 1 || self.is_dateline[output as usize])
    }
}

/// The trunks of a fabric, and how a link is chosen.
#[derive(Debug)]
pub(super) struct Trunks {
    /// Parallel links of each trunk.
    links: u32,
    selection: TrunkSelection,
    /// With `TrunkSelection::RoundRobin`: the next link of each trunk, by the trunk's first port,
    /// numbered over all switches.
    next: Vec<u32>,
}

impl Trunks {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        Self {
            links: match topology.shape() {
                Shape::Cube(cube) => cube.trunk(),
                _ => 1,
            },
            selection: spec.routing.trunk,
            next: vec![0; (topology.switches() * topology.radix()) as usize],
        }
    }

    /// True if trunks have more than one link.
    #[inline]
    pub(super) fn has_several(&self) -> bool {
        self.links > 1
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
