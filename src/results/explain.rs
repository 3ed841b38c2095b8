//! Why jobs take as long as they do, as data and in words.

use super::compared::{ComparedRun, MOST_KEYS, different_keys};
use super::link_ends::link_end_named;
use super::measures::last_job;
use super::table::write_table;
use crate::config::{Experiment, Plan};
use crate::explain::{Culprit, Explanation, LinkShare, Part, Parts, Source, phase_begin};
use crate::fabric::stats::LinkEnd;
use crate::replay::background::Pattern;
use crate::run::{RunResult, Simulation};
use crate::units::{human_count, human_time, percent_of};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Rows of the tables that the page shows.
const ROWS: usize = 10;

/// The explanation that a job is compared with.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    /// The word for it in a text.
    pub called: &'a str,
    pub experiment: &'a Experiment,
    pub explained: &'a Explanation,
}

/// Job `job` of the experiment in its baseline.
pub(super) fn in_baseline<'a>(
    plan: &'a Plan,
    result: &'a RunResult,
    job: usize,
) -> Option<Before<'a>> {
    let mut runs = plan.baselines.iter().zip(&result.baselines);
    runs.find_map(|(baseline, run)| {
        let &(_, other) = baseline.jobs.iter().find(|&&(main, _)| main == job)?;
        Some(Before {
            called: "baseline",
            experiment: &baseline.experiment,
            explained: explanation_of(run, other)?,
        })
    })
}

/// The job of this name in another run, which is `called` so.
pub(super) fn by_name<'a>(
    other: ComparedRun<'a>,
    called: &'a str,
    name: &str,
) -> Option<Before<'a>> {
    let experiment = &other.plan.experiment;
    let job = experiment.jobs.iter().position(|job| job.name == name)?;
    Some(Before {
        called,
        experiment,
        explained: explanation_of(&other.result.main, job)?,
    })
}

/// The explanation of job `job` in `run`.
fn explanation_of(run: &Simulation, job: usize) -> Option<&Explanation> {
    let all = run.explanation.as_ref()?;
    all.iter().find(|explained| explained.job == job)
}

/// The time for which the packets of each culprit delayed others, less the same time before, by name and service level;
/// the largest difference first.
pub(super) fn culprits_more(
    experiment: &Experiment,
    explained: &Explanation,
    before: Before<'_>,
) -> Vec<(String, String, i128)> {
    let mut more: BTreeMap<(String, String), i128> = BTreeMap::new();
    let runs = [
        (experiment, explained, 1),
        (before.experiment, before.explained, -1),
    ];
    for (experiment, explained, sign) in runs {
        for share in &explained.culprits {
            let (from, sl) = names(experiment, share.culprit);
            *more.entry((from, sl.to_owned())).or_default() += sign * i128::from(share.ps);
        }
    }
    let one = |((from, sl), ps)| (from, sl, ps);
    let mut more: Vec<_> = more.into_iter().map(one).collect();
    more.sort_by_key(|&(_, _, ps): &(String, String, i128)| Reverse(ps.unsigned_abs()));
    more
}

/// The name of the job or flow that sent the packets, and their service level.
pub(super) fn names(experiment: &Experiment, culprit: Culprit) -> (String, &str) {
    let levels = &experiment.fabric.qos.service_levels;
    let level = levels.get(usize::from(culprit.sl));
    let from = match culprit.source {
        Source::Job(job) => match experiment.jobs.get(job as usize) {
            Some(job) => format!("job {}", job.name),
            None => format!("job {job}"),
        },
        Source::Background(flow) => format!("background {flow}"),
        Source::Answers => "congestion control".to_owned(),
    };
    (from, level.map_or("", |level| level.name.as_str()))
}

/// `background 3 (BK)`; of a flow between two NICs with names of operators also these: `background 3, n1 -> n2 (BK)`.
fn culprit_name(experiment: &Experiment, culprit: Culprit) -> String {
    let (from, sl) = names(experiment, culprit);
    let flow = match culprit.source {
        Source::Background(flow) => experiment.background.get(flow as usize),
        Source::Job(_) | Source::Answers => None,
    };
    let pair = match (
        flow.map(|flow| &flow.pattern),
        experiment.fabric.topology.names(),
    ) {
        (Some(&Pattern::Pair { from, to }), Some(names)) => {
            format!(", {} -> {}", names.nic_label(from), names.nic_label(to))
        }
        _ => String::new(),
    };
    format!("{from}{pair} ({sl})")
}

/// The receiving end of a link.
pub(super) fn far_end(run: &Simulation, share: &LinkShare) -> Option<LinkEnd> {
    let mut links = run.stats.links.iter();
    let link = links.find(|link| link.from == share.from)?;
    Some(link.to)
}

fn link_name(plan: &Plan, run: &Simulation, share: &LinkShare) -> String {
    let end = |end| link_end_named(&plan.experiment.fabric.topology, end);
    match far_end(run, share) {
        Some(to) => format!("{} -> {}", end(share.from), end(to)),
        None => end(share.from),
    }
}

/// The three lines of the summary about the job that ended last.
pub(super) fn write_lines(out: &mut String, plan: &Plan, result: &RunResult) -> fmt::Result {
    let job = last_job(&result.main);
    let Some(explained) = job.and_then(|job| explanation_of(&result.main, job)) else {
        return Ok(());
    };
    let of_job = match plan.experiment.jobs.len() {
        1 => String::new(),
        _ => format!(" of {}", plan.experiment.jobs[explained.job].name),
    };
    let share = |ps: u64| percent_of(ps, explained.total_ps);
    let parts = Part::ALL
        .into_iter()
        .filter(|&part| explained.parts.of(part) > 0);
    let parts = parts.map(|part| format!("{} {}", part.words(), share(explained.parts.of(part))));
    let parts: Vec<String> = parts.collect();
    writeln!(out, "critical path   {}{of_job}", parts.join(", "))?;
    let culprits = explained.culprits.iter().take(3).map(|culprit| {
        let name = culprit_name(&plan.experiment, culprit.culprit);
        format!("{name} {}", share(culprit.ps))
    });
    let links = explained.links.iter().take(2);
    let links = links.map(|link| {
        let name = link_name(plan, &result.main, link);
        format!("{name} {}", share(link.ps()))
    });
    let (culprits, links): (Vec<String>, Vec<String>) = (culprits.collect(), links.collect());
    let culprits = or_none(&culprits);
    if links.is_empty() {
        writeln!(out, "delayed by      {culprits}")?
    } else {
        writeln!(out, "delayed by      {culprits}; at {}", links.join(", "))?
    }
    match in_baseline(plan, result, explained.job) {
        Some(before) => {
            let words = difference_words(explained, before.explained);
            writeln!(out, "vs baseline     {words}")
        }
        None => writeln!(
            out,
            "late partners   {} of {} messages came to a rank that already waited, for {} of the time",
            human_count(explained.late_partners),
            human_count(explained.messages),
            share(explained.late_partners_ps),
        ),
    }
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() {
        "no packets of others".to_owned()
    } else {
        names.join(", ")
    }
}

/// A signed time for people.
fn more(ps: i128) -> String {
    let sign = if ps < 0 { "-" } else { "+" };
    let size = u64::try_from(ps.unsigned_abs()).unwrap_or(u64::MAX);
    format!("{sign}{}", human_time(size))
}

/// `+1.2 us: queueing +1.1 us, computing +0.1 us`, the largest first.
fn difference_words(explained: &Explanation, before: &Explanation) -> String {
    let all = i128::from(explained.total_ps) - i128::from(before.total_ps);
    let of_part = |part| (explained.parts.difference(&before.parts, part), part);
    let mut parts: Vec<(i128, Part)> = Part::ALL.map(of_part).to_vec();
    parts.retain(|&(ps, _)| ps != 0);
    parts.sort_by_key(|&(ps, _)| Reverse(ps.unsigned_abs()));
    let words = parts
        .iter()
        .map(|&(ps, part)| format!("{} {}", part.words(), more(ps)));
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        "the same".to_owned()
    } else {
        format!("{}: {}", more(all), words.join(", "))
    }
}

/// The explanations of a result for people: a page for each job. `against` is another run: its jobs of the same
/// names replace the jobs of the baseline in the comparison.
#[must_use]
pub fn explanation_page(
    plan: &Plan,
    result: &RunResult,
    against: Option<ComparedRun<'_>>,
) -> String {
    let mut out = String::new();
    let called = against.map(|other| other.called());
    if let (Some(other), Some(called)) = (against, &called) {
        let keys = different_keys(&plan.experiment, &other.plan.experiment);
        // Writing to a String does not fail.
        let _ = write_keys(&mut out, called, &keys);
    }
    for explained in result.main.explanation.iter().flatten() {
        let name = &plan.experiment.jobs[explained.job].name;
        let before = match (against, &called) {
            (Some(other), Some(called)) => by_name(other, called, name),
            _ => in_baseline(plan, result, explained.job),
        };
        let _ = write_page(&mut out, plan, &result.main, explained, before);
    }
    out
}

fn write_keys(out: &mut String, called: &str, keys: &[String]) -> fmt::Result {
    let more = match keys.len().saturating_sub(MOST_KEYS) {
        0 => String::new(),
        more => format!(" and {} more", human_count(more as u64)),
    };
    match keys {
        [] => Ok(()),
        _ => {
            let listed = keys[..keys.len().min(MOST_KEYS)].join(", ");
            writeln!(out, "{called} differs in {listed}{more}")
        }
    }
}

fn write_page(
    out: &mut String,
    plan: &Plan,
    run: &Simulation,
    explained: &Explanation,
    before: Option<Before<'_>>,
) -> fmt::Result {
    let name = &plan.experiment.jobs[explained.job].name;
    let total = explained.total_ps;
    if !out.is_empty() {
        writeln!(out)?;
    }
    writeln!(
        out,
        "{name}: {} on the critical path, {total} ps",
        human_time(total)
    )?;
    if let Some(before) = before {
        let words = difference_words(explained, before.explained);
        writeln!(out, "vs {}: {words}", before.called)?;
    }
    write_table(out, &part_rows(explained, before))?;
    writeln!(
        out,
        "\n{} message{} on the path; {} of them were sent to a rank that already waited, for {} of the time",
        human_count(explained.messages),
        if explained.messages == 1 { "" } else { "s" },
        human_count(explained.late_partners),
        percent_of(explained.late_partners_ps, total),
    )?;
    write_table(out, &culprit_rows(&plan.experiment, explained, before))?;
    write_table(out, &link_rows(plan, run, explained))?;
    write_shares(out, explained)
}

/// Tables of the path by rank, collective, region and time.
fn write_shares(out: &mut String, explained: &Explanation) -> fmt::Result {
    let total = explained.total_ps;
    let mut by_time: Vec<_> = explained.ranks.iter().collect();
    by_time.sort_by_key(|share| Reverse(share.parts.total()));
    let ranks = by_time.iter();
    let ranks = ranks.map(|share| (share.rank.to_string(), &share.parts));
    let ranks: Vec<_> = ranks.collect();
    write_table(out, &share_rows("rank", &ranks, total))?;
    for (what, shares) in [
        ("collective", &explained.collectives),
        ("region", &explained.regions),
    ] {
        let shares = shares
            .iter()
            .map(|share| (share.name.clone(), &share.parts));
        let shares: Vec<_> = shares.collect();
        write_table(out, &share_rows(what, &shares, total))?;
    }
    let phases = (0..).zip(&explained.phases);
    let phases = phases.map(|(number, parts)| {
        let begin = |number| human_time(phase_begin(number, total));
        (format!("{} to {}", begin(number), begin(number + 1)), parts)
    });
    write_table(
        out,
        &share_rows("from to", &phases.collect::<Vec<_>>(), total),
    )
}

/// Rows of the parts, and beside them the parts of `before`.
fn part_rows(explained: &Explanation, before: Option<Before<'_>>) -> Vec<Vec<String>> {
    let mut rows = vec![["part", "ps", "share"].map(String::from).to_vec()];
    if let Some(before) = before {
        rows[0].extend([format!("{} ps", before.called), "more".to_owned()]);
    }
    let before = before.map(|before| before.explained);
    let shown = |part: &Part| {
        let both = [Some(explained), before];
        both.into_iter()
            .flatten()
            .any(|one| one.parts.of(*part) > 0)
    };
    for part in Part::ALL.into_iter().filter(shown) {
        let ps = explained.parts.of(part);
        let mut row = vec![
            part.words().to_owned(),
            ps.to_string(),
            percent_of(ps, explained.total_ps),
        ];
        if let Some(before) = before {
            row.push(before.parts.of(part).to_string());
            row.push(more(explained.parts.difference(&before.parts, part)));
        }
        rows.push(row);
    }
    rows
}

fn culprit_rows(
    experiment: &Experiment,
    explained: &Explanation,
    before: Option<Before<'_>>,
) -> Vec<Vec<String>> {
    let header = ["delayed by packets of", "time", "share"];
    let mut rows = vec![header.map(String::from).to_vec()];
    let differences = before.map(|before| culprits_more(experiment, explained, before));
    if differences.is_some() {
        rows[0].push("more".to_owned());
    }
    for share in explained.culprits.iter().take(ROWS) {
        let (from, sl) = names(experiment, share.culprit);
        let mut row = vec![
            culprit_name(experiment, share.culprit),
            human_time(share.ps),
            percent_of(share.ps, explained.total_ps),
        ];
        if let Some(differences) = &differences {
            let same =
                |one: &&(String, String, i128)| (one.0.as_str(), one.1.as_str()) == (&from, sl);
            let ps = differences.iter().find(same).map_or(0, |one| one.2);
            row.push(more(ps));
        }
        rows.push(row);
    }
    rows
}

fn link_rows(plan: &Plan, run: &Simulation, explained: &Explanation) -> Vec<Vec<String>> {
    let header = [
        "waited at",
        "time",
        "queueing",
        "credit stalls",
        "links down",
        "throttling",
        Part::InsideDevices.words(),
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for share in explained.links.iter().take(ROWS) {
        let times = [
            share.ps(),
            share.queueing_ps,
            share.credit_stalls_ps,
            share.waking_links_ps,
            share.throttling_ps,
            share.inside_devices_ps,
        ];
        let mut row = vec![link_name(plan, run, share)];
        row.extend(times.map(human_time));
        rows.push(row);
    }
    rows
}

/// A row for each: its share of the whole, and the parts of that share for local work, messages alone and delays.
fn share_rows(what: &str, shares: &[(String, &Parts)], total: u64) -> Vec<Vec<String>> {
    let header = [
        what,
        "time",
        "share",
        "local work",
        "messages alone",
        "delays",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for (name, parts) in shares.iter().take(ROWS) {
        let all = parts.total();
        let work = parts.of(Part::Computing) + parts.of(Part::Reduction);
        let messages = [Part::InsideNodes, Part::Serialisation, Part::Latency];
        let messages: u64 = messages.map(|part| parts.of(part)).iter().sum();
        let mut row = vec![name.clone(), human_time(all), percent_of(all, total)];
        row.extend([work, messages, parts.delays()].map(|ps| percent_of(ps, all)));
        rows.push(row);
    }
    rows
}
