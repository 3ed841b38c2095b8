//! Simulates one experiment with its jobs.

use super::error::is_stopped;
use super::explain::explain;
use super::reference::run_reference;
use super::saturation::{Limit, Watch};
use super::traces::Traces;
use super::workload::{least_ps, outcomes_by_job, replay_of};
use super::{
    Network, Progress, Reached, Recording, Run, RunError, SaturatedRun, Simulation, Snapshot,
    Status, Timeline,
};
use crate::config::{ConfigError, Experiment};
use crate::fabric::engine::{self, DownLink, Engine, RunEnd};
use crate::fabric::held_up::attribute_waits;
use crate::fabric::series::LinkSampling;
use crate::fabric::spec::{FabricSpec, Outage, Tick};
use crate::fabric::stats::LinkStats;
use crate::replay::Replay;
use crate::stop::Stop;
use anyhow::anyhow;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The receivers of a run's reports, and the conditions that end it early.
#[derive(Clone, Copy)]
pub(super) struct Watched<'a> {
    pub progress: &'a dyn Progress,
    pub report_every: Duration,
    pub stop: Stop<'a>,
    pub stop_when_saturated: bool,
    pub timeline: Option<&'a dyn Timeline>,
    /// The run explains why its jobs take as long as they do.
    pub explain: bool,
}

/// Interrupts a simulation now and then: reports its progress, checks its backlogs, and decides whether it continues.
struct Lookout<'a> {
    experiment: &'a Experiment,
    traces: &'a Traces,
    run: Run,
    watched: Watched<'a>,
    reported: Instant,
    /// Operations that the run waits for.
    records: u64,
    least_ps: Option<u64>,
    watch: Watch,
    /// Since a saturation was found; from the beginning if background traffic may continue while jobs wait for a link that
    /// stays down.
    limit: Option<Limit>,
    ended_saturated: bool,
}

impl<'a> Lookout<'a> {
    fn new(
        experiment: &'a Experiment,
        traces: &'a Traces,
        run: Run,
        watched: Watched<'a>,
        records: u64,
    ) -> Self {
        let mut lookout = Self {
            experiment,
            traces,
            run,
            watched,
            reported: Instant::now(),
            records,
            least_ps: least_ps(experiment, traces),
            watch: Watch::new(experiment),
            limit: None,
            ended_saturated: false,
        };
        // Without background traffic, jobs that wait for a link that stays down are found when nothing moves any more.
        let stays_down = |outage: &Outage| outage.until.is_none();
        if !experiment.background.is_empty() && experiment.fabric.outages.iter().any(stays_down) {
            lookout.limit = lookout.limit(0, 0);
        }
        lookout
    }

    fn look(&mut self, engine: &engine::Progress, replay: &Replay) -> ControlFlow<()> {
        if self.reported.elapsed() >= self.watched.report_every {
            self.reported = Instant::now();
            self.report(engine, replay);
        }
        // The engine calls this at the end of the tick that is due, so the backlogs found follow from the simulation.
        let tick = engine.tick;
        if tick >= self.watch.due()
            && let Some(saturation) =
                self.watch
                    .look(tick, replay.tick_of(0), replay.furthest_behind(tick))
        {
            let run = self.run;
            let fabric = &self.experiment.fabric;
            self.ended_saturated = self.watched.stop_when_saturated;
            if !self.ended_saturated {
                self.limit = self.limit(replay.tick_of(tick), replay.progress().operations);
            }
            let longest = self.limit.as_ref().map(Limit::longest);
            self.watched.progress.saturated(&SaturatedRun {
                run,
                saturation,
                nic: fabric.topology.nic_text(saturation.nic),
                limit_ps: longest.map(|ticks| fabric.units.tick.ps(ticks)),
            });
        } else if let Some(limit) = &mut self.limit {
            let (now, done) = (replay.tick_of(tick), replay.progress().operations);
            self.ended_saturated |= limit.is_exceeded(now, done, self.records);
        }
        if self.ended_saturated {
            return ControlFlow::Break(());
        }
        self.watched.stop.control()
    }

    /// The tick at whose end the run must be looked at.
    fn due(&self, replay: &Replay) -> Tick {
        // The limit counts ticks that the fabric has skipped.
        let limit = self.limit.as_ref();
        let limit = limit.map(|limit| limit.due().saturating_sub(replay.tick_of(0)));
        self.watch.due().min(limit.unwrap_or(Tick::MAX))
    }

    /// The limit of a run in which a saturation was found at tick `now`; `None` if the jobs do not complete on the
    /// unloaded fabric.
    fn limit(&self, now: Tick, done: u64) -> Option<Limit> {
        let experiment = self.experiment;
        let unloaded = run_reference(
            experiment,
            Network::Unloaded,
            self.traces,
            self.watched.stop,
        );
        let unloaded = unloaded.ok().filter(|run| run.status == Status::Complete)?;
        let ticks = unloaded.stats.end_tick.max(1);
        Some(Limit::new(ticks, experiment.saturated_limit, now, done))
    }

    /// The status of a run that ended with `end`.
    fn status(
        &self,
        end: RunEnd,
        engine: &Engine,
        replay: &mut Replay<'_>,
    ) -> Result<Status, RunError> {
        if let Some(status) = stopped_by_error(replay)? {
            return Ok(status);
        }
        Ok(match status_of(end, replay, &self.experiment.fabric)? {
            Status::Interrupted if self.ended_saturated => self.ended_by(engine, replay),
            status => status,
        })
    }

    /// The status of a run whose jobs would take too long.
    fn ended_by(&self, engine: &Engine, replay: &Replay) -> Status {
        if self.watch.found().is_some() {
            return Status::Saturated;
        }
        let links = engine.links_down();
        if links.is_empty() {
            let limit = self.experiment.saturated_limit;
            return Status::Stalled(format!(
                "with links that stay down, the jobs would take more than {limit} times as long as without (saturated_limit)"
            ));
        }
        Status::Stalled(down_text(&links, replay, &self.experiment.fabric))
    }

    fn report(&self, engine: &engine::Progress, replay: &Replay) {
        let replayed = replay.progress();
        self.watched.progress.update(&Snapshot {
            tick: replay.tick_of(engine.tick),
            records: replayed.operations,
            records_total: self.records,
            messages: replayed.messages_delivered,
            flit_hops: engine.flit_hops,
            least_ps: self.least_ps,
            ..Snapshot::of(self.run, self.experiment.fabric.units.tick)
        });
    }
}

/// Simulates one experiment, with up to `threads` threads.
pub(super) fn run_experiment(
    experiment: &Experiment,
    run: Run,
    traces: &Traces,
    watched: Watched<'_>,
    threads: usize,
    recording: Option<Recording<'_>>,
) -> Result<Simulation, RunError> {
    let stop = watched.stop;
    let started = Instant::now();
    let (mut replay, records) = replay_of(experiment, traces, None, Network::Fabric, stop)?;
    if let Some(timeline) = watched.timeline {
        replay.watched_by(timeline);
    }
    if watched.explain {
        replay.keep_causes();
    }
    let mut engine = engine_of(experiment, threads)?;
    let mut lookout = Lookout::new(experiment, traces, run, watched, records);
    let end = simulate(&mut engine, &mut replay, &mut lookout, recording);
    let status = lookout.status(end, &engine, &mut replay)?;
    let mut stats = engine.stats();
    if let Some(timeline) = watched.timeline {
        timeline.links(stats.end_tick, &stats.links);
    }
    attribute_waits(&experiment.fabric, &mut stats);
    let messages = stats.messages + replay.waiting(stats.end_tick);
    let early = matches!(status, Status::Interrupted | Status::Saturated);
    // Nothing moves in a stalled run after its last event. A complete one cuts off jobs that repeat until the others end.
    let cuts_off = early || status == Status::Complete;
    let end_ps = experiment
        .fabric
        .units
        .tick
        .ps(replay.tick_of(stats.end_tick));
    let end_ps = cuts_off.then_some(end_ps);
    let jobs = outcomes_by_job(experiment, Network::Fabric, &replay, end_ps);
    let wall = started.elapsed();
    let explanation = if watched.explain && status == Status::Complete {
        explain(experiment, &replay, &jobs, traces, stop)?
    } else {
        None
    };
    Ok(Simulation {
        status,
        jobs,
        background: replay.background(stats.end_tick),
        messages,
        backlog: messages - stats.messages_delivered,
        measured: None,
        congestion: None,
        saturation: lookout.watch.found(),
        skipped: replay.gaps_skipped(),
        reached: early.then(|| Reached {
            operations: replay.progress().operations,
            operations_total: records,
        }),
        stats,
        explanation,
        wall,
    })
}

/// Moves the engine until the replay has ended or `lookout` ends it.
fn simulate(
    engine: &mut Engine,
    replay: &mut Replay<'_>,
    lookout: &mut Lookout<'_>,
    mut recording: Option<Recording<'_>>,
) -> RunEnd {
    let timeline = lookout.watched.timeline;
    let mut seen = |tick, links: &[LinkStats]| {
        if let Some(timeline) = timeline {
            timeline.links(tick, links);
        }
    };
    let interval = timeline.and_then(Timeline::interval);
    let links = interval.map(|interval| LinkSampling {
        interval,
        take: &mut seen,
    });
    let due = Cell::new(lookout.due(replay));
    let mut control = |engine: &engine::Progress, replay: &Replay<'_>| {
        let flow = lookout.look(engine, replay);
        due.set(lookout.due(replay).max(engine.tick + 1));
        flow
    };
    let sampling = recording.as_mut().map(Recording::sampling);
    engine.run_observed(replay, &mut control, sampling, links, Some(&due))
}

pub(super) fn engine_of(experiment: &Experiment, threads: usize) -> Result<Engine, ConfigError> {
    Engine::with_threads(&experiment.fabric, threads)
        .map_err(|e| ConfigError::new(e.key.to_owned(), e.problem))
}

/// The error of a replay that ended with one, unless the error says that the user stopped it.
pub(super) fn stopped_by_error(replay: &mut Replay) -> Result<Option<Status>, RunError> {
    match replay.take_error() {
        None => Ok(None),
        Some(error) if is_stopped(&error) => Ok(Some(Status::Interrupted)),
        Some(error) => Err(RunError::Trace(error)),
    }
}

pub(super) fn status_of(
    end: RunEnd,
    replay: &Replay,
    fabric: &FabricSpec,
) -> Result<Status, RunError> {
    Ok(match end {
        RunEnd::Finished => Status::Complete,
        RunEnd::Interrupted => Status::Interrupted,
        RunEnd::Deadlock(stall) => Status::Stalled(stall.text(&fabric.topology)),
        RunEnd::LinksDown(links) => Status::Stalled(down_text(&links, replay, fabric)),
        RunEnd::Drained => Status::Stalled(stall_of(replay)),
        RunEnd::Exhausted => {
            return Err(RunError::Failed(anyhow!(
                "more than 2^28 messages or packets wait to be delivered: the jobs send faster \
                 than the fabric delivers"
            )));
        }
    })
}

/// The links that stay down, and what waits because of them.
fn down_text(links: &[DownLink], replay: &Replay, fabric: &FabricSpec) -> String {
    let tick = fabric.units.tick;
    let links = links.iter().map(|link| link.text(&fabric.topology, tick));
    links
        .chain(replay.stall_report())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Never empty.
pub(super) fn stall_of(replay: &Replay) -> String {
    let report = replay.stall_report();
    if report.is_empty() {
        return "no event is left, but the run has not ended".into();
    }
    report.join("\n")
}
