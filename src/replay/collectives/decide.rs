//! Which algorithm a collective uses: the decision table.
//!
//! The thresholds are those of MPICH's long-standing defaults (Thakur,
//! Rabenseifner, Gropp: Optimization of Collective Communication Operations in
//! MPICH, 2005), where the algorithm exists here.
//!
//! | operation | condition | algorithm |
//! |---|---|---|
//! | bcast | under 12 KiB, or fewer than 8 members | binomial |
//! | | else | scatter-allgather |
//! | reduce | up to 2 KiB, or fewer bytes than members | binomial |
//! | | else | reduce-scatter-gather |
//! | allreduce | up to 2 KiB, or fewer bytes than members | recursive-doubling |
//! | | else | rabenseifner |
//! | gather, scatter | all blocks equal | binomial |
//! | | else (only the root knows the sizes) | linear |
//! | allgather | under 80 KiB in all | bruck |
//! | | else | ring |
//! | alltoall | blocks up to 32 KiB | linear |
//! | | else | pairwise |
//! | barrier | always | dissemination |

use super::Algorithm;
use crate::replay::program::CollectiveKind;
use serde::{Deserialize, Serialize};

/// Declares the algorithms of one operation.
macro_rules! algorithms {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// All algorithms of the operation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }
    };
}

algorithms! {
    /// Algorithms of a broadcast.
    Bcast {
        /// Down a binomial tree.
        Binomial,
        /// Scattered down a binomial tree, then gathered round a ring.
        ScatterAllgather,
        /// In segments from member to member.
        Chain,
    }
}
algorithms! {
    /// Algorithms of a reduction.
    Reduce {
        /// Up a binomial tree.
        Binomial,
        /// Reduced in parts by recursive halving, then gathered up a binomial tree.
        ReduceScatterGather,
    }
}
algorithms! {
    /// Algorithms of a reduction to all.
    Allreduce {
        /// Whole vectors exchanged at doubling distances.
        RecursiveDoubling,
        /// Reduced in parts round a ring, then gathered round the ring.
        Ring,
        /// Recursive halving, then recursive doubling.
        Rabenseifner,
    }
}
algorithms! {
    /// Algorithms of a gather and of a scatter.
    Rooted {
        /// Along a binomial tree.
        Binomial,
        /// Directly between the root and each member.
        Linear,
    }
}
algorithms! {
    /// Algorithms of a gather to all.
    Allgather {
        /// Round a ring, one block at a time.
        Ring,
        /// At doubling distances, all that is known (Bruck).
        Bruck,
    }
}
algorithms! {
    /// Algorithms of an all-to-all.
    Alltoall {
        /// One partner after the other, at growing distance.
        Pairwise,
        /// All sends at once, starting with the neighbour.
        Linear,
    }
}
algorithms! {
    /// Algorithms of a barrier.
    Barrier {
        /// Tokens at doubling distances.
        Dissemination,
    }
}

/// Algorithms chosen by hand; `None` leaves the decision to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// Bcast.
    pub bcast: Option<Bcast>,
    /// Reduce.
    pub reduce: Option<Reduce>,
    /// Allreduce.
    pub allreduce: Option<Allreduce>,
    /// Gather and Gatherv.
    pub gather: Option<Rooted>,
    /// Scatter and Scatterv.
    pub scatter: Option<Rooted>,
    /// Allgather and Allgatherv.
    pub allgather: Option<Allgather>,
    /// Alltoall and Alltoallv.
    pub alltoall: Option<Alltoall>,
    /// Barrier.
    pub barrier: Option<Barrier>,
}

const KIB: u64 = 1024;

/// The algorithm for `kind` among `n` members.
#[must_use]
pub fn decide(kind: &CollectiveKind, n: u32, choices: &Choices) -> Algorithm {
    match kind {
        CollectiveKind::Bcast { bytes, .. } => {
            Algorithm::Bcast(choices.bcast.unwrap_or(match (*bytes, n) {
                (_, ..8) => Bcast::Binomial,
                (bytes, _) if bytes < 12 * KIB => Bcast::Binomial,
                _ => Bcast::ScatterAllgather,
            }))
        }
        CollectiveKind::Reduce { bytes, .. } => {
            Algorithm::Reduce(choices.reduce.unwrap_or(if short(*bytes, n) {
                Reduce::Binomial
            } else {
                Reduce::ReduceScatterGather
            }))
        }
        CollectiveKind::Allreduce { bytes } => {
            Algorithm::Allreduce(choices.allreduce.unwrap_or(if short(*bytes, n) {
                Allreduce::RecursiveDoubling
            } else {
                Allreduce::Rabenseifner
            }))
        }
        CollectiveKind::Gather { blocks, .. } => {
            Algorithm::Gather(choices.gather.unwrap_or_else(|| rooted(blocks)))
        }
        CollectiveKind::Scatter { blocks, .. } => {
            Algorithm::Scatter(choices.scatter.unwrap_or_else(|| rooted(blocks)))
        }
        CollectiveKind::Allgather { blocks } => {
            let total = blocks.iter().fold(0, |sum: u64, &b| sum.saturating_add(b));
            Algorithm::Allgather(choices.allgather.unwrap_or(if total < 80 * KIB {
                Allgather::Bruck
            } else {
                Allgather::Ring
            }))
        }
        CollectiveKind::Alltoall { blocks } => {
            let largest = blocks.iter().map(|row| row.to(0)).max();
            Algorithm::Alltoall(choices.alltoall.unwrap_or(match largest {
                Some(bytes) if bytes > 32 * KIB => Alltoall::Pairwise,
                _ => Alltoall::Linear,
            }))
        }
        CollectiveKind::Barrier => {
            Algorithm::Barrier(choices.barrier.unwrap_or(Barrier::Dissemination))
        }
    }
}

/// True if a vector is better not cut into parts.
fn short(bytes: u64, n: u32) -> bool {
    bytes <= 2 * KIB || bytes < u64::from(n)
}

fn rooted(blocks: &[u64]) -> Rooted {
    match blocks.windows(2).all(|pair| pair[0] == pair[1]) {
        true => Rooted::Binomial,
        false => Rooted::Linear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_decides_unless_told_otherwise() {
        let bcast = |bytes, n| {
            let kind = CollectiveKind::Bcast { root: 0, bytes };
            decide(&kind, n, &Choices::default())
        };
        assert_eq!(bcast(12 * KIB - 1, 64), Algorithm::Bcast(Bcast::Binomial));
        assert_eq!(
            bcast(12 * KIB, 64),
            Algorithm::Bcast(Bcast::ScatterAllgather)
        );
        assert_eq!(bcast(1 << 20, 7), Algorithm::Bcast(Bcast::Binomial));
        let choices = Choices {
            allreduce: Some(Allreduce::Ring),
            ..Choices::default()
        };
        let kind = CollectiveKind::Allreduce { bytes: 8 };
        let chosen = decide(&kind, 64, &choices);
        assert_eq!(chosen, Algorithm::Allreduce(Allreduce::Ring));
    }

    #[test]
    fn algorithms_are_chosen_by_name() {
        let text = r#"{"bcast": "scatter-allgather", "gather": "linear"}"#;
        let choices: Choices = serde_json::from_str(text).unwrap();
        assert_eq!(choices.bcast, Some(Bcast::ScatterAllgather));
        assert_eq!(choices.gather, Some(Rooted::Linear));
        assert_eq!(choices.scatter, None);
        assert!(serde_json::from_str::<Choices>(r#"{"brcast": "chain"}"#).is_err());
    }
}
