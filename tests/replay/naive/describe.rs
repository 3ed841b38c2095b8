//! Writes a case down, to be read by people.

use super::case::Case;
use super::outcome::Outcome;
use flitwise::replay::program::{Action, Event, Op};
use std::fmt::Write;

/// The case with the times of the naive replay.
pub fn describe(case: &Case, naive: &Outcome) -> String {
    let mut text = format!(
        "tick {} ps, start {} ps, {} times, NICs {:?}, {:?}, {:?}, {:?}, {:?}\ncompute × {}, regions × {:?}, \
         reductions {} ps/B, collectives {:?}\nnaively: {:?} at {} ps, repetitions {:?}\n",
        case.tick.length_ps(),
        case.start_ps,
        case.repeat,
        case.nics,
        case.node,
        case.send_completion,
        case.protocol,
        case.intra_node,
        case.compute_scale,
        case.region_scales,
        case.reduction_ps_per_byte,
        case.collectives,
        naive.end,
        naive.end_ps,
        naive.repetitions_ps,
    );
    for (rank, streams) in (0..).zip(&case.ranks) {
        for (stream, ops) in (0..).zip(streams) {
            let _ = writeln!(text, "rank {rank} stream {stream}");
            for (index, op) in ops.iter().enumerate() {
                let times = naive.times.get(&(rank, stream, index));
                let times = times.map(|times| (times.started_ps, times.done_ps));
                let _ = writeln!(text, "    {}    {times:?}", operation(op));
            }
        }
    }
    for sent in &naive.fabric {
        let _ = writeln!(
            text,
            "tick {}: {} to {}, {} B",
            sent.tick, sent.src, sent.dst, sent.bytes
        );
    }
    text
}

fn operation(op: &Op) -> String {
    let mut text = String::new();
    for event in op.after.events() {
        let _ = match event {
            Event::Received(id) => write!(text, "after message {id} "),
            Event::Completed(id) => write!(text, "after collective {id} "),
            Event::Started(label) => write!(text, "after start of {} ", label.get()),
            Event::Done(label) => write!(text, "after end of {} ", label.get()),
        };
    }
    if op.compute_ps > 0 {
        let _ = write!(text, "compute {} ", op.compute_ps);
    }
    let _ = match &op.action {
        Action::Marker => write!(text, "marker"),
        Action::EnterRegion(region) => write!(text, "enter region {region}"),
        Action::LeaveRegion(region) => write!(text, "leave region {region}"),
        Action::Send {
            id,
            to,
            bytes,
            awaited,
        } => write!(
            text,
            "send {id} to {to}, {bytes} B{}",
            if *awaited { ", awaited" } else { "" }
        ),
        Action::Collective(collective, position) => write!(
            text,
            "collective {} of {:?} at {position}: {:?}",
            collective.id, collective.members, collective.kind
        ),
        Action::Mpi(call) => write!(text, "{call:?}"),
    };
    if let Some(label) = op.label {
        let _ = write!(text, " [{}]", label.get());
    }
    text
}
