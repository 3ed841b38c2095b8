//! Writes operations as a VEF3 trace, in which a rank does one thing after the other.

use super::graph::{Brings, Edge, Entry, Graph, Key, Losses, Node, Task};
use super::ideal::Course;
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RankId, RootedBlocks};
use anyhow::Context;
use flitwise_formats::goal::DependencyKind;
use flitwise_formats::vef::{
    Comm, Dep, DepId, Gathering, Header, Member, Message, Op, Record, Version, Writer,
};
use hashbrown::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

/// Picoseconds of a unit of time, if all times are whole numbers of it; else units are picoseconds.
const NANOSECOND: u64 = 1000;

const DEP_RECEIVED: u8 = 2;
const DEP_COMPLETED: u8 = 3;
const TRAFFIC: u8 = 4;

/// The collectives that VEF has and whose members agree on the sizes: a collective of VEF has one set of sizes.
pub(super) fn kept(graph: &Graph, losses: &mut Losses) -> HashSet<Key> {
    let mut said: HashMap<Key, Said> = HashMap::new();
    for node in graph.ranks.iter().flatten() {
        if let Task::Collective(entry) = &node.task {
            said.entry(entry.key)
                .or_insert_with(|| Said::new(entry))
                .add(entry);
        }
    }
    let (mut kept, mut differ) = (HashSet::new(), Vec::new());
    for (key, said) in said {
        match said.verdict() {
            Verdict::Fits => drop(kept.insert(key)),
            Verdict::Differs => differ.push(key),
            Verdict::Unknown => {}
        }
    }
    if let Some(&first) = differ.iter().min() {
        let what = format!(
            "collectives that ranks call differently become messages, the first {}",
            sizes_in(graph, first)
        );
        losses.add(differ.len() as u64, what);
    }
    kept
}

/// A text for a collective with the sizes that two of its members give differently.
fn sizes_in(graph: &Graph, key: Key) -> String {
    let entries = graph
        .ranks
        .iter()
        .flatten()
        .filter_map(|node| match &node.task {
            Task::Collective(entry) if entry.key == key => Some((entry, node.place)),
            _ => None,
        });
    let mut name = "";
    let mut given: Vec<(u64, String)> = Vec::new();
    for (entry, place) in entries {
        let (_, send, recv) = sizes(entry).unwrap_or((Op::Barrier, 0, 0));
        let bytes = send.max(recv);
        if given.len() < 2 && given.iter().all(|&(first, _)| first != bytes) {
            let rank = entry.members.get(entry.me as usize);
            let rank = rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
            let place = place.map_or_else(String::new, |place| format!(" ({place})"));
            given.push((bytes, format!("{bytes} bytes{rank}{place}")));
            name = entry.name();
        }
    }
    let given: Vec<String> = given.into_iter().map(|(_, text)| text).collect();
    format!("{name} with {}", given.join(", "))
}

/// The sizes of a collective by its members.
struct Said {
    comm: Comm,
    /// As lines of VEF; `None` if it has no such operation.
    lines: Option<Gathering>,
    fits: bool,
}

enum Verdict {
    Fits,
    Differs,
    /// VEF has no such operation.
    Unknown,
}

impl Said {
    fn new(entry: &Entry) -> Self {
        let lines = sizes(entry).and_then(|sizes| Gathering::new(0, &line(entry, sizes)).ok());
        let members = entry.members.iter().map(|rank| rank.get()).collect();
        Self {
            comm: Comm { members },
            lines,
            fits: true,
        }
    }

    fn add(&mut self, entry: &Entry) {
        let Some(sizes) = sizes(entry) else {
            self.lines = None;
            return;
        };
        if let Some(lines) = &mut self.lines {
            self.fits &= lines.add(0, entry.me, &line(entry, sizes)).is_ok();
        }
    }

    fn verdict(&self) -> Verdict {
        match &self.lines {
            None => Verdict::Unknown,
            Some(lines) if self.fits && lines.resolve(0, &self.comm).is_ok() => Verdict::Fits,
            Some(_) => Verdict::Differs,
        }
    }
}

/// The line of a member, alone.
fn line(entry: &Entry, (op, send, recv): (Op, u64, u64)) -> Member {
    let task = entry.members.get(entry.me as usize);
    Member {
        id: 0,
        comm: 0,
        op: op as u32,
        task: task.map_or(0, |rank| rank.get()),
        send,
        recv,
        dep: Dep(0),
        time: 0,
        after: DepId::None,
    }
}

/// Operation and size fields of a member.
fn sizes(entry: &Entry) -> Option<(Op, u64, u64)> {
    let at = |blocks: &[u64], member: u32| blocks.get(member as usize).copied().unwrap_or(0);
    let sum = |blocks: &[u64]| blocks.iter().fold(0_u64, |sum, b| sum.saturating_add(*b));
    let me = entry.me;
    let gather = |root: u32, blocks: &[u64]| {
        if me == root {
            (Op::Gather, at(blocks, me), sum(blocks))
        } else {
            (Op::Gather, at(blocks, me), 0)
        }
    };
    let scatter = |root: u32, blocks: &[u64]| {
        if me == root {
            (Op::Scatter, sum(blocks), at(blocks, me))
        } else {
            (Op::Scatter, 0, at(blocks, me))
        }
    };
    let kind = match &entry.brings {
        Brings::All(collective) => &collective.kind,
        Brings::Own(Contribution::Known(kind)) => kind,
        Brings::Own(Contribution::Gatherv { root, blocks }) => {
            return Some(match blocks {
                RootedBlocks::All(blocks) => gather(*root, blocks),
                RootedBlocks::Own(bytes) => (Op::Gather, *bytes, 0),
            });
        }
        Brings::Own(Contribution::Scatterv { root, blocks }) => {
            return Some(match blocks {
                RootedBlocks::All(blocks) => scatter(*root, blocks),
                RootedBlocks::Own(bytes) => (Op::Scatter, 0, *bytes),
            });
        }
        Brings::Own(Contribution::Alltoallv { .. }) => return None,
    };
    Some(match kind {
        CollectiveKind::Bcast { root, bytes } if me == *root => (Op::Bcast, *bytes, 0),
        CollectiveKind::Bcast { bytes, .. } => (Op::Bcast, 0, *bytes),
        CollectiveKind::Reduce { root, bytes } if me == *root => (Op::Reduce, 0, *bytes),
        CollectiveKind::Reduce { bytes, .. } => (Op::Reduce, *bytes, 0),
        CollectiveKind::Allreduce { bytes } => (Op::Allreduce, *bytes, *bytes),
        CollectiveKind::Gather { root, blocks } => gather(*root, blocks),
        CollectiveKind::Scatter { root, blocks } => scatter(*root, blocks),
        CollectiveKind::Allgather { blocks } => (Op::Allgather, at(blocks, me), sum(blocks)),
        CollectiveKind::Barrier => (Op::Barrier, 0, 0),
        CollectiveKind::Alltoall { blocks } => match blocks.get(me as usize)? {
            AlltoallBlocks::Each(bytes) => (Op::Alltoall, *bytes, 0),
            AlltoallBlocks::Split { total, .. } => (Op::Alltoall, *total, 1),
        },
        CollectiveKind::ReduceScatter { .. }
        | CollectiveKind::Scan { .. }
        | CollectiveKind::Exscan { .. } => return None,
    })
}

/// The counts of what was written.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub ps_per_unit: u64,
    pub messages: u64,
    pub bytes: u64,
    pub markers: u64,
    pub collectives: u64,
    pub members: u64,
    /// The markers that are ends of the region that a slice keeps: rank and id.
    pub edges: Vec<(u32, Edge, u64)>,
}

/// Writes operations in the order of `course`.
pub(super) fn write(
    graph: &Graph,
    course: &Course,
    out: &mut impl Write,
) -> anyhow::Result<Counts> {
    let whole = |node: &Node| match node.task {
        Task::Calc { ps } => ps.is_multiple_of(NANOSECOND),
        _ => true,
    };
    let nanoseconds = graph.ranks.iter().flatten().all(whole);
    let mut records = Records {
        graph,
        course,
        ps_per_unit: if nanoseconds { NANOSECOND } else { 1 },
        ranks: graph.ranks.iter().map(|_| Rank::default()).collect(),
        sent: HashMap::new(),
        comms: vec![(0..graph.ranks.len() as u32).collect()],
        groups: HashMap::new(),
        all: Vec::new(),
        counts: Counts::default(),
    };
    for &(rank, node) in &course.starts {
        records.add(rank, node)?;
    }
    for rank in 0..graph.ranks.len() as u32 {
        records.end(rank);
    }
    records.finish(out)
}

/// An event that a rank waits for.
#[derive(Clone, Copy)]
enum Event {
    Received(u64),
    Completed(u64),
}

#[derive(Default)]
struct Rank {
    /// Events and time before its next record.
    events: Vec<Event>,
    time_ps: u64,
    /// Dependencies that its records respect by now.
    met: HashSet<(u32, DependencyKind)>,
}

struct Records<'a> {
    graph: &'a Graph,
    course: &'a Course,
    ps_per_unit: u64,
    ranks: Vec<Rank>,
    /// Ids of messages by rank and send.
    sent: HashMap<(u32, u32), u64>,
    comms: Vec<Arc<[u32]>>,
    groups: HashMap<Key, u64>,
    all: Vec<Record>,
    counts: Counts,
}

impl Records<'_> {
    fn add(&mut self, rank: u32, index: u32) -> anyhow::Result<()> {
        let graph = self.graph;
        let node = &graph.ranks[rank as usize][index as usize];
        if let Task::Recv { .. } = node.task {
            return Ok(());
        }
        self.wait(rank, index)?;
        let state = &mut self.ranks[rank as usize];
        match &node.task {
            Task::Calc { ps } => {
                let time = state.time_ps.checked_add(*ps);
                state.time_ps = time.context("a computation ends beyond the range of time")?;
                if let Some(edge) = node.edge {
                    let id = self.marker(rank);
                    self.counts.edges.push((rank, edge, id));
                }
            }
            &Task::Send { to, bytes, .. } => {
                let id = self.message(rank, to, bytes, TRAFFIC);
                self.sent.insert((rank, index), id);
                self.counts.messages += 1;
                self.counts.bytes = self.counts.bytes.saturating_add(bytes);
            }
            Task::Collective(entry) => self.member(rank, entry),
            Task::Recv { .. } => {}
        }
        Ok(())
    }

    /// Adds the dependencies of operation `index` to the events that the rank waits for.
    fn wait(&mut self, rank: u32, index: u32) -> anyhow::Result<()> {
        let graph = self.graph;
        let nodes = &graph.ranks[rank as usize];
        let mut open = vec![index];
        let mut events = Vec::new();
        while let Some(index) = open.pop() {
            for after in &nodes[index as usize].after {
                if !self.ranks[rank as usize].met.insert((after.on, after.kind)) {
                    continue;
                }
                match (&nodes[after.on as usize].task, after.kind) {
                    (Task::Recv { .. }, kind) => {
                        // It may be posted only when this has happened.
                        open.push(after.on);
                        if kind == DependencyKind::Done {
                            let taken = self.course.taken[rank as usize].get(&after.on);
                            let id = taken.and_then(|send| self.sent.get(send));
                            let id = id.context("a receive that ends before its message")?;
                            events.push(Event::Received(*id));
                        }
                    }
                    (Task::Collective(entry), DependencyKind::Done) => {
                        let id = self.groups.get(&entry.key).copied().unwrap_or_default();
                        events.push(Event::Completed(id));
                    }
                    _ => {}
                }
            }
        }
        if !events.is_empty() && self.ranks[rank as usize].time_ps > 0 {
            // Waits begin behind the computation.
            self.marker(rank);
        }
        self.ranks[rank as usize].events.extend(events);
        Ok(())
    }

    /// The dependency and time of the next record. Of several events, all but the last become waits of their own.
    fn next(&mut self, rank: u32) -> (u8, u64, DepId) {
        while self.ranks[rank as usize].events.len() > 1 {
            let event = self.ranks[rank as usize].events.remove(0);
            let (dep, after) = dependency(Some(event));
            self.push_marker(rank, dep, 0, after);
        }
        let state = &mut self.ranks[rank as usize];
        let (dep, after) = dependency(state.events.pop());
        let time = std::mem::take(&mut state.time_ps) / self.ps_per_unit;
        (dep, time, after)
    }

    fn marker(&mut self, rank: u32) -> u64 {
        let (dep, time, after) = self.next(rank);
        self.push_marker(rank, dep, time, after)
    }

    fn push_marker(&mut self, rank: u32, dep: u8, time: u64, after: DepId) -> u64 {
        self.counts.markers += 1;
        self.push(rank, rank, 0, dep, time, after)
    }

    fn message(&mut self, rank: u32, to: u32, bytes: u64, traffic: u8) -> u64 {
        let (dep, time, after) = self.next(rank);
        self.push(rank, to, bytes, dep | traffic, time, after)
    }

    fn push(&mut self, src: u32, dst: u32, size: u64, dep: u8, time: u64, after: DepId) -> u64 {
        let id = self.counts.messages + self.counts.markers - u64::from(dep & TRAFFIC == 0);
        self.all.push(Record::Message(Message {
            id,
            src,
            dst,
            size,
            dep: Dep(dep),
            time,
            after,
        }));
        id
    }

    fn member(&mut self, rank: u32, entry: &Entry) {
        let Some((op, send, recv)) = sizes(entry) else {
            return;
        };
        let ranks: Arc<[u32]> = entry
            .members
            .iter()
            .map(|rank| RankId::get(*rank))
            .collect();
        let known = self.comms.iter().position(|comm| *comm == ranks);
        let comm = known.unwrap_or_else(|| {
            self.comms.push(ranks);
            self.comms.len() - 1
        });
        let next = self.groups.len() as u64;
        let id = *self.groups.entry(entry.key).or_insert(next);
        let (dep, time, after) = self.next(rank);
        self.counts.members += 1;
        self.all.push(Record::Member(Member {
            id,
            comm: comm as u32,
            op: op as u32,
            task: rank,
            send,
            recv,
            dep: Dep(dep),
            time,
            after,
        }));
    }

    /// Writes the computation and the waits at the end of a rank. VEF ends every rank with a marker.
    fn end(&mut self, rank: u32) {
        self.marker(rank);
    }

    fn finish(mut self, out: &mut impl Write) -> anyhow::Result<Counts> {
        self.counts.collectives = self.groups.len() as u64;
        self.counts.ps_per_unit = self.ps_per_unit;
        let header = Header {
            version: Version::Vef3,
            tasks: self.graph.ranks.len() as u32,
            messages: self.counts.messages + self.counts.markers,
            comms: self.comms.len() as u32,
            collectives: self.counts.collectives,
            members: self.counts.members,
            only_send_deps: false,
            ps_per_unit: self.ps_per_unit,
        };
        let comm = |members: &Arc<[u32]>| Comm {
            members: Arc::clone(members),
        };
        let comms: Vec<Comm> = self.comms.iter().map(comm).collect();
        let mut writer = Writer::new(out, &header, &comms)?;
        for record in &self.all {
            writer.record(record)?;
        }
        writer.finish()?;
        Ok(self.counts)
    }
}

fn dependency(event: Option<Event>) -> (u8, DepId) {
    match event {
        None => (0, DepId::None),
        Some(Event::Received(id)) => (DEP_RECEIVED, DepId::Message(id)),
        Some(Event::Completed(id)) => (DEP_COMPLETED, DepId::Collective(id)),
    }
}
