//! Experiments without a job: for every load, simulates synthetic traffic until the fabric is steady, and then counts
//! the traffic of a window (`docs/reference/experiment.md`, `[measure]`).

use super::simulate::{engine_of, status_of};
use super::traces::Traces;
use super::workload::replay_of;
use super::{LoadsDone, Network, Recording, Run, RunError, Simulation, Snapshot};
use crate::config::experiment::Measure;
use crate::config::{ConfigError, Experiment};
use crate::fabric::engine::{self, Engine, RunEnd};
use crate::fabric::held_up::attribute_waits;
use crate::fabric::spec::Tick;
use crate::fabric::stats::SlStats;
use crate::replay::Replay;
use crate::replay::background::BackgroundOutcome;
use crate::stop::Stop;
use crate::units::Ratio;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The course of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measured {
    /// Factor on the rates of the flows.
    pub load: Ratio,
    /// Ticks before the window.
    pub warm_up: Tick,
    /// The fabric was steady when the window began; `None` if the warm-up was fixed.
    pub steady: Option<bool>,
    /// The parts of the window, in their order: fewer than [`WINDOW_BATCHES`] if the window was
    /// cut short, none if it has fewer ticks than that.
    pub batches: Vec<WindowBatch>,
}

/// Equal parts that a window is cut into.
pub const WINDOW_BATCHES: u32 = 32;

/// Counters of a part of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WindowBatch {
    /// Its length.
    pub ticks: Tick,
    /// Per service level.
    pub service_levels: Vec<LevelBatch>,
}

/// Deliveries of one service level in a part of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelBatch {
    /// Units of link time ([`FabricSpec::link_units`](crate::fabric::spec::FabricSpec::link_units)).
    pub units: u64,
    /// Messages and the sum of their end-to-end latencies in ticks.
    pub end_to_end: (u64, u128),
    /// Packets and the sum of their network latencies in ticks.
    pub network: (u64, u128),
}

/// The counters of service levels that a batch needs.
fn counted(levels: &[SlStats]) -> Vec<LevelBatch> {
    levels
        .iter()
        .map(|sl| LevelBatch {
            units: sl.units,
            end_to_end: (sl.messages, sl.end_to_end.sum()),
            network: (sl.packets, sl.network.sum()),
        })
        .collect()
}

impl LevelBatch {
    fn since(&self, earlier: &Self) -> Self {
        let less = |(a, sum): (u64, u128), (b, earlier): (u64, u128)| (a - b, sum - earlier);
        Self {
            units: self.units - earlier.units,
            end_to_end: less(self.end_to_end, earlier.end_to_end),
            network: less(self.network, earlier.network),
        }
    }
}

/// Part of a warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Batch {
    /// Flits delivered.
    flits: u64,
    /// Packets delivered.
    packets: u64,
    /// Sum of their network latencies in ticks.
    latency: u128,
}

impl Batch {
    /// The deliveries of `engine` since `earlier`.
    fn since(earlier: &Self, engine: &Engine) -> Self {
        let (flits, packets, latency) = engine.delivered();
        Self {
            flits: flits - earlier.flits,
            packets: packets - earlier.packets,
            latency: latency - earlier.latency,
        }
    }

    /// Mean network latency in 2^-10 ticks.
    fn mean_latency(&self) -> u64 {
        let mean = (self.latency << 10) / u128::from(self.packets.max(1));
        u64::try_from(mean).unwrap_or(u64::MAX)
    }
}

/// Whether each batch has deliveries, and neither the flits delivered nor the mean network latencies of the batches are
/// further apart than `tolerance` times their mean.
fn steady(batches: &[Batch], tolerance: Ratio) -> bool {
    let close = |value: fn(&Batch) -> u64| {
        let values = || batches.iter().map(value);
        let spread = values().max().unwrap_or(0) - values().min().unwrap_or(0);
        let sum: u128 = values().map(u128::from).sum();
        // spread ≤ tolerance × sum / n
        let left = u128::from(spread)
            .checked_mul(batches.len() as u128)
            .and_then(|left| left.checked_mul(tolerance.den().into()));
        let right = sum.checked_mul(tolerance.num().into());
        match (left, right) {
            (Some(left), Some(right)) => left <= right,
            // Only fractions with huge terms exceed 128 bits.
            (left, _) => left.is_some(),
        }
    };
    batches.iter().all(|batch| batch.packets > 0)
        && close(|batch| batch.flits)
        && close(Batch::mean_latency)
}

/// One fabric under one load.
struct UnderLoad<'a> {
    engine: Engine,
    replay: Replay<'a>,
    experiment: &'a Experiment,
    stop: Stop<'a>,
    report: &'a dyn Fn(&Snapshot),
    recording: Option<Recording<'a>>,
    /// The load and its phase.
    loads: LoadsDone,
    /// Tick in which the window ends; during the warm-up the last in which it may.
    end: Tick,
}

impl UnderLoad<'_> {
    /// No flow sends: there is nothing that could settle.
    fn silent(&self) -> bool {
        let mut flows = self.experiment.background.iter();
        flows.all(|flow| flow.rate.is_zero())
    }

    /// Simulates up to the end of tick `until`.
    fn advance(&mut self, until: Tick) -> RunEnd {
        if self.stop.is_set() {
            return RunEnd::Interrupted;
        }
        self.replay.go_on_until(until);
        let (stop, report) = (self.stop, self.report);
        let tick_length = self.experiment.fabric.units.tick;
        let (records_total, loads) = (self.end, self.loads);
        let mut control = |engine: &engine::Progress, _: &Replay| {
            report(&Snapshot {
                tick: engine.tick,
                records: engine.tick,
                records_total,
                messages: engine.messages,
                flit_hops: engine.flit_hops,
                loads: Some(loads),
                ..Snapshot::of(Run::Load(0), tick_length)
            });
            stop.control()
        };
        let sampling = self.recording.as_mut().map(Recording::sampling);
        self.engine
            .run_sampled(&mut self.replay, &mut control, sampling)
    }

    /// Simulates until the fabric is steady or the warm-up is over. Returns the number of ticks
    /// and whether the fabric is steady.
    fn warm_up(&mut self, measure: &Measure) -> Result<(Tick, Option<bool>), RunEnd> {
        let go = |run: &mut Self, until| match run.advance(until) {
            RunEnd::Finished => Ok(()),
            end => Err(end),
        };
        if measure.max_warm_up == measure.warm_up {
            if measure.warm_up > 0 {
                go(self, measure.warm_up)?;
            }
            return Ok((measure.warm_up, None));
        }
        let compared = measure.batch * Tick::from(measure.batches);
        let mut tick = measure.warm_up - compared;
        if tick > 0 {
            go(self, tick)?;
        }
        let mut batches: Vec<Batch> = Vec::new();
        loop {
            let before = Batch::since(&Batch::default(), &self.engine);
            tick = (tick + measure.batch).min(measure.max_warm_up);
            go(self, tick)?;
            batches.push(Batch::since(&before, &self.engine));
            // A fabric with a deadlock never becomes steady; its sources only lengthen their queues.
            if let Some(deadlock) = self.engine.find_deadlock() {
                return Err(RunEnd::Deadlock(deadlock));
            }
            if tick < measure.warm_up {
                continue;
            }
            let last = &batches[batches.len() - measure.batches as usize..];
            if self.silent() || steady(last, measure.tolerance) {
                return Ok((tick, Some(true)));
            }
            if tick >= measure.max_warm_up {
                return Ok((tick, Some(false)));
            }
        }
    }

    /// Simulates the warm-up and the window. Also returns the traffic of the flows up to the window, if it is not the
    /// whole run.
    fn measured(
        &mut self,
        measure: &Measure,
        load: Ratio,
    ) -> (RunEnd, Measured, Option<Vec<BackgroundOutcome>>) {
        let (end, warm_up, steady) = match self.warm_up(measure) {
            Ok((warm_up, steady)) => (RunEnd::Finished, warm_up, steady),
            Err(end) => (end, self.engine.progress().tick, None),
        };
        // Without a warm-up tick 0 is the first of the window, else the last of the warm-up.
        let warmed_up = warm_up > 0 || end != RunEnd::Finished;
        let at_start = warmed_up.then(|| self.replay.background(warm_up));
        if warmed_up {
            self.engine.restart_statistics();
        }
        let mut batches = Vec::new();
        let end = match end {
            RunEnd::Finished => {
                let first = warm_up + Tick::from(warmed_up);
                self.loads.in_window = true;
                self.end = first.saturating_add(measure.window);
                self.window(first, measure.window, &mut batches)
            }
            end => end,
        };
        let measured = Measured {
            load,
            warm_up,
            steady,
            batches,
        };
        (end, measured, at_start)
    }

    /// Simulates the `window` ticks from tick `first` on; fills `batches`.
    fn window(&mut self, first: Tick, window: Tick, batches: &mut Vec<WindowBatch>) -> RunEnd {
        let parts = Tick::from(WINDOW_BATCHES);
        if window < parts {
            return self.advance(first + window - 1);
        }
        let levels = self.experiment.fabric.qos.service_levels.len();
        let (mut before, mut done) = (vec![LevelBatch::default(); levels], 0);
        for part in 1..=parts {
            // Windows have at most 2^40 ticks.
            let until = window * part / parts;
            match self.advance(first + until - 1) {
                RunEnd::Finished => {}
                end => return end,
            }
            let now = counted(self.engine.service_levels());
            let pairs = now.iter().zip(&before);
            batches.push(WindowBatch {
                ticks: until - done,
                service_levels: pairs.map(|(now, before)| now.since(before)).collect(),
            });
            (before, done) = (now, until);
        }
        RunEnd::Finished
    }
}

/// Measures the experiment, which has one load, with up to `threads` threads.
pub(super) fn measure_load(
    experiment: &Experiment,
    measure: &Measure,
    threads: usize,
    stop: Stop<'_>,
    report: &dyn Fn(&Snapshot),
    recording: Option<Recording<'_>>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let load = measure.loads.first().copied().unwrap_or(Ratio::ONE);
    let scaled = experiment
        .at_load(load)
        .ok_or_else(|| ConfigError::new("measure.loads", format!("{load} has too many digits")))?;
    let mut run = UnderLoad {
        engine: engine_of(&scaled, threads)?,
        replay: replay_of(&scaled, &Traces::none(), None, Network::Fabric, stop)?.0,
        experiment: &scaled,
        stop,
        report,
        recording,
        loads: LoadsDone::new(0, 1, load, false),
        end: measure.max_warm_up.saturating_add(measure.window),
    };
    let (end, measured, at_start) = run.measured(measure, load);
    // Sources create messages in any case, so a fabric that is stuck looks like a saturated one.
    let end = match (end, run.engine.find_deadlock()) {
        (RunEnd::Finished, Some(deadlock)) => RunEnd::Deadlock(deadlock),
        (end, _) => end,
    };
    let mut stats = run.engine.stats();
    attribute_waits(&scaled.fabric, &mut stats);
    let at_end = run.replay.background(stats.end_tick);
    let background = since(&at_end, at_start.as_deref());
    Ok(Simulation {
        status: status_of(end, &run.replay, &scaled.fabric)?,
        stats,
        messages: background.iter().map(|flow| flow.messages).sum(),
        backlog: at_end.iter().map(BackgroundOutcome::backlog).sum(),
        background,
        measured: Some(measured),
        wall: started.elapsed(),
        ..Simulation::default()
    })
}

/// The traffic of the flows from the start of the window, or of the run, to its end.
fn since(
    at_end: &[BackgroundOutcome],
    at_start: Option<&[BackgroundOutcome]>,
) -> Vec<BackgroundOutcome> {
    let Some(at_start) = at_start else {
        return at_end.to_vec();
    };
    let pairs = at_end.iter().zip(at_start);
    pairs.map(|(end, start)| end.since(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(flits: u64, latency: u128) -> Batch {
        Batch {
            flits,
            packets: 10,
            latency,
        }
    }

    #[test]
    fn batches_that_agree_are_steady() {
        let tolerance = Ratio::new(1, 20).unwrap();
        let of = |batches: &[Batch]| steady(batches, tolerance);
        // 5 % of a mean of 102: 5.1.
        assert!(of(&[batch(100, 900), batch(105, 900), batch(101, 900)]));
        assert!(!of(&[batch(100, 900), batch(106, 900), batch(101, 900)]));
        // The latency: 45 of 900.
        assert!(of(&[batch(100, 880), batch(100, 920), batch(100, 900)]));
        assert!(!of(&[batch(100, 870), batch(100, 920), batch(100, 900)]));
        let silent = Batch {
            flits: 0,
            packets: 0,
            latency: 0,
        };
        assert!(!of(&[silent, silent]));
        assert!(steady(&[batch(7, 70), batch(7, 70)], Ratio::ZERO));
        assert!(!steady(&[batch(7, 70), batch(8, 70)], Ratio::ZERO));
    }
}
