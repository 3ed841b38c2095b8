//! Analysis of the specification of a fabric without a run: hops and loads of all
//! routes, bisection, the route of one packet tick by tick, and whether the fabric can
//! deadlock (`docs/reference/fabric-command.md`). No traffic is simulated.

pub mod bisection;
pub mod channels;
pub mod distance;
pub mod graph;
mod legs;
pub mod path;
pub mod routes;
mod source_routes;
mod table_turns;
mod turns;

use super::ids::{NicId, PortId, SwitchId};
use super::spec::FabricSpec;
use super::topology::Ports;
use thiserror::Error;

/// Routing as a function of switch and destination.
pub trait Routes {
    /// The out-ports that lead a packet for NIC `dst` from `switch` to the next switch, or to
    /// several next switches; none if the switch has no route to it.
    fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports;

    /// The candidates that the packet may be sent to, whatever the load.
    fn choices(&self, switch: SwitchId, dst: NicId) -> Ports {
        self.candidates(switch, dst)
    }

    /// The candidate that the packet takes if it is alone in the fabric.
    fn preferred(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        self.choices(switch, dst).first()
    }
}

impl Routes for FabricSpec {
    fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        self.candidates(switch, dst)
    }

    fn choices(&self, switch: SwitchId, dst: NicId) -> Ports {
        self.choices(switch, dst)
    }

    fn preferred(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        self.preferred(switch, dst)
    }
}

/// Most (switch, destination) pairs that are analysed, which takes some minutes.
pub const MAX_STEPS: u64 = 1 << 32;
/// Most (switch, destination) pairs for which the check is made before every run. It takes
/// about a second.
pub const QUICK_STEPS: u64 = 1 << 24;
/// Most (switch, in-port, out-port) triples, of 4 bytes each, and most dependencies between
/// queues, of 8 bytes each.
pub const MAX_TURNS: u64 = 1 << 28;

/// The fabric is too large to be analysed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the fabric is too large: {what} {count}, at most {limit} are analysed; take a smaller one of the same kind"
)]
#[non_exhaustive]
pub struct TooLarge {
    /// The name of the counted things.
    pub what: &'static str,
    /// The count.
    pub count: u64,
    /// The largest count that is analysed.
    pub limit: u64,
}

impl TooLarge {
    fn check(what: &'static str, count: u64, limit: u64) -> Result<(), Self> {
        if count <= limit {
            return Ok(());
        }
        Err(Self { what, count, limit })
    }
}

/// Number of (switch, destination) pairs of a fabric, which are the steps of an analysis.
#[must_use]
pub fn steps(spec: &FabricSpec) -> u64 {
    u64::from(spec.topology.switches()) * u64::from(spec.topology.nics())
}

/// Number of NICs at each switch.
fn nics_at(spec: &FabricSpec) -> Vec<u32> {
    let mut count = vec![0; spec.topology.switches() as usize];
    for nic in spec.topology.nic_ids() {
        count[spec.topology.attachment(nic).switch.index()] += 1;
    }
    count
}
