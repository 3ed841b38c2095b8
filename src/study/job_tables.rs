//! Tables for people about each job of runs with several jobs.

use super::aggregate::{Group, Mean};
use super::grid::Grid;
use super::row::{JobNumbers, JobRow, RunRow};
use super::tables::{Sheet, axis_names, labels, varying, with_interval};
use crate::units::human_time;
use flitwise_base::quote::quoted;

/// The numbers of a job in its table: the column, its title, the factor between them, and how many decimals.
const SHOWN: [(&str, &str, f64, usize); 3] = [
    ("execution_time_ps", "time (us)", 1e-6, 3),
    ("slowdown_ratio", "slowdown", 1.0, 4),
    ("latency_p99_ratio", "99 % latency ratio", 1.0, 2),
];

/// The names of the jobs, in the order in which the runs have them.
pub(super) fn names(rows: &[RunRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for job in rows.iter().flat_map(|row| &row.jobs) {
        if !names.contains(&job.job.as_str()) {
            names.push(&job.job);
        }
    }
    names
}

/// A table for each job: its means over the seeds by point. None if each run has one job.
pub(super) fn sheets(grid: &Grid, rows: &[RunRow], groups: &[Group<'_>]) -> Vec<Sheet> {
    if rows.iter().all(|row| row.jobs.len() < 2) {
        return Vec::new();
    }
    let names = names(rows).into_iter();
    names.map(|name| sheet(grid, groups, name)).collect()
}

fn sheet(grid: &Grid, groups: &[Group<'_>], name: &str) -> Sheet {
    let axes = varying(grid);
    let mut header = axis_names(grid, &axes);
    let words = header.len();
    header.push("runs".to_owned());
    header.extend(SHOWN.map(|(_, title, ..)| title.to_owned()));
    let mut rows = vec![header];
    for group in groups {
        let jobs = group.complete().flat_map(|row| &row.jobs);
        let jobs: Vec<&JobRow> = jobs.filter(|job| job.job == name).collect();
        if jobs.is_empty() && group.complete().next().is_some() {
            continue;
        }
        let mut row = labels(grid, group.point, &axes);
        let ended = |job: &&&JobRow| job.value("execution_time_ps").is_some();
        row.push(
            match (jobs.iter().filter(ended).count(), group.rows.len()) {
                (ended, all) if ended == all => all.to_string(),
                (ended, all) => format!("{ended} of {all}"),
            },
        );
        for (column, _, factor, decimals) in SHOWN {
            let values = jobs.iter().filter_map(|job| job.value(column));
            let values: Vec<f64> = values.map(|value| value * factor).collect();
            row.push(with_interval(
                Mean::of(&values, group.seeds.len()),
                decimals,
            ));
        }
        rows.push(row);
    }
    Sheet {
        title: format!("Job {name}: means over the seeds ± 95 % confidence"),
        rows,
        words: words.max(1),
    }
}

/// A line for each job that did not finish once in some runs, as a job that repeats until the others end may.
pub(super) fn unfinished(rows: &[RunRow]) -> Vec<String> {
    let line = |name: &str| {
        let jobs = rows.iter().flat_map(|row| &row.jobs);
        let jobs: Vec<&JobRow> = jobs.filter(|job| job.job == name).collect();
        let cut = jobs
            .iter()
            .filter(|job| job.value("execution_time_ps").is_none());
        let longest = cut.clone().filter_map(|job| job.value("baseline_time_ps"));
        let alone = longest.max_by(f64::total_cmp);
        (cut.clone().count() > 0).then(|| {
            format!(
                "job {} did not finish once before the others ended in {} of {} runs{}",
                quoted(name),
                cut.count(),
                jobs.len(),
                alone.map_or_else(String::new, |ps| format!(
                    "; alone it takes {}",
                    human_time(ps as u64)
                ))
            )
        })
    };
    names(rows).into_iter().filter_map(line).collect()
}

impl JobRow {
    /// The number in the column of this name.
    #[must_use]
    pub fn value(&self, column: &str) -> Option<f64> {
        let mut columns = JobNumbers::COLUMNS.iter();
        let at = columns.position(|(name, _)| *name == column)?;
        self.values.get(at)?.real()
    }
}
