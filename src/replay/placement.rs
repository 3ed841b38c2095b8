//! The NIC at which every rank of a job runs.
//!
//! A job takes ⌈ranks / tasks per node⌉ nodes (a node is a NIC) from the nodes that it may
//! use: by default the nodes that no earlier job took. Jobs are placed in their order in
//! the experiment.
//!
//! | placement | the job's nodes | rank r runs on |
//! |---|---|---|
//! | linear | the lowest free NICs, ascending | node ⌊r / tasks per node⌋ |
//! | round robin | free NICs in turn from part after part: the lowest of each, then the next of each | node r mod nodes |
//! | random | the first ones of the free NICs, part by part in random order | node ⌊r / tasks per node⌋ |
//! | list | as listed; the caller checks whether they are free | the r-th NIC listed |
//!
//! A part is all NICs of a switch or of a group of switches, or a NIC. Under round robin neighbouring ranks
//! are in neighbouring parts, whatever the tasks per node. A part without a free NIC is left out. On a single
//! switch with one task per node linear and round robin by switches are the same.

use flitwise_base::random::{Purpose, Stream};
use flitwise_fabric::ids::NicId;
use std::collections::BTreeMap;
use thiserror::Error;

/// The placement of the ranks of a job on the NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Fills one node after the other.
    Linear,
    /// Deals the ranks out over nodes in part after part.
    RoundRobin {
        /// The part of every NIC of the fabric.
        parts: Vec<u32>,
    },
    /// Linear over the nodes of randomly chosen parts.
    Random {
        /// Seed: by default the experiment's.
        seed: u64,
        /// Index of the job, so that two jobs draw independently.
        job: u64,
        /// The part of every NIC of the fabric.
        parts: Vec<u32>,
    },
    /// NIC of every rank, as listed. NICs may be listed several times and
    /// need not be free; `tasks_per_node` does not apply.
    List(Vec<NicId>),
    /// The NIC of every rank, and more that are not taken.
    First(Vec<NicId>),
}

/// The NICs of a fabric that no job has taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeNics {
    free: Vec<bool>,
}

/// A job that cannot be placed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// Too few NICs are left.
    #[error(
        "{ranks} ranks at {tasks_per_node} per node need {needed} NICs, but {free} are left for \
         the job; raise tasks_per_node or take a larger fabric"
    )]
    DoesNotFit {
        /// Ranks of the job.
        ranks: u32,
        /// Most ranks on one NIC.
        tasks_per_node: u32,
        /// NICs that the job takes.
        needed: u32,
        /// NICs that are left.
        free: u32,
    },
    /// `tasks_per_node` is 0.
    #[error("tasks_per_node is 0; it must be at least 1")]
    NoTasks,
    /// The list is too short or too long.
    #[error("the list places {listed} ranks, but the job has {ranks}: one NIC per rank is needed")]
    ListLength {
        /// Entries of the list.
        listed: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// A listed NIC does not exist.
    #[error("rank {rank} is placed on NIC {nic}, but the fabric has NICs 0 to {last}")]
    NoSuchNic {
        /// Position in the list.
        rank: usize,
        /// NIC that was listed.
        nic: NicId,
        /// Highest NIC of the fabric.
        last: u32,
    },
}

impl FreeNics {
    /// All `nics` NICs of a fabric.
    #[must_use]
    pub fn all(nics: u32) -> Self {
        Self {
            free: vec![true; nics as usize],
        }
    }

    /// The free NICs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NicId> + '_ {
        NicId::all(self.free.len() as u32)
            .zip(&self.free)
            .filter_map(|(nic, &free)| free.then_some(nic))
    }

    /// Whether no job has `nic`.
    #[must_use]
    pub fn is_free(&self, nic: NicId) -> bool {
        self.free.get(nic.index()) == Some(&true)
    }

    /// The free ones among `nics`.
    #[must_use]
    pub fn only(&self, nics: &[NicId]) -> Self {
        let mut free = vec![false; self.free.len()];
        for &nic in nics {
            if let Some(is_free) = self.free.get(nic.index()) {
                free[nic.index()] = *is_free;
            }
        }
        Self { free }
    }

    /// Marks `nics` as taken.
    pub fn take(&mut self, nics: &[NicId]) {
        for &nic in nics {
            self.free[nic.index()] = false;
        }
    }
}

impl Placement {
    /// The NIC of every rank of a job with `ranks` ranks; takes these NICs out of `free`.
    ///
    /// # Errors
    /// If the job does not fit into the free NICs or the list does not fit the job.
    pub fn place(
        &self,
        ranks: u32,
        tasks_per_node: u32,
        free: &mut FreeNics,
    ) -> Result<Vec<NicId>, PlacementError> {
        if tasks_per_node == 0 {
            return Err(PlacementError::NoTasks);
        }
        let placed: Vec<NicId> = match self {
            Self::Linear => {
                let nodes = lowest(ranks, tasks_per_node, free.iter().collect())?;
                fill(ranks, tasks_per_node, &nodes)
            }
            Self::Random { seed, job, parts } => {
                let mut filled: Vec<Vec<NicId>> = by_part(free, parts).into_values().collect();
                Stream::new(*seed, Purpose::Placement, [*job, 0]).shuffle(&mut filled);
                let nodes = lowest(ranks, tasks_per_node, filled.concat())?;
                fill(ranks, tasks_per_node, &nodes)
            }
            Self::RoundRobin { parts } => {
                let nodes = lowest(ranks, tasks_per_node, in_turn(free, parts))?;
                let turns = nodes.iter().cycle();
                turns.take(ranks as usize).copied().collect()
            }
            Self::List(list) => checked(list, ranks, free)?,
            Self::First(list) => {
                let first = &list[..list.len().min(ranks as usize)];
                checked(first, ranks, free)?
            }
        };
        free.take(&placed);
        Ok(placed)
    }
}

/// The free NICs of each part that has some, ascending.
fn by_part(free: &FreeNics, parts: &[u32]) -> BTreeMap<u32, Vec<NicId>> {
    let mut all: BTreeMap<u32, Vec<NicId>> = BTreeMap::new();
    for nic in free.iter() {
        let part = parts.get(nic.index()).copied().unwrap_or_default();
        all.entry(part).or_default().push(nic);
    }
    all
}

/// The free NICs, the lowest of every part first, then the second of every part, and so on.
fn in_turn(free: &FreeNics, parts: &[u32]) -> Vec<NicId> {
    let parts = by_part(free, parts);
    let most = parts.values().map(Vec::len).max().unwrap_or(0);
    let round = |at: usize| parts.values().filter_map(move |nics| nics.get(at));
    (0..most).flat_map(round).copied().collect()
}

/// The first nodes of `nodes`, as many as the job takes.
fn lowest(
    ranks: u32,
    tasks_per_node: u32,
    mut nodes: Vec<NicId>,
) -> Result<Vec<NicId>, PlacementError> {
    let needed = ranks.div_ceil(tasks_per_node);
    if nodes.len() < needed as usize {
        return Err(PlacementError::DoesNotFit {
            ranks,
            tasks_per_node,
            needed,
            free: nodes.len() as u32,
        });
    }
    nodes.truncate(needed as usize);
    Ok(nodes)
}

fn fill(ranks: u32, tasks_per_node: u32, nodes: &[NicId]) -> Vec<NicId> {
    (0..ranks)
        .map(|rank| nodes[(rank / tasks_per_node) as usize])
        .collect()
}

fn checked(list: &[NicId], ranks: u32, free: &FreeNics) -> Result<Vec<NicId>, PlacementError> {
    if list.len() != ranks as usize {
        return Err(PlacementError::ListLength {
            listed: list.len(),
            ranks,
        });
    }
    match list.iter().position(|nic| nic.index() >= free.free.len()) {
        Some(rank) => Err(PlacementError::NoSuchNic {
            rank,
            nic: list[rank],
            last: (free.free.len() as u32).saturating_sub(1),
        }),
        None => Ok(list.to_vec()),
    }
}
