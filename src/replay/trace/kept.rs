//! Small traces as lists of operations in memory, so that their files are read once for any
//! number of replays.

use super::{Reading, TraceFile};
use crate::program::{Listed, Op, Program};
use flitwise_base::stop::Stop;
use std::sync::Arc;

/// All operations of a trace.
pub(super) struct Kept {
    /// By rank.
    ranks: Arc<[Box<[Op]>]>,
    operations: u64,
    ideal_ps: Option<u64>,
    format: &'static str,
    remarks: Vec<String>,
}

impl Kept {
    /// A trace with one stream per rank: its format, the operations of each rank, and the least time of a replay.
    pub(super) fn of(format: &'static str, ranks: Vec<Vec<Op>>, ideal_ps: Option<u64>) -> Self {
        let operations = ranks.iter().map(|ops| ops.len() as u64).sum();
        Self {
            ranks: ranks.into_iter().map(Vec::into_boxed_slice).collect(),
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
        let ranks = Arc::clone(&self.ranks);
        Ok(Box::new(Listed::new(ranks.len(), move |rank, at| {
            ranks[rank.index()].get(at).cloned()
        })))
    }
}
