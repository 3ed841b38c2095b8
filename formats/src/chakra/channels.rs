//! Channels: a collective as several at once, each with its share of the data, as NCCL and RCCL carry it out.

use super::groups::Groups;
use crate::collective::Operation;
use crate::goal::Task;

/// Least bytes of an operation for each channel: NCCL's threshold for 512 threads of its protocol Simple (`src/graph/tuning.cc`).
const LEAST_BYTES: u64 = 512 * 64;

/// How a trace is read, beyond what its files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The kernels of a stream of a device come one after the other, by their start and their place in the file.
    pub order_streams: bool,
    /// Most channels of a collective, at least 1.
    pub channels: u32,
    /// Consecutive ranks of a node, at least 1.
    pub ranks_per_node: u32,
}

impl Default for Options {
    /// As the files say.
    fn default() -> Self {
        Self {
            order_streams: false,
            channels: 1,
            ranks_per_node: 1,
        }
    }
}

impl Options {
    /// Channels of an operation of `members` members, each of which brings `bytes` bytes.
    fn channels_of(&self, operation: Operation, bytes: u64, members: usize) -> u32 {
        let data = match operation {
            Operation::Barrier => 0,
            Operation::Allgather | Operation::Gather => bytes.saturating_mul(members as u64),
            _ => bytes,
        };
        let most = u64::from(self.channels);
        (data / LEAST_BYTES).clamp(1, most.max(1)) as u32
    }

    /// The tasks of the channels of `task`: itself unless it is a collective of several channels.
    pub(super) fn split(&self, task: Task, groups: &mut Groups) -> Result<Vec<Task>, String> {
        let Task::Collective {
            operation,
            bytes,
            group,
            root,
        } = task
        else {
            return Ok(vec![task]);
        };
        let count = self.channels_of(operation, bytes, groups.size(group));
        let root = groups.rank(group, root).ok_or("no process group")?;
        let channel = |channel: u32| {
            let group = groups.channel(group, channel, self.ranks_per_node)?;
            let further = u64::from(u64::from(channel) < bytes % u64::from(count));
            Ok(Task::Collective {
                operation,
                bytes: bytes / u64::from(count) + further,
                group,
                root: groups.position(group, root.into()).unwrap_or(0),
            })
        };
        (0..count).map(channel).collect()
    }
}
