//! Recordings as programs: each call, clocks, threads, what can't be replayed, and recordings of the recorder.

mod broken;
mod calls;
mod clocks;
mod collectives;
mod killed;
mod recordings;
mod refused;
#[path = "../../../../../formats/tests/recording/write.rs"]
mod write;

use crate::mpi::{Call, CommId};
use crate::program::{Action, Op, RankId, StreamId};
use crate::trace::{Reading, TraceFile, check_file};
use flitwise_base::stop::Stop;
use std::path::Path;
use write::Stream;

/// A recording whose ranks need not agree.
fn opened(dir: &Path) -> Box<dyn TraceFile> {
    let input = flitwise_formats::source::Input::new(dir);
    let format = crate::trace::format_of(&input).unwrap();
    assert_eq!(format.name, "FLITREC");
    (format.check)(&input, Stop::never()).unwrap()
}

/// The operations of a rank.
fn operations(file: &dyn TraceFile, rank: u32, reading: &Reading) -> Vec<Op> {
    let mut program = file.open(reading, Stop::never()).unwrap();
    let mut ops = Vec::new();
    while let Some(op) = program.next(RankId::new(rank), StreamId::new(0)).unwrap() {
        ops.push(op);
    }
    ops
}

/// The MPI calls of rank 0, which has these records.
fn calls_of(streams: &[Stream]) -> Vec<Call> {
    let dir = write::directory(streams);
    let file = opened(dir.path());
    let _ = file.agreement(Stop::never()).unwrap();
    let ops = operations(
        &*file,
        0,
        &Reading {
            allow_no_communication: true,
            ..Reading::default()
        },
    );
    let calls = ops.into_iter().filter_map(|op| match op.action {
        Action::Mpi(call) => Some(*call),
        _ => None,
    });
    calls.collect()
}

/// The same where the ranks have records of their own.
fn calls(between: impl Fn(&mut Stream)) -> Vec<Call> {
    calls_of(&write::ranks(2, |stream| {
        if stream.rank == 0 {
            between(stream);
        }
    }))
}

const WORLD: CommId = CommId::new(0);
