//! Makes the workload of an experiment: jobs with their traces, and background flows.

use super::traces::Traces;
use super::{Network, RunError};
use crate::config::experiment::{self, Job};
use crate::config::{ConfigError, Experiment};
use crate::fabric::ids::NicId;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::replay::background::{BackgroundFlow, MessageSize, NicQueueing, Rate, message_units};
use crate::replay::collectives::in_network::Switches;
use crate::replay::mpi::Protocol;
use crate::replay::outcome::JobOutcome;
use crate::replay::trace::{Reading, TraceFile, Wording, known_regions};
use crate::replay::{
    ComputeModel, IntraNode, JobSpec, NodeSpec, Repeat, Replay, ReplaySpec, SendCompletion,
};
use crate::stop::Stop;
use crate::units::{Ratio, TickLength};
use flitwise_base::quote::quoted;
use std::collections::HashMap;

/// Whether a run on `network` replays `job`. Where messages do not meet, jobs that repeat until the others end are left
/// out: they affect no other job there, and a repetition without computation takes no time.
fn replays(job: &Job, network: Network) -> bool {
    let left_out = network != Network::Fabric && job.repeat == Repeat::UntilOthersEnd;
    job.enabled && !left_out
}

/// The outcomes of a replay on `network` by job of the experiment: `None` for a job that the replay leaves out. `run_end_ps`:
/// the end of a run that cuts off the jobs that are not complete.
pub(super) fn outcomes_by_job(
    experiment: &Experiment,
    network: Network,
    replay: &Replay,
    run_end_ps: Option<u64>,
) -> Vec<Option<JobOutcome>> {
    let mut outcomes = replay.outcomes_until(run_end_ps).into_iter();
    let of = |job| replays(job, network).then(|| outcomes.next()).flatten();
    experiment.jobs.iter().map(of).collect()
}

/// The least simulated time that is needed by the jobs that a run waits for; `None` if one of them has no ideal clock,
/// or there is no such job.
pub(super) fn least_ps(experiment: &Experiment, traces: &Traces) -> Option<u64> {
    let awaited = experiment.jobs.iter().filter(|job| job.enabled);
    let ends = awaited.filter_map(|job| match job.repeat {
        Repeat::Times(times) => Some((job, u64::from(times))),
        Repeat::UntilOthersEnd => None,
    });
    let mut end_ps: HashMap<&str, u64> = HashMap::new();
    let ends = ends.map(|(job, times)| {
        // If all computations scale alike, their longest chain does as well.
        let compute = &job.compute;
        let alike =
            compute.cap_ps.is_none() && compute.factors.is_empty() && compute.regions.is_empty();
        let ideal_ps = traces.of(job).ok()?.ideal_ps();
        let ideal_ps = ideal_ps.filter(|_| alike && compute.noise.is_zero())?;
        let once = job.compute_scale.mul_round(ideal_ps)?;
        let before = job
            .after
            .iter()
            .filter_map(|name| end_ps.get(name.as_str()));
        let start_ps = before.copied().fold(job.start_ps, u64::max);
        let end = start_ps.saturating_add(once.saturating_mul(times));
        end_ps.insert(&job.name, end);
        Some(end)
    });
    ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Places all jobs, and opens the traces of the jobs that the run replays. On an ideal network a
/// tick is a picosecond; only the fabric itself has background flows.
pub(super) fn replay_of<'a>(
    experiment: &Experiment,
    traces: &Traces,
    background_until: Option<Tick>,
    network: Network,
    stop: Stop<'a>,
) -> Result<(Replay<'a>, u64), RunError> {
    let fabric = &experiment.fabric;
    let (jobs, operations) = jobs_of(experiment, traces, network, stop)?;
    let replay = Replay::new(ReplaySpec {
        tick: match network {
            Network::Fabric | Network::Unloaded => fabric.units.tick,
            Network::Ideal => TickLength::whole(1),
        },
        nics: fabric.topology.nics(),
        node: experiment.node.clone(),
        switches: Switches::of(&fabric.topology),
        queueing: fabric.queueing(),
        nic_queueing: match network {
            Network::Fabric => experiment.nic_queueing,
            // Messages do not meet there, and nothing asks for the next one.
            Network::Unloaded | Network::Ideal => NicQueueing::Fifo,
        },
        seed: experiment.seed,
        background: match network {
            Network::Fabric => flows_of(experiment)?,
            Network::Unloaded | Network::Ideal => Vec::new(),
        },
        jobs,
        background_until,
        gap_skip: match (network, experiment.background_gap_skip_ps) {
            (Network::Fabric, Some(ps)) => Some(fabric.units.tick.ticks(ps)),
            _ => None,
        },
    })
    .map_err(RunError::Failed)?;
    Ok((replay, operations))
}

/// The jobs that the run replays, on the NICs of their ranks, and the number of their operations.
fn jobs_of<'a>(
    experiment: &Experiment,
    traces: &Traces,
    network: Network,
    stop: Stop<'a>,
) -> Result<(Vec<JobSpec<'a>>, u64), RunError> {
    let mut ranks = Vec::new();
    for job in &experiment.jobs {
        ranks.push(traces.of(job)?.ranks());
    }
    let placed = experiment.place(&ranks)?;
    let (mut jobs, mut operations) = (Vec::new(), 0);
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for (number, (job, nics)) in (0..).zip(experiment.jobs.iter().zip(placed)) {
        if !replays(job, network) {
            continue;
        }
        // Jobs that the run leaves out have no number, and nothing to end.
        let after = job
            .after
            .iter()
            .filter_map(|name| numbers.get(name.as_str()));
        let after = after.copied().collect();
        numbers.insert(&job.name, jobs.len() as u32);
        let trace = traces.of(job)?;
        let times = match job.repeat {
            Repeat::Times(times) => times.into(),
            Repeat::UntilOthersEnd => 0,
        };
        operations += trace.operations().saturating_mul(times);
        let regions = region_factors(job, trace)?;
        let mut spec = job_spec(job, (nics, &experiment.node), trace, regions, stop)?;
        if network == Network::Ideal {
            // The switches that combine data are part of the network.
            spec.collectives.switch_reduction = None;
        }
        jobs.push(JobSpec {
            number,
            after,
            ..spec
        });
    }
    Ok((jobs, operations))
}

/// The factors on computations in the regions of the trace of a job.
fn region_factors(job: &Job, trace: &dyn TraceFile) -> Result<Vec<Option<Ratio>>, RunError> {
    let names = trace.regions();
    let factors = &job.compute.regions;
    let has = |name: &str| names.iter().any(|known| **known == *name);
    let refused = |why: String| {
        let key = format!("job.{}.compute_scale", job.entry);
        Err(RunError::Config(ConfigError::new(key, why)))
    };
    if let Some(unknown) = factors.keys().find(|name| !has(name)) {
        if let Some(why) = trace.unfollowed(unknown) {
            return refused(format!(
                "region {} of trace {} is not followed: {why}",
                quoted(unknown),
                quoted(&job.trace)
            ));
        }
        let why = match known_regions(names, unknown) {
            None => "whose program marks none".to_owned(),
            Some(known) => format!("which has {known}"),
        };
        return refused(format!(
            "there is no region {} in trace {}, {why}",
            quoted(unknown),
            quoted(&job.trace)
        ));
    }
    Ok(names
        .iter()
        .map(|name| factors.get(&**name).copied())
        .collect())
}

/// A job whose ranks are on these NICs, with its trace opened.
fn job_spec<'a>(
    job: &Job,
    (nics, node): (Vec<NicId>, &NodeSpec),
    trace: &dyn TraceFile,
    regions: Vec<Option<Ratio>>,
    stop: Stop<'a>,
) -> Result<JobSpec<'a>, RunError> {
    let reading = Reading {
        host_speed: job.host_speed,
        compute_time: job.compute.time,
        skip_unsupported: job.skip_unsupported,
        allow_no_communication: job.allow_no_communication,
        poll_gap_ps: job.compute.poll_gap_ps,
        order_streams: job.order_streams,
        channels: job.channels,
        nodes: nics.iter().map(|&nic| node.of(nic)).collect(),
        wording: Wording::Keys,
    };
    Ok(JobSpec {
        name: job.name.clone(),
        number: 0,
        program: trace.open(&reading, stop).map_err(RunError::Trace)?,
        start_ps: job.start_ps,
        after: Vec::new(),
        repeat: job.repeat,
        sl: job.sl,
        nics,
        send_completion: match job.send_completion {
            experiment::SendCompletion::Handed => SendCompletion::Handed,
            experiment::SendCompletion::Injected => SendCompletion::Injected,
            experiment::SendCompletion::Rendezvous { eager_threshold } => {
                SendCompletion::Rendezvous {
                    eager_threshold_bytes: eager_threshold,
                }
            }
        },
        protocol: Protocol {
            eager_threshold_bytes: job.calls.eager_threshold_bytes,
            send_overhead_ps: job.calls.send_overhead_ps,
            receive_overhead_ps: job.calls.receive_overhead_ps,
            ..Protocol::default()
        },
        compute_scale: job.compute_scale,
        compute: ComputeModel {
            cap_ps: job.compute.cap_ps,
            regions,
            factors: job.compute.factors.clone(),
            noise: job.compute.noise,
        },
        intra_node: IntraNode {
            latency_ps: job.intra_node_latency_ps,
            bytes_per_s: job.intra_node_bandwidth,
        },
        reduction_ps_per_byte: job.reduction_cost_ps_per_byte,
        collectives: job.collectives,
    })
}

/// A load in flits per cycle, in units of link time per tick.
fn rate_of(load: Ratio, fabric: &FabricSpec) -> Result<Rate, RunError> {
    let units = Ratio::whole(fabric.link_units_per_flit().into());
    let rate = fabric
        .fastest_link()
        .checked_mul(units)
        .and_then(|fastest| fastest.checked_mul(load));
    let rate = rate.ok_or_else(|| {
        ConfigError::new(
            "background",
            format!("a rate of {load} on these links is no fraction of 64-bit numbers; round it"),
        )
    })?;
    Ok(Rate {
        units: rate.num(),
        ticks: rate.den(),
    })
}

/// The background flows, with all properties that follow from the fabric.
fn flows_of(experiment: &Experiment) -> Result<Vec<BackgroundFlow>, RunError> {
    let fabric = &experiment.fabric;
    let one = |(index, flow): (u64, &experiment::Background)| {
        let bad = |e: &dyn std::fmt::Display| ConfigError::new("background", e.to_string());
        let mtu = fabric.qos.service_levels[usize::from(flow.sl)].mtu_bytes;
        let size = |&(bytes, weight): &(u64, u64)| MessageSize {
            bytes,
            units: message_units(fabric, mtu, bytes).max(1),
            weight,
        };
        let ticks = |ps: u64| fabric.units.tick.ticks(ps);
        let senders = flow
            .pattern
            .senders(&fabric.topology, experiment.seed, index);
        let flow = BackgroundFlow {
            sl: flow.sl,
            sizes: flow.sizes.iter().map(size).collect(),
            rate: rate_of(flow.rate, fabric)?,
            injection: flow.injection,
            start: ticks(flow.start_ps),
            stop: flow.stop_ps.map_or(Tick::MAX, ticks),
            senders: senders.map_err(|e| bad(&e))?,
        };
        flow.check().map_err(|e| bad(&e))?;
        Ok(flow)
    };
    (0..).zip(&experiment.background).map(one).collect()
}

/// The workload of an experiment, for callers that drive the engine themselves: its jobs and background flows. The
/// background continues at least to `background_until`, even without a job.
///
/// # Errors
/// If a trace is broken or a job does not fit.
pub fn workload(
    experiment: &Experiment,
    background_until: Option<Tick>,
) -> Result<Replay<'static>, RunError> {
    let (mut traces, network) = (Traces::none(), Network::Fabric);
    traces.check([experiment], Stop::never())?;
    let (replay, _) = replay_of(
        experiment,
        &traces,
        background_until,
        network,
        Stop::never(),
    )?;
    Ok(replay)
}
