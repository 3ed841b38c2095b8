//! Summary of a Chakra trace, and verdict on it.

use super::{ChakraFile, Form};
use crate::trace::TraceFile;
use crate::trace::goal::contents;
use crate::trace::summary::{Computation, Summary, bytes, keys, messages};
use crate::trace::verdict::{Count, Verdict};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_base::units::{human_bytes, human_count};
use flitwise_formats::Problems;
use flitwise_formats::chakra::Trace;
use flitwise_formats::source::Input;
use flitwise_formats::traffic::Traffic;
use serde_json::json;

pub(super) fn summary(form: &Form, input: &Input) -> anyhow::Result<Summary> {
    let (_, trace) = match form.read(input, Stop::never())? {
        Ok(read) => read,
        Err(problem) => bail!("{problem}"),
    };
    let (traffic, computation) = contents(&trace.schedule)?;
    let rows = rows(form, &trace, &traffic, &computation);
    let (info, counts) = (&trace.info, &trace.counts);
    let keys = keys(json!({
        "format": form.name,
        "ranks": info.ranks,
        "nodes": counts.nodes,
        "dependencies": counts.dependencies,
        "computations": info.calcs,
        "receives": info.recvs,
        "collective_calls": info.collectives,
        "collective_bytes": info.collective_bytes,
        "process_groups": trace.groups.len(),
        "streams": counts.streams,
        "kernels_without_successor": counts.lost,
        "untimed_computations": info.works,
        "operations": info.work_operations,
        "compute_ns": computation.value(),
    }));
    Ok(Summary {
        ranks: info.ranks,
        traffic,
        rows,
        tables: Vec::new(),
        keys,
        further_keys: Default::default(),
    })
}

/// The rows of the text.
fn rows(
    form: &Form,
    trace: &Trace,
    traffic: &Traffic,
    computation: &Computation,
) -> Vec<(&'static str, String)> {
    let (info, counts, count) = (&trace.info, &trace.counts, human_count);
    let calcs = format!("{} nodes, ", count(info.calcs));
    let mut rows = vec![
        ("format", form.name.to_owned()),
        ("ranks", count(info.ranks.into())),
        (
            "nodes",
            format!(
                "{}, at most {} of a rank, {} dependencies",
                count(counts.nodes),
                count(info.largest_rank.into()),
                count(counts.dependencies)
            ),
        ),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "collectives",
            format!(
                "{} nodes of {} process groups, which bring {}",
                count(info.collectives),
                trace.groups.len(),
                human_bytes(info.collective_bytes)
            ),
        ),
        ("computation", computation.time_row(&calcs)),
        (
            "streams",
            format!(
                "{} of a rank; {} kernels without a successor",
                counts.streams,
                count(counts.lost)
            ),
        ),
    ];
    if info.works > 0 {
        let operations = info.work_operations as f64;
        let text = format!(
            "{operations:.4e} of {} nodes without a duration",
            count(info.works)
        );
        rows.push(("operations", text));
    }
    rows
}

pub(super) fn verdict(form: &Form, input: &Input) -> anyhow::Result<Verdict> {
    let (set, trace) = match form.read(input, Stop::never())? {
        Ok(read) => read,
        Err(problem) => {
            return Ok(Verdict {
                errors: Problems::one(problem),
                ..Verdict::default()
            });
        }
    };
    let info = &trace.info;
    let counts = vec![
        Count::new("ranks", info.ranks.into()),
        Count::new("nodes", trace.counts.nodes),
        Count::new("messages", info.sends),
        Count::new("bytes", info.send_bytes),
        Count::new("collective_calls", info.collectives),
    ];
    let mut verdict = Verdict {
        errors: trace.errors.clone(),
        warnings: trace.warnings.clone(),
        counts: Some(counts),
        ..Verdict::default()
    };
    if verdict.errors.is_empty() {
        let agreement = ChakraFile::new(form, input, set, trace)?.agreement(Stop::never())?;
        verdict.errors.extend(agreement.errors);
        verdict.warnings.extend(agreement.warnings);
    }
    Ok(verdict)
}
