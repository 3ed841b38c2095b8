//! The computation of a rank: the time outside of functions of MPI.

/// The time between the calls of a rank, in ticks.
#[derive(Debug)]
pub(super) struct Gaps {
    ticks_per_second: u64,
    /// The longest time before a poll that is one of its loop, in picoseconds.
    longest_poll_ps: u64,
    /// End of the call before.
    last: Option<u64>,
    /// The time since then that the recorder took.
    recorder: u64,
    /// The call before looked for something and found nothing.
    polled: bool,
    /// Since the last operation.
    ticks: u64,
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Gaps {
    pub fn new(ticks_per_second: u64, longest_poll_ps: u64) -> Self {
        Self {
            ticks_per_second: ticks_per_second.max(1),
            longest_poll_ps,
            last: None,
            recorder: 0,
            polled: false,
            ticks: 0,
        }
    }

    fn ps(&self, ticks: u64) -> Option<u64> {
        let ps = u128::from(ticks) * PS_PER_SECOND / u128::from(self.ticks_per_second);
        u64::try_from(ps).ok()
    }

    /// A call begins. What the rank does before its first one is not in the replay.
    pub fn begin(&mut self, time: u64, is_poll: bool) {
        let recorder = std::mem::take(&mut self.recorder);
        let Some(last) = self.last else { return };
        let gap = time.saturating_sub(last).saturating_sub(recorder);
        let loops =
            self.polled && is_poll && self.ps(gap).is_some_and(|ps| ps <= self.longest_poll_ps);
        if !loops {
            self.ticks = self.ticks.saturating_add(gap);
        }
    }

    /// A call ends; `polled` if it looked for something and found nothing.
    pub fn end(&mut self, time: u64, polled: bool) {
        self.last = Some(time);
        self.polled = polled;
    }

    /// The recorder took these ticks between two calls.
    pub fn recorder(&mut self, ticks: u64) {
        self.recorder = self.recorder.saturating_add(ticks);
    }

    /// The computation since the last operation, in picoseconds; `None` beyond the range of time.
    pub fn take_ps(&mut self) -> Option<u64> {
        let ticks = std::mem::take(&mut self.ticks);
        self.ps(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    #[test]
    fn time_outside_of_calls_is_computation() {
        let mut gaps = Gaps::new(2_000_000_000, 4_000_000);
        gaps.begin(500, false);
        gaps.end(1000, false);
        gaps.begin(3000, false);
        assert_eq!(gaps.take_ps(), Some(1_000_000));
        // The recorder wrote for half of the next gap.
        gaps.end(4000, false);
        gaps.recorder(1000);
        gaps.begin(6000, true);
        assert_eq!(gaps.take_ps(), Some(500_000));
        // Up to 4 us between polls are their loop.
        gaps.end(7000, true);
        gaps.begin(15_000, true);
        gaps.end(16_000, true);
        gaps.begin(24_001, true);
        assert_eq!(gaps.take_ps(), Some(4_000_500));
        gaps.end(25_000, true);
        gaps.begin(26_000, false);
        assert_eq!(gaps.take_ps(), Some(500_000));
    }
}
