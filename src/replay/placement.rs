//! The NIC at which every rank of a job runs.
//!
//! A job takes ⌈ranks / ranks per NIC⌉ NICs from the NICs that it may use: by default those that no
//! earlier job took. Jobs are placed in their order in the experiment.
//!
//! | placement | the job's NICs |
//! |---|---|
//! | linear | the lowest free NICs, ascending |
//! | round robin | free NICs in turn from part after part: the lowest of each, then the next of each |
//! | random | the first ones of the free NICs, part by part in random order |
//! | list | as listed, one for each rank; the caller checks whether they are free |
//!
//! A part is all NICs of a switch or of a group of switches, or a NIC. A part without a free NIC is left out.
//! The [distribution](Distribution) puts the ranks on these NICs.

use flitwise_base::random::{Purpose, Stream};
use flitwise_fabric::ids::NicId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// The placement of the ranks of a job on the NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// The lowest NICs.
    Linear,
    /// The lowest NIC of each part in turn.
    RoundRobin {
        /// The part of every NIC of the fabric.
        parts: Vec<u32>,
    },
    /// The NICs of randomly chosen parts.
    Random {
        /// Seed: by default the experiment's.
        seed: u64,
        /// Index of the job, so that two jobs draw independently.
        job: u64,
        /// The part of every NIC of the fabric.
        parts: Vec<u32>,
    },
    /// NIC of every rank, as listed. NICs may be listed several times and
    /// need not be free; neither ranks per NIC nor distribution apply.
    List(Vec<NicId>),
    /// The NIC of every rank, and more that are not taken.
    First(Vec<NicId>),
    /// The lowest NICs, and the order in which ranks are put on them.
    RankOrder(Vec<u32>),
}

/// The order in which consecutive ranks fill the NICs of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Each NIC is filled before the next: rank r runs on NIC ⌊r / ranks per NIC⌋ of the job.
    Block,
    /// A rank on each NIC in turn: rank r runs on NIC r mod NICs of the job.
    Cyclic,
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
        "{ranks} ranks at {ranks_per_nic} per NIC need {needed} NICs, but {free} are left for \
         the job; raise ranks_per_nic or take a larger fabric"
    )]
    DoesNotFit {
        /// Ranks of the job.
        ranks: u32,
        /// Most ranks on one NIC.
        ranks_per_nic: u32,
        /// NICs that the job takes.
        needed: u32,
        /// NICs that are left.
        free: u32,
    },
    /// `ranks_per_nic` is 0.
    #[error("ranks_per_nic is 0; it must be at least 1")]
    NoTasks,
    /// The list is too short or too long.
    #[error("the list places {listed} ranks, but the job has {ranks}: one NIC per rank is needed")]
    ListLength {
        /// Entries of the list.
        listed: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// The NICs have too few places.
    #[error(
        "the hosts have slots for {slots} of the {ranks} ranks of the job; name more hosts, or give them more slots"
    )]
    Slots {
        /// Ranks that the NICs take.
        slots: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// The order has too few or too many ranks.
    #[error("the rank order has {listed} ranks, but the job has {ranks}")]
    OrderLength {
        /// Entries of the order.
        listed: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// The order has a rank twice, or one that the job has not.
    #[error("the rank order has rank {rank} {}", if *.twice { "twice" } else { "that the job has not" })]
    OrderRank {
        /// The rank.
        rank: u32,
        /// Whether the order has the rank twice.
        twice: bool,
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
        ranks_per_nic: u32,
        distribution: Distribution,
        free: &mut FreeNics,
    ) -> Result<Vec<NicId>, PlacementError> {
        if ranks_per_nic == 0 {
            return Err(PlacementError::NoTasks);
        }
        let nodes: Vec<NicId> = match self {
            Self::Linear | Self::RankOrder(_) => free.iter().collect(),
            Self::Random { seed, job, parts } => {
                let mut filled: Vec<Vec<NicId>> = by_part(free, parts).into_values().collect();
                Stream::new(*seed, Purpose::Placement, [*job, 0]).shuffle(&mut filled);
                filled.concat()
            }
            Self::RoundRobin { parts } => in_turn(free, parts),
            Self::List(list) => return listed(list, ranks, free),
            Self::First(list) => {
                let slots = list.len();
                let first = list.get(..ranks as usize);
                return listed(
                    first.ok_or(PlacementError::Slots { slots, ranks })?,
                    ranks,
                    free,
                );
            }
        };
        let nodes = first(ranks, ranks_per_nic, nodes)?;
        let mut placed = distributed(ranks, ranks_per_nic, distribution, &nodes);
        if let Self::RankOrder(order) = self {
            placed = in_order(order, &placed)?;
        }
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

/// The first ones of `nics`, as many as the job takes.
fn first(
    ranks: u32,
    ranks_per_nic: u32,
    mut nics: Vec<NicId>,
) -> Result<Vec<NicId>, PlacementError> {
    let needed = ranks.div_ceil(ranks_per_nic);
    if nics.len() < needed as usize {
        return Err(PlacementError::DoesNotFit {
            ranks,
            ranks_per_nic,
            needed,
            free: nics.len() as u32,
        });
    }
    nics.truncate(needed as usize);
    Ok(nics)
}

fn distributed(
    ranks: u32,
    ranks_per_nic: u32,
    distribution: Distribution,
    nics: &[NicId],
) -> Vec<NicId> {
    let nic = |rank| match distribution {
        Distribution::Block => nics[(rank / ranks_per_nic) as usize],
        Distribution::Cyclic => nics[rank as usize % nics.len()],
    };
    (0..ranks).map(nic).collect()
}

/// The NIC of each rank where `order` has the ranks in the order of `placed`.
fn in_order(order: &[u32], placed: &[NicId]) -> Result<Vec<NicId>, PlacementError> {
    if order.len() != placed.len() {
        return Err(PlacementError::OrderLength {
            listed: order.len(),
            ranks: placed.len() as u32,
        });
    }
    let mut nics = vec![None; placed.len()];
    for (&rank, &nic) in order.iter().zip(placed) {
        match nics.get_mut(rank as usize) {
            Some(of @ None) => *of = Some(nic),
            found => {
                return Err(PlacementError::OrderRank {
                    rank,
                    twice: found.is_some(),
                });
            }
        }
    }
    Ok(nics.into_iter().flatten().collect())
}

/// The listed NICs, which the job takes.
fn listed(list: &[NicId], ranks: u32, free: &mut FreeNics) -> Result<Vec<NicId>, PlacementError> {
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
        None => {
            free.take(list);
            Ok(list.to_vec())
        }
    }
}
