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

#[cfg(test)]
mod tests {
    use super::*;

    fn nics<const N: usize>(numbers: [u32; N]) -> [NicId; N] {
        numbers.map(NicId::new)
    }

    /// Round robin where every NIC is at one switch.
    fn one_switch() -> Placement {
        Placement::RoundRobin { parts: vec![0; 8] }
    }

    #[test]
    fn linear_fills_and_round_robin_deals() {
        let place = |p: &Placement| p.place(6, 2, &mut FreeNics::all(8)).unwrap();
        assert_eq!(place(&Placement::Linear), nics([0, 0, 1, 1, 2, 2]));
        assert_eq!(place(&one_switch()), nics([0, 1, 2, 0, 1, 2]));
        let uneven = one_switch().place(5, 2, &mut FreeNics::all(8));
        assert_eq!(uneven.unwrap(), nics([0, 1, 2, 0, 1]));
    }

    #[test]
    fn round_robin_goes_round_the_switches() {
        // Switches 0, 1 and 2 with NICs 0 to 2, 3 to 5 and 6 to 8.
        let parts = (0..9).map(|nic| nic / 3).collect();
        let placement = Placement::RoundRobin { parts };
        let place = |ranks, tasks, free: &mut FreeNics| placement.place(ranks, tasks, free);
        let all = place(9, 1, &mut FreeNics::all(9)).unwrap();
        assert_eq!(all, nics([0, 3, 6, 1, 4, 7, 2, 5, 8]));
        let pairs = place(7, 2, &mut FreeNics::all(9)).unwrap();
        assert_eq!(pairs, nics([0, 3, 6, 1, 0, 3, 6]));
        // NICs of earlier jobs are left out, and so is a switch without a free NIC.
        let mut free = FreeNics::all(9);
        free.take(&nics([0, 3, 4, 5]));
        assert_eq!(place(4, 1, &mut free).unwrap(), nics([1, 6, 2, 7]));
        assert_eq!(free.iter().collect::<Vec<_>>(), nics([8]));
    }

    #[test]
    fn jobs_do_not_share_nics_unless_listed() {
        let mut free = FreeNics::all(4);
        let list = Placement::List(nics([1, 1]).to_vec());
        assert_eq!(list.place(2, 1, &mut free).unwrap(), nics([1, 1]));
        let linear = Placement::Linear.place(2, 1, &mut free);
        assert_eq!(linear.unwrap(), nics([0, 2]));
        assert_eq!(list.place(2, 1, &mut free).unwrap(), nics([1, 1]));
        assert_eq!(free.iter().collect::<Vec<_>>(), nics([3]));
        assert_eq!(
            one_switch().place(3, 2, &mut free),
            Err(PlacementError::DoesNotFit {
                ranks: 3,
                tasks_per_node: 2,
                needed: 2,
                free: 1
            })
        );
        assert_eq!(one_switch().place(2, 2, &mut free).unwrap(), nics([3, 3]));
    }

    #[test]
    fn random_is_a_seeded_choice_without_repetition() {
        let random = |seed, job| {
            let parts = (0..64).collect();
            let placement = Placement::Random { seed, job, parts };
            placement.place(16, 1, &mut FreeNics::all(64)).unwrap()
        };
        assert_eq!(random(1, 0), random(1, 0));
        assert_ne!(random(1, 0), random(2, 0));
        assert_ne!(random(1, 0), random(1, 1));
        let mut nics = random(1, 0);
        assert!(!nics.is_sorted());
        nics.sort_unstable();
        nics.dedup();
        assert_eq!(nics.len(), 16);
        let (seed, job) = (1, 0);
        let parts = (0..3).collect();
        let pairs = Placement::Random { seed, job, parts }.place(6, 2, &mut FreeNics::all(3));
        assert!(pairs.unwrap().chunks(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn random_parts_are_filled_one_after_the_other() {
        // Parts of four NICs. NICs 8 and 9 are taken.
        let parts: Vec<u32> = (0..32).map(|nic| nic / 4).collect();
        let mut orders = Vec::new();
        for seed in 0..8 {
            let mut free = FreeNics::all(32);
            free.take(&nics([8, 9]));
            let parts = parts.clone();
            let random = Placement::Random {
                seed,
                job: 0,
                parts,
            };
            let placed = random.place(30, 1, &mut free).unwrap();
            let parts_of = |nic: &NicId| nic.get() / 4;
            let chunks: Vec<&[NicId]> =
                placed.chunk_by(|a, b| parts_of(a) == parts_of(b)).collect();
            assert_eq!(chunks.len(), 8, "every part once: {placed:?}");
            assert!(chunks.iter().all(|part| part.is_sorted()));
            orders.push(
                chunks
                    .iter()
                    .map(|part| parts_of(&part[0]))
                    .collect::<Vec<_>>(),
            );
        }
        assert!(orders.iter().any(|order| !order.is_sorted()));
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 4, "{orders:?}");
    }

    #[test]
    fn lists_must_fit_the_job_and_the_fabric() {
        let place = |list: &[u32]| {
            let list = list.iter().copied().map(NicId::new);
            Placement::List(list.collect()).place(2, 1, &mut FreeNics::all(4))
        };
        assert_eq!(
            place(&[0]),
            Err(PlacementError::ListLength {
                listed: 1,
                ranks: 2
            })
        );
        let error = place(&[0, 4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 1 is placed on NIC 4, but the fabric has NICs 0 to 3"
        );
        let none = Placement::Linear.place(2, 0, &mut FreeNics::all(4));
        assert_eq!(none, Err(PlacementError::NoTasks));
    }
}
