//! The expected end of a run, if it continues at the speed of the recent past.

use std::collections::VecDeque;
use std::time::Duration;

/// The length of the recent past.
const SPAN: Duration = Duration::from_secs(60);
/// Time between the samples that are kept.
const STEP: Duration = Duration::from_secs(1);
/// The first estimate is shown after this time.
const FIRST: Duration = Duration::from_secs(5);

/// The work that was done, over time.
#[derive(Debug, Default)]
pub(super) struct Eta {
    /// Time and all work until then, from the oldest that counts to the latest.
    samples: VecDeque<(Duration, f64)>,
}

impl Eta {
    /// Notes the work done so far at a time; it never decreases.
    pub fn note(&mut self, now: Duration, done: f64) {
        let kept = self
            .samples
            .len()
            .checked_sub(2)
            .map(|at| self.samples[at].0);
        if kept.is_some_and(|kept| now < kept + STEP) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, done));
        while self.samples.len() > 2 && self.samples[1].0 + SPAN <= now {
            self.samples.pop_front();
        }
    }

    /// The time for this much work; `None` if there is no estimate.
    pub fn left(&self, work: f64) -> Option<Duration> {
        let ((from, before), (to, done)) = (self.samples.front()?, self.samples.back()?);
        let time = to.saturating_sub(*from);
        let speed = (done - before) / time.as_secs_f64();
        let known = time >= FIRST && speed > 0.0;
        known.then(|| Duration::try_from_secs_f64(work / speed).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::Eta;
    use std::time::Duration;

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    #[test]
    fn the_recent_speed_counts() {
        let mut eta = Eta::default();
        // 1 a second for 1000 s, then 10 a second.
        for tenth in 0..10_000 {
            eta.note(seconds(f64::from(tenth) / 10.0), f64::from(tenth) / 10.0);
        }
        let left = eta.left(100.0).unwrap().as_secs_f64();
        assert!((left - 100.0).abs() < 1.0, "{left}");
        for tenth in 0..=700 {
            let s = f64::from(tenth) / 10.0;
            eta.note(seconds(1000.0 + s), 1000.0 + 10.0 * s);
        }
        let left = eta.left(100.0).unwrap().as_secs_f64();
        assert!((left - 10.0).abs() < 0.5, "{left}");
        assert!(eta.samples.len() < 70, "{}", eta.samples.len());
    }

    #[test]
    fn nothing_is_said_without_a_speed() {
        let mut eta = Eta::default();
        assert_eq!(eta.left(1.0), None);
        eta.note(seconds(0.0), 0.0);
        eta.note(seconds(4.0), 1.0);
        assert_eq!(eta.left(1.0), None);
        eta.note(seconds(6.0), 1.0);
        assert_eq!(eta.left(5.0), Some(seconds(30.0)));
        // A standstill.
        for s in 7..200 {
            eta.note(Duration::from_secs(s), 1.0);
        }
        assert_eq!(eta.left(1.0), None);
        // More than a duration holds.
        eta.note(seconds(200.0), 1.0 + 1e-9);
        assert_eq!(eta.left(1e300), None);
    }
}
