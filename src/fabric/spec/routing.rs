//! Routing as plain data.

use crate::fabric::ids::PortId;

/// Which of the parallel links of a trunk a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrunkSelection {
    /// Destination NIC modulo the number of links; keeps the order of a flow.
    Destination,
    /// Each routed packet takes the next link.
    RoundRobin,
    /// The link whose output buffer has the fewest credits reserved; ties go
    /// to the lowest index.
    LeastQueued,
}

/// Direction taken when both ways round an even ring are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingTie {
    /// Always the positive direction.
    Positive,
    /// Positive from even coordinates, negative from odd ones.
    SourceParity,
}

/// Which up-port a packet takes on its way up a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpPorts {
    /// That of the destination (D-mod-k); keeps the order of a flow.
    Destination,
    /// The one with the shortest queue; ties go to the first at or after the up-port of the destination,
    /// once around.
    LeastQueued,
}

/// Routing settings; the algorithm follows from the topology (dimension order
/// on torus and mesh, DESTRO on trees).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Tie-breaking on rings.
    pub ring_tie: RingTie,
    /// Link selection on trunks.
    pub trunk: TrunkSelection,
    /// Selection of up-ports on trees.
    pub up_ports: UpPorts,
    /// Linear forwarding tables; `None`: the topology's own routing.
    pub forwarding: Option<ForwardingTables>,
}

impl Default for Routing {
    /// The topology's own routing; ties go up, and destinations choose the links of trunks
    /// and the up-ports of trees.
    fn default() -> Self {
        Self {
            ring_tie: RingTie::Positive,
            trunk: TrunkSelection::Destination,
            up_ports: UpPorts::Destination,
            forwarding: None,
        }
    }
}

/// Linear forwarding tables: the output port for every destination, at every switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingTables {
    /// `[switch][destination NIC]`.
    pub ports: Vec<Vec<PortId>>,
}
