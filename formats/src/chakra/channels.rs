//! Channels: a collective as several at once, each with its share of the data, as NCCL and RCCL carry it out.

use std::sync::Arc;

use hashbrown::HashMap;

use super::groups::{Group, Groups};
use super::trace::Trace;
use crate::collective::Operation;
use crate::error::Error;
use crate::goal::Task;

/// Least bytes of an operation for each channel: NCCL's threshold for 512 threads of its protocol Simple (`src/graph/tuning.cc`).
const LEAST_BYTES: u64 = 512 * 64;

/// How a trace is read, beyond what its files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The kernels of a stream of a device come one after the other, by their start and their place in the file.
    pub order_streams: bool,
    /// Most channels of a collective, at least 1.
    pub channels: u32,
    /// The node of each rank, in which channels turn the ranks; empty if each rank has a node by itself.
    pub nodes: Arc<[u32]>,
}

impl Default for Options {
    /// As the files say.
    fn default() -> Self {
        Self {
            order_streams: false,
            channels: 1,
            nodes: Arc::default(),
        }
    }
}

/// The bytes of the collectives of each group, in their order: the most that a rank brings.
pub(super) type Sizes = HashMap<Group, Vec<u64>>;

/// The sizes in a trace that was read without channels.
pub(super) fn sizes(trace: &Trace) -> Result<Sizes, Error> {
    let mut of_groups: Vec<Vec<u64>> = vec![Vec::new(); trace.groups.len()];
    let mut calls = Vec::new();
    for rank in 0..trace.schedule.ranks() {
        calls.clear();
        calls.resize(of_groups.len(), 0);
        let mut block = trace.schedule.rank(rank)?;
        for index in 0..block.len() {
            let Task::Collective { bytes, group, .. } = block.node(index)?.op.task else {
                continue;
            };
            let (of_group, call) = (&mut of_groups[group as usize], &mut calls[group as usize]);
            match of_group.get_mut(*call) {
                Some(most) => *most = bytes.max(*most),
                None => of_group.push(bytes),
            }
            *call += 1;
        }
    }
    Ok(trace.groups.iter().cloned().zip(of_groups).collect())
}

/// Cuts the collectives of a rank into channels.
pub(super) struct Channels<'a> {
    options: &'a Options,
    sizes: &'a Sizes,
    /// By group: the sizes of its collectives that are still to come.
    left: HashMap<u32, &'a [u64]>,
}

impl<'a> Channels<'a> {
    pub fn new(options: &'a Options, sizes: &'a Sizes) -> Self {
        Self {
            options,
            sizes,
            left: HashMap::new(),
        }
    }

    /// The channels of the next collective of a group, whatever this rank brings.
    fn count(&mut self, operation: Operation, group: u32, groups: &Groups) -> u32 {
        let members = groups.get(group);
        let left = self.left.entry(group).or_insert_with(|| {
            let all = members.and_then(|group| self.sizes.get(group));
            all.map_or(&[], Vec::as_slice)
        });
        let bytes = left.split_off_first().copied().unwrap_or(0);
        let data = match operation {
            Operation::Barrier => 0,
            Operation::Allgather | Operation::Gather => {
                let members = members.map_or(0, |group| group.members.len());
                bytes.saturating_mul(members as u64)
            }
            _ => bytes,
        };
        let most = u64::from(self.options.channels).max(1);
        (data / LEAST_BYTES).clamp(1, most) as u32
    }

    /// The tasks of the channels of `task`: itself unless it is a collective of several channels.
    pub fn split(&mut self, task: Task, groups: &mut Groups) -> Result<Vec<Task>, String> {
        let Task::Collective {
            operation,
            bytes,
            group,
            root,
        } = task
        else {
            return Ok(vec![task]);
        };
        let count = self.count(operation, group, groups);
        if count == 1 {
            return Ok(vec![task]);
        }
        let root_rank = groups.rank(group, root).ok_or("no process group")?;
        let channel = |channel: u32| {
            let group = groups.channel(group, channel, &self.options.nodes)?;
            let turned = || groups.position(group, root_rank.into());
            let root = operation.has_root().then(turned).flatten();
            let further = u64::from(u64::from(channel) < bytes % u64::from(count));
            Ok(Task::Collective {
                operation,
                bytes: bytes / u64::from(count) + further,
                group,
                root: root.unwrap_or(0),
            })
        };
        (0..count).map(channel).collect()
    }
}
