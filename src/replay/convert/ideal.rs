//! The operations of all ranks on a network on which messages take no time: in what order they start, and which message
//! each receive takes.
//!
//! Ranks act in the order of the replay (`docs/model/replay.md`, "Time and order"), which decides what each does first of
//! all that may start at one time. In another order a rank would compute while others wait for it.

mod stall;
mod waits;

pub(super) use stall::Stalled;

use super::graph::{Entry, Graph, Key, Node, Task};
use crate::mpi::{Envelope, MatchQueues, Pattern, Tag, Transfer};
use crate::program::RankId;
use flitwise_formats::goal::DependencyKind;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeSet, VecDeque};
use waits::{WaitsFor, is_full, waits_for, waits_for_root};

/// The course of a run.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Rank and operation, in the order in which they started.
    pub starts: Vec<(u32, u32)>,
    /// By rank and receive: rank and send.
    pub taken: Vec<HashMap<u32, (u32, u32)>>,
    /// By rank and operation: when it started and when it was done, in picoseconds.
    pub times: Vec<Vec<[u64; 2]>>,
    /// Collectives that another member had not entered, or that were not done, when a rank in them started something that does not
    /// follow them.
    pub crossed: HashSet<Key>,
}

/// The meaning of the time of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calcs {
    /// It takes so long.
    Last,
    /// It ends then, or takes no time if that is past.
    EndAt,
}

impl Course {
    /// Number of computations, sends and collectives that are independent of those which their rank starts before them. A
    /// format with one order of operations makes them wait.
    pub fn extra_order(&self, graph: &Graph) -> u64 {
        // By rank: how many started, and the last of these that each operation follows.
        let mut ranks = vec![(0, HashMap::new()); graph.ranks.len()];
        let mut extra = 0;
        for &(rank, index) in &self.starts {
            let node = &graph.ranks[rank as usize][index as usize];
            let (steps, follows) = &mut ranks[rank as usize];
            let before = node.after.iter().filter_map(|after| follows.get(&after.on));
            let last = before.copied().max().unwrap_or(0);
            let step = match node.task {
                Task::Recv { .. } => last,
                Task::Calc { .. } | Task::Send { .. } | Task::Collective(_) => {
                    extra += u64::from(last != *steps);
                    *steps += 1;
                    *steps
                }
            };
            follows.insert(index, step);
        }
        extra
    }

    /// Number of operations but receives that start while another CPU of their rank computes. A format with one order of operations
    /// makes them wait for that computation; without them it takes no longer on an ideal network.
    pub fn behind_others(&self, graph: &Graph) -> u64 {
        // By rank: the end of its computations so far.
        let mut computes_until = vec![0; graph.ranks.len()];
        let mut behind = 0;
        for &(rank, index) in &self.starts {
            let [start, end] = self.times[rank as usize][index as usize];
            let until = &mut computes_until[rank as usize];
            match graph.ranks[rank as usize][index as usize].task {
                Task::Recv { .. } => continue,
                Task::Calc { .. } => {
                    behind += u64::from(start < std::mem::replace(until, end.max(*until)))
                }
                Task::Send { .. } | Task::Collective(_) => behind += u64::from(start < *until),
            }
        }
        behind
    }
}

/// Carries out all operations. Sends of more than `eager_bytes` are done when their messages are taken.
///
/// # Errors
/// The ranks with operations that can never start or end, and what they wait for.
pub(super) fn run(graph: &Graph, calcs: Calcs, eager_bytes: u64) -> Result<Course, Vec<Stalled>> {
    let mut ideal = IdealRun::new(graph, calcs, eager_bytes);
    while let Some((now, rank, actor)) = ideal.next() {
        ideal.now = now;
        match actor {
            Actor::Endpoint => ideal.take_up(rank),
            Actor::Cpu(cpu) => ideal.act(rank, cpu),
        }
    }
    let stalled = ideal.stalled();
    if stalled.is_empty() {
        Ok(ideal.course)
    } else {
        Err(stalled)
    }
}

/// The progress of a rank.
#[derive(Default)]
struct Rank {
    /// Operations for which each operation waits.
    unmet: Vec<u32>,
    /// The operations that wait for each operation.
    waiting: Vec<Vec<(u32, DependencyKind)>>,
    cpus: Vec<Cpu>,
    queues: MatchQueues<u32>,
    /// Messages that have arrived, and that it has not taken up.
    inbox: Vec<Envelope>,
    /// The collectives that it has entered and another member has not, and whether they are done here.
    inside: Vec<(u32, bool)>,
    open: usize,
}

/// The part of a rank that acts, in the order of acts at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    /// It takes up messages.
    Endpoint,
    Cpu(u8),
}

/// Something that happens when no rank can act any more at the present time.
enum Arrival {
    /// The rank that it comes to.
    Message(u32, Envelope),
    /// A rank has completed a collective by the entry of another one.
    Collective(u32, u32),
}

#[derive(Default)]
struct Cpu {
    ready: VecDeque<u32>,
    /// The computation in progress, and its end.
    busy: Option<(u32, u64)>,
}

/// The members that have entered a collective.
#[derive(Default)]
struct Entered {
    count: usize,
    root: bool,
    /// Those whose parts are not empty, and how many of them the waiting members wait for.
    full: usize,
    awaited: Option<usize>,
    /// Members that are not done: rank and operation.
    waiting: Vec<(u32, u32)>,
}

/// The ranks of a graph while they carry out their operations.
struct IdealRun<'a> {
    graph: &'a Graph,
    calcs: Calcs,
    eager_bytes: u64,
    ranks: Vec<Rank>,
    entered: HashMap<Key, Entered>,
    /// The times at which ranks may continue.
    agenda: BTreeSet<(u64, u32, Actor)>,
    arrivals: Vec<Arrival>,
    now: u64,
    course: Course,
}

impl Rank {
    fn new(nodes: &[Node]) -> Self {
        let cpus = nodes.iter().map(|node| usize::from(node.cpu) + 1).max();
        let mut rank = Self {
            unmet: vec![0; nodes.len()],
            waiting: vec![Vec::new(); nodes.len()],
            cpus: Vec::new(),
            queues: MatchQueues::default(),
            inbox: Vec::new(),
            inside: Vec::new(),
            open: nodes.len(),
        };
        rank.cpus.resize_with(cpus.unwrap_or(1), Cpu::default);
        for (index, node) in (0..).zip(nodes) {
            for after in &node.after {
                if let Some(waiting) = rank.waiting.get_mut(after.on as usize) {
                    waiting.push((index, after.kind));
                    rank.unmet[index as usize] += 1;
                }
            }
            if rank.unmet[index as usize] == 0 {
                rank.cpus[usize::from(node.cpu)].ready.push_back(index);
            }
        }
        rank
    }
}

impl Cpu {
    /// The operation that it starts next, unless it computes.
    fn next(&mut self) -> Option<u32> {
        if self.busy.is_some() {
            return None;
        }
        self.ready.pop_front()
    }
}

impl<'a> IdealRun<'a> {
    fn new(graph: &'a Graph, calcs: Calcs, eager_bytes: u64) -> Self {
        let ranks: Vec<Rank> = graph.ranks.iter().map(|nodes| Rank::new(nodes)).collect();
        let course = Course {
            taken: ranks.iter().map(|_| HashMap::new()).collect(),
            times: graph
                .ranks
                .iter()
                .map(|nodes| vec![[0; 2]; nodes.len()])
                .collect(),
            ..Course::default()
        };
        let agenda = (0..).zip(&ranks).flat_map(|(rank, state)| {
            let cpus = (0..=u8::MAX).zip(&state.cpus);
            cpus.map(move |(cpu, _)| (0, rank, Actor::Cpu(cpu)))
        });
        Self {
            agenda: agenda.collect(),
            graph,
            calcs,
            eager_bytes,
            ranks,
            entered: HashMap::new(),
            arrivals: Vec::new(),
            now: 0,
            course,
        }
    }

    /// The next act: messages arrive when no other act is left at their time.
    fn next(&mut self) -> Option<(u64, u32, Actor)> {
        if self.agenda.first().is_none_or(|&(ps, ..)| ps > self.now) {
            for arrival in std::mem::take(&mut self.arrivals) {
                match arrival {
                    Arrival::Message(to, envelope) => {
                        if let Some(receiver) = self.ranks.get_mut(to as usize) {
                            receiver.inbox.push(envelope);
                            self.agenda.insert((self.now, to, Actor::Endpoint));
                        }
                    }
                    Arrival::Collective(rank, index) => self.complete(rank, index),
                }
            }
        }
        self.agenda.pop_first()
    }

    /// Lets a rank take up the messages that have arrived.
    fn take_up(&mut self, rank: u32) {
        let mut inbox = std::mem::take(&mut self.ranks[rank as usize].inbox);
        // The messages of one source are in the order of their sends.
        inbox.sort_by_key(|envelope| (envelope.from, envelope.comm));
        for envelope in inbox {
            let found = self.ranks[rank as usize].queues.arrive(envelope);
            if let Some(recv) = found {
                self.taken(rank, recv, envelope);
            }
        }
    }

    /// Lets a CPU do all that it can do now.
    fn act(&mut self, rank: u32, cpu: u8) {
        let state = &mut self.ranks[rank as usize].cpus[usize::from(cpu)];
        if let Some((calc, _)) = state.busy.take_if(|(_, end)| *end <= self.now) {
            self.complete(rank, calc);
        }
        while let Some(index) = self.ranks[rank as usize].cpus[usize::from(cpu)].next() {
            self.start(rank, cpu, index);
        }
    }

    fn start(&mut self, rank: u32, cpu: u8, index: u32) {
        let graph = self.graph;
        self.cross(rank, index);
        self.course.starts.push((rank, index));
        self.course.times[rank as usize][index as usize][0] = self.now;
        self.happened(rank, index, DependencyKind::Started);
        match &graph.ranks[rank as usize][index as usize].task {
            Task::Calc { ps: 0 } => self.complete(rank, index),
            Task::Calc { ps } => {
                let end = match self.calcs {
                    Calcs::Last => self.now.saturating_add(*ps),
                    Calcs::EndAt => self.now.max(*ps),
                };
                self.ranks[rank as usize].cpus[usize::from(cpu)].busy = Some((index, end));
                self.agenda.insert((end, rank, Actor::Cpu(cpu)));
            }
            &Task::Send {
                to,
                comm,
                tag,
                bytes,
            } => {
                if bytes <= self.eager_bytes {
                    self.complete(rank, index);
                }
                let envelope = Envelope {
                    from: RankId::new(rank),
                    comm,
                    tag: Tag(tag.cast_signed()),
                    // Calls of this replay are not observed.
                    number: 0,
                    transfer: Transfer::Rendezvous { send: index },
                };
                self.arrivals.push(Arrival::Message(to, envelope));
            }
            &Task::Recv {
                from, comm, tag, ..
            } => {
                let pattern = Pattern {
                    comm,
                    from: from.map(RankId::new),
                    tag: tag.map(|tag| Tag(tag.cast_signed())),
                };
                let queues = &mut self.ranks[rank as usize].queues;
                if let Some((recv, envelope)) = queues.receive(pattern, index) {
                    self.taken(rank, recv, envelope);
                }
            }
            Task::Collective(entry) => self.enter(rank, index, entry),
        }
    }

    /// A rank starts an operation, which crosses the collectives that it is in. Receives that no operation comes before start
    /// anywhere, unless sends wait for them.
    fn cross(&mut self, rank: u32, index: u32) {
        let nodes = &self.graph.ranks[rank as usize];
        let node = &nodes[index as usize];
        let crosses = match node.task {
            Task::Calc { ps } => ps > 0,
            Task::Recv { .. } => self.graph.has_rendezvous || !node.after.is_empty(),
            Task::Send { .. } | Task::Collective(_) => true,
        };
        if !crosses {
            return;
        }
        for &(inside, is_done) in &self.ranks[rank as usize].inside {
            let collective = &nodes[inside as usize];
            // By the algorithm a rank may be in it for longer, and what follows it waits.
            let follows = is_done && collective.cpu == node.cpu;
            if let Task::Collective(entry) = &collective.task
                && !follows
            {
                self.course.crossed.insert(entry.key);
            }
        }
    }

    /// All members have entered a collective.
    fn leave(&mut self, entry: &Entry) {
        for member in entry.members.iter() {
            let nodes = &self.graph.ranks[member.index()];
            let is_other = |node: u32| match &nodes[node as usize].task {
                Task::Collective(of) => of.key != entry.key,
                _ => true,
            };
            let inside = &mut self.ranks[member.index()].inside;
            inside.retain(|&(node, _)| is_other(node));
        }
    }

    fn taken(&mut self, rank: u32, recv: u32, envelope: Envelope) {
        if let Transfer::Rendezvous { send } = envelope.transfer {
            let from = envelope.from.get();
            self.course.taken[rank as usize].insert(recv, (from, send));
            let sent = &self.graph.ranks[from as usize][send as usize].task;
            if matches!(sent, Task::Send { bytes, .. } if *bytes > self.eager_bytes) {
                self.complete(from, send);
            }
        }
        self.complete(rank, recv);
    }

    fn enter(&mut self, rank: u32, index: u32, entry: &Entry) {
        let (root, rule) = waits_for(entry);
        let members = entry.members.len();
        let entered = self.entered.entry(entry.key).or_default();
        entered.count += 1;
        entered.root |= root == Some(entry.me);
        entered.full += usize::from(is_full(entry));
        let (all, has_root) = (entered.count == members, entered.root);
        let over = match rule {
            WaitsFor::None => true,
            WaitsFor::Root => has_root,
            WaitsFor::Full(others) => entered.full >= others,
            WaitsFor::All => all,
        };
        if !all {
            self.ranks[rank as usize].inside.push((index, false));
        }
        if !over {
            entered.waiting.push((rank, index));
            if let WaitsFor::Full(others) = rule {
                entered.awaited = Some(others);
            }
        }
        // A root that enters releases those that wait for it, and the last member, or the last with a part, all of them.
        let has_full = entered.awaited.is_some_and(|others| entered.full >= others);
        let free = all || has_full || (has_root && waits_for_root(entry));
        let released = if free {
            std::mem::take(&mut entered.waiting)
        } else {
            Vec::new()
        };
        if all {
            self.entered.remove(&entry.key);
            self.leave(entry);
        }
        let released = released.into_iter();
        (self.arrivals).extend(released.map(|(rank, index)| Arrival::Collective(rank, index)));
        if over {
            self.complete(rank, index);
        }
    }

    fn complete(&mut self, rank: u32, index: u32) {
        let state = &mut self.ranks[rank as usize];
        state.open -= 1;
        let inside = state.inside.iter_mut().find(|(node, _)| *node == index);
        if let Some((_, is_done)) = inside {
            *is_done = true;
        }
        self.course.times[rank as usize][index as usize][1] = self.now;
        self.happened(rank, index, DependencyKind::Done);
    }

    fn happened(&mut self, rank: u32, index: u32, what: DependencyKind) {
        let nodes = &self.graph.ranks[rank as usize];
        let state = &mut self.ranks[rank as usize];
        let waiting = std::mem::take(&mut state.waiting[index as usize]);
        for &(of, _) in waiting.iter().filter(|(_, kind)| *kind == what) {
            let unmet = &mut state.unmet[of as usize];
            *unmet -= 1;
            if *unmet == 0 {
                let cpu = nodes[of as usize].cpu;
                state.cpus[usize::from(cpu)].ready.push_back(of);
                self.agenda.insert((self.now, rank, Actor::Cpu(cpu)));
            }
        }
        state.waiting[index as usize] = waiting;
    }
}
