//! Cuts a part out of a trace: a window of the [ideal clock](super::clock), some of its
//! ranks, or both. `docs/reference/trace-tools.md` says what remains and why it can be replayed.
//!
//! The file is read twice: [`Plan::make`] finds what remains, [`Plan::write`] writes it.
//! Both follow the trace in the order in which its records can start, which is the order
//! of the lines of the slice.

mod ids;
mod rewrite;
mod select;
mod starts;

pub use starts::starts;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use self::ids::Ids;
use super::check::{Check, observe};
use super::reader::Reader;
use super::record::{Comm, Header, Message, Version};
use super::write::Writer;
use crate::collective::CollectiveKind;
use crate::error::Error;
use crate::source::Input;

/// The part to cut out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// Start of the window, in picoseconds of the ideal clock.
    pub from_ps: u64,
    /// End of the window, not part of it; `None`: the end of the trace.
    pub to_ps: Option<u64>,
    /// Ranks that remain, in any order; `None`: all.
    pub ranks: Option<Vec<u32>>,
    /// Ids of markers of these ranks that remain although they start at the end of the window.
    pub closing: BTreeSet<u64>,
}

/// Why a slice failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// The trace can't be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The slice can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The trace is broken; the check has the errors.
    #[error("the trace is broken")]
    Broken(Box<Check>),
    /// No record remains.
    #[error(
        "nothing remains: the records of the trace start from 0 to {span_ps} ps of its ideal clock"
    )]
    Nothing {
        /// Last start of a record of the whole trace, on the ideal clock, in picoseconds.
        span_ps: u64,
    },
    /// The cut makes no sense for this trace.
    #[error("{0}")]
    Refused(String),
}

/// The part of a trace that remains.
#[derive(Debug)]
pub struct Plan {
    source: Input,
    input: Header,
    part: Part,
    ids: Ids,
    groups: HashMap<u64, Group>,
    header: Header,
    comms: Vec<Comm>,
    /// Index of each communicator in the slice.
    comm_numbers: Vec<u32>,
    bytes: u64,
    markers: u64,
    span: u64,
}

/// A collective that remains.
#[derive(Debug, Clone, Copy)]
struct Group {
    number: u64,
    /// Sum of the remaining members' blocks, where the size fields hold such a sum.
    sum: u64,
}

/// Window and ranks, in the terms of the trace.
#[derive(Debug, Clone)]
struct Part {
    /// First unit of time of the window.
    from: u64,
    /// First unit of time after the window.
    to: u64,
    /// Number in the slice of each rank that remains.
    ranks: Vec<Option<u32>>,
    /// The communicators without the ranks that do not remain, in the old numbers.
    comms: Vec<Comm>,
    closing: BTreeSet<u64>,
}

impl Part {
    fn new(cut: &Cut, header: &Header, comms: &[Comm]) -> Result<Self, SliceError> {
        let tasks = header.tasks as usize;
        let mut ranks: Vec<Option<u32>> = vec![None; tasks];
        match &cut.ranks {
            None => ranks.fill(Some(0)),
            Some(list) => {
                for &rank in list {
                    let Some(kept) = ranks.get_mut(rank as usize) else {
                        return Err(SliceError::Refused(format!(
                            "there is no rank {rank}: the trace has the ranks 0 to {}",
                            tasks - 1
                        )));
                    };
                    *kept = Some(0);
                }
            }
        }
        for (number, kept) in (0..).zip(ranks.iter_mut().flatten()) {
            *kept = number;
        }
        let unit = header.ps_per_unit;
        let from = cut.from_ps.div_ceil(unit);
        let to = cut.to_ps.map_or(u64::MAX, |to| to.div_ceil(unit));
        if from >= to {
            return Err(SliceError::Refused(format!(
                "the window is empty: no time in units of {unit} ps lies between its ends"
            )));
        }
        let keep = |&task: &u32| ranks.get(task as usize).is_some_and(Option::is_some);
        let comms = comms
            .iter()
            .map(|c| Comm {
                members: c.members.iter().copied().filter(keep).collect(),
            })
            .collect();
        Ok(Self {
            from,
            to,
            ranks,
            comms,
            closing: cut.closing.clone(),
        })
    }

    /// Number in the slice of a rank that remains.
    fn rank(&self, task: u32) -> Option<u32> {
        self.ranks.get(task as usize).copied().flatten()
    }

    fn covers(&self, start: u64) -> bool {
        (self.from..self.to).contains(&start)
    }

    /// Whether a message or marker that starts then remains, if its ranks do.
    fn keeps(&self, m: &Message, start: u64) -> bool {
        self.covers(start) || (start == self.to && self.closing.contains(&m.id))
    }

    /// Members of a communicator that remain.
    fn members(&self, comm: u32) -> &[u32] {
        self.comms.get(comm as usize).map_or(&[], |c| &c.members)
    }

    /// Sum of the blocks that remain, or 0 where no size field holds it; `None` if the
    /// collective can't go on without the ranks that are left out.
    fn restrict(&self, kind: &CollectiveKind, comm: &Comm, index: u32) -> Option<u64> {
        let kept = |position: u32| {
            let task = comm.members.get(position as usize)?;
            self.rank(*task).map(|_| *task)
        };
        let sum = |blocks: &[u64]| -> u64 {
            let kept = (0..).zip(blocks).filter(|&(p, _)| kept(p).is_some());
            // At most the sum of all, which fits.
            kept.map(|(_, &bytes)| bytes).sum()
        };
        match kind {
            CollectiveKind::Bcast { root, .. } | CollectiveKind::Reduce { root, .. } => {
                kept(*root).map(|_| 0)
            }
            CollectiveKind::Gather { root, blocks } | CollectiveKind::Scatter { root, blocks } => {
                let root = kept(*root)?;
                let sum = sum(blocks);
                // Without any byte the root would be taken to be the first member.
                (sum > 0 || self.members(index).first() == Some(&root)).then_some(sum)
            }
            CollectiveKind::Allgather { blocks } => Some(sum(blocks)),
            _ => Some(0),
        }
    }
}

impl Plan {
    /// Reads and checks a trace and finds what remains of it.
    ///
    /// # Errors
    /// If the trace can't be read or is broken, if it has no such ranks, or if nothing
    /// remains.
    pub fn make(path: &Path, cut: &Cut) -> Result<Self, SliceError> {
        Self::of(Input::repeatable(path, Stop::never())?, cut)
    }

    /// The same for an input that can be opened any number of times.
    ///
    /// # Errors
    /// As [`Plan::make`].
    pub fn of(source: Input, cut: &Cut) -> Result<Self, SliceError> {
        let mut reader = Reader::of(source.open()?)?;
        let input = reader.header().clone();
        let all = reader.comms().to_vec();
        let part = Part::new(cut, &input, &all)?;
        let selection = select::Selection::new(&part, &all);
        let (check, selection) = observe(&mut reader, selection, Stop::never())?;
        if !check.is_clean() {
            return Err(SliceError::Broken(Box::new(check)));
        }
        let found = selection.finish().map_err(SliceError::Refused)?;
        let records = found.messages + found.markers + found.members;
        if records == 0 {
            let span_ps = found.span.saturating_mul(input.ps_per_unit);
            return Err(SliceError::Nothing { span_ps });
        }
        let mut comm_numbers = Vec::with_capacity(part.comms.len());
        let mut comms = Vec::new();
        for comm in &part.comms {
            comm_numbers.push(comms.len() as u32);
            if !comm.members.is_empty() {
                let members = comm.members.iter().filter_map(|&task| part.rank(task));
                comms.push(Comm {
                    members: members.collect(),
                });
            }
        }
        let header = Header {
            version: Version::Vef3,
            tasks: part.ranks.iter().flatten().count() as u32,
            messages: found.messages + found.markers,
            comms: comms.len() as u32,
            collectives: found.groups.len() as u64,
            members: found.members,
            ..input.clone()
        };
        Ok(Self {
            source,
            input,
            part,
            ids: found.ids,
            groups: found.groups,
            header,
            comms,
            comm_numbers,
            bytes: found.bytes,
            markers: found.markers,
            span: found.span,
        })
    }

    /// First line of the slice.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Messages of the slice.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.header.messages - self.markers
    }

    /// Payload of the messages of the slice, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Last start of a record of the whole trace, on the ideal clock, in picoseconds.
    #[must_use]
    pub fn span_ps(&self) -> u64 {
        self.span.saturating_mul(self.input.ps_per_unit)
    }

    /// Writes the slice as VEF3.
    ///
    /// # Errors
    /// If the trace can't be read a second time, has changed, or if the slice can't be
    /// written.
    pub fn write<W: Write>(&self, out: W) -> Result<W, SliceError> {
        let mut reader = Reader::of(self.source.open()?)?;
        if *reader.header() != self.input {
            return Err(changed());
        }
        let writer = Writer::new(out, &self.header, &self.comms)?;
        let all = reader.comms().to_vec();
        let rewriting = rewrite::Rewriting::new(self, &all, writer);
        let (check, rewriting) = observe(&mut reader, rewriting, Stop::never())?;
        let writer = rewriting.finish()?;
        if !check.is_clean() {
            return Err(changed());
        }
        match writer.finish() {
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(changed()),
            other => Ok(other?),
        }
    }
}

#[cold]
fn changed() -> SliceError {
    SliceError::Refused("the trace changed while it was cut; do it again".into())
}
