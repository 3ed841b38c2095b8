//! Writes operations as a TI trace: calls of MPI, one after the other, in one file.

use super::expand::beside;
use super::graph::{Brings, Entry, Graph, Key, Losses, Task};
use super::ideal::Course;
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use flitwise_base::units::{PS_PER_S, Ratio};
use flitwise_formats::goal::DependencyKind;
use flitwise_formats::ti::{
    Action, Alltoallv, Collective, Datatype, Elements, Mode, Request, Requests, write,
};
use hashbrown::{HashMap, HashSet};
use std::io::Write;

/// The collectives that a TI trace can have: collectives of all ranks, for which their ranks wait at once.
pub(super) fn kept(graph: &Graph) -> HashSet<Key> {
    let n = graph.ranks.len();
    let (mut kept, mut others) = (HashSet::new(), HashSet::new());
    for nodes in &graph.ranks {
        let beside = beside(nodes);
        for (index, node) in (0..).zip(nodes) {
            let Task::Collective(entry) = &node.task else {
                continue;
            };
            let world = entry.members.len() == n
                && (0..).zip(entry.members.iter()).all(|(k, m)| m.get() == k);
            if world && !beside.contains(&index) {
                kept.insert(entry.key)
            } else {
                others.insert(entry.key)
            };
        }
    }
    kept.retain(|key| !others.contains(key));
    kept
}

/// Writes operations in the order of `course`, rank by rank. Returns the number of lines.
pub(super) fn write(
    graph: &Graph,
    course: &Course,
    host_speed: Ratio,
    losses: &mut Losses,
    out: &mut impl Write,
) -> anyhow::Result<u64> {
    let mut orders = vec![Vec::new(); graph.ranks.len()];
    for &(rank, node) in &course.starts {
        orders[rank as usize].push(node);
    }
    let mut lines = 0;
    for (number, order) in (0..).zip(orders) {
        let nodes = &graph.ranks[number as usize];
        let mut rank = Rank {
            number,
            flops_per_ps: host_speed.to_f64() / PS_PER_S as f64,
            out: &mut *out,
            ps: 0,
            held: None,
            requests: Requests::default(),
            nodes: HashMap::new(),
            names: HashMap::new(),
            waited: HashSet::new(),
            extra_waits: 0,
            lines: 0,
        };
        rank.line(&Action::Init)?;
        for index in order {
            let node = &nodes[index as usize];
            let after = node.after.iter();
            for after in after.filter(|after| after.kind == DependencyKind::Done) {
                let message = match nodes[after.on as usize].task {
                    Task::Send { .. } | Task::Recv { .. } => true,
                    Task::Calc { .. } | Task::Collective(_) => false,
                };
                if message {
                    rank.wait(after.on)?;
                }
            }
            rank.add(index, &node.task)?;
        }
        rank.end()?;
        losses.add(
            rank.extra_waits,
            "waits also name an older request of the same message",
        );
        lines += rank.lines;
    }
    Ok(lines)
}

struct Rank<'a, W: Write> {
    number: u32,
    flops_per_ps: f64,
    out: &'a mut W,
    /// Computation that is not written yet.
    ps: u64,
    /// A send or receive that is not written yet: with a wait behind it, it is one that blocks.
    held: Option<(u32, Action)>,
    requests: Requests,
    /// Operations by number of their request, and how waits name them.
    nodes: HashMap<u64, u32>,
    names: HashMap<u32, Request>,
    waited: HashSet<u32>,
    extra_waits: u64,
    lines: u64,
}

impl<W: Write> Rank<'_, W> {
    fn line(&mut self, action: &Action) -> anyhow::Result<()> {
        self.lines += 1;
        Ok(write::line(self.out, self.number, action)?)
    }

    /// Writes the send or receive that is held back, and the computation behind it.
    fn flush(&mut self) -> anyhow::Result<()> {
        if let Some((node, action)) = self.held.take() {
            if let Some(message) = self.message(&action) {
                let number = self.requests.start(message);
                self.nodes.insert(number, node);
            }
            self.line(&action)?;
        }
        if self.ps > 0 {
            let flops = std::mem::take(&mut self.ps) as f64 * self.flops_per_ps;
            self.line(&Action::Compute { flops })?;
        }
        Ok(())
    }

    /// The request by which a wait names a send or receive.
    fn message(&self, action: &Action) -> Option<Request> {
        let me = Some(self.number);
        match *action {
            Action::Send { to, tag, .. } => Some(Request {
                src: me,
                dst: to,
                tag: Some(tag),
            }),
            Action::Recv { from, tag, .. } => Some(Request {
                src: from,
                dst: me,
                tag,
            }),
            _ => None,
        }
    }

    /// Waits for a send or receive, unless the rank has done so.
    fn wait(&mut self, node: u32) -> anyhow::Result<()> {
        if !self.waited.insert(node) {
            return Ok(());
        }
        if self.ps == 0
            && let Some((_, mut action)) = self.held.take_if(|(held, _)| *held == node)
        {
            if let Action::Send { immediate, .. } | Action::Recv { immediate, .. } = &mut action {
                *immediate = false;
            }
            return self.line(&action);
        }
        self.flush()?;
        let Some(message) = self.names.get(&node).copied() else {
            return Ok(());
        };
        // A wait means the oldest request of its message.
        while let Some(number) = self.requests.take(message) {
            self.line(&Action::Wait(message))?;
            let Some(taken) = self.nodes.remove(&number).filter(|&taken| taken != node) else {
                break;
            };
            self.extra_waits += 1;
            self.waited.insert(taken);
        }
        Ok(())
    }

    fn add(&mut self, node: u32, task: &Task) -> anyhow::Result<()> {
        let immediate = true;
        let action = match *task {
            Task::Calc { ps } => {
                self.ps = self.ps.saturating_add(ps);
                return Ok(());
            }
            Task::Send { to, tag, bytes, .. } => Action::Send {
                to: Some(to),
                tag,
                elements: of_bytes(bytes),
                mode: Mode::Standard,
                immediate,
            },
            Task::Recv {
                from, tag, bytes, ..
            } => Action::Recv {
                from,
                tag,
                elements: of_bytes(bytes),
                immediate,
            },
            Task::Collective(ref entry) => {
                self.flush()?;
                let call = collective(entry);
                let immediate = false;
                return self.line(&Action::Collective { call, immediate });
            }
        };
        self.flush()?;
        if let Some(message) = self.message(&action) {
            self.names.insert(node, message);
        }
        self.held = Some((node, action));
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.flush()?;
        if !self.requests.is_empty() {
            let count = Some(self.requests.len() as u64);
            self.line(&Action::WaitAll { count })?;
        }
        self.line(&Action::Finalize)
    }
}

fn of_bytes(count: u64) -> Elements {
    let datatype = Datatype::BYTE;
    Elements { count, datatype }
}

fn collective(entry: &Entry) -> Collective {
    let n = entry.members.len();
    match &entry.brings {
        Brings::All(collective) => of_kind(&collective.kind, entry.me),
        Brings::Own(Contribution::Known(kind)) => of_kind(kind, entry.me),
        Brings::Own(Contribution::Gatherv { root, blocks }) => {
            let (recv, own) = rooted(blocks, *root, n);
            gatherv(*root, recv, own)
        }
        Brings::Own(Contribution::Scatterv { root, blocks }) => {
            let (send, own) = rooted(blocks, *root, n);
            scatterv(*root, send, own)
        }
        Brings::Own(Contribution::Alltoallv { send, receive }) => {
            alltoallv(send.clone(), receive.clone())
        }
    }
}

/// All blocks, as far as a member knows them, and its own.
fn rooted(blocks: &RootedBlocks, root: u32, n: usize) -> (Box<[u64]>, u64) {
    match blocks {
        RootedBlocks::All(all) => {
            let own = all.get(root as usize).copied().unwrap_or(0);
            (all.clone(), own)
        }
        RootedBlocks::Own(own) => (vec![0; n].into(), *own),
    }
}

fn gatherv(root: u32, recv: Box<[u64]>, own: u64) -> Collective {
    Collective::Gatherv {
        send: of_bytes(own),
        recv,
        recv_type: Datatype::BYTE,
        root,
    }
}

fn scatterv(root: u32, send: Box<[u64]>, own: u64) -> Collective {
    Collective::Scatterv {
        send,
        send_type: Datatype::BYTE,
        recv: of_bytes(own),
        root,
    }
}

fn alltoallv(send: Box<[u64]>, recv: Box<[u64]>) -> Collective {
    let sum = |sizes: &[u64]| {
        sizes
            .iter()
            .fold(0_u64, |sum, size| sum.saturating_add(*size))
    };
    Collective::Alltoallv(Box::new(Alltoallv {
        send_buffer: sum(&send),
        recv_buffer: sum(&recv),
        send,
        recv,
        send_type: Datatype::BYTE,
        recv_type: Datatype::BYTE,
    }))
}

/// The size that all have, if they have one.
fn equal(blocks: &[u64]) -> Option<u64> {
    let first = *blocks.first()?;
    blocks.iter().all(|&block| block == first).then_some(first)
}

fn of_kind(kind: &CollectiveKind, me: u32) -> Collective {
    let own = |blocks: &[u64]| blocks.get(me as usize).copied().unwrap_or(0);
    let flops = 0.0;
    match *kind {
        CollectiveKind::Barrier => Collective::Barrier,
        CollectiveKind::Bcast { root, bytes } => Collective::Bcast {
            elements: of_bytes(bytes),
            root,
        },
        CollectiveKind::Reduce { root, bytes } => Collective::Reduce {
            elements: of_bytes(bytes),
            flops,
            root,
        },
        CollectiveKind::Allreduce { bytes } => Collective::Allreduce {
            elements: of_bytes(bytes),
            flops,
        },
        CollectiveKind::Scan { bytes } => Collective::Scan {
            elements: of_bytes(bytes),
            flops,
        },
        CollectiveKind::Exscan { bytes } => Collective::Exscan {
            elements: of_bytes(bytes),
            flops,
        },
        CollectiveKind::Gather { root, ref blocks } => match equal(blocks) {
            Some(bytes) => {
                let (send, recv) = (of_bytes(bytes), of_bytes(bytes));
                Collective::Gather { send, recv, root }
            }
            None => gatherv(root, blocks.clone().into(), own(blocks)),
        },
        CollectiveKind::Scatter { root, ref blocks } => match equal(blocks) {
            Some(bytes) => {
                let (send, recv) = (of_bytes(bytes), of_bytes(bytes));
                Collective::Scatter { send, recv, root }
            }
            None => scatterv(root, blocks.clone().into(), own(blocks)),
        },
        CollectiveKind::Allgather { ref blocks } => match equal(blocks) {
            Some(bytes) => {
                let (send, recv) = (of_bytes(bytes), of_bytes(bytes));
                Collective::Allgather { send, recv }
            }
            None => Collective::Allgatherv {
                send: of_bytes(own(blocks)),
                recv: blocks.clone().into(),
                recv_type: Datatype::BYTE,
            },
        },
        CollectiveKind::ReduceScatter { ref blocks } => Collective::ReduceScatter {
            recv: blocks.clone().into(),
            datatype: Datatype::BYTE,
            flops,
        },
        CollectiveKind::Alltoall { ref blocks } => alltoall(blocks, me),
    }
}

fn alltoall(blocks: &[AlltoallBlocks], me: u32) -> Collective {
    let same = blocks
        .first()
        .filter(|first| blocks.iter().all(|b| b == *first));
    if let Some(AlltoallBlocks::Each(bytes)) = same {
        let (send, recv) = (of_bytes(*bytes), of_bytes(*bytes));
        return Collective::Alltoall { send, recv };
    }
    let ours = blocks.get(me as usize);
    let sent = (0..)
        .zip(blocks)
        .map(|(j, _)| ours.map_or(0, |ours| ours.to(j)));
    let received = blocks.iter().map(|theirs| theirs.to(me));
    alltoallv(sent.collect(), received.collect())
}
