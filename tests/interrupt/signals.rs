//! Signals: a run ends with partial results that say so, everything else ends at once, and
//! no unfinished file is left. And a reader that goes away changes no exit code.

use super::{End, SIGHUP, SIGINT, SIGTERM, end, names, signal, start, text_of, wait_for};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HPL: &str = "configs/hpl-16-tree.toml";
/// What a run with a job leaves.
const FILES: [&str; 8] = [
    "command.txt",
    "experiment.toml",
    "latencies.csv",
    "links.csv",
    "matrix.csv",
    "result.json",
    "summary.txt",
    "waits.csv",
];
/// The job starts after 28 hours of background traffic.
const ENDLESS: &str = "job.0.start=100000s";

/// A run that does not end.
fn endless_run(out: &Path) -> Child {
    let mut child = start(&[
        "run",
        HPL,
        "--json",
        "--out",
        &text_of(out),
        "--set",
        ENDLESS,
    ]);
    wait_for(out, &mut child);
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_interrupted_run_gives_partial_results() {
    for which in [SIGINT, SIGTERM, SIGHUP] {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let child = endless_run(&out);
        signal(&child, which);
        let (how, text, message) = end(child);
        assert_eq!(how, End::Signal(which), "{message}");
        assert_eq!(
            message,
            "error: interrupted; the results hold what was simulated so far\n"
        );
        assert_eq!(text.lines().count(), 1, "one line, which is no terminal");
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["status"], "interrupted");
        assert_eq!(json["jobs"][0]["complete"], false);
        assert_eq!(json["slowdown"], Value::Null);
        let file = std::fs::read_to_string(out.join("result.json")).unwrap();
        assert!(file.lines().count() > 100, "{file}");
        assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), json);
        let summary = std::fs::read_to_string(out.join("summary.txt")).unwrap();
        assert!(
            summary.contains("\ninterrupted     stopped at "),
            "{summary}"
        );
        assert!(!summary.contains("execution time"), "{summary}");
        assert_eq!(names(&out), FILES);
        assert_eq!(names(dir.path()), ["out"]);
    }
}

/// The summary estimates how long the run would have taken.
#[test]
fn a_run_that_is_stopped_half_way_says_of_what() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let repeat = ["--set", "job.0.repeat=100000", "--threads", "1"];
    let mut args = vec!["run", HPL, "--out"];
    let shown = text_of(&out);
    args.push(&shown);
    args.extend(repeat);
    let mut child = start(&args);
    wait_for(&out, &mut child);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, SIGINT);
    let (how, summary, message) = end(child);
    assert_eq!(how, End::Signal(SIGINT), "{message}");
    assert!(
        message.contains("wrote ") && message.contains(&format!(": {}\n", FILES.join(", "))),
        "{message}"
    );
    // 100,000 times 1.4 ms.
    let line = summary
        .lines()
        .find(|line| line.contains(" of about "))
        .unwrap();
    let (_, estimate) = line.split_once(" of about ").unwrap();
    let seconds: f64 = estimate.strip_suffix(" s").unwrap().parse().unwrap();
    assert!((100.0..200.0).contains(&seconds), "{line}");
    assert!(summary.contains("baseline        interrupted"), "{summary}");
}

/// The loads of a curve: the one under way is cut short, the others are missing.
#[test]
fn a_curve_that_is_stopped_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child = start(&[
        "run",
        "configs/validation-001-tree-8.toml",
        "--threads",
        "1",
        "--out",
        &text_of(&out),
        "--set",
        "measure.window=1s",
    ]);
    wait_for(&out, &mut child);
    std::thread::sleep(Duration::from_millis(1000));
    signal(&child, SIGTERM);
    let (how, summary, message) = end(child);
    assert_eq!(how, End::Signal(SIGTERM), "{message}");
    assert!(
        summary.contains("\ninterrupted     stopped at ") && summary.contains(", at load "),
        "{summary}"
    );
    let json = std::fs::read_to_string(out.join("result.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["status"], "interrupted");
    assert_eq!(names(dir.path()), ["out"]);
}

/// `nohup` keeps a run from ending with its terminal.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", super::FLITWISE])
        .args(["run", HPL, "--quiet", "--set", ENDLESS, "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&out, &mut child);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, SIGHUP);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    signal(&child, SIGTERM);
    assert_eq!(end(child).0, End::Signal(SIGTERM));
}

/// `timeout` signals the process and its group: that is one request.
#[test]
fn signals_at_once_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let child = endless_run(&out);
    signal(&child, SIGTERM);
    signal(&child, SIGHUP);
    let (how, text, message) = end(child);
    assert!(
        matches!(how, End::Signal(SIGTERM | SIGHUP)),
        "{how:?} {message}"
    );
    assert!(text.contains("\"interrupted\""), "{text}");
    assert_eq!(names(&out), FILES);
    assert_eq!(names(dir.path()), ["out"]);
}

/// The first signal does not end a run that waits for the reader of its timeline, a pipe; the second one does, and nothing
/// has changed.
#[test]
fn a_second_signal_ends_a_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (pipe, out) = (dir.path().join("pipe.csv"), dir.path().join("a/b/out"));
    mkfifo(&pipe);
    let (pipe, out_text) = (text_of(&pipe), text_of(&out));
    let args = ["run", HPL, "--quiet", "--timeline", &pipe];
    for old in [None, Some("old")] {
        if let Some(old) = old {
            std::fs::create_dir_all(&out).unwrap();
            std::fs::write(out.join("result.json"), old).unwrap();
        }
        let mut command = super::command(&args);
        let mut child = command
            .args(["--force", "--out", &out_text])
            .spawn()
            .unwrap();
        while super::part_of(&out).is_none() {
            assert_eq!(child.try_wait().unwrap(), None, "ended too early");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, SIGINT);
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(child.try_wait().unwrap(), None);
        signal(&child, SIGTERM);
        assert_eq!(
            end(child),
            (End::Signal(SIGTERM), String::new(), String::new())
        );
        match old {
            None => assert_eq!(names(dir.path()), ["pipe.csv"]),
            Some(old) => {
                assert_eq!(names(out.parent().unwrap()), ["out"]);
                assert_eq!(names(&out), ["result.json"]);
                let text = std::fs::read_to_string(out.join("result.json")).unwrap();
                assert_eq!(text, old);
            }
        }
    }
}

/// Nothing is simulated, so there is no result.
#[test]
fn the_check_of_a_long_trace_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("long.vef");
    let mut text = format!("VEF3 2 {} 1 0 0 0 1000\nC0 0 1\n", 8_000_000);
    use std::fmt::Write;
    (0..8_000_000).for_each(|id| writeln!(text, "{id} 0 1 8 4 1 -1").unwrap());
    std::fs::write(&trace, text).unwrap();
    let out = dir.path().join("out");
    let job = format!("job.0.trace={}", text_of(&trace));
    let file = text_of(&dir.path().join("exp.toml"));
    std::fs::write(
        &file,
        "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n[[job]]\ntrace = \"-\"\n",
    )
    .unwrap();
    let mut child = start(&["run", &file, "--set", &job, "--out", &text_of(&out)]);
    wait_for(&out, &mut child);
    signal(&child, SIGINT);
    let (how, text, message) = end(child);
    assert_eq!((how, text.as_str()), (End::Signal(SIGINT), ""), "{message}");
    assert!(message.contains("nothing was simulated"), "{message}");
    assert_eq!(names(dir.path()), ["exp.toml", "long.vef"]);
}

#[test]
fn an_interrupted_generation_leaves_the_old_trace() {
    for which in [SIGINT, SIGTERM, SIGHUP] {
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
        wait_for(&trace, &mut child);
        signal(&child, which);
        let nothing = String::new();
        assert_eq!(end(child), (End::Signal(which), nothing.clone(), nothing));
        assert_eq!(names(dir.path()), ["a.vef.gz"]);
        assert_eq!(std::fs::read_to_string(&trace).unwrap(), "old");
    }
}

#[test]
fn an_interrupted_conversion_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("in");
    mkfifo(&pipe);
    let out = dir.path().join("out.vef");
    let mut child = start(&["trace", "convert", &text_of(&pipe), &text_of(&out)]);
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
    wait_for(&out, &mut child);
    signal(&child, SIGTERM);
    assert_eq!(end(child).0, End::Signal(SIGTERM));
    assert!(writer.join().unwrap().is_err());
    assert_eq!(names(dir.path()), ["in"]);
}

/// A run that waits for what comes through a pipe ends at a signal, too.
#[test]
fn a_run_that_waits_for_a_pipe_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let (pipe, out) = (dir.path().join("in"), dir.path().join("out"));
    mkfifo(&pipe);
    let trace = format!("job.0.trace={}", pipe.display());
    let out_arg = out.to_str().unwrap();
    let run = "configs/hpl-16-tree.toml";
    let mut child = start(&["run", run, "--out", out_arg, "--set", &trace]);
    wait_for(&out, &mut child);
    signal(&child, SIGINT);
    let (code, _, message) = end(child);
    assert_eq!(code, End::Signal(SIGINT), "{message}");
    assert!(message.contains("nothing was simulated"), "{message}");
    assert!(!out.exists());
}

/// A network, hosts and pairs may come through a pipe: the wait for them ends at a signal.
#[test]
fn an_analysis_that_waits_for_a_pipe_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("in");
    mkfifo(&pipe);
    let pipe = text_of(&pipe);
    let large = "configs/hpl-16-tree.toml";
    for args in [
        vec!["orcs", "-i", &pipe, "-p", "bisect"],
        vec!["congestion", large, "--hosts", &pipe],
        vec!["congestion", large, "--pairs", &pipe],
    ] {
        let mut child = start(&args);
        // It waits for a writer; there is no mark of that.
        std::thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "{args:?}");
        signal(&child, SIGINT);
        assert_eq!(end(child).0, End::Signal(SIGINT), "{args:?}");
    }
}

/// A result in which a pipe took the place of a file is not waited for.
#[test]
fn a_result_with_a_pipe_is_repeated_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let made = start(&["run", HPL, "--quiet", "--out", &text_of(&out)]);
    assert_eq!(end(made).0, End::Exit(0));
    let part = out.join("waits.csv");
    std::fs::remove_file(&part).unwrap();
    mkfifo(&part);
    let (how, _, message) = end(start(&["run", &text_of(&out), "--quiet"]));
    assert_eq!(how, End::Exit(1), "{message}");
    assert!(
        message.contains("waits.csv`, which cannot be read: it is a pipe or a device"),
        "{message}"
    );
}

/// Commands that plan, measure or analyse, with work for a long time: a signal ends each within a bound that is generous
/// even on a busy machine, and nothing is kept.
#[test]
fn commands_that_keep_nothing_end_soon() {
    const SOON: Duration = Duration::from_secs(4);
    const SCHEDULER: &str = "configs/studies/scheduler.toml";
    let large = "fabric.topology={kind=\"k-ary-n-tree\",k=18,n=3}";
    let congestion = ["congestion", "--set", large, "--in-order", "--pattern"];
    let with = |more: &[&'static str]| [&congestion[..], more].concat();
    for (args, message) in [
        (
            vec!["study", SCHEDULER, "--seeds", "1..100000", "--dry-run"],
            "nothing was",
        ),
        (
            vec!["run", HPL, "--seeds", "1..100000", "--dry-run"],
            "nothing was",
        ),
        (vec!["study", SCHEDULER, "--estimate"], "nothing was"),
        (
            vec!["run", HPL, "--estimate", "--set", ENDLESS],
            "nothing was kept",
        ),
        (with(&["shift", "--delay"]), "before the first run ended"),
        (with(&["alltoall"]), "before the first run ended"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = super::command(&args);
        let mut child = command.env("TMPDIR", dir.path()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(child.try_wait().unwrap(), None, "{args:?} ended too early");
        signal(&child, SIGINT);
        let asked = Instant::now();
        let (how, text, said) = end(child);
        let took = asked.elapsed();
        assert_eq!((how, text.as_str()), (End::Signal(SIGINT), ""), "{args:?}");
        // A network that is still being made ends without a word.
        assert!(
            said.is_empty() || said.contains(message),
            "{args:?}: {said}"
        );
        assert!(took < SOON, "{args:?} took {took:?} to end");
        assert_eq!(names(dir.path()), [""; 0]);
    }
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
        let status = Command::new(super::FLITWISE)
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(writer.try_clone().unwrap())
            .stderr(writer)
            .status();
        assert_eq!(status.unwrap().code(), Some(code), "{args:?}");
    }
}
