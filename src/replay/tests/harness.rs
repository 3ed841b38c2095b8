//! An ideal fabric and programs in memory.

use crate::ComputeModel;
use crate::background::NicQueueing;
use crate::background::{BackgroundFlow, Injection, MessageSize, Rate, Sender, Target};
use crate::collectives::Choices;
use crate::mpi::Protocol;
use crate::program::{
    Action, After, Collective, CollectiveKind, Event, Op, Place, Program, RankId, StreamId,
};
use crate::{IntraNode, JobSpec, Repeat, Replay, ReplaySpec, SendCompletion};
use flitwise_base::units::{Ratio, TickLength};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::{Message, Queueing, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Default length of a tick in the tests.
pub const TICK_PS: u64 = 1000;

/// Ticks that the ideal fabric takes for a message.
pub fn latency(bytes: u64) -> Tick {
    100 + bytes / 8
}

/// Plays `workload` on a fabric without contention until nothing happens any
/// more. Returns every message with the tick in which it was created. Injection is
/// reported ⌊bytes / 8⌋ + 1 ticks after creation. `backwards` reverses the order of
/// the reports of a tick, which must not matter.
pub fn play(workload: &mut dyn Workload, backwards: bool) -> Vec<(Tick, Message)> {
    let mut log = Vec::new();
    // By tick: token, and whether it is delivered.
    let mut on_the_way: BTreeMap<Tick, Vec<(u64, bool)>> = BTreeMap::new();
    let mut now = 0;
    while !workload.finished() {
        let reports = on_the_way.keys().next().copied();
        let Some(next) = reports.into_iter().chain(workload.next_tick()).min() else {
            break;
        };
        now = next.max(now);
        let mut due = on_the_way.remove(&now).unwrap_or_default();
        if backwards {
            due.reverse();
        }
        for (token, delivered) in due {
            if delivered {
                workload.delivered(now, token);
            } else {
                workload.injected(now, token);
            }
        }
        if workload.next_tick().is_some_and(|tick| tick <= now) {
            let mut out = Vec::new();
            workload.act(now, &mut out);
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
                let delivery = on_the_way.entry(now + latency(message.bytes)).or_default();
                delivery.push((message.token, true));
                if message.report_injection {
                    let injection = on_the_way.entry(now + message.bytes / 8 + 1).or_default();
                    injection.push((message.token, false));
                }
                log.push((now, message));
            }
        }
    }
    log
}

/// A trace in memory: every rank's operations, and how many were taken.
pub struct InMemory(pub Vec<(Vec<Op>, usize)>);

impl Program for InMemory {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let (ops, next) = &mut self.0[rank.index()];
        let mut op = ops.get(*next).cloned();
        *next += 1;
        if let Some(Action::Collective(c, position)) = op.as_mut().map(|op| &mut op.action) {
            let found = c.members.iter().position(|&m| m == rank);
            *position = found.map_or(u32::MAX, |p| p as u32);
        }
        // A broken line, to test its error.
        anyhow::ensure!(
            op.as_ref().is_none_or(|op| op.place != Place::line(666)),
            "line 666: broken"
        );
        Ok(op)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.0.iter_mut().for_each(|(_, next)| *next = 0);
        Ok(())
    }
}

pub fn op(after: After, compute_ps: u64, action: Action) -> Op {
    Op {
        after,
        compute_ps,
        action,
        label: None,
        place: Place::line(1),
    }
}

pub fn received(id: u64) -> After {
    After::Event(Event::Received(id))
}

pub fn completed(id: u64) -> After {
    After::Event(Event::Completed(id))
}

pub fn send(compute_ps: u64, id: u64, to: u32, bytes: u64) -> Op {
    let to = RankId::new(to);
    op(
        After::Previous,
        compute_ps,
        Action::Send {
            id,
            to,
            bytes,
            awaited: true,
        },
    )
}

pub fn marker(after: After, compute_ps: u64) -> Op {
    op(after, compute_ps, Action::Marker)
}

pub fn collective(id: u64, members: &[u32], kind: CollectiveKind) -> Arc<Collective> {
    Arc::new(Collective {
        id,
        members: members.iter().copied().map(RankId::new).collect(),
        kind,
    })
}

pub fn enter(compute_ps: u64, collective: &Arc<Collective>) -> Op {
    // `InMemory` puts in the position.
    let action = Action::Collective(Arc::clone(collective), 0);
    op(After::Previous, compute_ps, action)
}

/// A job with rank r on NIC r.
pub fn job(ranks: Vec<Vec<Op>>) -> JobSpec<'static> {
    JobSpec {
        name: String::from("test"),
        start_ps: 0,
        repeat: Repeat::Times(1),
        sl: 0,
        nics: NicId::all(ranks.len() as u32).collect(),
        program: Box::new(InMemory(ranks.into_iter().map(|ops| (ops, 0)).collect())),
        send_completion: SendCompletion::Handed,
        protocol: Protocol::default(),
        compute_scale: Ratio::ONE,
        compute: ComputeModel::default(),
        intra_node: IntraNode {
            latency_ps: 500,
            bytes_per_s: Ratio::whole(1_000_000_000_000),
        },
        reduction_ps_per_byte: Ratio::ZERO,
        collectives: Choices::default(),
    }
}

/// Jobs alone on 64 NICs.
pub fn spec(jobs: Vec<JobSpec<'static>>) -> ReplaySpec<'static> {
    ReplaySpec {
        tick: TickLength::whole(TICK_PS),
        nics: 64,
        queueing: Queueing::PerLevel,
        nic_queueing: NicQueueing::Fifo,
        seed: 1,
        jobs,
        background: Vec::new(),
        background_until: None,
        gap_skip: None,
    }
}

pub fn replay(jobs: Vec<JobSpec<'static>>) -> Replay<'static> {
    Replay::new(spec(jobs)).unwrap()
}

/// Plays one job with its reports in both orders, and checks that both give the
/// same and that the job ends. Returns its execution time and its messages.
pub fn run(make: impl Fn() -> JobSpec<'static>) -> (u64, Vec<(Tick, Message)>) {
    let once = |backwards| {
        let mut replay = replay(vec![make()]);
        let log = play(&mut replay, backwards);
        assert!(replay.error().is_none(), "{:?}", replay.error());
        assert!(replay.finished(), "{:#?}", replay.stall_report());
        assert!(replay.stall_report().is_empty());
        let outcome = replay.outcomes().remove(0);
        assert!(outcome.complete);
        let progress = replay.progress();
        assert_eq!(progress.messages, outcome.messages);
        assert_eq!(progress.messages_delivered, outcome.messages);
        let ends = log.iter().map(|&(t, m)| (t, m.src, m.dst, m.bytes));
        (outcome, ends.collect::<Vec<_>>(), log)
    };
    let (outcome, ends, log) = once(false);
    let (same, same_ends, _) = once(true);
    assert_eq!((&outcome, ends), (&same, same_ends));
    (outcome.execution_ps, log)
}

/// NICs 0 to 7 send 16 bytes (2 flits) to any other, at 0.1 flits per tick each.
pub(super) fn background_flow(sl: u8) -> BackgroundFlow {
    BackgroundFlow {
        sl,
        sizes: vec![MessageSize {
            bytes: 16,
            units: 2,
            weight: 1,
        }],
        rate: Rate {
            units: 1,
            ticks: 10,
        },
        injection: Injection::Cbr,
        start: 0,
        stop: u64::MAX,
        senders: NicId::all(8)
            .map(|nic| Sender {
                nic,
                target: Target::Uniform,
            })
            .collect(),
    }
}
