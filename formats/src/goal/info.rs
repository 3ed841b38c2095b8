//! Counts what is in a schedule.

use super::layout::Node;
use super::record::Task;
use super::schedule::Schedule;
use crate::error::Error;
use crate::traffic::count_size;

/// Contents of a schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Ranks.
    pub ranks: u32,
    /// Operations of the rank that has most.
    pub largest_rank: u32,
    /// Sends.
    pub sends: u64,
    /// Receives.
    pub recvs: u64,
    /// Computations, also empty ones.
    pub calcs: u64,
    /// Dependencies on the end of an operation.
    pub requires: u64,
    /// Dependencies on the start of an operation.
    pub irequires: u64,
    /// Payload of all sends in bytes.
    pub send_bytes: u64,
    /// Bytes that all receives expect.
    pub recv_bytes: u64,
    /// Sum of all computations, in the unit of the file.
    pub calc_time: u64,
    /// The computations in operations; none in a GOAL file.
    pub works: u64,
    /// The operations of these.
    pub work_operations: u64,
    /// Entries of ranks into collectives; none in a GOAL file.
    pub collectives: u64,
    /// The bytes that ranks bring to them.
    pub collective_bytes: u64,
    /// Receives that accept any source.
    pub any_source: u64,
    /// Receives that accept any tag.
    pub any_tag: u64,
    /// CPUs of a rank: the largest number of one, and 1.
    pub cpus: u32,
    /// NICs of a rank: the largest number of one, and 1.
    pub nics: u32,
    /// Sends through another NIC of a rank than its first.
    pub other_nics: u64,
    /// Sends by size: entry 0 counts empty messages, entry `i` messages of 2^(i − 1) ≤ bytes < 2^i.
    pub sizes: Vec<u64>,
}

impl Info {
    /// The content that a replay does not have: a sentence for each kind, with its number.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let nics = (self.other_nics > 0).then(|| {
            format!(
                "{} of {} messages name another NIC of their rank than its first (`nic`, up to {} a rank, as ATLAHS gives each \
                 GPU or channel one): a node needs as many (`node.nics`), or one NIC sends all of them one after another",
                self.other_nics, self.sends, self.nics
            )
        });
        nics.into_iter().collect()
    }

    /// Reads a whole schedule.
    ///
    /// # Errors
    /// If it can't be read or an operation is broken.
    pub fn read(schedule: &Schedule) -> Result<Self, Error> {
        let mut info = Self::new(schedule);
        for rank in 0..schedule.ranks() {
            let mut block = schedule.rank(rank)?;
            info.largest_rank = info.largest_rank.max(block.len());
            block.each(|_, _, node| {
                info.add(node);
                Ok(())
            })?;
        }
        Ok(info)
    }

    pub(crate) fn new(schedule: &Schedule) -> Self {
        Self {
            ranks: schedule.ranks(),
            cpus: 1,
            nics: 1,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, node: &Node) {
        self.requires += u64::from(node.done);
        self.irequires += u64::from(node.started);
        self.cpus = self.cpus.max(u32::from(node.op.cpu) + 1);
        self.nics = self.nics.max(u32::from(node.op.nic) + 1);
        match node.op.task {
            Task::Send { bytes, .. } => {
                self.sends += 1;
                self.other_nics += u64::from(node.op.nic > 0);
                self.send_bytes = self.send_bytes.saturating_add(bytes);
                count_size(&mut self.sizes, bytes);
            }
            Task::Recv { bytes, from, tag } => {
                self.recvs += 1;
                self.recv_bytes = self.recv_bytes.saturating_add(bytes);
                self.any_source += u64::from(from.is_none());
                self.any_tag += u64::from(tag.is_none());
            }
            Task::Calc { time } => {
                self.calcs += 1;
                self.calc_time = self.calc_time.saturating_add(time);
            }
            Task::Work { operations } => {
                self.calcs += 1;
                self.works += 1;
                self.work_operations = self.work_operations.saturating_add(operations);
            }
            Task::Collective { bytes, .. } => {
                self.collectives += 1;
                self.collective_bytes = self.collective_bytes.saturating_add(bytes);
            }
        }
    }
}
