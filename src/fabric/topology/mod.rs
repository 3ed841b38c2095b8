//! Topologies: switches, ports, NICs and the links between them.
//!
//! Switch ports are numbered per switch: NICs first, then links (by dimension,
//! `+`, `-`, trunk index on cubes; down before up on trees; local before global on
//! dragonflies), in explicit graphs as listed. The radix is rounded up to a multiple of 4
//! and is at least 8; the surplus ports stay unconnected. Port `p` belongs to MPort `p / 4`.
//!
//! A family lays out the [`Cabling`] and answers for the rules. A new one touches six files: its own, which has its keys,
//! names, examples, routings and layout and implements [`Family`]; this one, which lists it; `parameters.rs`, for its form in
//! results; `config/fabric/topology/mod.rs`, for its `kind`; its own file in `tests/oracles/src/families/`, which connects and
//! routes it independently, and the list in `mod.rs` there. The random fabrics of `tests/common/random_topology.rs` try it with
//! both engines. Section 7 of `docs/model/fabric.md` defines it. The tables of the other pages and the schemas follow.

mod aggregation;
mod build;
mod cabling;
mod catalogue;
mod classes;
mod cube;
mod dragonfly;
mod family;
mod fat_tree;
mod form;
mod galois;
mod global_links;
mod graph;
mod hyperx;
mod info;
mod kns;
mod lattice;
mod megafly;
mod names;
mod parameters;
mod planes;
mod ports;
mod single;
mod slim_fly;
mod text;
mod tree;
mod xgft;

pub use aggregation::{Aggregation, Neighbour};
pub use cabling::{Cabling, LaidOut, Peer};
use cabling::{TOO_LARGE, host_count, invalid, port_of};
pub use catalogue::{example, kinds, kinds_with_trunks};
pub use classes::VlClasses;
pub use cube::{Cube, CubeLink, Direction};
pub use dragonfly::{Dragonfly, DragonflyKeys, DragonflySize};
pub use family::{ClosedForm, Destination, Drawing, Family, Place, RingTie, SwitchOrder};
pub use fat_tree::{FatTreeKeys, FatTreeSize};
pub use global_links::{Arrangement, GlobalLinks};
pub use graph::{Graph, Link};
pub use hyperx::HyperX;
pub use info::{Advice, FamilyInfo, RoutingName, listed};
pub use kns::{Kns, KnsKeys, KnsSize};
pub use lattice::{Lattice, LatticeKeys};
pub use megafly::{Megafly, MegaflyKeys, MegaflySize};
pub use names::{Names, NicName, SwitchName};
pub use parameters::{Arranged, FamilyParameters};
pub use ports::Ports;
pub use single::Single;
pub use slim_fly::{SlimFly, SlimFlyKeys};
pub use tree::{Tree, TreeKeys};
pub use xgft::{Xgft, XgftKeys};

use super::ids::{LinkEnd, NicId, PortId, SwitchId, SwitchPort};
use planes::Planes;
use ports::MAX_RADIX;
use std::ops::Deref;

/// Defines [`Shape`] and what is known of all families, from a list of the families.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// The family a topology belongs to, with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Shape {
            $($(#[$doc])* $family($family),)*
        }

        $(impl From<$family> for Shape {
            fn from(family: $family) -> Self {
                Self::$family(family)
            }
        })*

        impl Shape {
            /// The family.
            fn family(&self) -> &dyn Family {
                match self {
                    $(Self::$family(family) => family,)*
                }
            }

            /// The names of the family and the routings that it accepts.
            #[must_use]
            pub fn info(&self) -> &'static FamilyInfo {
                match self {
                    $(Self::$family(_) => &$family::INFO,)*
                }
            }

            /// The candidates of the family, without dynamic dispatch.
            fn candidates(&self, tie: RingTie, switch: SwitchId, to: Destination) -> Ports {
                match self {
                    $(Self::$family(family) => family.candidates(tie, switch, to),)*
                }
            }
        }

        /// All families.
        const FAMILIES: &[FamilyInfo] = &[$($family::INFO,)*];
    };
}

families! {
    /// One switch with all NICs.
    Single,
    /// Torus or mesh.
    Cube,
    /// k-ary n-tree.
    Tree,
    /// Generalised fat tree.
    Xgft,
    /// Dragonfly.
    Dragonfly,
    /// Full meshes along the lines of a lattice; flattened butterfly.
    HyperX,
    /// McKay-Miller-Širáň graph.
    SlimFly,
    /// Dragonfly whose groups are bipartite graphs; Dragonfly+.
    Megafly,
    /// k-ary n-direct s-indirect.
    Kns,
    /// Explicit graph.
    Graph,
}

/// A fabric's graph: the cabling, and the rules of its family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Of each plane.
    shape: Shape,
    /// The planes, if there are several.
    planes: Option<Box<Planes>>,
    /// The aggregation nodes, if there are any.
    aggregation: Option<Box<Aggregation>>,
    cabling: Cabling,
    /// The names that its operators give the parts, if they are known.
    names: Option<Box<Names>>,
}

/// A topology answers all questions about its cables.
impl Deref for Topology {
    type Target = Cabling;

    fn deref(&self) -> &Cabling {
        &self.cabling
    }
}

impl Topology {
    /// The topology of a family.
    #[must_use]
    pub fn of(laid_out: (impl Into<Shape>, Cabling)) -> Self {
        Self {
            shape: laid_out.0.into(),
            planes: None,
            aggregation: None,
            cabling: laid_out.1,
            names: None,
        }
    }

    /// The same, with names for its parts.
    #[must_use]
    pub fn named(self, names: Names) -> Self {
        let names = Some(Box::new(names));
        Self { names, ..self }
    }

    /// The names that its operators give the parts, if they are known.
    #[must_use]
    pub fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// The family and its parameters; of planes, of each.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The answers of the family about the topology.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn family(&self) -> &dyn Family {
        match &self.planes {
            Some(planes) => &**planes,
            None => self.shape.family(),
        }
    }

    /// The out-ports that a packet for NIC `dst` may take at `switch`: the port of the NIC, or
    /// ports to the next switch, which is the same for all of them. `tie` decides the direction
    /// on a ring if both are equally long.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn candidates(&self, tie: RingTie, switch: SwitchId, dst: NicId) -> Ports {
        let home = self.attachment(dst);
        if home.switch == switch {
            return Ports::one(home.port);
        }
        if self.aggregates(dst) {
            return self.ports_to(switch, home.switch);
        }
        let to = Destination {
            nic: dst,
            switch: home.switch,
        };
        match &self.planes {
            Some(planes) => planes.candidates(tie, switch, to),
            None => self.shape.candidates(tie, switch, to),
        }
    }

    /// VL class behind `out_port` of a packet whose leg begins at `switch`, if the leg has the class 0 there.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn first_class_behind(&self, switch: SwitchId, out_port: PortId) -> u8 {
        self.family().least_class(switch, self.in_classes(out_port))
    }

    /// VL class behind `out_port` of a packet of VL class `class` that came to `switch` by
    /// `in_port`, on the same leg of its path. The class is 0 at injection.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn class_behind(
        &self,
        switch: SwitchId,
        in_port: PortId,
        out_port: PortId,
        class: u8,
    ) -> u8 {
        let family = self.family();
        let [in_port, out_port] = [in_port, out_port].map(|port| self.in_classes(port));
        let domain = family.class_domain(out_port);
        let stays = domain.is_some() && family.class_domain(in_port) == domain;
        let kept = if stays { class } else { 0 };
        let least = family.least_class(switch, out_port);
        let between = family.least_class_between(in_port, out_port);
        kept.max(least).max(between)
    }

    /// The peers of the ports of an explicit graph, switch by switch, [`radix`](Cabling::radix) ports each; `None` for
    /// the other families, whose links follow from their parameters. Of planes: of all of them.
    #[must_use]
    pub fn listed_peers(&self) -> Option<&[Peer]> {
        matches!(self.shape, Shape::Graph(_)).then_some(self.peers())
    }

    /// The switch port at this end of a link; for a NIC the one that it is connected to.
    #[must_use]
    pub fn port_at(&self, end: LinkEnd) -> SwitchPort {
        match end {
            LinkEnd::Nic(nic) => self.attachment(nic),
            LinkEnd::Port { switch, port } => SwitchPort::new(switch, port),
        }
    }

    /// Number of VL classes without which packets can deadlock: 1 if they cannot.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn vl_classes(&self) -> u8 {
        self.family().vl_classes()
    }

    /// Number of dimensions; 0 if the family has none.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn dimensions(&self) -> u32 {
        // All dimensions meet at the first switch.
        let at = |port| self.family().dimension(SwitchId::new(0), port);
        let dimensions = self.port_ids().filter_map(at);
        dimensions.max().map_or(0, |last| u32::from(last) + 1)
    }

    /// Coordinate of a switch with NICs in a [dimension](Self::dimensions); 0 if the family has none.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn coordinate(&self, switch: SwitchId, dimension: u32) -> u32 {
        self.family().coordinate(switch, dimension)
    }
}
