//! Small traces as lists of operations in memory, so that their files are read once for any
//! number of replays.

use super::{Reading, TraceFile};
use crate::program::{Op, Program, RankId, StreamId};
use flitwise_base::stop::Stop;
use std::sync::Arc;

/// All operations of a trace.
pub(super) struct Kept {
    /// By rank.
    ranks: Arc<[Ops]>,
    operations: u64,
    ideal_ps: Option<u64>,
    format: &'static str,
    remarks: Vec<String>,
}

/// The operations of a rank, by stream.
type Ops = Box<[Box<[Op]>]>;

impl Kept {
    /// A trace with one stream per rank: its format, the operations of each rank, and the least time of a replay.
    pub(super) fn of(format: &'static str, ranks: Vec<Vec<Op>>, ideal_ps: Option<u64>) -> Self {
        let operations = ranks.iter().map(|ops| ops.len() as u64).sum();
        let one_stream = |ops: Vec<Op>| Ops::from([ops.into_boxed_slice()]);
        Self {
            ranks: ranks.into_iter().map(one_stream).collect(),
            operations,
            ideal_ps,
            format,
            remarks: Vec::new(),
        }
    }

    /// The trace with these [remarks](TraceFile::remarks).
    pub(super) fn with_remarks(self, remarks: Vec<String>) -> Self {
        Self { remarks, ..self }
    }
}

impl TraceFile for Kept {
    fn format(&self) -> &'static str {
        self.format
    }

    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn ideal_ps(&self) -> Option<u64> {
        self.ideal_ps
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn open<'a>(&self, _: &Reading, _: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let of_rank = |streams: &Ops| vec![0; streams.len()];
        Ok(Box::new(KeptProgram {
            next: self.ranks.iter().map(of_rank).collect(),
            ranks: Arc::clone(&self.ranks),
        }))
    }
}

/// A replay of operations in memory.
struct KeptProgram {
    ranks: Arc<[Ops]>,
    /// Operations taken, by rank and stream.
    next: Vec<Vec<usize>>,
}

impl Program for KeptProgram {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn streams(&self, rank: RankId) -> u32 {
        self.ranks[rank.index()].len() as u32
    }

    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>> {
        let next = &mut self.next[rank.index()][stream.index()];
        let op = self.ranks[rank.index()][stream.index()].get(*next).cloned();
        *next += 1;
        Ok(op)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.next.iter_mut().for_each(|rank| rank.fill(0));
        Ok(())
    }
}
