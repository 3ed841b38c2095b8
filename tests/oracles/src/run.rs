//! A run from tick to tick.

use super::RunEnd;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::Workload;

/// A whole fabric at one moment.
pub trait Fabric {
    /// The result of a run.
    type Run;

    /// Simulates tick `now`. Returns the number of things that happened in it.
    fn tick(&mut self, now: Tick, workload: &mut dyn Workload) -> usize;

    /// Takes a sample at the end of tick `now`.
    fn sample(&mut self, now: Tick);

    /// Whether time alone may let something move: congestion control holds it back.
    fn holds_for_now(&self, now: Tick) -> bool;

    /// Most ticks in which nothing happens before something does, if it ever will: the longest
    /// chain of latencies and more.
    fn patience(&self) -> Tick;

    /// Whether all messages created so far were delivered.
    fn all_delivered(&self) -> bool;

    /// The result of a run that ended by `end`, with `end_tick` as its last tick.
    fn report(self, end: RunEnd, end_tick: Tick) -> Self::Run;
}

/// Runs `workload` for at most `max_ticks` ticks, with a sample every `interval` ticks.
///
/// The run ends at the end of the first tick in which the workload is finished, or has nothing more
/// to send and everything is delivered.
pub fn run<F: Fabric>(
    mut fabric: F,
    workload: &mut dyn Workload,
    max_ticks: Tick,
    interval: Option<Tick>,
) -> F::Run {
    let patience = fabric.patience();
    let mut quiet = 0;
    for now in 0..max_ticks {
        let moved = fabric.tick(now, workload);
        if interval.is_some_and(|interval| (now + 1) % interval == 0) {
            fabric.sample(now);
        }
        let more_to_come = workload.next_tick().is_some();
        let goes_on = moved > 0 || more_to_come || fabric.holds_for_now(now);
        quiet = if goes_on { 0 } else { quiet + 1 };
        if workload.finished() {
            return fabric.report(RunEnd::Finished, now);
        } else if fabric.all_delivered() && !more_to_come {
            return fabric.report(RunEnd::Drained, now);
        } else if quiet > patience {
            return fabric.report(RunEnd::Stalled, now);
        }
    }
    fabric.report(RunEnd::OutOfTicks, max_ticks)
}
