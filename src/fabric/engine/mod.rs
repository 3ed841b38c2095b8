//! The engine: exact at flit level without an event per flit.
//!
//! A packet costs a handful of events per hop: its header becomes ready in a buffer, and a part
//! waits for a port or for credits. The ticks of its flits follow in closed form. A tick first
//! takes its events. Then each phase (`docs/model.md` §5, `docs/model-infiniband.md` §5) runs once
//! over the parts that these events concern. A part affects other parts in the next tick at the
//! earliest, so their order within a phase does not matter.
//!
//! Each switch model has a fabric of its own: `hierarchical` and `voq` implement
//! [`FabricModel`]. [`Engine`] drives it from tick to tick, takes samples, and finds out how the
//! run ends. It knows no ports, buffers or packets.

mod bits;
mod calendar;
mod choice;
mod congestion;
mod counters;
mod far_end;
#[cfg(test)]
mod full_tests;
mod hierarchical;
mod pool;
mod recorder;
mod stall;
mod vls;
mod voq;

use self::counters::Counters;
pub use self::stall::{Place, Stall, Waiting};
use super::series::{Sample, Sampling};
use super::spec::hierarchical::VirtualAllocation;
use super::spec::{FabricSpec, Hierarchical, SpecError, Switch, Tick, UpPorts, Voq};
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
    /// There are more messages or packets at a time than the engine can number (2^28). The engine
    /// has dropped what does not fit, so the run cannot go on.
    Exhausted,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Tick that was simulated last.
    pub tick: Tick,
    /// Messages delivered so far.
    pub messages: u64,
    /// Flits that crossed switch-to-switch links so far.
    pub flit_hops: u64,
}

/// A fabric of one switch model, simulated tick by tick.
trait FabricModel {
    /// Tick that was simulated last.
    fn now(&self) -> Tick;
    /// The next tick after [`FabricModel::now`] in which something may happen without the
    /// workload.
    fn next_event(&self) -> Option<Tick>;
    /// Simulates tick `now`, after ticks in which nothing happened.
    fn tick(&mut self, now: Tick, workload: &mut impl Workload);
    /// True if no message is on its way. CNPs, ACKs and credits may still be; they do not keep a
    /// run going.
    fn is_idle(&self) -> bool;
    /// True if no more messages or packets can be numbered.
    fn is_full(&self) -> bool;
    /// What has been counted, but for the links.
    fn counters(&self) -> &Counters;
    /// A cycle of packets that can never move, if there is one. Credits that return until tick
    /// `at` count as available.
    fn find_stall(&mut self, at: Tick) -> Option<Stall>;
    /// Counts anew from the next tick on.
    fn restart_statistics(&mut self);
    /// All that has been counted up to the end of tick [`FabricModel::now`].
    fn stats(&self) -> FabricStats;
    /// From now on, collects what [`FabricModel::sample`] needs.
    fn start_series(&mut self);
    /// The observables at the end of `tick`, which is [`FabricModel::now`] or a later tick up to
    /// which nothing happens.
    fn sample(&mut self, tick: Tick) -> Sample;
}

/// A simulated fabric, of either switch model.
#[derive(Debug)]
pub struct Engine {
    model: Model,
    /// First tick that has not been simulated.
    earliest: Tick,
    /// First tick in which to look again for a deadlock.
    next_deadlock_check: Tick,
}

/// The fabrics of all switch models. Each variant is compiled for what its fabric needs.
#[derive(Debug)]
enum Model {
    /// Without congestion control.
    Hierarchical(Box<hierarchical::Fabric<hierarchical::Off>>),
    /// With congestion control.
    HierarchicalControlled(Box<hierarchical::Fabric<hierarchical::Congestion>>),
    /// With VL allocation that does not look at the buffers; with or without congestion control.
    HierarchicalBlind(Box<hierarchical::Fabric<hierarchical::Blindly>>),
    /// With up-ports chosen by their queues; with or without congestion control.
    HierarchicalAdaptive(Box<hierarchical::Fabric<hierarchical::Adaptive>>),
    /// A plain fabric (`voq::layout::is_plain`), with at most 64 ports per switch.
    VoqPlain(Box<voq::Fabric<0, 1>>),
    /// With one rate, and at most 64 ports per switch.
    Voq1(Box<voq::Fabric<1, 1>>),
    /// With at most three different rates, and at most 64 ports per switch.
    Voq3(Box<voq::Fabric<3, 1>>),
    /// With any number of rates and ports within the limits.
    Voq8(Box<voq::Fabric<{ voq::layout::MAX_RATES }, 2>>),
}

impl Model {
    /// An idle fabric of the kind that `spec` names.
    fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        match &spec.switch {
            Switch::Hierarchical(switch) => Self::hierarchical(spec, switch),
            Switch::Voq(switch) => Self::voq(spec, switch),
        }
    }

    fn hierarchical(spec: &FabricSpec, switch: &Hierarchical) -> Result<Self, SpecError> {
        use hierarchical::{Adaptive, Blindly, Congestion, Fabric, Off};
        let congestion = Congestion::new(spec)?;
        if switch.virtual_allocation == VirtualAllocation::Blind {
            let fabric = Fabric::new(spec, switch, Blindly(congestion))?;
            return Ok(Self::HierarchicalBlind(Box::new(fabric)));
        }
        if spec.routing.up_ports == UpPorts::LeastQueued {
            let fabric = Fabric::new(spec, switch, Adaptive(congestion))?;
            return Ok(Self::HierarchicalAdaptive(Box::new(fabric)));
        }
        Ok(match congestion {
            None => Self::Hierarchical(Box::new(Fabric::new(spec, switch, Off)?)),
            Some(congestion) => {
                let fabric = Fabric::new(spec, switch, congestion)?;
                Self::HierarchicalControlled(Box::new(fabric))
            }
        })
    }

    fn voq(spec: &FabricSpec, voq: &Voq) -> Result<Self, SpecError> {
        voq::layout::check_limits(spec, voq)?;
        let small = spec.topology.radix() <= 64;
        Ok(match voq::layout::rates(spec, voq).len() {
            0..=1 if small && voq::layout::is_plain(spec, voq) => {
                Self::VoqPlain(Box::new(voq::Fabric::new(spec, voq)?))
            }
            0..=1 if small => Self::Voq1(Box::new(voq::Fabric::new(spec, voq)?)),
            2..=3 if small => Self::Voq3(Box::new(voq::Fabric::new(spec, voq)?)),
            _ => Self::Voq8(Box::new(voq::Fabric::new(spec, voq)?)),
        })
    }
}

/// Evaluates the same expression for the fabric of any variant.
macro_rules! with_model {
    ($any:expr, $model:ident => $do:expr) => {
        match $any {
            Model::Hierarchical($model) => $do,
            Model::HierarchicalControlled($model) => $do,
            Model::HierarchicalBlind($model) => $do,
            Model::HierarchicalAdaptive($model) => $do,
            Model::VoqPlain($model) => $do,
            Model::Voq1($model) => $do,
            Model::Voq3($model) => $do,
            Model::Voq8($model) => $do,
        }
    };
}

/// Ticks within which everything that is on its way arrives.
const LONG_AFTER: Tick = 1 << 48;

/// Ticks between looks for a deadlock while other packets still move.
const DEADLOCK_CHECK_TICKS: Tick = 1 << 22;
/// Ticks with events after which the control function is called.
const CONTROL_TICKS: u32 = 1 << 14;
/// Events after which the control function is called at the latest, as a tick of a large fabric
/// takes long.
const CONTROL_EVENTS: u64 = 1 << 18;

impl Engine {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        spec.validate()?;
        Ok(Self {
            model: Model::new(spec)?,
            earliest: 0,
            next_deadlock_check: DEADLOCK_CHECK_TICKS,
        })
    }

    /// Runs until the workload has finished or nothing is left to do.
    ///
    /// There is no error to return: however a run ends, even in a deadlock, its end is a
    /// [`RunEnd`]. [`Engine::stats`] tells what was counted till then.
    ///
    /// # Panics
    /// Messages must name NICs and SLs of the specification and two different NICs:
    /// with others the engine panics or its results mean nothing. Debug builds also
    /// panic if an invariant of the fabric (credits, buffer sizes) is broken.
    pub fn run(&mut self, workload: &mut impl Workload) -> RunEnd {
        self.run_controlled(workload, &mut |_, _| ControlFlow::Continue(()))
    }

    /// Like [`Engine::run`], but `control` may end the run. It is called several times a second:
    /// after 2^14 ticks with events, or after 2^18 events.
    pub fn run_controlled<W: Workload>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    ) -> RunEnd {
        self.run_sampled(workload, control, None)
    }

    /// Like [`Engine::run_controlled`], but takes samples if `sampling` is given. The first sample
    /// counts from the beginning of the first run that takes samples.
    pub fn run_sampled<W: Workload>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
        sampling: Option<Sampling<'_>>,
    ) -> RunEnd {
        let (earliest, next_check) = (&mut self.earliest, &mut self.next_deadlock_check);
        with_model!(&mut self.model, model => {
            drive(model.as_mut(), earliest, next_check, workload, control, sampling)
        })
    }

    /// Where the run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        with_model!(&self.model, model => progress(model.as_ref()))
    }

    /// A cycle of packets that can never move, if there is one.
    pub fn find_stall(&mut self) -> Option<Stall> {
        with_model!(&mut self.model, model => {
            let now = model.now();
            model.find_stall(now)
        })
    }

    /// Counts anew from the next tick on. Packets and messages that are on their way then count
    /// when they are delivered, with their whole latency.
    pub fn restart_statistics(&mut self) {
        with_model!(&mut self.model, model => model.restart_statistics());
    }

    /// Flits and packets delivered so far, and the sum of the network latencies of these packets
    /// in ticks. [`Engine::stats`] has these too, but walks over all links.
    #[must_use]
    pub fn delivered(&self) -> (u64, u64, u128) {
        with_model!(&self.model, model => model.counters().delivered())
    }

    /// What has been counted so far.
    #[must_use]
    pub fn stats(&self) -> FabricStats {
        with_model!(&self.model, model => model.stats())
    }
}

fn progress(model: &impl FabricModel) -> Progress {
    let counters = model.counters();
    Progress {
        tick: model.now(),
        messages: counters.messages_delivered,
        flit_hops: counters.flit_hops,
    }
}

/// The samples of a run that are still to come.
struct Sampler<'a> {
    /// Tick of the next sample.
    next: Tick,
    sampling: Sampling<'a>,
}

impl<'a> Sampler<'a> {
    /// Samples from the end of tick `earliest` on.
    fn new(sampling: Sampling<'a>, earliest: Tick) -> Self {
        let interval = sampling.interval.max(1);
        let next = (earliest / interval + 1).saturating_mul(interval) - 1;
        Self { next, sampling }
    }

    /// Takes the samples of all ticks before `tick`.
    fn take_before(&mut self, tick: Tick, model: &mut impl FabricModel) {
        while self.next < tick {
            (self.sampling.take)(&model.sample(self.next));
            self.next = self.next.saturating_add(self.sampling.interval.max(1));
        }
    }
}

/// Moves `model` from tick to tick until the run ends.
fn drive<M: FabricModel, W: Workload>(
    model: &mut M,
    earliest: &mut Tick,
    next_deadlock_check: &mut Tick,
    workload: &mut W,
    control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    sampling: Option<Sampling<'_>>,
) -> RunEnd {
    let mut sampler = sampling.map(|sampling| Sampler::new(sampling, *earliest));
    if sampler.is_some() {
        model.start_series();
    }
    let mut until_control = CONTROL_TICKS;
    let mut events_at_control = model.counters().events + CONTROL_EVENTS;
    while !workload.finished() {
        let wanted = workload.next_tick();
        if wanted.is_none() && model.is_idle() {
            sample_first_tick(&mut sampler, *earliest, model);
            return RunEnd::Drained;
        }
        let next = model
            .next_event()
            .unwrap_or(Tick::MAX)
            .min(wanted.unwrap_or(Tick::MAX))
            .max(*earliest);
        if next == Tick::MAX {
            // No event is left. Packets that still wait do so although all credits have returned.
            return match model.find_stall(model.now().saturating_add(LONG_AFTER)) {
                Some(stall) => RunEnd::Deadlock(stall),
                None => RunEnd::Drained,
            };
        }
        if next >= *next_deadlock_check {
            *next_deadlock_check = next + DEADLOCK_CHECK_TICKS;
            if let Some(stall) = model.find_stall(model.now()) {
                return RunEnd::Deadlock(stall);
            }
        }
        if let Some(sampler) = &mut sampler {
            sampler.take_before(next, model);
        }
        model.tick(next, workload);
        *earliest = next + 1;
        if let Some(sampler) = &mut sampler {
            sampler.take_before(next + 1, model);
        }
        if model.is_full() {
            return RunEnd::Exhausted;
        }
        until_control -= 1;
        if until_control == 0 || model.counters().events >= events_at_control {
            until_control = CONTROL_TICKS;
            events_at_control = model.counters().events + CONTROL_EVENTS;
            if control(&progress(model), workload).is_break() {
                return RunEnd::Interrupted;
            }
        }
    }
    sample_first_tick(&mut sampler, *earliest, model);
    RunEnd::Finished
}

/// Takes the sample of tick 0 if no tick was simulated: such a run has tick 0, too.
fn sample_first_tick(
    sampler: &mut Option<Sampler<'_>>,
    earliest: Tick,
    model: &mut impl FabricModel,
) {
    if earliest == 0
        && let Some(sampler) = sampler
    {
        sampler.take_before(1, model);
    }
}
