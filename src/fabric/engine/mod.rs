//! The engine: exact at flit level without an event per flit.
//!
//! A packet costs a handful of events per hop: its header becomes ready in a buffer, and
//! somebody waits for a port or for credits. Everything between follows in closed form.
//! The events of one tick are collected first; then each phase of a tick (`docs/model.md`
//! §5, `docs/model-infiniband.md` §5) runs once over the parts that something happened
//! to. No effect of one part on another is earlier than the next tick, so the order within
//! a phase does not matter.
//!
//! Each kind of switch has a fabric of its own, a [`Machine`]; [`Engine`] drives it from
//! tick to tick.

mod bits;
mod calendar;
mod congestion;
mod counters;
mod far_end;
#[cfg(test)]
mod full_tests;
mod hierarchical;
mod pool;
mod recorder;
mod stall;
mod voq;
mod ways;

use self::counters::Counters;
pub use self::stall::{Place, Stall, Waiting};
use super::infiniband::SwitchKind;
use super::series::{Sample, Sampling};
use super::spec::{FabricSpec, SpecError, Tick, VirtualAllocation};
use super::stats::FabricStats;
use super::workload::Workload;
use std::ops::ControlFlow;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The workload said that it has finished.
    Finished,
    /// Nothing is left to do, but the workload has not finished.
    Drained,
    /// Packets wait for each other in a cycle.
    Deadlock(Stall),
    /// The control function asked to stop.
    Interrupted,
    /// There are more messages or packets at a time than the engine can number (2^28):
    /// what does not fit is dropped, and the run cannot go on.
    Exhausted,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Present tick.
    pub tick: Tick,
    /// Messages delivered so far.
    pub messages: u64,
    /// Flits that crossed switch-to-switch links so far.
    pub flit_hops: u64,
}

/// A fabric of one kind of switch, moved tick by tick.
trait Machine {
    /// Tick that was simulated last.
    fn now(&self) -> Tick;
    /// The next tick after [`Machine::now`] in which something may happen without the
    /// workload.
    fn next_event(&self) -> Option<Tick>;
    /// Simulates tick `now`, after ticks in which nothing happened.
    fn tick(&mut self, now: Tick, workload: &mut impl Workload);
    /// No message is on its way. What else still moves (answers, credits) ends with the run.
    fn is_idle(&self) -> bool;
    /// More messages or packets than can be numbered.
    fn is_full(&self) -> bool;
    fn counters(&self) -> &Counters;
    /// A cycle of packets that can never move, if there is one. Space that comes back until
    /// `at` is taken as free.
    fn find_stall(&mut self, at: Tick) -> Option<Stall>;
    fn restart_statistics(&mut self);
    fn stats(&self) -> FabricStats;
    /// From now on, notes what [`Machine::sample`] needs.
    fn start_series(&mut self);
    /// What is to be seen at the end of `tick`, which is [`Machine::now`] or a later one in
    /// which nothing happened.
    fn sample(&mut self, tick: Tick) -> Sample;
}

/// A fabric in motion.
#[derive(Debug)]
pub struct Engine {
    machine: Kind,
    /// First tick that has not been simulated.
    earliest: Tick,
    next_stall_check: Tick,
}

#[derive(Debug)]
enum Kind {
    Hierarchical(Box<hierarchical::Fabric<hierarchical::Off>>),
    HierarchicalControlled(Box<hierarchical::Fabric<hierarchical::Congestion>>),
    HierarchicalBlind(Box<hierarchical::Fabric<hierarchical::Blindly>>),
    /// By the number of different rates, at most, and whether switches have more than 64 ports.
    Voq1(Box<voq::Fabric<1, 1>>),
    Voq3(Box<voq::Fabric<3, 1>>),
    Voq8(Box<voq::Fabric<{ voq::layout::MAX_RATES }, 2>>),
}

impl Kind {
    fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        let SwitchKind::Voq(voq) = &spec.kind else {
            let congestion = hierarchical::Congestion::new(spec)?;
            if spec.virtual_allocation == VirtualAllocation::Blind {
                let fabric = hierarchical::Fabric::new(spec, hierarchical::Blindly(congestion))?;
                return Ok(Self::HierarchicalBlind(Box::new(fabric)));
            }
            return Ok(match congestion {
                None => {
                    let fabric = hierarchical::Fabric::new(spec, hierarchical::Off)?;
                    Self::Hierarchical(Box::new(fabric))
                }
                Some(congestion) => {
                    let fabric = hierarchical::Fabric::new(spec, congestion)?;
                    Self::HierarchicalControlled(Box::new(fabric))
                }
            });
        };
        voq::layout::check_limits(spec, voq)?;
        let small = spec.topology.radix() <= 64;
        Ok(match voq::layout::rates(spec, voq).len() {
            0..=1 if small => Self::Voq1(Box::new(voq::Fabric::new(spec, voq)?)),
            2..=3 if small => Self::Voq3(Box::new(voq::Fabric::new(spec, voq)?)),
            _ => Self::Voq8(Box::new(voq::Fabric::new(spec, voq)?)),
        })
    }
}

/// Does the same for every kind.
macro_rules! with_machine {
    ($kind:expr, $machine:ident => $do:expr) => {
        match $kind {
            Kind::Hierarchical($machine) => $do,
            Kind::HierarchicalControlled($machine) => $do,
            Kind::HierarchicalBlind($machine) => $do,
            Kind::Voq1($machine) => $do,
            Kind::Voq3($machine) => $do,
            Kind::Voq8($machine) => $do,
        }
    };
}

/// Ticks in which whatever is under way has arrived.
const LONG_AFTER: Tick = 1 << 48;

/// Ticks between looks for a deadlock among part of the packets.
const STALL_CHECK_TICKS: Tick = 1 << 22;
/// The control function is called after so many ticks with events, or so many
/// events: a tick of a large fabric is long.
const CONTROL_TICKS: u32 = 1 << 14;
const CONTROL_EVENTS: u64 = 1 << 18;

impl Engine {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        spec.validate()?;
        Ok(Self {
            machine: Kind::new(spec)?,
            earliest: 0,
            next_stall_check: STALL_CHECK_TICKS,
        })
    }

    /// Runs until the workload has finished or nothing is left to do.
    ///
    /// There is no error to return: every way in which a run can end, a deadlock
    /// included, is a [`RunEnd`], and [`Engine::stats`] tells what was counted till then.
    ///
    /// # Panics
    /// Messages must name NICs and SLs of the specification and two different NICs:
    /// with others the engine panics or its results mean nothing. Debug builds also
    /// panic if an invariant of the fabric (credits, buffer sizes) is broken.
    pub fn run(&mut self, workload: &mut impl Workload) -> RunEnd {
        self.run_controlled(workload, &mut |_, _| ControlFlow::Continue(()))
    }

    /// Like [`Engine::run`]; calls `control` several times a second (after 2^14
    /// ticks in which something happened, or 2^18 events), which may end the run.
    pub fn run_controlled<W: Workload>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    ) -> RunEnd {
        self.run_sampled(workload, control, None)
    }

    /// Like [`Engine::run_controlled`]; takes samples, if asked to. What a sample counts
    /// since the one before begins with the first run that takes samples.
    pub fn run_sampled<W: Workload>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
        sampling: Option<Sampling<'_>>,
    ) -> RunEnd {
        let (earliest, next_check) = (&mut self.earliest, &mut self.next_stall_check);
        with_machine!(&mut self.machine, machine => {
            drive(machine.as_mut(), earliest, next_check, workload, control, sampling)
        })
    }

    /// Where the run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        with_machine!(&self.machine, machine => progress(machine.as_ref()))
    }

    /// A cycle of packets that can never move, if there is one.
    pub fn find_stall(&mut self) -> Option<Stall> {
        with_machine!(&mut self.machine, machine => {
            let now = machine.now();
            machine.find_stall(now)
        })
    }

    /// Counts anew from the next tick on: of what is on its way, deliveries and latencies
    /// count when they happen.
    pub fn restart_statistics(&mut self) {
        with_machine!(&mut self.machine, machine => machine.restart_statistics());
    }

    /// Flits and packets delivered so far, and the sum of the network latencies of these
    /// packets in ticks: a part of [`Engine::stats`] that takes no walk over the links.
    #[must_use]
    pub fn delivered(&self) -> (u64, u64, u128) {
        with_machine!(&self.machine, machine => machine.counters().delivered())
    }

    /// What has been counted so far.
    #[must_use]
    pub fn stats(&self) -> FabricStats {
        with_machine!(&self.machine, machine => machine.stats())
    }
}

fn progress(machine: &impl Machine) -> Progress {
    let counters = machine.counters();
    Progress {
        tick: machine.now(),
        messages: counters.messages_delivered,
        flit_hops: counters.flit_hops,
    }
}

/// The samples of a run that are still to come.
struct Sampler<'a> {
    next: Tick,
    sampling: Sampling<'a>,
}

impl<'a> Sampler<'a> {
    /// From the end of tick `earliest` on.
    fn new(sampling: Sampling<'a>, earliest: Tick) -> Self {
        let interval = sampling.interval.max(1);
        let next = (earliest / interval + 1).saturating_mul(interval) - 1;
        Self { next, sampling }
    }

    /// Takes the samples of all ticks before `tick`.
    fn take_before(&mut self, tick: Tick, machine: &mut impl Machine) {
        while self.next < tick {
            (self.sampling.take)(&machine.sample(self.next));
            self.next = self.next.saturating_add(self.sampling.interval.max(1));
        }
    }
}

/// Moves `machine` from tick to tick until the run ends.
fn drive<M: Machine, W: Workload>(
    machine: &mut M,
    earliest: &mut Tick,
    next_stall_check: &mut Tick,
    workload: &mut W,
    control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    sampling: Option<Sampling<'_>>,
) -> RunEnd {
    let mut sampler = sampling.map(|sampling| Sampler::new(sampling, *earliest));
    if sampler.is_some() {
        machine.start_series();
    }
    let mut until_control = CONTROL_TICKS;
    let mut events_at_control = machine.counters().events + CONTROL_EVENTS;
    while !workload.finished() {
        let wanted = workload.next_tick();
        if wanted.is_none() && machine.is_idle() {
            sample_first_tick(&mut sampler, *earliest, machine);
            return RunEnd::Drained;
        }
        let next = machine
            .next_event()
            .unwrap_or(Tick::MAX)
            .min(wanted.unwrap_or(Tick::MAX))
            .max(*earliest);
        if next == Tick::MAX {
            // All that is under way has long arrived, and was not enough for anybody.
            return match machine.find_stall(machine.now().saturating_add(LONG_AFTER)) {
                Some(stall) => RunEnd::Deadlock(stall),
                None => RunEnd::Drained,
            };
        }
        if next >= *next_stall_check {
            *next_stall_check = next + STALL_CHECK_TICKS;
            if let Some(stall) = machine.find_stall(machine.now()) {
                return RunEnd::Deadlock(stall);
            }
        }
        if let Some(sampler) = &mut sampler {
            sampler.take_before(next, machine);
        }
        machine.tick(next, workload);
        *earliest = next + 1;
        if let Some(sampler) = &mut sampler {
            sampler.take_before(next + 1, machine);
        }
        if machine.is_full() {
            return RunEnd::Exhausted;
        }
        until_control -= 1;
        if until_control == 0 || machine.counters().events >= events_at_control {
            until_control = CONTROL_TICKS;
            events_at_control = machine.counters().events + CONTROL_EVENTS;
            if control(&progress(machine), workload).is_break() {
                return RunEnd::Interrupted;
            }
        }
    }
    sample_first_tick(&mut sampler, *earliest, machine);
    RunEnd::Finished
}

/// A run in which nothing happens has tick 0, too.
fn sample_first_tick(
    sampler: &mut Option<Sampler<'_>>,
    earliest: Tick,
    machine: &mut impl Machine,
) {
    if earliest == 0
        && let Some(sampler) = sampler
    {
        sampler.take_before(1, machine);
    }
}
