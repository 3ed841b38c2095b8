//! Signals at random moments to every command that writes: it ends soon, and its output is the old one, the new one or
//! the documented part of the new one.

use super::commands::{Case, Content, cases, copied, left_over, refs, results};
use super::{End, SIGINT, SIGTERM, command, end, signal};
use flitwise::random::{Purpose, Stream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// Signals of all; `FLITWISE_SIGNALS` asks for another number, `FLITWISE_SEED` for other moments.
const SIGNALS: usize = 48;
/// The most that a command may compute after a signal, and the most time until its end on a busy machine.
const MOST_CPU: Duration = Duration::from_secs(1);
const MOST_WALL: Duration = Duration::from_secs(30);

#[test]
fn a_signal_at_any_moment_ends_any_command() {
    let number =
        |name, usual: usize| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (signals, seed) = (
        number("FLITWISE_SIGNALS", SIGNALS),
        number("FLITWISE_SEED", 1),
    );
    let dir = tempfile::tempdir().unwrap();
    let cases = cases(&results(dir.path()));
    let rounds = signals.div_ceil(cases.len());
    let (mut signalled, mut slowest) = (0, Duration::ZERO);
    for (at, case) in cases.iter().enumerate() {
        let work = dir.path().join("work");
        let (path, copy) = (work.join(case.output), dir.path().join("copy"));
        std::fs::create_dir(&work).unwrap();
        let (whole, wall) = case.outputs(&path, &copy);
        for round in 0..rounds {
            copied(&copy, &path);
            let mut stream = Stream::new(
                seed as u64,
                Purpose::StaticPattern,
                [at as u64, round as u64],
            );
            let which = [SIGINT, SIGTERM][stream.below(2) as usize];
            let moment = wall.mul_f64(1.1 * stream.below(1000) as f64 / 1000.0);
            if let Some(cpu) = one(case, &path, &whole, which, moment) {
                signalled += 1;
                slowest = slowest.max(cpu);
            }
            assert_eq!(
                left_over(&work),
                Vec::<std::path::PathBuf>::new(),
                "{}",
                case.name
            );
        }
        std::fs::remove_dir_all(&work).unwrap();
    }
    println!(
        "{signalled} of {} commands had a signal before their end, which computed for {slowest:?} at most",
        rounds * cases.len()
    );
    assert!(signalled > 0, "all commands had ended before their signal");
}

/// Starts a command and sends it a signal. Returns how long it then computed, if it had not ended before.
fn one(
    case: &Case,
    path: &Path,
    whole: &[Content; 2],
    which: i32,
    moment: Duration,
) -> Option<Duration> {
    let line = case.line(1, path);
    let mut child = command(&refs(&line)).spawn().unwrap();
    std::thread::sleep(moment);
    let running = child.try_wait().unwrap().is_none();
    let mut cpu = None;
    if running {
        let before = cpu_time(&child);
        signal(&child, which);
        let sent = Instant::now();
        // Its times can be read as long as nothing waits for it.
        while !is_over(&child) {
            assert!(sent.elapsed() < MOST_WALL, "{line:?} does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
        cpu = Some(cpu_time(&child).saturating_sub(before));
    }
    let (how, _, message) = end(child);
    assert!(
        [End::Exit(0), End::Signal(which)].contains(&how),
        "{line:?}: {how:?} {message}"
    );
    let took = cpu.unwrap_or_default();
    assert!(
        took <= MOST_CPU,
        "{line:?} computed for {took:?} after signal {which}"
    );
    let fault = case.fault(path, whole, how == End::Signal(which));
    assert_eq!(fault, None, "signal {which} after {moment:?}: {message}");
    cpu
}

/// The fields of `/proc/PID/stat` behind the name; none on other systems.
fn stat(child: &Child) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let (_, fields) = text.rsplit_once(')').unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

fn is_over(child: &Child) -> bool {
    stat(child).first().is_none_or(|state| state == "Z")
}

/// The CPU time of a process, in steps of 10 ms.
fn cpu_time(child: &Child) -> Duration {
    let fields = stat(child);
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|ticks| ticks.parse().ok())
            .unwrap_or(0)
    };
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}
