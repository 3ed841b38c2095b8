//! Reports during a run that the backlog of a background flow keeps growing.

use super::Run;
use crate::config::Experiment;
use crate::fabric::ids::NicId;
use crate::fabric::spec::Tick;
use crate::replay::background::Behind;
use crate::units::TickLength;
use serde::{Deserialize, Serialize};

/// A background flow creates more than its queue at a NIC hands over: its backlog grows for the rest of the run, and a
/// job that shares the queue waits behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Saturation {
    /// Index of the flow in the experiment.
    pub flow: usize,
    /// NIC of the source that is furthest behind.
    pub nic: NicId,
    /// Simulated time of the report, in picoseconds.
    pub at_ps: u64,
    /// How long the oldest message of the source had waited by then, in picoseconds.
    pub behind_ps: u64,
}

/// The argument of [`Progress::saturated`](super::Progress::saturated).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaturatedRun {
    /// The run: the experiment or a baseline.
    pub run: Run,
    /// The saturation that was found.
    pub saturation: Saturation,
    /// The NIC that falls behind: `NIC 3`, with its name if it has one.
    pub nic: String,
    /// The run ends early if its jobs are expected to take longer than this, in picoseconds; `None` if nothing is known
    /// of their time on the unloaded fabric.
    pub limit_ps: Option<u64>,
}

/// Checks the backlog at times that double. The backlog of a source that creates messages faster than they leave is a
/// fixed part of the simulated time; a burst, or a queue that only jobs fill now and then, leaves no such backlog.
#[derive(Debug)]
pub(super) struct Watch {
    tick: TickLength,
    next: Tick,
    /// The backlog in ticks at the last check.
    behind: Tick,
    /// Successive checks at which the backlog had grown.
    growths: u32,
    found: Option<Saturation>,
}

/// Earliest simulated time of the first check.
const FIRST_PS: u64 = 50_000_000;
/// The first check is later where messages are long: this many times the longest.
const MESSAGES: u64 = 16;
/// Successive checks at which the backlog must have grown.
const GROWTHS: u32 = 3;

impl Watch {
    /// A watch over the background flows of `experiment`.
    pub(super) fn new(experiment: &Experiment) -> Self {
        let fabric = &experiment.fabric;
        let longest = fabric.least_ticks(experiment.longest_background_message());
        let first = fabric.units.tick.ticks(FIRST_PS);
        Self {
            tick: fabric.units.tick,
            next: if experiment.background.is_empty() {
                Tick::MAX
            } else {
                first.max(longest.saturating_mul(MESSAGES)).max(1)
            },
            behind: 0,
            growths: 0,
            found: None,
        }
    }

    /// The saturation found so far.
    pub(super) fn found(&self) -> Option<Saturation> {
        self.found
    }

    /// The tick at whose end the backlog is to be checked; never if it need not.
    pub(super) fn due(&self) -> Tick {
        match self.found {
            None => self.next,
            Some(_) => Tick::MAX,
        }
    }

    /// Checks the backlog at tick `now`, by the message that has waited longest, if any waits. Returns a saturation
    /// when it is first found. `skipped`: ticks that the fabric has stood still till then.
    pub(super) fn look(
        &mut self,
        now: Tick,
        skipped: Tick,
        oldest: Option<Behind>,
    ) -> Option<Saturation> {
        self.next = now.saturating_mul(2);
        let behind = oldest
            .as_ref()
            .map_or(0, |oldest| now - oldest.since.min(now));
        // 2 % of the time, and half as much again as at half the time.
        let grows = behind > now / 50 && behind > self.behind + self.behind / 2;
        self.growths = if grows { self.growths + 1 } else { 0 };
        self.behind = behind;
        let oldest = oldest.filter(|_| self.growths >= GROWTHS)?;
        self.found = Some(Saturation {
            flow: oldest.flow as usize,
            nic: oldest.nic,
            at_ps: self.tick.ps(now + skipped),
            behind_ps: self.tick.ps(behind),
        });
        self.found
    }
}

/// The end of a run with a saturated flow whose jobs wait behind it. The wait of each message is a fixed part of the
/// time that has passed, so the time of the jobs is an exponential function of their number of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// The most that the jobs are expected to take.
    longest: Tick,
    next: Tick,
    /// Time and operations at the last check.
    before: (Tick, u64),
}

/// The first check is at this many times the time of the jobs on the unloaded fabric.
const UNLOADED: u64 = 3;

impl Limit {
    /// A limit of `factor` times `unloaded`, from tick `now` on, when the jobs have started `done` operations.
    pub(super) fn new(unloaded: Tick, factor: u32, now: Tick, done: u64) -> Self {
        Self {
            longest: unloaded.saturating_mul(factor.into()),
            next: now.saturating_mul(2).max(unloaded.saturating_mul(UNLOADED)),
            before: (now, done),
        }
    }

    /// The most that the jobs are expected to take.
    pub(super) fn longest(&self) -> Tick {
        self.longest
    }

    /// The tick at whose end the progress is to be checked.
    pub(super) fn due(&self) -> Tick {
        self.next
    }

    /// Whether the run is to end at tick `now`, when `done` of `all` operations have started: if the jobs continue as
    /// fast as since the last check, they end too late. The times of checks double.
    pub(super) fn is_exceeded(&mut self, now: Tick, done: u64, all: u64) -> bool {
        if now < self.next {
            return false;
        }
        let (since, earlier) = std::mem::replace(&mut self.before, (now, done));
        self.next = now.saturating_mul(2);
        let left = u128::from(all.saturating_sub(done)) * u128::from(now - since);
        let speed = u128::from(done.saturating_sub(earlier)).max(1);
        u128::from(now) + left / speed > u128::from(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> Watch {
        Watch {
            tick: TickLength::whole(1000),
            next: 1_000,
            behind: 0,
            growths: 0,
            found: None,
        }
    }

    /// The tick at which a backlog is found that is `behind(now)` ticks behind.
    fn found_at(behind: impl Fn(Tick) -> Tick) -> Option<Tick> {
        let mut watch = watch();
        (0..1_000_000).find(|&now| {
            let oldest = Behind {
                flow: 1,
                nic: NicId::new(2),
                since: now - behind(now),
            };
            watch.due() <= now && watch.look(now, 0, Some(oldest)).is_some()
        })
    }

    #[test]
    fn a_flow_above_capacity_is_found() {
        for percent in [3, 10, 50, 90] {
            assert_eq!(
                found_at(|now| now * percent / 100),
                Some(4_000),
                "{percent}"
            );
        }
        // From tick 4000 on.
        assert_eq!(found_at(|now| now.saturating_sub(4_000) / 2), Some(32_000));
    }

    #[test]
    fn a_bounded_backlog_is_none() {
        assert_eq!(found_at(|_| 0), None);
        assert_eq!(found_at(|now| now.min(500)), None);
        assert_eq!(found_at(|now| now % 700), None);
        assert_eq!(found_at(|now| now / 100), None);
        // A burst as long as 20 % of the time.
        assert_eq!(
            found_at(|now| 3_000_u64.saturating_sub(now.abs_diff(8_000)).min(now)),
            None
        );
    }

    /// 50 us, or 16 times 1 MiB at 12.5 GB/s, whatever units the links of the fabric count in.
    #[test]
    fn the_first_look_follows_the_longest_message() {
        let first_us = |fabric: &str, message: &str| {
            let text = format!(
                "[fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n{fabric}\n\
                 [[background]]\nrate = 0.1\nmessage = \"{message}\"\n"
            );
            let plan = crate::config::resolve_text("test.toml", &text, "".as_ref(), &[]).unwrap();
            let watch = Watch::new(&plan.experiment);
            watch.tick.ps(watch.next) / 1_000_000
        };
        for fabric in ["", "preset = \"ib-edr\""] {
            assert_eq!(first_us(fabric, "1KiB"), 50, "{fabric}");
            let long = first_us(fabric, "1MiB");
            assert!((16 * 83..16 * 90).contains(&long), "{fabric} {long}");
        }
    }

    /// The tick at which a run ends that has started `done(now)` of 1000 operations, and takes 10,000 ticks unloaded.
    fn ended_at(done: impl Fn(Tick) -> u64) -> Option<Tick> {
        let mut limit = Limit::new(10_000, 30, 500, done(500));
        (500..10_000_000)
            .take_while(|&now| done(now) < 1000)
            .find(|&now| limit.is_exceeded(now, done(now), 1000))
    }

    #[test]
    fn jobs_that_wait_ever_longer_end() {
        // 20 operations each time the time doubles.
        let doublings = |now: Tick| u64::from(now.ilog2()) * 20;
        assert_eq!(ended_at(doublings), Some(60_000));
        // 40 times as long as unloaded, and at a standstill.
        assert_eq!(ended_at(|now| now / 400), Some(30_000));
        assert_eq!(ended_at(|_| 7), Some(30_000));
    }

    #[test]
    fn slow_jobs_complete() {
        for slowdown in [1, 3, 10, 29] {
            assert_eq!(ended_at(|now| now / (10 * slowdown)), None, "{slowdown}");
        }
        // One long computation, then the messages.
        assert_eq!(ended_at(|now| now.saturating_sub(29_000)), None);
    }

    #[test]
    fn nothing_waits_nothing_is_found() {
        let mut watch = watch();
        assert_eq!(watch.due(), 1_000);
        assert_eq!(watch.look(1_000, 0, None), None);
        assert_eq!(watch.due(), 2_000);
    }
}
