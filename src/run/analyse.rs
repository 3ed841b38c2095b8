//! The task of an experiment that asks for a static analysis: nothing is simulated.

use super::{RunError, Simulation, Status};
use crate::config::{ConfigError, Experiment};
use crate::fabric::stats::FabricStats;
use crate::oblivious::{Analysis, Network, Request};
use crate::stop::Stop;
use anyhow::anyhow;
use std::time::Instant;

/// Analyses what `request` asks on one thread: tasks go side by side.
pub(super) fn analyse(
    experiment: &Experiment,
    request: &Request,
    stop: Stop<'_>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let fabric = &experiment.fabric;
    let network = Network::of_fabric(fabric).map_err(|e| ConfigError::new("fabric", e.problem))?;
    let bad = |problem| ConfigError::new("congestion", problem);
    let graph = &network.graph;
    let settings = request
        .settings(graph, experiment.seed, None)
        .map_err(bad)?;
    settings.check(graph).map_err(bad)?;
    let mut analysis = Analysis::default();
    analysis.extend(&network, &settings, request.runs, 1, stop);
    let whole = analysis.runs.len() as u64 == request.runs;
    if whole && analysis.lost() > 0 && !request.skip_lost {
        return Err(RunError::Failed(anyhow!(
            "{} pairs of the pattern have no route; `flitwise congestion` names the entry at fault, and \
             congestion.skip_lost = true leaves such pairs out",
            analysis.lost()
        )));
    }
    let worst = if whole {
        network.worst_of(request)
    } else {
        None
    };
    Ok(Simulation {
        status: if whole {
            Status::Complete
        } else {
            Status::Interrupted
        },
        stats: FabricStats::none(fabric.qos.service_levels.len()),
        congestion: analysis.means(worst.as_ref()),
        wall: started.elapsed(),
        ..Simulation::default()
    })
}
