//! Whether a result that was read from a record fits its experiment: a record has numbers of jobs, NICs and ports, and
//! all of them exist there.

use super::Simulation;
use crate::config::Experiment;
use crate::fabric::ids::NicId;
use crate::fabric::stats::LinkEnd;

/// Whether `run` can be the result of `experiment`, judged by the parts of both.
pub(super) fn fits(run: &Simulation, experiment: &Experiment) -> bool {
    let fabric = &experiment.fabric;
    let (topology, levels) = (&fabric.topology, fabric.qos.service_levels.len());
    let is_nic = |nic: NicId| nic.get() < topology.nics();
    let is_end = |end: LinkEnd| match end {
        // Of aggregation nodes, too.
        LinkEnd::Nic(nic) => nic.get() < topology.endpoints(),
        LinkEnd::Port { switch, port } => topology.has_port(switch, port),
    };
    let mut links = run.stats.links.iter();
    let mut jobs = run.jobs.iter().flatten();
    let mut flows = run.background.iter();
    let mut explained = run.explanation.iter().flatten();
    run.stats.service_levels.len() == levels
        && links.all(|link| is_end(link.from) && is_end(link.to))
        && run.jobs.len() <= experiment.jobs.len()
        && jobs.all(|job| job.nics.iter().copied().all(is_nic))
        && run.background.len() <= experiment.background.len()
        && flows.all(|flow| usize::from(flow.sl) < levels)
        && (run.saturation.as_ref())
            .is_none_or(|behind| behind.flow < run.background.len() && is_nic(behind.nic))
        && (run.measured.iter().flat_map(|measured| &measured.batches))
            .all(|batch| batch.service_levels.len() == levels)
        && explained
            .all(|one| one.job < run.jobs.len() && one.links.iter().all(|link| is_end(link.from)))
}
