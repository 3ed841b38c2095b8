//! Messages about a run in progress.

use flitwise::run::{Run, SaturatedRun, Snapshot};
use flitwise::study::StudySnapshot;
#[cfg(test)]
use flitwise::units::TickLength;
use flitwise::units::{human_count, short_time};
use std::time::Duration;

/// The part of the records from which on they show how long the jobs take. Before it, the first few records are no
/// measure of the rest.
const TELLING: f64 = 0.01;

/// The completed work of a run: simulated picoseconds of a run with jobs, loads of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Work {
    pub done: f64,
    pub all: Option<f64>,
    /// `all` is a lower bound and not an estimate.
    pub is_bound: bool,
}

impl Work {
    pub fn left(self) -> f64 {
        self.all
            .map_or(f64::INFINITY, |all| (all - self.done).max(0.0))
    }

    /// From 0 to 1.
    pub fn part(self) -> f64 {
        let part = self
            .all
            .map_or(0.0, |all| self.done / all.max(f64::MIN_POSITIVE));
        part.clamp(0.0, 1.0)
    }
}

/// The work of a run. Jobs are expected to take as long in simulated time per record as so far, and at
/// least as long as on the ideal clock.
pub(super) fn work(s: &Snapshot) -> Work {
    let records = s.records as f64 / (s.records_total as f64).max(1.0);
    if s.loads.is_some() {
        return Work {
            done: records,
            all: Some(1.0),
            is_bound: false,
        };
    }
    let done = s.tick_length.ps(s.tick) as f64;
    let least = s.least_ps.map(|ps| ps as f64);
    if records >= TELLING {
        Work {
            done,
            all: Some((done / records).max(least.unwrap_or(0.0))),
            is_bound: false,
        }
    } else {
        Work {
            done,
            all: least.map(|least| least.max(done)),
            is_bound: true,
        }
    }
}

/// The warning that the backlog of a background flow keeps growing.
pub(super) fn saturated(seen: &SaturatedRun) -> String {
    let which = match seen.run {
        Run::Baseline(at) => format!("baseline {}: ", at + 1),
        _ => String::new(),
    };
    let saturation = &seen.saturation;
    let end = seen.limit_ps.map_or_else(String::new, |limit| {
        format!(
            " The run ends as saturated if its jobs would take longer than {}: saturated_limit sets the limit.",
            short_time(limit)
        )
    });
    format!(
        "warning: {which}saturated: background {} creates more than {} can send; at {} of simulated time its \
         oldest message has waited for {}, and the wait grows, also for jobs on its service level. Lower \
         its rate, give it an `sl` of its own, or let flows take turns with \
         fabric.nic_queueing = \"per-flow\".{end}",
        saturation.flow,
        seen.nic,
        short_time(saturation.at_ps),
        short_time(saturation.behind_ps),
    )
}

/// The state of a run in a line, and the time that is left.
pub(super) fn progress(s: &Snapshot, left: Option<Duration>) -> String {
    let which = match s.run {
        Run::Baseline(at) => format!("baseline {}: ", at + 1),
        _ => String::new(),
    };
    let work = work(s);
    let at = short_time(s.tick_length.ps(s.tick));
    let what = match (&s.loads, work.all) {
        (Some(loads), _) => {
            let phase = if loads.in_window { "window" } else { "warm-up" };
            format!(
                "{} of {} loads measured, load {} in its {phase}, {:.0} % in all",
                loads.measured,
                loads.all,
                loads.load,
                100.0 * work.part(),
            )
        }
        (None, None) => format!("{at} simulated"),
        (None, Some(all)) => {
            let bound = if work.is_bound { "at least" } else { "about" };
            format!("{at} of {bound} {} simulated", short_time(all as u64))
        }
    };
    let bound = if work.is_bound { "at least" } else { "about" };
    let left = left.map_or_else(String::new, |left| {
        format!(", {bound} {} left", short(left))
    });
    let messages = human_count(s.messages);
    match s.loads {
        Some(_) => format!("{which}{what}{left}"),
        None => format!("{which}{what}, {messages} messages{left}"),
    }
}

/// The state of a study in a line, and the time that is left.
pub(super) fn study(s: &StudySnapshot, left: Option<Duration>) -> String {
    let failed = match s.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let left = left.map_or_else(String::new, |left| format!(", about {} left", short(left)));
    format!(
        "{} of {} runs, {} of {} tasks{failed}{left}",
        s.runs_done, s.runs, s.tasks_done, s.tasks
    )
}

/// A time in the unit that fits.
pub(in crate::cli) fn short(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..90 => format!("{s} s"),
        90..5_400 => format!("{} min", (s + 30) / 60),
        5_400..129_600 => format!("{} h", (s + 1_800) / 3_600),
        _ => format!("{} days", (s + 43_200) / 86_400),
    }
}

/// A snapshot after `ms` of at least 1 s, without any record.
#[cfg(test)]
pub(super) fn after_ms(ms: u64) -> Snapshot {
    let mut s = Snapshot::of(Run::Experiment, TickLength::whole(1_000_000));
    s.tick = ms * 1_000;
    s.least_ps = Some(1_000_000_000_000);
    s.records_total = 1_000_000;
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitwise::run::LoadsDone;
    use flitwise::units::Ratio;

    fn with_records(ms: u64, records: u64) -> String {
        let mut s = after_ms(ms);
        s.records = records;
        s.messages = 12_345;
        progress(&s, Some(Duration::from_secs(700)))
    }

    #[test]
    fn a_bound_is_called_a_bound() {
        assert_eq!(
            with_records(5, 9_999),
            "5.00 ms of at least 1.00 s simulated, 12,345 messages, at least 12 min left"
        );
        // More than the bound, and no record tells anything.
        assert_eq!(
            with_records(3_000, 0),
            "3.00 s of at least 3.00 s simulated, 12,345 messages, at least 12 min left"
        );
    }

    #[test]
    fn records_give_an_estimate_beyond_the_bound() {
        let about =
            |all| format!("500 ms of about {all} simulated, 12,345 messages, about 12 min left");
        assert_eq!(with_records(500, 250_000), about("2.00 s"));
        // As fast as the bound allows, and no faster.
        assert_eq!(with_records(500, 900_000), about("1.00 s"));
    }

    #[test]
    fn without_a_bound_the_time_alone_is_said() {
        let mut s = after_ms(7);
        s.least_ps = None;
        s.run = Run::Baseline(1);
        assert_eq!(
            progress(&s, None),
            "baseline 2: 7.00 ms simulated, 0 messages"
        );
        assert_eq!(work(&s).part(), 0.0);
    }

    #[test]
    fn loads_say_which_and_how_far() {
        let mut s = after_ms(7);
        s.loads = Some(LoadsDone::new(2, 8, Ratio::new(1, 2).unwrap(), true));
        (s.records, s.records_total) = (2_500, 8_000);
        assert_eq!(
            progress(&s, Some(Duration::from_secs(59))),
            "2 of 8 loads measured, load 0.5 in its window, 31 % in all, about 59 s left"
        );
    }

    #[test]
    fn times_are_short() {
        for (s, text) in [
            (0, "0 s"),
            (89, "89 s"),
            (90, "2 min"),
            (5_399, "90 min"),
            (5_400, "2 h"),
            (200_000, "2 days"),
        ] {
            assert_eq!(short(Duration::from_secs(s)), text);
        }
    }
}
