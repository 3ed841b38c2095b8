//! What `flitwise run` leaves behind: the same bytes every time, every key documented,
//! and partial results that say so.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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

#[test]
fn every_key_of_a_result_is_documented() {
    let document = std::fs::read_to_string(Path::new(ROOT).join("docs/result.md")).unwrap();
    let json = result(&[
        "run",
        "configs/hpl-16-tree.toml",
        "--set",
        TRACE,
        "--set",
        "job.0.compute_scale=0.1",
        "--json",
    ]);
    let curve = result(&[
        "run",
        "configs/validation-004-neighbour.toml",
        "--set",
        "measure.loads=[0.1]",
        "--json",
    ]);
    let mut keys = BTreeSet::new();
    collect(&json, "", &mut keys);
    collect(&curve, "", &mut keys);
    assert!(keys.len() > 80, "only {} keys", keys.len());
    let missing: Vec<_> = keys
        .iter()
        .filter(|key| !document.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "docs/result.md lacks {missing:#?}");
}

/// Paths of all keys: lists are `[]`, service levels by name `<SL>`.
fn collect(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                // The experiment of a baseline is like that of the run.
                if path == "baselines[]" && key == "experiment" {
                    keys.insert("baselines[].experiment".into());
                    continue;
                }
                let by_level = ["latency_ns", "curve[].service_levels"];
                let name = if by_level.contains(&path) {
                    "<SL>"
                } else {
                    key
                };
                let path = match path {
                    "" => name.to_owned(),
                    _ => format!("{path}.{name}"),
                };
                collect(value, &path, keys);
                keys.insert(path);
            }
        }
        Value::Array(list) => {
            for value in list {
                collect(value, &format!("{path}[]"), keys);
            }
        }
        _ => {}
    }
}

#[test]
fn an_interrupted_run_gives_partial_results() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    // The job starts after 28 hours of background traffic.
    let mut child = Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(["run", "configs/hpl-16-tree.toml", "--json", "--out", out])
        .args(["--set", "job.0.start=100000s"])
        .current_dir(ROOT)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Once the outputs are open, the handler follows within moments.
    while !dir.path().join(".summary.txt.part").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let status = child.wait().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    let mut message = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut message).unwrap();
    assert_eq!(status.code(), Some(1), "{message}");
    assert_eq!(
        message,
        "error: interrupted; the results hold what was simulated so far\n"
    );
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["status"], "interrupted");
    assert_eq!(json["jobs"][0]["complete"], false);
    assert_eq!(json["slowdown"], Value::Null);
    let file = std::fs::read_to_string(dir.path().join("result.json")).unwrap();
    assert_eq!(file, text);
    let summary = std::fs::read_to_string(dir.path().join("summary.txt")).unwrap();
    assert!(summary.contains("(interrupted: so far)"), "{summary}");
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 2, "partial files are left");
}
