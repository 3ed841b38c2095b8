//! What `flitwise run` leaves behind: the same bytes every time, and results of a frozen fabric that
//! say so.

use serde_json::Value;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TRACE: &str = "job.0.trace=traces/randomaccess-16.vef.gz";

fn flitwise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(args)
        .current_dir(ROOT)
        .output()
        .unwrap()
}

fn result(args: &[&str]) -> Value {
    let out = flitwise(args);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {stderr}");
    assert!(stderr.is_empty(), "{args:?}: {stderr}");
    serde_json::from_slice(&out.stdout).unwrap()
}

/// The document without the part that may differ.
fn reproducible(args: &[&str]) -> String {
    let mut json = result(args);
    json.as_object_mut().unwrap().remove("engine").unwrap();
    json.to_string()
}

#[test]
fn results_depend_on_experiment_and_seed_only() {
    for config in ["configs/hpl-16-tree.toml", "configs/hpl-16-torus.toml"] {
        let run = |seed: &str, threads: &str| {
            reproducible(&[
                "run",
                config,
                "--set",
                TRACE,
                "--set",
                "job.0.compute_scale=0.1",
                "--json",
                "--seed",
                seed,
                "--threads",
                threads,
            ])
        };
        let first = run("7", "1");
        assert_eq!(first, run("7", "1"), "{config}: two runs differ");
        assert_eq!(first, run("7", "2"), "{config}: threads matter");
        assert_ne!(first, run("8", "2"), "{config}: the seed does not matter");
    }
}

#[test]
fn curves_depend_on_experiment_and_seed_only() {
    let run = |seed: &str, threads: &str| {
        let load = "measure.loads=[0.2, 0.9, 0.5]";
        let config = "configs/validation-004-uniform.toml";
        reproducible(&[
            "run",
            config,
            "--set",
            load,
            "--json",
            "--seed",
            seed,
            "--threads",
            threads,
        ])
    };
    let first = run("7", "1");
    assert_eq!(first, run("7", "3"), "threads matter");
    assert_ne!(first, run("8", "2"), "the seed does not matter");
}

/// All results but those of the second of two flows, which must be zeros, and the experiment
/// with its hash.
fn without_second_flow(mut json: Value) -> String {
    let document = json.as_object_mut().unwrap();
    for key in ["engine", "experiment", "experiment_hash"] {
        document.remove(key).unwrap();
    }
    let flows = document["background"].as_array_mut().unwrap();
    if let Some(silent) = flows.drain(1..).next() {
        let numbers = silent.as_object().unwrap().values();
        let numbers: Vec<f64> = numbers.filter_map(Value::as_f64).collect();
        assert_eq!(numbers, [0.0; 5]);
    }
    json.to_string()
}

#[test]
fn a_flow_of_rate_0_changes_nothing() {
    let tree = ["configs/hpl-16-tree.toml", "--set", TRACE];
    let curve = [
        "configs/validation-004-uniform.toml",
        "--set",
        "measure.loads=[0.4]",
    ];
    let one = r#"{ rate = 0.3, sl = "SL" }"#;
    let silent = r#"{ rate = 0, sl = "SL", message = "64KiB", pattern = "neighbour" }"#;
    for ([config, set, value], sl) in [(tree, "BK"), (curve, "default")] {
        let with = |flows: &[&str]| {
            let flows = format!("background=[{}]", flows.join(", ")).replace("SL", sl);
            without_second_flow(result(&[
                "run", config, set, value, "--set", &flows, "--json",
            ]))
        };
        assert_eq!(with(&[one]), with(&[one, silent]), "{config}");
    }
}

/// A torus whose central queues undo what the datelines are for, with room for one packet
/// everywhere; all traffic begins at 30 us.
const FREEZES: &str = r#"
[fabric]
topology = { kind = "torus", dimensions = [4, 4], concentration = 3 }
central_queues = "per-vl"
input_buffer = "256B"
output_buffer = "256B"
nic_queue = "256B"
nic_sink = "256B"
central_buffer = "1536B"
exclusive = "2 credits"
max = "2 credits"
central_exclusive = "2 credits"
central_max = "2 credits"
[qos]
preset = "single"
mtu = "128B"
scheduler = "rr-vl"
[[background]]
rate = 1
start = "30us"
[measure]
warm_up = "20us"
max_warm_up = "20us"
"#;

/// The load that freezes comes first: that the last one does not must not hide it.
#[test]
fn a_fabric_that_freezes_in_a_window_fails_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("freezes.toml");
    std::fs::write(&file, FREEZES).unwrap();
    let (file, out) = (file.to_str().unwrap(), dir.path().join("out"));
    let folder = out.to_str().unwrap();
    for (loads, place) in [("[1]", ""), ("[1, 0.01]", "at load 1: ")] {
        let loads = format!("measure.loads={loads}");
        let more = ["--out", folder, "--force", "--json"];
        let run = flitwise(&[&["run", file, "--set", &loads], &more[..]].concat());
        let message = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{message}");
        let begin = format!("error: the run stalled: {place}deadlock: ");
        let (_, cycle) = message
            .split_once(&begin)
            .unwrap_or_else(|| panic!("{message}"));
        assert!(cycle.contains("wait in a cycle:\n  switch "), "{message}");

        // What was counted until then, all of it marked.
        let json: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(json["status"], "stalled");
        let stall = json["stall"].as_str().unwrap();
        assert_eq!(
            format!("{place}deadlock: {cycle}"),
            format!("{}\n", stall.trim_end())
        );
        let first = &json["curve"][0];
        assert_eq!(first["status"], "stalled");
        assert_eq!(first["warm_up_ticks"], 31_250, "not in the window");
        let accepted = first["accepted_flits_per_cycle_per_nic"].as_f64().unwrap();
        assert!(accepted > 0.0, "nothing moved in the window");
        for name in ["result.json", "summary.txt", "curve.csv"] {
            let text = std::fs::read_to_string(out.join(name)).unwrap();
            assert!(text.contains("stalled"), "{name}: {text}");
        }
    }
}

/// Sources create messages even then, so only a search for deadlocks ends the warm-up early.
#[test]
fn a_fabric_that_freezes_in_the_warm_up_ends_with_a_batch() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("freezes.toml");
    std::fs::write(&file, FREEZES).unwrap();
    let file = file.to_str().unwrap();
    let flow = "background=[{ rate = 1 }]";
    let warm_up = "measure.max_warm_up=10ms";
    let run = flitwise(&["run", file, "--set", flow, "--set", warm_up, "--json"]);
    let message = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{message}");
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(json["status"], "stalled");
    // The sources create as many in 85 us.
    let waiting = json["traffic"]["backlog_messages"].as_u64().unwrap();
    assert!(waiting < 100_000, "{waiting} messages wait");
}

/// The operations of a GPU run side by side: a rank waits while none computes.
#[test]
fn a_rank_does_not_wait_while_a_stream_computes() {
    let config = "configs/chakra-8.toml";
    let json = result(&["run", config, "--no-split", "--json", "--quiet"]);
    let job = &json["jobs"][0];
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap();
    let waits = job["longest_waits"].as_array().unwrap();
    assert!(waits.len() < 20, "the list has not all waits");
    let waited: u64 = waits.iter().map(|wait| number(wait, "waited_ps")).sum();
    let rest = number(job, "execution_time_ps") - number(job, "compute_ps");
    assert!(
        (1..=number(job, "ranks") * rest).contains(&waited),
        "{job:#}"
    );
}
