//! The computation of a rank: the time between its calls.

use crate::trace::ComputeTime;
use flitwise_formats::recording::{Call, Record};

/// The time between the calls of a rank. Threads compute at the same time: a call of one is as late after its previous one as
/// it computed in between, whatever the others did.
pub(super) struct Gaps {
    by_cpu: bool,
    /// The longest time before a poll that belongs to its loop, in picoseconds.
    longest_ps: u64,
    threads: Vec<Thread>,
    /// The computation of the rank so far, in nanoseconds.
    total_ns: u64,
    /// Since the last operation.
    ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// The computation of the rank at the end of its last call; `None` before its first.
    at_ns: Option<u64>,
    /// Its last call looked for something and found nothing.
    polled: bool,
}

impl Gaps {
    pub fn new(clock: ComputeTime, longest_ps: u64, threads: usize) -> Self {
        Self {
            by_cpu: clock == ComputeTime::Cpu,
            longest_ps,
            threads: vec![Thread::default(); threads],
            total_ns: 0,
            ns: 0,
        }
    }

    /// A call begins. What the rank does before MPI_Init is no part of the program that is replayed.
    pub fn begin(&mut self, record: &Record<'_>) {
        let Some(thread) = self.threads.get_mut(record.thread as usize) else {
            return;
        };
        let times = &record.times;
        let gap = if self.by_cpu {
            times.cpu_ns
        } else {
            times.wall_ns
        };
        // Of equal polls all but the first follow one that found nothing.
        let polled = std::mem::replace(&mut thread.polled, record.call.found_nothing());
        let loops = record.repeats.saturating_sub(u64::from(!polled));
        let of_loop = record.function.is_poll()
            && loops > 0
            && gap.saturating_mul(1000) <= loops.saturating_mul(self.longest_ps);
        let computed = !of_loop && !matches!(record.call, Call::Init(_));
        let from = *thread.at_ns.get_or_insert(self.total_ns);
        let needed = from.saturating_add(if computed { gap } else { 0 });
        if needed > self.total_ns {
            self.ns = self.ns.saturating_add(needed - self.total_ns);
            self.total_ns = needed;
        }
    }

    /// A call ends.
    pub fn end(&mut self, record: &Record<'_>) {
        if let Some(thread) = self.threads.get_mut(record.thread as usize) {
            thread.at_ns = Some(self.total_ns);
        }
    }

    /// The computation since the last operation, in picoseconds; `None` beyond the range of time.
    pub fn take_ps(&mut self) -> Option<u64> {
        std::mem::take(&mut self.ns).checked_mul(1000)
    }
}
