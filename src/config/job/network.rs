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
    let choices = jobs.iter().map(|job| &job.collectives);
    let mut links = choices
        .filter(|choices| choices.in_network())
        .map(|choices| choices.switch_links);
    let Some(of_first) = links.next() else {
        return Ok(fabric);
    };
    if links.any(|of_other| of_other != of_first) {
        return refused(
            "collectives.switch_links",
            "differs between jobs, which use the same switches; give it in [collectives] alone",
        );
    }
    if node.spec.nics > 1 {
        return refused(
            "collectives",
            "\"in-network\" works only where every NIC is a node; remove node.nics or take another algorithm",
        );
    }
    let fabric = fabric.with_aggregation(of_first)?;
    fabric.validate()?;
    Ok(fabric)
}

/// The keys of the switches: their names, what `said` gives, and the least that it may give.
pub(super) fn details(said: &Choices) -> [(&'static str, Option<u64>, &'static str); 4] {
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
        (
            "switch_links",
            said.switch_links.map(u64::from),
            "switch has at least 1 internal link",
        ),
        // A reduction may take no time.
        (
            "switch_reduction",
            said.switch_reduction.map(|time| time.0.max(1)),
            "",
        ),
    ]
}
