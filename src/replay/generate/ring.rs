//! Ring: compute, send to the next rank, wait for the previous one; and rings of random order, in
//! which every rank sends to both neighbours and waits for both.

use flitwise_base::random::{Purpose, Stream};
use flitwise_formats::vef::Op;

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

pub(super) fn random(
    b: &mut Builder,
    rings: u64,
    window: u32,
    sync: bool,
) -> Result<(), GenerateError> {
    let spec = b.spec;
    let mut drawn = None;
    let mut order = Vec::new();
    for iteration in 0..spec.iterations {
        let ring = u128::from(iteration) * u128::from(rings) / u128::from(spec.iterations);
        if drawn != Some(ring) {
            order = (0..spec.ranks).collect();
            // `ring` is less than `rings`.
            Stream::new(spec.seed, Purpose::Peers, [ring as u64, 1]).shuffle(&mut order);
            drawn = Some(ring);
        }
        b.compute_all()?;
        exchange(b, &order, window)?;
        if sync {
            b.collective(0, Op::Barrier, 0, 0)?;
        }
    }
    Ok(())
}

/// Every rank sends `window` messages to each neighbour in the ring and waits for theirs.
fn exchange(b: &mut Builder, ring: &[u32], window: u32) -> Result<(), GenerateError> {
    let n = ring.len();
    let first = b.next_id();
    for _ in 0..window {
        for (at, &rank) in ring.iter().enumerate() {
            b.send(rank, ring[(at + 1) % n], b.spec.size)?;
            b.send(rank, ring[(at + n - 1) % n], b.spec.size)?;
        }
    }
    // Ids count up in the order above.
    let id = |message: u32, at: usize, back: u64| {
        first + 2 * (u64::from(message) * n as u64 + at as u64) + back
    };
    for message in 0..window {
        for (at, &rank) in ring.iter().enumerate() {
            b.wait(rank, id(message, (at + n - 1) % n, 0))?;
            b.wait(rank, id(message, (at + 1) % n, 1))?;
        }
    }
    Ok(())
}
