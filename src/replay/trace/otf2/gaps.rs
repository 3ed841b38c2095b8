//! The computation of a rank: the time outside of functions of MPI.

use flitwise_base::units::PS_PER_S;

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
    /// Since the last operation that was no entry or exit of a region.
    ticks: u64,
    /// The part of these that entries and exits since then have, in picoseconds.
    given_ps: u64,
}

impl Gaps {
    pub fn new(ticks_per_second: u64, longest_poll_ps: u64) -> Self {
        Self {
            ticks_per_second: ticks_per_second.max(1),
            longest_poll_ps,
            last: None,
            recorder: 0,
            polled: false,
            ticks: 0,
            given_ps: 0,
        }
    }

    fn ps(&self, ticks: u64) -> Option<u64> {
        let ps = u128::from(ticks) * u128::from(PS_PER_S) / u128::from(self.ticks_per_second);
        u64::try_from(ps).ok()
    }

    /// Time since the call before that the recorder did not take.
    fn gap(&self, time: u64, last: u64) -> u64 {
        time.saturating_sub(last).saturating_sub(self.recorder)
    }

    /// Whether the time up to now is part of a loop of polls, if a poll begins now.
    pub fn may_loop(&self, time: u64) -> bool {
        let gap = self.last.map(|last| self.gap(time, last));
        let ps = gap.and_then(|gap| self.ps(gap));
        self.polled && ps.is_some_and(|ps| ps <= self.longest_poll_ps)
    }

    /// A call begins. What the rank does before its first one is not in the replay.
    pub fn begin(&mut self, time: u64, is_poll: bool) {
        if !(is_poll && self.may_loop(time))
            && let Some(last) = self.last
        {
            let gap = self.gap(time, last);
            self.ticks = self.ticks.saturating_add(gap);
        }
        self.recorder = 0;
    }

    /// The rank computes, and is in another region from this time on.
    pub fn split(&mut self, time: u64) {
        let Some(last) = self.last else { return };
        let gap = self.gap(time, last);
        self.ticks = self.ticks.saturating_add(gap);
        let passed = time.saturating_sub(last);
        self.recorder = self.recorder.saturating_sub(passed);
        self.last = Some(time);
        self.polled = false;
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
        let given = std::mem::take(&mut self.given_ps);
        Some(self.ps(ticks)?.saturating_sub(given))
    }

    /// The same for an entry or exit of a region: with those after it up to a call it adds up to what the call would have.
    pub fn take_part_ps(&mut self) -> Option<u64> {
        let ps = self.ps(self.ticks)?;
        let part = ps.saturating_sub(self.given_ps);
        self.given_ps = ps;
        Some(part)
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

    #[test]
    fn regions_divide_a_computation() {
        // Three ticks are 1 ns: the parts add up to the whole, which is rounded once.
        let mut gaps = Gaps::new(3_000_000_000, 4_000_000);
        gaps.split(50);
        assert_eq!(gaps.take_part_ps(), Some(0));
        gaps.end(100, true);
        assert!(gaps.may_loop(101) && !gaps.may_loop(100_000));
        gaps.split(101);
        assert_eq!(gaps.take_part_ps(), Some(333));
        assert!(!gaps.may_loop(102), "it computes");
        // The recorder takes 10 ticks, of which 4 pass before the next region.
        gaps.recorder(10);
        gaps.split(105);
        assert_eq!(gaps.take_part_ps(), Some(0));
        gaps.begin(115, true);
        assert_eq!(gaps.take_ps(), Some(1333));
        gaps.end(200, false);
        gaps.begin(203, false);
        assert_eq!(gaps.take_ps(), Some(1000));
    }
}
