//! The estimated length of a run, from its first second.

use super::text::{self, work};
use flitwise::config::Plan;
use flitwise::run::{Control, Progress, RunError, Session, Snapshot, Status};
use flitwise::units::short_time;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wall-clock time that the experiment runs for.
const CALIBRATION: Duration = Duration::from_secs(1);

/// Windows after which a run that reports nothing, such as a static analysis, is stopped.
const PATIENCE: u32 = 4;
/// Time between two looks at the clock.
const LOOK: Duration = Duration::from_millis(10);

/// Notes the progress of a run, and stops it after a time.
struct Meter<'a> {
    stop: AtomicBool,
    /// The user asks to stop.
    asked: &'a AtomicBool,
    /// Wall-clock time that the run gets.
    window: Duration,
    /// The first snapshot and the last one.
    seen: Mutex<Option<[(Instant, Snapshot); 2]>>,
}

impl Meter<'_> {
    /// Stops the run when the user asks for it, or after `patience`; returns when it has `ended`.
    fn watch(&self, started: Instant, patience: Duration, ended: &AtomicBool) {
        while !ended.load(Ordering::Relaxed) {
            if self.asked.load(Ordering::Relaxed) || started.elapsed() >= patience {
                self.stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Progress for Meter<'_> {
    fn update(&self, snapshot: &Snapshot) {
        let now = (Instant::now(), *snapshot);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, last] = seen.get_or_insert([now, now]);
        *last = now;
        if now.0 - first.0 >= self.window {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// How long a run takes, as far as its beginning tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Took {
    /// It was run to its end in this time.
    Whole(Duration),
    /// All of it takes this time if its speed stays the same; or longer, where the work is only known to be at least so
    /// much.
    About { time: Duration, is_bound: bool },
    /// Too little happened.
    Unknown,
}

/// Runs the experiment of `plan` for a moment, and describes in a line how long all of it will take. Baselines, which
/// usually have no background traffic, are not counted. `asked`: the user asks to stop.
///
/// # Errors
/// The errors of the run itself.
pub(in super::super) fn estimate(plan: &Plan, asked: &AtomicBool) -> Result<String, RunError> {
    let plan = Plan::of(plan.experiment.clone());
    let begun = begin(
        &plan,
        &mut Session::new(1),
        CALIBRATION,
        Duration::MAX,
        asked,
    )?;
    Ok(match begun {
        Begun::Ended(time) => format!("less than {:.0} s", time.as_secs_f64().ceil()),
        Begun::Part(seen) => extrapolated(seen[0], seen[1]),
        Begun::Nothing => "unknown: nothing was simulated".into(),
    })
}

/// Runs the experiment of `plan` for `window`, and returns how long all of it takes.
///
/// # Errors
/// The errors of the run itself.
pub(in super::super) fn took(
    plan: &Plan,
    session: &mut Session,
    window: Duration,
    asked: &AtomicBool,
) -> Result<Took, RunError> {
    Ok(
        match begin(plan, session, window, PATIENCE * window, asked)? {
            Begun::Ended(time) => Took::Whole(time),
            Begun::Part(seen) => match whole_time(&seen[0], &seen[1]) {
                Some((time, _)) => Took::About {
                    time,
                    is_bound: work(&seen[1].1).is_bound,
                },
                None => Took::Unknown,
            },
            Begun::Nothing => Took::Unknown,
        },
    )
}

/// A run that was stopped after a time.
enum Begun {
    Ended(Duration),
    Part(Box<[(Instant, Snapshot); 2]>),
    Nothing,
}

fn begin(
    plan: &Plan,
    session: &mut Session,
    window: Duration,
    patience: Duration,
    asked: &AtomicBool,
) -> Result<Begun, RunError> {
    let meter = Meter {
        stop: AtomicBool::new(false),
        asked,
        window,
        seen: Mutex::new(None),
    };
    // A long trace takes more time to check than the window is long.
    session.prepare(plan, &Control::default().stopped_by(asked))?;
    let control = Control::default()
        .stopped_by(&meter.stop)
        .reporting_to(&meter)
        .reporting_every(Duration::ZERO);
    let started = Instant::now();
    let ended = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| meter.watch(started, patience, &ended));
        let result = session.run(plan, &control);
        ended.store(true, Ordering::Relaxed);
        result
    })?;
    if result.main.status != Status::Interrupted {
        return Ok(Begun::Ended(started.elapsed()));
    }
    let seen = meter.seen.into_inner();
    let seen = seen.unwrap_or_else(PoisonError::into_inner);
    Ok(seen.map_or(Begun::Nothing, |seen| Begun::Part(Box::new(seen))))
}

/// The whole time of a run that got from `first` to `last`, if its speed stays the same, and the speed in work a second.
fn whole_time(first: &(Instant, Snapshot), last: &(Instant, Snapshot)) -> Option<(Duration, f64)> {
    let (before, after) = (work(&first.1), work(&last.1));
    let done = after.done - before.done;
    let all = after.all.filter(|_| done > 0.0)?;
    let speed = done / (last.0 - first.0).as_secs_f64();
    Some((
        Duration::try_from_secs_f64(all / speed).unwrap_or(Duration::MAX),
        speed,
    ))
}

/// Describes the whole time of a run that got from `first` to `last`, if its speed stays the same.
fn extrapolated(first: (Instant, Snapshot), last: (Instant, Snapshot)) -> String {
    let after = work(&last.1);
    let (Some(all), Some((time, speed))) = (after.all, whole_time(&first, &last)) else {
        return "unknown: the trace has no ideal clock, or nothing has happened yet".into();
    };
    if time == Duration::MAX {
        return "unknown: nearly nothing has happened yet".into();
    }
    let bound = if after.is_bound { "at least" } else { "about" };
    let time = text::short(time);
    match last.1.loads {
        Some(_) => format!("{bound} {time} on one core"),
        None => format!(
            "{bound} {time}: {} of simulated time, of which it simulates {} a second",
            short_time(all as u64),
            short_time(speed as u64),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_as_it_began() {
        let start = Instant::now();
        let at = |s: u64, ms: u64| (start + Duration::from_secs(s), text::after_ms(ms));
        // 1 s of simulated time at least, of which 2 ms take a second.
        let text = extrapolated(at(0, 1), at(1, 3));
        assert_eq!(
            text,
            "at least 8 min: 1.00 s of simulated time, of which it simulates 2.00 ms a second"
        );
        let text = extrapolated(at(0, 1), at(1, 1));
        assert!(text.starts_with("unknown"), "{text}");
    }

    #[test]
    fn a_window_shorter_than_the_check_of_the_trace_is_no_error() {
        let text = r#"
            fabric.topology = { kind = "k-ary-n-tree", k = 4, n = 2 }
            [[job]]
            trace = "traces/hpl-16.vef.gz"
        "#;
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let plan = flitwise::config::resolve_text("short.toml", text, root, &[]).unwrap();
        let asked = AtomicBool::new(false);
        let took = took(&plan, &mut Session::new(1), Duration::ZERO, &asked);
        assert!(matches!(took, Ok(Took::Unknown)), "{took:?}");
    }
}
