//! Test support: random valid traces, and where the recorded ones are.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod ideal;

use std::collections::VecDeque;

use flitwise_formats::vef::{
    Comm, Dep, DepId, Header, Member, Message, Op, Record, Version, write,
};

/// A trace in memory.
#[derive(Debug, Clone)]
pub struct Trace {
    pub header: Header,
    pub comms: Vec<Comm>,
    pub records: Vec<Record>,
}

impl Trace {
    /// Reads a whole file.
    pub fn read(path: &std::path::Path) -> Self {
        let reader = flitwise_formats::vef::Reader::open(path).unwrap();
        let (header, comms) = (reader.header().clone(), reader.comms().to_vec());
        let records = reader.map(|r| r.unwrap().1).collect();
        Self {
            header,
            comms,
            records,
        }
    }

    /// Writes it into a file of its own.
    pub fn file(&self) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), self.text()).unwrap();
        file
    }

    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write::header(&mut out, &self.header).unwrap();
        for (k, comm) in (0..).zip(&self.comms) {
            write::comm(&mut out, k, comm).unwrap();
        }
        for record in &self.records {
            write::record(&mut out, record).unwrap();
        }
        out
    }
}

/// xorshift64*, so that a seed gives the same trace everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }
}

#[derive(Default, Clone)]
struct Task {
    /// Dependency of the next record.
    next: Option<(u8, DepId)>,
    /// Messages sent to this task and not awaited.
    inbox: Vec<u64>,
    /// Collectives to enter: id, communicator, operation, send, recv.
    owed: VecDeque<(u64, u32, u32, u64, u64)>,
    /// Entered collectives that others have not entered.
    inside: Option<u64>,
}

/// A random valid VEF3 trace of `steps` steps.
pub fn generate(seed: u64, tasks: u32, steps: u32) -> Trace {
    let mut r = Random(seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1);
    let mut comms = vec![Comm {
        members: (0..tasks).collect(),
    }];
    if tasks > 2 {
        comms.push(Comm {
            members: (0..tasks).rev().filter(|t| t % 2 == 0).collect(),
        });
    }
    let mut t: Vec<Task> = vec![Task::default(); tasks as usize];
    let mut missing: Vec<usize> = Vec::new();
    let mut records = Vec::new();
    let mut ids = 0;
    let message = |s: &mut Task, r: &mut Random, src, dst, size, ids: &mut u64| {
        let (kind, after) = s.next.take().unwrap_or((0, DepId::None));
        let id = *ids;
        *ids += 1;
        let traffic = src != dst || (size > 0 && r.below(2) == 0);
        let dep = Dep(kind | if traffic { 4 } else { 0 });
        s.next = Some((1, DepId::Message(id)));
        let time = r.below(5_000_000_000);
        Record::Message(Message {
            id,
            src,
            dst,
            size,
            dep,
            time,
            after,
        })
    };
    for step in 0..steps + 4 * tasks * steps.min(50) {
        let draining = step >= steps;
        let at = r.below(u64::from(tasks)) as usize;
        let task = at as u32;
        if t[at].inside.is_some_and(|g| missing[g as usize] > 0) {
            continue;
        }
        t[at].inside = None;
        match r.below(if draining { 2 } else { 6 }) {
            0 | 1 if !t[at].owed.is_empty() => {
                let Some((id, comm, op, send, recv)) = t[at].owed.pop_front() else {
                    continue;
                };
                let (dep, after) = t[at].next.take().unwrap_or((0, DepId::None));
                missing[id as usize] -= 1;
                t[at].inside = Some(id);
                t[at].next = Some((3, DepId::Collective(id)));
                let (dep, time) = (Dep(dep), r.below(1000));
                records.push(Record::Member(Member {
                    id,
                    comm,
                    op,
                    task,
                    send,
                    recv,
                    dep,
                    time,
                    after,
                }));
            }
            2 if !t[at].inbox.is_empty() => {
                // Often the latest, which a shuffle of lines easily puts behind its wait.
                let n = t[at].inbox.len();
                let back = r.below(3).pow(2) as usize;
                let pick = n.saturating_sub(1 + back);
                let awaited = t[at].inbox.swap_remove(pick);
                let marker = message(&mut t[at], &mut r, task, task, 0, &mut ids);
                records.push(marker);
                t[at].next = Some((2, DepId::Message(awaited)));
            }
            3 if r.below(4) == 0 => {
                let comm = r.below(comms.len() as u64) as u32;
                let members = &comms[comm as usize].members;
                let n = members.len() as u64;
                let op = r.below(8) as u32;
                let (root, x) = (r.below(n), r.below(3) * 8);
                let id = missing.len() as u64;
                missing.push(members.len());
                // Blocks of the same size, or one for each member, which may be empty.
                let even = r.below(2) == 0;
                let draw = |r: &mut Random| if even { x } else { r.below(3).pow(3) };
                let blocks: Vec<u64> = members.iter().map(|_| draw(&mut r)).collect();
                let sum: u64 = blocks.iter().sum();
                for ((i, &m), &own) in (0..).zip(&**members).zip(&blocks) {
                    let at_root = i == root;
                    let (send, recv) = match (Op::from_code(op).unwrap(), at_root) {
                        (Op::Bcast, true) | (Op::Reduce, false) => (x, 0),
                        (Op::Bcast, false) | (Op::Reduce, true) => (0, x),
                        (Op::Allreduce, _) => (x, x),
                        (Op::Gather, true) | (Op::Allgather, _) => (own, sum),
                        (Op::Gather, false) => (own, 0),
                        (Op::Scatter, true) => (sum, own),
                        (Op::Scatter, false) => (0, own),
                        (Op::Barrier, _) => (0, 0),
                        (Op::Alltoall, _) => (own, r.below(2)),
                    };
                    t[m as usize].owed.push_back((id, comm, op, send, recv));
                }
            }
            4 | 5 => {
                let dst = r.below(u64::from(tasks)) as u32;
                let size = r.below(1 << 20) + u64::from(dst == task);
                let record = message(&mut t[at], &mut r, task, dst, size, &mut ids);
                records.push(record);
                t[dst as usize].inbox.push(ids - 1);
            }
            _ => {}
        }
    }
    // Whatever is owed is entered in order of id, which nothing can block.
    loop {
        let next = (0..tasks as usize)
            .filter(|&at| t[at].inside.is_none_or(|g| missing[g as usize] == 0))
            .filter_map(|at| t[at].owed.front().map(|o| (o.0, at)))
            .min();
        let Some((_, at)) = next else { break };
        let Some((id, comm, op, send, recv)) = t[at].owed.pop_front() else {
            break;
        };
        let (dep, after) = t[at].next.take().unwrap_or((0, DepId::None));
        missing[id as usize] -= 1;
        t[at].inside = Some(id);
        t[at].next = Some((3, DepId::Collective(id)));
        let (task, dep, time) = (at as u32, Dep(dep), 1);
        records.push(Record::Member(Member {
            id,
            comm,
            op,
            task,
            send,
            recv,
            dep,
            time,
            after,
        }));
    }
    for task in 0..tasks {
        let at = task as usize;
        let end = message(&mut t[at], &mut r, task, task, 0, &mut ids);
        records.push(end);
    }
    // The recorder's clock: lines of different tasks in another order.
    for _ in 0..80 * records.len() {
        let i = r.below(records.len().max(2) as u64 - 1) as usize;
        if i + 1 < records.len() && records[i].task() != records[i + 1].task() {
            records.swap(i, i + 1);
        }
    }
    // Ids in no order.
    let mut renamed: Vec<u64> = (0..ids).collect();
    for i in (1..renamed.len()).rev() {
        renamed.swap(i, r.below(i as u64 + 1) as usize);
    }
    let new = |after: &mut DepId| {
        if let DepId::Message(id) = after {
            *id = renamed[*id as usize];
        }
    };
    for record in &mut records {
        match record {
            Record::Message(m) => {
                m.id = renamed[m.id as usize];
                new(&mut m.after);
            }
            Record::Member(m) => new(&mut m.after),
        }
    }
    let members = records.iter().filter(|r| matches!(r, Record::Member(_)));
    Trace {
        header: Header {
            version: Version::Vef3,
            tasks,
            messages: ids,
            comms: comms.len() as u32,
            collectives: missing.len() as u64,
            members: members.count() as u64,
            only_send_deps: false,
            ps_per_unit: 1000,
        },
        comms,
        records,
    }
}
