//! What a family of topologies says of itself: everything that is not the same for every
//! graph. Each family has a file of its own and is listed in [`Shape`](super::Shape).

use super::{Ports, Topology};
use crate::fabric::spec::RingTie;
use serde_json::Value;
use std::ops::Range;

/// Where a packet goes: a NIC, and the switch that it is connected to.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// NIC.
    pub nic: u32,
    /// Its switch.
    pub switch: u32,
}

/// Where a switch is within its topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The family has no places.
    None,
    /// Coordinates, dimension 0 first.
    Coordinates(Vec<u32>),
    /// A position within a part, such as a level or a group.
    Within {
        /// What the part is called.
        part: &'static str,
        /// Number of the part.
        number: u32,
        /// Position of the switch in the part, from 0.
        position: u32,
    },
}

/// How the switches are arranged in a drawing. Ranges are switch ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drawing {
    /// Without an order.
    Plain,
    /// Levels, the topmost first.
    Levels(Vec<Range<u32>>),
    /// Groups that are drawn together.
    Groups(Vec<Range<u32>>),
}

/// A family of topologies with its parameters. VL classes are explained in `docs/model.md`,
/// section 7.
pub trait Family {
    /// The out-ports that a packet at `switch` may take to a destination at another switch.
    /// All lead to the same switch.
    fn candidates(&self, tie: RingTie, switch: u32, to: Destination) -> Ports;

    /// "torus 4x4, concentration 8, trunk 10".
    fn name(&self) -> String;

    /// The parameters as JSON; an object with at least `kind`.
    fn parameters(&self, topology: &Topology) -> Value;

    /// Where `switch` is.
    fn place(&self, _switch: u32) -> Place {
        Place::None
    }

    /// How to draw the switches.
    fn drawing(&self) -> Drawing {
        Drawing::Plain
    }

    /// Parallel links between neighbours, which routing may choose from.
    fn trunk(&self) -> u32 {
        1
    }

    /// The up-ports of `switch` in a tree, any of which leads nearer to a destination that is not
    /// below the switch. Their numbers are consecutive.
    fn up_ports(&self, _switch: u32) -> Ports {
        Ports::NONE
    }

    /// Number of VL classes without which packets can deadlock.
    fn vl_classes(&self) -> u8 {
        1
    }

    /// The domain of `port`: a packet keeps its VL class from an in-port to an out-port of the
    /// same domain, and starts from class 0 otherwise. `None` is no domain.
    fn class_domain(&self, _port: u32) -> Option<u8> {
        None
    }

    /// The least VL class of packets on the link that leaves `switch` by `port`: above 0 at
    /// datelines.
    fn least_class(&self, _switch: u32, _port: u32) -> u8 {
        0
    }

    /// True if the link that leaves `switch` by `port` closes a ring.
    fn is_wrap_link(&self, _switch: u32, _port: u32) -> bool {
        false
    }

    /// Links between the halves of the NICs, each counted once for both directions, and the
    /// formula (`docs/fabric-command.md`). `None` if no closed form is known.
    fn bisection(&self, _topology: &Topology) -> Option<(u64, &'static str)> {
        None
    }

    /// Orders of the `switches` switches that may give small cuts, each with its name. A cut
    /// puts the first switches of an order on one side.
    fn cuts(&self, _switches: u32) -> Vec<(String, Vec<u32>)> {
        Vec::new()
    }

    /// The switch that the tornado pattern leads to from `switch`: almost half way round in
    /// every dimension. `None` without dimensions.
    fn tornado(&self, _switch: u32) -> Option<u32> {
        None
    }
}
