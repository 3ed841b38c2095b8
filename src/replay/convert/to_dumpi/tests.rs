//! The calls of a DUMPI trace are the calls of the trace that it comes from.

use super::to_dumpi;
use crate::convert::{Form, convert};
use crate::trace::{Reading, TraceFile, check_file};
use flitwise_base::stop::Stop;
use std::path::Path;

/// The trace as VEF3.
fn vef(file: &dyn TraceFile) -> String {
    let mut vef = Vec::new();
    let reading = Reading::default();
    convert(file, Path::new("trace"), &reading, Form::Vef3, &mut vef).unwrap();
    String::from_utf8(vef).unwrap()
}

/// A trace and the DUMPI trace of its calls become the same VEF3.
fn is_the_same_as_dumpi(path: &Path) {
    let file = check_file(path, Stop::never()).unwrap();
    let mut dumpi = Vec::new();
    to_dumpi(&*file, path, &Reading::default(), &mut dumpi).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("dumpi.tar");
    std::fs::write(&tar, dumpi).unwrap();
    let again = check_file(&tar, Stop::never()).unwrap();
    assert_eq!(again.format(), "DUMPI");
    assert_eq!(vef(&*again), vef(&*file), "{}", path.display());
}

#[test]
fn recordings_of_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/recordings");
    // Communicators, receives from any rank, and many neighbours.
    for name in ["gromacs-water-256", "leanmd-128", "lulesh-125"] {
        is_the_same_as_dumpi(&folder.join(format!("{name}.tar.zst")));
    }
}

#[test]
fn all_collectives_and_waits() {
    // By sender and receiver.
    let sizes = [[0, 1, 2], [1, 2, 2], [2, 3, 2]];
    let shown = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join(" ");
    let sent_by = |rank: usize| shown(sizes[rank]);
    let sent_to = |rank: usize| shown(sizes.map(|row| row[rank]));
    let mut text = String::new();
    for rank in 0..3 {
        let [left, right, own] = [(rank + 2) % 3, (rank + 1) % 3, rank + 1];
        let lines = [
            "init".to_owned(),
            "compute 1.5e6".to_owned(),
            "barrier".to_owned(),
            "bcast 100 1".to_owned(),
            "reduce 80 0 2".to_owned(),
            "allreduce 64 0".to_owned(),
            "gather 10 10 1".to_owned(),
            "scatter 12 12 0".to_owned(),
            "allgather 5 5".to_owned(),
            "alltoall 7 7".to_owned(),
            format!("gatherv {own} 1 2 3 2"),
            format!("allgatherv {own} 1 2 3"),
            format!("alltoallv 9 {} 9 {}", sent_by(rank), sent_to(rank)),
            "reducescatter 1 2 3 0".to_owned(),
            "scan 9 0".to_owned(),
            "exscan 9 0".to_owned(),
            format!("irecv {left} 4 50000"),
            format!("isend {right} 4 50000"),
            "compute 1e3".to_owned(),
            "waitall 2".to_owned(),
            format!("isend {left} 5 1000"),
            format!("recv {right} 5 1000"),
            format!("wait {rank} {left} 5"),
            "compute 2e6".to_owned(),
            "finalize".to_owned(),
        ];
        text.extend(lines.map(|line| format!("{rank} {line}\n")));
    }
    let dir = tempfile::tempdir().unwrap();
    let ti = dir.path().join("all.ti");
    std::fs::write(&ti, text).unwrap();
    is_the_same_as_dumpi(&ti);
}

#[test]
fn computations_beyond_the_times_of_dumpi_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ti = dir.path().join("long.ti");
    // Before a call, and before the end: 40,000 s at the default speed, 20,000 flops per second.
    for last in ["barrier", "finalize"] {
        let lines = ["init", "compute 8e8", last].map(|line| format!("0 {line}\n"));
        std::fs::write(&ti, lines.concat()).unwrap();
        let file = check_file(&ti, Stop::never()).unwrap();
        let refused = to_dumpi(&*file, &ti, &Reading::default(), &mut Vec::new());
        let why = format!("{:#}", refused.unwrap_err());
        assert!(why.contains("computes for 40000 s"), "{why}");
    }
}

#[test]
fn long_payloads_count_larger_elements() {
    let counted = |bytes: u64| super::elements(bytes).map(|(count, of)| (count, of.0)).ok();
    assert_eq!(counted(0), Some((0, 5)));
    assert_eq!(counted(i32::MAX as u64), Some((i32::MAX, 5)));
    assert_eq!(counted(1 << 31), Some((1 << 28, 14)));
    assert_eq!(counted(1 << 34), Some((1 << 30, 15)));
    assert_eq!(counted((1 << 31) + 1), None);
    let all = super::all_elements(&[8, 1 << 32]).map(|(counts, of)| (counts, of.0));
    assert_eq!(all.unwrap(), (vec![1, 1 << 29], 14));
}
