//! The trait of a family of topologies: everything that differs from family to family. Each
//! family has its own file and is a variant of [`Shape`](super::Shape).

use super::{Cabling, FamilyParameters, Lattice, Ports};
use crate::ids::{NicId, PortId, SwitchId};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Direction taken when both directions round an even ring are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RingTie {
    /// Always the positive direction.
    Positive,
    /// Positive from even coordinates, negative from odd ones.
    SourceParity,
}

/// The destination of a packet: a NIC, and the switch that it is connected to.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// NIC.
    pub nic: NicId,
    /// Its switch.
    pub switch: SwitchId,
}

/// The place of a switch within its topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The family has no places.
    None,
    /// Coordinates, dimension 0 first.
    Coordinates(Vec<u32>),
    /// A position within a part, such as a level or a group.
    Within {
        /// The name of the part.
        part: &'static str,
        /// Number of the part.
        number: u32,
        /// Position of the switch in the part, from 0.
        position: u32,
    },
    /// A position in a tree that joins the routers of a line.
    OnLine {
        /// Dimension of the line.
        dimension: u32,
        /// Number of the line in its dimension.
        line: u32,
        /// Level of the tree, from 0.
        level: u32,
        /// Position in the level, from 0.
        position: u32,
    },
}

impl Place {
    /// The place of `switch` in a group of `size` switches with consecutive ids.
    pub(super) fn in_group(switch: SwitchId, size: u32) -> Self {
        Self::Within {
            part: "group",
            number: switch.get() / size,
            position: switch.get() % size,
        }
    }
}

/// The arrangement of the switches in a drawing. Ranges are switch ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drawing {
    /// Without an order.
    Plain,
    /// Levels, the topmost first.
    Levels(Vec<Range<SwitchId>>),
    /// Groups that are drawn together.
    Groups(Vec<Range<SwitchId>>),
}

impl Drawing {
    /// `count` groups of `size` switches with consecutive ids.
    pub(super) fn equal_groups(count: u32, size: u32) -> Self {
        let first = |group| SwitchId::new(group * size);
        let group = |group| first(group)..first(group + 1);
        Self::Groups((0..count).map(group).collect())
    }
}

/// An order of all switches. Cuts put the first switches of it on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchOrder {
    /// The name of the criterion of the order.
    pub name: String,
    /// The switches.
    pub switches: Vec<SwitchId>,
}

impl SwitchOrder {
    /// The order of `count` switches by `key`, equal ones by id.
    pub(super) fn by(name: String, count: u32, key: impl Fn(SwitchId) -> u32) -> Self {
        let mut switches: Vec<SwitchId> = SwitchId::all(count).collect();
        switches.sort_by_key(|&switch| (key(switch), switch));
        Self { name, switches }
    }

    /// The order through all groups, by `position`, the position in the group.
    pub(super) fn through_groups(count: u32, position: impl Fn(SwitchId) -> u32) -> Vec<Self> {
        vec![Self::by(
            "by position in the group".to_owned(),
            count,
            position,
        )]
    }
}

/// A bisection by formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedForm {
    /// Links between the halves, each counted once for both directions.
    pub links: u64,
    /// The formula.
    pub formula: &'static str,
}

/// A family of topologies with its parameters. VL classes are explained in `docs/model/fabric.md`,
/// section 7.
pub trait Family {
    /// The out-ports that a packet at `switch` may take to a destination at another switch.
    /// All lead to the same switch.
    fn candidates(&self, tie: RingTie, switch: SwitchId, to: Destination) -> Ports;

    /// "torus 4x4, concentration 8, trunk 10".
    fn name(&self) -> String;

    /// The parameters in results.
    fn parameters(&self, cabling: &Cabling) -> FamilyParameters;

    /// The lattice of the switches, if they are on one. It answers [`Self::place`], [`Self::group`],
    /// [`Self::coordinate`], [`Self::trunk`] and [`Self::cuts`] of its families.
    fn lattice(&self) -> Option<&Lattice> {
        None
    }

    /// The place of `switch`.
    fn place(&self, switch: SwitchId) -> Place {
        self.lattice()
            .map_or(Place::None, |lattice| lattice.place(switch))
    }

    /// The group of `switch`, which has NICs: the largest parts below the whole, within which paths are
    /// shorter than between them. `None` if the family has no such parts.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        self.lattice()?.group(switch)
    }

    /// The group of `switch`, which may have no NICs, in families whose minimal routes lead straight into the group of
    /// their destination and stay there. Detours lead over other groups. `None` in other families.
    fn global_group(&self, _switch: SwitchId) -> Option<u32> {
        None
    }

    /// The arrangement of the switches in drawings.
    fn drawing(&self) -> Drawing {
        Drawing::Plain
    }

    /// Coordinate of a switch with NICs in a dimension; 0 if the family has none.
    fn coordinate(&self, switch: SwitchId, dimension: u32) -> u32 {
        self.lattice()
            .map_or(0, |lattice| lattice.coordinate(switch, dimension as usize))
    }

    /// Whether links close rings, round which a packet may go in either direction.
    fn has_rings(&self) -> bool {
        false
    }

    /// Whether routing may choose among up-ports.
    fn has_up_ports(&self) -> bool {
        false
    }

    /// Whether a detour that begins at a switch without NICs can turn back on itself and deadlock.
    fn can_turn_back(&self) -> bool {
        false
    }

    /// Parallel links between neighbours, which routing may choose from.
    fn trunk(&self) -> u32 {
        self.lattice().map_or(1, |lattice| lattice.trunk)
    }

    /// The up-ports of `switch` in a tree, any of which leads nearer to a destination that is not
    /// below the switch. Their numbers are consecutive.
    fn up_ports(&self, _switch: SwitchId) -> Ports {
        Ports::NONE
    }

    /// The dimension along which the link at `port` of `switch` leads; `None` for ports to NICs, and in families
    /// without dimensions.
    fn dimension(&self, _switch: SwitchId, _port: PortId) -> Option<u8> {
        None
    }

    /// Number of VL classes without which packets can deadlock.
    fn vl_classes(&self) -> u8 {
        1
    }

    /// The domain of `port`: a packet keeps its VL class from an in-port to an out-port of the
    /// same domain, and starts from class 0 otherwise. `None` is no domain.
    fn class_domain(&self, _port: PortId) -> Option<u8> {
        None
    }

    /// The least VL class of packets on the link that leaves `switch` by `port`: above 0 at
    /// datelines. Less than [`Self::vl_classes`].
    fn least_class(&self, _switch: SwitchId, _port: PortId) -> u8 {
        0
    }

    /// The least VL class of packets that go from `in_port` to `out_port` of any switch: above 0 where classes count
    /// hops. Less than [`Self::vl_classes`].
    fn least_class_between(&self, _in_port: PortId, _out_port: PortId) -> u8 {
        0
    }

    /// Whether the link that leaves `switch` by `port` closes a ring.
    fn is_wrap_link(&self, _switch: SwitchId, _port: PortId) -> bool {
        false
    }

    /// Links between the halves of the NICs (`docs/reference/fabric-command.md`). `None` if no closed form is
    /// known.
    fn bisection(&self, _cabling: &Cabling) -> Option<ClosedForm> {
        None
    }

    /// Orders of the `switches` switches that may give small cuts.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        self.lattice()
            .map_or_else(Vec::new, |lattice| lattice.cuts(switches))
    }

    /// The destination of the tornado pattern for `switch`: almost halfway round in
    /// every dimension. `None` without dimensions.
    fn tornado(&self, _switch: SwitchId) -> Option<SwitchId> {
        None
    }
}
