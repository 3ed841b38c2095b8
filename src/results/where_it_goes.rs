//! The lines of a summary about the time of the job that ended last.

use super::measures::{job_baseline, last_job, quotient};
use super::split::{TimeSplit, time_split};
use crate::config::Plan;
use crate::replay::outcome::JobOutcome;
use crate::run::RunResult;
use crate::units::{Ratio, human_count, number, percent_of};
use std::fmt::{self, Write};

/// A slowdown that differs from 1 by less is hardly any.
const HARDLY: f64 = 0.001;

/// A rank that computes this many times longer than the network takes hides the network.
const FAR_LONGER: u64 = 20;

/// The split of the time of the job that ended last.
pub(super) fn write_split(out: &mut String, plan: &Plan, result: &RunResult) -> fmt::Result {
    let Some(at) = last_job(&result.main) else {
        return Ok(());
    };
    let of_job = match plan.experiment.jobs.len() {
        1 => String::new(),
        _ => format!(" of {}", plan.experiment.jobs[at].name),
    };
    if let Some(split) = time_split(plan, result, at) {
        // The waits in the fabric do not tell how long congestion control holds packets back in NICs.
        let busy = match plan.experiment.fabric.congestion_control {
            Some(_) => "busy links or throttling",
            None => "busy links",
        };
        write_parts(out, &split, busy, &of_job)?;
        return write_network_hardly_matters(out, plan, result, at, &split);
    }
    let Some(Some(o)) = result.main.jobs.get(at) else {
        return Ok(());
    };
    if !o.complete {
        return Ok(());
    }
    let computing = computing(o, None);
    writeln!(
        out,
        "where it goes   computing {computing}, the rest network and waiting for partners{of_job}"
    )
}

fn write_parts(out: &mut String, split: &TimeSplit, busy: &str, of_job: &str) -> fmt::Result {
    let percent = |ps| split.percent(ps);
    let down = split.links_down_ps;
    let down = down.map_or_else(String::new, |ps| {
        format!(", links down or slow {}", percent(ps))
    });
    writeln!(
        out,
        "where it goes   computing {}, waiting for partners {}, unloaded network {}, contention {} ({busy} {}, \
         missing credits {}{down}){of_job}",
        percent(split.computing_ps),
        percent(split.partners_ps),
        percent(split.latency_and_serialisation_ps),
        percent(split.contention_ps),
        percent(split.queueing_ps),
        percent(split.credit_stalls_ps),
    )
}

/// Says why the job `at` cannot show what the network does: it computes as recorded, its slowdown is hardly more than 1,
/// and computation takes far longer than the network.
fn write_network_hardly_matters(
    out: &mut String,
    plan: &Plan,
    result: &RunResult,
    at: usize,
    split: &TimeSplit,
) -> fmt::Result {
    let network_ps = split.network_ps();
    let baseline = job_baseline(plan, result, at).map(|baseline| baseline.execution_ps);
    let slowdown = quotient(split.total_ps(), true, baseline);
    let unchanged = slowdown.is_none_or(|slowdown| (slowdown - 1.0).abs() < HARDLY);
    let job = &plan.experiment.jobs[at];
    let as_recorded = job.compute_scale == Ratio::ONE && job.compute.regions.is_empty();
    let computes_longer = split.computing_ps / FAR_LONGER >= network_ps;
    if split.computing_ps == 0 || !(unchanged && as_recorded && computes_longer) {
        return Ok(());
    }
    if network_ps == 0 {
        return writeln!(
            out,
            "                the network adds nothing here: ranks compute while messages travel; a shorter computation hides less \
             of the network: see --vary job.{at}.compute_scale=0,0.01,0.1",
        );
    }
    let [least, more] = scales(network_ps, split.computing_ps);
    writeln!(
        out,
        "                the network hardly matters here: a rank computes {} times longer than the network adds; a shorter \
         computation also hides less of the network: see --vary job.{at}.compute_scale=0,{least},{more}",
        human_count(split.computing_ps / network_ps),
    )
}

/// Two values of `compute_scale` where the network matters: computation as recorded then takes about as long as what the
/// network adds beside the whole computation, and ten times as long. The first is 1, 2 or 5 of a power of ten.
fn scales(network_ps: u64, computing_ps: u64) -> [String; 2] {
    let part = network_ps as f64 / computing_ps.max(1) as f64;
    let power = 10_f64.powf(part.log10().floor());
    let digits = [1.0, 2.0, 5.0]
        .into_iter()
        .rfind(|digit| digit * power <= part);
    let least = digits.unwrap_or(1.0) * power;
    [number(least), number(10.0 * least)]
}

/// The share of a job's time in which a rank computes, the mean over the ranks. An incomplete job has none: a starved rank
/// has not yet reached the operation that it would wait in.
pub(super) fn computing(o: &JobOutcome, split: Option<&TimeSplit>) -> String {
    if !o.complete {
        return "-".into();
    }
    match split {
        Some(split) => split.percent(split.computing_ps),
        None => percent_of(o.compute_ps, o.execution_ps),
    }
}
