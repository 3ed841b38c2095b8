//! Summary of a TI trace, and verdict on it.

use crate::trace::summary::{Computation, Summary, bytes, counts, keys, messages};
use crate::trace::verdict::{Count, RECORD_AGAIN, Verdict};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::Error;
use flitwise_formats::source::Input;
use flitwise_formats::ti::{Action, Info, Trace, check_input};
use flitwise_formats::traffic::{Tally, Traffic};
use serde_json::json;

pub(super) fn summary(input: &Input) -> Result<Summary, Error> {
    let trace = Trace::read(input, Stop::never())?;
    let mut info = Info::read(&trace)?;
    let traffic = traffic(&trace, info.ranks)?;
    let computation = Computation(std::mem::take(&mut info.flops));
    let rows = rows(&info, &traffic, &computation);
    let keys = keys(json!({
        "format": "TI",
        "ranks": info.ranks,
        "actions": info.actions,
        "actions_by_name": info.by_name,
        "receives": info.recvs + info.sendrecvs,
        "receives_of_any": info.any,
        "collective_calls": info.collectives,
        "collective_calls_started": info.immediate_collectives,
        "unknown_sizes": info.unknown_sizes,
        "polls": info.polls,
        "sleep_s": info.sleep_seconds,
        "compute_flops": computation.value(),
    }));
    let by_name = info.by_name.iter().map(|(name, &count)| (*name, count));
    Ok(Summary {
        ranks: info.ranks,
        traffic,
        rows,
        tables: vec![counts("action", by_name)],
        keys,
        further_keys: Default::default(),
    })
}

fn rows(info: &Info, traffic: &Traffic, computation: &Computation) -> Vec<(&'static str, String)> {
    let count = human_count;
    let mut rows = vec![
        ("format", "TI".to_owned()),
        ("ranks", count(info.ranks.into())),
        ("actions", count(info.actions)),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "receives",
            format!(
                "{}, {} of any source or tag",
                count(info.recvs + info.sendrecvs),
                count(info.any)
            ),
        ),
        (
            "collectives",
            format!(
                "{} calls of all ranks, {} only started",
                count(info.collectives),
                count(info.immediate_collectives)
            ),
        ),
        (
            "computation",
            computation.row("", |flops| format!("{flops:.4e} flops")),
        ),
    ];
    if info.unknown_sizes > 0 {
        let unknown = count(info.unknown_sizes);
        rows.push(("unknown sizes", format!("{unknown}: counted as 0 bytes")));
    }
    rows
}

/// The messages between pairs of ranks.
fn traffic(trace: &Trace, ranks: u32) -> Result<Traffic, Error> {
    let mut tally = Tally::default();
    for rank in 0..ranks {
        let mut actions = trace.rank(rank)?;
        while let Some((_, action)) = actions.next_action()? {
            match action {
                Action::Send {
                    to: Some(to),
                    elements,
                    ..
                } => tally.add(rank, to, elements.bytes()),
                Action::SendRecv {
                    to: Some(to), send, ..
                } => tally.add(rank, to, send.bytes()),
                _ => {}
            }
        }
    }
    Ok(tally.finish(|pair| (pair.bytes, 0)))
}

pub(super) fn verdict(input: &Input) -> Result<Verdict, Error> {
    let (check, _) = check_input(input, Stop::never())?;
    let info = check.info;
    let bytes = info.send_bytes.saturating_add(info.sendrecv_bytes);
    Ok(Verdict {
        errors: check.errors,
        cure: RECORD_AGAIN,
        warnings: check.warnings,
        counts: Some(vec![
            Count::new("ranks", info.ranks.into()),
            Count::new("actions", info.actions),
            Count::new("messages", info.sends + info.sendrecvs),
            Count::new("bytes", bytes),
            Count::new("collective_calls", info.collectives),
            Count::new("waits_for_none", check.waits_for_none),
            Count::new("unknown_sizes", info.unknown_sizes),
        ]),
        is_one_text: false,
    })
}
