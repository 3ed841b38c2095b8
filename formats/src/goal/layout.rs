//! The bytes of the binary form, packed and little-endian.
//!
//! The form in which text is kept on disk has a node that is longer by its line; all else is the same.

use flitwise_base::place::Place;

use super::record::{Dependency, DependencyKind, Op, Task};
use crate::collective::Operation;
use crate::error::Error;
use crate::limits::{BLOCK, MAX_GOAL_RANK_EDGES, MAX_GOAL_RANK_OPS};
use crate::store::StoreWriter;

/// First bytes of a file.
pub(super) const MAGIC: [u8; 8] = 0x107f_u64.to_le_bytes();
/// Offsets in the file count from here.
pub(super) const BASE: u64 = 8;
/// Bytes before the table of ranks: the magic, the number of ranks, the largest CPU and NIC.
pub(super) const HEAD: u64 = 14;
/// Bytes of a rank in the table: its start and its end.
pub(super) const ENTRY: u64 = 16;
/// Bytes before the roots of a rank: the numbers of its nodes and of its roots.
pub(super) const RANK_HEAD: u64 = 8;
/// Bytes of a node in a file.
pub(super) const NODE: usize = 39;
/// Bytes of a node with its line.
pub(super) const NODE_LINE: usize = NODE + 8;
/// Any source, any tag.
pub(super) const ANY: u32 = u32::MAX;

/// An operation as it is stored: with the operations that it waits for and that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its task.
    pub op: Op,
    /// Number of its dependencies. One without any may start at once.
    pub unmet: u32,
    /// Number of operations that wait for its end.
    pub done: u32,
    /// Number of operations that wait for its start.
    pub started: u32,
    /// Where the file has it.
    pub place: Place,
    /// Where the lists of both are among the successors of the rank.
    pub(super) lists: [u32; 2],
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// The two numbers at the start of a rank, and other pairs of numbers.
pub(super) fn pair(bytes: &[u8; 8]) -> [u32; 2] {
    [u32_at(bytes, 0), u32_at(bytes, 4)]
}

/// The numbers that `bytes` consist of.
#[inline]
pub(super) fn indices(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|four| u32_at(four, 0))
}

/// The places that the nodes of a schedule have besides the fields of the binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    /// Nothing: it is a file in the binary form.
    None,
    /// Their lines.
    Lines,
    /// The offsets of their bytes. They may be of tasks that no GOAL file has.
    Bytes,
}

impl Places {
    /// Bytes of a node.
    pub fn stride(self) -> usize {
        match self {
            Self::None => NODE,
            Self::Lines | Self::Bytes => NODE_LINE,
        }
    }
}

/// Reads a node of at least [`NODE`] bytes in a schedule of `ranks` ranks. What is wrong with it is
/// returned as the rest of a message.
#[inline]
pub(super) fn node(bytes: &[u8], ranks: u32, place: Place, places: Places) -> Result<Node, String> {
    let (kind, peer, size, tag) = (
        bytes[4],
        u32_at(bytes, 5),
        u64_at(bytes, 9),
        u32_at(bytes, 17),
    );
    let task = match kind {
        1 if peer < ranks && tag != ANY => Task::Send {
            bytes: size,
            to: peer,
            tag,
        },
        2 if peer < ranks || peer == ANY => Task::Recv {
            bytes: size,
            from: (peer != ANY).then_some(peer),
            tag: (tag != ANY).then_some(tag),
        },
        3 => Task::Calc { time: size },
        COLLECTIVE if places == Places::Bytes => Task::Collective {
            operation: Operation::of(bytes[22].into()).unwrap_or(Operation::Barrier),
            bytes: size,
            group: tag,
            root: peer,
        },
        WORK if places == Places::Bytes => Task::Work { operations: size },
        _ => return Err(wrong_node(kind, peer, ranks)),
    };
    let nic = if kind < 3 { bytes[22] } else { 0 };
    Ok(Node {
        op: Op {
            task,
            cpu: bytes[21],
            nic,
        },
        unmet: u32_at(bytes, 0),
        done: u32_at(bytes, 23),
        started: u32_at(bytes, 31),
        place,
        lists: [u32_at(bytes, 27), u32_at(bytes, 35)],
    })
}

/// Types of operations that no GOAL file has.
const COLLECTIVE: u8 = 4;
const WORK: u8 = 5;

#[cold]
fn wrong_node(kind: u8, peer: u32, ranks: u32) -> String {
    let name = match kind {
        1 => "send",
        2 => "recv",
        _ => {
            return format!(
                "expected an operation of type 1 (send), 2 (recv) or 3 (calc), found type {kind}; \
                 the file is damaged, or no GOAL schedule: make it again"
            );
        }
    };
    if peer < ranks {
        format!("{name} with any tag: only a recv may accept any tag; correct the schedule")
    } else {
        format!(
            "{name} with rank {peer}, but the schedule has the ranks 0 to {}; correct the rank",
            ranks.saturating_sub(1)
        )
    }
}

fn write_op(op: &Op, out: &mut Vec<u8>) {
    let mut nic = op.nic;
    let (kind, peer, size, tag) = match op.task {
        Task::Send { bytes, to, tag } => (1, to, bytes, tag),
        Task::Recv { bytes, from, tag } => (2, from.unwrap_or(ANY), bytes, tag.unwrap_or(ANY)),
        Task::Calc { time } => (3, 0, time, 0),
        Task::Collective {
            operation,
            bytes,
            group,
            root,
        } => {
            nic = operation as u8;
            (COLLECTIVE, root, bytes, group)
        }
        Task::Work { operations } => (WORK, 0, operations, 0),
    };
    out.push(kind);
    out.extend(peer.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(tag.to_le_bytes());
    out.extend([op.cpu, nic]);
}

/// Adds the bytes of a node whose successors begin at `at`.
pub(super) fn write_node(node: &Node, at: u32, out: &mut Vec<u8>) {
    out.extend(node.unmet.to_le_bytes());
    write_op(&node.op, out);
    for number in [node.done, at, node.started, at.wrapping_add(node.done)] {
        out.extend(number.to_le_bytes());
    }
}

/// The operations and dependencies of one rank, until all of them are known.
#[derive(Debug, Default)]
pub(super) struct RankBytes {
    /// Operations, with their lines.
    ops: Vec<(Op, u64)>,
    /// Who waits, with the kind in the highest bit, and for whom.
    edges: Vec<(u32, u32)>,
}

const STARTED: u32 = 1 << 31;

/// The dependencies of a rank, by the operation that is waited for.
struct Lists {
    /// Per operation, for how many it waits.
    unmet: Vec<u32>,
    /// Per operation, where its successors begin: first those that wait for its end, then those that wait for its
    /// start.
    starts: Vec<u32>,
    successors: Vec<u32>,
}

impl RankBytes {
    /// Adds an operation.
    pub fn op(&mut self, op: Op, line: u64) -> Result<u32, &'static str> {
        if self.ops.len() == MAX_GOAL_RANK_OPS {
            return Err(
                "more than 2^24 operations in one rank; convert the schedule to its binary form, where a rank \
                 may have more",
            );
        }
        self.ops.push((op, line));
        Ok(self.ops.len() as u32 - 1)
    }

    /// Adds a dependency between operations of the rank.
    pub fn dependency(&mut self, d: Dependency) -> Result<(), &'static str> {
        if self.edges.len() == MAX_GOAL_RANK_EDGES {
            return Err(
                "more than 2^25 dependencies in one rank; convert the schedule to its binary form, where a rank \
                 may have more",
            );
        }
        let kind = if d.kind == DependencyKind::Started {
            STARTED
        } else {
            0
        };
        self.edges.push((d.of | kind, d.on));
        Ok(())
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    fn lists(&self) -> Lists {
        let n = self.ops.len();
        let mut unmet = vec![0u32; n];
        let mut starts = vec![0u32; 2 * n + 1];
        let slot = |&(of, on): &(u32, u32)| 2 * on as usize + usize::from(of & STARTED != 0);
        for edge in &self.edges {
            unmet[(edge.0 & !STARTED) as usize] += 1;
            starts[slot(edge) + 1] += 1;
        }
        for i in 0..2 * n {
            starts[i + 1] += starts[i];
        }
        let mut successors = vec![0u32; self.edges.len()];
        let mut next = starts.clone();
        for edge in &self.edges {
            let at = &mut next[slot(edge)];
            successors[*at as usize] = edge.0 & !STARTED;
            *at += 1;
        }
        Lists {
            unmet,
            starts,
            successors,
        }
    }

    /// Writes the bytes of the rank with lines, after which it is empty.
    pub fn finish(&mut self, writer: &mut StoreWriter) -> Result<(), Error> {
        let n = self.ops.len();
        let Lists {
            unmet,
            starts,
            successors,
        } = self.lists();
        let roots = unmet.iter().filter(|&&n| n == 0).count();
        let mut out = Vec::new();
        let mut flush = |out: &mut Vec<u8>, all: bool| {
            if all || out.len() > BLOCK {
                writer.write(out)?;
                out.clear();
            }
            Ok::<(), Error>(())
        };
        out.extend((n as u32).to_le_bytes());
        out.extend((roots as u32).to_le_bytes());
        for (i, _) in unmet.iter().enumerate().filter(|(_, n)| **n == 0) {
            out.extend((i as u32).to_le_bytes());
            flush(&mut out, false)?;
        }
        for (i, &(op, line)) in self.ops.iter().enumerate() {
            let at = &starts[2 * i..2 * i + 3];
            let node = Node {
                op,
                unmet: unmet[i],
                done: at[1] - at[0],
                started: at[2] - at[1],
                place: Place::Line(line),
                lists: [at[0], at[1]],
            };
            write_node(&node, at[0], &mut out);
            out.extend(line.to_le_bytes());
            flush(&mut out, false)?;
        }
        for index in &successors {
            out.extend(index.to_le_bytes());
            flush(&mut out, false)?;
        }
        flush(&mut out, true)?;
        self.ops.clear();
        self.edges.clear();
        Ok(())
    }
}
