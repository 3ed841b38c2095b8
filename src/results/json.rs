//! `result.json`. Everything but `engine` is a pure function of the experiment.

use super::{
    Latency, baseline_time_ps, curve::curve_json, execution_time_ps, job_baseline_ps, latency,
    link_end, most_contended, peak_rss_bytes, per_slot, saturated, slowdown, throughput,
    utilisation,
};
use crate::config::experiment::Job;
use crate::config::{Experiment, Plan, experiment_hash_with, experiment_json};
use crate::fabric::stats::{CongestionStats, FabricStats};
use crate::run::{RunResult, Status};
use serde_json::{Map, Value, json};

/// Version of the layout.
pub const SCHEMA: &str = "flitwise-result-1";

/// Links listed under `links`.
const LINKS: usize = 20;

/// The whole document.
#[must_use]
pub fn result_json(plan: &Plan, result: &RunResult) -> Value {
    let (experiment, main) = (&plan.experiment, &result.main);
    let stats = &main.stats;
    let topology = &experiment.fabric.topology;
    let time = execution_time_ps(experiment, main);
    let baseline = baseline_time_ps(plan, result);
    let overall = result.status(plan);
    let stall = match &overall {
        Status::Stalled(why) => Some(why),
        Status::Complete | Status::Interrupted => None,
    };
    let hash = |experiment: &Experiment| {
        experiment_hash_with(experiment, &trace_digests(experiment, result))
    };
    let mut document = json!({
        "schema": SCHEMA,
        "status": status(&overall),
        "stall": stall,
        "experiment": experiment_json(experiment),
        "experiment_hash": hash(experiment),
        "seed": experiment.seed,
        "execution_time_ps": (!experiment.jobs.is_empty()).then_some(time),
        "baseline_time_ps": baseline,
        "slowdown": slowdown(time, main.status == Status::Complete, baseline),
        "saturated": saturated(experiment, main),
        "jobs": jobs(plan, result),
        "background": background(plan, result),
        "curve": curve_json(plan, result),
        "fabric": {
            "nics": topology.nics(),
            "switches": topology.switches(),
            "links": topology.directed_switch_links() / 2,
        },
        "traffic": {
            "messages": main.messages,
            "messages_delivered": stats.messages_delivered,
            "backlog_messages": main.backlog,
            "packets": stats.packets,
            "flits_injected": stats.flits_injected,
            "flits_delivered": stats.flits_delivered,
            "flits_in_flight": stats.flits_in_flight,
            "flit_hops": stats.flit_hops,
            "host_flit_hops": stats.host_flit_hops,
        },
        "throughput_flits_per_cycle_per_nic": throughput(experiment, stats),
        "latency_ns": latencies(plan, stats),
        "service_levels": service_levels(plan, stats),
        "congestion": stats.congestion.as_ref().map(congestion),
        // Not modelled in this version.
        "energy": null,
        "links": links(plan, stats),
        "baselines": plan.baselines.iter().zip(&result.baselines).map(|(baseline, run)| json!({
            "status": status(&run.status),
            "experiment_hash": hash(&baseline.experiment),
            "experiment": experiment_json(&baseline.experiment),
            "execution_time_ps": execution_time_ps(&baseline.experiment, run),
            "flit_hops": run.stats.flit_hops,
        })).collect::<Vec<_>>(),
        "engine": engine(result),
    });
    // Only where it was asked for.
    if let Some(ideal) = &result.ideal {
        document["ideal"] = json!({
            "status": status(&ideal.status),
            "execution_time_ps": execution_time_ps(experiment, ideal),
            "jobs": experiment.jobs.iter().zip(&ideal.jobs).filter_map(|(job, outcome)| {
                let outcome = outcome.as_ref()?;
                Some(json!({ "name": job.name, "execution_time_ps": outcome.execution_ps }))
            }).collect::<Vec<_>>(),
        });
    }
    document
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

pub(super) fn congestion(stats: &CongestionStats) -> Value {
    json!({
        "marked_packets": stats.marked,
        "notifications_sent": stats.notifications_sent,
        "notifications_received": stats.notifications_received,
        "data_packets": stats.packets,
        "mean_control_level": stats.mean_level(),
        "max_control_level": stats.level_max,
        "cct": stats.cct.map(|cct| json!({ "threshold_events": cct.threshold_events })),
    })
}

fn status(status: &Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Stalled(_) => "stalled",
    }
}

fn jobs(plan: &Plan, result: &RunResult) -> Vec<Value> {
    let levels = &plan.experiment.fabric.qos.service_levels;
    let digest = |trace: &String| {
        let found = result.traces.iter().find(|digest| digest.trace == *trace);
        found.map(|digest| format!("{:032x}", digest.xxh3))
    };
    let pairs = plan
        .experiment
        .jobs
        .iter()
        .zip(&result.main.jobs)
        .enumerate();
    pairs
        .filter_map(|(i, (job, outcome))| {
            let o = outcome.as_ref()?;
            let baseline = job_baseline_ps(plan, result, i);
            Some(json!({
                "name": o.name,
                "sl": levels[usize::from(job.sl)].name,
                "ranks": o.ranks,
                "trace_xxh3": digest(&job.trace),
                "complete": o.complete,
                "start_ps": job.start_ps,
                "repetitions": o.repetitions_ps.len(),
                "repetition_times_ps": o.repetitions_ps,
                "execution_time_ps": o.execution_ps,
                "baseline_time_ps": baseline,
                "slowdown": slowdown(o.execution_ps, o.complete, baseline),
                "compute_ps": o.compute_ps,
                "network_ps": o.network_ps,
                "point_to_point": o.point_to_point,
                "point_to_point_bytes": o.point_to_point_bytes,
                "collectives": o.collectives,
                "messages": o.messages,
                "bytes": o.bytes,
                "intra_node_messages": o.intra_node_messages,
            }))
        })
        .collect()
}

fn background(plan: &Plan, result: &RunResult) -> Vec<Value> {
    let levels = &plan.experiment.fabric.qos.service_levels;
    let rate = |units| per_slot(&plan.experiment, &result.main.stats, units);
    let flows = result.main.background.iter();
    flows
        .map(|flow| {
            json!({
                "sl": levels[usize::from(flow.sl)].name,
                "offered_messages": flow.messages,
                "delivered_messages": flow.messages_delivered,
                "backlog_messages": flow.backlog(),
                "offered_flits_per_cycle_per_nic": rate(flow.units),
                "accepted_flits_per_cycle_per_nic": rate(flow.units_delivered),
            })
        })
        .collect()
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
            "end_to_end": Latency::json(latency(&sl.end_to_end, tick)),
            "network": Latency::json(latency(&sl.network, tick)),
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
            json!({
                "name": level.name,
                "messages": sl.messages,
                "packets": sl.packets,
                "flits": sl.flits,
                "bytes": sl.bytes,
                "throughput_flits_per_cycle_per_nic": per_slot(&plan.experiment, stats, sl.units),
            })
        })
        .collect()
}

fn links(plan: &Plan, stats: &FabricStats) -> Vec<Value> {
    let one = |l: &crate::fabric::stats::LinkStats| {
        json!({
            "from": link_end(l.from),
            "to": link_end(l.to),
            "flits": l.flits,
            "packets": l.packets,
            "utilisation": utilisation(&plan.experiment, stats, l),
            "credit_wait_ticks": l.credit_wait_ticks,
            "queue_wait_ticks": l.queue_wait_ticks,
        })
    };
    most_contended(stats, LINKS).into_iter().map(one).collect()
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
