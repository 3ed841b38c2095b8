//! Real traces replay to their end, on both fabrics of Hiperion's section 4.3 and on InfiniBand, and
//! everything that is in them arrives.
//!
//! The counts were taken from the files by other programs than this one.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::common::data::data;
use flitwise::config::{Plan, resolve_text};
use flitwise::replay::outcome::JobOutcome;
use flitwise::run::{Control, Simulation, Status, run_plan};
use flitwise_formats::vef::{Reader, Record, write};

/// What a trace holds.
struct Real {
    file: &'static str,
    ranks: u32,
    messages: u64,
    bytes: u64,
    collectives: u64,
}

const fn real(file: &'static str, ranks: u32, messages: u64, bytes: u64, collectives: u64) -> Real {
    Real {
        file,
        ranks,
        messages,
        bytes,
        collectives,
    }
}

const HPL_16: Real = real("hpl-16.vef.gz", 16, 9_842, 40_881_332, 21);
const HPL_64: Real = real("hpl-64.vef.gz", 64, 17_692, 29_891_972, 21);
const GROMACS: Real = real("gromacs_water-16.vef.gz", 16, 6_103, 36_928_112, 186);
const LAMMPS: Real = real("lammps_melt-16.vef.gz", 16, 20_736, 115_937_304, 147);
const RANDOM_ACCESS: Real = real("randomaccess-16.vef.gz", 16, 925, 122_800, 33);
const LULESH: Real = real("lulesh-27.vef.gz", 27, 17_776, 12_014_432, 31);
const ALL: [&Real; 6] = [&HPL_16, &HPL_64, &GROMACS, &LAMMPS, &RANDOM_ACCESS, &LULESH];

/// Not part of the project: used in place where they are.
const DUMMY: Real = real("output_trace_dummy.vef", 4, 8, 360, 0);
const DUMMY_RECV: Real = real("output_trace_dummyRecv.vef", 4, 8, 360, 0);
const LARGE: &str = "out_2025-08-21-173711.vef.gz";

/// 64 NICs: 8 switches of 8 NICs below 8 others.
const TREE: &str = "topology = { kind = \"k-ary-n-tree\", k = 8, n = 2 }";
/// 128 NICs.
const TORUS: &str =
    "topology = { kind = \"torus\", dimensions = [4, 4], concentration = 8, trunk = 10 }";
const FABRICS: [&str; 2] = [TREE, TORUS];

fn own(real: &Real) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("traces")
        .join(real.file)
}

/// A third-party trace.
fn third_party(file: &str) -> Option<PathBuf> {
    data(&format!("traces/vef-thirdparty/{file}"))
}

/// Computation of each rank in picoseconds, summed from the file.
fn compute(trace: &Path) -> Vec<u64> {
    let mut reader = Reader::open(trace).unwrap();
    let unit = reader.header().ps_per_unit;
    let mut ranks = vec![0; reader.header().tasks as usize];
    while let Some((_, record)) = reader.next_record().unwrap() {
        ranks[record.task() as usize] += record.time() * unit;
    }
    ranks
}

fn run(trace: &Path, fabric: &str, job: &str, rest: &str) -> Simulation {
    let mut text = format!(
        "seed = 7\nbaseline.enabled = false\n[fabric]\npreset = \"opa-gen1\"\n{fabric}\n\
         [qos]\npreset = \"opa-5sl\"\nscheduler = \"dtable\"\n"
    );
    let trace = trace.display();
    write!(
        text,
        "[[job]]\ntrace = '{trace}'\nsl = \"CL\"\n{job}\n{rest}"
    )
    .unwrap();
    let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    simulate(&plan, &trace.to_string())
}

fn simulate(plan: &Plan, name: &str) -> Simulation {
    let control = Control::default();
    run_plan(plan, &control, 1)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
        .main
}

/// Everything arrived, and in a time that the trace allows.
fn check(real: &Real, run: &Simulation, compute: &[u64], place: &str) -> JobOutcome {
    assert_eq!(run.status, Status::Complete, "{place}");
    let job = run.jobs[0].clone().unwrap();
    assert!(job.complete, "{place}");
    let found = (
        job.ranks,
        job.point_to_point,
        job.point_to_point_bytes,
        job.collectives,
    );
    let expected = (real.ranks, real.messages, real.bytes, real.collectives);
    assert_eq!(
        found, expected,
        "{place}: ranks, messages, bytes, collectives"
    );
    assert!(job.messages >= job.point_to_point, "{place}");
    assert!(job.bytes >= job.point_to_point_bytes, "{place}");
    assert_eq!(job.compute_ps + job.network_ps, job.execution_ps, "{place}");
    // No rank can be done before it has computed.
    let longest = *compute.iter().max().unwrap();
    assert!(job.execution_ps >= longest, "{place}: {job:?} < {longest}");
    job
}

/// As [`check`], for a job that has the fabric to itself.
fn check_alone(real: &Real, run: &Simulation, compute: &[u64], place: &str) -> JobOutcome {
    let job = check(real, run, compute, place);
    let stats = &run.stats;
    assert_eq!(stats.flits_injected, stats.flits_delivered, "{place}");
    assert_eq!(stats.flits_in_flight, 0, "{place}");
    assert_eq!(stats.messages, stats.messages_delivered, "{place}");
    assert_eq!(
        stats.messages,
        job.messages - job.intra_node_messages,
        "{place}"
    );
    if job.intra_node_messages == 0 {
        let bytes: u64 = stats.service_levels.iter().map(|sl| sl.bytes).sum();
        assert_eq!(bytes, job.bytes, "{place}");
        assert!(stats.flits_delivered >= bytes / 8, "{place}");
    }
    // One thing after the other: all computation, then every message alone, 5 us and
    // its bytes at 1.5625 GB/s, an eighth of the rate of a link.
    let limit = compute.iter().sum::<u64>() + job.messages * 5_000_000 + job.bytes * 640;
    assert!(job.execution_ps <= limit, "{place}: {job:?} > {limit}");
    job
}

fn every_trace_on(fabric: &str) {
    for real in ALL {
        let trace = own(real);
        let compute = compute(&trace);
        let place = format!("{} on {fabric}", real.file);
        let placed = check_alone(real, &run(&trace, fabric, "", ""), &compute, &place);
        let random = "placement = \"random\"";
        let spread = check_alone(real, &run(&trace, fabric, random, ""), &compute, &place);
        assert_eq!(placed.messages, spread.messages, "{place}");
        assert_eq!(placed.bytes, spread.bytes, "{place}");
    }
}

#[test]
fn every_trace_replays_on_the_tree() {
    every_trace_on(TREE);
}

#[test]
fn every_trace_replays_on_the_torus() {
    every_trace_on(TORUS);
}

/// On InfiniBand, too, and in no less time than on an ideal network.
#[test]
fn every_trace_replays_on_infiniband() {
    for real in ALL {
        let trace = own(real);
        let text = format!(
            "baseline.enabled = false\n[fabric]\npreset = \"ib-edr\"\n{TREE}\n[[job]]\ntrace = '{}'\n",
            trace.display()
        );
        let mut plan = resolve_text("test", &text, Path::new(""), &[]).unwrap();
        plan.split = true;
        let result = run_plan(&plan, &Control::default(), 1).unwrap();
        let job = check(real, &result.main, &compute(&trace), real.file);
        let stats = &result.main.stats;
        assert_eq!(stats.flits_injected, stats.flits_delivered, "{}", real.file);
        assert_eq!(stats.messages, stats.messages_delivered, "{}", real.file);
        let bytes: u64 = stats.service_levels.iter().map(|sl| sl.bytes).sum();
        assert_eq!(bytes, job.bytes, "{}", real.file);
        let ideal = result.ideal.unwrap().jobs[0].clone().unwrap();
        assert!(ideal.complete, "{}", real.file);
        assert!(job.execution_ps >= ideal.execution_ps, "{}", real.file);
    }
}

/// Whatever ends a send, the same messages are exchanged.
#[test]
fn every_send_completion_replays() {
    for real in [&HPL_16, &GROMACS, &RANDOM_ACCESS, &LULESH] {
        let trace = own(real);
        let compute = compute(&trace);
        for fabric in FABRICS {
            let mut messages = Vec::new();
            for mode in [
                "send_completion = \"handed\"",
                "send_completion = \"injected\"",
                "send_completion = \"rendezvous\"\neager_threshold = \"4KiB\"",
                "send_completion = \"rendezvous\"\neager_threshold = \"0B\"",
            ] {
                let place = format!("{} on {fabric}, {mode}", real.file);
                let run = run(&trace, fabric, mode, "");
                let job = check_alone(real, &run, &compute, &place);
                messages.push((job.messages, job.bytes));
            }
            messages.dedup();
            assert_eq!(messages.len(), 1, "{} on {fabric}", real.file);
        }
    }
}

/// Computation left out, so that the tasks of a node and the background meet in the
/// fabric more often.
#[test]
fn traces_replay_against_background_with_several_tasks_per_node() {
    for (real, tasks) in [(&HPL_16, 4), (&RANDOM_ACCESS, 3), (&LULESH, 8)] {
        let trace = own(real);
        let nothing = vec![0; real.ranks as usize];
        let job = |scale| {
            format!("tasks_per_node = {tasks}\nplacement = \"random\"\ncompute_scale = {scale}")
        };
        for fabric in FABRICS {
            let place = format!("{} on {fabric}, {tasks} tasks per node", real.file);
            let alone = run(&trace, fabric, &job(0), "");
            let alone = check_alone(real, &alone, &nothing, &place);
            assert!(alone.intra_node_messages > 0, "{place}");
            let background = "[[background]]\nsl = \"BK\"\nrate = 0.1";
            let busy = run(&trace, fabric, &job(0), background);
            let stats = &busy.stats;
            let flits = stats.flits_delivered + stats.flits_in_flight;
            assert_eq!(stats.flits_injected, flits, "{place}");
            let levels = &stats.service_levels;
            assert!(levels[4].messages > 0, "{place}");
            let busy = check(real, &busy, &nothing, &place);
            assert_eq!(levels[2].messages, busy.messages - busy.intra_node_messages);
            assert_eq!(busy.messages, alone.messages, "{place}");
            assert_eq!(busy.bytes, alone.bytes, "{place}");
            assert_eq!(busy.intra_node_messages, alone.intra_node_messages);
        }
    }
}

#[test]
fn small_third_party_traces_replay() {
    for real in [&DUMMY, &DUMMY_RECV] {
        let Some(trace) = third_party(real.file) else {
            continue;
        };
        let compute = compute(&trace);
        for fabric in FABRICS {
            for mode in ["handed", "injected", "rendezvous"] {
                let place = format!("{} on {fabric}, {mode}", real.file);
                let run = run(&trace, fabric, &format!("send_completion = \"{mode}\""), "");
                check_alone(real, &run, &compute, &place);
            }
        }
    }
}

/// This one moves 120 GB in 16 to 64 MiB messages, minutes of work: in every test its
/// own records with a 1024th of the bytes, whole in the ignored test below.
#[test]
fn the_large_third_party_trace_replays_with_smaller_messages() {
    let Some(trace) = third_party(LARGE) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let small = dir.path().join("small.vef");
    let mut out = BufWriter::new(File::create(&small).unwrap());
    let mut reader = Reader::open(&trace).unwrap();
    write::header(&mut out, reader.header()).unwrap();
    for (k, comm) in (0..).zip(reader.comms()) {
        write::comm(&mut out, k, comm).unwrap();
    }
    let (mut messages, mut bytes) = (0, 0);
    while let Some((_, mut record)) = reader.next_record().unwrap() {
        if let Record::Message(m) = &mut record {
            messages += u64::from(!m.is_marker());
            bytes += m.size;
            m.size /= 1024;
        }
        write::record(&mut out, &record).unwrap();
    }
    out.flush().unwrap();
    let large = LARGE_COUNTS;
    assert_eq!((messages, bytes), (large.messages, large.bytes));
    let small_counts = Real {
        bytes: large.bytes / 1024,
        ..large
    };
    let compute = compute(&small);
    for fabric in FABRICS {
        for mode in ["handed", "injected", "rendezvous"] {
            let place = format!("{LARGE} on {fabric}, {mode}");
            let run = run(&small, fabric, &format!("send_completion = \"{mode}\""), "");
            check_alone(&small_counts, &run, &compute, &place);
        }
    }
}

const LARGE_COUNTS: Real = real(LARGE, 16, 4_224, 120_124_866_560, 1);

#[test]
#[ignore = "minutes even in release: cargo test --release --test run real_traces -- --ignored"]
fn the_large_third_party_trace_replays_whole() {
    let Some(trace) = third_party(LARGE) else {
        return;
    };
    let compute = compute(&trace);
    check_alone(&LARGE_COUNTS, &run(&trace, TREE, "", ""), &compute, LARGE);
}

/// A job beside background traffic, with packets of one size everywhere, so that only the scheduler tells the
/// levels apart.
const EQUAL_PACKETS: &str = r#"
    fabric = { preset = "opa-gen1", topology = { kind = "k-ary-n-tree", k = 8, n = 2 } }
    baseline.enabled = false
    [qos]
    service_levels = [
      { name = "VO", tc = 0, scs = [0, 1], mtu = "128B", share = 0.1 },
      { name = "VI", tc = 1, scs = [2, 3], mtu = "256B", share = 0.3 },
      { name = "CL", tc = 2, scs = [4, 5], mtu = "512B", share = 0.5 },
      # BE shares its VLs with BK and would have more space reserved there.
      { name = "BE", tc = 3, scs = [6, 7], mtu = "512B", share = 0.05 },
      { name = "BK", tc = 4, scs = [8, 9], mtu = "512B", share = 0.05 },
    ]
    sc2vl = [0, 1, 2, 3, 4, 5, 6, 7, 6, 7]
    dtable = { entries = 128, gmtu = "1KiB", w = 8, k = 2, distances = { VO = 2, VI = 4, CL = 8, BE = 16, BK = 16 } }
    [[job]]
    trace = "traces/hpl-16.vef.gz"
    placement = "random"
    compute_scale = 0
    [[background]]
    rate = 0.2
    message = "512B"
"#;

fn time_of(trace: &str, job: &str, background: &str, scheduler: &str) -> u64 {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sets = [
        format!("job.0.trace=\"traces/{trace}\""),
        format!("job.0.sl={job}"),
        format!("background.0.sl={background}"),
        format!("qos.scheduler={scheduler}"),
    ];
    let plan = resolve_text("equal.toml", EQUAL_PACKETS, root, &sets);
    let run = simulate(&plan.unwrap_or_else(|e| panic!("{e}")), trace);
    assert_eq!(run.status, Status::Complete, "{trace}");
    run.jobs[0].as_ref().unwrap().execution_ps
}

#[test]
fn service_levels_are_interchangeable_under_rr_and_ordered_under_dtable() {
    for real in [&HPL_16, &RANDOM_ACCESS] {
        let file = real.file;
        let time = |job, background, scheduler| time_of(file, job, background, scheduler);
        let rr = time("CL", "BK", "rr");
        assert_eq!(rr, time("BK", "CL", "rr"), "{file}");
        let dtable = time("CL", "BK", "dtable");
        assert!(dtable < rr, "{file}: {dtable} < {rr}");
        let bk = time("BK", "CL", "dtable");
        assert!(dtable < bk, "{file}: {dtable} < {bk}");
    }
}
