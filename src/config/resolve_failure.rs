//! `[[fabric.failure]]` and the routings that lead around failures.

use super::error::ConfigError;
use super::raw_fabric::RawFabric;
use crate::fabric::spec::Routing;
use crate::fabric::topology::Topology;
use crate::oblivious::{Failure, RoutingEngine};
use serde::Deserialize;

/// Something that has failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFailure {
    /// As [`Failure::parse`] reads it.
    pub what: String,
}

/// Has `engine` route the topology around what has failed. Without an engine there must be no failures. `seed`: of the
/// experiment.
pub(super) fn reroute(
    raw: &RawFabric,
    engine: Option<RoutingEngine>,
    topology: &Topology,
    seed: u64,
    routing: &mut Routing,
) -> Result<(), ConfigError> {
    let failures = raw.failure.as_deref().unwrap_or_default();
    let parse = |(i, failure): (usize, &RawFailure)| {
        let key = || format!("fabric.failure.{i}.what");
        Failure::parse(&failure.what).map_err(|problem| ConfigError::new(key(), problem))
    };
    let failures: Vec<Failure> = failures
        .iter()
        .enumerate()
        .map(parse)
        .collect::<Result<_, _>>()?;
    if raw.failure_seed.is_some() && !failures.iter().any(Failure::is_random) {
        let problem =
            "no failure is drawn at random; remove it, or add { what = \"random:1 links\" }";
        return Err(ConfigError::new("fabric.failure_seed", problem));
    }
    let Some(engine) = engine else {
        if failures.is_empty() {
            return Ok(());
        }
        let problem = match raw.forwarding {
            Some(_) => {
                "forwarding tables do not lead around failures; remove fabric.forwarding, and name a routing: "
            }
            None => "the topology's own routing does not lead around failures; name another one: ",
        };
        let problem =
            format!("{problem}fabric.routing = \"min-hop\", \"updn\", \"ftree\" or \"dfsssp\"");
        return Err(ConfigError::new("fabric.failure", problem));
    };
    let seed = raw.failure_seed.unwrap_or(seed);
    let rerouted = engine.tables_of(topology, &failures, seed)?;
    routing.forwarding = Some(rerouted.tables);
    routing.failed = rerouted.failed;
    Ok(())
}
