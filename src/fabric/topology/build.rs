//! The topologies of all families by their parameters.

use super::{
    Arrangement, Cube, Dragonfly, DragonflySize, FatTreeSize, Graph, HyperX, Kns, KnsSize, Link,
    Megafly, MegaflySize, Single, SlimFly, Topology, Tree, Xgft,
};
use crate::error::SpecError;
use crate::ids::SwitchPort;

impl Topology {
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
        Cube::laid_out(dimensions, wrap, concentration, trunk, hosts).map(Self::of)
    }

    /// A k-ary n-tree: `n` levels of `k^(n-1)` switches, `k^n` NICs.
    ///
    /// # Errors
    /// If `k` is below 2, `n` is 0, a switch has more than 120 ports, or the
    /// fabric more than 2^22.
    pub fn k_ary_n_tree(k: u32, n: u32, hosts: Option<u32>) -> Result<Self, SpecError> {
        Tree::laid_out(k, n, hosts).map(Self::of)
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
        Xgft::laid_out(down, up, parallel, hosts).map(Self::of)
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
        Dragonfly::laid_out(size, arrangement, hosts).map(Self::of)
    }

    /// A HyperX: a lattice with a full mesh along every line, `trunk` parallel links between neighbours and
    /// `concentration` NICs per switch. `hosts` limits the number of NICs (the first ones stay).
    ///
    /// # Errors
    /// If a dimension is below 2, there is no dimension, concentration or trunk is 0, a switch has more than 120
    /// ports, or the fabric more than 2^22.
    pub fn hyperx(
        dimensions: &[u32],
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> Result<Self, SpecError> {
        HyperX::laid_out(dimensions, concentration, trunk, hosts).map(Self::of)
    }

    /// A slim fly over GF(`q`) with `p` NICs per switch, by default half of its links to switches, rounded up. `hosts`
    /// limits the number of NICs (the first ones stay).
    ///
    /// # Errors
    /// If `q` is no power of a prime from 3 to 49, `p` is 0, or a switch has more than 120 ports.
    pub fn slim_fly(q: u32, p: Option<u32>, hosts: Option<u32>) -> Result<Self, SpecError> {
        SlimFly::laid_out(q, p, hosts).map(Self::of)
    }

    /// A megafly (Dragonfly+) of `size` whose global links are arranged as `arrangement` says. `hosts`
    /// limits the number of NICs (the first ones stay).
    ///
    /// # Errors
    /// If a size is 0, there are more than `s h + 1` groups, a switch has more than 120 ports,
    /// or the fabric more than 2^22.
    pub fn megafly(
        size: MegaflySize,
        arrangement: Arrangement,
        hosts: Option<u32>,
    ) -> Result<Self, SpecError> {
        Megafly::laid_out(size, arrangement, hosts).map(Self::of)
    }

    /// A k-ary n-direct s-indirect topology of `size`. `hosts` limits the number of NICs (the first ones stay).
    ///
    /// # Errors
    /// If `k` is below 2 or no power `s` of a whole number, another number is 0, a switch has more than 120 ports, or
    /// the fabric more than 2^22.
    pub fn kns(size: KnsSize, hosts: Option<u32>) -> Result<Self, SpecError> {
        Kns::laid_out(size, hosts).map(Self::of)
    }

    /// One switch with `nics` NICs.
    ///
    /// # Errors
    /// If there is no NIC, or more than 120.
    pub fn single(nics: u32) -> Result<Self, SpecError> {
        Single::laid_out(nics).map(Self::of)
    }

    /// An explicit graph: the port of every NIC, and both ends of every link.
    ///
    /// # Errors
    /// If a port is listed twice or a switch does not exist, a switch cannot reach a NIC, a
    /// link leads back to its switch, a switch has more than 120 ports, or the fabric more
    /// than 2^22.
    pub fn graph(switches: u32, nics: &[SwitchPort], links: &[Link]) -> Result<Self, SpecError> {
        Graph::laid_out(switches, nics, links).map(Self::of)
    }

    /// A fat tree of switches of one radix, as the [`Xgft`] that it is. `hosts` limits the number of NICs (the
    /// first ones stay).
    ///
    /// All switches have `radix` ports. A leaf switch has `oversubscription` ports down for
    /// each one up, switches above half of their ports each, and the top only ports down. With fewer subtrees below the top than it
    /// has ports there are fewer top switches, with parallel links.
    ///
    /// # Errors
    /// If the numbers do not divide, a switch has more than 120 ports, or the fabric more than 2^22.
    pub fn fat_tree(size: FatTreeSize, hosts: Option<u32>) -> Result<Self, SpecError> {
        Xgft::fat_tree(size, hosts).map(Self::of)
    }
}
