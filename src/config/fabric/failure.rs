//! `[[fabric.failure]]` and the routings that lead around failures.

use crate::config::document::{ConfigError, refused};
use crate::fabric::spec::Routing;
use crate::fabric::topology::Topology;
use crate::oblivious::{Failure, RoutingEngine};
use schemars::JsonSchema;
use serde::Deserialize;

/// Something that has failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFailure {
    /// A switch (`"s20"`), the link at a port (`"s4 port 7"`), all links between two switches (`"s4 - s17"`) or one
    /// of them (`"s4 - s17 #2"`), or a number to be drawn: `"random:3 links"`, `"random:1 switches"`.
    pub what: String,
}

/// Reads what has failed. `seed` decides random failures.
pub(crate) fn parse(raw: &[RawFailure], seed: Option<u64>) -> Result<Vec<Failure>, ConfigError> {
    let parse = |(i, failure): (usize, &RawFailure)| {
        let key = || format!("fabric.failure.{i}.what");
        Failure::parse(&failure.what).map_err(|problem| ConfigError::new(key(), problem))
    };
    let failures: Vec<Failure> = raw
        .iter()
        .enumerate()
        .map(parse)
        .collect::<Result<_, _>>()?;
    if seed.is_some() && !failures.iter().any(Failure::is_random) {
        let problem =
            "no failure is drawn at random; remove it, or add { what = \"random:1 links\" }";
        return refused("fabric.failure_seed", problem);
    }
    Ok(failures)
}

/// Has `engine` route the topology around `failures`, of which `seed` draws the random ones. Without an engine there
/// must
/// be no failures; `has_tables` tells whether forwarding tables take its place.
pub(crate) fn reroute(
    failures: &[Failure],
    engine: Option<RoutingEngine>,
    has_tables: bool,
    topology: &Topology,
    seed: u64,
    routing: &mut Routing,
) -> Result<(), ConfigError> {
    let Some(engine) = engine else {
        if failures.is_empty() {
            return Ok(());
        }
        let problem = if has_tables {
            "forwarding tables do not lead around failures; name a routing in their place: "
        } else {
            "the topology's own routing does not lead around failures; name another one: "
        };
        let problem =
            format!("{problem}fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \"dfsssp\"");
        return refused("fabric.failure", problem);
    };
    let rerouted = engine.tables_of(topology, failures, seed)?;
    routing.forwarding = Some(rerouted.tables);
    routing.failed = rerouted.failed;
    Ok(())
}
