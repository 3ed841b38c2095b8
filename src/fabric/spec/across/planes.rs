//! A fabric of several planes from the fabric of one.

use crate::error::error;
use crate::spec::congestion::Marker;
use crate::spec::{FabricSpec, Paths, SpecError, VlPolicy};

/// The key of the number of planes.
const KEY: &str = "node.rails";

impl FabricSpec {
    /// `copies` planes like this fabric ([`Topology::in_planes`](crate::topology::Topology::in_planes)). Messages stay on
    /// the plane of their NICs.
    ///
    /// # Errors
    /// If they are too large together, or a setting of the fabric names switches, ports or NICs of one plane.
    pub fn in_planes(mut self, copies: u32) -> Result<Self, SpecError> {
        if copies < 2 {
            return Ok(self);
        }
        let marker = self.congestion_control.as_ref().map(|c| &c.marker);
        let own_ports = matches!(marker, Some(Marker::PortVl(m)) if !m.exceptions.is_empty());
        let own_rates = |links: &crate::spec::LinkRates| !links.exceptions.is_empty();
        let named = [
            (
                self.routing.forwarding.is_some(),
                "forwarding tables (`fabric.forwarding`, a computed `fabric.routing`, or of a file)",
            ),
            (
                !self.routing.source_routes.is_empty(),
                "routes of single pairs (`fabric.source_routes`)",
            ),
            (
                self.routing.paths != Paths::Minimal,
                "detours (`fabric.paths`)",
            ),
            (
                self.qos.vl_policy != VlPolicy::ServiceChannels,
                "queueing schemes and SL-to-VL tables (`qos.vl_policy`, `fabric.sl2vl`)",
            ),
            (
                !self.link_latency.exceptions.is_empty()
                    || self.switch.kind().links().is_some_and(own_rates),
                "rates and lengths of single links (`fabric.link_speeds`, or of a file)",
            ),
            (
                own_ports,
                "thresholds of single ports (`congestion_control.port`)",
            ),
            (
                !self.outages.is_empty() || !self.degraded.is_empty(),
                "events (`[[event]]`)",
            ),
            (
                self.topology.names().is_some(),
                "names of operators (`ibnetdiscover`)",
            ),
        ];
        if let Some((_, what)) = named.into_iter().find(|(given, _)| *given) {
            let problem = format!(
                "{copies} planes are copies of one, and {what} name parts of a single one; remove them or take 1 rail"
            );
            return error(KEY, problem);
        }
        self.topology = self.topology.in_planes(copies).map_err(|e| SpecError {
            key: KEY,
            problem: e.problem,
        })?;
        Ok(self)
    }
}
