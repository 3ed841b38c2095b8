//! Random access: compute, send a few messages to random other ranks, wait for the messages
//! received in this iteration.

use super::GenerateError;
use super::builder::Builder;
use flitwise_base::random::{Purpose, Stream};

pub(super) fn run(b: &mut Builder, messages: u32) -> Result<(), GenerateError> {
    let spec = b.spec;
    let n = spec.ranks;
    let stream = |rank: u32| Stream::new(spec.seed, Purpose::Peers, [rank.into(), 0]);
    let mut streams: Vec<Stream> = (0..n).map(stream).collect();
    let mut inbox: Vec<Vec<u64>> = vec![Vec::new(); n as usize];
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for _ in 0..messages {
            for (src, stream) in (0..n).zip(&mut streams) {
                // Any other rank, all equally likely.
                let other = stream.below(u64::from(n) - 1) as u32;
                let dst = other + u32::from(other >= src);
                let id = b.send(src, dst, spec.size)?;
                inbox[dst as usize].push(id);
            }
        }
        for (dst, ids) in (0..n).zip(&mut inbox) {
            for id in ids.drain(..) {
                b.wait(dst, id)?;
            }
        }
    }
    Ok(())
}
