//! A sign of life of the commands that simulate nothing: after a second a line on a terminal, elsewhere one every 30 s.

use super::{LINE_EVERY, short, style, terminal};
use crate::cli::console::tell;
use flitwise::oblivious::{Analysis, Network, Settings};
use flitwise::stop::Stop;
use flitwise::units::human_count;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A shorter command shows nothing.
const QUIET: Duration = Duration::from_secs(1);
/// The time between two looks at the state.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Runs of a static analysis between two counts: many for each thread.
const RUNS_AT_ONCE: u64 = 1024;

/// Whether the command has ended, or writes to the terminal from now on.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The parts of the work that are done, and all parts, 0 if they are not counted.
static DONE: AtomicU64 = AtomicU64::new(0);
static ALL: AtomicU64 = AtomicU64::new(0);
/// The line on the terminal.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Begins to show that the command `name` is at work.
pub(in crate::cli) fn begin(name: &'static str) {
    let started = Instant::now();
    // Without a thread nothing is shown, which is acceptable.
    drop(std::thread::Builder::new().spawn(move || show(name, started)));
}

/// The same for a study, unless the user wants no messages: many points take long before the first of them runs.
pub(in crate::cli) fn begin_study(is_quiet: bool) {
    if !is_quiet {
        begin("study");
    }
}

/// Adds runs up to number `runs` to a static analysis, and shows how many are done.
pub(in crate::cli) fn extend(
    analysis: &mut Analysis,
    network: &Network,
    settings: &Settings,
    runs: u64,
    threads: usize,
    stop: Stop<'_>,
) {
    let mut done = analysis.runs.len() as u64;
    while done < runs && !stop.is_set() {
        done = runs.min(done + RUNS_AT_ONCE);
        analysis.extend(network, settings, done, threads, stop);
        count(analysis.runs.len() as u64, runs);
    }
}

/// Notes that `done` of `all` parts of the work are done.
fn count(done: u64, all: u64) {
    ALL.store(all, Ordering::Relaxed);
    DONE.store(done, Ordering::Relaxed);
}

/// Shows nothing from now on.
pub(in crate::cli) fn end() {
    ENDED.store(true, Ordering::Relaxed);
    clear();
}

/// Removes the line from the terminal, because the command prints something. It comes back if the work continues.
pub(in crate::cli) fn clear() {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(line) = line {
        line.finish_and_clear();
    }
}

fn show(name: &str, started: Instant) {
    let is_terminal = terminal();
    let mut due = if is_terminal { QUIET } else { LINE_EVERY };
    loop {
        std::thread::sleep(LOOK_EVERY);
        let now = started.elapsed();
        if now < due {
            continue;
        }
        let text = text(name, now);
        if ENDED.load(Ordering::Relaxed) {
            break;
        }
        if is_terminal {
            let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
            line.get_or_insert_with(new_line).set_message(text);
        } else {
            due = now + LINE_EVERY;
            tell(format_args!("{text}"));
        }
    }
}

fn new_line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
    line.set_style(style("{spinner} {msg}"));
    line
}

fn text(name: &str, now: Duration) -> String {
    let now = short(now);
    match ALL.load(Ordering::Relaxed) {
        0 => format!("{name}: at work for {now}"),
        all => {
            let done = DONE.load(Ordering::Relaxed);
            format!(
                "{name}: {} of {} done in {now}",
                human_count(done),
                human_count(all)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_if_there_are_any() {
        let now = Duration::from_secs(90);
        assert_eq!(text("fabric info", now), "fabric info: at work for 2 min");
        count(1000, 2_000_000);
        assert_eq!(text("orcs", now), "orcs: 1,000 of 2,000,000 done in 2 min");
    }
}
