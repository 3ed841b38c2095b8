//! Ring: compute, send to the next rank, wait for the previous one.

use super::GenerateError;
use super::builder::Builder;

pub(super) fn run(b: &mut Builder) -> Result<(), GenerateError> {
    let spec = b.spec;
    let n = spec.ranks;
    for _ in 0..spec.iterations {
        b.compute_all()?;
        let first = b.next_id();
        for rank in 0..n {
            b.send(rank, (rank + 1) % n, spec.size)?;
        }
        for rank in 0..n {
            b.wait(rank, first + u64::from((rank + n - 1) % n))?;
        }
    }
    Ok(())
}
