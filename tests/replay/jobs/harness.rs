//! Jobs in memory on an ideal fabric.

use crate::background::flows::flow;
pub use crate::naive::fabric::play_messages as play;
pub use crate::naive::ops::with_id as collective;
use crate::naive::ops::{Around, message, op as bare};
use crate::naive::{InMemory, fabric};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::{Message, Workload};
use flitwise::replay::background::BackgroundFlow;
use flitwise::replay::program::{
    Action, After, Collective, Event, Op, Place, Program, RankId, StreamId,
};
use flitwise::replay::{IntraNode, JobSpec, Replay, ReplaySpec};
use flitwise::units::{Ratio, TickLength};
use std::sync::Arc;

/// Default length of a tick in the tests.
pub const TICK_PS: u64 = 1000;

/// A program that cannot be read from line 666 on.
struct Broken(InMemory);

impl Program for Broken {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>> {
        let op = self.0.next(rank, stream)?;
        let broken = op.as_ref().is_some_and(|op| op.place == Place::line(666));
        anyhow::ensure!(!broken, "line 666: broken");
        Ok(op)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.0.restart()
    }
}

pub fn op(after: After, compute_ps: u64, action: Action) -> Op {
    Op {
        after,
        ..bare(action).compute(compute_ps)
    }
}

pub fn received(id: u64) -> After {
    After::Event(Event::Received(id))
}

pub fn completed(id: u64) -> After {
    After::Event(Event::Completed(id))
}

pub fn send(compute_ps: u64, id: u64, to: u32, bytes: u64) -> Op {
    message(id, to, bytes).compute(compute_ps)
}

pub fn marker(after: After, compute_ps: u64) -> Op {
    op(after, compute_ps, Action::Marker)
}

/// The entry of a rank in a collective; [`job`] puts in its position.
pub fn enter(compute_ps: u64, collective: &Arc<Collective>) -> Op {
    let action = Action::Collective(Arc::clone(collective), 0);
    op(After::Previous, compute_ps, action)
}

/// A job with rank r on NIC r, whose ranks have one stream each.
pub fn job(mut ranks: Vec<Vec<Op>>) -> JobSpec<'static> {
    for (rank, ops) in RankId::all(ranks.len() as u32).zip(&mut ranks) {
        for op in ops {
            if let Action::Collective(collective, position) = &mut op.action {
                let found = collective.members.iter().position(|&m| m == rank);
                *position = found.map_or(u32::MAX, |at| at as u32);
            }
        }
    }
    let nics = NicId::all(ranks.len() as u32).collect();
    let streams: Vec<_> = ranks.into_iter().map(|ops| vec![ops]).collect();
    let program = Broken(InMemory::new(&streams));
    JobSpec {
        intra_node: IntraNode {
            latency_ps: 500,
            bytes_per_s: Ratio::whole(1_000_000_000_000),
        },
        ..JobSpec::new("test", Box::new(program), nics)
    }
}

/// Jobs alone on 64 NICs.
pub fn spec(jobs: Vec<JobSpec<'static>>) -> ReplaySpec<'static> {
    fabric::spec(TickLength::whole(TICK_PS), jobs)
}

pub fn replay(jobs: Vec<JobSpec<'static>>) -> Replay<'static> {
    Replay::new(spec(jobs)).unwrap()
}

/// Plays one job with its reports in both orders, and checks that both give the
/// same and that the job ends. Returns its execution time and its messages.
pub fn run(make: impl Fn() -> JobSpec<'static>) -> (u64, Vec<(u64, Message)>) {
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
pub fn background_flow(sl: u8) -> BackgroundFlow {
    flow(sl, 2, (1, 10), 8)
}
