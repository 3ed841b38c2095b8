//! The neighbour patterns of ORCS: greedy, from rank 0 on.

use super::Level;

/// Every rank gets up to `most` neighbours, and both send to each other. Rank after rank takes, for each neighbour that
/// it lacks, the next higher rank that is not its neighbour yet and lacks one.
pub(super) fn add(ranks: u32, most: u32, out: &mut Level) {
    let most = most.min(ranks.saturating_sub(1)) as usize;
    let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); ranks as usize];
    // All ranks below are full, or have looked at every other rank.
    let mut first_free = 1;
    for rank in 0..ranks {
        let mut other = first_free.max(rank + 1);
        while neighbors[rank as usize].len() < most && other < ranks {
            if neighbors[other as usize].len() < most {
                neighbors[rank as usize].push(other);
                neighbors[other as usize].push(rank);
            }
            other += 1;
        }
        while first_free < ranks && neighbors[first_free as usize].len() >= most {
            first_free += 1;
        }
    }
    for (rank, own) in (0..).zip(&neighbors) {
        out.extend(own.iter().map(|&other| (rank, other)));
    }
}
