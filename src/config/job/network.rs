//! The switches of a fabric whose jobs leave collectives to them.

use super::Job;
use crate::config::document::{ConfigError, refused};
use crate::config::node::Node;
use crate::fabric::spec::FabricSpec;
use crate::replay::collectives::Choices;

/// `fabric`, with aggregation nodes in its switches if a job needs them.
pub(crate) fn with_switches(
    fabric: FabricSpec,
    node: &Node,
    jobs: &[Job],
) -> Result<FabricSpec, ConfigError> {
    if !jobs.iter().any(|job| job.collectives.in_network()) {
        return Ok(fabric);
    }
    if node.spec.nics > 1 {
        return refused(
            "collectives",
            "\"in-network\" works only where every NIC is a node; remove node.nics or take another algorithm",
        );
    }
    let fabric = fabric.with_aggregation()?;
    fabric.validate()?;
    Ok(fabric)
}

/// The keys of the switches: their names, what `said` gives, and the least that it may give.
pub(super) fn details(said: &Choices) -> [(&'static str, Option<u64>, &'static str); 3] {
    [
        (
            "switch_payload",
            said.switch_payload.map(|bytes| bytes.0),
            "segment has at least 1 byte",
        ),
        (
            "switch_operations",
            said.switch_operations.map(u64::from),
            "switch takes at least 1 segment",
        ),
        // A reduction may take no time.
        (
            "switch_reduction",
            said.switch_reduction.map(|time| time.0.max(1)),
            "",
        ),
    ]
}
