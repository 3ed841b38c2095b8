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
