//! The run loop: drives a fabric from tick to tick, and finds out how the run ends.
//! It knows no ports, buffers or packets.
//!
//! Where a fabric has several blocks, this loop moves the lead, which has the NICs. It may not pass the ticks in which
//! mail from other blocks may arrive; [`Team`] says how far it may go.

use super::blocks::cut::Cut;
use super::blocks::{self, Team};
use super::deadlock::Deadlock;
use super::kernel::{self, SwitchModel};
use super::progress::{Progress, RunEnd};
use super::samplers::Samplers;
use crate::spec::Tick;
use crate::workload::{AppQueue, Message, PacketReport, Workload};
use std::cell::Cell;
use std::ops::ControlFlow;

/// Ticks within which everything that is on its way arrives.
const LONG_AFTER: Tick = 1 << 48;

/// A look for a deadlock while other packets still move may be due at multiples of this tick. Such times do not depend on
/// how the fabric is cut.
const LOOK_TICKS: Tick = 1 << 18;
/// It is due when this number of messages and packets was created, injected or delivered since the last look. A look walks over
/// all queues, so time in which nothing happens must not ask for one.
const LOOK_ACTIVITY: u64 = 1 << 21;
/// Ticks with events after which the control function is called.
const CONTROL_TICKS: u32 = 1 << 14;
/// Events after which the control function is called at the latest, as a tick of a large fabric
/// takes long.
const CONTROL_EVENTS: u64 = 1 << 18;

/// The progress at the end of tick `tick`, by default of the last that was simulated, of a fabric or of its lead.
pub(super) fn progress(lead: &impl SwitchModel, tick: Option<Tick>) -> Progress {
    let counters = &lead.kernel().observers.counters;
    Progress {
        tick: tick.unwrap_or(lead.kernel().now),
        messages: counters.counts.messages_delivered,
        flit_hops: counters.counts.flit_hops,
    }
}

/// How far a fabric has been simulated.
#[derive(Debug)]
pub(super) struct Position {
    /// First tick that has not been simulated.
    pub earliest: Tick,
    /// Tick before which it may look again for a deadlock.
    next_look: Tick,
    /// The activity at the last look.
    activity: u64,
}

impl Position {
    /// At tick 0.
    pub(super) fn start() -> Self {
        Self {
            earliest: 0,
            next_look: LOOK_TICKS,
            activity: 0,
        }
    }
}

/// A workload together with the function that may end its run. The engine sees it as one trait object, so that its code
/// does not depend on their types.
pub(super) trait Driven: Workload {
    /// Decides whether the run continues.
    fn control(&mut self, progress: &Progress) -> ControlFlow<()>;
    /// The tick at whose end `control` must be called; never if it need not.
    fn control_at(&self) -> Tick;
}

/// The workload and the control function of a run.
pub(super) struct Controlled<'a, W: ?Sized> {
    pub workload: &'a mut W,
    pub control: &'a mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    pub control_at: Option<&'a Cell<Tick>>,
}

impl<W: Workload + ?Sized> Driven for Controlled<'_, W> {
    fn control(&mut self, progress: &Progress) -> ControlFlow<()> {
        if let Some(at) = self.control_at.filter(|at| at.get() <= progress.tick) {
            at.set(Tick::MAX);
        }
        (self.control)(progress, self.workload)
    }

    fn control_at(&self) -> Tick {
        self.control_at.map_or(Tick::MAX, Cell::get)
    }
}

impl<W: Workload + ?Sized> Workload for Controlled<'_, W> {
    fn next_tick(&mut self) -> Option<Tick> {
        self.workload.next_tick()
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.workload.act(now, out);
    }

    fn has_more(&self) -> bool {
        self.workload.has_more()
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

/// A run from its beginning to its end.
struct Drive<'r, 's, 'a, 't, M: SwitchModel> {
    lead: &'r mut M,
    team: Option<Team<'s, 'a, M>>,
    at: &'r mut Position,
    samplers: Samplers<'t>,
    /// The lead may not go beyond the end of its window.
    window: Tick,
    /// The loop stops in front of this tick, to look around.
    limit: Tick,
}

/// Moves `lead`, and the other blocks of its `team`, from tick to tick until the run ends.
pub(super) fn drive<M: SwitchModel>(
    lead: &mut M,
    team: Option<Team<'_, '_, M>>,
    at: &mut Position,
    driven: &mut dyn Driven,
    samplers: Samplers<'_>,
) -> RunEnd {
    let window = if team.is_some() { 0 } else { Tick::MAX };
    let mut run = Drive {
        lead,
        team,
        at,
        samplers,
        window,
        limit: 0,
    };
    run.with_all(|blocks, samplers, _| samplers.start(blocks));
    run.set_limit(driven);
    let end = run.advance(driven);
    run.end(&end);
    end
}

impl<M: SwitchModel> Drive<'_, '_, '_, '_, M> {
    /// Simulates tick after tick until the run ends.
    fn advance(&mut self, driven: &mut dyn Driven) -> RunEnd {
        let (mut due, mut until_control) = (Vec::new(), CONTROL_TICKS);
        let mut events_at_control = self.events() + CONTROL_EVENTS;
        while !driven.finished() {
            let wanted = driven.next_tick();
            if wanted.is_none() && kernel::is_idle(self.lead) {
                return RunEnd::Drained;
            }
            let next = kernel::next_event(self.lead)
                .unwrap_or(Tick::MAX)
                .min(wanted.unwrap_or(Tick::MAX))
                .max(self.at.earliest);
            if next >= self.limit {
                if let Some(end) = self.look_around(next, driven) {
                    return end;
                }
                continue;
            }
            kernel::tick(self.lead, next, &mut due, driven);
            self.at.earliest = next + 1;
            if kernel::is_full(self.lead) {
                return RunEnd::Exhausted;
            }
            until_control -= 1;
            if until_control == 0 || self.events() >= events_at_control {
                until_control = CONTROL_TICKS;
                events_at_control = self.events() + CONTROL_EVENTS;
                if self.control(None, driven).is_break() {
                    return RunEnd::Interrupted;
                }
            }
        }
        RunEnd::Finished
    }

    fn events(&self) -> u64 {
        self.lead.kernel().observers.counters.counts.events
    }

    /// Reports the progress at the end of tick `tick`, by default of the last that was simulated.
    fn control(&self, tick: Option<Tick>, driven: &mut dyn Driven) -> ControlFlow<()> {
        let mut progress = progress(self.lead, tick);
        if let Some(team) = &self.team {
            progress.flit_hops += team.crew.flit_hops();
        }
        driven.control(&progress)
    }

    /// The loop stops in front of the first tick in which there is something to do beside events.
    fn set_limit(&mut self, driven: &dyn Driven) {
        let sample = self.samplers.next.saturating_add(1);
        let control = driven.control_at().saturating_add(1);
        self.limit = (self.window)
            .min(sample)
            .min(control)
            .min(self.at.next_look);
    }

    /// Does what is due in front of the limit. The next event of the lead is in tick `next`, not before the limit. Returns
    /// the end of the run if it has come.
    #[cold]
    #[inline(never)]
    fn look_around(&mut self, next: Tick, driven: &mut dyn Driven) -> Option<RunEnd> {
        if next == Tick::MAX && self.nothing_moves() {
            return Some(self.no_event_is_left());
        }
        let reached = self.limit;
        self.at.earliest = self.at.earliest.max(reached);
        if reached > self.samplers.next {
            self.take_samples();
        }
        if reached > driven.control_at() && self.control(Some(reached - 1), driven).is_break() {
            // The run ends here, where samples or other blocks may have led it, and not at its last event.
            self.synchronise();
            return Some(RunEnd::Interrupted);
        }
        if reached >= self.at.next_look
            && let Some(deadlock) = self.look_for_deadlock(next)
        {
            return Some(RunEnd::Deadlock(deadlock));
        }
        if reached >= self.window
            && let Some(team) = &mut self.team
        {
            let earliest = self.at.earliest;
            team.crew.end(self.lead);
            if team.crew.is_full() {
                return Some(RunEnd::Exhausted);
            }
            // The others begin before the lead reads their mail.
            let may_act = team.crew.next();
            team.follow(earliest);
            team.crew.read(self.lead, earliest);
            let next = kernel::next_event(self.lead).unwrap_or(Tick::MAX);
            let next = next.min(driven.next_tick().unwrap_or(Tick::MAX));
            self.window = team.window(may_act, earliest, next.max(earliest));
        }
        self.set_limit(driven);
        None
    }

    /// Whether no other block has an event, and no mail is under way.
    fn nothing_moves(&mut self) -> bool {
        let Some(team) = &mut self.team else {
            return true;
        };
        team.crew.end(self.lead);
        team.crew.read(self.lead, self.at.earliest);
        team.crew.is_idle() && kernel::next_event(self.lead).is_none()
    }

    /// No event is left. Packets that still wait do so although all credits have returned.
    fn no_event_is_left(&mut self) -> RunEnd {
        let (deadlock, links) = self.with_all(|blocks, _, cut| {
            let acted = blocks.iter().map(|block| block.kernel().acted);
            let now = acted.max().unwrap_or(0);
            // All credits count as returned.
            blocks::stand_at(blocks, now.saturating_add(LONG_AFTER));
            let deadlock = blocks::find_cycle(blocks, cut, true);
            blocks::stand_at(blocks, now);
            (deadlock, blocks::links_down(&blocks::read(blocks)))
        });
        match deadlock {
            Some(deadlock) => RunEnd::Deadlock(deadlock),
            None if links.is_empty() => RunEnd::Drained,
            None => RunEnd::LinksDown(links),
        }
    }

    /// Looks for a deadlock if enough has happened since the last look. The next event of the lead is in tick `next`.
    fn look_for_deadlock(&mut self, next: Tick) -> Option<Deadlock> {
        // Where nothing happens, no look will be due.
        let unsent = self.lead.post_mut().is_some_and(|post| !post.is_empty());
        let others = self.team.as_ref().is_none_or(|team| team.crew.is_idle());
        let quiet_until = if others && !unsent {
            next
        } else {
            self.at.earliest
        };
        self.at.next_look = (quiet_until / LOOK_TICKS)
            .saturating_add(1)
            .saturating_mul(LOOK_TICKS);
        let counters = &self.lead.kernel().observers.counters;
        let activity = counters.activity();
        // Counting may have begun anew.
        if activity.abs_diff(self.at.activity) < LOOK_ACTIVITY || kernel::is_idle(self.lead) {
            return None;
        }
        self.at.activity = activity;
        self.synchronise();
        self.with_all(|blocks, _, cut| blocks::find_cycle(blocks, cut, false))
    }

    /// Takes the samples that are due at the end of the tick that was reached.
    fn take_samples(&mut self) {
        self.synchronise();
        self.with_all(|blocks, samplers, cut| samplers.take(samplers.next, blocks, cut));
    }

    /// Brings all blocks to the end of the tick that was reached.
    fn synchronise(&mut self) {
        let earliest = self.at.earliest;
        if let Some(team) = &mut self.team {
            team.synchronise(self.lead, earliest);
            // The others have caught up: a new window may begin.
            self.window = earliest;
        }
        self.with_all(|blocks, _, _| blocks::advance_to(blocks, earliest.saturating_sub(1)));
    }

    /// The end of a run: all blocks end in the same tick, and its samples are taken.
    fn end(&mut self, end: &RunEnd) {
        if let Some(team) = &mut self.team {
            team.synchronise(self.lead, self.at.earliest);
            let now = self.lead.kernel().now;
            self.with_all(|blocks, _, _| blocks::advance_to(blocks, now));
        }
        // A run that simulated no tick has a tick 0 as well.
        let has_tick_0 = matches!(end, RunEnd::Finished | RunEnd::Drained);
        let reached = self.at.earliest.max(has_tick_0.into());
        if self.samplers.next < reached {
            self.with_all(|blocks, samplers, cut| samplers.take(samplers.next, blocks, cut));
        }
    }

    /// Acts on all blocks, between two steps.
    fn with_all<T>(
        &mut self,
        act: impl FnOnce(&mut [&mut M], &mut Samplers<'_>, Option<&Cut>) -> T,
    ) -> T {
        let Some(team) = &self.team else {
            return act(&mut [&mut *self.lead], &mut self.samplers, None);
        };
        let mut others = blocks::locked(team.crew.blocks());
        let mut all = blocks::with_lead_mut(self.lead, &mut others);
        act(&mut all, &mut self.samplers, Some(team.cut))
    }
}
