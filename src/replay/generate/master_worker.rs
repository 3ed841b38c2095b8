//! Master and workers: rank 0 sends a task to every worker, and a new one to each worker that
//! returns a result, until all tasks are done. Results come in the order in which the workers
//! finish if messages take no time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::GenerateError;
use super::builder::Builder;

pub(super) fn run(b: &mut Builder) -> Result<(), GenerateError> {
    let spec = b.spec;
    let workers = spec.ranks - 1;
    let tasks = spec.iterations.checked_mul(workers.into());
    let mut left = tasks.ok_or_else(|| GenerateError::Spec("2^64 tasks or more".into()))?;
    // Time of the result, worker, and id of its message.
    let mut busy = BinaryHeap::new();
    let mut hand_out = |b: &mut Builder, worker: u32, now: u64, busy: &mut BinaryHeap<_>| {
        if left > 0 {
            left -= 1;
            let task = b.send(0, worker, spec.size)?;
            b.wait(worker, task)?;
            let gap = b.gaps[worker as usize];
            b.compute(worker, gap)?;
            let result = b.send(worker, 0, spec.size)?;
            // `compute` refuses times that could overflow.
            busy.push(Reverse((now.saturating_add(gap), worker, result)));
        }
        Ok::<_, GenerateError>(())
    };
    for worker in 1..=workers {
        hand_out(b, worker, 0, &mut busy)?;
    }
    while let Some(Reverse((now, worker, result))) = busy.pop() {
        b.wait(0, result)?;
        hand_out(b, worker, now, &mut busy)?;
    }
    Ok(())
}
