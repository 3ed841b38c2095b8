//! Runs points, and keeps a row per run.

use crate::fabric::Fabric;
use crate::grid::{Point, Setting};
use anyhow::{Context, Result, ensure};
use flitwise::config::{Plan, load};
use flitwise::results::result_json;
use flitwise::run::{Control, Status, run_plan};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Columns before those of the service levels.
pub const HEADER: &str = "allocator,packets,scheduler,trunks,load,seed,warm_up_us,steady,accepted";
/// Columns of [`Setting::key`] and the seed.
const KEY: usize = 6;
/// In place of whether the run became steady.
const DEADLOCK: &str = "deadlock";

struct Run<'a> {
    setting: &'a Setting,
    seed: u64,
}

impl Run<'_> {
    fn key(&self) -> String {
        format!("{},{}", self.setting.key(), self.seed)
    }

    /// The run as a row of the results.
    fn row(&self, threads: usize) -> Result<String> {
        let mut sets = self.setting.settings();
        sets.push(format!("seed={}", self.seed));
        let name = format!("configs/validation-{}.toml", self.setting.fabric.file());
        let plan = load(Path::new(&name), &sets)?;
        Ok(format!("{},{}\n", self.key(), measured(&plan, threads)?))
    }
}

/// File of a fabric's results.
pub fn path(results: &Path, fabric: Fabric) -> PathBuf {
    results.join(format!("{}.csv", fabric.file()))
}

/// Makes the runs of seeds 1 to `seeds` that are not yet in `results`, `jobs` at once and seed by seed, so that nearly every
/// seed that was begun has all points. They share the cores: on an idle machine the 8x8x4 torus in blocks on two threads takes
/// 71 s, two at once on one thread each 164 s; beside other work several runs at once make better use of cores.
/// A deadlock decides about its setting, which gets no further seeds.
pub fn run(results: &Path, points: &[Point], seeds: u64, jobs: usize) -> Result<()> {
    let (mut done, mut decided) = (HashSet::new(), HashSet::new());
    for fabric in Fabric::ALL {
        let rows = old_rows(&path(results, fabric))?;
        done.extend(rows.iter().map(|row| (fabric.file(), columns(row, KEY))));
        let deadlocks = rows.iter().filter(|row| is_deadlock(row));
        decided.extend(deadlocks.map(|row| (fabric.file(), columns(row, KEY - 1))));
    }
    let runs = (1..=seeds).flat_map(|seed| {
        points
            .iter()
            .map(move |Point { setting, .. }| Run { setting, seed })
    });
    let missing = |run: &Run<'_>| {
        let file = run.setting.fabric.file();
        !decided.contains(&(file, run.setting.key())) && done.insert((file, run.key()))
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (cores / jobs.max(1)).max(1);
    let left = Mutex::new(runs.filter(missing).collect::<VecDeque<_>>());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|_| scope.spawn(|| work(&left, results, threads)))
            .collect();
        let ends = workers.into_iter().map(|worker| {
            let end = worker.join();
            end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
    })?;
    Fabric::ALL
        .iter()
        .try_for_each(|&fabric| sort(&path(results, fabric)))
}

/// Makes runs until none is left. After an error no further one begins.
fn work(left: &Mutex<VecDeque<Run<'_>>>, results: &Path, threads: usize) -> Result<()> {
    let locked = || left.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is given back before the run.
    let next = || locked().pop_front();
    while let Some(run) = next() {
        let row = run.row(threads).with_context(|| run.key());
        // Rows are appended one at a time, too: the first one of a file comes with the header.
        let mut left = locked();
        if row.as_ref().is_ok_and(|row| is_deadlock(row)) {
            left.retain(|other| other.setting != run.setting);
        }
        if let Err(e) = row.and_then(|row| append(&path(results, run.setting.fabric), &row)) {
            left.clear();
            return Err(e);
        }
    }
    Ok(())
}

/// The first `count` columns of a row.
fn columns(row: &str, count: usize) -> String {
    row.split(',').take(count).collect::<Vec<_>>().join(",")
}

/// Whether the run of a row ended in a deadlock.
fn is_deadlock(row: &str) -> bool {
    row.split(',').nth(KEY + 1) == Some(DEADLOCK)
}

/// The rows of a file, without its header.
pub fn old_rows(csv: &Path) -> Result<Vec<String>> {
    if !csv.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(csv)?;
    let mut lines = text.lines().map(str::to_owned);
    let header = lines.next().unwrap_or_default();
    let here = csv.display();
    ensure!(header.starts_with(HEADER), "{here} holds something else");
    Ok(lines.collect())
}

fn append(csv: &Path, row: &str) -> Result<()> {
    // One write per row: another program may append to the same file.
    let mut file = OpenOptions::new().append(true).create(true).open(csv)?;
    if file.metadata()?.len() == 0 {
        let levels = row.split(',').count() - HEADER.split(',').count();
        let mut header = HEADER.to_owned();
        for level in names(levels / 3) {
            let _ = write!(
                header,
                ",{level}_share,{level}_end_to_end_ns,{level}_network_ns"
            );
        }
        file.write_all(format!("{header}\n").as_bytes())?;
    }
    file.write_all(row.as_bytes())?;
    Ok(())
}

/// The service levels of a fabric with so many of them.
pub fn names(levels: usize) -> &'static [&'static str] {
    match levels {
        1 => &["all"],
        _ => &["VO", "VI", "CL", "BE", "BK"],
    }
}

/// Sorts the rows of `csv`: results must not depend on the order in which runs ended.
fn sort(csv: &Path) -> Result<()> {
    if !csv.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(csv)?;
    let (header, rows) = text.split_once('\n').unwrap_or_default();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    std::fs::write(csv, format!("{header}\n{}\n", rows.join("\n")))?;
    Ok(())
}

/// The results of a run: the columns behind the key.
fn measured(plan: &Plan, threads: usize) -> Result<String> {
    let result = run_plan(plan, &Control::default(), threads)?;
    let status = &result.main.status;
    if let Status::Stalled(_) = status {
        // Neither a load nor latencies.
        let levels = names(plan.experiment.fabric.qos.service_levels.len()).len();
        return Ok(format!("0.0,{DEADLOCK},{}", ",,,".repeat(levels)));
    }
    ensure!(*status == Status::Complete, "{status:?}");
    let curve = result_json(plan, &result).curve;
    let point = curve.first().context("the result has no load")?;
    let warm_up_us = plan.experiment.fabric.units.tick.ps(point.warm_up_ticks) as f64 / 1e6;
    let mut cells = format!(
        "{warm_up_us:.1},{},{:.5}",
        point.steady == Some(true),
        point.loads.accepted_flits_per_cycle_per_nic
    );
    for (_, level) in &point.service_levels.0 {
        let ns = |mean: Option<f64>| mean.map_or_else(String::new, |ns| format!("{ns:.1}"));
        let end_to_end = ns(level.end_to_end_ns.map(|of| of.mean));
        let network = ns(level.network_ns.map(|of| of.mean));
        let _ = write!(cells, ",{:.5},{end_to_end},{network}", level.share);
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_deadlocked_gets_no_further_seeds() -> Result<()> {
        let point = crate::grid::all()[0];
        let results = tempfile::tempdir()?;
        let csv = path(results.path(), point.setting.fabric);
        let rest = format!("0.0,{DEADLOCK},,,,");
        append(&csv, &format!("{},1,{rest}\n", point.setting.key()))?;
        let before = std::fs::read_to_string(&csv)?;
        run(results.path(), &[point], 3, 1)?;
        assert_eq!(std::fs::read_to_string(&csv)?, before);
        Ok(())
    }
}
