//! Routes of single pairs: the answers that need the whole fabric.

use crate::error::error;
use crate::spec::source_routes::SourceRoutes;
use crate::spec::{FabricSpec, SpecError};

const KEY: &str = "fabric.source_routes";

impl FabricSpec {
    /// Checks the routes of single pairs, and that nothing else wants to decide in their place.
    pub(in crate::spec) fn validate_source_routes(&self) -> Result<(), SpecError> {
        let routing = &self.routing;
        if routing.source_routes.is_empty() {
            return Ok(());
        }
        if let Some(key) = self
            .key_of_choice()
            .filter(|_| routing.forwarding.is_none())
        {
            let problem = "lets packets choose among paths, and fabric.source_routes names the paths of pairs; remove one \
                           of the two";
            return error(key, problem.into());
        }
        if self.needs_classes() {
            let problem = "the VL classes of this topology follow its own routing, and these routes need not; name \
                           fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \"dfsssp\", or give fabric.forwarding";
            return error(KEY, problem.into());
        }
        if !routing.changes.is_empty() {
            let problem =
                "these routes stay when links go down; remove them, or fabric.reroute_after";
            return error(KEY, problem.into());
        }
        let (topology, failed) = (&self.topology, routing.failed_ports());
        for (&pair, route) in &routing.source_routes.0 {
            let of_pair = |problem: String| SpecError {
                key: KEY,
                problem: format!("the pair {} {}: {problem}", pair.src, pair.dst),
            };
            SourceRoutes::check(topology, pair, route).map_err(of_pair)?;
            if let Some(&at) = route.iter().find(|at| failed.contains(at)) {
                let (switch, port) = (topology.switch_text(at.switch), topology.port_text(at));
                return Err(of_pair(format!(
                    "the link at {port} of {switch} has failed; lead it around"
                )));
            }
        }
        Ok(())
    }
}
