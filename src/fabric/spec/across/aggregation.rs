//! Aggregation nodes in a specification, and what a fabric with them must not have.

use crate::error::error;
use crate::spec::{FabricSpec, Paths, SpecError, UpPorts};

impl FabricSpec {
    /// The same with [aggregation nodes](crate::topology::Aggregation) in its switches, each with at most
    /// `links` internal links.
    ///
    /// # Errors
    /// If a switch does not have the ports, or something of the fabric does not work with them.
    pub fn with_aggregation(mut self, links: Option<u32>) -> Result<Self, SpecError> {
        let routing = &self.routing;
        let unfit = [
            (
                !self.outages.is_empty() || !routing.changes.is_empty(),
                "links that fail or return (`[[event]]`)",
            ),
            (
                !routing.failed.is_empty(),
                "failed links (`fabric.failure`)",
            ),
            (self.link_power.is_some(), "managed links (`power.policy`)"),
            (
                routing.paths != Paths::Minimal,
                "detours (`fabric.paths`): trees take minimal paths",
            ),
            (
                routing.up_ports == UpPorts::LeastQueued,
                "a choice of up-ports (`fabric.up_ports`): trees take one link",
            ),
            (
                self.qos.vl_policy.queueing().is_some(),
                "queueing schemes (`qos.vl_policy`), which have no queue for aggregation nodes",
            ),
        ];
        if let Some((_, what)) = unfit.into_iter().find(|(given, _)| *given) {
            let problem = format!(
                "\"in-network\" does not work with {what}; remove it or take another algorithm"
            );
            return error("collectives", problem);
        }
        self.topology = self.topology.with_aggregation(links)?;
        Ok(self)
    }
}
