//! The summary that a run prints: the results and their main causes.

use super::document::traffic::Traffic;
use super::energy::{Energy, against_always_up};
use super::latency::latency;
use super::links::write_links;
use super::measures::{
    baseline_time_ps, execution_time_ps, job_baseline, per_slot, quotient, reference_ps, saturated,
    throughput,
};
use super::nic_rate::NicRate;
use super::simulated::{compares_nothing, write_simulated};
use super::split::{TimeSplit, time_split};
use super::stopped::{flows_behind, saturation_line, stopped_jobs, stopped_loads};
use super::table::write_table;
use super::waits::write_waits;
use super::where_it_goes::{computing, write_split};
use super::{curve, explain};
use crate::config::Plan;
use crate::fabric::stats::{Latency, LinkStateTicks};
use crate::replay::Repeat;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Simulation, Status};
use crate::units::{
    counted, four_digits, human_bytes, human_count, human_time, percent, short_time,
};
use std::fmt::{self, Write};

/// Links shown; with `explain` four times as many.
const LINKS: usize = 5;

/// The summary; `explain` adds details per job and more links.
#[must_use]
pub fn summary(plan: &Plan, result: &RunResult, explain: bool) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_all(&mut out, plan, result, explain);
    out
}

fn write_all(out: &mut String, plan: &Plan, result: &RunResult, explain: bool) -> fmt::Result {
    let (experiment, main) = (&plan.experiment, &result.main);
    if let Some(name) = &plan.about.name {
        writeln!(out, "{name}")?;
    }
    write_simulated(out, plan)?;
    if let Some(measure) = &experiment.measure {
        if let Some(stopped) = stopped_loads(plan, measure, result) {
            writeln!(out, "interrupted     {stopped}")?;
        }
        return write_measured(out, plan, result, explain);
    }
    let stopped = stopped_jobs(plan, result);
    write_times(out, plan, result, stopped.as_deref())?;
    if stopped.is_none() {
        write_split(out, plan, result)?;
        write_waits(out, plan, main)?;
        explain::write_lines(out, plan, result)?;
    }
    if let Status::Stalled(why) = result.status(plan) {
        writeln!(out, "\nstalled\n{}", why.trim_end())?;
    }
    write_jobs(out, plan, result, explain)?;
    write_traffic(out, plan, main)?;
    write_latencies(out, plan, result)?;
    write_links(
        out,
        plan,
        &main.stats,
        if explain { 4 * LINKS } else { LINKS },
    )
}

/// Writes the execution time, or why the jobs have `stopped` before their end, and the times that it is compared with.
fn write_times(
    out: &mut String,
    plan: &Plan,
    result: &RunResult,
    stopped: Option<&str>,
) -> fmt::Result {
    let (experiment, main) = (&plan.experiment, &result.main);
    let time = execution_time_ps(experiment, main);
    if let Some(stopped) = stopped {
        let why = match main.status {
            Status::Saturated => "saturated",
            _ => "interrupted",
        };
        writeln!(out, "{why:<16}{stopped}")?;
    } else {
        let so_far = so_far(&main.status);
        writeln!(out, "execution time  {}{so_far}", human_time(time))?;
    }
    if let Some(line) = skipped_line(plan, main) {
        writeln!(out, "gaps skipped    {line}")?;
    }
    let compared = |base: u64, factor: &str| {
        let value = quotient(time, main.status == Status::Complete, Some(base));
        let value = value.map_or_else(String::new, |value| format!("   {factor} {value:.4}"));
        format!("{}{value}", human_time(base))
    };
    let same = compares_nothing(plan);
    if let Some(base) = baseline_time_ps(plan, result) {
        if !same || base != time {
            writeln!(out, "baseline        {}", compared(base, "slowdown"))?;
        }
    } else if !plan.baselines.is_empty() {
        let stalled = |run: &Simulation| matches!(run.status, Status::Stalled(_));
        let why = if result.baselines.iter().any(stalled) {
            "stalled"
        } else {
            not_run(result)
        };
        writeln!(out, "baseline        {why}: no slowdown")?;
    }
    for (name, factor, run) in [
        ("unloaded", "contention factor", &result.unloaded),
        ("ideal network", "network factor", &result.ideal),
    ] {
        if let Some(base) = reference_ps(main, run.as_ref()) {
            writeln!(out, "{name:<16}{}", compared(base, factor))?;
        } else if plan.split {
            let why = match run.as_ref().map(|run| &run.status) {
                Some(Status::Stalled(_)) => "stalled",
                _ => not_run(result),
            };
            writeln!(out, "{name:<16}{why}: no {factor}")?;
        }
    }
    Ok(())
}

/// The simulated time of `main` that was skipped between the messages of jobs.
fn skipped_line(plan: &Plan, main: &Simulation) -> Option<String> {
    let skipped = main.skipped?;
    let tick = plan.experiment.fabric.units.tick;
    let warm_up = plan.experiment.background_gap_skip_ps?;
    Some(format!(
        "{} of {} in {} gaps, all but {} before the next message of a job",
        human_time(tick.ps(skipped.ticks)),
        human_time(tick.ps(main.end_tick())),
        human_count(skipped.gaps),
        short_time(warm_up),
    ))
}

/// Why a run that the plan asks for is missing or not complete, and did not stall.
fn not_run(result: &RunResult) -> &'static str {
    let mut runs = std::iter::once(&result.main).chain(&result.baselines);
    if runs.any(|run| run.status == Status::Saturated) {
        "stopped"
    } else {
        "interrupted"
    }
}

/// The words behind a value of a run with this status.
fn so_far(status: &Status) -> &'static str {
    match status {
        Status::Complete => "",
        Status::Interrupted => "  (interrupted: so far)",
        Status::Saturated => "  (saturated: so far)",
        Status::Stalled(_) => "  (stalled: so far)",
    }
}

/// An experiment without a job: the curve, and details of its last point.
fn write_measured(out: &mut String, plan: &Plan, result: &RunResult, explain: bool) -> fmt::Result {
    let main = &result.main;
    let tick = plan.experiment.fabric.units.tick;
    let time = |ticks: u64| human_time(tick.ps(ticks));
    if let Some(measured) = &main.measured {
        let steady = match measured.steady {
            Some(true) => "steady",
            Some(false) => "not steady",
            None => "not judged",
        };
        let so_far = so_far(&main.status);
        let load = match result.curve.len() {
            1 => String::new(),
            _ => format!(" at load {}", measured.load),
        };
        writeln!(
            out,
            "measured        {}{load} after a warm-up of {}: {steady}{so_far}",
            time(main.stats.ticks()),
            time(measured.warm_up),
        )?;
    }
    if let Status::Stalled(why) = result.status(plan) {
        writeln!(out, "\nstalled\n{}", why.trim_end())?;
    }
    let points = curve::points(plan, result);
    write_table(out, &curve::curve_rows(plan, result))?;
    let unsteady: Vec<String> = points
        .iter()
        .filter(|point| point.measured.steady == Some(false))
        .map(|point| point.measured.load.to_string())
        .collect();
    if !unsteady.is_empty() {
        writeln!(
            out,
            "not steady when the window began: load {}; see measure.max_warm_up",
            unsteady.join(", ")
        )?;
    }
    if points.iter().any(|point| point.saturated) {
        writeln!(out, "* saturated: less accepted than offered")?;
    }
    write_traffic(out, plan, main)?;
    write_links(
        out,
        plan,
        &main.stats,
        if explain { 4 * LINKS } else { LINKS },
    )
}

fn write_jobs(out: &mut String, plan: &Plan, result: &RunResult, explain: bool) -> fmt::Result {
    let header = [
        "job",
        "ranks",
        "SL",
        "time",
        "slowdown",
        "computing",
        "partners",
        "network",
        "messages",
        "bytes",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    let jobs = &plan.experiment.jobs;
    let runs = jobs.iter().any(|job| job.repeat != Repeat::Times(1));
    if runs {
        rows[0].push("runs".into());
    }
    let waits = jobs.iter().any(|job| !job.after.is_empty());
    if waits {
        rows[0].push("start".into());
    }
    for (at, outcome) in result.main.jobs.iter().enumerate() {
        let Some(o) = outcome else { continue };
        let mut row = job_row(plan, result, at, o);
        if runs {
            row.push(human_count(o.repetitions_ps.len() as u64));
        }
        if waits {
            row.push(o.start_ps.map_or_else(|| "-".into(), human_time));
        }
        rows.push(row);
    }
    write_table(out, &rows)?;
    if explain {
        for o in result.main.jobs.iter().flatten() {
            write_details(out, o)?;
        }
    }
    Ok(())
}

/// The cells of job `at` with outcome `o`.
fn job_row(plan: &Plan, result: &RunResult, at: usize, o: &JobOutcome) -> Vec<String> {
    let experiment = &plan.experiment;
    let level = &experiment.fabric.qos.service_levels[usize::from(experiment.jobs[at].sl)];
    let factor = quotient(
        o.execution_ps,
        o.complete,
        job_baseline(plan, result, at)
            .map(|baseline| baseline.execution_ps)
            .filter(|&base| base != o.execution_ps || !compares_nothing(plan)),
    );
    let split = time_split(plan, result, at);
    let part = |part: fn(&TimeSplit) -> u64| {
        let percent = split.as_ref().map(|split| split.percent(part(split)));
        percent.unwrap_or_else(|| "-".into())
    };
    vec![
        o.name.clone(),
        o.ranks.to_string(),
        level.name.clone(),
        match (o.complete, o.execution_ps) {
            (false, 0) => "-".into(),
            (_, ps) => human_time(ps),
        },
        factor.map_or_else(|| "-".into(), |s| format!("{s:.4}")),
        computing(o, split.as_ref()),
        part(|split| split.partners_ps),
        part(TimeSplit::network_ps),
        human_count(o.messages),
        human_bytes(o.bytes),
    ]
}

/// Writes the lines that `explain` adds to a job.
fn write_details(out: &mut String, o: &JobOutcome) -> fmt::Result {
    writeln!(
        out,
        "\n{}\n  point to point  {} messages, {}\n  collectives     {}\n  inside nodes    {} messages\n  \
         mean rank       {} computing, {} network and waiting",
        o.name,
        human_count(o.point_to_point),
        human_bytes(o.point_to_point_bytes),
        human_count(o.collectives),
        human_count(o.intra_node_messages),
        human_time(o.compute_ps),
        human_time(o.network_ps),
    )?;
    if let [first, .., last] = o.repetitions_ps[..] {
        let (first, last) = (human_time(first), human_time(last));
        writeln!(out, "  runs            the first {first}, the last {last}")?;
    }
    Ok(())
}

fn write_energy(out: &mut String, plan: &Plan, main: &Simulation) -> fmt::Result {
    let (Some(energy), Some(power)) = (Energy::of(&plan.experiment, main), &plan.experiment.power)
    else {
        return Ok(());
    };
    let per_bit = energy
        .pj_per_bit()
        .map_or_else(String::new, |pj| format!(", {pj:.1} pJ/bit delivered"));
    writeln!(
        out,
        "energy          {} J, mean {} W{per_bit}; links {} J, {} ({}); links carry nothing {} of the time",
        joules(energy.total_j()),
        four_digits(energy.mean_watts()),
        joules(energy.links_j()),
        against_always_up(energy.links_saved()),
        power.policy.name(),
        percent(energy.idle_share()),
    )?;
    let states = [energy.switch_links.ticks, energy.host_links.ticks];
    let sum = |count: fn(&LinkStateTicks) -> u64| states.iter().map(count).sum::<u64>();
    // The links may have stayed low because they had no traffic, or because the buffers are too small for the
    // thresholds.
    if sum(|ticks| ticks.low_bytes) > 0 && sum(|ticks| ticks.wakes) == 0 {
        writeln!(
            out,
            "                no link that was down went up: the bytes that waited never exceeded power.threshold and nic_threshold"
        )?;
    }
    Ok(())
}

/// Three or more significant digits.
fn joules(joules: f64) -> String {
    let decimals = if joules >= 100.0 {
        1
    } else if joules >= 1.0 {
        3
    } else {
        6
    };
    format!("{joules:.decimals$}")
}

fn write_traffic(out: &mut String, plan: &Plan, main: &Simulation) -> fmt::Result {
    let stats = &main.stats;
    let nic = NicRate::of(&plan.experiment);
    let traffic = Traffic::of(plan, main);
    writeln!(
        out,
        "\ntraffic         {}, {}, {}, {}",
        counted(traffic.messages, "message"),
        counted(traffic.packets, "packet"),
        counted(traffic.flits_injected, "flit"),
        counted(traffic.flit_hops, "flit-hop"),
    )?;
    writeln!(
        out,
        "throughput      {}",
        nic.text(throughput(&plan.experiment, stats))
    )?;
    if let Some(c) = &stats.congestion {
        writeln!(
            out,
            "congestion      {} packets marked, {} notifications sent, {} received; control level mean \
             {:.2}, max {}",
            human_count(c.marked),
            human_count(c.notifications_sent),
            human_count(c.notifications_received),
            c.mean_level(),
            c.level_max,
        )?;
    }
    write_energy(out, plan, main)?;
    if let Some(line) = saturation_line(&plan.experiment.fabric.topology, main) {
        writeln!(out, "saturated: {line}")?;
    }
    if saturated(&plan.experiment, main) {
        let rate = |flits: fn(&BackgroundOutcome) -> u64| {
            let sum = main.background.iter().map(flits).sum();
            per_slot(&plan.experiment, stats, sum)
        };
        writeln!(
            out,
            "saturated: offered {:.4}, accepted {} of background traffic",
            rate(|flow| flow.units),
            nic.text(rate(|flow| flow.units_delivered))
        )?;
    }
    if let Some(line) = flows_behind(&plan.experiment, main) {
        writeln!(out, "saturated: {line}")?;
    }
    Ok(())
}

/// Writes latencies of jobs and SLs, and beside them the latencies of the baseline: of a job in its own baseline, of an
/// SL if there is one baseline.
fn write_latencies(out: &mut String, plan: &Plan, result: &RunResult) -> fmt::Result {
    let levels = &plan.experiment.fabric.qos.service_levels;
    let stats = &result.main.stats;
    let baseline = match &result.baselines[..] {
        [only] if only.status == Status::Complete => Some(&only.stats),
        _ => None,
    };
    let mut rows = vec![
        [
            "latency (ns)",
            "count",
            "mean",
            "p50",
            "p99",
            "max",
            "baseline mean",
            "p99",
        ]
        .map(String::from)
        .to_vec(),
    ];
    let mut add = |name: String, ticks: &Latency, baseline: Option<&Latency>| {
        rows.extend(latency_row(plan, name, ticks, baseline));
    };
    for (at, outcome) in result.main.jobs.iter().enumerate() {
        let Some(job) = outcome else { continue };
        let before = job_baseline(plan, result, at).map(|baseline| &baseline.latency);
        add(format!("{} end to end", job.name), &job.latency, before);
    }
    for (at, (level, sl)) in levels.iter().zip(&stats.service_levels).enumerate() {
        let before = baseline.and_then(|stats| stats.service_levels.get(at));
        let end_to_end = before.map(|sl| &sl.end_to_end);
        add(
            format!("{} end to end", level.name),
            &sl.end_to_end,
            end_to_end,
        );
        let network = before.map(|sl| &sl.network);
        add(format!("{} network", level.name), &sl.network, network);
    }
    if plan.baselines.is_empty() {
        rows.iter_mut().for_each(|row| row.truncate(6));
    }
    write_table(out, &rows)
}

/// A row of the latencies `ticks`; `None` if there are none.
fn latency_row(
    plan: &Plan,
    name: String,
    ticks: &Latency,
    baseline: Option<&Latency>,
) -> Option<Vec<String>> {
    let tick = plan.experiment.fabric.units.tick;
    let l = latency(ticks, tick)?;
    let before = baseline.and_then(|ticks| latency(ticks, tick));
    let ns = |value: f64| format!("{value:.1}");
    let or_dash = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), ns);
    Some(vec![
        name,
        human_count(l.count),
        ns(l.mean),
        ns(l.p50),
        ns(l.p99),
        ns(l.max),
        or_dash(before.map(|before| before.mean)),
        or_dash(before.map(|before| before.p99)),
    ])
}
