//! What routing needs beside the next hop: which of the parallel links of a trunk, and
//! which dateline class (`docs/model.md` §7).

use crate::fabric::spec::{FabricSpec, TrunkSelection};
use crate::fabric::topology::{Shape, Topology};

/// Not a port of a dimension.
const NO_DIMENSION: u8 = u8::MAX;

/// The dimensions of a torus or mesh, and where its rings close.
#[derive(Debug)]
pub(super) struct Dimensions {
    /// Dimension of each port within a switch.
    of_port: Vec<u8>,
    /// Outputs, over all switches, whose link closes a ring; none where there are none.
    wrap: Vec<bool>,
}

impl Dimensions {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut dimensions = Self {
            of_port: vec![NO_DIMENSION; topology.radix() as usize],
            wrap: Vec::new(),
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
                dimensions.wrap.extend(wraps);
            }
        }
        dimensions
    }

    /// True if port `port` of a switch leads along a dimension.
    #[inline]
    pub(super) fn is_link(&self, port: u32) -> bool {
        self.of_port[port as usize] != NO_DIMENSION
    }

    /// Dateline class behind `output` of a packet of `class` that goes from port `in_port` to
    /// port `out_port` of the switch.
    #[inline]
    pub(super) fn class(&self, in_port: u32, out_port: u32, output: u32, class: u8) -> u8 {
        let (came_in, goes_on) = (
            self.of_port[in_port as usize],
            self.of_port[out_port as usize],
        );
        let keeps = came_in == goes_on && goes_on != NO_DIMENSION;
        u8::from(keeps && class == 1 || self.wrap[output as usize])
    }
}

/// Trunks of parallel links.
#[derive(Debug)]
pub(super) struct Trunks {
    links: u32,
    selection: TrunkSelection,
    /// Next link per first port, over all switches, of trunks that take turns.
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

    /// True if there are parallel links at all.
    #[inline]
    pub(super) fn has_several(&self) -> bool {
        self.links > 1
    }

    /// True if the choice depends on other packets, and so on the order of the inputs.
    #[inline]
    pub(super) fn by_others(&self) -> bool {
        self.links > 1 && self.selection != TrunkSelection::Destination
    }

    /// The link, from 0, of a packet for `dst` on the trunk at `first`. `used`: what the
    /// output buffer of a port holds.
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
