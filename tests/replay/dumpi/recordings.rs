//! Every recording replays to its end on several fabrics, and its counts are those of an independent reader.

use super::{SETS, calls, operations_of, set};
use crate::formats::data::own;
use crate::naive::fabric::{play, replay_of};
use crate::naive::{Case, compare};
use flitwise::config::resolve_text;
use flitwise::fabric::workload::Workload;
use flitwise::replay::mpi::Call;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::trace::{ComputeTime, Reading};
use flitwise::run::{Control, Status, run_plan};
use flitwise::stop::Stop;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// 64 NICs each.
const FABRICS: [(&str, &str); 3] = [
    (
        "an Omni-Path tree",
        "preset = \"opa-gen1\"\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }",
    ),
    (
        "an Omni-Path torus",
        "preset = \"opa-gen1\"\ntopology = { kind = \"torus\", dimensions = [4, 4], concentration = 4, trunk = 4 }",
    ),
    (
        "an InfiniBand tree",
        "preset = \"ib-edr\"\ntopology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }",
    ),
];

/// The outcome of a trace on a fabric.
fn replayed(trace: &Path, fabric: &str, keys: &str) -> JobOutcome {
    let text = format!(
        "baseline.enabled = false\n[fabric]\n{fabric}\n[[job]]\ntrace = '{}'\n{keys}\n",
        trace.display()
    );
    let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    let done = run_plan(&plan, &Control::default(), 1);
    let run = done
        .unwrap_or_else(|e| panic!("{}: {e}", trace.display()))
        .main;
    assert_eq!(run.status, Status::Complete, "{}", trace.display());
    assert_eq!(run.stats.flits_injected, run.stats.flits_delivered);
    run.jobs[0].clone().expect("it is replayed")
}

/// Execution time where messages take no time.
fn ideal_ps(trace: &Path, reading: &Reading) -> u64 {
    let ranks = operations_of(trace, reading);
    let mut case = Case::of(ranks.into_iter().map(|ops| vec![ops]).collect());
    case.nics.fill(0);
    case.intra_node.latency_ps = 0;
    let program = super::checked(trace).open(reading, Stop::never()).unwrap();
    let mut replay = replay_of(&case, program);
    play(&mut replay, false);
    assert!(
        replay.finished(),
        "{:?} {:#?}",
        replay.error(),
        replay.stall_report()
    );
    replay.outcomes().remove(0).execution_ps
}

fn counts_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Messages and bytes sent, and collectives called, of each rank as the counts have them.
fn counted(counts: &Value) -> Vec<[u64; 3]> {
    let of_rank = |rank: &Value| {
        let number = |key: &str| rank[key].as_u64().unwrap_or(0);
        [
            number("sends") + number("sendrecvs"),
            number("send_bytes") + number("sendrecv_send_bytes"),
            number("collectives"),
        ]
    };
    counts["per_rank"]
        .as_array()
        .unwrap()
        .iter()
        .map(of_rank)
        .collect()
}

/// The same of the operations of the program.
fn called(trace: &Path) -> Vec<[u64; 3]> {
    let ranks = operations_of(trace, &Reading::default());
    let of_rank = |ops: &Vec<_>| {
        let mut sums = [0; 3];
        for call in calls(ops) {
            match call {
                Call::Send { bytes, .. } => {
                    sums[0] += 1;
                    sums[1] += bytes;
                }
                Call::Collective { .. } => sums[2] += 1,
                _ => {}
            }
        }
        sums
    };
    ranks.iter().map(of_rank).collect()
}

/// Collectives of the trace, each counted once.
fn collectives(trace: &Path) -> u64 {
    let ranks = operations_of(trace, &Reading::default());
    let mut each: std::collections::BTreeMap<u32, (u64, u64)> = Default::default();
    for call in ranks.iter().flat_map(|ops| calls(ops)) {
        if let Call::Collective { comm, .. } = call {
            let entry = each.entry(comm.id.get()).or_default();
            *entry = (entry.0 + 1, comm.members.len() as u64);
        }
    }
    let whole = each.values().map(|&(calls, members)| {
        assert_eq!(calls % members, 0);
        calls / members
    });
    whole.sum()
}

/// Replays a trace on every fabric, and compares it with its counts. `bytes` are those that are right, where the counts are
/// not.
fn agrees(trace: &Path, counts: &Value, clock: &str, bytes: Option<u64>) {
    let (expected, found) = (counted(counts), called(trace));
    for (rank, (expected, found)) in expected.iter().zip(&found).enumerate() {
        assert_eq!(
            [expected[0], expected[2]],
            [found[0], found[2]],
            "rank {rank}"
        );
        if bytes.is_none() {
            assert_eq!(expected[1], found[1], "rank {rank}");
        }
    }
    let sum = |at: usize| found.iter().map(|sums| sums[at]).sum::<u64>();
    assert_eq!(
        sum(1),
        bytes.unwrap_or_else(|| expected.iter().map(|sums| sums[1]).sum())
    );
    let reading = Reading {
        compute_time: Some(match clock {
            "cpu" => ComputeTime::Cpu,
            _ => ComputeTime::Wall,
        }),
        ..Reading::default()
    };
    let ideal_ps = ideal_ps(trace, &reading);
    let collectives = collectives(trace);
    for (name, fabric) in FABRICS {
        let keys = format!("compute_time = \"{clock}\"\nname = \"dumpi\"");
        let job = replayed(trace, fabric, &keys);
        assert_eq!(job.ranks as usize, found.len(), "{name}");
        assert_eq!(job.point_to_point, sum(0), "{name}");
        assert_eq!(job.point_to_point_bytes, sum(1), "{name}");
        assert_eq!(job.collectives, collectives, "{name}");
        assert!(
            job.execution_ps >= ideal_ps,
            "{name}: {} {ideal_ps}",
            job.execution_ps
        );
        println!(
            "{}: {name}: {} us, ideal {} us",
            trace.display(),
            job.execution_ps / 1_000_000,
            ideal_ps / 1_000_000
        );
    }
}

#[test]
fn recordings_replay_with_their_counts() {
    for name in SETS {
        let Some(trace) = set(name) else { return };
        let counts = counts_of(&trace.join("counts.json"));
        // The counts take the sizes of types from a table that has one for each number.
        let bytes = (name == "hpl-16").then_some(40_881_332);
        agrees(&trace, &counts, "cpu", bytes);
    }
}

/// The recording of a Cray, unpacked into `dir`, and its counts.
fn of_a_cray(dir: &Path) -> Option<(PathBuf, Value)> {
    let packed = set("mpinet-LULESH-64.tar.xz")?;
    let tar = dir.join("lulesh.tar");
    let out = std::fs::File::create(&tar).unwrap();
    let unpack = Command::new("xz")
        .arg("-dc")
        .arg(&packed)
        .stdout(out)
        .status();
    if !unpack.is_ok_and(|status| status.success()) {
        println!("skipped: needs the program xz");
        return None;
    }
    let counts = counts_of(&packed.with_file_name("mpinet-LULESH-64.counts.json"));
    Some((tar, counts))
}

#[test]
fn a_cray_of_2013_replays() {
    let dir = tempfile::tempdir().unwrap();
    if let Some((tar, counts)) = of_a_cray(dir.path()) {
        assert_eq!(counted(&counts), called(&tar));
        // Its gigabytes take minutes on a fabric with the checks of a debug build.
        assert!(ideal_ps(&tar, &Reading::default()) > 0);
    }
}

#[test]
#[ignore = "minutes: cargo test --release -p flitwise-oracles --test replay cray -- --ignored"]
fn a_cray_of_2013_replays_on_every_fabric() {
    let dir = tempfile::tempdir().unwrap();
    if let Some((tar, counts)) = of_a_cray(dir.path()) {
        agrees(&tar, &counts, "wall", None);
    }
}

#[test]
fn the_naive_replay_agrees_on_recordings() {
    for name in SETS.into_iter().filter(|&name| name != WITH_POLLS) {
        naive_agrees(name);
    }
}

const WITH_POLLS: &str = "randomaccess-16";

/// In a test of its own, as it takes longer than the others.
#[test]
fn the_naive_replay_agrees_on_polls_and_cancelled_receives() {
    naive_agrees(WITH_POLLS);
}

fn naive_agrees(name: &str) {
    if let Some(trace) = set(name) {
        naive_agrees_on(&trace);
    }
}

fn naive_agrees_on(trace: &Path) {
    let name = trace.display();
    let ranks = operations_of(trace, &Reading::default());
    let case = Case::of(ranks.into_iter().map(|ops| vec![ops]).collect());
    let outcome = compare(&case).unwrap_or_else(|e| panic!("{name}: {}", &e[..e.len().min(2000)]));
    assert_eq!(outcome.end, crate::naive::End::Complete, "{name}");
}

#[test]
#[ignore = "minutes: cargo test --release -p flitwise-oracles --test replay naive -- --ignored"]
fn the_naive_replay_agrees_on_a_cray_of_2013() {
    let dir = tempfile::tempdir().unwrap();
    if let Some((tar, _)) = of_a_cray(dir.path()) {
        naive_agrees_on(&tar);
    }
}

fn shipped(name: &str) -> PathBuf {
    own("traces/dumpi").join(name)
}

#[test]
fn shipped_recordings_replay_with_their_counts() {
    for (trace, name) in [
        ("nas_is_S-16.tar.gz", "nas_is_S-16"),
        ("nas_dt_WH_W-11", "nas_dt_WH_W-11"),
    ] {
        let counts = counts_of(&shipped(&format!("{name}.counts.json")));
        agrees(&shipped(trace), &counts, "cpu", None);
    }
}

/// A file in a tar archive.
fn tar_entry(path: &Path) -> Vec<u8> {
    let mut content = std::fs::read(path).unwrap();
    let mut header = [0; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &path.file_name().unwrap().to_string_lossy());
    put(100, "0000644");
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
    let sum = format!("{sum:06o}\u{0}");
    header[148..148 + sum.len()].copy_from_slice(sum.as_bytes());
    content.resize(content.len().next_multiple_of(512), 0);
    [header.to_vec(), content].concat()
}

/// A trace is given by its directory, its metafile, any of its files or an archive, and replays alike.
#[test]
fn all_ways_to_give_a_trace_are_one() {
    let trace = shipped("nas_dt_WH_W-11");
    let names = std::fs::read_dir(&trace).unwrap();
    let mut names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let ends = |end: &str| {
        let path = names
            .iter()
            .find(|path| path.to_string_lossy().ends_with(end));
        path.unwrap_or_else(|| panic!("{end}")).clone()
    };
    // An archive of the same files.
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("dt.tar");
    let files = names.iter().flat_map(|path| tar_entry(path));
    let files: Vec<u8> = files.chain([0; 1024]).collect();
    std::fs::write(&archive, files).unwrap();
    let all = [
        trace.clone(),
        ends(".meta"),
        ends("-0000.bin.gz"),
        ends("-0009.bin.gz"),
        archive,
    ];
    let jobs = all.map(|path| replayed(&path, FABRICS[0].1, "name = \"dt\""));
    for job in &jobs[1..] {
        assert_eq!(*job, jobs[0]);
    }
}
