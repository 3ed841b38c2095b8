//! Disks that fill at every size: a limit on the size of files, and small file systems.

use super::commands::{Case, Content, Output, cases, content, copied, left_over, removed, results};
use super::{FLITWISE, text_of};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sizes of the files of an output.
fn sizes(path: &Path) -> Vec<u64> {
    if path.is_file() {
        return vec![path.metadata().unwrap().len()];
    }
    let below = super::names(path).into_iter().map(|name| path.join(name));
    below.flat_map(|path| sizes(&path)).collect()
}

/// Runs a command through `wrapper`; its exit code and messages.
fn wrapped(wrapper: &[&str], line: &[String]) -> Option<(i32, String)> {
    let (program, before) = wrapper.split_first()?;
    let done = Command::new(program)
        .args(before)
        .arg(FLITWISE)
        .args(line)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .output();
    let done = done.ok()?;
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    Some((done.status.code().unwrap_or(-1), message))
}

/// Checks a command that ended with `code` for want of room, and its output at `path`.
fn check(
    case: &Case,
    path: &Path,
    whole: &[Content; 2],
    (code, message): &(i32, String),
    cause: &str,
    room: u64,
) {
    let what = format!(
        "{} {} with room for {room}: {message}",
        case.name, case.output
    );
    assert!([0, 1].contains(code), "{code}: {what}");
    assert_eq!(
        left_over(path.parent().unwrap()),
        Vec::<PathBuf>::new(),
        "{what}"
    );
    assert_eq!(case.fault(path, whole, false), None, "{what}");
    if *code == 0 {
        assert!(
            case.kind == Output::Records || content(path) == whole[1],
            "{what}"
        );
        return;
    }
    assert!(
        content(path) == whole[0] || case.kind == Output::Records,
        "{what}"
    );
    assert!(message.contains(cause), "{what}");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(message.contains(name), "names no {name}: {what}");
}

/// `FLITWISE_DISK=1` asks for every step.
fn thorough() -> bool {
    std::env::var_os("FLITWISE_DISK").is_some()
}

/// A file that is larger than 0, 1, half or all but one byte of each file of an output.
#[test]
fn a_limit_on_files_of_any_size_leaves_the_old_output() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("skipped: there is no prlimit");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for case in cases(&results(dir.path())) {
        let work = dir.path().join("work");
        let (path, copy) = (work.join(case.output), dir.path().join("copy"));
        std::fs::create_dir(&work).unwrap();
        let (whole, _) = case.outputs(&path, &copy);
        removed(&path);
        case.complete(1, &path);
        let most = sizes(&path).into_iter().max().unwrap();
        let mut limits: Vec<u64> = if thorough() {
            sizes(&path)
                .into_iter()
                .flat_map(|size| [0, 1, size / 2, size.saturating_sub(1)])
                .collect()
        } else {
            vec![0, most / 2, most - most / 16]
        };
        limits.sort_unstable();
        limits.dedup();
        for limit in limits {
            copied(&copy, &path);
            let fsize = format!("--fsize={limit}:{limit}");
            let ended = wrapped(&["prlimit", &fsize], &case.line(1, &path)).unwrap();
            check(&case, &path, &whole, &ended, "File too large", limit);
            assert!(
                limit >= most || ended.0 == 1,
                "{} fits into {limit}",
                case.name
            );
            tried += 1;
        }
        std::fs::remove_dir_all(&work).unwrap();
    }
    println!("{tried} limits");
}

/// Mounts a file system at $1, copies $2 there, leaves room for $3 KiB, runs the rest, and copies all to $4.
const SCRIPT: &str = r#"
at=$1 old=$2 room=$3 left=$4; shift 4
mount -t tmpfs -o size=64m none "$at" || exit 99
cp -a "$old" "$at/" || exit 98
used=$(df -k --output=used "$at" | tail -1)
mount -o remount,size=$((used + room))k "$at" || exit 97
"$@"
code=$?
cp -a "$at/." "$left"
exit $code
"#;

/// A file system with room for 0, 1, 2, … pages, until it is enough.
#[test]
fn a_full_disk_of_any_size_leaves_the_old_output() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("disk");
    std::fs::create_dir(&at).unwrap();
    let probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "none"];
    let may = Command::new(probe[0]).args(&probe[1..]).arg(&at).output();
    if !may.is_ok_and(|done| done.status.success()) {
        println!("skipped: this user may not mount a file system of its own");
        return;
    }
    let mut tried = 0;
    for case in cases(&results(dir.path())) {
        let (path, copy) = (at.join(case.output), dir.path().join(case.output));
        let (whole, _) = case.outputs(&path, &copy);
        removed(&path);
        let mut pages = 0;
        loop {
            let left = dir.path().join("left");
            removed(&left);
            std::fs::create_dir(&left).unwrap();
            let room = (4 * pages).to_string();
            let [on, old, after] = [&at, &copy, &left].map(|path| text_of(path));
            let wrapper = [
                "unshare", "-rm", "sh", "-c", SCRIPT, "sh", &on, &old, &room, &after,
            ];
            let ended = wrapped(&wrapper, &case.line(1, &path)).unwrap();
            check(
                &case,
                &left.join(case.output),
                &whole,
                &ended,
                "No space left",
                4096 * pages,
            );
            tried += 1;
            if ended.0 == 0 {
                break;
            }
            pages = if thorough() { pages + 1 } else { 2 * pages + 1 };
        }
        removed(&copy);
    }
    println!("{tried} file systems");
}
