//! What can be said of a fabric before anything runs on it: hops and loads as
//! routed, bisection, the way of a packet, and whether it can deadlock
//! (`docs/fabric-command.md`).

pub mod bisection;
pub mod channels;
pub mod distance;
pub mod graph;
pub mod path;
pub mod routes;
mod table_turns;
mod train;

use super::infiniband::SwitchKind;
use super::routing::{NextHop, next_hop};
use super::spec::FabricSpec;
use thiserror::Error;

/// How packets find their way, as a function of switch and destination.
pub trait Routes {
    /// Next hop from `switch` to NIC `dst`; `None` if the switch knows no way.
    fn next_hop(&self, switch: u32, dst: u32) -> Option<NextHop>;
}

impl Routes for FabricSpec {
    /// By the forwarding tables, if there are any, else as the topology routes.
    fn next_hop(&self, switch: u32, dst: u32) -> Option<NextHop> {
        let tables = match &self.kind {
            SwitchKind::Voq(voq) => voq.forwarding.as_ref(),
            SwitchKind::Hierarchical => None,
        };
        let Some(tables) = tables else {
            let tie = self.routing.ring_tie;
            return Some(next_hop(&self.topology, tie, switch, dst));
        };
        let port = u32::from(*tables.ports.get(switch as usize)?.get(dst as usize)?);
        Some(match self.topology.attachment(dst) == (switch, port) {
            true => NextHop::Local(port),
            false => NextHop::Trunk {
                first: port,
                links: 1,
            },
        })
    }
}

/// Most (switch, destination) pairs that are walked: some minutes.
pub const MAX_STEPS: u64 = 1 << 32;
/// Most (switch, destination) pairs for which a check is worth its time before
/// every run: about a second.
pub const QUICK_STEPS: u64 = 1 << 24;
/// Most (switch, input port, output port) triples and most dependencies between
/// queues, of 4 and 8 bytes each.
pub const MAX_TURNS: u64 = 1 << 28;

/// A fabric too large to be analysed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the fabric is too large: {what} {count}, at most {limit} are analysed; take a smaller one of the same kind"
)]
pub struct TooLarge {
    /// What there is too much of.
    pub what: &'static str,
    /// How much there is.
    pub count: u64,
    /// How much there may be.
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

/// (switch, destination) pairs of a fabric: the steps that an analysis takes.
#[must_use]
pub fn steps(spec: &FabricSpec) -> u64 {
    u64::from(spec.topology.switches()) * u64::from(spec.topology.nics())
}

/// NICs at each switch.
fn nics_at(spec: &FabricSpec) -> Vec<u32> {
    let mut count = vec![0; spec.topology.switches() as usize];
    for nic in 0..spec.topology.nics() {
        count[spec.topology.attachment(nic).0 as usize] += 1;
    }
    count
}
