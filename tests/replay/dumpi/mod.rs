//! DUMPI: recorded traces against counts that other programs took from the same files, and on several fabrics.

mod agreement;
mod between;
mod equivalence;
mod polls;
mod random;
mod recordings;
mod refused;
#[path = "../../../formats/tests/dumpi/write.rs"]
#[allow(dead_code, reason = "the tests of the format use the rest")]
mod write;

use crate::formats::data::data;
use flitwise::replay::mpi::Call;
use flitwise::replay::program::{Action, Op, Program, RankId, StreamId};
use flitwise::replay::trace::{Reading, TraceFile, format_of};
use flitwise::stop::Stop;
use flitwise_formats::source::Input;
use std::path::{Path, PathBuf};
use write::{File, Value};

/// The recordings of the data folder with a directory each.
const SETS: [&str; 8] = [
    "gromacs_water-16",
    "hpl-16",
    "lammps_melt-8",
    "lulesh-27",
    "nas_dt_WH_W-11",
    "nas_is_S-16",
    "randomaccess-16",
    "sst-dumpi-testtrace-4",
];

/// A trace that checks clean rank by rank; the ranks need not agree.
fn checked(path: &Path) -> Box<dyn TraceFile> {
    let input = Input::new(path);
    let checked = (format_of(&input).unwrap().check)(&input, Stop::never());
    checked.unwrap_or_else(|e| panic!("{}: {e:#}", path.display()))
}

/// All operations of a program, by rank: what they are does not depend on when they are asked for.
fn operations(program: &mut dyn Program) -> Vec<Vec<Op>> {
    let ranks = program.ranks();
    let of_rank = |rank| {
        let mut ops = Vec::new();
        while let Some(op) = program.next(rank, StreamId::new(0)).unwrap() {
            ops.push(op);
        }
        ops
    };
    RankId::all(ranks).map(of_rank).collect()
}

fn operations_of(path: &Path, reading: &Reading) -> Vec<Vec<Op>> {
    let file = checked(path);
    let reading = Reading {
        allow_no_communication: true,
        ..reading.clone()
    };
    let mut program = file.open(&reading, Stop::never()).unwrap();
    operations(&mut *program)
}

/// The MPI calls of a rank.
fn calls(ops: &[Op]) -> impl Iterator<Item = &Call> {
    ops.iter().filter_map(|op| match &op.action {
        Action::Mpi(call) => Some(&**call),
        _ => None,
    })
}

/// A set of the data folder.
fn set(name: &str) -> Option<PathBuf> {
    Some(data("traces/dumpi")?.join(name))
}

/// The files of ranks, one for each, in a directory of their own.
fn directory(files: &[File]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (rank, file) in files.iter().enumerate() {
        std::fs::write(dir.path().join(format!("t-{rank:04}.bin")), file.bytes()).unwrap();
    }
    dir
}

/// A rank that begins, calls what `between` says, and ends.
fn rank(between: impl Fn(&mut File)) -> File {
    let mut file = File::default();
    file.call("MPI_Init", &[Value::List(Vec::new())]);
    between(&mut file);
    file.call("MPI_Finalize", &[]);
    file
}

fn barrier(comm: i64) -> impl Fn(&mut File) {
    move |file| {
        file.call("MPI_Barrier", &[comm.into()]);
    }
}
