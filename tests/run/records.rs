//! Records of tasks: read back they say the same, and only what is missing runs again.

use crate::common::result_json;
use flitwise::config::{Plan, resolve_text};
use flitwise::random::{Purpose, Stream};
use flitwise::results::summary;
use flitwise::run::{Control, Progress, Record, RunResult, Session, Silent};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A job beside background traffic on a small tree; its baseline is the job alone.
const EXPERIMENT: &str = r#"
    fabric.topology = { kind = "k-ary-n-tree", k = 6, n = 2 }
    [[job]]
    trace = "traces/randomaccess-16.vef.gz"
    compute_scale = 0.05
    [[background]]
    rate = 0.2
"#;

/// The same with four ranks, for tests that run it hundreds of times.
const SMALL: &str = r#"
    fabric.topology = { kind = "k-ary-n-tree", k = 2, n = 2 }
    [[job]]
    trace = "traces/recordings/openmpi-collectives-4"
    compute_scale = 0
    [[background]]
    rate = 0.2
"#;

fn plan(text: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut plan = resolve_text("test.toml", text, dir, &sets).unwrap();
    plan.split = plan.experiment.measure.is_none();
    plan
}

fn run(plan: &Plan, session: Session, progress: &dyn Progress) -> RunResult {
    let control = Control::default().reporting_to(progress);
    let mut session = session;
    session.run(plan, &control).unwrap()
}

/// `result.json` and the summary, without what differs from run to run.
fn said(plan: &Plan, result: &RunResult) -> (Value, String) {
    let mut json = result_json(plan, result);
    json["engine"] = Value::Null;
    (json, summary(plan, result, true))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The text of a record.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    zstd::decode_all(packed).unwrap()
}

/// The experiment, its baseline and its runs on an unloaded fabric and an ideal network: without one of the records, its task alone runs
/// again, and writes the same record but for the time that it took.
#[test]
fn only_the_missing_task_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(EXPERIMENT, &[]);
    let kept = || Session::new(2).with_records(dir.path()).unwrap();
    let fresh = said(&plan, &run(&plan, Session::new(1), &Silent));
    assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
    let all = files(dir.path());
    assert_eq!(all.len(), 4, "{all:?}");
    let before: Vec<Vec<u8>> = all
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    let record = |bytes: &[u8]| -> Record {
        let mut record: Record = serde_json::from_slice(&unpacked(bytes)).unwrap();
        record.simulation.wall = std::time::Duration::ZERO;
        record
    };
    for (missing, file) in all.iter().enumerate() {
        std::fs::remove_file(file).unwrap();
        let again = run(&plan, kept(), &Silent);
        assert_eq!(said(&plan, &again), fresh, "without {file:?}");
        assert_eq!(files(dir.path()), all);
        for (other, before) in before.iter().enumerate() {
            let now = std::fs::read(&all[other]).unwrap();
            if other == missing {
                assert_ne!(&now, before, "{file:?} was not run again");
                assert_eq!(record(&now), record(before));
                std::fs::write(file, before).unwrap();
            } else {
                assert_eq!(&now, before, "{:?} was written", all[other])
            }
        }
    }
    // A record that is cut short counts as missing.
    std::fs::write(&all[0], &before[0][..before[0].len() / 2]).unwrap();
    assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
    assert_eq!(record(&std::fs::read(&all[0]).unwrap()), record(&before[0]));
}

/// A record with one changed byte, whichever it is, is made again.
#[test]
fn one_changed_byte_is_found() {
    const ROUNDS: u64 = 50;
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(SMALL, &[]);
    let kept = || Session::new(2).with_records(dir.path()).unwrap();
    let fresh = said(&plan, &run(&plan, kept(), &Silent));
    let mut stream = Stream::new(1, Purpose::StaticPattern, [0, 0]);
    for round in 0..ROUNDS {
        let damaged = files(dir.path()).into_iter().map(|file| {
            let sound = std::fs::read(&file).unwrap();
            let bytes = if round % 2 == 0 {
                with_another_digit(&sound, &mut stream)
            } else {
                let mut bytes = sound.clone();
                let at = stream.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << stream.below(8);
                bytes
            };
            std::fs::write(&file, &bytes).unwrap();
            // A bit that the unpacking ignores changes nothing.
            let harmless = zstd::decode_all(&bytes[..]).is_ok_and(|text| text == unpacked(&sound));
            (file, bytes, harmless)
        });
        let damaged: Vec<_> = damaged.collect();
        assert_eq!(damaged.len(), 4);
        assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
        for (file, bytes, harmless) in damaged {
            let made_again = std::fs::read(&file).unwrap() != bytes;
            assert_eq!(made_again, !harmless, "round {round}: {file:?}");
        }
    }
}

/// A record in which one digit is another one: the file stays JSON.
fn with_another_digit(sound: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut text = unpacked(sound);
    let from = stream.below(text.len() as u64) as usize;
    let digits = || 0..text.len();
    let mut places = digits().cycle().skip(from).take(text.len());
    let at = places.find(|&at| text[at].is_ascii_digit()).unwrap();
    text[at] = b'0' + (text[at] - b'0' + 1) % 10;
    zstd::encode_all(&text[..], 1).unwrap()
}

/// Records from before they were packed are read.
#[test]
fn plain_records_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(EXPERIMENT, &[]);
    let kept = || Session::new(2).with_records(dir.path()).unwrap();
    let fresh = said(&plan, &run(&plan, kept(), &Silent));
    let packed = files(dir.path());
    for file in &packed {
        let text = unpacked(&std::fs::read(file).unwrap());
        std::fs::write(file.with_extension(""), text).unwrap();
        std::fs::remove_file(file).unwrap();
    }
    let plain = files(dir.path());
    assert!(plain.iter().all(|file| file.extension().unwrap() == "json"));
    assert_eq!(said(&plan, &run(&plan, kept(), &Silent)), fresh);
    assert_eq!(files(dir.path()), plain, "a task ran again");
}

/// A study may have a million records: one of a small run on 64 NICs takes at most 4 KiB.
#[test]
fn records_of_small_runs_are_small() {
    const TINY: &str = r#"
        fabric.topology = { kind = "k-ary-n-tree", k = 8, n = 2 }
        [[job]]
        trace = "tests/corpus/experiments/tiny.vef"
        placement = "random"
    "#;
    let dir = tempfile::tempdir().unwrap();
    let session = Session::new(2).with_records(dir.path()).unwrap();
    run(&plan(TINY, &[]), session, &Silent);
    let files = files(dir.path());
    assert!(!files.is_empty());
    for file in files {
        let bytes = std::fs::metadata(&file).unwrap().len();
        assert!(bytes <= 4 << 10, "{file:?}: {bytes} bytes");
    }
}

/// Loads are tasks of their own: a curve with one more load measures only this one. So are seeds.
#[test]
fn loads_and_seeds_share_records() {
    const CURVE: &str = r#"
        fabric.topology = { kind = "single", nics = 8 }
        background = [{ rate = 1 }]
        measure = { warm_up = "1us", max_warm_up = "1us", batch = "100ns", window = "5us" }
    "#;
    let dir = tempfile::tempdir().unwrap();
    let kept = || Session::new(1).with_records(dir.path()).unwrap();
    let records = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = files(dir.path()).into_iter();
        files
            .map(|file| (file.clone(), std::fs::read(file).unwrap()))
            .collect()
    };
    // The records there are after a run. Those from before have the time that they took then.
    let count = |loads: &str, seed: &str| {
        let plan = plan(CURVE, &[loads, seed]);
        let before = records();
        let result = run(&plan, kept(), &Silent);
        let fresh = run(&plan, Session::new(2), &Silent);
        assert_eq!(said(&plan, &result), said(&plan, &fresh));
        let after = records();
        for record in before {
            assert!(after.contains(&record), "{:?} was run again", record.0);
        }
        after.len()
    };
    assert_eq!(count("measure.loads=[0.2, 0.5]", "seed=1"), 2);
    assert_eq!(count("measure.loads=[0.5, 0.2]", "seed=1"), 2);
    assert_eq!(count("measure.loads=[0.2, 0.3, 0.5]", "seed=1"), 3);
    assert_eq!(count("measure.loads=[0.3]", "seed=2"), 4);
}

/// What a job computes, and how long it waits for ranks that are late, is its own: neither background traffic nor another
/// fabric or placement moves it by a picosecond.
#[test]
fn no_change_of_the_network_moves_computing_or_partners() {
    let parts = |sets: &[&str]| {
        let text = EXPERIMENT.replace("randomaccess-16.vef.gz", "hpl-16.vef.gz");
        let plan = plan(&text, &[&["job.0.compute_scale=0.01"], sets].concat());
        let json = result_json(&plan, &run(&plan, Session::new(2), &Silent));
        let job = &json["jobs"][0];
        assert_eq!(job["compute_ps"], job["time_split"]["computing_ps"]);
        ["computing_ps", "partners_ps"].map(|part| job["time_split"][part].as_u64().unwrap())
    };
    let alone = parts(&["background=[]"]);
    assert!(alone[0] > 0 && alone[1] > 0);
    assert_eq!(parts(&[]), alone);
    assert_eq!(parts(&["job.0.placement=random", "seed=3"]), alone);
    let other = "fabric.topology={ kind = \"torus\", dimensions = [3, 3], concentration = 4 }";
    assert_eq!(parts(&[other]), alone);
    // To combine data is to compute.
    let combines = parts(&["job.0.reduction_cost=\"1us/B\""]);
    assert!(combines[0] > alone[0], "{combines:?}, {alone:?}");
}

/// An ideal network is never slower than an unloaded fabric, which is never slower than the fabric with
/// its load. The parts of the time add up, and the network's share is what an ideal network takes away.
#[test]
fn each_better_network_takes_time_away() {
    for trace in [
        "randomaccess-16.vef.gz",
        "hpl-16.vef.gz",
        "lulesh-27.vef.gz",
        "lammps_melt-16.vef.gz",
        "gromacs_water-16.vef.gz",
    ] {
        let text = EXPERIMENT.replace("randomaccess-16.vef.gz", trace);
        // Computation as recorded, and a thousandth of it.
        let sets = [&["background=[]"][..], &["job.0.compute_scale=0.001"]];
        for sets in sets {
            let plan = plan(&text, sets);
            let result = run(&plan, Session::new(2), &Silent);
            let json = result_json(&plan, &result);
            let of = |value: &Value| value["execution_time_ps"].as_u64().unwrap();
            let (ideal, unloaded) = (of(&json["ideal"]), of(&json["unloaded"]));
            assert!(0 < ideal && ideal < unloaded && unloaded <= of(&json));
            let split = &json["jobs"][0]["time_split"];
            let part = |name: &str| split[name].as_u64().unwrap();
            let contention = part("contention_ps");
            let network = part("latency_and_serialisation_ps") + contention;
            assert_eq!(contention, of(&json) - unloaded);
            assert_eq!(network, of(&json) - ideal);
            assert_eq!(
                part("computing_ps") + part("partners_ps") + network,
                of(&json)
            );
            assert_eq!(split["computing_ps"], json["jobs"][0]["compute_ps"]);
        }
    }
}

/// Messages that never meet find no contention: one rank after the other sends.
#[test]
fn a_ring_of_lone_messages_has_no_contention() {
    let dir = tempfile::tempdir().unwrap();
    let mut trace = String::from("VEF3 4 40 1 0 0 0 1000\nC0 0 1 2 3\n");
    // Message k goes from rank k mod 4 to the next, which sends the next one 50 ns after it arrived.
    for k in 0..40_u32 {
        let (rank, dep, on) = match k {
            0 => (0, 4, "-1".to_owned()),
            _ => (k % 4, 6, (k - 1).to_string()),
        };
        trace += &format!("{k} {rank} {} {} {dep} 50 {on}\n", (k + 1) % 4, 100 * k);
    }
    std::fs::write(dir.path().join("ring.vef"), trace).unwrap();
    let text = format!(
        "fabric.topology = {{ kind = \"torus\", dimensions = [4] }}\n[[job]]\ntrace = {:?}",
        dir.path().join("ring.vef")
    );
    let plan = plan(&text, &[]);
    let json = result_json(&plan, &run(&plan, Session::new(1), &Silent));
    let split = &json["jobs"][0]["time_split"];
    assert_eq!(split["contention_ps"], 0, "{split}");
    assert_eq!(
        json["unloaded"]["execution_time_ps"],
        json["execution_time_ps"]
    );
    assert!(split["latency_and_serialisation_ps"].as_u64().unwrap() > 0);
}

/// On an ideal network a job without computation takes no time: it may repeat a number of times, and
/// it is left out if it repeats until the others end.
#[test]
fn a_job_that_repeats_is_no_obstacle_on_the_ideal_network() {
    const SECOND: &str = r#"
        [[job]]
        trace = "traces/hpl-16.vef.gz"
        compute_scale = 0
    "#;
    let ideal = |text: &str| {
        let plan = plan(text, &["background=[]", "baseline.enabled=false"]);
        let result = run(&plan, Session::new(2), &Silent);
        let jobs: Vec<bool> = result.main.jobs.iter().map(Option::is_some).collect();
        assert!(jobs.iter().all(|&replayed| replayed));
        let mut ideal = result_json(&plan, &result)["ideal"].clone();
        // The other job may slow the run on the fabric down.
        ideal.as_object_mut().unwrap().remove("slowdown");
        ideal
    };
    let alone = ideal(EXPERIMENT);
    assert_eq!(alone["status"], "complete");
    let endless = ideal(&format!(
        "{EXPERIMENT}{SECOND}repeat = \"until-others-end\""
    ));
    assert_eq!(endless, alone);
    let twice = ideal(&format!("{EXPERIMENT}{SECOND}repeat = 2"));
    assert_eq!(twice["jobs"][0], alone["jobs"][0]);
    assert_eq!(twice["jobs"][1]["execution_time_ps"], 0);
}

/// An explanation that a record has is not in the result of a run that was not asked for it.
#[test]
fn explanations_are_for_runs_that_explain() {
    let dir = tempfile::tempdir().unwrap();
    let explained = |explain: bool| {
        let mut plan = plan(EXPERIMENT, &[]);
        plan.explain = explain;
        let session = Session::new(1).with_records(dir.path()).unwrap();
        run(&plan, session, &Silent).main.explanation.is_some()
    };
    assert_eq!([false, true, false].map(explained), [false, true, false]);
}
