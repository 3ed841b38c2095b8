//! Summary of a trace, for `trace info`.

use std::path::Path;

use hashbrown::HashMap;

use super::collective::Op;
use super::reader::Reader;
use super::record::{Header, Record};
use crate::error::Error;
use crate::limits::MAX_PAIRS;

/// What a trace contains. Of a trace that does not check clean the numbers are those of
/// the lines, whatever they mean.
#[derive(Debug, Clone)]
pub struct Info {
    /// The first line.
    pub header: Header,
    /// Lines behind the communicators.
    pub records: u64,
    /// Point-to-point messages, self messages included.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Messages of a task to itself.
    pub self_messages: u64,
    /// Entries of receives and waits, and ends.
    pub markers: u64,
    /// Members of each communicator, by index.
    pub comm_sizes: Vec<u32>,
    /// Collectives by operation, those that occur.
    pub collectives: Vec<(Op, u64)>,
    /// Sum of the computation of each task, in picoseconds.
    pub compute_ps: Vec<u64>,
    /// Messages by size: entry 0 counts the empty ones, entry `i` those of
    /// 2^(i − 1) ≤ bytes < 2^i.
    pub sizes: Vec<u64>,
    /// Traffic of the rank pairs, most bytes first.
    pub pairs: Vec<Pair>,
    /// Messages of pairs beyond [`MAX_PAIRS`] different ones.
    pub messages_of_other_pairs: u64,
}

/// Traffic from one task to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

impl Info {
    /// Reads a whole file; `top` is the number of rank pairs to keep.
    ///
    /// # Errors
    /// If the file can't be read or is not VEF.
    pub fn read(path: impl AsRef<Path>, top: usize) -> Result<Self, Error> {
        let mut reader = Reader::open(path)?;
        let mut tally = Tally::new(&reader);
        while let Some((_, record)) = reader.next_record()? {
            tally.add(&record);
        }
        Ok(tally.finish(&reader, top))
    }

    /// Least and most computation of a task, in picoseconds.
    #[must_use]
    pub fn compute_span_ps(&self) -> (u64, u64) {
        let min = self.compute_ps.iter().min().copied();
        let max = self.compute_ps.iter().max().copied();
        (min.unwrap_or(0), max.unwrap_or(0))
    }
}

struct Tally {
    info: Info,
    pairs: HashMap<(u32, u32), (u64, u64)>,
    /// Collective lines by communicator and operation.
    lines: Vec<[u64; Op::ALL.len()]>,
}

impl Tally {
    fn new(reader: &Reader) -> Self {
        Self {
            info: Info {
                header: reader.header().clone(),
                records: 0,
                messages: 0,
                bytes: 0,
                self_messages: 0,
                markers: 0,
                comm_sizes: reader
                    .comms()
                    .iter()
                    .map(|c| c.members.len() as u32)
                    .collect(),
                collectives: Vec::new(),
                compute_ps: Vec::new(),
                sizes: Vec::new(),
                pairs: Vec::new(),
                messages_of_other_pairs: 0,
            },
            pairs: HashMap::new(),
            lines: vec![Default::default(); reader.comms().len()],
        }
    }

    fn add(&mut self, record: &Record) {
        let info = &mut self.info;
        info.records += 1;
        let task = record.task();
        if task < info.header.tasks {
            let at = task as usize;
            if at >= info.compute_ps.len() {
                info.compute_ps.resize(at + 1, 0);
            }
            let ps = record.time().saturating_mul(info.header.ps_per_unit);
            info.compute_ps[at] = info.compute_ps[at].saturating_add(ps);
        }
        match record {
            Record::Message(m) if m.is_marker() => info.markers += 1,
            Record::Message(m) => {
                info.messages += 1;
                info.bytes = info.bytes.saturating_add(m.size);
                info.self_messages += u64::from(m.src == m.dst);
                let class = (u64::BITS - m.size.leading_zeros()) as usize;
                if class >= info.sizes.len() {
                    info.sizes.resize(class + 1, 0);
                }
                info.sizes[class] += 1;
                let room = self.pairs.len() < MAX_PAIRS;
                if room || self.pairs.contains_key(&(m.src, m.dst)) {
                    let pair = self.pairs.entry((m.src, m.dst)).or_default();
                    pair.0 += 1;
                    pair.1 = pair.1.saturating_add(m.size);
                } else {
                    info.messages_of_other_pairs += 1;
                }
            }
            Record::Member(m) => {
                if let Some(ops) = self.lines.get_mut(m.comm as usize)
                    && let Some(lines) = ops.get_mut(m.op as usize)
                {
                    *lines += 1;
                }
            }
        }
    }

    fn finish(self, reader: &Reader, top: usize) -> Info {
        let mut info = self.info;
        // A communicator of m members leaves m lines per collective.
        for (code, op) in Op::ALL.into_iter().enumerate() {
            let by_comm = self.lines.iter().zip(reader.comms());
            let count = by_comm.map(|(ops, c)| ops[code].div_ceil(c.members.len().max(1) as u64));
            let count: u64 = count.sum();
            if count > 0 {
                info.collectives.push((op, count));
            }
        }
        let pairs = self.pairs.into_iter();
        info.pairs = pairs
            .map(|((src, dst), (messages, bytes))| Pair {
                src,
                dst,
                messages,
                bytes,
            })
            .collect();
        info.pairs
            .sort_unstable_by_key(|p| (std::cmp::Reverse((p.bytes, p.messages)), p.src, p.dst));
        info.pairs.truncate(top);
        info
    }
}
