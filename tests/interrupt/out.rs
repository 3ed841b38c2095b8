//! The directory of results: what a run replaces, what it refuses, and what a failure leaves.

use super::{End, end, experiment, names, part_of, run, start, text_of};
use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A directory with an experiment and the arguments that run it.
struct Case {
    dir: tempfile::TempDir,
    file: String,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = experiment(dir.path());
        Self { dir, file }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, out: &str, more: &[&str]) -> (End, String, String) {
        let out = format!("{}/{out}", text_of(self.dir.path()));
        let mut args = vec!["run", &self.file, "--out", &out];
        args.extend(more);
        run(&args)
    }

    fn refused(&self, out: &str, more: &[&str], why: &[&str]) {
        let (how, text, message) = self.run(out, more);
        assert_eq!((how, text.as_str()), (End::Exit(2), ""), "{message}");
        for part in why {
            assert!(message.contains(part), "{message}");
        }
    }

    fn accepted(&self, out: &str, more: &[&str]) -> String {
        let (how, _, message) = self.run(out, more);
        assert_eq!(how, End::Exit(0), "{message}");
        message
    }
}

const ALL: [&str; 11] = [
    "command.txt",
    "experiment.toml",
    "flows.csv",
    "flows.svg",
    "latencies.csv",
    "links.csv",
    "matrix.csv",
    "result.json",
    "shares.svg",
    "summary.txt",
    "waits.csv",
];

#[test]
fn another_experiment_is_replaced_only_by_force() {
    let case = Case::new();
    let message = case.accepted("out", &[]);
    assert!(
        message.ends_with(
            "out: command.txt, experiment.toml, latencies.csv, links.csv, matrix.csv, result.json, summary.txt, waits.csv, 3 series files\n"
        ),
        "{message}"
    );
    // The same one again, without its series.
    case.accepted("out", &["--set", "series.figure_lines=0"]);
    assert_eq!(
        names(&case.at("out")),
        [
            "command.txt",
            "experiment.toml",
            "flows.csv",
            "latencies.csv",
            "links.csv",
            "matrix.csv",
            "result.json",
            "summary.txt",
            "waits.csv",
        ]
    );
    let old = std::fs::read(case.at("out/result.json")).unwrap();
    let why = ["exp.toml", "seed = 1 instead of 2", "--force"];
    case.refused("out", &["--seed", "2"], &why);
    assert_eq!(std::fs::read(case.at("out/result.json")).unwrap(), old);
    case.accepted("out", &["--seed", "2", "--force"]);
    assert_eq!(names(&case.at("out")), ALL);
    assert_eq!(names(case.dir.path()), ["exp.toml", "out"]);
}

#[test]
fn only_results_are_replaced() {
    let case = Case::new();
    std::fs::create_dir(case.at("empty")).unwrap();
    case.accepted("empty", &[]);
    std::fs::write(case.at("empty/notes.txt"), "mine").unwrap();
    case.refused(
        "empty",
        &["--force"],
        &["holds `notes.txt`", "another directory"],
    );
    std::fs::remove_file(case.at("empty/notes.txt")).unwrap();
    std::fs::remove_file(case.at("empty/result.json")).unwrap();
    case.refused("empty", &[], &["no result.json", "--force"]);
    std::fs::write(case.at("empty/result.json"), "{").unwrap();
    case.refused("empty", &[], &["damaged", "--force"]);
    std::fs::write(case.at("empty/result.json"), "{}").unwrap();
    case.refused("empty", &[], &["not of the form", "--force"]);
    case.accepted("empty", &["--force"]);
    case.refused("exp.toml", &[], &["is a file"]);
    case.refused("exp.toml/out", &[], &["cannot write"]);
    assert_eq!(names(case.dir.path()), ["empty", "exp.toml"]);
}

#[test]
fn a_directory_has_many_names() {
    let case = Case::new();
    for out in ["a/b/", "a/b/.", "a/../a//b", "a/b"] {
        case.accepted(out, &["--quiet"]);
        assert_eq!(names(&case.at("a")), ["b"], "{out}");
        assert_eq!(names(&case.at("a/b")), ALL, "{out}");
    }
    // The link stays, and what it leads to is replaced.
    symlink("a/b", case.at("link")).unwrap();
    std::fs::write(case.at("a/b/summary.txt"), "old").unwrap();
    case.accepted("link", &[]);
    assert_eq!(names(&case.at("a/b")), ALL);
    assert_eq!(names(&case.at("a")), ["b"]);
    assert!(case.at("link").symlink_metadata().unwrap().is_symlink());
    assert_ne!(std::fs::read(case.at("a/b/summary.txt")).unwrap(), b"old");
    symlink("nowhere", case.at("dangling")).unwrap();
    case.refused("dangling", &[], &["symbolic link to nothing"]);
    // Who may read it stays the same.
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(case.at("a/b"), private).unwrap();
    case.accepted("a/b", &[]);
    let mode = case.at("a/b").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn some_places_cannot_be_taken() {
    let case = Case::new();
    let at = |out: &str, cwd: &Path| {
        let run = Command::new(super::FLITWISE)
            .args(["run", &case.file, "--out", out])
            .current_dir(cwd)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2));
        String::from_utf8(run.stderr).unwrap()
    };
    std::fs::create_dir(case.at("here")).unwrap();
    let message = at(".", &case.at("here"));
    assert!(
        message.contains("working directory") && message.contains("--out ./result"),
        "{message}"
    );
    for (out, why) in [("/", "mount point"), ("/proc/nothing", "cannot write")] {
        let message = at(out, case.dir.path());
        assert!(message.contains(why), "{message}");
    }
    // The superuser may write everywhere.
    let closed = case.at("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    if File::create(closed.join("x")).is_err() {
        case.refused("closed", &[], &["cannot write", "Permission denied"]);
        case.refused("closed/out", &[], &["cannot write", "Permission denied"]);
    }
}

/// A full disk, as the limit on the size of files.
#[test]
fn a_full_disk_leaves_the_old_result() {
    let case = Case::new();
    for (old, size) in [(false, 4), (true, 4), (true, 20), (true, 40)] {
        if old {
            case.accepted("out", &["--force"]);
            std::fs::write(case.at("out/summary.txt"), "old").unwrap();
        }
        let limited = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -f {size}; exec \"$0\" \"$@\""))
            .args([super::FLITWISE, "run", &case.file, "--out"])
            .arg(case.at("out"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (how, text, message) = end(limited);
        assert_eq!(how, End::Exit(1), "{message}");
        assert!(text.contains("\nexecution time"), "{text}");
        let kept = if old {
            "is as it was before"
        } else {
            "there is no"
        };
        assert!(
            message.contains("File too large") && message.contains(kept),
            "{message}"
        );
        if old {
            assert_eq!(names(&case.at("out")), ALL);
            assert_eq!(std::fs::read(case.at("out/summary.txt")).unwrap(), b"old");
            assert_eq!(names(case.dir.path()), ["exp.toml", "out"]);
        } else {
            assert_eq!(names(case.dir.path()), ["exp.toml"])
        }
    }
}

#[test]
fn a_full_standard_output_is_a_failure() {
    let case = Case::new();
    let full = File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    for more in [&["--json"][..], &[]] {
        let run = Command::new(super::FLITWISE)
            .args(["run", &case.file, "--out"])
            .arg(case.at("out"))
            .args(more)
            .stdout(full.try_clone().unwrap())
            .output()
            .unwrap();
        let message = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{message}");
        assert!(message.contains("cannot write the results"), "{message}");
        assert_eq!(names(&case.at("out")), ALL);
    }
}

/// What was put into the directory during the run is kept, and so are the results.
#[test]
fn what_appears_during_a_run_is_kept() {
    let case = Case::new();
    case.accepted("out", &[]);
    let out = text_of(&case.at("out"));
    // Long enough to write a file meanwhile.
    let long = ["--set", "job.0.start=20ms", "--force", "--quiet"];
    let mut args = vec!["run", &case.file, "--out", &out];
    args.extend(long);
    let child = start(&args);
    while part_of(&case.at("out")).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(case.at("out/notes.txt"), "mine").unwrap();
    let (how, _, message) = end(child);
    assert_eq!(how, End::Exit(1), "{message}");
    assert!(message.contains("holds `notes.txt` now"), "{message}");
    let (_, kept) = message.split_once("the results are in `").unwrap();
    let (kept, _) = kept.split_once('`').unwrap();
    assert_eq!(names(Path::new(kept)), ALL);
    assert_eq!(std::fs::read(case.at("out/notes.txt")).unwrap(), b"mine");
    assert_eq!(names(case.dir.path()).len(), 3);
}

/// Records of two processes at once: each file is whole.
#[test]
fn processes_share_records() {
    let case = Case::new();
    let records = text_of(&case.at("records"));
    let args = ["run", &case.file, "--json", "--records", &records];
    for _ in 0..5 {
        let runs: Vec<_> = (0..4).map(|_| start(&args)).collect();
        for child in runs {
            let (how, _, message) = end(child);
            assert_eq!(how, End::Exit(0), "{message}");
        }
        let all = names(&case.at("records"));
        // The experiment, its baseline, the unloaded fabric, the ideal network.
        assert_eq!(all.len(), 4, "{all:?}");
        for name in all {
            let packed = std::fs::read(case.at("records").join(&name)).unwrap();
            let text = zstd::decode_all(&packed[..]).unwrap();
            serde_json::from_slice::<serde_json::Value>(&text).unwrap();
            std::fs::remove_file(case.at("records").join(name)).unwrap();
        }
    }
}
