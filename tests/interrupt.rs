//! Ctrl-C: a run ends with partial results that say so, everything else ends at once, and
//! no unfinished file is left. And a reader that goes away changes no exit code.
#![cfg(unix)]

use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// True if there is a temporary file of `path`.
fn begun(path: &Path) -> bool {
    let start = format!(".{}.", path.file_name().unwrap().to_str().unwrap());
    files(path.parent().unwrap())
        .iter()
        .any(|name| name.starts_with(&start) && name.ends_with(".part"))
}

/// Waits until a command has opened its output; its handler follows within moments.
fn wait_for(path: &Path, child: &mut Child) {
    while !begun(path) {
        assert_eq!(child.try_wait().unwrap(), None, "ended too early");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let kill = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(kill.success());
}

/// Exit code, standard output and standard error.
fn end(mut child: Child) -> (Option<i32>, String, String) {
    let status = child.wait().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.unwrap().read_to_string(&mut out).unwrap();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    (status.code(), out, err)
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A run whose job starts after 28 hours of background traffic.
fn endless_run(out: &Path) -> Child {
    let mut child = start(&[
        "run",
        "configs/hpl-16-tree.toml",
        "--json",
        "--out",
        out.to_str().unwrap(),
        "--set",
        "job.0.start=100000s",
    ]);
    wait_for(&out.join("summary.txt"), &mut child);
    child
}

#[test]
fn an_interrupted_run_gives_partial_results() {
    let dir = tempfile::tempdir().unwrap();
    let child = endless_run(dir.path());
    interrupt(&child);
    let (code, text, message) = end(child);
    assert_eq!(code, Some(1), "{message}");
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
    assert_eq!(files(dir.path()), ["result.json", "summary.txt"]);
}

/// The second may come before the run has ended, or after.
#[test]
fn two_interrupts_leave_no_unfinished_file() {
    let dir = tempfile::tempdir().unwrap();
    let child = endless_run(dir.path());
    interrupt(&child);
    interrupt(&child);
    let (code, _, message) = end(child);
    assert!(matches!(code, Some(1 | 130)), "{code:?} {message}");
    let left = files(dir.path());
    assert!(left.iter().all(|name| !name.ends_with(".part")), "{left:?}");
}

#[test]
fn an_interrupted_generation_leaves_the_old_trace() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("a.vef.gz");
    std::fs::write(&trace, "old").unwrap();
    let name = trace.to_str().unwrap();
    let mut child = start(&[
        "trace",
        "generate",
        "ring",
        "--ranks",
        "64",
        "--iterations",
        "1000000000",
        "-o",
        name,
    ]);
    wait_for(&dir.path().join("a.vef.gz"), &mut child);
    interrupt(&child);
    assert_eq!(end(child), (Some(130), String::new(), String::new()));
    assert_eq!(files(dir.path()), ["a.vef.gz"]);
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), "old");
}

#[test]
fn an_interrupted_conversion_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("in");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let out = dir.path().join("out.vef");
    let mut child = start(&[
        "trace",
        "convert",
        pipe.to_str().unwrap(),
        out.to_str().unwrap(),
    ]);
    // A trace whose end never comes.
    let mut trace = File::options().write(true).open(&pipe).unwrap();
    let writer = std::thread::spawn(move || {
        let head = format!("VEF3 2 {} 1 0 0 0 1000\nC0 0 1\n", u32::MAX);
        let records = (0..u32::MAX).map(|id| format!("{id} 0 1 8 4 1 -1\n"));
        // Until the reader is gone.
        std::iter::once(head)
            .chain(records)
            .try_for_each(|line| trace.write_all(line.as_bytes()))
    });
    wait_for(&dir.path().join("out.vef"), &mut child);
    interrupt(&child);
    assert_eq!(end(child).0, Some(130));
    assert!(writer.join().unwrap().is_err());
    assert_eq!(files(dir.path()), ["in"]);
}

#[test]
fn exit_codes_do_not_need_a_reader() {
    let freezes = "fabric.central_queues=per-vl";
    let torus = "configs/hpl-16-torus.toml";
    for (args, code) in [
        (&["fabric", "info", torus][..], 0),
        (&["fabric", "check", torus, "--set", freezes], 1),
        (&["run", "no-such-file.toml"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = Command::new(env!("CARGO_BIN_EXE_flitwise"))
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(writer.try_clone().unwrap())
            .stderr(writer)
            .status();
        assert_eq!(status.unwrap().code(), Some(code), "{args:?}");
    }
}
