//! What a rank computes: the time between its calls.

use crate::replay::trace::ComputeTime;
use flitwise_formats::dumpi::Record;

/// The longest time between two polls that is a loop's own. Recorders take 1 to 2 us for a call.
const POLL_NS: u64 = 4_000;

/// The time between the calls of a rank.
pub(super) struct Gaps {
    clock: ComputeTime,
    /// End of the call before.
    last: Option<i64>,
    /// The call before looked for something and found nothing.
    polled: bool,
    /// Since the last operation, in nanoseconds.
    ns: u64,
}

impl Gaps {
    pub fn new(clock: ComputeTime) -> Self {
        Self {
            clock,
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
            // A clock may go back.
            let gap = u64::try_from(span.start.saturating_sub(last)).unwrap_or(0);
            let loops = polled && record.call.is_poll() && gap <= POLL_NS;
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
