//! The processes of a program, their communicators, and what they waited for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::quote::quoted;

use super::record::Record;
use crate::chakra::{MadeRank, Node, NodeType, Set};
use crate::collective::Operation;
use crate::error::Error;
use crate::limits::MAX_TASKS;
use crate::member::Member;

/// Host and process.
type Process = (String, u64);

/// By id of a communicator: its number, and the ranks of its members.
type Members<'a> = BTreeMap<&'a str, (u64, Vec<u32>)>;

/// The logs as far as they are read.
#[derive(Debug, Default)]
pub(super) struct Program {
    processes: BTreeMap<Process, Log>,
    /// The communicators, by id.
    comms: BTreeMap<String, Comm>,
}

/// A process, which is a rank.
#[derive(Debug)]
struct Log {
    file: Arc<Path>,
    own_file: Option<std::path::PathBuf>,
    operations: Vec<Done>,
}

#[derive(Debug, Default)]
struct Comm {
    size: u32,
    /// The process of each rank, and the rank of each process.
    members: BTreeMap<u32, Process>,
    ranks: BTreeMap<Process, u32>,
    /// The first number of a collective in it, and the last one.
    numbers: Option<(u64, u64)>,
}

/// An operation that a process completed.
#[derive(Debug)]
struct Done {
    at: u64,
    comm: String,
    number: u64,
    what: What,
    bytes: u64,
    /// Times in microseconds.
    lasted: u64,
    stopped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Collective(Operation),
    /// A message to this member of the communicator.
    Send(u32),
    /// A message from it.
    Recv(u32),
}

impl Program {
    /// Adds a record of the log, whose line begins at byte `at`; or what is wrong with it.
    pub fn add(&mut self, log: &Member, at: u64, record: &Record<'_>) -> Result<(), String> {
        let (header, metadata) = (&record.header, &record.metadata);
        let process = (metadata.hostname.to_string(), metadata.pid);
        let comm = self.comms.entry(header.id.to_string()).or_default();
        if comm.members.is_empty() {
            comm.size = header.n_ranks;
        }
        if comm.size != header.n_ranks || header.rank >= comm.size || comm.size > MAX_TASKS {
            return Err(format!(
                "communicator {} has {} ranks here, {} before, and this is rank {}; correct the log",
                quoted(&header.id),
                header.n_ranks,
                comm.size,
                header.rank
            ));
        }
        let member = comm.members.entry(header.rank);
        let is_member = *member.or_insert_with(|| process.clone()) == process;
        let rank = comm.ranks.entry(process.clone()).or_insert(header.rank);
        if !is_member || *rank != header.rank {
            return Err(format!(
                "process {} of {} and rank {} of communicator {} do not belong together throughout; run one process for each GPU, \
                 and read the logs of one program",
                metadata.pid,
                quoted(&metadata.hostname),
                header.rank,
                quoted(&header.id)
            ));
        }
        let mut done = done(record)?;
        done.at = at;
        if let What::Collective(_) = done.what {
            let (first, last) = comm.numbers.unwrap_or((done.number, done.number));
            comm.numbers = Some((first.min(done.number), last.max(done.number)));
        }
        let log = self.processes.entry(process).or_insert_with(|| Log {
            file: Arc::clone(log.name()),
            own_file: log.own_file().map(Path::to_owned),
            operations: Vec::new(),
        });
        log.operations.push(done);
        Ok(())
    }

    /// The processes as ranks of a trace at `path`.
    pub fn finish(self, path: &Path) -> Result<Set, Error> {
        let refused = |problem: String| Err(Error::set(path, problem));
        if self.processes.is_empty() {
            return refused("has no log of NCCL Inspector with an operation".into());
        }
        for (id, comm) in &self.comms {
            if let Some(missing) = (0..comm.size).find(|rank| !comm.members.contains_key(rank)) {
                return refused(format!(
                    "communicator {} has {} ranks, but no log has its rank {missing}; copy the logs of all processes",
                    quoted(id),
                    comm.size
                ));
            }
        }
        let ranks = self.ranks();
        let members = |comm: &Comm| {
            comm.members
                .values()
                .map(|process| ranks[process])
                .collect()
        };
        let comms: Members = (self.comms.iter().zip(0..))
            .map(|((id, comm), number)| (id.as_str(), (number, members(comm))))
            .collect();
        let (mut made, mut missing) = (BTreeMap::new(), 0_u64);
        for (process, log) in &self.processes {
            let rank = ranks[process];
            missing = missing.saturating_add(self.missing(&log.operations));
            let of_rank = MadeRank {
                file: Arc::clone(&log.file),
                own_file: log.own_file.clone(),
                nodes: nodes(rank, &log.operations, &comms),
            };
            made.insert(rank, of_rank);
        }
        let groups = comms
            .into_iter()
            .map(|(id, (_, members))| (id.to_owned(), members));
        Ok(Set::made(
            path,
            made.into_values().collect(),
            groups.collect(),
            missing,
        ))
    }

    /// The rank of each process: in the communicator of all of them, if there is one, else by host and process.
    fn ranks(&self) -> BTreeMap<&Process, u32> {
        let all = self.processes.len();
        let world = self.comms.values().find(|comm| comm.members.len() == all);
        match world {
            Some(world) => world
                .ranks
                .iter()
                .map(|(process, rank)| (process, *rank))
                .collect(),
            None => self.processes.keys().zip(0..).collect(),
        }
    }

    /// How many collectives of its communicators a process has no record of, though others come before and behind.
    fn missing(&self, operations: &[Done]) -> u64 {
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for done in operations {
            if let What::Collective(_) = done.what {
                *found.entry(&done.comm).or_default() += 1;
            }
        }
        let missing = found.into_iter().filter_map(|(comm, found)| {
            let (first, last) = self.comms.get(comm)?.numbers?;
            // It has found one at least.
            Some((last - first).saturating_sub(found - 1))
        });
        missing.fold(0, u64::saturating_add)
    }
}

/// The operation of a record.
fn done(record: &Record<'_>) -> Result<Done, String> {
    let stopped = |end: Option<u64>| end.unwrap_or(record.metadata.dump_timestamp_us);
    let (number, what, bytes, lasted, stopped) = match (&record.coll_perf, &record.p2p_perf) {
        (Some(coll), None) => {
            let (operation, blocks) = operation(&coll.coll, record.header.n_ranks)?;
            let bytes = coll.coll_msg_size_bytes.checked_mul(blocks.into());
            let bytes = bytes.ok_or("its size is beyond 2^64 B; correct the log")?;
            let stopped = stopped(coll.event_trace_ts.coll_stop_ts);
            (
                coll.coll_sn,
                What::Collective(operation),
                bytes,
                coll.coll_exec_time_us,
                stopped,
            )
        }
        (None, Some(p2p)) => {
            let what = match &*p2p.p2p {
                "Send" => What::Send(p2p.p2p_peer),
                "Recv" => What::Recv(p2p.p2p_peer),
                other => return Err(format!("{} is neither Send nor Recv", quoted(other))),
            };
            if p2p.p2p_peer >= record.header.n_ranks {
                return Err(format!(
                    "its peer {} is not in the communicator",
                    p2p.p2p_peer
                ));
            }
            let stopped = stopped(p2p.event_trace_ts.p2p_stop_ts);
            (
                p2p.p2p_sn,
                what,
                p2p.p2p_msg_size_bytes,
                p2p.p2p_exec_time_us,
                stopped,
            )
        }
        _ => return Err("has not one of `coll_perf` and `p2p_perf`; copy the log again".into()),
    };
    Ok(Done {
        at: 0,
        comm: record.header.id.to_string(),
        number,
        what,
        bytes,
        lasted,
        stopped,
    })
}

/// The operation of this name, and how many blocks of the recorded size a rank brings: NCCL counts the elements of one.
fn operation(name: &str, members: u32) -> Result<(Operation, u32), String> {
    Ok(match name {
        "AllReduce" => (Operation::Allreduce, 1),
        "AllGather" => (Operation::Allgather, 1),
        "ReduceScatter" => (Operation::ReduceScatter, members),
        "Broadcast" => (Operation::Bcast, 1),
        "Reduce" => (Operation::Reduce, 1),
        "AlltoAll" => (Operation::Alltoall, members),
        "Gather" => (Operation::Gather, 1),
        "Scatter" => (Operation::Scatter, members),
        other => {
            return Err(format!(
                "{} is no collective that is known: AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AlltoAll, Gather, Scatter",
                quoted(other)
            ));
        }
    })
}

/// The nodes of a rank: its operations, and the computations between them.
fn nodes(rank: u32, operations: &[Done], comms: &Members<'_>) -> Vec<(u64, Node)> {
    let mut order = in_order(operations);
    order.sort_by_key(|(stopped, done)| (*stopped, done.number));
    let stops: Vec<u64> = order.iter().map(|(stopped, _)| *stopped).collect();
    let first = order
        .iter()
        .map(|(stopped, done)| stopped.saturating_sub(done.lasted))
        .min();
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes = Vec::with_capacity(2 * order.len());
    for (index, &(stopped, done)) in order.iter().enumerate() {
        let started = stopped.saturating_sub(done.lasted);
        // The one before, of all that had ended when it started.
        let ended = stops[..index]
            .partition_point(|stop| *stop <= started)
            .checked_sub(1);
        let own = last.insert(&done.comm, index);
        // A communicator carries out its collectives one by one.
        let own =
            own.filter(|own| matches!(done.what, What::Collective(_)) || stops[*own] <= started);
        let mut deps: Vec<usize> = ended.into_iter().chain(own).collect();
        deps.sort_unstable();
        deps.dedup();
        let deps: Vec<u64> = deps.into_iter().map(|dep| 2 * dep as u64 + 1).collect();
        let before = ended.map_or(first.unwrap_or(started), |ended| stops[ended]);
        let (comm, members) = &comms[done.comm.as_str()];
        let mut node = communication(rank, done, *comm, members);
        (node.id, node.start_us) = (2 * index as u64 + 1, started);
        match started.saturating_sub(before) {
            0 => node.deps = deps,
            computed => {
                let mut comp = Node::new(2 * index as u64, NodeType::Comp);
                (comp.deps, comp.start_us, comp.duration_us) = (deps, before, computed);
                comp.on_cpu = false;
                // Computations before operations of different communicators overlap.
                comp.stream = Some(*comm);
                node.deps = vec![comp.id];
                nodes.push((done.at, comp));
            }
        }
        nodes.push((done.at, node));
    }
    nodes
}

/// The operations with their ends, of which no later one of a communicator is earlier: a line may be written long after.
fn in_order(operations: &[Done]) -> Vec<(u64, &Done)> {
    let mut order: Vec<&Done> = operations.iter().collect();
    order.sort_by_key(|done| done.number);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let ended = |done| {
        let done: &Done = done;
        match done.what {
            What::Collective(_) => {
                let end = ends.entry(&done.comm).or_default();
                *end = done.stopped.max(*end);
                (*end, done)
            }
            _ => (done.stopped, done),
        }
    };
    order.into_iter().map(ended).collect()
}

/// The operation of a rank in communicator number `comm`, whose members are these ranks.
fn communication(rank: u32, done: &Done, comm: u64, members: &[u32]) -> Node {
    let kind = match done.what {
        What::Collective(_) => NodeType::CommColl,
        What::Send(_) => NodeType::CommSend,
        What::Recv(_) => NodeType::CommRecv,
    };
    let mut node = Node::new(0, kind);
    let own = Some(rank.into());
    let member = |peer: u32| members.get(peer as usize).map(|&rank| rank.into());
    node.comm.bytes = Some(done.bytes);
    node.comm.tag = Some(comm);
    match done.what {
        What::Collective(operation) => {
            node.comm.operation = Some(operation as u64);
            node.comm.group = Some(done.comm.clone());
        }
        What::Send(peer) => (node.comm.src, node.comm.dst) = (own, member(peer)),
        What::Recv(peer) => (node.comm.src, node.comm.dst) = (member(peer), own),
    }
    node
}
