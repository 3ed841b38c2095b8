//! Topologies: switches, ports, NICs and the links between them.
//!
//! Switch ports are numbered per switch: NICs first, then links (by dimension,
//! `+`, `-`, trunk index on cubes; down before up on trees; local before global on
//! dragonflies), in explicit graphs as listed. The radix is rounded up to a multiple of 4
//! and is at least 8; the surplus ports stay unconnected. Port `p` belongs to MPort `p / 4`.
//!
//! A new family touches six files: its own, which has its keys, names, examples, routings and constructor and
//! implements [`Family`]; this one, which lists it; `config/fabric/topology/mod.rs`, for its `kind`; its own file in
//! `tests/oracles/src/families/`, which connects and routes it independently, and the list in `mod.rs` there; and
//! `tests/common/random_topology.rs`, with which the tests of both engines try it. Section 7 of `docs/model/fabric.md`
//! defines it. The tables of the other pages and the schemas follow.

mod aggregation;
mod classes;
mod cube;
mod dragonfly;
mod family;
mod fat_tree;
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
pub use classes::VlClasses;
pub use cube::{Cube, CubeLink, Direction};
pub use dragonfly::{Dragonfly, DragonflyKeys, DragonflySize};
pub use family::{ClosedForm, Destination, Drawing, Family, Place, RingTie, SwitchOrder};
pub use fat_tree::{FatTreeKeys, FatTreeSize};
pub use global_links::{Arrangement, GlobalLinks};
pub use graph::{Graph, Link};
pub use hyperx::HyperX;
pub use info::{
    Advice, FamilyInfo, RoutingName, example, kinds, kinds_with_trunks, listed, missing,
};
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

use super::error::SpecError;
use super::ids::{NicId, PortId, SwitchId, SwitchPort};
use planes::Planes;
use ports::MAX_RADIX;

/// The peer of a switch port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Nothing.
    None,
    /// The only port of a NIC.
    Nic(NicId),
    /// Port `port` of switch `switch`.
    Switch {
        /// Switch id.
        switch: SwitchId,
        /// Port of that switch.
        port: PortId,
    },
}

/// Defines [`Shape`] and what is known of all families, from a list of the families.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// The family a topology belongs to, with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Shape {
            $($(#[$doc])* $family($family),)*
        }

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

/// A fabric's graph. NICs are `0..nics`, switches `0..switches`; aggregation nodes, if there are any, have endpoints
/// behind the NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Of each plane.
    shape: Shape,
    /// The planes, if there are several.
    planes: Option<Box<Planes>>,
    /// The aggregation nodes, if there are any.
    aggregation: Option<Box<Aggregation>>,
    radix: u32,
    /// `peers[switch * radix + port]`.
    peers: Vec<Peer>,
    /// Port of each NIC, and of each endpoint of an aggregation node.
    attachment: Vec<SwitchPort>,
    /// The names that its operators give the parts, if they are known.
    names: Option<Box<Names>>,
}

/// Most NICs or switch ports in one fabric: a hundred times the largest machines,
/// and no more than a few gigabytes in the engine.
const MAX_PORTS: u64 = 1 << 22;
/// The problem in errors about fabrics whose numbers of switches or NICs do not even fit.
const TOO_LARGE: &str = "all switches together have at most 2^22 ports: take a smaller fabric";

impl Topology {
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

    /// Number of NICs.
    #[must_use]
    pub fn nics(&self) -> u32 {
        let before_nodes = self.aggregation().map(Aggregation::first_endpoint);
        before_nodes.unwrap_or(self.endpoints())
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> u32 {
        (self.peers.len() / self.radix as usize) as u32
    }

    /// Ports per switch: a multiple of 4, at least 8.
    #[must_use]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// All NICs, ascending.
    #[must_use]
    pub fn nic_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = NicId> + ExactSizeIterator + Clone + use<> {
        NicId::all(self.nics())
    }

    /// All switches, ascending.
    #[must_use]
    pub fn switch_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = SwitchId> + ExactSizeIterator + Clone + use<> {
        SwitchId::all(self.switches())
    }

    /// All ports of any switch, ascending.
    #[must_use]
    pub fn port_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = PortId> + ExactSizeIterator + Clone + use<> {
        PortId::all(self.radix)
    }

    /// Whether there is such a port, connected or not.
    #[must_use]
    pub fn has_port(&self, switch: SwitchId, port: PortId) -> bool {
        switch.get() < self.switches() && port.get() < self.radix
    }

    /// Number of a port when the ports of all switches are counted, switch by switch.
    #[must_use]
    pub fn port_index(&self, switch: SwitchId, port: PortId) -> usize {
        switch.index() * self.radix as usize + port.index()
    }

    /// The peer of `port` of `switch`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn peer(&self, switch: SwitchId, port: PortId) -> Peer {
        self.peers[self.port_index(switch, port)]
    }

    /// The peers of the ports of an explicit graph, switch by switch, [`radix`](Self::radix) ports each; `None` for
    /// the other families, whose links follow from their parameters. Of planes: of all of them.
    #[must_use]
    pub fn listed_peers(&self) -> Option<&[Peer]> {
        matches!(self.shape, Shape::Graph(_)).then_some(&self.peers)
    }

    /// The switches that the links of `switch` lead to: one per link, in the order of its ports.
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn linked_switches(&self, switch: SwitchId) -> impl Iterator<Item = SwitchId> + '_ {
        self.port_ids()
            .filter_map(move |port| match self.peer(switch, port) {
                Peer::Switch { switch, .. } => Some(switch),
                Peer::Nic(_) | Peer::None => None,
            })
    }

    /// The port that `nic` is connected to.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn attachment(&self, nic: NicId) -> SwitchPort {
        self.attachment[nic.index()]
    }

    /// Number of VL classes without which packets can deadlock: 1 if they cannot.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn vl_classes(&self) -> u8 {
        self.family().vl_classes()
    }

    /// One more than the number of the last port that is connected at any switch.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn used_ports(&self) -> u32 {
        let mut ports = self.port_ids().rev();
        let connected = |&port: &PortId| {
            let mut switches = self.switch_ids();
            switches.any(|switch| self.peer(switch, port) != Peer::None)
        };
        ports.find(connected).map_or(0, |port| port.get() + 1)
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

    /// Directed switch-to-switch links.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn directed_switch_links(&self) -> u64 {
        self.peers
            .iter()
            .filter(|p| matches!(p, Peer::Switch { .. }))
            .count() as u64
    }

    /// Ports of switches with a NIC or another switch behind them.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn connected_ports(&self) -> u64 {
        let peers = self.peers.iter();
        peers.filter(|&&peer| peer != Peer::None).count() as u64
    }

    /// Allocates an unconnected graph of `switches` × rounded radix.
    fn unconnected(shape: Shape, switches: u64, ports: u64, nics: u64) -> Result<Self, SpecError> {
        let radix = ports.next_multiple_of(4).max(8);
        if ports > MAX_RADIX {
            return Err(invalid(format!(
                "switches of {ports} ports; at most {MAX_RADIX} are possible: \
                 build a tree, torus or mesh of smaller ones"
            )));
        }
        if switches.saturating_mul(radix) > MAX_PORTS || nics > MAX_PORTS {
            return Err(invalid(format!(
                "{switches} switches with {radix} ports are more than the {MAX_PORTS} ports supported; \
                 take a smaller fabric"
            )));
        }
        Ok(Self {
            shape,
            planes: None,
            aggregation: None,
            radix: radix as u32,
            peers: vec![Peer::None; (switches * radix) as usize],
            attachment: Vec::with_capacity(nics as usize),
            names: None,
        })
    }

    /// Connects the next NIC (ids ascend) to `port`.
    fn attach_next(&mut self, port: SwitchPort) {
        let nic = NicId::new(self.attachment.len() as u32);
        self.attachment.push(port);
        self.set_peer(port, Peer::Nic(nic));
    }

    /// Connects NICs `0..nics`, as many as a switch takes to each switch, from its port 0 on.
    fn attach_in_order(&mut self, nics: u64, per_switch: u32) {
        for nic in 0..nics as u32 {
            self.attach_next(port_of(nic / per_switch, nic % per_switch));
        }
    }

    /// Connects two ports, one direction each.
    fn connect(&mut self, a: SwitchPort, b: SwitchPort) {
        for (near, far) in [(a, b), (b, a)] {
            let SwitchPort { switch, port } = far;
            self.set_peer(near, Peer::Switch { switch, port });
        }
    }

    fn set_peer(&mut self, of: SwitchPort, peer: Peer) {
        let at = self.port_index(of.switch, of.port);
        self.peers[at] = peer;
    }
}

/// The number of NICs to attach: `hosts` if given, else all `slots`.
fn host_count(slots: u64, hosts: Option<u32>) -> Result<u64, SpecError> {
    match hosts {
        None => Ok(slots),
        Some(h) if h >= 1 && u64::from(h) <= slots => Ok(u64::from(h)),
        Some(h) => Err(SpecError {
            key: "fabric.topology.hosts",
            problem: format!("{h} hosts do not fit: this topology takes 1 to {slots}"),
        }),
    }
}

/// The port with these numbers: how the families, which compute with numbers, name one.
const fn port_of(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

fn invalid(problem: String) -> SpecError {
    SpecError {
        key: "fabric.topology",
        problem,
    }
}
