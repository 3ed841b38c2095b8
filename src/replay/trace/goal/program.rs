//! The operations of a schedule, as their dependencies allow them.

use super::Scheduled;
use crate::mpi::{Call, CommId, RequestId, SendMode, Tag};
use crate::program::{Action, After, Op, Place, Program, RankId, StreamId};
use anyhow::Context;
use flitwise_formats::goal::{Block, DependencyKind, Node, Task};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A schedule being replayed. It keeps of each rank the operations that may start and those that wait for part of their
/// dependencies.
pub struct GoalProgram {
    scheduled: Scheduled,
    cpus: u32,
    ranks: Vec<Option<Box<RankState>>>,
}

/// The progress of a rank.
struct RankState {
    block: Block,
    /// Unmet dependencies of the operations of which some are met.
    unmet: HashMap<u32, u32>,
    cpus: Vec<Cpu>,
    /// Operations that are not complete.
    open: u32,
    woken: VecDeque<StreamId>,
    /// Empty; kept to reuse its memory.
    waiting: Vec<u32>,
}

#[derive(Default)]
struct Cpu {
    /// Operations that may start, in the order in which they became ready.
    ready: VecDeque<u32>,
    /// The operation that it took last.
    taken: Option<u32>,
    /// The computation in progress.
    computes: Option<u32>,
    paused: bool,
}

impl GoalProgram {
    /// A schedule from its start; no operation is of a CPU beyond `cpus`.
    #[must_use]
    pub fn new(scheduled: Scheduled, cpus: u32) -> Self {
        let ranks = scheduled.schedule.ranks();
        Self {
            scheduled,
            cpus: cpus.max(1),
            ranks: (0..ranks).map(|_| None).collect(),
        }
    }

    fn rank(&mut self, rank: RankId) -> anyhow::Result<&mut RankState> {
        let state = self.ranks.get_mut(rank.index());
        let state = state.with_context(|| format!("there is no rank {rank}"))?;
        if state.is_none() {
            let block = self.scheduled.schedule.rank(rank.get())?;
            *state = Some(Box::new(RankState::new(block, self.cpus)?));
        }
        state.as_deref_mut().context("the rank was not read")
    }
}

impl RankState {
    fn new(mut block: Block, cpus: u32) -> anyhow::Result<Self> {
        let mut all: Vec<Cpu> = (0..cpus).map(|_| Cpu::default()).collect();
        for index in 0..block.len() {
            let node = block.node(index)?;
            if node.unmet == 0
                && let Some(cpu) = all.get_mut(usize::from(node.op.cpu))
            {
                cpu.ready.push_back(index);
            }
        }
        Ok(Self {
            open: block.len(),
            block,
            unmet: HashMap::new(),
            cpus: all,
            woken: VecDeque::new(),
            waiting: Vec::new(),
        })
    }

    /// Operation `index` started or is complete, as `what` says: others may start.
    fn happened(&mut self, index: u32, node: &Node, what: DependencyKind) -> anyhow::Result<()> {
        let successors = match what {
            DependencyKind::Done => node.done,
            DependencyKind::Started => node.started,
        };
        if successors == 0 {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        self.block.successors(index, node, |of, kind| {
            if kind == what {
                waiting.push(of);
            }
        })?;
        for of in waiting.drain(..) {
            match self.unmet.get_mut(&of) {
                Some(left) if *left > 1 => *left -= 1,
                Some(_) => {
                    self.unmet.remove(&of);
                    let cpu = self.block.node(of)?.op.cpu;
                    self.may_start(of, cpu);
                }
                // The first dependency of an operation that is met, and often the only one.
                None => {
                    let node = self.block.node(of)?;
                    match node.unmet.saturating_sub(1) {
                        0 => self.may_start(of, node.op.cpu),
                        left => {
                            self.unmet.insert(of, left);
                        }
                    }
                }
            }
        }
        self.waiting = waiting;
        Ok(())
    }

    fn may_start(&mut self, index: u32, number: u8) {
        let Some(cpu) = self.cpus.get_mut(usize::from(number)) else {
            return;
        };
        cpu.ready.push_back(index);
        if std::mem::take(&mut cpu.paused) {
            self.woken.push_back(StreamId::new(number.into()));
        }
    }

    fn complete(&mut self, index: u32) -> anyhow::Result<()> {
        let node = self.block.node(index)?;
        self.open = self.open.saturating_sub(1);
        self.happened(index, &node, DependencyKind::Done)?;
        if self.open == 0 {
            // Nothing follows: the streams that pause end.
            for (cpu, number) in self.cpus.iter_mut().zip(0..) {
                if std::mem::take(&mut cpu.paused) {
                    self.woken.push_back(StreamId::new(number));
                }
            }
        }
        Ok(())
    }

    fn next(&mut self, stream: StreamId, of: &Scheduled) -> anyhow::Result<Option<Op>> {
        let computed = self
            .cpus
            .get_mut(stream.index())
            .and_then(|cpu| cpu.computes.take());
        if let Some(index) = computed {
            self.complete(index)?;
        }
        let Some(cpu) = self.cpus.get_mut(stream.index()) else {
            return Ok(None);
        };
        let Some(index) = cpu.ready.pop_front() else {
            cpu.paused = self.open > 0;
            return Ok(None);
        };
        cpu.taken = Some(index);
        let node = self.block.node(index)?;
        if matches!(node.op.task, Task::Calc { .. } | Task::Work { .. }) {
            cpu.computes = Some(index);
        }
        self.happened(index, &node, DependencyKind::Started)?;
        operation(index, &node, of).map(Some)
    }
}

/// An operation of a schedule as the replay carries it out; its request has its number.
fn operation(index: u32, node: &Node, of: &Scheduled) -> anyhow::Result<Op> {
    let place = Place::from(node.place);
    let comm = CommId::new(0);
    // A tag has 32 bits in both; as a signed number it is another one, but no two become the same.
    let tag = |tag: u32| Tag(tag.cast_signed());
    let request = Some(RequestId(index.into()));
    let compute_ps = of.compute_ps(&node.op.task);
    let compute_ps = compute_ps.with_context(|| {
        format!(
            "{place}: a {} that ends beyond the range of time",
            node.op.name()
        )
    })?;
    let action = match node.op.task {
        Task::Calc { .. } | Task::Work { .. } => Action::Marker,
        Task::Collective { .. } => {
            let collective = of.collective(&node.op.task);
            let (comm, contribution) = collective.context("a collective of an unknown group")?;
            Action::Mpi(Box::new(Call::Collective {
                comm,
                contribution,
                request,
            }))
        }
        Task::Send { bytes, to, tag: t } => Action::Mpi(Box::new(Call::Send {
            to: RankId::new(to),
            comm,
            tag: tag(t),
            bytes,
            mode: SendMode::Standard,
            nic: node.op.nic,
            request,
        })),
        Task::Recv { from, tag: t, .. } => Action::Mpi(Box::new(Call::Receive {
            from: from.map(RankId::new),
            comm,
            tag: t.map(tag),
            request,
        })),
    };
    Ok(Op {
        after: After::Previous,
        compute_ps,
        action,
        label: None,
        place,
    })
}

impl GoalProgram {
    fn cpu(&self, rank: RankId, stream: StreamId) -> Option<&Cpu> {
        let state = self.ranks.get(rank.index())?.as_deref()?;
        state.cpus.get(stream.index())
    }
}

impl Program for GoalProgram {
    fn ranks(&self) -> u32 {
        self.scheduled.schedule.ranks()
    }

    fn streams(&self, _: RankId) -> u32 {
        self.cpus
    }

    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>> {
        self.rank(rank)?;
        let state = self.ranks.get_mut(rank.index());
        let state = state.and_then(Option::as_deref_mut);
        let state = state.context("the rank was not read")?;
        state.next(stream, &self.scheduled)
    }

    fn communicator(&self, _: RankId, comm: CommId) -> String {
        self.scheduled.name(comm)
    }

    fn pauses(&self, rank: RankId, stream: StreamId) -> bool {
        self.cpu(rank, stream).is_some_and(|cpu| cpu.paused)
    }

    fn number(&self, rank: RankId, stream: StreamId) -> Option<u64> {
        self.cpu(rank, stream)?.taken.map(u64::from)
    }

    fn follows_requests(&self) -> bool {
        true
    }

    fn completed(&mut self, rank: RankId, request: RequestId) -> anyhow::Result<()> {
        let index = u32::try_from(request.0)?;
        self.rank(rank)?.complete(index)
    }

    fn place_of(&self, rank: RankId, request: RequestId) -> Option<Place> {
        let state = self.ranks.get(rank.index())?.as_deref()?;
        // Whoever asks has the program for reading alone.
        let mut block = state.block.clone();
        let node = block.node(u32::try_from(request.0).ok()?).ok()?;
        Some(node.place.into())
    }

    fn woken(&mut self, rank: RankId) -> Option<StreamId> {
        let state = self.ranks.get_mut(rank.index())?.as_deref_mut()?;
        state.woken.pop_front()
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.ranks.fill_with(|| None);
        Ok(())
    }
}

/// The operations of each rank in the order of the file, whatever they wait for: for comparisons of ranks, not for replays.
pub struct InOrder {
    scheduled: Scheduled,
    /// The rank that is read, and its next operation.
    current: Option<(RankId, Block, u32)>,
}

impl InOrder {
    /// A schedule from its start.
    #[must_use]
    pub fn new(scheduled: Scheduled) -> Self {
        let current = None;
        Self { scheduled, current }
    }
}

impl Program for InOrder {
    fn ranks(&self) -> u32 {
        self.scheduled.schedule.ranks()
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        if self.current.as_ref().is_none_or(|(at, ..)| *at != rank) {
            let block = self.scheduled.schedule.rank(rank.get())?;
            self.current = Some((rank, block, 0));
        }
        let Some((_, block, index)) = &mut self.current else {
            return Ok(None);
        };
        if *index == block.len() {
            return Ok(None);
        }
        let node = block.node(*index)?;
        *index += 1;
        operation(*index - 1, &node, &self.scheduled).map(Some)
    }

    fn communicator(&self, _: RankId, comm: CommId) -> String {
        self.scheduled.name(comm)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.current = None;
        Ok(())
    }
}
