//! Pairs of ranks: one of the lower half and the one as far up in the upper half.

use super::GenerateError;
use super::builder::Builder;
use super::incast::ANSWER;

pub(super) fn ping_pong(b: &mut Builder) -> Result<(), GenerateError> {
    let spec = b.spec;
    let half = spec.ranks / 2;
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for rank in 0..half {
            pass(b, rank, rank + half, spec.size)?;
            pass(b, rank + half, rank, spec.size)?;
        }
    }
    Ok(())
}

pub(super) fn bandwidth(b: &mut Builder, window: u32) -> Result<(), GenerateError> {
    let spec = b.spec;
    let half = spec.ranks / 2;
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for rank in 0..half {
            let first = b.next_id();
            for _ in 0..window {
                b.send(rank, rank + half, spec.size)?;
            }
            for id in first..first + u64::from(window) {
                b.wait(rank + half, id)?;
            }
            pass(b, rank + half, rank, ANSWER)?;
        }
    }
    Ok(())
}

/// `from` sends a message, for which `to` waits.
fn pass(b: &mut Builder, from: u32, to: u32, size: u64) -> Result<(), GenerateError> {
    let id = b.send(from, to, size)?;
    b.wait(to, id)
}
