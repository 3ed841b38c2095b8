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

/// Notes the progress of a run, and stops it after a time.
struct Meter<'a> {
    stop: AtomicBool,
    /// The user asks to stop.
    asked: &'a AtomicBool,
    /// The first snapshot and the last one.
    seen: Mutex<Option<[(Instant, Snapshot); 2]>>,
}

impl Progress for Meter<'_> {
    fn update(&self, snapshot: &Snapshot) {
        let now = (Instant::now(), *snapshot);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, last] = seen.get_or_insert([now, now]);
        *last = now;
        let over = now.0 - first.0 >= CALIBRATION;
        if over || self.asked.load(Ordering::Relaxed) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs the experiment of `plan` for a moment, and describes in a line how long all of it will take. Baselines, which
/// usually have no background traffic, are not counted. `asked`: the user asks to stop.
///
/// # Errors
/// The errors of the run itself.
pub(in super::super) fn estimate(plan: &Plan, asked: &AtomicBool) -> Result<String, RunError> {
    let plan = Plan::of(plan.experiment.clone());
    let meter = Meter {
        stop: AtomicBool::new(false),
        asked,
        seen: Mutex::new(None),
    };
    let control = Control::default()
        .stopped_by(&meter.stop)
        .reporting_to(&meter)
        .reporting_every(Duration::ZERO);
    let started = Instant::now();
    let result = Session::new(1).run(&plan, &control)?;
    if result.main.status != Status::Interrupted {
        let seconds = started.elapsed().as_secs_f64();
        return Ok(format!("less than {:.0} s", seconds.ceil()));
    }
    let seen = meter.seen.into_inner();
    Ok(match seen.unwrap_or_else(PoisonError::into_inner) {
        Some([first, last]) => extrapolated(first, last),
        None => "unknown: nothing was simulated".into(),
    })
}

/// Describes the whole time of a run that got from `first` to `last`, if its speed stays the same.
fn extrapolated(first: (Instant, Snapshot), last: (Instant, Snapshot)) -> String {
    let (before, after) = (work(&first.1), work(&last.1));
    let done = after.done - before.done;
    let (Some(all), true) = (after.all, done > 0.0) else {
        return "unknown: the trace has no ideal clock, or nothing has happened yet".into();
    };
    let speed = done / (last.0 - first.0).as_secs_f64();
    let Ok(time) = Duration::try_from_secs_f64(all / speed) else {
        return "unknown: nearly nothing has happened yet".into();
    };
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
}
