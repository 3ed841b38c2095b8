//! Signals at random moments to every command that writes: it ends soon, and its output is the old one, the new one or
//! the documented part of the new one.

use super::commands::{Case, Content, cases, copied, left_over, refs, results};
use super::{End, SIGINT, SIGTERM, command, end, signal};
use flitwise::random::{Purpose, Stream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Signals of all; `FLITWISE_SIGNALS` asks for another number, `FLITWISE_SEED` for other moments.
const SIGNALS: usize = 48;
/// The most that a command may compute after a signal, and the most time until its end on a busy machine.
const MOST_CPU: Duration = Duration::from_secs(1);
const MOST_WALL: Duration = Duration::from_secs(30);

/// How often a command is started for the moment at which it handles signals.
const LOOKS: u32 = 20;

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
        let mut signal_at = |moment, stream: &mut Stream| {
            copied(&copy, &path);
            let which = [SIGINT, SIGTERM][stream.below(2) as usize];
            let cpu = one(case, &path, &whole, which, moment);
            assert_eq!(left_over(&work), Vec::<PathBuf>::new(), "{}", case.name);
            if let Some(cpu) = cpu {
                signalled += 1;
                slowest = slowest.max(cpu);
            }
            cpu
        };
        for round in 0..rounds {
            let keys = [at as u64, round as u64];
            let mut stream = Stream::new(seed as u64, Purpose::StaticPattern, keys);
            if round == 0 {
                // A short command may end before anybody looks.
                let handled = (0..LOOKS).any(|_| signal_at(Moment::Handled, &mut stream).is_some());
                assert!(handled, "{} does not handle signals", case.name);
                continue;
            }
            let part = 1.1 * stream.below(1000) as f64 / 1000.0;
            signal_at(Moment::After(wall.mul_f64(part)), &mut stream);
        }
        std::fs::remove_dir_all(&work).unwrap();
    }
    println!(
        "{signalled} of {} commands had a signal before their end, which computed for {slowest:?} at most",
        rounds * cases.len()
    );
    assert!(signalled > 0, "all commands had ended before their signal");
}

/// When a command gets its signal.
#[derive(Debug, Clone, Copy)]
enum Moment {
    After(Duration),
    /// As soon as it handles signals, which each of these commands does.
    Handled,
}

impl Moment {
    /// Waits for it. Returns whether the command still runs.
    fn comes(self, child: &mut Child) -> bool {
        if let Self::After(time) = self {
            std::thread::sleep(time);
            return child.try_wait().unwrap().is_none();
        }
        loop {
            if handles(child, SIGTERM) {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
        }
    }
}

/// Starts a command and sends it a signal. Returns how long it then computed, if it had not ended before.
fn one(
    case: &Case,
    path: &Path,
    whole: &[Content; 2],
    which: i32,
    moment: Moment,
) -> Option<Duration> {
    let line = case.line(1, path);
    let mut child = command(&refs(&line)).spawn().unwrap();
    let mut cpu = None;
    if moment.comes(&mut child) {
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
    assert_eq!(fault, None, "signal {which}, {moment:?}: {message}");
    cpu
}

/// The fields of `/proc/PID/stat` behind the name; none on other systems.
fn stat(child: &Child) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let (_, fields) = text.rsplit_once(')').unwrap_or_default();
    fields.split_whitespace().map(str::to_owned).collect()
}

/// Whether a command has a handler of `signal`; always on systems that do not tell.
fn handles(child: &Child, signal: i32) -> bool {
    let path = format!("/proc/{}/status", child.id());
    let Ok(status) = std::fs::read_to_string(path) else {
        return true;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1)
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
