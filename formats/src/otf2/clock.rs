//! The clock of a location against the clock of the archive.

/// Offsets of a local clock at some of its times, between which it is taken to run evenly.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// Local times, ascending, and what to add there.
    points: Vec<(u64, i64)>,
    /// The interval of the last time.
    at: usize,
}

impl Clock {
    /// Adds a later point; false if it is not later.
    pub fn add(&mut self, time: u64, offset: i64) -> bool {
        let later = self.points.last().is_none_or(|&(last, _)| last < time);
        if later {
            self.points.push((time, offset));
        }
        later
    }

    /// The time of the archive at a local time. Times ascend from call to call.
    ///
    /// As in the C library, times before the first and after the last point follow the nearest interval, and a single point
    /// changes nothing.
    pub fn correct(&mut self, time: u64) -> u64 {
        while self
            .points
            .get(self.at + 1)
            .is_some_and(|next| time > next.0)
            && self.at + 2 < self.points.len()
        {
            self.at += 1;
        }
        let (Some(&(begin, first)), Some(&(end, second))) =
            (self.points.get(self.at), self.points.get(self.at + 1))
        else {
            return time;
        };
        let slope = second.saturating_sub(first) as f64 / (end - begin) as f64;
        let since = if time >= begin {
            (time - begin) as f64
        } else {
            -((begin - time) as f64)
        };
        let more = (slope * since).round_ties_even() as i64;
        time.saturating_add_signed(first.saturating_add(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_interpolated() {
        let mut clock = Clock::default();
        assert_eq!(clock.correct(7), 7);
        assert!(clock.add(100, -10));
        assert_eq!(clock.correct(150), 150);
        assert!(clock.add(200, 10) && clock.add(400, 10));
        assert!(!clock.add(400, 11));
        // Before, at and between the points, and after the last.
        for (local, global) in [
            (90, 78),
            (100, 90),
            (150, 150),
            (200, 210),
            (300, 310),
            (900, 910),
        ] {
            assert_eq!(clock.correct(local), global, "{local}");
        }
    }
}
