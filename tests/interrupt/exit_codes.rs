//! Every row of the table of exit codes in `docs/evidence/reliability.md`.

use super::{End, FLITWISE, SIGHUP, SIGINT, SIGTERM, command, end, run, signal, start, text_of};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const TRACE: &str = "traces/hpl-16.vef.gz";
const FABRIC: &str = "configs/hpl-16-tree.toml";
const QUICK: [&str; 4] = ["--no-split", "--quiet", "--set", "baseline.enabled=false"];

/// A device on which every write fails, if there is one.
fn full() -> Option<File> {
    File::options().write(true).open("/dev/full").ok()
}

/// How a command ends whose standard output is full, and its message.
fn into_full_output(args: &[&str]) -> Option<(End, String)> {
    let mut command = command(args);
    command.stdout(full()?);
    let ended = command.output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    Some((End::Exit(ended.status.code().unwrap()), message))
}

/// How a command ends that may write files of at most `blocks` of 512 bytes, as on a full disk.
fn with_little_room(blocks: u32, env: &[(&str, &str)], args: &[&str]) -> (End, String) {
    let child = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""
        ))
        .arg(FLITWISE)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(TRACE)).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (how, _, message) = end(child);
    (how, message)
}

#[test]
fn success_is_0() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["trace", "check", TRACE],
        &["fabric", "check", FABRIC],
    ] {
        let (how, text, message) = run(args);
        assert_eq!(how, End::Exit(0), "{args:?}: {message}");
        assert!(!text.is_empty(), "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for args in [
        &["--help"][..],
        &["trace", "info", TRACE],
        &["trace", "convert", TRACE, "-"],
        &["fabric", "export", FABRIC, "--format", "json"],
    ] {
        let mut child = start(args);
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let message = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {message}");
        assert_eq!(message, "", "{args:?}");
    }
}

#[test]
fn a_full_standard_output_is_1() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["trace", "slice", "--help"],
        &["trace", "info", TRACE],
        &["trace", "check", TRACE],
        &["trace", "convert", TRACE, "-"],
        &["trace", "convert", TRACE, "/dev/full"],
        &["trace", "slice", TRACE, "-", "--ranks", "0-7"],
        &["trace", "slice", TRACE, "/dev/full", "--ranks", "0-7"],
        &["trace", "generate", "ring", "--ranks", "64", "-o", "-"],
        &["fabric", "info", FABRIC],
        &["fabric", "check", FABRIC],
        &["fabric", "export", FABRIC, "--format", "dot"],
        &["qos", "dtable", "configs/dtable-example.toml"],
        &[
            "qos",
            "dtable",
            "configs/dtable-example.toml",
            "--out",
            "/dev/full",
        ],
    ] {
        let Some((how, message)) = into_full_output(args) else {
            return;
        };
        assert_eq!(how, End::Exit(1), "{args:?}: {message}");
        assert!(message.starts_with("error: cannot write "), "{message}");
        assert_eq!(message.matches("No space left").count(), 1, "{message}");
    }
}

/// Messages that nobody can read change nothing.
#[test]
fn a_full_standard_error_changes_nothing() {
    let (dir, series) = (tempfile::tempdir().unwrap(), "series.interval=\"1us\"");
    let file = text_of(&dir.path().join("exp.toml"));
    super::experiment(dir.path());
    for (args, code) in [
        // Warns that the series is not recorded.
        (&["run", &file, "--no-split", "--set", series][..], 0),
        (&["run", "nowhere.toml"], 2),
        (&["run"], 2),
    ] {
        let Some(full) = full() else { return };
        let ended = command(args).stderr(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_1() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| text_of(&dir.path().join(name));
    let (out, records, tmp) = (at("out"), at("records"), text_of(dir.path()));
    let piped = ["--set", "job.0.trace=-"];
    let tmpdir = [("TMPDIR", tmp.as_str())];
    for (env, args) in [
        (&[][..], vec!["trace", "convert", TRACE, &out]),
        (&[], vec!["trace", "slice", TRACE, &out, "--ranks", "0-7"]),
        (
            &[],
            vec!["trace", "generate", "ring", "--ranks", "640", "-o", &out],
        ),
        (&[], [&["run", FABRIC, "--out", &out], &QUICK[..]].concat()),
        (
            &[],
            [&["run", FABRIC, "--records", &records], &QUICK[..]].concat(),
        ),
        (&tmpdir, [&["run", FABRIC], &QUICK[..], &piped].concat()),
        (&tmpdir, vec!["trace", "slice", "-", &out, "--ranks", "0-7"]),
    ] {
        let (how, message) = with_little_room(4, env, &args);
        assert_eq!(how, End::Exit(1), "{args:?}: {message}");
        // The cause, once.
        assert_eq!(message.matches("File too large").count(), 1, "{message}");
        assert!(!Path::new(&out).exists(), "{args:?}");
    }
}

/// A ring on one VL: `fabric check` says that it can deadlock, and a run does.
#[test]
fn a_stall_and_a_possible_deadlock_are_1() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| text_of(&dir.path().join(name));
    let (file, trace, out) = (at("ring.toml"), at("all.vef"), at("out"));
    let all = [
        "trace", "generate", "alltoall", "--ranks", "8", "-o", &trace,
    ];
    let (how, _, message) = run(&[&all[..], &["--size", "64KiB", "--iterations", "4"]].concat());
    assert_eq!(how, End::Exit(0), "{message}");
    let links: Vec<String> = (0..8)
        .map(|s| format!("[{s}, 1, {}, 2]", (s + 1) % 8))
        .collect();
    let nics: Vec<String> = (0..8).map(|s| format!("[{s}, 0]")).collect();
    let text = format!(
        "[fabric]\nkind = \"voq\"\ntopology = {{ kind = \"graph\", switches = 8, \
         nics = [{}], links = [{}] }}\n[[job]]\ntrace = \"all.vef\"\n",
        nics.join(", "),
        links.join(", ")
    );
    std::fs::write(&file, text).unwrap();
    let (how, _, message) = run(&["fabric", "check", &file]);
    assert_eq!(how, End::Exit(1), "{message}");
    let (how, _, message) = run(&[&["run", &file, "--out", &out], &QUICK[..]].concat());
    assert_eq!(how, End::Exit(1), "{message}");
    assert!(message.contains("the run stalled"), "{message}");
    let result = std::fs::read_to_string(at("out/result.json")).unwrap();
    assert!(result.contains("\"stalled\""));
}

#[test]
fn bad_input_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let inside = text_of(&dir.path().join("no/such/directory/x.vef"));
    for args in [
        &[][..],
        &["walk"],
        &["run"],
        &["run", FABRIC, "--threads", "0"],
        &["run", "nowhere.toml"],
        &["run", FABRIC, "--set", "fabric.nothing=1"],
        &["run", FABRIC, "--set", "job.0.trace=nowhere.vef"],
        &["run", FABRIC, "--out", "/"],
        &["fabric", "info", "nowhere.toml"],
        &["trace", "info", "nowhere.vef"],
        &["trace", "check", "tests/corpus/vef/self-cycle.vef"],
        &["trace", "convert", TRACE, &inside],
        &["qos", "dtable", "nowhere.toml"],
    ] {
        let (how, _, message) = run(args);
        assert_eq!(how, End::Exit(2), "{args:?}: {message}");
        assert!(!message.is_empty(), "{args:?}");
    }
}

/// Also in commands that have nothing to clean up.
#[test]
fn signals_are_deaths_by_them() {
    for wanted in [SIGHUP, SIGINT, SIGTERM] {
        // A shell without job control starts what it puts in the background deaf to SIGINT.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM");
        command.args([FLITWISE, "trace", "check", "-"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // It reads when its pipe has taken more than fits into one.
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"VEF3 2 100000 0 0 0 0 1000\n").unwrap();
        let lines = b"0 0 1 8 0 0 -1\n".repeat(1 << 13);
        input.write_all(&lines).unwrap();
        signal(&child, wanted);
        let (how, _, message) = end(child);
        assert_eq!(how, End::Signal(wanted), "{message}");
    }
}
