//! The computation of a rank: the time between its calls.

use crate::trace::ComputeTime;
use flitwise_formats::dumpi::Record;

/// The rule for which time before a poll belongs to its loop, and is no computation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loops {
    /// The longest one, in picoseconds.
    pub longest_ps: u64,
    /// Whether the recording leaves out unsuccessful polls: one may have come before any poll.
    pub hidden: bool,
}

/// The time between the calls of a rank.
pub(super) struct Gaps {
    clock: ComputeTime,
    loops: Loops,
    /// End of the call before.
    last: Option<i64>,
    /// The call before looked for something and found nothing.
    polled: bool,
    /// Since the last operation, in nanoseconds.
    ns: u64,
}

impl Gaps {
    pub fn new(clock: ComputeTime, loops: Loops) -> Self {
        Self {
            clock,
            loops,
            last: None,
            polled: false,
            ns: 0,
        }
    }

    /// The next call. What the rank does before its first one is not in the trace.
    pub fn see(&mut self, record: &Record<'_>) {
        let span = match self.clock {
            ComputeTime::Wall => record.wall,
            ComputeTime::Cpu => record.cpu,
        };
        let polled = std::mem::replace(&mut self.polled, record.call.found_nothing());
        let Some(span) = span else { return };
        if let Some(last) = self.last {
            // A clock may jump back.
            let gap = u64::try_from(span.start.saturating_sub(last)).unwrap_or(0);
            let loops = (polled || self.loops.hidden)
                && record.call.is_poll()
                && gap.saturating_mul(1000) <= self.loops.longest_ps;
            if !loops {
                self.ns = self.ns.saturating_add(gap);
            }
        }
        self.last = Some(span.stop);
    }

    /// The computation since the last operation, in picoseconds; `None` beyond the range of time.
    pub fn take_ps(&mut self) -> Option<u64> {
        std::mem::take(&mut self.ns).checked_mul(1000)
    }
}
