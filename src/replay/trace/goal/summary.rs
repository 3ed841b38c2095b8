//! Summary of a schedule, and verdict on it.

use crate::trace::summary::{Computation, Summary, bytes, keys, messages};
use crate::trace::verdict::{Count, RECORD_AGAIN, Verdict, whole};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::Error;
use flitwise_formats::goal::{Form, Info, Schedule, Task, check_input};
use flitwise_formats::source::Input;
use flitwise_formats::traffic::{Tally, Traffic};
use serde_json::json;

/// The messages of a schedule, and the nanoseconds that each rank computes.
pub(in crate::trace) fn contents(schedule: &Schedule) -> Result<(Traffic, Computation), Error> {
    let mut tally = Tally::default();
    let mut computation = Computation::new(schedule.ranks());
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank)?;
        for index in 0..block.len() {
            match block.node(index)?.op.task {
                Task::Send { bytes, to, .. } => tally.add(rank, to, bytes),
                Task::Calc { time } => computation.0[rank as usize] += time as f64,
                Task::Recv { .. } | Task::Collective { .. } | Task::Work { .. } => {}
            }
        }
    }
    Ok((tally.finish(|pair| (pair.bytes, 0)), computation))
}

pub(super) fn summary(input: &Input) -> Result<Summary, Error> {
    let schedule = Schedule::read(input, Stop::never())?;
    let info = Info::read(&schedule)?;
    let (traffic, computation) = contents(&schedule)?;
    let form = match schedule.form() {
        Form::Text => "GOAL, text",
        Form::Binary => "GOAL, binary",
    };
    let operations = info.sends + info.recvs + info.calcs;
    let keys = keys(json!({
        "format": form,
        "ranks": info.ranks,
        "operations": operations,
        "calcs": info.calcs,
        "receives": info.recvs,
        "receives_of_any_source": info.any_source,
        "receives_of_any_tag": info.any_tag,
        "requires": info.requires,
        "irequires": info.irequires,
        "cpus": info.cpus,
        "nics": info.nics,
        "compute_ns": computation.value(),
    }));
    let head = [
        ("format", form.to_owned()),
        ("ranks", human_count(info.ranks.into())),
    ];
    let rows = head
        .into_iter()
        .chain(rows(&info, operations, &traffic, &computation));
    Ok(Summary {
        ranks: info.ranks,
        rows: rows.collect(),
        traffic,
        tables: Vec::new(),
        keys,
        further_keys: Default::default(),
    })
}

/// The rows behind the format and the number of ranks.
fn rows(
    info: &Info,
    operations: u64,
    traffic: &Traffic,
    computation: &Computation,
) -> [(&'static str, String); 7] {
    let count = human_count;
    let calcs = format!("{} calcs, ", count(info.calcs));
    [
        (
            "operations",
            format!(
                "{}, at most {} of a rank",
                count(operations),
                count(info.largest_rank.into())
            ),
        ),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "receives",
            format!(
                "{}, {} of any source, {} of any tag",
                count(info.recvs),
                count(info.any_source),
                count(info.any_tag)
            ),
        ),
        ("computation", computation.time_row(&calcs)),
        (
            "dependencies",
            format!(
                "{} on ends, {} on starts",
                count(info.requires),
                count(info.irequires)
            ),
        ),
        (
            "CPUs, NICs",
            format!("{} and {} of a rank", info.cpus, info.nics),
        ),
    ]
}

pub(super) fn verdict(input: &Input) -> Result<Verdict, Error> {
    let (check, _) = check_input(input, Stop::never())?;
    let info = check.info;
    let mut warnings = check.warnings;
    for remark in info.remarks() {
        warnings.add(|| whole(input.path(), &remark));
    }
    Ok(Verdict {
        errors: check.errors,
        cure: RECORD_AGAIN,
        warnings,
        counts: Some(vec![
            Count::new("ranks", info.ranks.into()),
            Count::new("operations", info.sends + info.recvs + info.calcs),
            Count::new("messages", info.sends),
            Count::new("bytes", info.send_bytes),
        ]),
        is_one_text: false,
    })
}
