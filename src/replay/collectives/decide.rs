//! Which algorithm a collective uses: the decision table.
//!
//! The methods of [`Choices`] follow the table in `docs/model/replay.md` row by row. That page names the sources.

use super::group::Group;
use super::in_network::Limits;
use crate::program::AlltoallBlocks;
use flitwise_base::units::{Bytes, Picoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the algorithms of one operation.
macro_rules! algorithms {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        /// In segments up and down a tree of switches, which combine and copy them.
        InNetwork,
    }
}
algorithms! {
    /// Algorithms of a reduction.
    Reduce {
        /// Up a binomial tree.
        Binomial,
        /// Reduced in parts by recursive halving, then gathered up a binomial tree.
        ReduceScatterGather,
        /// In segments up and down a tree of switches, which combine and copy them.
        InNetwork,
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
        /// In segments up and down two trees, each of which takes half of the vector.
        DoubleTree,
        /// Rings within parts of the members, and among the members at one place of the parts.
        Hierarchical,
        /// In segments up and down a tree of switches, which combine and copy them.
        InNetwork,
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
        /// Each sends all blocks that it has, at doubling distances (Bruck).
        Bruck,
        /// Partners at doubling distances exchange all they have.
        RecursiveDoubling,
    }
}
algorithms! {
    /// Algorithms of an all-to-all.
    Alltoall {
        /// One partner after the other, at growing distance.
        Pairwise,
        /// All sends at once, starting with the neighbour.
        Linear,
        /// At doubling distances, through other members (Bruck).
        Bruck,
    }
}
algorithms! {
    /// Algorithms of a barrier.
    Barrier {
        /// Tokens at doubling distances.
        Dissemination,
        /// Partners at doubling distances exchange tokens.
        RecursiveDoubling,
        /// Up and down a tree of switches.
        InNetwork,
    }
}
algorithms! {
    /// Algorithms of a reduction whose result is scattered.
    ReduceScatter {
        /// Block by block round a ring.
        Ring,
        /// Partners exchange ever smaller halves.
        RecursiveHalving,
    }
}
algorithms! {
    /// Algorithms of a prefix reduction.
    Scan {
        /// Partial results of aligned groups at doubling distances.
        RecursiveDoubling,
    }
}

/// Declares the choices and how one set of them is laid over another.
macro_rules! choices {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)+) => {
        /// Algorithms chosen by hand; `None` leaves the decision to the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Choices {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)+
            /// Longest segment of a `"chain"` broadcast, at least 1 byte; by default 16 KiB.
            #[serde(skip_serializing)]
            pub chain_segment: Option<Bytes>,
            /// Longest segment of a `"double-tree"`, at least 1 byte; by default 512 KiB.
            #[serde(skip_serializing)]
            pub tree_segment: Option<Bytes>,
            /// Most members of a part of `"hierarchical"`, by default 8; it has the largest divisor of their number.
            #[serde(skip_serializing)]
            pub part: Option<u32>,
            /// Longest segment of an `"in-network"` operation, at least 1 byte; by default 256 B.
            #[serde(skip_serializing)]
            pub switch_payload: Option<Bytes>,
            /// Segments of a rank on their way `"in-network"`, at least 1; by default 4.
            #[serde(skip_serializing)]
            pub switch_operations: Option<u32>,
            /// Most internal links of a switch `"in-network"`, at least 1; by default one for each neighbour.
            #[serde(skip_serializing)]
            pub switch_links: Option<u32>,
            /// Time in which a switch combines a segment `"in-network"`; by default `"0ns"`.
            #[serde(skip_serializing)]
            pub switch_reduction: Option<Picoseconds>,
        }

        impl Choices {
            /// These choices, completed from `others`. Segments and parts of `others` count only if
            /// their operation is not chosen here.
            #[must_use]
            pub fn or(self, others: &Self) -> Self {
                let usual = Self::default();
                let of_bcast = if self.bcast.is_none() { others } else { &usual };
                let of_allreduce = if self.allreduce.is_none() { others } else { &usual };
                Self {
                    $($field: self.$field.or(others.$field),)+
                    chain_segment: self.chain_segment.or(of_bcast.chain_segment),
                    tree_segment: self.tree_segment.or(of_allreduce.tree_segment),
                    part: self.part.or(of_allreduce.part),
                    switch_payload: self.switch_payload.or(others.switch_payload),
                    switch_operations: self.switch_operations.or(others.switch_operations),
                    switch_links: self.switch_links.or(others.switch_links),
                    switch_reduction: self.switch_reduction.or(others.switch_reduction),
                }
            }
        }
    };
}

choices! {
    /// Bcast.
    bcast: Bcast,
    /// Reduce.
    reduce: Reduce,
    /// Allreduce.
    allreduce: Allreduce,
    /// Gather and Gatherv.
    gather: Rooted,
    /// Scatter and Scatterv.
    scatter: Rooted,
    /// Allgather and Allgatherv.
    allgather: Allgather,
    /// Alltoall and Alltoallv.
    alltoall: Alltoall,
    /// Barrier.
    barrier: Barrier,
    /// Reduce_scatter and Reduce_scatter_block.
    reduce_scatter: ReduceScatter,
    /// Scan.
    scan: Scan,
    /// Exscan.
    exscan: Scan,
}

impl Choices {
    /// Longest segment of a chain in bytes, if chosen.
    #[must_use]
    pub fn segment(&self) -> Option<u64> {
        self.chain_segment.map(|bytes| bytes.0)
    }

    /// Longest segment of two trees in bytes, if chosen.
    #[must_use]
    pub fn tree_segment(&self) -> Option<u64> {
        self.tree_segment.map(|bytes| bytes.0)
    }

    /// Whether an operation is chosen to be carried out by the switches.
    #[must_use]
    pub fn in_network(&self) -> bool {
        self.bcast == Some(Bcast::InNetwork)
            || self.reduce == Some(Reduce::InNetwork)
            || self.allreduce == Some(Allreduce::InNetwork)
            || self.barrier == Some(Barrier::InNetwork)
    }

    /// The limits of the switches.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            payload: self.switch_payload.map_or(256, |bytes| bytes.0),
            operations: self.switch_operations.unwrap_or(4),
            reduction_ps: self.switch_reduction.map_or(0, |time| time.0),
        }
    }

    /// The parts of a hierarchical operation.
    pub(super) fn parts(&self, group: Group) -> Group {
        group.in_parts(self.part.unwrap_or(8))
    }

    /// The algorithm of a broadcast of `bytes` bytes among `n` members.
    pub(super) fn of_bcast(&self, bytes: u64, n: u32) -> Bcast {
        self.bcast.unwrap_or(if n < 8 || bytes < 12 * KIB {
            Bcast::Binomial
        } else {
            Bcast::ScatterAllgather
        })
    }

    /// The algorithm of a reduction of `bytes` bytes among `n` members.
    pub(super) fn of_reduce(&self, bytes: u64, n: u32) -> Reduce {
        self.reduce.unwrap_or(if short(bytes, n) {
            Reduce::Binomial
        } else {
            Reduce::ReduceScatterGather
        })
    }

    /// The algorithm of a reduction of `bytes` bytes to all of `n` members.
    pub(super) fn of_allreduce(&self, bytes: u64, n: u32) -> Allreduce {
        self.allreduce.unwrap_or(if short(bytes, n) {
            Allreduce::RecursiveDoubling
        } else {
            Allreduce::Rabenseifner
        })
    }

    /// The algorithm of a gather to all of `n` members.
    pub(super) fn of_allgather(&self, blocks: &[u64], n: u32) -> Allgather {
        self.allgather.unwrap_or(match total(blocks) {
            bytes if n.is_power_of_two() && bytes < 512 * KIB => Allgather::RecursiveDoubling,
            bytes if bytes < 80 * KIB => Allgather::Bruck,
            _ => Allgather::Ring,
        })
    }

    /// The algorithm of an all-to-all among `n` members.
    pub(super) fn of_alltoall(&self, blocks: &[AlltoallBlocks], n: u32) -> Alltoall {
        let equal = blocks.windows(2).all(|pair| pair[0] == pair[1])
            && matches!(blocks.first(), Some(AlltoallBlocks::Each(_)));
        let longest = blocks.iter().map(|row| row.to(0)).max();
        self.alltoall.unwrap_or(match longest {
            Some(..=256) if equal && n >= 8 => Alltoall::Bruck,
            Some(bytes) if bytes > 32 * KIB => Alltoall::Pairwise,
            _ => Alltoall::Linear,
        })
    }

    /// The algorithm of a reduction whose result is scattered.
    pub(super) fn of_reduce_scatter(&self, blocks: &[u64]) -> ReduceScatter {
        self.reduce_scatter.unwrap_or(if total(blocks) < 512 * KIB {
            ReduceScatter::RecursiveHalving
        } else {
            ReduceScatter::Ring
        })
    }
}

const KIB: u64 = 1024;

fn total(blocks: &[u64]) -> u64 {
    blocks.iter().fold(0, |sum, &b| sum.saturating_add(b))
}

/// Whether it is better not to cut a vector into parts.
fn short(bytes: u64, n: u32) -> bool {
    bytes <= 2 * KIB || bytes < u64::from(n)
}

/// The algorithm of a gather or scatter of these blocks, unless chosen.
pub(super) fn rooted(blocks: &[u64]) -> Rooted {
    if blocks.windows(2).all(|pair| pair[0] == pair[1]) {
        Rooted::Binomial
    } else {
        Rooted::Linear
    }
}
