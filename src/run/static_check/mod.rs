//! Compares the static analysis with the flit level: the connections of a level send on a simulated fabric, and the
//! bandwidth of each is compared with the predictions from its congestion and its max-min fair share
//! (`docs/evidence/congestion-check.md`).

mod connections;
mod figure;
mod summary;
mod table;
mod workload;

#[cfg(test)]
mod tests;

pub use figure::check_figure;
pub use summary::{Errors, Prediction};
pub use table::write_check_table;

use crate::fabric::engine::{Deadlock, Engine, RunEnd};
use crate::fabric::spec::{FabricSpec, SpecError, Tick};
use crate::fabric::workload::Workload;
use crate::oblivious::{HostId, Level, Network, Settings, Spread};
use crate::stop::Stop;
use connections::connections_of;
use flitwise_base::side_by_side;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::{Once, Steady};

/// Version of the form in which a [`Check`] serialises.
pub const CHECK_SCHEMA: &str = "flitwise-congestion-check-1";

/// Service level of all messages.
const SL: u8 = 0;

/// How long connections send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "lengths of messages")]
pub struct Lengths {
    /// Payload of a message in bytes, above 0. A host with several destinations sends them a message in turn.
    pub message_bytes: u64,
    /// Messages that the most congested connection sends by its prediction before the window, and in it; above 0.
    pub warm_up_messages: u32,
    /// As before, in the window.
    pub window_messages: u32,
}

impl Default for Lengths {
    /// Messages of 64 KiB, 4 of them before the window and 16 in it.
    fn default() -> Self {
        Self {
            message_bytes: 64 << 10,
            warm_up_messages: 4,
            window_messages: 16,
        }
    }
}

/// Levels of a run, predicted and simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "a check")]
#[non_exhaustive]
pub struct Check {
    /// [`CHECK_SCHEMA`].
    pub schema: String,
    /// Number of runs, each with hosts and random patterns of its own.
    pub runs: u64,
    /// How long connections sent.
    pub lengths: Lengths,
    /// Part of the bytes on a link that are payload, in full packets. All bandwidths count headers, so that a
    /// connection alone gets 1.
    pub payload_efficiency: f64,
    /// The levels that have connections, run by run.
    pub levels: Vec<LevelCheck>,
    /// Predictions of all levels together.
    pub by_congestion: Prediction,
    /// As before, by max-min fair shares.
    pub by_fair_share: Prediction,
    /// How the errors of means differ from run to run.
    pub over_runs: OverRuns,
}

/// Mean simulated bandwidth of a run over the mean that was predicted, less 1: how it spreads over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverRuns {
    /// Predicted by congestion.
    pub by_congestion: Spread,
    /// Predicted by max-min fairness.
    pub by_fair_share: Spread,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "a level")]
#[non_exhaustive]
pub struct LevelCheck {
    /// Number of the run.
    pub run: u64,
    /// Its number.
    pub level: u32,
    /// Pairs that have no route.
    pub lost: u64,
    /// Its connections, in the order of the pattern.
    pub connections: Vec<ConnectionCheck>,
    /// How 1/congestion agrees with the simulation.
    pub by_congestion: Prediction,
    /// How max-min fair shares agree with the simulation.
    pub by_fair_share: Prediction,
    /// How long one message for each connection took.
    pub completion: Completion,
}

/// A connection. Bandwidths are shares of the fastest link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "a connection")]
#[non_exhaustive]
pub struct ConnectionCheck {
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Most connections on an edge of its route.
    pub congestion: u64,
    /// Predicted by congestion: 1/congestion.
    pub share: f64,
    /// Predicted by max-min fairness.
    pub fair_share: f64,
    /// Received in the window of the simulation.
    pub simulated: f64,
}

/// All connections send one message at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Completion {
    /// When the last one has arrived, in picoseconds.
    pub simulated_ps: u64,
    /// Time that the message takes on the fastest link, times the largest congestion.
    pub by_congestion_ps: u64,
    /// That time over the smallest fair share.
    pub by_fair_share_ps: u64,
    /// Simulated over predicted by congestion.
    pub ratio: f64,
}

/// Why there is no comparison.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The settings do not fit, or have nothing to compare.
    #[error("{0}")]
    Settings(String),
    /// The fabric cannot be built.
    #[error(transparent)]
    Fabric(#[from] SpecError),
    /// The simulated fabric has a deadlock.
    #[error("level {level}: there is no bandwidth to compare: {text}")]
    Deadlock {
        /// Number of the level.
        level: u32,
        /// The cycle, a line for each packet.
        text: String,
    },
    /// The caller asked to stop.
    #[error("stopped before the simulation ended")]
    Interrupted,
}

/// Predicts and simulates the levels of the first `runs` runs on up to `threads` threads. `network` must be
/// [`Network::of_fabric`] of `spec`; `stop` is checked several times a second.
///
/// # Errors
/// If the settings do not fit the network, the pattern has bytes or no connection, a length is 0, the fabric cannot be
/// built or deadlocks, or the user stops the simulation.
pub fn static_check(
    spec: &FabricSpec,
    network: &Network,
    settings: &Settings,
    lengths: Lengths,
    (runs, threads): (u64, usize),
    stop: Stop<'_>,
) -> Result<Check, CheckError> {
    let refuse = |problem: &str| Err(CheckError::Settings(problem.to_owned()));
    let fits = settings.check(&network.graph);
    fits.map_err(CheckError::Settings)?;
    if network.graph.host_count() != spec.topology.nics() {
        return refuse("the network has other hosts than the simulated fabric");
    }
    if lengths.message_bytes == 0 || lengths.window_messages == 0 {
        return refuse("messages and windows must have a length above 0");
    }
    let simulation = Simulated {
        spec,
        network,
        settings,
        pool: settings.mapping.pool(&network.graph, settings.seed),
        lengths,
        stop,
    };
    let levels = simulation.runs(runs, threads)?;
    let all = || levels.iter().flat_map(|level| &level.connections);
    let over_runs = |of: fn(&ConnectionCheck) -> f64| {
        let of_run = |run: &[LevelCheck]| {
            let sum = |of: &dyn Fn(&ConnectionCheck) -> f64| -> f64 {
                run.iter()
                    .flat_map(|level| &level.connections)
                    .map(of)
                    .sum()
            };
            sum(&|c| c.simulated) / sum(&of) - 1.0
        };
        let errors = levels.chunk_by(|a, b| a.run == b.run).map(of_run);
        Spread::of(&errors.collect::<Vec<f64>>())
    };
    let (Some(by_congestion), Some(by_fair_share)) =
        (over_runs(|c| c.share), over_runs(|c| c.fair_share))
    else {
        return refuse("no rank sends to another one: there is nothing to simulate");
    };
    Ok(Check {
        schema: CHECK_SCHEMA.to_owned(),
        runs,
        lengths,
        payload_efficiency: payload_efficiency(spec),
        by_congestion: Prediction::of(all().map(|c| [c.share, c.simulated])),
        by_fair_share: Prediction::of(all().map(|c| [c.fair_share, c.simulated])),
        over_runs: OverRuns {
            by_congestion,
            by_fair_share,
        },
        levels,
    })
}

/// Part of the bytes on a link that are payload, in full packets.
fn payload_efficiency(spec: &FabricSpec) -> f64 {
    let mtu = spec.qos.service_levels[usize::from(SL)].mtu_bytes;
    let bytes_per_unit = f64::from(spec.units.flit_bytes) / f64::from(spec.link_units_per_flit());
    f64::from(mtu) / (f64::from(spec.link_units(mtu)) * bytes_per_unit)
}

/// Units of link time that a message takes, all packets together.
fn message_units(spec: &FabricSpec, bytes: u64) -> u64 {
    let mtu = u64::from(spec.qos.service_levels[usize::from(SL)].mtu_bytes);
    let full = (bytes / mtu).saturating_mul(spec.link_units(mtu as u32).into());
    match bytes % mtu {
        0 => full,
        rest => full.saturating_add(spec.link_units(rest as u32).into()),
    }
}

/// Levels on the flit level.
struct Simulated<'a> {
    spec: &'a FabricSpec,
    network: &'a Network,
    settings: &'a Settings,
    /// The hosts that ranks are drawn from.
    pool: Vec<HostId>,
    lengths: Lengths,
    stop: Stop<'a>,
}

impl Simulated<'_> {
    /// The levels of all runs, in their order.
    fn runs(&self, runs: u64, threads: usize) -> Result<Vec<LevelCheck>, CheckError> {
        let runs = usize::try_from(runs).unwrap_or(usize::MAX);
        let levels = side_by_side(threads, runs, |run| self.run(run as u64))?;
        Ok(levels.into_iter().flatten().collect())
    }

    /// The levels of a run that have connections.
    fn run(&self, run: u64) -> Result<Vec<LevelCheck>, CheckError> {
        let (network, settings) = (self.network, self.settings);
        let mut hosts = Vec::new();
        let mapping = &settings.mapping;
        mapping.draw(&self.pool, settings.seed, run, &mut hosts);
        let mut level = Level::default();
        let mut levels = Vec::new();
        for number in settings.levels() {
            settings.fill(run, number, &mut level);
            if !level.weights.is_empty() {
                return Err(CheckError::Settings(
                    "patterns with bytes are not simulated: give pairs without bytes".to_owned(),
                ));
            }
            let found = connections_of(network, settings, &level, &hosts, self.stop);
            let (connections, lost) = found.map_err(|_| CheckError::Interrupted)?;
            if !connections.is_empty() {
                levels.push(self.level((run, number), connections, lost)?);
            }
        }
        Ok(levels)
    }

    fn level(
        &self,
        (run, number): (u64, u32),
        mut connections: Vec<connections::Connection>,
        lost: u64,
    ) -> Result<LevelCheck, CheckError> {
        let spec = self.spec;
        let message = spec.least_ticks(message_units(spec, self.lengths.message_bytes));
        let slowest = connections.iter().map(|c| c.fair_share);
        let slowest = slowest.fold(f64::INFINITY, f64::min).max(1e-9);
        let over = |ticks: Tick, share: f64| (ticks as f64 / share).ceil() as Tick;
        let messages = |count: u32| over(message.saturating_mul(count.into()), slowest);
        let begin = messages(self.lengths.warm_up_messages);
        let window = messages(self.lengths.window_messages).max(1);
        let mut steady = Steady::new(spec, &connections, self.lengths.message_bytes);
        steady.window = begin..begin + window;
        self.simulate(number, &mut steady)?;
        let received = steady.received;
        let full = window as f64 * units_per_tick(spec);
        for (connection, units) in connections.iter_mut().zip(&received) {
            connection.simulated = *units as f64 / full;
        }
        let mut once = Once::new(&connections, self.lengths.message_bytes);
        self.simulate(number, &mut once)?;
        let most = connections.iter().map(|c| c.congestion).max().unwrap_or(1);
        let ps = |ticks: Tick| spec.units.tick.ps(ticks);
        let predicted = message.saturating_mul(most);
        let completion = Completion {
            simulated_ps: ps(once.last),
            by_congestion_ps: ps(predicted),
            by_fair_share_ps: ps(over(message, slowest)),
            ratio: once.last as f64 / predicted.max(1) as f64,
        };
        let name = |host| self.network.graph.host_name(host).to_owned();
        let checks: Vec<ConnectionCheck> = (connections.iter())
            .map(|c| ConnectionCheck {
                from: name(c.from),
                to: name(c.to),
                congestion: c.congestion,
                share: c.share(),
                fair_share: c.fair_share,
                simulated: c.simulated,
            })
            .collect();
        Ok(LevelCheck {
            run,
            level: number,
            lost,
            by_congestion: Prediction::of(checks.iter().map(|c| [c.share, c.simulated])),
            by_fair_share: Prediction::of(checks.iter().map(|c| [c.fair_share, c.simulated])),
            connections: checks,
            completion,
        })
    }

    /// Runs `workload` to its end on an idle fabric.
    fn simulate<W: Workload>(&self, level: u32, workload: &mut W) -> Result<(), CheckError> {
        let mut engine = Engine::new(self.spec)?;
        let mut control = |_: &_, _: &W| self.stop.control();
        match engine.run_sampled(workload, &mut control, None) {
            RunEnd::Finished => match engine.find_deadlock() {
                Some(deadlock) => Err(self.deadlock(level, &deadlock)),
                None => Ok(()),
            },
            RunEnd::Deadlock(deadlock) => Err(self.deadlock(level, &deadlock)),
            RunEnd::Interrupted => Err(CheckError::Interrupted),
            RunEnd::Drained | RunEnd::LinksDown(_) | RunEnd::Exhausted => {
                Err(CheckError::Settings(
                    "the simulation holds too many messages at a time: take fewer ranks".to_owned(),
                ))
            }
        }
    }

    fn deadlock(&self, level: u32, deadlock: &Deadlock) -> CheckError {
        CheckError::Deadlock {
            level,
            text: deadlock.text(&self.spec.topology),
        }
    }
}

/// Units of link time that the fastest link carries in a tick.
fn units_per_tick(spec: &FabricSpec) -> f64 {
    spec.fastest_link().to_f64() * f64::from(spec.link_units_per_flit())
}
