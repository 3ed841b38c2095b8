//! A fabric without contention, and programs in memory.

use super::case::Case;
use super::outcome::Sent;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::{Message, Queueing, Workload};
use flitwise::replay::background::NicQueueing;
use flitwise::replay::collectives::in_network::Switches;
use flitwise::replay::program::{Op, Program, RankId, StreamId};
use flitwise::replay::{ComputeModel, JobSpec, NodeSpec, Repeat, Replay, ReplaySpec};
use flitwise::units::TickLength;
use std::collections::BTreeMap;

/// NICs of the fabric.
pub const NICS: u32 = 64;

/// Ticks in which the fabric reports the injection and the arrival of a message that was created in
/// `tick`.
pub fn reports(tick: u64, bytes: u64) -> [u64; 2] {
    [tick + bytes / 8 + 1, tick + bytes / 8 + 100]
}

/// The replay of a case, at its start.
pub fn replay(case: &Case) -> Replay<'static> {
    replay_of(case, Box::new(InMemory::new(&case.ranks)))
}

/// The replay of a program as the job of a case.
pub fn replay_of(case: &Case, program: Box<dyn Program>) -> Replay<'static> {
    let nics = case.nics.iter().copied().map(NicId::new).collect();
    let job = JobSpec {
        start_ps: case.start_ps,
        repeat: Repeat::Times(case.repeat),
        send_completion: case.send_completion,
        protocol: case.protocol,
        compute_scale: case.compute_scale,
        compute: ComputeModel {
            regions: case.region_scales.clone(),
            ..ComputeModel::default()
        },
        intra_node: case.intra_node,
        reduction_ps_per_byte: case.reduction_ps_per_byte,
        collectives: case.collectives,
        ..JobSpec::new("job", program, nics)
    };
    let spec = ReplaySpec {
        node: case.node.clone(),
        switches: case.topology.as_ref().and_then(Switches::of),
        ..spec(case.tick, vec![job])
    };
    Replay::new(spec).expect("the case makes sense")
}

/// Jobs alone on the fabric.
pub fn spec(tick: TickLength, jobs: Vec<JobSpec<'static>>) -> ReplaySpec<'static> {
    ReplaySpec {
        tick,
        nics: NICS,
        node: NodeSpec::default(),
        switches: None,
        queueing: Queueing::PerLevel,
        nic_queueing: NicQueueing::Fifo,
        seed: 1,
        jobs,
        background: Vec::new(),
        background_until: None,
        gap_skip: None,
    }
}

/// Plays a workload until nothing happens any more. `backwards` reverses the order of the reports
/// of a tick, which must not matter.
pub fn play(workload: &mut dyn Workload, backwards: bool) -> Vec<Sent> {
    let sent = |(tick, message): (u64, Message)| Sent {
        tick,
        src: message.src.get(),
        dst: message.dst.get(),
        bytes: message.bytes,
    };
    let log = play_messages(workload, backwards);
    log.into_iter().map(sent).collect()
}

/// Plays as [`play`] does; returns every message with the tick in which it was created.
pub fn play_messages(workload: &mut dyn Workload, backwards: bool) -> Vec<(u64, Message)> {
    play_on(reports, workload, backwards)
}

/// Plays on a fabric that reports as `reports` says.
pub fn play_on(
    reports: fn(u64, u64) -> [u64; 2],
    workload: &mut dyn Workload,
    backwards: bool,
) -> Vec<(u64, Message)> {
    let mut log = Vec::new();
    // By tick: token, and whether it has arrived.
    let mut on_the_way: BTreeMap<u64, Vec<(u64, bool)>> = BTreeMap::new();
    let mut now = 0;
    while !workload.finished() {
        let first = on_the_way.keys().next().copied();
        let Some(next) = first.into_iter().chain(workload.next_tick()).min() else {
            break;
        };
        now = next.max(now);
        let mut due = on_the_way.remove(&now).unwrap_or_default();
        if backwards {
            due.reverse();
        }
        for (token, arrived) in due {
            if arrived {
                workload.delivered(now, token);
            } else {
                workload.injected(now, token);
            }
        }
        if workload.next_tick().is_none_or(|tick| tick > now) {
            continue;
        }
        let mut out = Vec::new();
        workload.act(now, &mut out);
        while workload.has_more() {
            workload.act(now, &mut out);
        }
        // Every application queue is empty at once.
        let mut at = 0;
        while let Some(message) = out.get(at) {
            let queue = Queueing::PerLevel.queue_of(message);
            out.extend(workload.replenish(now, queue));
            at += 1;
        }
        for message in out {
            assert_ne!(message.src, message.dst);
            assert_eq!(message.created, now);
            let [injected, arrived] = reports(now, message.bytes);
            let token = message.token;
            on_the_way.entry(arrived).or_default().push((token, true));
            if message.report_injection {
                on_the_way.entry(injected).or_default().push((token, false));
            }
            log.push((now, message));
        }
    }
    log
}

/// Operations by rank and stream, and how many were taken.
pub struct InMemory {
    streams: Vec<Vec<(Vec<Op>, usize)>>,
}

impl InMemory {
    pub fn new(ranks: &[Vec<Vec<Op>>]) -> Self {
        let streams = ranks
            .iter()
            .map(|streams| streams.iter().map(|ops| (ops.clone(), 0)).collect());
        Self {
            streams: streams.collect(),
        }
    }
}

impl Program for InMemory {
    fn ranks(&self) -> u32 {
        self.streams.len() as u32
    }

    fn streams(&self, rank: RankId) -> u32 {
        self.streams[rank.index()].len() as u32
    }

    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>> {
        let (ops, next) = &mut self.streams[rank.index()][stream.index()];
        let op = ops.get(*next).cloned();
        *next += 1;
        Ok(op)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        for (_, next) in self.streams.iter_mut().flatten() {
            *next = 0;
        }
        Ok(())
    }
}
