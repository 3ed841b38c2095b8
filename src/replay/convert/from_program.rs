//! The operations of a trace whose ranks do one thing after the other: VEF, and traces of MPI calls.

use super::graph::{After, Brings, Edge, Entry, Graph, Key, Losses, NO_COMM, Node, Task};
use crate::mpi::{Call, CommId, Communicator, RequestId, SendMode, Until};
use crate::program::{
    Action, Contribution, Event, Label, Op, Place, Program, RankId, RegionId, StreamId,
};
use anyhow::{Context, bail, ensure};
use flitwise_formats::goal::DependencyKind;
use hashbrown::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A message that its receiver knows by an id.
#[derive(Clone, Copy)]
struct Known {
    from: u32,
    to: u32,
    tag: u32,
    bytes: u64,
}

#[derive(Default)]
struct Builder {
    graph: Graph,
    losses: Losses,
    /// Messages that an operation of their receiver waits for.
    awaited: HashMap<u64, Known>,
    others: Vec<Known>,
    /// Receives of such messages: rank, operation and id.
    receives: Vec<(u32, u32, u64)>,
    /// Messages so far between two ranks: each gets a tag of its own.
    tags: HashMap<(u32, u32), u32>,
    marks: Marks,
}

/// The marks of regions that become operations of no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Marks {
    #[default]
    None,
    /// The first entry of each rank into this region, and the exits.
    Of(RegionId),
    All,
}

/// By rank and operation of the program, the number of operations before it.
pub(super) type Firsts = Vec<Vec<u32>>;

/// The part of one rank that is read so far.
#[derive(Default)]
struct Rank {
    number: u32,
    /// Of the operation that is being added.
    place: Option<Place>,
    nodes: Vec<Node>,
    /// The dependencies of the next operation.
    before: Vec<After>,
    received: HashMap<u64, u32>,
    collectives: HashMap<u64, u32>,
    labels: HashMap<Label, u32>,
    requests: HashMap<RequestId, u32>,
    /// Collectives that it called on each communicator.
    calls: HashMap<CommId, u32>,
    /// The computation in several regions since the last operation.
    computed_ps: u64,
    visit: Visit,
}

/// The visits of a rank to the region whose ends become operations.
#[derive(Default)]
struct Visit {
    was_entered: bool,
    /// Entries without an exit.
    open: u64,
    /// The operation that is its latest exit.
    exit: Option<u32>,
}

/// The operations of a trace that messages call `name`; errors of `program` name the file themselves. Shows how many operations come
/// before each one of the program.
pub(super) fn graph(
    program: &mut dyn Program,
    name: &Path,
    marks: Marks,
    losses: &mut Losses,
) -> anyhow::Result<(Graph, Firsts)> {
    let named = || name.display().to_string();
    let mut builder = Builder {
        marks,
        ..Builder::default()
    };
    let mut firsts = Firsts::new();
    for rank in RankId::all(program.ranks()) {
        ensure!(
            program.streams(rank) == 1,
            "{}: rank {rank} has several streams, which this conversion does not read",
            named()
        );
        let mut state = Rank {
            number: rank.get(),
            ..Rank::default()
        };
        let mut of_rank = Vec::new();
        while let Some(op) = program.next(rank, StreamId::new(0))? {
            if marks == Marks::All {
                of_rank.push(state.nodes.len() as u32);
            }
            builder.add(&mut state, op).with_context(named)?;
        }
        state.end().with_context(named)?;
        if state.visit.open > 0 {
            builder.graph.unended.push(rank.get());
        }
        builder.graph.ranks.push(state.nodes);
        firsts.push(of_rank);
    }
    let (graph, lost) = builder.finish().with_context(named)?;
    *losses = lost;
    Ok((graph, firsts))
}

impl Rank {
    /// Adds an operation that waits for the operations before it.
    fn node(&mut self, task: Task) -> anyhow::Result<u32> {
        let after = std::mem::take(&mut self.before);
        self.push(task, after)
    }

    fn push(&mut self, task: Task, after: Vec<After>) -> anyhow::Result<u32> {
        let index = u32::try_from(self.nodes.len()).context("a rank of 2^32 operations")?;
        let cpu = 0;
        self.nodes.push(Node {
            task,
            after,
            cpu,
            place: self.place,
            edge: None,
        });
        Ok(index)
    }

    /// Adds the effect of a call of an operation with or without a request.
    fn called(&mut self, node: u32, request: Option<RequestId>) {
        self.before = match request {
            None => vec![After::done(node)],
            Some(request) => {
                self.requests.insert(request, node);
                vec![After::started(node)]
            }
        };
    }

    /// Adds the computation before the next operation.
    fn compute(&mut self) -> anyhow::Result<()> {
        let ps = std::mem::take(&mut self.computed_ps);
        if ps > 0 {
            let calc = self.node(Task::Calc { ps })?;
            self.before = vec![After::done(calc)];
        }
        Ok(())
    }

    /// Adds an end of the region that has operations for them, unless it lies between others.
    fn edge(&mut self, enters: bool) -> anyhow::Result<()> {
        let edge = if enters {
            self.visit.open += 1;
            if std::mem::replace(&mut self.visit.was_entered, true) {
                return Ok(());
            }
            Edge::Entry
        } else {
            let was_open = self.visit.open;
            self.visit.open = was_open.saturating_sub(1);
            if was_open != 1 {
                return Ok(());
            }
            Edge::Exit
        };
        self.moment()?;
        let node = self.before.first().map(|after| after.on);
        self.mark(node, Some(edge));
        if edge == Edge::Exit {
            let earlier = std::mem::replace(&mut self.visit.exit, node);
            self.mark(earlier, None);
        }
        Ok(())
    }

    /// Adds an operation of no time.
    fn moment(&mut self) -> anyhow::Result<()> {
        self.compute()?;
        let node = self.node(Task::Calc { ps: 0 })?;
        self.before = vec![After::done(node)];
        Ok(())
    }

    fn mark(&mut self, node: Option<u32>, edge: Option<Edge>) {
        let node = node.and_then(|node| self.nodes.get_mut(node as usize));
        if let Some(node) = node {
            node.edge = edge;
        }
    }

    /// Adds an operation of no time for the events that the rank waits for at its end.
    fn end(&mut self) -> anyhow::Result<()> {
        self.compute()?;
        let waits = |after: &After| {
            let node = self.nodes.get(after.on as usize);
            after.kind == DependencyKind::Done
                && node.is_some_and(|node| !matches!(node.task, Task::Calc { .. }))
        };
        if self.before.iter().any(waits) {
            self.node(Task::Calc { ps: 0 })?;
        }
        Ok(())
    }

    fn collective(
        &mut self,
        comm: &Communicator,
        contribution: Contribution,
        request: Option<RequestId>,
    ) -> anyhow::Result<()> {
        let number = self.calls.entry(comm.id).or_default();
        let key = Key::Call(comm.id.get(), *number);
        *number += 1;
        let me = comm.members.iter().position(|m| m.get() == self.number);
        let me = me.with_context(|| format!("rank {} is no member", self.number))?;
        let entry = Entry {
            key,
            members: Arc::clone(&comm.members),
            me: me as u32,
            brings: Brings::Own(contribution),
        };
        let node = self.node(Task::Collective(Arc::new(entry)))?;
        self.called(node, request);
        Ok(())
    }

    fn waits(&mut self, after: After) {
        if !self.before.contains(&after) {
            self.before.push(after);
        }
    }
}

impl Builder {
    fn add(&mut self, rank: &mut Rank, op: Op) -> anyhow::Result<()> {
        rank.place = Some(op.place);
        for &event in op.after.events() {
            self.event(rank, event)?;
        }
        let computed = rank.computed_ps.checked_add(op.compute_ps);
        rank.computed_ps = computed.context("a computation ends beyond the range of time")?;
        let enters = match op.action {
            Action::EnterRegion(region) => Some((region, true)),
            Action::LeaveRegion(region) => Some((region, false)),
            _ => None,
        };
        if let Some((region, enters)) = enters {
            return match self.marks {
                Marks::Of(one) if one == region => rank.edge(enters),
                Marks::All => rank.moment(),
                _ => Ok(()),
            };
        }
        let first = rank.nodes.len();
        rank.compute()?;
        self.action(rank, op.action)?;
        if let Some(label) = op.label
            && rank.nodes.len() > first
        {
            let last = rank.nodes.len() as u32 - 1;
            rank.labels.insert(label, last);
        }
        Ok(())
    }

    fn action(&mut self, rank: &mut Rank, action: Action) -> anyhow::Result<()> {
        match action {
            Action::Marker | Action::EnterRegion(_) | Action::LeaveRegion(_) => {}
            Action::Send {
                id,
                to,
                bytes,
                awaited,
            } => {
                let known = self.known(rank.number, to.get(), bytes);
                if awaited {
                    self.awaited.insert(id, known);
                } else {
                    self.others.push(known);
                }
                let (to, tag, comm) = (known.to, known.tag, NO_COMM);
                let send = rank.node(Task::Send {
                    to,
                    comm,
                    tag,
                    bytes,
                })?;
                rank.before = vec![After::started(send)];
            }
            Action::Collective(collective, me) => {
                let (id, members) = (collective.id, Arc::clone(&collective.members));
                let entry = Entry {
                    key: Key::Id(id),
                    members,
                    me,
                    brings: Brings::All(collective),
                };
                let node = rank.node(Task::Collective(Arc::new(entry)))?;
                rank.collectives.insert(id, node);
                rank.before = vec![After::started(node)];
            }
            Action::Mpi(call) => self.call(rank, *call)?,
        }
        Ok(())
    }

    /// The next operation of `rank` waits for an event.
    fn event(&mut self, rank: &mut Rank, event: Event) -> anyhow::Result<()> {
        let after = match event {
            Event::Received(id) => {
                let node = match rank.received.get(&id) {
                    Some(&node) => node,
                    None => {
                        // Filled in when its send was read.
                        let open = Task::Recv {
                            from: None,
                            comm: NO_COMM,
                            tag: None,
                            bytes: 0,
                        };
                        let node = rank.push(open, Vec::new())?;
                        self.receives.push((rank.number, node, id));
                        rank.received.insert(id, node);
                        node
                    }
                };
                After::done(node)
            }
            Event::Completed(id) => match rank.collectives.get(&id) {
                Some(&node) => After::done(node),
                None => bail!("collective {id} is waited for before it is entered"),
            },
            Event::Started(label) | Event::Done(label) => match rank.labels.get(&label) {
                Some(&on) if matches!(event, Event::Started(_)) => After::started(on),
                Some(&on) => After::done(on),
                None => return Ok(()),
            },
        };
        rank.waits(after);
        Ok(())
    }

    fn known(&mut self, from: u32, to: u32, bytes: u64) -> Known {
        let next = self.tags.entry((from, to)).or_default();
        let tag = *next;
        *next = next.wrapping_add(1) & (super::expand::FIRST_TAG - 1);
        Known {
            from,
            to,
            tag,
            bytes,
        }
    }

    /// Counts the mode of a send, which becomes a standard one.
    fn lose(&mut self, mode: SendMode) {
        let what = match mode {
            SendMode::Standard => return,
            SendMode::Buffered => "buffered sends become standard sends",
            SendMode::Synchronous => "synchronous sends become standard sends",
        };
        self.losses.add(1, what);
    }

    fn call(&mut self, rank: &mut Rank, call: Call) -> anyhow::Result<()> {
        match call {
            Call::Send {
                to,
                comm,
                tag,
                bytes,
                mode,
                request,
                ..
            } => {
                let (to, tag) = (to.get(), tag.0.cast_unsigned());
                let node = rank.node(Task::Send {
                    to,
                    comm,
                    tag,
                    bytes,
                })?;
                match mode {
                    SendMode::Buffered => rank.before = vec![After::started(node)],
                    _ => rank.called(node, request),
                }
                self.graph.has_rendezvous = true;
                self.lose(mode);
            }
            Call::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let (from, tag) = (from.map(RankId::get), tag.map(|tag| tag.0.cast_unsigned()));
                let node = rank.node(Task::Recv {
                    from,
                    comm,
                    tag,
                    bytes: 0,
                })?;
                rank.called(node, request);
            }
            Call::Collective {
                comm,
                contribution,
                request,
            } => rank.collective(&comm, contribution, request)?,
            Call::Wait { requests, until } => self.wait(rank, &requests, until),
            Call::Probe { .. } => {
                let what = "probes that found a message are left out: its receive waits for it";
                self.losses.add(1, what);
            }
            Call::Free { requests } => requests.iter().for_each(|request| {
                rank.requests.remove(request);
            }),
        }
        Ok(())
    }

    fn wait(&mut self, rank: &mut Rank, requests: &[RequestId], until: Until) {
        let active = requests.iter().filter_map(|r| rank.requests.remove(r));
        let active: Vec<u32> = active.collect();
        if until != Until::All && active.len() > 1 {
            self.losses
                .add(1, "waits for one of several requests wait for all of them");
        }
        (active.into_iter()).for_each(|node| rank.waits(After::done(node)));
    }

    /// Gives each receive the source, tag and size of the message with its id, and adds a receive for each message that no
    /// operation waits for.
    fn finish(mut self) -> anyhow::Result<(Graph, Losses)> {
        for (rank, node, id) in self.receives {
            let known = self.awaited.remove(&id);
            let known = known.with_context(|| format!("message {id} is never sent"))?;
            let rank = self.graph.ranks.get_mut(rank as usize);
            if let Some(node) = rank.and_then(|nodes| nodes.get_mut(node as usize)) {
                node.task = receive(known);
            }
        }
        for known in self.others {
            if let Some(nodes) = self.graph.ranks.get_mut(known.to as usize) {
                nodes.push(Node {
                    task: receive(known),
                    after: Vec::new(),
                    cpu: 0,
                    place: None,
                    edge: None,
                });
            }
        }
        Ok((self.graph, self.losses))
    }
}

fn receive(known: Known) -> Task {
    Task::Recv {
        from: Some(known.from),
        comm: NO_COMM,
        tag: Some(known.tag),
        bytes: known.bytes,
    }
}
