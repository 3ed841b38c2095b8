//! Networks to compare a run with: in an ideal network every message arrives when it is sent, in an
//! unloaded fabric it takes as long as if it were alone.

use super::simulate::{stall_of, stopped_by_error};
use super::traces::Traces;
use super::workload::{outcomes_by_job, replay_of};
use super::{Network, RunError, Simulation, Status};
use crate::config::{ConfigError, Experiment};
use crate::fabric::spec::Tick;
use crate::fabric::stats::FabricStats;
use crate::fabric::unloaded::{Times, Unloaded};
use crate::fabric::workload::{Message, Workload};
use crate::replay::Replay;
use crate::stop::Stop;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Steps between two checks whether the user stops the run.
const STEPS: u32 = 4096;

/// An event of a message in flight that the fabric reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Report {
    Injected,
    Delivered,
}

/// Sees every message that is sent.
type OnMessage<'a> = &'a mut dyn FnMut(&Message);

/// A replay and its messages in flight.
struct Run<'a> {
    replay: Replay<'a>,
    /// `None` for an ideal network.
    fabric: Option<Unloaded<'a>>,
    /// By tick; the token tells messages apart.
    reports: BinaryHeap<Reverse<(Tick, Report, u64)>>,
    now: Tick,
    stats: FabricStats,
}

/// Replays the jobs of an experiment on an ideal network or an unloaded fabric. On an ideal network a
/// tick of the replay is a picosecond, so nothing is rounded.
pub(super) fn run_reference(
    experiment: &Experiment,
    network: Network,
    traces: &Traces,
    stop: Stop<'_>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let fabric = &experiment.fabric;
    let unloaded = match network {
        Network::Ideal => None,
        _ => {
            Some(Unloaded::new(fabric).map_err(|e| ConfigError::new(e.key.to_owned(), e.problem))?)
        }
    };
    let mut run = Run {
        replay: replay_of(experiment, traces, None, network, stop)?.0,
        fabric: unloaded,
        reports: BinaryHeap::new(),
        now: 0,
        stats: FabricStats::none(fabric.qos.service_levels.len()),
    };
    let status = run.go_on(stop, &mut |_| {});
    let Run {
        mut replay,
        mut stats,
        now,
        ..
    } = run;
    let status = stopped_by_error(&mut replay)?.unwrap_or(status);
    stats.end_tick = match network {
        Network::Ideal => fabric.units.tick.ticks(now),
        _ => now,
    };
    Ok(Simulation {
        status,
        jobs: outcomes_by_job(experiment, network, &replay, None),
        messages: stats.messages,
        backlog: stats.messages - stats.messages_delivered,
        stats,
        wall: started.elapsed(),
        ..Simulation::default()
    })
}

/// Replays the jobs of an experiment on an ideal network for the sake of their messages.
pub(super) fn replay_on_ideal_network(
    experiment: &Experiment,
    traces: &Traces,
    stop: Stop<'_>,
    on_message: OnMessage<'_>,
) -> Result<Status, RunError> {
    let network = Network::Ideal;
    let mut run = Run {
        replay: replay_of(experiment, traces, None, network, stop)?.0,
        fabric: None,
        reports: BinaryHeap::new(),
        now: 0,
        stats: FabricStats::none(experiment.fabric.qos.service_levels.len()),
    };
    let status = run.go_on(stop, on_message);
    Ok(stopped_by_error(&mut run.replay)?.unwrap_or(status))
}

impl Run<'_> {
    /// Runs until the jobs have ended, nothing is left to do, or the user stops the run.
    fn go_on(&mut self, stop: Stop<'_>, on_message: OnMessage<'_>) -> Status {
        let (mut messages, mut until_look) = (Vec::new(), STEPS);
        loop {
            if self.replay.finished() {
                return Status::Complete;
            }
            let wanted = self.replay.next_tick();
            let reported = self.reports.peek().map(|report| report.0.0);
            let Some(next) = wanted.into_iter().chain(reported).min() else {
                return Status::Stalled(stall_of(&self.replay));
            };
            self.now = next.max(self.now);
            self.report();
            let mut acts = self.replay.next_tick().is_some_and(|tick| tick <= self.now);
            while acts {
                self.replay.act(self.now, &mut messages);
                for message in messages.drain(..) {
                    on_message(&message);
                    self.send(&message);
                }
                acts = self.replay.has_more();
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = STEPS;
                if stop.is_set() {
                    return Status::Interrupted;
                }
            }
        }
    }

    /// Reports to the replay the events up to now.
    fn report(&mut self) {
        while let Some(&Reverse((tick, report, token))) = self.reports.peek() {
            if tick > self.now {
                return;
            }
            self.reports.pop();
            match report {
                Report::Injected => self.replay.injected(self.now, token),
                Report::Delivered => {
                    self.stats.messages_delivered += 1;
                    self.replay.delivered(self.now, token);
                }
            }
        }
    }

    fn send(&mut self, message: &Message) {
        self.stats.messages += 1;
        let level = &mut self.stats.service_levels[usize::from(message.sl)];
        level.messages += 1;
        level.bytes = level.bytes.saturating_add(message.bytes);
        let times = match &mut self.fabric {
            None => Some(Times {
                injected: 0,
                delivered: 0,
            }),
            Some(fabric) => fabric.times(message),
        };
        // If a message never arrives, the run stalls.
        let Some(Times {
            injected,
            delivered,
        }) = times
        else {
            return;
        };
        let mut at = |ticks: Tick, report| {
            let tick = self.now.saturating_add(ticks);
            self.reports.push(Reverse((tick, report, message.token)));
        };
        if message.report_injection {
            at(injected, Report::Injected);
        }
        at(delivered, Report::Delivered);
    }
}
