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

    /// Whether the backlog is to be checked at tick `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Tick) -> bool {
        now >= self.next && self.found.is_none()
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
            watch.is_due(now) && watch.look(now, 0, Some(oldest)).is_some()
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

    #[test]
    fn nothing_waits_nothing_is_found() {
        let mut watch = watch();
        assert!(!watch.is_due(999) && watch.is_due(1_000));
        assert_eq!(watch.look(1_000, 0, None), None);
        assert!(!watch.is_due(1_999) && watch.is_due(2_000));
    }
}
