//! Summary of an OTF2 archive, and verdict on it.

use super::{Examined, Otf2File};
use crate::trace::recorded::{add_agreement, sent_counts, warn, warn_of_opening};
use crate::trace::summary::{
    Computation, Summary, bytes, counts, counts_value, keys, messages, sent_by_region,
};
use crate::trace::verdict::{Count, Verdict, whole};
use crate::trace::{TraceFile, refusal};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::Problems;
use flitwise_formats::otf2::Check;
use flitwise_formats::source::Input;
use serde_json::{Map, Value, json};

pub(super) fn summary(input: &Input) -> anyhow::Result<Summary> {
    let examined = Examined::of(input, Stop::never())?;
    let check = examined.check.clone();
    // The ranks need not agree, but what they do has to be known.
    if !check.is_clean() {
        bail!(refusal(&check.errors));
    }
    let file = examined.file()?;
    let anchor = file.archive.anchor();
    let ([major, minor, patch], creator) = (anchor.version, anchor.creator());
    let totals = check.counts;
    let (traffic, computation, by_region) = sent_by_region(&file, None)?;
    let count = human_count;
    let ranks = file.ranks();
    let mut rows = vec![
        (
            "format",
            format!("OTF2 {major}.{minor}.{patch}, recorded by {creator}"),
        ),
        ("ranks", count(ranks.into())),
        ("events", count(totals.events)),
        ("messages", messages(&traffic)),
        ("bytes", bytes(&traffic)),
        (
            "collectives",
            format!(
                "{} calls of all ranks, {} only started",
                count(totals.collectives),
                count(totals.immediate)
            ),
        ),
        ("wall time", computation.time_row("computes ")),
    ];
    let others = file.known.regions.others.clone();
    rows.extend(others.map(|others| ("regions", others)));
    let regions = by_region.value(file.regions());
    let keys = json_keys(&file, &check, &computation, regions);
    let of_regions = by_region.table(file.regions(), &computation);
    let by_name = check.calls.iter().map(|(name, &n)| (name.as_str(), n));
    Ok(Summary {
        ranks,
        traffic,
        rows,
        tables: of_regions
            .into_iter()
            .chain([counts("call", by_name)])
            .collect(),
        keys,
        further_keys: Map::new(),
    })
}

fn json_keys(
    file: &Otf2File,
    check: &Check,
    computation: &Computation,
    regions: Value,
) -> Map<String, Value> {
    let ([major, minor, patch], totals) = (file.archive.anchor().version, check.counts);
    let by_name = check.calls.iter().map(|(name, &n)| (name.as_str(), n));
    keys(json!({
        "format": format!("OTF2 {major}.{minor}.{patch}"),
        "creator": file.archive.anchor().creator,
        "ranks": file.ranks(),
        "threads": check.threads,
        "events": totals.events,
        "calls_by_name": counts_value(by_name),
        "collective_calls": totals.collectives,
        "collective_calls_started": totals.immediate,
        "compute_wall_ns": computation.value(),
        "regions": regions,
    }))
}

pub(super) fn verdict(input: &Input) -> anyhow::Result<Verdict> {
    let examined = Examined::of(input, Stop::never())?;
    let (path, check) = (examined.archive.path(), &examined.check);
    let mut verdict = Verdict {
        errors: check.errors.clone(),
        ..Verdict::default()
    };
    let mut counts = vec![
        Count::new("ranks", examined.archive.ranks().into()),
        Count::new("events", check.counts.events),
    ];
    match &examined.known {
        Err(problem) => (verdict.errors).extend(Problems::one(whole(path, problem))),
        Ok(_) if !check.is_clean() => verdict.warnings = check.warnings.clone(),
        Ok(_) => compare(&examined.file()?, &mut verdict, &mut counts)?,
    }
    verdict.counts = Some(counts);
    Ok(verdict)
}

/// Adds the points on which the ranks disagree, and what a replay leaves out.
fn compare(file: &Otf2File, verdict: &mut Verdict, counts: &mut Vec<Count>) -> anyhow::Result<()> {
    let path = file.archive.path();
    warn_of_opening(verdict, path, file);
    for remark in file.remarks() {
        warn(verdict, path, &remark);
    }
    add_agreement(verdict, file)?;
    counts.extend(sent_counts(file)?);
    Ok(())
}
