//! How long a study without records takes, measured on the beginnings of some of its runs.

use crate::cli::progress::{Took, short, took};
use flitwise::config::Plan;
use flitwise::run::{Run, RunError, Session};
use flitwise::study::{Prepared, open_runs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wall-clock time that each run gets.
const WINDOW: Duration = Duration::from_millis(500);
/// Most runs of experiments, and of baselines, that are measured.
const MOST: usize = 6;

/// The time of runs, measured on some of them.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    runs: usize,
    measured: usize,
    mean: Duration,
    is_bound: bool,
}

/// The time of all runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    experiments: Sample,
    baselines: Sample,
    /// Whether there are replays that are not counted.
    split: bool,
}

/// Simulates some of the runs without a record, for a moment each. `None` if none of them has a speed; `asked`: the user
/// asks to stop.
pub(super) fn measured(
    prepared: &[Prepared],
    session: &Session,
    asked: &AtomicBool,
) -> Result<Option<Measured>, RunError> {
    let open = open_runs(prepared, session);
    let (baselines, experiments): (Vec<_>, Vec<_>) = open
        .into_iter()
        .partition(|(_, run)| matches!(run, Run::Baseline(_)));
    let mut own = Session::new(1);
    let mut sample = |runs: &[(usize, Run)]| sample(prepared, runs, &mut own, asked);
    let (experiments, baselines) = (sample(&experiments)?, sample(&baselines)?);
    let known = |sample: &Sample| sample.runs == 0 || sample.measured > 0;
    let all = [experiments, baselines].iter().all(known);
    Ok(all.then_some(Measured {
        experiments,
        baselines,
        split: prepared
            .iter()
            .any(|run| run.plan.split && run.plan.experiment.measure.is_none()),
    }))
}

fn sample(
    prepared: &[Prepared],
    runs: &[(usize, Run)],
    session: &mut Session,
    asked: &AtomicBool,
) -> Result<Sample, RunError> {
    let mut sample = Sample {
        runs: runs.len(),
        ..Sample::default()
    };
    let mut sum = Duration::ZERO;
    let count = runs.len().min(MOST);
    for at in 0..count {
        if asked.load(Ordering::Relaxed) {
            break;
        }
        // Evenly over all of them: their loads and sizes often grow along an axis.
        let (run, part) = runs[(2 * at + 1) * runs.len() / (2 * count)];
        let plan = &prepared[run].plan;
        let experiment = match part {
            Run::Baseline(number) => plan.baselines.get(number).map(|other| &other.experiment),
            _ => Some(&plan.experiment),
        };
        let Some(experiment) = experiment else {
            continue;
        };
        let time = match took(&Plan::of(experiment.clone()), session, WINDOW, asked)? {
            Took::Whole(time) => time,
            Took::About { time, is_bound } => {
                sample.is_bound |= is_bound;
                time
            }
            Took::Unknown => continue,
        };
        sum = sum.saturating_add(time);
        sample.measured += 1;
    }
    if let Ok(count @ 1..) = u32::try_from(sample.measured) {
        sample.mean = sum / count;
    }
    Ok(sample)
}

impl Measured {
    /// A line about the whole time on `threads` threads.
    pub(super) fn text(self, threads: usize) -> String {
        let Self {
            experiments,
            baselines,
            split,
        } = self;
        let total = |sample: Sample| {
            let runs = u32::try_from(sample.runs).unwrap_or(u32::MAX);
            sample.mean.saturating_mul(runs)
        };
        let whole = total(experiments).saturating_add(total(baselines));
        let threads_used = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
        let bound = if experiments.is_bound || baselines.is_bound {
            "at least"
        } else {
            "about"
        };
        let of_baselines = match baselines.runs {
            0 => String::new(),
            runs => format!(" and {} of {runs} baselines", baselines.measured),
        };
        let not_counted = if split {
            "; the replays on the unloaded fabric and the ideal network are not counted"
        } else {
            ""
        };
        format!(
            "{bound} {} on {threads} threads, measured on {} s each of {} of {} experiments{of_baselines}{not_counted}\n",
            short(whole / threads_used),
            WINDOW.as_secs_f64(),
            experiments.measured,
            experiments.runs
        )
    }
}
