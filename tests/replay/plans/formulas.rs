//! The textbooks' closed forms for every algorithm: the table of docs/model/replay.md.

use flitwise::replay::collectives::Algorithm;
use flitwise::replay::collectives::decide::{
    Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, ReduceScatter, Rooted,
};
use flitwise::replay::program::{AlltoallBlocks, CollectiveKind};

/// Totals of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Messages, if no part is empty.
    pub messages: u64,
    /// Payload.
    pub bytes: u64,
    /// Bytes that are combined.
    pub combined: u64,
    /// Longest chain of messages that depend on one another, if no part is empty.
    pub depth: u64,
    /// Whether there is always a chain of that length.
    pub deepest: bool,
}

fn ones(x: u64) -> u64 {
    x.count_ones().into()
}

/// Part `i` of `total` bytes cut into `parts`.
fn part(total: u64, parts: u64, i: u64) -> u64 {
    total / parts + u64::from(i < total % parts)
}

/// `size` over `range`, each times the set bits of its index.
fn weighted(count: u64, size: impl Fn(u64) -> u64) -> u64 {
    (0..count).map(|i| ones(i) * size(i)).sum()
}

/// Bytes from `i` to `j`.
fn pair(rows: &[AlltoallBlocks], i: u64, j: u64) -> u64 {
    rows[i as usize].to(j as u32)
}

/// Bytes of the vector that all members have, or of all blocks; 0 if pairs have their own.
fn vector(kind: &CollectiveKind) -> u64 {
    match kind {
        CollectiveKind::Bcast { bytes, .. }
        | CollectiveKind::Reduce { bytes, .. }
        | CollectiveKind::Allreduce { bytes }
        | CollectiveKind::Scan { bytes }
        | CollectiveKind::Exscan { bytes } => *bytes,
        CollectiveKind::Gather { blocks, .. }
        | CollectiveKind::Scatter { blocks, .. }
        | CollectiveKind::Allgather { blocks }
        | CollectiveKind::ReduceScatter { blocks } => blocks.iter().sum(),
        CollectiveKind::Alltoall { .. } | CollectiveKind::Barrier => 0,
    }
}

/// Sizes of the blocks that `algorithm` moves.
pub fn blocks(kind: &CollectiveKind, n: u32, algorithm: Algorithm, segment: u64) -> Vec<u64> {
    let vector = vector(kind);
    let parts = match algorithm {
        Algorithm::Bcast(Bcast::ScatterAllgather)
        | Algorithm::Allreduce(Allreduce::Ring | Allreduce::Hierarchical) => n.into(),
        Algorithm::Allreduce(Allreduce::DoubleTree) => 2 * segments_of_half(vector, segment),
        Algorithm::Bcast(Bcast::Chain) => vector.div_ceil(segment).max(1),
        Algorithm::Reduce(Reduce::ReduceScatterGather)
        | Algorithm::Allreduce(Allreduce::Rabenseifner) => 1 << n.ilog2(),
        _ => 1,
    };
    match kind {
        CollectiveKind::Gather { blocks, .. }
        | CollectiveKind::Scatter { blocks, .. }
        | CollectiveKind::Allgather { blocks }
        | CollectiveKind::ReduceScatter { blocks } => blocks.clone(),
        CollectiveKind::Alltoall { blocks } => {
            let row = |row: &AlltoallBlocks| (0..n).map(|to| row.to(to)).collect::<Vec<_>>();
            blocks.iter().flat_map(row).collect()
        }
        _ => (0..parts).map(|at| part(vector, parts, at)).collect(),
    }
}

fn segments_of_half(vector: u64, segment: u64) -> u64 {
    vector.div_ceil(2).div_ceil(segment).max(1)
}

/// The totals of `algorithm` for `kind` among `members`, in segments of `segment` bytes and parts of at most `part` members.
pub fn totals(
    kind: &CollectiveKind,
    members: u32,
    algorithm: Algorithm,
    (segment, part_of): (u64, u32),
) -> Totals {
    let n = u64::from(members);
    let others = n - 1;
    // Largest power of two, its logarithm, and the number of remaining members.
    let p = 1_u64 << members.ilog2();
    let log = u64::from(members.ilog2());
    let f = n - p;
    let folds = 2 * u64::from(f > 0);
    let rounds = u64::from(members.next_power_of_two().ilog2());
    let deepest_leaf = (0..n).map(ones).max().unwrap_or(0);
    let set_bits = weighted(n, |_| 1);
    let vector = vector(kind);
    let chained = |messages, bytes, combined, depth, deepest| Totals {
        messages,
        bytes,
        combined,
        depth,
        deepest: deepest || folds == 0,
    };
    let moved = |messages, bytes, depth| chained(messages, bytes, 0, depth, true);
    match (algorithm, kind) {
        (Algorithm::Bcast(Bcast::Binomial), _) => moved(others, others * vector, deepest_leaf),
        (Algorithm::Bcast(Bcast::Chain), _) => {
            let segments = vector.div_ceil(segment).max(1);
            // Pipelined: the last segment waits only for its predecessors.
            moved(others * segments, others * vector, others)
        }
        (Algorithm::Bcast(Bcast::ScatterAllgather), _) => {
            let tree = weighted(n, |rel| part(vector, n, rel));
            let depth = deepest_leaf + others;
            let messages = others * (n + 1);
            Totals {
                deepest: false,
                ..moved(messages, tree + others * vector, depth)
            }
        }
        (Algorithm::Reduce(Reduce::Binomial), _) => {
            chained(others, others * vector, others * vector, deepest_leaf, true)
        }
        (Algorithm::Reduce(Reduce::ReduceScatterGather), _) => {
            let gathered = weighted(p, |rank| part(vector, p, rank));
            let messages = f + p * log + p - 1;
            let depth = folds / 2 + 2 * log;
            chained(
                messages,
                others * vector + gathered,
                others * vector,
                depth,
                false,
            )
        }
        (Algorithm::Allreduce(Allreduce::RecursiveDoubling), _) => {
            let messages = 2 * f + p * log;
            let combined = (f + p * log) * vector;
            chained(messages, messages * vector, combined, folds + log, false)
        }
        (Algorithm::Allreduce(Allreduce::Ring), _) => {
            let bytes = 2 * others * vector;
            chained(2 * n * others, bytes, others * vector, 2 * others, true)
        }
        (Algorithm::Allreduce(Allreduce::DoubleTree), _) => {
            let segments = segments_of_half(vector, segment);
            let bytes = 2 * others * vector;
            // A message arrives two rounds after it was sent, and a segment is on its way for four times the height.
            let depth = 2 * rounds + (segments - 1) / 2;
            let messages = 4 * others * segments;
            Totals {
                deepest: false,
                ..chained(messages, bytes, others * vector, depth, false)
            }
        }
        (Algorithm::Allreduce(Allreduce::Hierarchical), _) => {
            let inside = (1..=u64::from(part_of).min(n))
                .rev()
                .find(|m| n % m == 0)
                .unwrap();
            let depth = 2 * (inside - 1) + 2 * (n / inside - 1);
            let bytes = 2 * others * vector;
            chained(n * depth, bytes, others * vector, depth, true)
        }
        (Algorithm::Allreduce(Allreduce::Rabenseifner), _) => {
            let messages = 2 * f + 2 * p * log;
            let bytes = 2 * f * vector + 2 * (p - 1) * vector;
            chained(messages, bytes, others * vector, folds + 2 * log, false)
        }
        (
            Algorithm::Gather(how) | Algorithm::Scatter(how),
            CollectiveKind::Gather { root, blocks } | CollectiveKind::Scatter { root, blocks },
        ) => match how {
            Rooted::Binomial => {
                let from_root = |rel: u64| blocks[((u64::from(*root) + rel) % n) as usize];
                moved(others, weighted(n, from_root), deepest_leaf)
            }
            Rooted::Linear => moved(others, vector - blocks[*root as usize], others.min(1)),
        },
        (Algorithm::Allgather(how), _) => match how {
            Allgather::Ring => moved(n * others, others * vector, others),
            Allgather::Bruck => moved(n * rounds, others * vector, rounds),
            Allgather::RecursiveDoubling => {
                let messages = 2 * f + p * log;
                chained(messages, others * vector, 0, folds + log, false)
            }
        },
        (Algorithm::Alltoall(how), CollectiveKind::Alltoall { blocks }) => {
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            let foreign = pairs.filter(|(i, j)| i != j);
            let sum = |hops: fn(u64) -> u64| -> u64 {
                let sizes = foreign.clone();
                sizes
                    .map(|(i, j)| pair(blocks, i, j) * hops((j + n - i) % n))
                    .sum()
            };
            match how {
                Alltoall::Pairwise => moved(n * others, sum(|_| 1), others),
                Alltoall::Linear => moved(n * others, sum(|_| 1), others.min(1)),
                Alltoall::Bruck => moved(n * rounds, sum(ones), rounds),
            }
        }
        (Algorithm::Barrier(Barrier::Dissemination), _) => moved(n * rounds, 0, rounds),
        (Algorithm::Barrier(Barrier::RecursiveDoubling), _) => {
            chained(2 * f + p * log, 0, 0, folds + log, false)
        }
        (Algorithm::ReduceScatter(how), CollectiveKind::ReduceScatter { blocks }) => match how {
            ReduceScatter::Ring => {
                let bytes = others * vector;
                chained(n * others, bytes, bytes, others, true)
            }
            ReduceScatter::RecursiveHalving => {
                // Among the first 2f members the odd ones receive their block at the end.
                let returned: u64 = (0..f).map(|i| blocks[2 * i as usize + 1]).sum();
                let bytes = others * vector;
                let messages = 2 * f + p * log;
                chained(messages, bytes + returned, bytes, folds + log, false)
            }
        },
        // Both partners send, the lower combines once, the upper twice; in an exscan
        // all but the first once less.
        (Algorithm::Scan(_), _) => {
            let bytes = 2 * set_bits * vector;
            chained(2 * set_bits, bytes, 3 * set_bits * vector, rounds, true)
        }
        (Algorithm::Exscan(_), _) => {
            let combined = 3 * set_bits * vector - others * vector;
            let bytes = 2 * set_bits * vector;
            chained(2 * set_bits, bytes, combined, rounds, true)
        }
        _ => unreachable!("decide gives an algorithm of the operation"),
    }
}
