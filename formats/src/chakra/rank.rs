//! The nodes of a rank as operations of a schedule.

use std::sync::Arc;

use flitwise_base::place::{Place, Problem, Problems};
use hashbrown::HashMap;

use super::channels::{Channels, Options, Sizes};
use super::groups::{Defined, Groups, define};
use super::node::{Node, NodeType};
use super::ops::Ops;
use super::trace::Counts;
use crate::collective::Operation;
use crate::error::Error;
use crate::goal::{Builder, Task};
use std::path::Path;

/// Nanoseconds of a microsecond.
const NS: u64 = 1000;

/// The CPU of a schedule that carries out all communication of its rank: it never computes, so that any number of them are under
/// way.
pub(super) const COMMUNICATION: u8 = 0;

/// The nodes of a rank that were read so far.
pub(super) struct RankNodes {
    rank: u32,
    ranks: u32,
    file: Arc<Path>,
    drafts: Vec<Draft>,
    ids: HashMap<u64, u32>,
    /// The operation that waits, and the id of the node that it waits for.
    deps: Vec<(u32, u64)>,
    defined: Defined,
    /// Names of process groups.
    names: Vec<String>,
    /// Threads (false) and streams, which compute.
    cpus: HashMap<(bool, u64, u64), u8>,
    /// The kernels of each device and stream: their start and number.
    streams: HashMap<(u64, u64), Vec<(u64, u32)>>,
}

/// An operation to be.
pub(super) struct Draft {
    pub at: u64,
    pub cpu: u8,
    task: Task,
    /// Of a collective, its root as a rank, and its group as a name.
    root: Option<u64>,
}

impl RankNodes {
    pub fn new(rank: u32, ranks: u32, file: Arc<Path>) -> Self {
        Self {
            rank,
            ranks,
            file,
            drafts: Vec::new(),
            ids: HashMap::new(),
            deps: Vec::new(),
            defined: Defined::new(),
            names: Vec::new(),
            cpus: HashMap::new(),
            streams: HashMap::new(),
        }
    }

    fn problem(&self, at: u64, message: String) -> Problem {
        Problem {
            path: Arc::clone(&self.file),
            place: Some(Place::Byte(at)),
            message,
        }
    }

    /// Adds the node at offset `at`; what is wrong with it.
    pub fn add(&mut self, at: u64, node: &Node, counts: &mut Counts) -> Result<(), Problem> {
        let of_node = |problem: String| format!("node {}: {problem}", node.id);
        counts.nodes += 1;
        let index = self.drafts.len() as u32;
        if self.ids.insert(node.id, index).is_some() {
            let twice = of_node("an earlier node has its id; give each node one".into());
            return Err(self.problem(at, twice));
        }
        let added = self.draft(at, node, counts);
        let cpu = added.and_then(|()| self.cpu(node));
        match (cpu, self.drafts.last_mut()) {
            (Ok(cpu), Some(draft)) => draft.cpu = cpu,
            (Err(problem), _) => {
                // It keeps its number, so that others may wait for it.
                self.drafts.truncate(index as usize);
                self.push(at, NOTHING, None);
                return Err(self.problem(at, of_node(problem)));
            }
            (Ok(_), None) => {}
        }
        self.deps.extend(node.deps.iter().map(|dep| (index, *dep)));
        if let (true, Some(stream)) = (node.is_kernel(), node.stream) {
            let stream = self.streams.entry((node.device, stream)).or_default();
            stream.push((node.start_us, index));
        }
        Ok(())
    }

    fn push(&mut self, at: u64, task: Task, root: Option<u64>) {
        let cpu = COMMUNICATION;
        self.drafts.push(Draft {
            at,
            cpu,
            task,
            root,
        });
    }

    fn draft(&mut self, at: u64, node: &Node, counts: &mut Counts) -> Result<(), String> {
        let mut root = None;
        let task = match node.kind {
            NodeType::Invalid => NOTHING,
            NodeType::Metadata => {
                if let Some(inputs) = &node.groups {
                    define(inputs, &mut self.defined)?;
                }
                NOTHING
            }
            NodeType::Comp if node.duration_us == 0 && node.num_ops > 0 => Task::Work {
                operations: node.num_ops,
            },
            NodeType::Comp | NodeType::MemLoad | NodeType::MemStore | NodeType::Other => {
                let moves = node.kind != NodeType::Comp;
                counts.untimed += u64::from(moves && node.duration_us == 0);
                let time = node.duration_us.checked_mul(NS);
                let time = time.ok_or("its duration is beyond the range of time; correct it")?;
                Task::Calc { time }
            }
            NodeType::CommSend | NodeType::CommRecv => self.message(node)?,
            NodeType::CommColl => {
                root = node.comm.src;
                self.collective(node)?
            }
        };
        self.push(at, task, root);
        Ok(())
    }

    fn message(&self, node: &Node) -> Result<Task, String> {
        let (comm, rank) = (&node.comm, u64::from(self.rank));
        let bytes = comm.bytes.ok_or(NO_SIZE)?;
        let tag = u32::try_from(comm.tag.unwrap_or(0)).ok();
        let tag = tag.filter(|tag| *tag < u32::MAX);
        let tag = tag.ok_or("`comm_tag` is beyond 2^32 − 2; correct it")?;
        let is_send = node.kind == NodeType::CommSend;
        let ((own, own_name), (peer, name)) = if is_send {
            ((comm.src, "comm_src"), (comm.dst, "comm_dst"))
        } else {
            ((comm.dst, "comm_dst"), (comm.src, "comm_src"))
        };
        if own.is_some_and(|own| own != rank) {
            return Err(format!(
                "`{own_name}` is another rank than {rank}, whose file has the node; correct it"
            ));
        }
        let Some(peer) = peer else {
            return Err(format!(
                "no `{name}`, so that its partner is not known; add the attribute (`chakra_converter` leaves it out)"
            ));
        };
        let known = u32::try_from(peer).ok().filter(|peer| *peer < self.ranks);
        let peer = known.ok_or_else(|| {
            let last = self.ranks - 1;
            format!("`{name}` is {peer}, but the trace has the ranks 0 to {last}; correct it")
        })?;
        Ok(if is_send {
            let to = peer;
            Task::Send { bytes, to, tag }
        } else {
            Task::Recv {
                bytes,
                from: Some(peer),
                tag: Some(tag),
            }
        })
    }

    /// A collective whose group is a name so far.
    fn collective(&mut self, node: &Node) -> Result<Task, String> {
        let comm = &node.comm;
        let number = comm.operation;
        let number = number.ok_or("no `comm_type`, the operation of the collective; add it")?;
        let operation = Operation::of(number);
        let operation = operation.ok_or_else(|| {
            format!("`comm_type` is {number}, which is no collective (0 to 9); correct it")
        })?;
        let bytes = match (comm.bytes, operation) {
            (_, Operation::Barrier) => 0,
            (bytes, _) => bytes.ok_or(NO_SIZE)?,
        };
        if comm.some_dimensions {
            return Err("it is for some dimensions of ASTRA-sim's fabric (`involved_dim`); name its ranks with `pg_name`".into());
        }
        let name = comm.group.as_deref().unwrap_or_default();
        let known = self.names.iter().position(|known| known == name);
        let group = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Ok(Task::Collective {
            operation,
            bytes,
            group: group as u32,
            root: 0,
        })
    }

    /// The CPU of a schedule that carries the node out: one for each thread and each stream.
    fn cpu(&mut self, node: &Node) -> Result<u8, String> {
        if node.communicates() {
            return Ok(COMMUNICATION);
        }
        let key = match (node.on_cpu, node.stream) {
            (true, _) => (false, 0, node.thread),
            (false, stream) => (true, node.device, stream.unwrap_or(0)),
        };
        let next = u8::try_from(self.cpus.len() + 1);
        match (self.cpus.get(&key), next) {
            (Some(cpu), _) => Ok(*cpu),
            (None, Ok(next)) => {
                self.cpus.insert(key, next);
                Ok(next)
            }
            (None, Err(_)) => {
                Err("more than 255 threads and streams in one rank; join some".into())
            }
        }
    }

    /// Adds the operations to `builder`: one for each channel of a collective, and one more that waits for all of them.
    pub fn finish(
        mut self,
        builder: &mut Builder,
        groups: &mut Groups,
        (options, sizes): (&Options, &Sizes),
        counts: &mut Counts,
        (errors, warnings): (&mut Problems, &mut Problems),
    ) -> Result<(), Error> {
        let mut edges = self.edges(errors);
        counts.dependencies += edges.len() as u64;
        counts.streams = counts.streams.max(self.streams.len() as u32);
        self.streams(&mut edges, options.order_streams, counts, warnings);
        let numbers = self.numbers(groups);
        let (mut ops, mut channels) = (Ops::default(), Channels::new(options, sizes));
        for (index, draft) in (0..).zip(&self.drafts) {
            let resolved = self.resolve(draft, groups, &numbers);
            let tasks = resolved.and_then(|task| channels.split(task, groups));
            let tasks = tasks.unwrap_or_else(|problem| {
                let message = || format!("node {}: {problem}", self.id(index));
                errors.add(|| self.problem(draft.at, message()));
                vec![NOTHING]
            });
            let added = ops.add(builder, draft, &tasks);
            added.ok_or_else(|| self.full())?;
        }
        let added = ops.finish(builder, &edges);
        added.ok_or_else(|| self.full())?;
        builder.end_rank()
    }

    fn full(&self) -> Error {
        let message = "more than 2^24 nodes or 2^25 dependencies in one rank; record fewer steps of the program";
        Error::broken(Problem::whole(&self.file, message))
    }

    /// The id of an operation.
    fn id(&self, index: u32) -> u64 {
        let found = self.ids.iter().find(|(_, known)| **known == index);
        found.map_or(0, |(id, _)| *id)
    }

    /// The place of an operation.
    fn at(&self, index: u32) -> u64 {
        self.drafts.get(index as usize).map_or(0, |draft| draft.at)
    }

    /// The dependencies between operations, sorted.
    fn edges(&mut self, errors: &mut Problems) -> Vec<(u32, u32)> {
        let mut edges = Vec::with_capacity(self.deps.len());
        for (of, id) in std::mem::take(&mut self.deps) {
            match self.ids.get(&id) {
                Some(&on) if on != of => edges.push((of, on)),
                found => errors.add(|| {
                    let own = self.id(of);
                    let problem = match found {
                        Some(_) => format!("node {own} waits for itself; remove the dependency"),
                        None => format!(
                            "node {own} waits for node {id}, which is not in the file; add the node, or remove the dependency"
                        ),
                    };
                    self.problem(self.at(of), problem)
                }),
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Finds the kernels that no node waits for though others follow in their stream, and orders the streams if asked to.
    fn streams(
        &mut self,
        edges: &mut Vec<(u32, u32)>,
        order: bool,
        counts: &mut Counts,
        warnings: &mut Problems,
    ) {
        let mut awaited = vec![false; self.drafts.len()];
        for &(_, on) in edges.iter() {
            if let Some(awaited) = awaited.get_mut(on as usize) {
                *awaited = true;
            }
        }
        let mut streams: Vec<_> = std::mem::take(&mut self.streams).into_iter().collect();
        streams.sort_unstable_by_key(|(key, _)| *key);
        for ((device, stream), mut kernels) in streams {
            kernels.sort_unstable();
            let goes_on = kernels.iter().zip(kernels.iter().skip(1));
            for (&(_, kernel), &(_, next)) in goes_on {
                if order {
                    edges.push((next, kernel));
                } else if !awaited.get(kernel as usize).copied().unwrap_or(true) {
                    counts.lost += 1;
                    warnings.add(|| {
                        let (id, at) = (self.id(kernel), self.at(kernel));
                        self.problem(at, format!(
                            "node {id}, a kernel of stream {stream} of device {device}, has no successor, though others follow in its stream; \
                             order_streams = true (--order-streams) lets it finish first"
                        ))
                    });
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
    }

    /// The number of the group of each name.
    fn numbers(&self, groups: &mut Groups) -> Vec<Result<u32, String>> {
        let number = |name: &String| groups.number(self.rank, name, &self.defined);
        self.names.iter().map(number).collect()
    }

    /// The task of an operation, a collective with the number of its group and the position of its root.
    fn resolve(
        &self,
        draft: &Draft,
        groups: &Groups,
        numbers: &[Result<u32, String>],
    ) -> Result<Task, String> {
        let Task::Collective {
            operation,
            bytes,
            group: name,
            ..
        } = draft.task
        else {
            return Ok(draft.task);
        };
        let number = numbers.get(name as usize).cloned();
        let group = number.unwrap_or_else(|| Err("no process group".into()))?;
        let root = match draft.root.filter(|_| operation.has_root()) {
            None => 0,
            Some(root) => groups.position(group, root).ok_or_else(|| {
                format!("its root `comm_src`, rank {root}, is not in its process group; correct it")
            })?,
        };
        Ok(Task::Collective {
            operation,
            bytes,
            group,
            root,
        })
    }
}

/// A task that takes no time.
pub(super) const NOTHING: Task = Task::Calc { time: 0 };

const NO_SIZE: &str = "no `comm_size`, the bytes that the rank brings; add it";
