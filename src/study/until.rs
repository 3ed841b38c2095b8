//! Runs a study: all points with all seeds, and adds seeds until the interval is small enough.

use super::aggregate::widest_interval;
use super::execute::{Batch, Engine, Prepared, StudyProgress};
use super::grid::Grid;
use super::metrics::{Metrics, SIMULATED};
use super::row::RunRow;
use super::written::trace_digests;
use crate::config::{ConfigError, ParsedBase, Texts, UntilCi};
use crate::results::RunWarning;
use crate::run::{Control, RunError, Session};
use crate::units::{counted, human_count, number};
use flitwise_base::side_by_side;
use serde_json::Value;

/// A study that was run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Studied {
    /// The study and its points.
    pub grid: Grid,
    /// By point, then by seed, then by load.
    pub rows: Vec<RunRow>,
    /// All runs.
    pub runs: usize,
    /// Runs that were not done when the user stopped the study.
    pub missing: usize,
    /// Lost or doubtful parts of the traces: a text for each trace.
    pub(super) left_out: Vec<String>,
    /// The topology of the first point.
    pub(super) topology: Value,
    /// The metrics of its rows.
    pub(super) metrics: &'static Metrics,
}

impl Studied {
    /// Runs that did not complete.
    #[must_use]
    pub fn failed(&self) -> usize {
        let failed = self.rows.iter().filter(|row| !row.reason.is_empty());
        let mut runs: Vec<(usize, u64)> = failed.map(|row| (row.point, row.seed)).collect();
        runs.dedup();
        runs.len()
    }

    /// Warnings about runs: one text for each subject, of the first run with it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut found: Vec<(&RunWarning, &RunRow, usize)> = Vec::new();
        for row in &self.rows {
            for warning in &row.warnings {
                let mut earlier = found.iter_mut();
                match earlier.find(|(first, ..)| first.subject == warning.subject) {
                    Some((_, _, runs)) => *runs += 1,
                    None => found.push((warning, row, 1)),
                }
            }
        }
        let one = |(RunWarning { text, .. }, row, runs): (&RunWarning, &RunRow, usize)| {
            let point = match self.grid.name(row.point) {
                name if name.is_empty() => name,
                name => format!("{name}, "),
            };
            let (runs, all, seed) = (
                human_count(runs as u64),
                human_count(self.runs as u64),
                row.seed,
            );
            format!("in {runs} of {all} runs, the first with {point}seed = {seed}: {text}")
        };
        let missed = self.missed_precision();
        found.into_iter().map(one).chain(missed).collect()
    }

    /// A line about the points whose intervals stay wider than `until_ci` asks for; `None` if all are narrow enough, or the
    /// study was stopped.
    pub(super) fn missed_precision(&self) -> Option<String> {
        let until = self.grid.study.until_ci?;
        if self.missing > 0 || !self.more_seeds(until).is_empty() {
            return None;
        }
        let widths = (0..self.grid.points.len()).map(|point| (self.width_of(point), point));
        let wide = widths.filter(|(width, _)| width.is_none_or(|width| width > until.part));
        let wide: Vec<(Option<f64>, usize)> = wide.collect();
        // A point without an interval has failed runs, or a single one.
        let widest = wide.iter().max_by(|a, b| {
            let width = |of: Option<f64>| of.unwrap_or(f64::INFINITY);
            width(a.0).total_cmp(&width(b.0))
        });
        let &(width, point) = widest?;
        let name = match self.grid.name(point) {
            name if name.is_empty() => String::new(),
            name => format!(", the worst with {name}"),
        };
        let width = match width {
            Some(width) => format!("± {} %", number(100.0 * width)),
            None => "no interval".to_owned(),
        };
        Some(format!(
            "until_ci: {} of {} miss ± {} % of the mean{name}: {width}; raise --max-seeds (max_seeds of the study)",
            wide.len(),
            counted(self.grid.points.len() as u64, "point"),
            number(100.0 * until.part)
        ))
    }

    /// The widest interval of a point, as a part of its mean.
    fn width_of(&self, point: usize) -> Option<f64> {
        let rows: Vec<&RunRow> = self.rows.iter().filter(|row| row.point == point).collect();
        widest_interval(&rows, self.metrics)
    }

    /// Resolves all runs and their traces, in the order of the points and seeds.
    ///
    /// # Errors
    /// If one of them cannot be resolved, or a trace is broken: nothing was run then.
    pub fn prepare(
        grid: &Grid,
        session: &mut Session,
        control: &Control<'_>,
    ) -> Result<Vec<Prepared>, RunError> {
        let seeds = grid.seeds()?;
        if let Some(until) = &grid.study.until_ci
            && seeds.len() as u64 > until.max_seeds
        {
            let problem = format!(
                "a point has at most {}, but the study lists {}; raise it (`flitwise study --max-seeds`), or list fewer seeds",
                counted(until.max_seeds, "seed"),
                counted(seeds.len() as u64, "seed")
            );
            return Err(ConfigError::new("max_seeds", problem).into());
        }
        let pairs = (0..grid.points.len()).flat_map(|point| seeds.iter().map(move |&s| (point, s)));
        let prepared = prepare(grid, session, pairs, control)?;
        let mut kinds = prepared.iter().map(|run| Metrics::of(&run.plan));
        let first = kinds.next();
        if kinds.any(|kind| Some(kind) != first) {
            let problem = "some points of the study have it and others do not, so their rows cannot be compared; make two \
                           studies";
            return Err(ConfigError::new("congestion", problem).into());
        }
        Ok(prepared)
    }

    /// Runs the tasks that are prepared, by `engine` or on up to `threads` threads, and the seeds that `until_ci` adds.
    ///
    /// # Errors
    /// If a trace is broken that only an added seed needs, `engine` cannot do its tasks, or a record cannot be kept.
    pub fn run(
        grid: Grid,
        prepared: Vec<Prepared>,
        session: &mut Session,
        engine: &dyn Engine,
        control: &Control<'_>,
        progress: &dyn StudyProgress,
        threads: usize,
    ) -> Result<Self, RunError> {
        let metrics = prepared
            .first()
            .map_or(&SIMULATED, |run| Metrics::of(&run.plan));
        let topology = prepared.first().map(Prepared::topology);
        let traces = trace_digests(&prepared, session);
        let left_out = traces.iter().filter_map(|trace| {
            let lacks = trace.lacks()?;
            Some(format!("{}: {lacks}", trace.trace))
        });
        let mut studied = Self {
            grid,
            left_out: left_out.collect(),
            topology: topology.unwrap_or_default(),
            rows: Vec::new(),
            runs: 0,
            missing: 0,
            metrics,
        };
        let mut next = prepared;
        while !next.is_empty() {
            let elsewhere = engine.run(&next, session, progress)?;
            let done = Batch::new(session, &next, elsewhere, control, progress).all(threads)?;
            studied.runs += done.len();
            studied.missing += done.iter().filter(|rows| rows.is_none()).count();
            studied.rows.extend(done.into_iter().flatten().flatten());
            // The sort is stable: within a point it keeps the order of the seeds, within a seed the order of the loads.
            studied.rows.sort_by_key(|row| row.point);
            let Some(until) = studied.grid.study.until_ci else {
                break;
            };
            if control.stopped() {
                break;
            }
            let more = studied.more_seeds(until);
            next = prepare(&studied.grid, session, more.into_iter(), control)?;
        }
        Ok(studied)
    }

    /// The seeds to be added, each with its point.
    fn more_seeds(&self, until: UntilCi) -> Vec<(usize, u64)> {
        let mut more = Vec::new();
        for point in 0..self.grid.points.len() {
            let rows: Vec<&RunRow> = self.rows.iter().filter(|row| row.point == point).collect();
            // More seeds would fail as well.
            if rows.iter().any(|row| !row.reason.is_empty()) {
                continue;
            }
            let mut seeds: Vec<u64> = rows.iter().map(|row| row.seed).collect();
            seeds.sort_unstable();
            seeds.dedup();
            let count = seeds.len() as u64;
            let wide = widest_interval(&rows, self.metrics);
            let wide = wide.is_none_or(|part| part > until.part);
            let Some(&last) = seeds.last().filter(|_| wide && count < until.max_seeds) else {
                continue;
            };
            let added = (count / 2).max(1).min(until.max_seeds - count);
            more.extend((1..=added).filter_map(|i| Some((point, last.checked_add(i)?))));
        }
        more
    }
}

/// Runs that are resolved at a time: some for each thread, and few enough to stop soon.
const AT_ONCE: usize = 1024;

fn prepare(
    grid: &Grid,
    session: &mut Session,
    runs: impl Iterator<Item = (usize, u64)>,
    control: &Control<'_>,
) -> Result<Vec<Prepared>, RunError> {
    let mut texts = Texts::default();
    let base = &ParsedBase::of(&grid.study.base, &mut texts);
    let runs: Vec<(usize, u64)> = runs.collect();
    let mut prepared = Vec::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for runs in runs.chunks(AT_ONCE) {
        if control.stopped() {
            break;
        }
        let plan = |at: usize| grid.plan_of(base, runs[at].0, Some(runs[at].1));
        let plans = side_by_side(threads, runs.len(), plan)?;
        for plan in &plans {
            session.prepare(plan, control)?;
        }
        let tasks = |at: usize| Ok::<_, RunError>(session.tasks(&plans[at]));
        let tasks = side_by_side(threads, plans.len(), tasks)?;
        let made = runs.iter().zip(plans).zip(tasks);
        prepared.extend(made.map(|((&run, plan), tasks)| Prepared::of(run, plan, tasks)));
    }
    Ok(prepared)
}
