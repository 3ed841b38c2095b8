//! Collectives: the operation codes and what the two size fields mean.
//!
//! | op | collective | send / recv fields |
//! |---|---|---|
//! | 0 | Bcast | root X/0, others 0/X |
//! | 1 | Reduce | root 0/X, others X/0 |
//! | 2 | Allreduce | X/X |
//! | 3 | Gather(v) | root Xi/SUM, others Xi/0 (SUM includes the root's part) |
//! | 4 | Scatter(v) | root SUM/Xi, others 0/Xi |
//! | 5 | Allgather(v) | Xi/SUM |
//! | 6 | Barrier | 0/0 |
//! | 7 | Alltoall | recv 0: `send` bytes to each; recv 1: `send` bytes in total |
//!
//! A file does not name the root: the reader deduces it from the sizes.

use hashbrown::HashMap;

use super::record::{Comm, Member};
use super::sized::{Part, Sizes};
use crate::collective::{AlltoallBlocks, CollectiveKind};

/// Operation of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "they are MPI's names")]
pub enum Op {
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Barrier,
    Alltoall,
}

impl Op {
    /// All, by code.
    pub const ALL: [Self; 8] = [
        Self::Bcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Barrier,
        Self::Alltoall,
    ];

    /// Operation of a code in the file.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// MPI's name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::Barrier => "barrier",
            Self::Alltoall => "alltoall",
        }
    }
}

/// The lines of one collective, as they are read.
#[derive(Debug, Clone)]
pub struct Gathering {
    comm: u32,
    op: Op,
    /// By position in the communicator: line, send, recv. It grows with the lines read, not
    /// with the communicator.
    parts: HashMap<u32, Part>,
}

/// The meaning of all lines of one collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Index of the communicator.
    pub comm: u32,
    /// Operation and sizes.
    pub kind: CollectiveKind,
    /// The first member counts as the root, because all sizes are zero.
    pub root_guessed: bool,
}

/// Why a collective's lines don't fit together: a line number and the reason.
pub type Misfit = (u64, String);

impl Gathering {
    /// Starts with a collective's first line, which is not added yet.
    ///
    /// # Errors
    /// If the operation is unknown.
    pub fn new(line: u64, m: &Member) -> Result<Self, Misfit> {
        let Some(op) = Op::from_code(m.op) else {
            return Err((
                line,
                format!(
                    "unknown collective operation {}; the codes are 0 (bcast) to 7 (alltoall)",
                    m.op
                ),
            ));
        };
        Ok(Self {
            comm: m.comm,
            op,
            parts: HashMap::new(),
        })
    }

    /// Index of the communicator.
    #[must_use]
    pub fn comm(&self) -> u32 {
        self.comm
    }

    /// The operation.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Number of members whose lines were read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True if no line was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if the line of the member at `position` was read.
    #[must_use]
    pub fn has(&self, position: u32) -> bool {
        self.parts.contains_key(&position)
    }

    /// Adds the line of the member at `position`.
    ///
    /// # Errors
    /// If it contradicts the lines before it or the member has a line already.
    pub fn add(&mut self, line: u64, position: u32, m: &Member) -> Result<(), Misfit> {
        let g = m.id;
        if m.comm != self.comm {
            let first = self.comm;
            return Err((
                line,
                format!("G{g} is on C{} here, but on C{first} before", m.comm),
            ));
        }
        if Op::from_code(m.op) != Some(self.op) {
            let (first, name) = (self.op as u8, self.op.name());
            return Err((
                line,
                format!(
                    "G{g} is operation {} here, but {first} ({name}) before",
                    m.op
                ),
            ));
        }
        if let Some((first, ..)) = self.parts.get(&position) {
            return Err((
                line,
                format!("task {} enters G{g} twice: first in line {first}", m.task),
            ));
        }
        self.parts.insert(position, (line, m.send, m.recv));
        Ok(())
    }

    /// The meaning of the lines; call it when the lines of all members of `comm` are added.
    ///
    /// # Errors
    /// If the sizes contradict each other or a member is missing.
    pub fn resolve(&self, g: u64, comm: &Comm) -> Result<Resolved, Misfit> {
        let parts = self.in_order(g, comm)?;
        let sizes = Sizes {
            g,
            op: self.op,
            parts: &parts,
        };
        let mut root_guessed = false;
        let mut root = |at: Option<u32>| {
            root_guessed = at.is_none() && parts.len() > 1;
            at.unwrap_or(0)
        };
        let kind = match self.op {
            Op::Bcast => bcast(&sizes, root(sizes.root(|&(_, send, _)| send)?))?,
            Op::Reduce => reduce(&sizes, root(sizes.root(|&(_, _, recv)| recv)?))?,
            Op::Allreduce => {
                let bytes = sizes.at(0).1;
                sizes.all(
                    |(_, s, r)| s == bytes && r == bytes,
                    "the same size for all",
                )?;
                CollectiveKind::Allreduce { bytes }
            }
            Op::Gather => gather(&sizes, root(sizes.root(|&(_, _, recv)| recv)?))?,
            Op::Scatter => scatter(&sizes, root(sizes.root(|&(_, send, _)| send)?))?,
            Op::Allgather => allgather(&sizes)?,
            Op::Barrier => {
                sizes.all(|(_, s, r)| s == 0 && r == 0, "sizes of 0")?;
                CollectiveKind::Barrier
            }
            Op::Alltoall => alltoall(&sizes)?,
        };
        Ok(Resolved {
            comm: self.comm,
            kind,
            root_guessed,
        })
    }

    fn in_order(&self, g: u64, comm: &Comm) -> Result<Vec<Part>, Misfit> {
        let positions = 0..comm.members.len() as u32;
        let parts: Option<Vec<_>> = positions.map(|p| self.parts.get(&p).copied()).collect();
        parts.filter(|p| !p.is_empty()).ok_or_else(|| {
            let line = self.parts.values().map(|p| p.0).max().unwrap_or(0);
            let missing = comm.members.iter().zip(0..).find(|&(_, p)| !self.has(p));
            let missing = missing.map_or(0, |(&task, _)| task);
            let (have, of) = (self.len(), comm.members.len());
            let name = self.op.name();
            let text = format!(
                "G{g} ({name} on C{}) has lines of {have} of {of} members: task {missing} is missing",
                self.comm
            );
            (line, text)
        })
    }
}

fn bcast(sizes: &Sizes<'_>, root: u32) -> Result<CollectiveKind, Misfit> {
    let bytes = sizes.at(root).1;
    let what = "0 and the root's size";
    sizes.rest(root, |(_, s, r)| s == 0 && r == bytes, what)?;
    sizes.only(root, |(_, _, r)| r == 0, "a receive size of 0 at the root")?;
    Ok(CollectiveKind::Bcast { root, bytes })
}

fn reduce(sizes: &Sizes<'_>, root: u32) -> Result<CollectiveKind, Misfit> {
    let bytes = sizes.at(root).2;
    let what = "the root's size and 0";
    sizes.rest(root, |(_, s, r)| r == 0 && s == bytes, what)?;
    sizes.only(root, |(_, s, _)| s == 0, "a send size of 0 at the root")?;
    Ok(CollectiveKind::Reduce { root, bytes })
}

fn gather(sizes: &Sizes<'_>, root: u32) -> Result<CollectiveKind, Misfit> {
    let blocks: Vec<u64> = sizes.parts.iter().map(|p| p.1).collect();
    let sum = sizes.sum(&blocks)?;
    let what = "the sum of the send sizes as the root's receive size";
    sizes.only(root, |(_, _, r)| r == sum, what)?;
    Ok(CollectiveKind::Gather { root, blocks })
}

fn scatter(sizes: &Sizes<'_>, root: u32) -> Result<CollectiveKind, Misfit> {
    let blocks: Vec<u64> = sizes.parts.iter().map(|p| p.2).collect();
    let sum = sizes.sum(&blocks)?;
    let what = "the sum of the receive sizes as the root's send size";
    sizes.only(root, |(_, s, _)| s == sum, what)?;
    Ok(CollectiveKind::Scatter { root, blocks })
}

fn allgather(sizes: &Sizes<'_>) -> Result<CollectiveKind, Misfit> {
    let blocks: Vec<u64> = sizes.parts.iter().map(|p| p.1).collect();
    let sum = sizes.sum(&blocks)?;
    let what = "the sum of the send sizes as receive size";
    sizes.all(|(_, _, r)| r == sum, what)?;
    Ok(CollectiveKind::Allgather { blocks })
}

fn alltoall(sizes: &Sizes<'_>) -> Result<CollectiveKind, Misfit> {
    let what = "0 (per task) or 1 (in total) as receive size";
    sizes.all(|(_, _, r)| r <= 1, what)?;
    let members = sizes.parts.len() as u32;
    let blocks = sizes.parts.iter().map(|&(_, send, form)| match form {
        0 => AlltoallBlocks::Each(send),
        _ => AlltoallBlocks::Split {
            total: send,
            members,
        },
    });
    let blocks = blocks.collect();
    Ok(CollectiveKind::Alltoall { blocks })
}
