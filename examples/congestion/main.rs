//! How to set congestion control: runs the grid of `docs/congestion-control.md` on the test
//! bed and prints its table.
//!
//! ```text
//! cargo run --release --example congestion -- configs/ib-testbed-study.toml --threads 2
//! ```

use anyhow::{Context, Result, ensure};
use clap::Parser;
use flitwise::config::{Experiment, load};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicId, NicPair};
use flitwise::fabric::series::{Sample, Sampling};
use flitwise::fabric::spec::Tick;
use flitwise::run::workload;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threshold × CCTI_Timer × Marking_Rate on the first scenario of the test bed.
#[derive(Debug, Parser)]
struct Args {
    /// Experiment to start from.
    base: PathBuf,
    /// Runs at a time.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Values of Threshold.
    #[arg(long, value_delimiter = ',', default_value = "15,11,8,4,1")]
    threshold: Vec<u8>,
    /// Values of CCTI_Timer, in 1.024 us.
    #[arg(long, value_delimiter = ',', default_value = "8,32,128,512")]
    timer: Vec<u64>,
    /// Values of Marking_Rate.
    #[arg(long, value_delimiter = ',', default_value = "0,3,15,63")]
    marking: Vec<u16>,
    /// Time before the measurement, in ms.
    #[arg(long, default_value_t = 100)]
    settling: u64,
    /// Time of the measurement, in ms.
    #[arg(long, default_value_t = 200)]
    window: u64,
}

/// The victim: NIC 0 to NIC 3. All other flows go to one NIC and are contributors.
const VICTIM: NicPair = NicPair {
    src: NicId::new(0),
    dst: NicId::new(3),
};
/// Rate at which a NIC of the test bed sends and receives (model-infiniband.md, section 14).
const ENDPOINT_GBPS: f64 = 13.1;
const PS_PER_MS: u64 = 1_000_000_000;

/// The effect of a setting.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// Payload of the victim in Gb/s.
    victim_gbps: f64,
    /// Jain's index of the contributors.
    jain: f64,
    /// Payload of the contributors over the rate at which their destination receives.
    bottleneck: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            victim_gbps,
            jain,
            bottleneck,
        } = self;
        write!(f, "{victim_gbps:.1} / {jain:.3} / {bottleneck:.2}")
    }
}

fn simulate(experiment: &Experiment, settling_ms: u64, window_ms: u64) -> Result<Outcome> {
    let tick = experiment.fabric.units.tick;
    let ticks = |ms: u64| -> Tick { tick.ticks(ms * PS_PER_MS) };
    let (from, to) = (ticks(settling_ms), ticks(settling_ms + window_ms));
    let mut traffic = workload(experiment, Some(to))?;
    let mut engine = Engine::new(&experiment.fabric)?;
    let (mut victim, mut contributors) = (0u64, Vec::<(NicPair, u64)>::new());
    let mut take = |sample: &Sample| {
        for flow in sample.flows.iter().filter(|_| sample.tick >= from) {
            let (src, dst) = (flow.src, flow.dst);
            let key = NicPair { src, dst };
            if key == VICTIM {
                victim += flow.bytes;
            } else if let Some(known) = contributors.iter_mut().find(|(k, _)| *k == key) {
                known.1 += flow.bytes;
            } else {
                contributors.push((key, flow.bytes));
            }
        }
    };
    let sampling = Sampling {
        interval: ticks(1),
        take: &mut take,
    };
    let mut go_on = |_: &_, _: &_| ControlFlow::Continue(());
    let end = engine.run_sampled(&mut traffic, &mut go_on, Some(sampling));
    ensure!(end == RunEnd::Finished, "the run ended otherwise: {end:?}");
    let seconds = window_ms as f64 / 1e3;
    let gbps = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e9;
    let rates: Vec<f64> = contributors.iter().map(|&(_, bytes)| gbps(bytes)).collect();
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    Ok(Outcome {
        victim_gbps: gbps(victim),
        jain: sum * sum / (rates.len() as f64 * squares),
        bottleneck: sum / ENDPOINT_GBPS,
    })
}

fn run(base: &Path, sets: &[String], args: &Args) -> Result<Outcome> {
    let plan = load(base, sets).with_context(|| format!("with {sets:?}"))?;
    simulate(&plan.experiment, args.settling, args.window)
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut settings = vec![vec!["congestion_control.kind=none".to_owned()]];
    for &threshold in &args.threshold {
        for &timer in &args.timer {
            for &marking in &args.marking {
                settings.push(vec![
                    format!("congestion_control.Threshold={threshold}"),
                    format!("congestion_control.CCTI_Timer={timer}"),
                    format!("congestion_control.Marking_Rate={marking}"),
                ]);
            }
        }
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(sets) = settings.get(at) else {
                return done;
            };
            done.push((at, run(&args.base, sets, &args)));
        }
    };
    let mut outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        let done = joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    outcomes.sort_by_key(|&(at, _)| at);
    let mut outcomes = outcomes.into_iter().map(|(_, outcome)| outcome);
    if let Some(off) = outcomes.next() {
        println!("Without congestion control: {}\n", off?);
    }
    let columns: Vec<_> = args
        .marking
        .iter()
        .map(|m| format!("Marking_Rate {m}"))
        .collect();
    println!("| Threshold | CCTI_Timer | {} |", columns.join(" | "));
    println!("|---|---|{}", "---|".repeat(columns.len()));
    for threshold in &args.threshold {
        for timer in &args.timer {
            let row: Result<Vec<_>> = outcomes.by_ref().take(columns.len()).collect();
            let cells: Vec<_> = row?.iter().map(Outcome::to_string).collect();
            println!("| {threshold} | {timer} | {} |", cells.join(" | "));
        }
    }
    Ok(())
}
