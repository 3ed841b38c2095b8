//! The ideal network: every message arrives when it is sent.

use super::simulate::{Stopped, stall_of, stopped_by_error};
use super::traces::Traces;
use super::workload::{outcomes_by_job, replay_of};
use super::{Network, RunError, Simulation, Status};
use crate::config::Experiment;
use crate::fabric::stats::FabricStats;
use crate::fabric::workload::Workload;
use std::time::Instant;

/// Steps between two looks at whether the user stops the run.
const STEPS: u32 = 4096;

/// Replays the jobs of an experiment without a fabric. A tick of this replay is a picosecond, so
/// nothing is rounded.
pub(super) fn run_ideal(
    experiment: &Experiment,
    traces: &Traces,
    stopped: Stopped<'_>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let (mut replay, _) = replay_of(experiment, traces, None, Network::Ideal, stopped)?;
    let levels = experiment.fabric.qos.service_levels.len();
    let mut stats = FabricStats::none(levels);
    let (mut messages, mut until_look, mut now) = (Vec::new(), STEPS, 0);
    let status = loop {
        if replay.finished() {
            break Status::Complete;
        }
        let Some(next) = replay.next_tick() else {
            break Status::Stalled(stall_of(&replay));
        };
        now = next.max(now);
        replay.act(now, &mut messages);
        for message in messages.drain(..) {
            stats.messages += 1;
            stats.messages_delivered += 1;
            let level = &mut stats.service_levels[usize::from(message.sl)];
            level.messages += 1;
            level.bytes = level.bytes.saturating_add(message.bytes);
            if message.report_injection {
                replay.injected(now, message.token);
            }
            replay.delivered(now, message.token);
        }
        until_look -= 1;
        if until_look == 0 {
            until_look = STEPS;
            if stopped() {
                break Status::Interrupted;
            }
        }
    };
    let status = stopped_by_error(&mut replay)?.unwrap_or(status);
    stats.end_tick = experiment.fabric.units.tick.ticks(now);
    Ok(Simulation {
        status,
        jobs: outcomes_by_job(experiment, Network::Ideal, &replay),
        background: Vec::new(),
        messages: stats.messages,
        backlog: 0,
        measured: None,
        reached: None,
        stats,
        wall: started.elapsed(),
    })
}
