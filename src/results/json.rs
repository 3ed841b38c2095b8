//! `result.json`. Everything but `engine` is a pure function of the experiment.
//!
//! The counters are destructured, so that a new one does not compile until it is here or is left
//! out. They do not derive this form: half of its values are computed, and what they derive, with the
//! names of their fields, is the form of records.

use super::energy::{Energy, energy_json};
use super::explain::explanation_json;
use super::links::{busiest, culprits, links_json};
use super::nic_rate::NicRate;
use super::split::{reference_ps, time_split};
use super::{
    baseline_time_ps, curve::curve_json, execution_time_ps, job_baseline, latency, peak_rss_bytes,
    per_slot, quotient, saturated, throughput,
};
use crate::config::experiment::Job;
use crate::config::{Baseline, Experiment, Plan, experiment_hash_with, experiment_json};
use crate::fabric::stats::{CctStats, CongestionStats, FabricStats, SlStats};
use crate::replay::GapsSkipped;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Saturation, Simulation, Status, TraceDigest};
use serde_json::{Map, Value, json};

/// Version of the layout.
pub const SCHEMA: &str = "flitwise-result-1";

/// Links listed under `links`, and under `busiest_links`.
const LINKS: usize = 20;

/// The whole document.
#[must_use]
pub fn result_json(plan: &Plan, result: &RunResult) -> Value {
    let RunResult {
        main,
        baselines,
        // `curve_json` and `trace_digests` read them.
        curve: _,
        traces: _,
        unloaded,
        ideal,
    } = result;
    let (experiment, stats) = (&plan.experiment, &main.stats);
    let nic = NicRate::of(experiment);
    let topology = &experiment.fabric.topology;
    let time = execution_time_ps(experiment, main);
    let baseline = baseline_time_ps(plan, result);
    let overall = result.status(plan);
    let stall = match &overall {
        Status::Stalled(why) => Some(why),
        Status::Complete | Status::Interrupted | Status::Saturated => None,
    };
    let hash = |experiment: &Experiment| {
        experiment_hash_with(experiment, &trace_digests(experiment, result))
    };
    let baselines = plan.baselines.iter().zip(baselines);
    let baselines = baselines.map(|(Baseline { experiment, .. }, run)| {
        baseline_json(experiment, run, &hash(experiment))
    });
    let mut document = json!({
        "schema": SCHEMA,
        "status": status(&overall),
        "stall": stall,
        "about": (!plan.about.is_empty()).then_some(&plan.about),
        "experiment": experiment_json(experiment),
        "experiment_hash": hash(experiment),
        "seed": experiment.seed,
        "execution_time_ps": (!experiment.jobs.is_empty()).then_some(time),
        "baseline_time_ps": baseline,
        "slowdown": quotient(time, main.status == Status::Complete, baseline),
        "saturated": saturated(experiment, main),
        "saturation": main.saturation.map(saturation),
        "jobs": jobs(plan, result),
        "background": background(plan, result),
        "curve": curve_json(plan, result),
        "fabric": {
            "nics": topology.nics(),
            "switches": topology.switches(),
            "links": topology.directed_switch_links() / 2,
        },
        "traffic": traffic(main),
        "throughput_flits_per_cycle_per_nic": throughput(experiment, stats),
        "throughput_gbit_per_s_per_nic": nic.gbit_per_s(throughput(experiment, stats)),
        "throughput_gbyte_per_s_per_nic": nic.gbyte_per_s(throughput(experiment, stats)),
        "latency_ns": latencies(plan, stats),
        "service_levels": service_levels(plan, stats),
        "congestion": stats.congestion.as_ref().map(congestion),
        "energy": energy_json(experiment, main),
        "links": links_json(plan, stats, &culprits(stats, LINKS)),
        "busiest_links": links_json(plan, stats, &busiest(plan, stats, LINKS)),
        "baselines": baselines.collect::<Vec<_>>(),
        "engine": engine(result),
    });
    if plan.explain && experiment.measure.is_none() {
        document["explanation"] = explanation_json(plan, result);
    }
    // Only where the plan asks where the time goes.
    let time = (main.status == Status::Complete).then_some(time);
    for (name, run) in [("unloaded", unloaded), ("ideal", ideal)] {
        if let Some(run) = run {
            document[name] = reference_json(experiment, run, time);
        }
    }
    // Only where gaps are skipped.
    if let Some(skipped) = main.skipped {
        document["gaps_skipped"] = gaps_skipped(experiment, skipped);
    }
    document
}

fn baseline_json(experiment: &Experiment, run: &Simulation, hash: &str) -> Value {
    json!({
        "status": status(&run.status),
        "experiment_hash": hash,
        "experiment": experiment_json(experiment),
        "execution_time_ps": execution_time_ps(experiment, run),
        "flit_hops": run.stats.flit_hops,
        "energy": energy_json(experiment, run),
    })
}

/// The run on an unloaded fabric or an ideal network. `time`: the execution time in picoseconds.
fn reference_json(experiment: &Experiment, run: &Simulation, time: Option<u64>) -> Value {
    let jobs = experiment.jobs.iter().zip(&run.jobs);
    let one = |(job, outcome): (&Job, &Option<JobOutcome>)| {
        let outcome = outcome.as_ref()?;
        Some(json!({ "name": job.name, "execution_time_ps": outcome.execution_ps }))
    };
    json!({
        "status": status(&run.status),
        "execution_time_ps": execution_time_ps(experiment, run),
        "slowdown": time.and_then(|time| quotient(time, true, reference_ps(experiment, Some(run)))),
        "jobs": jobs.filter_map(one).collect::<Vec<_>>(),
    })
}

/// XXH3 of the trace of each job that was read.
fn trace_digests(experiment: &Experiment, result: &RunResult) -> Vec<u128> {
    let digest = |job: &Job| {
        let mut traces = result.traces.iter();
        traces
            .find(|digest| digest.trace == job.trace)
            .map(|digest| digest.xxh3)
    };
    experiment.jobs.iter().filter_map(digest).collect()
}

fn traffic(run: &Simulation) -> Value {
    let Simulation {
        messages,
        backlog,
        stats,
        // Parts of their own.
        status: _,
        jobs: _,
        background: _,
        measured: _,
        // No result has it: only studies do.
        congestion: _,
        saturation: _,
        skipped: _,
        reached: _,
        explanation: _,
        wall: _,
    } = run;
    let FabricStats {
        messages_delivered,
        packets,
        flits_injected,
        flits_delivered,
        flits_in_flight,
        flit_hops,
        host_flit_hops,
        // `held_up_ticks` of links comes from them.
        turns: _,
        // Messages handed to NICs: a workload may keep others back, which count as well.
        messages: _,
        // For rates; `events` is under `engine`.
        start_tick: _,
        end_tick: _,
        events: _,
        // Parts of their own.
        service_levels: _,
        links: _,
        congestion: _,
    } = stats;
    json!({
        "messages": messages,
        "messages_delivered": messages_delivered,
        "backlog_messages": backlog,
        "packets": packets,
        "flits_injected": flits_injected,
        "flits_delivered": flits_delivered,
        "flits_in_flight": flits_in_flight,
        "flit_hops": flit_hops,
        "host_flit_hops": host_flit_hops,
    })
}

fn gaps_skipped(experiment: &Experiment, skipped: GapsSkipped) -> Value {
    let GapsSkipped {
        gaps,
        ticks,
        messages,
        ..
    } = skipped;
    json!({
        "gaps": gaps,
        "skipped_ps": experiment.fabric.units.tick.ps(ticks),
        "background_messages": messages,
    })
}

fn saturation(seen: Saturation) -> Value {
    let Saturation {
        flow,
        nic,
        at_ps,
        behind_ps,
    } = seen;
    json!({ "background": flow, "nic": nic, "at_ps": at_ps, "behind_ps": behind_ps })
}

pub(super) fn congestion(stats: &CongestionStats) -> Value {
    let CongestionStats {
        marked,
        notifications_sent,
        notifications_received,
        // For the mean.
        level_sum: _,
        packets,
        level_max,
        cct,
    } = stats;
    let of_cct =
        |&CctStats { threshold_events }: &CctStats| json!({ "threshold_events": threshold_events });
    json!({
        "marked_packets": marked,
        "notifications_sent": notifications_sent,
        "notifications_received": notifications_received,
        "data_packets": packets,
        "mean_control_level": stats.mean_level(),
        "max_control_level": level_max,
        "cct": cct.as_ref().map(of_cct),
    })
}

fn status(status: &Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Saturated => "saturated",
        Status::Stalled(_) => "stalled",
    }
}

fn jobs(plan: &Plan, result: &RunResult) -> Vec<Value> {
    let levels = &plan.experiment.fabric.qos.service_levels;
    let digest = |job: &Job| {
        let mut traces = result.traces.iter();
        traces.find(|digest| digest.trace == job.trace)
    };
    let pairs = plan
        .experiment
        .jobs
        .iter()
        .zip(&result.main.jobs)
        .enumerate();
    pairs
        .filter_map(|(i, (job, outcome))| {
            let baseline = job_baseline(plan, result, i);
            let tick = plan.experiment.fabric.units.tick;
            let level = &levels[usize::from(job.sl)].name;
            let outcome = outcome.as_ref()?;
            let mut value = job_json(job, outcome, level, digest(job), baseline);
            value["latency_ns"] = json!(latency(&outcome.latency, tick));
            let baseline = baseline.and_then(|baseline| latency(&baseline.latency, tick));
            value["baseline_latency_ns"] = json!(baseline);
            if let Some(names) = plan.experiment.fabric.topology.names() {
                let hosts = outcome.nics.iter().map(|&nic| names.nic_label(nic));
                value["hosts"] = json!(hosts.collect::<Vec<_>>());
            }
            if let Some(energy) = Energy::of(&plan.experiment, &result.main) {
                value["energy_j"] = json!(energy.of_job_j(outcome.execution_ps));
            }
            if let Some(split) = time_split(plan, result, i) {
                value["time_split"] = json!(split);
            }
            Some(value)
        })
        .collect()
}

fn job_json(
    job: &Job,
    outcome: &JobOutcome,
    level: &str,
    trace: Option<&TraceDigest>,
    baseline: Option<&JobOutcome>,
) -> Value {
    let JobOutcome {
        name,
        ranks,
        nics,
        complete,
        // It follows from the experiment.
        endless: _,
        repetitions_ps,
        // For the time of the whole run.
        end_ps: _,
        execution_ps,
        compute_ps,
        network_ps,
        point_to_point,
        point_to_point_bytes,
        collectives,
        messages,
        bytes,
        intra_node_messages,
        // In nanoseconds with that of the baseline.
        latency: _,
        // In `matrix.csv`.
        pairs: _,
    } = outcome;
    let baseline_ps = baseline.map(|baseline| baseline.execution_ps);
    json!({
        "name": name,
        "sl": level,
        "ranks": ranks,
        "nics": nics,
        "trace_xxh3": trace.map(|trace| format!("{:032x}", trace.xxh3)),
        "format": trace.map(|trace| &trace.format),
        "left_out": trace.and_then(|trace| trace.left_out.as_ref()),
        "complete": complete,
        "start_ps": job.start_ps,
        "repetitions": repetitions_ps.len(),
        "repetition_times_ps": repetitions_ps,
        "execution_time_ps": execution_ps,
        "baseline_time_ps": baseline_ps,
        "slowdown": quotient(*execution_ps, *complete, baseline_ps),
        "compute_ps": compute_ps,
        "network_ps": network_ps,
        "point_to_point": point_to_point,
        "point_to_point_bytes": point_to_point_bytes,
        "collectives": collectives,
        "messages": messages,
        "bytes": bytes,
        "intra_node_messages": intra_node_messages,
    })
}

fn background(plan: &Plan, result: &RunResult) -> Vec<Value> {
    let levels = &plan.experiment.fabric.qos.service_levels;
    let rate = |units| per_slot(&plan.experiment, &result.main.stats, units);
    let one = |flow: &BackgroundOutcome| {
        let BackgroundOutcome {
            sl,
            messages,
            messages_delivered,
            units,
            units_delivered,
        } = *flow;
        json!({
            "sl": levels[usize::from(sl)].name,
            "offered_messages": messages,
            "delivered_messages": messages_delivered,
            "backlog_messages": flow.backlog(),
            "offered_flits_per_cycle_per_nic": rate(units),
            "accepted_flits_per_cycle_per_nic": rate(units_delivered),
        })
    };
    result.main.background.iter().map(one).collect()
}

fn latencies(plan: &Plan, stats: &FabricStats) -> Value {
    let tick = plan.experiment.fabric.units.tick;
    let levels = plan
        .experiment
        .fabric
        .qos
        .service_levels
        .iter()
        .zip(&stats.service_levels);
    let by_name = levels.map(|(level, sl)| {
        let value = json!({
            "end_to_end": latency(&sl.end_to_end, tick),
            "network": latency(&sl.network, tick),
        });
        (level.name.clone(), value)
    });
    Value::Object(by_name.collect::<Map<_, _>>())
}

fn service_levels(plan: &Plan, stats: &FabricStats) -> Vec<Value> {
    let levels = plan
        .experiment
        .fabric
        .qos
        .service_levels
        .iter()
        .zip(&stats.service_levels);
    levels
        .map(|(level, sl)| {
            let SlStats {
                messages,
                packets,
                flits,
                units,
                bytes,
                // Under `latency_ns`.
                end_to_end: _,
                network: _,
            } = sl;
            json!({
                "name": level.name,
                "messages": messages,
                "packets": packets,
                "flits": flits,
                "bytes": bytes,
                "throughput_flits_per_cycle_per_nic": per_slot(&plan.experiment, stats, *units),
            })
        })
        .collect()
}

/// The only field that differs from run to run.
fn engine(result: &RunResult) -> Value {
    let main = &result.main;
    let wall = main.wall.as_secs_f64();
    // Events of the warm-up are not counted.
    let part = main.stats.ticks() as f64 / (main.stats.end_tick + 1) as f64;
    let hops = main.stats.flit_hops as f64;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "events": result.main.stats.events,
        "wall_s": wall,
        "baseline_wall_s": result.baselines.iter().map(|b| b.wall).sum::<std::time::Duration>().as_secs_f64(),
        "peak_rss_bytes": peak_rss_bytes(),
        "flit_hops_per_s": if wall * part > 0.0 { hops / (wall * part) } else { 0.0 },
    })
}
