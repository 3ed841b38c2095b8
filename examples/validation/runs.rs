//! The runs: one measurement each, with a CSV row per service level.

use anyhow::{Context, Result, bail, ensure};
use flitwise::config::{Plan, load};
use flitwise::results::result_json;
use flitwise::run::{Control, Status, run_plan};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const HEADER: &str = "config,settings,seed,load,sl,warm_up_us,steady,saturated,offered,accepted,\
accepted_half_width,sl_accepted,sl_share,end_to_end_ns,network_ns";
/// Columns that say which run a row belongs to.
const KEY: usize = 4;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub config: String,
    pub settings: String,
    pub load: String,
    pub sl: String,
    pub warm_up_us: f64,
    pub steady: String,
    pub accepted: f64,
    pub sl_share: f64,
    /// `None` if nothing was delivered.
    pub end_to_end_ns: Option<f64>,
    pub network_ns: Option<f64>,
}

/// Rows of a file written by [`run`].
pub fn read(csv: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(csv).with_context(|| csv.display().to_string())?;
    let wrong = || format!("{} was not written by this program", csv.display());
    ensure!(text.lines().next() == Some(HEADER), wrong());
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        ensure!(cells.len() == HEADER.split(',').count(), "`{line}`");
        let number = |i: usize| cells[i].parse::<f64>();
        Ok(Row {
            config: cells[0].to_owned(),
            settings: cells[1].to_owned(),
            load: cells[3].to_owned(),
            sl: cells[4].to_owned(),
            warm_up_us: number(5)?,
            steady: cells[6].to_owned(),
            accepted: number(9)?,
            sl_share: number(12)?,
            end_to_end_ns: number(13).ok(),
            network_ns: number(14).ok(),
        })
    });
    rows.collect::<Result<_>>().with_context(wrong)
}

/// Every combination of the values of `varied`, each after `sets`.
pub fn combinations(sets: &[String], varied: &[String]) -> Result<Vec<Vec<String>>> {
    let mut all = vec![sets.to_vec()];
    for given in varied {
        let (key, values) = given
            .split_once('=')
            .with_context(|| format!("`{given}` is not KEY=VALUE,VALUE"))?;
        let with = |sets: &Vec<String>| {
            let sets = sets.clone();
            let values = values.split(',');
            values.map(move |value| [sets.clone(), vec![format!("{key}={value}")]].concat())
        };
        all = all
            .iter()
            .flat_map(|sets| with(sets).collect::<Vec<_>>())
            .collect();
    }
    Ok(all)
}

/// One measurement.
struct Run<'a> {
    config: &'a str,
    settings: &'a [String],
    seed: u64,
    load: String,
}

impl Run<'_> {
    /// The first columns.
    fn key(&self) -> String {
        let settings = self.settings.iter().map(String::as_str);
        // Loads have a column of their own, and a comma would begin another.
        let settings = settings.filter(|set| !set.starts_with("measure.loads="));
        let settings = settings.collect::<Vec<_>>().join("; ").replace(',', " ");
        format!("{},{settings},{},{}", self.config, self.seed, self.load)
    }
}

/// Makes the measurements that are not yet in `csv`.
pub fn run(
    base: &Path,
    csv: &Path,
    settings: &[Vec<String>],
    seeds: u64,
    threads: usize,
) -> Result<()> {
    let old = match csv.exists() {
        true => std::fs::read_to_string(csv)?,
        false => format!("{HEADER}\n"),
    };
    ensure!(
        old.lines().next() == Some(HEADER),
        "{} holds something else",
        csv.display()
    );
    let key = |row: &str| row.split(',').take(KEY).collect::<Vec<_>>().join(",");
    let done: HashSet<String> = old.lines().skip(1).map(key).collect();
    if done.is_empty() {
        std::fs::write(csv, &old)?;
    }
    let file = Mutex::new(OpenOptions::new().append(true).open(csv)?);
    let config = base.file_stem().unwrap_or_default().to_string_lossy();
    let mut runs = Vec::new();
    // Seed by seed, so that every seed that was begun has all settings.
    for seed in 1..=seeds {
        for settings in settings {
            let plan = load(base, settings)?;
            let measure = plan.experiment.measure;
            let measure = measure.with_context(|| format!("{} has a job", base.display()))?;
            runs.extend(measure.loads.iter().map(|load| Run {
                config: &config,
                settings,
                seed,
                load: load.to_f64().to_string(),
            }));
        }
    }
    runs.retain(|run| !done.contains(&run.key()));
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            measure(base, run, &file).with_context(|| run.key())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a run panicked"),
            })
    })?;
    sort(csv)
}

/// Sorts the rows of `csv`: results must not depend on the order in which runs ended.
fn sort(csv: &Path) -> Result<()> {
    let text = std::fs::read_to_string(csv)?;
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    rows.sort_unstable();
    std::fs::write(csv, format!("{HEADER}\n{}\n", rows.join("\n")))?;
    Ok(())
}

fn measure(base: &Path, run: &Run<'_>, file: &Mutex<File>) -> Result<()> {
    let mut sets = run.settings.to_vec();
    sets.extend([
        format!("seed={}", run.seed),
        format!("measure.loads=[{}]", run.load),
    ]);
    let plan = load(base, &sets)?;
    let rows = rows(&plan, &run.key())?;
    let mut file = file.lock().unwrap_or_else(|e| e.into_inner());
    file.write_all(rows.as_bytes())?;
    Ok(())
}

/// Measures `plan`, which has one load.
fn rows(plan: &Plan, key: &str) -> Result<String> {
    let control = Control::default();
    let result = run_plan(plan, &control, 1)?;
    ensure!(
        result.main.status == Status::Complete,
        "{:?}",
        result.main.status
    );
    let curve = result_json(plan, &result).curve;
    let point = curve.first().context("the result has no load")?;
    let or_empty = |value: Option<f64>| value.map_or_else(String::new, json);
    let warm_up_us = plan.experiment.fabric.units.tick.ps(point.warm_up_ticks) as f64 / 1e6;
    let mut rows = String::new();
    for (name, sl) in &point.service_levels.0 {
        let cells = [
            key.to_owned(),
            name.clone(),
            warm_up_us.to_string(),
            point
                .steady
                .map_or_else(String::new, |steady| steady.to_string()),
            point.saturated.to_string(),
            json(point.loads.offered_flits_per_cycle_per_nic),
            json(point.loads.accepted_flits_per_cycle_per_nic),
            or_empty(point.loads.accepted_interval.map(|of| of.half_width)),
            json(sl.loads.accepted_flits_per_cycle_per_nic),
            json(sl.share),
            or_empty(sl.end_to_end_ns.map(|of| of.mean)),
            or_empty(sl.network_ns.map(|of| of.mean)),
        ];
        rows += &(cells.join(",") + "\n");
    }
    Ok(rows)
}

/// A number as it is in results.
fn json(value: f64) -> String {
    serde_json::Value::from(value).to_string()
}
