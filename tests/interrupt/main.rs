//! What is left when a run ends, whatever ends it: signals, kills, full disks, other runs
//! (`docs/evidence/reliability.md`).
#![cfg(unix)]

mod bad_inputs;
mod clusters;
mod commands;
mod disk;
mod exit_codes;
mod kills;
mod moments;
mod options;
mod out;
mod outputs;
#[path = "../common/reasons.rs"]
mod reasons;
mod signals;
mod studies;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FLITWISE: &str = env!("CARGO_BIN_EXE_flitwise");

fn start(args: &[&str]) -> Child {
    command(args).spawn().unwrap()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(FLITWISE);
    command
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exit(i32),
    Signal(i32),
}

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// How it ended, standard output and standard error.
fn end(mut child: Child) -> (End, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    let status = child.wait().unwrap();
    let end = match status.signal() {
        Some(signal) => End::Signal(signal),
        None => End::Exit(status.code().unwrap()),
    };
    (end, out, err)
}

fn run(args: &[&str]) -> (End, String, String) {
    end(start(args))
}

fn signal(child: &Child, signal: i32) {
    let send = |signal: i32| {
        let arguments = [format!("-{signal}"), child.id().to_string()];
        assert!(
            Command::new("kill")
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
    };
    if is_ignored(signal) {
        send(SIGKILL);
        panic!("signal {signal} is ignored: run these tests without `nohup` and in the foreground");
    }
    send(signal);
}

/// Under `nohup`, and behind `&` in a script, programs ignore signals from the start, and so do
/// those that they start. Linux only: elsewhere false.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// The names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The file or directory beside `path` that has its temporary name, if there is one.
fn part_of(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().unwrap();
    let start = format!(".{}.", path.file_name().unwrap().to_str().unwrap());
    let mut all = names(parent).into_iter();
    let found = all.find(|name| name.starts_with(&start) && name.ends_with(".part"));
    found.map(|name| parent.join(name))
}

/// Waits until a command has begun to write `path`.
fn wait_for(path: &Path, child: &mut Child) {
    while part_of(path).is_none() {
        assert_eq!(child.try_wait().unwrap(), None, "ended too early");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A small experiment with time series.
fn experiment(dir: &Path) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n\
         [[job]]\ntrace = \"{root}/tests/corpus/experiments/tiny.vef\"\nstart = \"100us\"\n\
         [[background]]\nrate = 0.1\n\
         [series]\ninterval = \"50ns\"\nrecord = [\"flows\"]\n"
    );
    let file = dir.join("exp.toml");
    std::fs::write(&file, text).unwrap();
    text_of(&file)
}

/// A path as an argument.
fn text_of(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
