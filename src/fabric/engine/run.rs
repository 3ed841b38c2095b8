//! The run loop: drives a fabric from tick to tick, takes samples, and finds out how the run ends.
//! It knows no ports, buffers or packets.

use super::kernel::{self, SwitchModel};
use super::{Progress, RunEnd};
use crate::series::{LinkSampling, Sample, Sampling};
use crate::spec::Tick;
use crate::stats::LinkStats;
use crate::workload::{AppQueue, Message, PacketReport, Workload};
use std::ops::ControlFlow;

/// Ticks within which everything that is on its way arrives.
const LONG_AFTER: Tick = 1 << 48;

/// Ticks with events between looks for a deadlock while other packets still move. A look walks over all queues, so time in
/// which nothing happens must not ask for one.
pub(super) const DEADLOCK_CHECK_TICKS: u32 = 1 << 22;
/// Ticks with events after which the control function is called.
const CONTROL_TICKS: u32 = 1 << 14;
/// Events after which the control function is called at the latest, as a tick of a large fabric
/// takes long.
const CONTROL_EVENTS: u64 = 1 << 18;

pub(super) fn progress(model: &impl SwitchModel) -> Progress {
    let counters = &model.kernel().observers.counters;
    Progress {
        tick: model.kernel().now,
        messages: counters.counts.messages_delivered,
        flit_hops: counters.counts.flit_hops,
    }
}

/// A workload together with the function that may end its run. The engine sees it as one trait object, so that its code
/// does not depend on their types.
pub(super) trait Driven: Workload {
    /// Decides whether the run continues.
    fn control(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// The workload and the control function of a run.
pub(super) struct Controlled<'a, W: ?Sized> {
    pub workload: &'a mut W,
    pub control: &'a mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
}

impl<W: Workload + ?Sized> Driven for Controlled<'_, W> {
    fn control(&mut self, progress: &Progress) -> ControlFlow<()> {
        (self.control)(progress, self.workload)
    }
}

impl<W: Workload + ?Sized> Workload for Controlled<'_, W> {
    fn next_tick(&mut self) -> Option<Tick> {
        self.workload.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.workload.act(now, out);
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        self.workload.replenish(now, queue)
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        self.workload.delivered(now, token);
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.workload.injected(now, token);
    }

    fn packet(&mut self, report: &PacketReport) {
        self.workload.packet(report);
    }

    fn finished(&self) -> bool {
        self.workload.finished()
    }
}

/// The receiver of the samples of a run.
enum Take<'a> {
    Series(&'a mut dyn FnMut(&Sample)),
    Links(&'a mut dyn FnMut(Tick, &[LinkStats])),
}

/// The samples of one kind that are still to come.
struct Sampler<'a> {
    /// Tick of the next sample.
    next: Tick,
    interval: Tick,
    take: Take<'a>,
}

/// The samplers of a run.
pub(super) struct Samplers<'a> {
    all: Vec<Sampler<'a>>,
    /// Tick of the first sample of any; never if there is none.
    next: Tick,
}

impl<'a> Samplers<'a> {
    /// Samples from the end of tick `earliest` on.
    pub(super) fn new(
        series: Option<Sampling<'a>>,
        links: Option<LinkSampling<'a>>,
        earliest: Tick,
    ) -> Self {
        let series = series.map(|series| (series.interval, Take::Series(series.take)));
        let links = links.map(|links| (links.interval, Take::Links(links.take)));
        let sampler = |(interval, take): (Tick, Take<'a>)| {
            let interval = interval.max(1);
            let next = (earliest / interval + 1).saturating_mul(interval) - 1;
            Sampler {
                next,
                interval,
                take,
            }
        };
        let all: Vec<_> = series.into_iter().chain(links).map(sampler).collect();
        let next = first(&all);
        Self { all, next }
    }

    /// Lets `model` collect the data for a series, if there is one.
    fn start(&self, model: &mut impl SwitchModel) {
        let is_series = |sampler: &Sampler| matches!(sampler.take, Take::Series(_));
        if self.all.iter().any(is_series) {
            kernel::start_series(model);
        }
    }

    /// Takes the samples of all ticks before `tick`.
    #[inline(always)]
    fn take_before(&mut self, tick: Tick, model: &mut impl SwitchModel) {
        if self.next < tick {
            self.take(tick, model);
        }
    }

    #[cold]
    fn take(&mut self, before: Tick, model: &mut impl SwitchModel) {
        for sampler in &mut self.all {
            while sampler.next < before {
                match &mut sampler.take {
                    Take::Series(take) => take(&kernel::sample(model, sampler.next)),
                    Take::Links(take) => take(sampler.next, &model.links()),
                }
                sampler.next = sampler.next.saturating_add(sampler.interval);
            }
        }
        self.next = first(&self.all);
    }

    /// Takes the sample of tick 0 if no tick was simulated. Such a run has a tick 0 as well.
    fn take_first(&mut self, earliest: Tick, model: &mut impl SwitchModel) {
        if earliest == 0 {
            self.take_before(1, model);
        }
    }
}

/// Tick of the first sample of any; never if there is none.
fn first(samplers: &[Sampler<'_>]) -> Tick {
    let next = samplers.iter().map(|sampler| sampler.next);
    next.min().unwrap_or(Tick::MAX)
}

/// Moves `model` from tick to tick until the run ends.
pub(super) fn drive<M: SwitchModel>(
    model: &mut M,
    earliest: &mut Tick,
    until_deadlock_check: &mut u32,
    driven: &mut dyn Driven,
    mut samplers: Samplers<'_>,
) -> RunEnd {
    samplers.start(model);
    let (mut due, mut until_control) = (Vec::new(), CONTROL_TICKS);
    let mut events_at_control = model.kernel().observers.counters.counts.events + CONTROL_EVENTS;
    while !driven.finished() {
        let wanted = driven.next_tick();
        if wanted.is_none() && kernel::is_idle(model) {
            samplers.take_first(*earliest, model);
            return RunEnd::Drained;
        }
        let next = kernel::next_event(model)
            .unwrap_or(Tick::MAX)
            .min(wanted.unwrap_or(Tick::MAX))
            .max(*earliest);
        if next == Tick::MAX {
            // No event is left. Packets that still wait do so although all credits have returned.
            let deadlock =
                kernel::find_deadlock(model, model.kernel().now.saturating_add(LONG_AFTER));
            return deadlock.map_or(RunEnd::Drained, RunEnd::Deadlock);
        }
        *until_deadlock_check -= 1;
        if *until_deadlock_check == 0 {
            *until_deadlock_check = DEADLOCK_CHECK_TICKS;
            if !kernel::is_idle(model)
                && let Some(deadlock) = model.find_cycle()
            {
                return RunEnd::Deadlock(deadlock);
            }
        }
        samplers.take_before(next, model);
        kernel::tick(model, next, &mut due, driven);
        *earliest = next + 1;
        samplers.take_before(next + 1, model);
        if kernel::is_full(model) {
            return RunEnd::Exhausted;
        }
        until_control -= 1;
        if until_control == 0
            || model.kernel().observers.counters.counts.events >= events_at_control
        {
            until_control = CONTROL_TICKS;
            events_at_control = model.kernel().observers.counters.counts.events + CONTROL_EVENTS;
            if driven.control(&progress(model)).is_break() {
                return RunEnd::Interrupted;
            }
        }
    }
    samplers.take_first(*earliest, model);
    RunEnd::Finished
}
