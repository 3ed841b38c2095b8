//! Topologies: switches, ports, NICs and the links between them.
//!
//! Switch ports are numbered per switch: NICs first, then links (by dimension,
//! `+`, `-`, trunk index on cubes; down before up on trees; local before global on
//! dragonflies), in explicit graphs as listed. The radix is rounded up to a multiple of 4
//! and is at least 8; the surplus ports stay unconnected. Port `p` belongs to MPort `p / 4`.
//!
//! A new family touches: its own file, which implements [`Family`]; this file, for its place in
//! [`Shape`] and its constructor; `config/resolve_topology.rs`, for its keys; section 7 of
//! `docs/model.md` and the table of `docs/experiment.md`; `tests/oracle/routing.rs`, which routes
//! on its own. `tests/common/random_topology.rs` then has both engines try it.

mod classes;
mod cube;
mod dragonfly;
mod family;
mod graph;
mod ports;
mod single;
mod tree;
mod xgft;

pub use classes::VlClasses;
pub use cube::{Cube, Direction};
pub use dragonfly::{Arrangement, Dragonfly, DragonflySize};
pub use family::{Destination, Drawing, Family, Place};
pub use graph::{Graph, Link};
pub use ports::Ports;
pub use single::Single;
pub use tree::Tree;
pub use xgft::Xgft;

use super::spec::{RingTie, SpecError};

/// What a switch port is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Nothing.
    None,
    /// The only port of a NIC.
    Nic(u32),
    /// Port `port` of switch `switch`.
    Switch {
        /// Switch id.
        switch: u32,
        /// Port of that switch, counted within the switch.
        port: u32,
    },
}

/// The family a topology belongs to, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// One switch with all NICs.
    Single(Single),
    /// Torus or mesh.
    Cube(Cube),
    /// k-ary n-tree.
    Tree(Tree),
    /// Generalised fat tree.
    Xgft(Xgft),
    /// Dragonfly.
    Dragonfly(Dragonfly),
    /// Explicit graph.
    Graph(Graph),
}

/// Asks the family of a shape without dynamic dispatch.
macro_rules! ask {
    ($shape:expr, $family:ident => $answer:expr) => {
        match $shape {
            Shape::Single($family) => $answer,
            Shape::Cube($family) => $answer,
            Shape::Tree($family) => $answer,
            Shape::Xgft($family) => $answer,
            Shape::Dragonfly($family) => $answer,
            Shape::Graph($family) => $answer,
        }
    };
}

/// A fabric's graph. NICs are `0..nics`, switches `0..switches`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    shape: Shape,
    radix: u32,
    /// `peers[switch * radix + port]`.
    peers: Vec<Peer>,
    /// `(switch, port)` of each NIC.
    attachment: Vec<(u32, u32)>,
}

/// Most NICs or switch ports in one fabric: a hundred times the largest machines,
/// and no more than a few gigabytes in the engine.
const MAX_PORTS: u64 = 1 << 22;
/// Most ports of a switch: the hierarchical switch has at most 30 MPorts (the
/// engine keeps the sources of an output in a 64-bit mask).
const MAX_RADIX: u64 = 120;

impl Topology {
    /// One switch with `nics` NICs.
    ///
    /// # Errors
    /// If there is no NIC, or more than 120.
    pub fn single(nics: u32) -> Result<Self, SpecError> {
        Single::build(nics)
    }

    /// A torus (`wrap`) or mesh with `concentration` NICs per switch and
    /// `trunk` parallel links between neighbours. `hosts` limits the number of
    /// NICs (the first ones stay).
    ///
    /// # Errors
    /// If a dimension is below 2, there is no dimension, concentration or
    /// trunk is 0, a switch has more than 120 ports, or the fabric more than 2^22.
    pub fn cube(
        dimensions: &[u32],
        wrap: bool,
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> Result<Self, SpecError> {
        Cube::build(dimensions, wrap, concentration, trunk, hosts)
    }

    /// A k-ary n-tree: `n` levels of `k^(n-1)` switches, `k^n` NICs.
    ///
    /// # Errors
    /// If `k` is below 2, `n` is 0, a switch has more than 120 ports, or the
    /// fabric more than 2^22.
    pub fn k_ary_n_tree(k: u32, n: u32, hosts: Option<u32>) -> Result<Self, SpecError> {
        Tree::build(k, n, hosts)
    }

    /// A generalised fat tree XGFT(h; m1 … mh; w1 … wh) with parallel links (PGFT): nodes
    /// of level l have `down[l-1]` children and `up[l-1]` is the number of parents of
    /// their children, `parallel[l-1]` links to each; hosts are level 0 and have one link.
    ///
    /// # Errors
    /// If the lists are empty or of different lengths, a number is 0, hosts have more
    /// than one link, a switch has more than 120 ports, or the fabric more than 2^22.
    pub fn xgft(
        down: &[u32],
        up: &[u32],
        parallel: &[u32],
        hosts: Option<u32>,
    ) -> Result<Self, SpecError> {
        Xgft::build(down, up, parallel, hosts)
    }

    /// A dragonfly of `size` whose global links are arranged as `arrangement` says. `hosts`
    /// limits the number of NICs (the first ones stay).
    ///
    /// # Errors
    /// If a size is 0, there are more than `a h + 1` groups, a switch has more than 120 ports,
    /// or the fabric more than 2^22.
    pub fn dragonfly(
        size: DragonflySize,
        arrangement: Arrangement,
        hosts: Option<u32>,
    ) -> Result<Self, SpecError> {
        Dragonfly::build(size, arrangement, hosts)
    }

    /// An explicit graph: the (switch, port) of every NIC, and of both ends of every link.
    ///
    /// # Errors
    /// If a port is listed twice or a switch does not exist, a switch cannot reach a NIC, a
    /// link leads back to its switch, a switch has more than 120 ports, or the fabric more
    /// than 2^22.
    pub fn graph(switches: u32, nics: &[(u32, u32)], links: &[Link]) -> Result<Self, SpecError> {
        Graph::build(switches, nics, links)
    }

    /// The family and its parameters.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What the family says of the topology.
    #[must_use]
    pub fn family(&self) -> &dyn Family {
        ask!(&self.shape, family => family)
    }

    /// The out-ports that a packet for NIC `dst` may take at `switch`: the port of the NIC, or
    /// ports to the next switch, which is the same for all of them. `tie` decides which way
    /// round a ring it goes if both are equally long.
    #[must_use]
    pub fn candidates(&self, tie: RingTie, switch: u32, dst: u32) -> Ports {
        let (home, port) = self.attachment(dst);
        if home == switch {
            return Ports::one(port);
        }
        let to = Destination {
            nic: dst,
            switch: home,
        };
        ask!(&self.shape, family => family.candidates(tie, switch, to))
    }

    /// VL class behind `out_port` of a packet of VL class `class` that came to `switch` by
    /// `in_port`. The class is 0 at injection.
    #[must_use]
    pub fn class_behind(&self, switch: u32, in_port: u32, out_port: u32, class: u8) -> u8 {
        let family = self.family();
        let domain = family.class_domain(out_port);
        let stays = domain.is_some() && family.class_domain(in_port) == domain;
        let kept = if stays { class } else { 0 };
        kept.max(family.least_class(switch, out_port))
    }

    /// Number of NICs.
    #[must_use]
    pub fn nics(&self) -> u32 {
        self.attachment.len() as u32
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

    /// What `port` of `switch` is connected to.
    #[must_use]
    pub fn peer(&self, switch: u32, port: u32) -> Peer {
        self.peers[switch as usize * self.radix as usize + port as usize]
    }

    /// `(switch, port)` that `nic` is connected to.
    #[must_use]
    pub fn attachment(&self, nic: u32) -> (u32, u32) {
        self.attachment[nic as usize]
    }

    /// Number of VL classes without which packets can deadlock: 1 if they cannot.
    #[must_use]
    pub fn vl_classes(&self) -> u8 {
        self.family().vl_classes()
    }

    /// Directed switch-to-switch links.
    #[must_use]
    pub fn directed_switch_links(&self) -> u64 {
        self.peers
            .iter()
            .filter(|p| matches!(p, Peer::Switch { .. }))
            .count() as u64
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
            radix: radix as u32,
            peers: vec![Peer::None; (switches * radix) as usize],
            attachment: Vec::with_capacity(nics as usize),
        })
    }

    /// Connects the next NIC (ids ascend) to `port` of `switch`.
    fn attach_next(&mut self, switch: u32, port: u32) {
        let nic = self.attachment.len() as u32;
        self.attachment.push((switch, port));
        self.set_peer(switch, port, Peer::Nic(nic));
    }

    /// Connects two ports, one direction each.
    fn connect(&mut self, a: (u32, u32), b: (u32, u32)) {
        self.set_peer(
            a.0,
            a.1,
            Peer::Switch {
                switch: b.0,
                port: b.1,
            },
        );
        self.set_peer(
            b.0,
            b.1,
            Peer::Switch {
                switch: a.0,
                port: a.1,
            },
        );
    }

    fn set_peer(&mut self, switch: u32, port: u32, peer: Peer) {
        let at = switch as usize * self.radix as usize + port as usize;
        self.peers[at] = peer;
    }
}

/// The number of NICs to attach: `hosts` if given, else all `slots`.
fn host_count(slots: u64, hosts: Option<u32>) -> Result<u64, SpecError> {
    match hosts {
        None => Ok(slots),
        Some(h) if h >= 1 && u64::from(h) <= slots => Ok(u64::from(h)),
        Some(h) => Err(SpecError {
            key: "fabric.hosts",
            problem: format!("{h} hosts do not fit: this topology takes 1 to {slots}"),
        }),
    }
}

fn invalid(problem: String) -> SpecError {
    SpecError {
        key: "fabric.topology",
        problem,
    }
}
