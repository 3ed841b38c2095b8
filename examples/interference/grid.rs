//! The runs: every cell of the grid, one CSV row each.

use crate::application::{APPLICATIONS, Application};
use anyhow::{Context, Result, bail, ensure};
use flitwise::config::{Plan, experiment_hash, load};
use flitwise::fabric::stats::FabricStats;
use flitwise::results::{execution_time_ps, latency};
use flitwise::run::{Control, Simulation, Status, run_plan};
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Service level of the job, service level of the background, and message size of the
/// background in Hiperion's Table 8.
const LEVELS: [(&str, &str, &str); 2] = [("CL", "BK", "1024B"), ("BK", "CL", "512B")];
pub const SCHEDULERS: [&str; 2] = ["dtable", "rr"];
/// Background in flits per cycle and NIC.
pub const RATES: [&str; 4] = ["0.01", "0.05", "0.1", "0.2"];

const HEADER: &str = "application,tasks_per_node,compute_scale,seed,job_sl,background_sl,rate,scheduler,\
execution_ps,baseline_ps,job_latency_mean_ns,job_latency_p99_ns,\
background_latency_mean_ns,background_latency_p99_ns";
/// Columns that say which run a row belongs to.
const KEY: usize = 8;

/// The workload: all properties that the rows for one line of a table share, except service
/// levels and scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub application: String,
    pub tasks_per_node: String,
    pub compute_scale: String,
}

/// One run, compared with its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub subject: Subject,
    pub seed: String,
    pub job_sl: String,
    pub rate: String,
    pub scheduler: String,
    pub slowdown: f64,
    /// Time of the job alone, in milliseconds.
    pub alone_ms: f64,
}

/// Rows of a file written by [`run`].
pub fn read(csv: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(csv).with_context(|| csv.display().to_string())?;
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let time = |i: usize| -> Result<f64> {
            let cell = cells.get(i).context("a row is too short")?;
            cell.parse().with_context(|| format!("`{cell}`"))
        };
        Ok(Row {
            slowdown: time(KEY)? / time(KEY + 1)?,
            alone_ms: time(KEY + 1)? / 1e9,
            subject: Subject {
                application: cells[0].to_owned(),
                tasks_per_node: cells[1].to_owned(),
                compute_scale: cells[2].to_owned(),
            },
            seed: cells[3].to_owned(),
            job_sl: cells[4].to_owned(),
            rate: cells[6].to_owned(),
            scheduler: cells[7].to_owned(),
        })
    });
    rows.collect::<Result<_>>()
        .with_context(|| format!("{} was not written by this program", csv.display()))
}

/// Runs that share their baseline: one application and seed on one service level.
struct Group<'a> {
    application: &'a Application,
    /// File with its trace.
    trace: &'a Path,
    seed: u64,
    levels: usize,
}

/// Settings of the runs besides the grid's own variables.
pub struct Grid {
    /// Experiment to start from.
    pub base: PathBuf,
    /// Experiments run at a time.
    pub threads: usize,
    /// Applications to run.
    pub applications: Vec<&'static Application>,
    /// Ranks of the application per NIC.
    pub tasks_per_node: u32,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Size of background messages, if not the service level's.
    pub message: Option<String>,
    /// Factor on the computation of each application.
    pub scales: HashMap<&'static str, String>,
}

/// Runs the cells that are not yet in `csv`.
pub fn run(grid: &Grid, csv: &Path) -> Result<()> {
    let old = if csv.exists() {
        std::fs::read_to_string(csv)?
    } else {
        format!("{HEADER}\n")
    };
    ensure!(
        old.lines().next() == Some(HEADER),
        "{} holds something else",
        csv.display()
    );
    let done: HashSet<String> = old.lines().skip(1).map(key_of).collect();
    if done.is_empty() {
        std::fs::write(csv, &old)?;
    }
    let file = Mutex::new(OpenOptions::new().append(true).open(csv)?);
    let generated = tempfile::tempdir()?;
    let traces: Vec<PathBuf> = grid
        .applications
        .iter()
        .map(|a| a.trace(generated.path()))
        .collect::<Result<_>>()?;
    let mut groups = Vec::new();
    for seed in 1..=grid.seeds {
        for (application, trace) in grid.applications.iter().zip(&traces) {
            for levels in 0..LEVELS.len() {
                groups.push(Group {
                    application,
                    trace,
                    seed,
                    levels,
                });
            }
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            run_group(group, grid, &done, &file)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..grid.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a run panicked"),
            })
    })?;
    // Results must not depend on the order in which runs ended.
    let text = std::fs::read_to_string(csv)?;
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    rows.sort_unstable();
    std::fs::write(csv, format!("{HEADER}\n{}\n", rows.join("\n")))?;
    Ok(())
}

/// Reads factors: one for all applications or `APPLICATION=FACTOR`, by default 0.
pub fn scales(given: &[String]) -> Result<HashMap<&'static str, String>> {
    let names = APPLICATIONS.iter().map(|a| a.name);
    let mut scales: HashMap<_, _> = names.map(|name| (name, "0".to_owned())).collect();
    for text in given {
        match text.split_once('=') {
            None => scales.values_mut().for_each(|scale| scale.clone_from(text)),
            Some((name, factor)) => match scales.get_mut(name) {
                Some(scale) => factor.clone_into(scale),
                None => bail!("no application `{name}`"),
            },
        }
    }
    Ok(scales)
}

fn key_of(row: &str) -> String {
    row.split(',').take(KEY).collect::<Vec<_>>().join(",")
}

fn run_group(group: &Group, grid: &Grid, done: &HashSet<String>, file: &Mutex<File>) -> Result<()> {
    let (name, trace) = (group.application.name, group.trace.display().to_string());
    let (job_sl, background_sl, message) = LEVELS[group.levels];
    let (seed, scale, tasks) = (group.seed, &grid.scales[name], grid.tasks_per_node);
    let message = grid.message.as_deref().unwrap_or(message);
    let mut baseline: Option<(String, u64)> = None;
    for scheduler in SCHEDULERS {
        for rate in RATES {
            let key = format!(
                "{name},{tasks},{scale},{seed},{job_sl},{background_sl},{rate},{scheduler}"
            );
            if done.contains(&key) {
                continue;
            }
            let sets = [
                format!("seed={seed}"),
                format!("qos.scheduler=\"{scheduler}\""),
                format!("job.0.trace={trace:?}"),
                format!("job.0.tasks_per_node={tasks}"),
                format!("job.0.sl=\"{job_sl}\""),
                format!("job.0.compute_scale={scale}"),
                format!("background.0.sl=\"{background_sl}\""),
                format!("background.0.message=\"{message}\""),
                format!("background.0.rate={rate}"),
            ];
            let plan = load(&grid.base, &sets)?;
            let [alone] = &plan.baselines[..] else {
                bail!("{} must have one baseline", grid.base.display());
            };
            // Equal configurations have equal results: computed once.
            let hash = experiment_hash(&alone.experiment);
            let baseline_ps = match &baseline {
                Some((known, time)) if *known == hash => *time,
                _ => {
                    let plan = Plan::of(alone.experiment.clone());
                    let time = execution_time_ps(&plan.experiment, &simulate(&plan)?);
                    baseline = Some((hash, time));
                    time
                }
            };
            let plan = Plan::of(plan.experiment.clone());
            let run = simulate(&plan).with_context(|| key.clone())?;
            let time = execution_time_ps(&plan.experiment, &run);
            let job = latencies(&run.stats, plan.experiment.jobs[0].sl, &plan);
            let background = latencies(&run.stats, plan.experiment.background[0].sl, &plan);
            let row = format!("{key},{time},{baseline_ps},{job},{background}\n");
            let mut file = file.lock().unwrap_or_else(|e| e.into_inner());
            file.write_all(row.as_bytes())?;
        }
    }
    Ok(())
}

fn simulate(plan: &Plan) -> Result<Simulation> {
    let control = Control::default();
    let run = run_plan(plan, &control, 1)?.main;
    ensure!(run.status == Status::Complete, "{:?}", run.status);
    Ok(run)
}

/// Mean and 99th percentile of the end-to-end latency of a service level.
fn latencies(stats: &FabricStats, sl: u8, plan: &Plan) -> String {
    let tick = plan.experiment.fabric.units.tick;
    match latency(&stats.service_levels[usize::from(sl)].end_to_end, tick) {
        Some(l) => format!("{:.1},{:.1}", l.mean, l.p99),
        None => ",".to_owned(),
    }
}
