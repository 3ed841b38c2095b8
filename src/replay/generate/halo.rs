//! Halo exchange: compute, send to both neighbours along every dimension, wait for theirs.

use super::GenerateError;
use super::builder::Builder;
use super::grid::Grid;

pub(super) fn run(b: &mut Builder, grid: &Grid, open: bool) -> Result<(), GenerateError> {
    let spec = b.spec;
    let n = spec.ranks;
    let faces: Vec<(usize, bool)> = (0..grid.dimensions())
        .flat_map(|dimension| [(dimension, false), (dimension, true)])
        .collect();
    // Ids by face and rank; only those that exist are looked up.
    let mut sent = vec![0; faces.len() * n as usize];
    let at = |face: usize, rank: u32| face * n as usize + rank as usize;
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for (face, &(dimension, up)) in faces.iter().enumerate() {
            for rank in 0..n {
                if let Some(to) = grid.neighbour(rank, dimension, up, open) {
                    sent[at(face, rank)] = b.send(rank, to, spec.size)?;
                }
            }
        }
        for (face, &(dimension, up)) in faces.iter().enumerate() {
            for rank in 0..n {
                if let Some(from) = grid.neighbour(rank, dimension, up, open) {
                    // The neighbour above sent it down, and vice versa.
                    b.wait(rank, sent[at(face ^ 1, from)])?;
                }
            }
        }
    }
    Ok(())
}
