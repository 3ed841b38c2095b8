//! All-reduce in groups of consecutive ranks.

use flitwise_formats::vef::Op;

use super::GenerateError;
use super::builder::Builder;

/// The members of each group; none for the world alone.
pub(super) fn groups(ranks: u32, groups: u32) -> Vec<Vec<u32>> {
    if groups < 2 {
        return Vec::new();
    }
    let each = ranks / groups;
    let members = |group| (group * each..(group + 1) * each).collect();
    (0..groups).map(members).collect()
}

pub(super) fn run(b: &mut Builder, groups: u32) -> Result<(), GenerateError> {
    let spec = b.spec;
    // The world is communicator 0.
    let comms = if groups < 2 { 0..1 } else { 1..groups + 1 };
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for comm in comms.clone() {
            b.collective(comm, Op::Allreduce, spec.size, spec.size)?;
        }
    }
    Ok(())
}

/// The members of the nodes of `node` consecutive ranks, and then of what reduces among nodes: their first ranks, or, each
/// apart, their first, second and further ranks.
pub(super) fn hierarchy(ranks: u32, node: u32, by_rank: bool) -> Vec<Vec<u32>> {
    let across = |first: u32| (first..ranks).step_by(node as usize).collect();
    let mut all = groups(ranks, ranks / node);
    all.extend((0..if by_rank { node } else { 1 }).map(across));
    all
}

/// Reduces inside nodes of `node` ranks, among the nodes, and distributes the result inside them. `by_rank`: every rank
/// reduces a part of the data.
pub(super) fn hierarchical(b: &mut Builder, node: u32, by_rank: bool) -> Result<(), GenerateError> {
    let spec = b.spec;
    let nodes = spec.ranks / node;
    let (inside, size) = (1..nodes + 1, spec.size);
    let part = size.div_ceil(node.into());
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for comm in inside.clone() {
            if by_rank {
                b.collective(comm, Op::Alltoall, part, 0)?;
            } else {
                b.rooted(comm, Op::Reduce, [0, size], [size, 0])?;
            }
        }
        if by_rank {
            for comm in nodes + 1..nodes + 1 + node {
                b.collective(comm, Op::Allreduce, part, part)?;
            }
        } else {
            b.collective(nodes + 1, Op::Allreduce, size, size)?;
        }
        for comm in inside.clone() {
            if by_rank {
                b.collective(comm, Op::Allgather, part, part * u64::from(node))?;
            } else {
                b.rooted(comm, Op::Bcast, [size, 0], [0, size])?;
            }
        }
    }
    Ok(())
}
