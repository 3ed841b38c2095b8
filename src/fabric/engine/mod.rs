//! The engine: exact at flit level without an event per flit.
//!
//! A packet costs a handful of events per hop: its header becomes ready in a buffer, or a part
//! stops waiting for a port or for credits. The ticks of its flits follow in closed form. In each
//! tick the engine first collects the events. Then each phase (`docs/model.md` §5,
//! `docs/model-infiniband.md` §5) runs once over the parts that these events concern. A part
//! affects other parts in the next tick at the earliest, so the order of the parts within a phase
//! does not matter.
//!
//! Each kind of switch has its own fabric: `hierarchical` and `voq` implement `SwitchModel` on
//! the same `kernel`, and share the code in `nic`. [`Engine`] picks the fabric that a
//! specification asks for; `run` drives it.

mod bits;
mod calendar;
mod choice;
mod congestion;
mod counters;
mod deadlock;
mod detours;
mod far_end;
#[cfg(test)]
mod full_tests;
mod hierarchical;
// Public only so that the examples there, which must not compile, are tried.
#[doc(hidden)]
pub mod ids;
mod kernel;
mod next_hop;
mod nic;
mod observers;
mod pool;
mod power;
pub mod probe;
mod queueing;
mod recorder;
mod run;
mod turns;
mod vls;
mod voq;

pub use self::deadlock::{Deadlock, Place, Waiting};
use self::kernel::SwitchModel;
use self::probe::{NoProbe, Probe};
use super::series::{LinkSampling, Sampling};
use super::spec::hierarchical::VirtualAllocation;
use super::spec::{FabricSpec, Hierarchical, SpecError, Switch, Tick, Voq};
use super::stats::{FabricStats, SlStats};
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
    Deadlock(Deadlock),
    /// The control function asked to stop.
    Interrupted,
    /// There are more messages or packets at a time than the engine can number (2^28). The engine
    /// has dropped what does not fit, so the run cannot go on.
    Exhausted,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Tick that was simulated last.
    pub tick: Tick,
    /// Messages delivered so far.
    pub messages: u64,
    /// Flits that crossed switch-to-switch links so far.
    pub flit_hops: u64,
}

/// A simulated fabric, of either kind of switch. `P` watches it.
#[derive(Debug)]
pub struct Engine<P: Probe = NoProbe> {
    model: Model<P>,
    /// First tick that has not been simulated.
    earliest: Tick,
    /// First tick in which to look again for a deadlock.
    next_deadlock_check: Tick,
}

/// The fabrics of all kinds of switch. The compiler makes each variant for what its fabric needs.
#[derive(Debug)]
enum Model<P> {
    /// Without congestion control.
    Hierarchical(Box<hierarchical::Fabric<hierarchical::Off, P>>),
    /// With congestion control.
    HierarchicalControlled(Box<hierarchical::Fabric<hierarchical::Controlled, P>>),
    /// With blind virtual allocation; with or without congestion control.
    HierarchicalBlind(Box<hierarchical::Fabric<hierarchical::BlindAllocation, P>>),
    /// With up-ports chosen by their queues; with or without congestion control.
    HierarchicalAdaptive(Box<hierarchical::Fabric<hierarchical::Adaptive, P>>),
    /// A plain fabric (`voq::layout::is_plain`), with at most 64 ports per switch.
    VoqPlain(Box<voq::Fabric<P, 0, 1>>),
    /// With one rate, and at most 64 ports per switch.
    Voq1(Box<voq::Fabric<P, 1, 1>>),
    /// With at most three different rates, and at most 64 ports per switch.
    Voq3(Box<voq::Fabric<P, 3, 1>>),
    /// With any number of rates and ports within the limits.
    Voq8(Box<voq::Fabric<P, { voq::layout::MAX_RATES }, 2>>),
}

impl<P: Probe> Model<P> {
    /// An idle fabric of the kind that `spec` names.
    fn new(spec: &FabricSpec, probe: P) -> Result<Self, SpecError> {
        match &spec.switch {
            Switch::Hierarchical(switch) => Self::hierarchical(spec, switch, probe),
            Switch::Voq(switch) => Self::voq(spec, switch, probe),
        }
    }

    fn hierarchical(spec: &FabricSpec, switch: &Hierarchical, probe: P) -> Result<Self, SpecError> {
        use hierarchical::{Adaptive, BlindAllocation, Controlled, Fabric, Off};
        let congestion = Controlled::new(spec)?;
        if switch.virtual_allocation == VirtualAllocation::Blind {
            let fabric = Fabric::new(spec, switch, BlindAllocation(congestion), probe)?;
            return Ok(Self::HierarchicalBlind(Box::new(fabric)));
        }
        if spec.routing.asks_for_waiting() {
            let fabric = Fabric::new(spec, switch, Adaptive(congestion), probe)?;
            return Ok(Self::HierarchicalAdaptive(Box::new(fabric)));
        }
        Ok(match congestion {
            None => Self::Hierarchical(Box::new(Fabric::new(spec, switch, Off, probe)?)),
            Some(congestion) => {
                let fabric = Fabric::new(spec, switch, congestion, probe)?;
                Self::HierarchicalControlled(Box::new(fabric))
            }
        })
    }

    fn voq(spec: &FabricSpec, voq: &Voq, probe: P) -> Result<Self, SpecError> {
        voq::layout::check_limits(spec, voq)?;
        let small = spec.topology.radix() <= 64;
        Ok(match voq::layout::rates(spec, voq).len() {
            0..=1 if small && voq::layout::is_plain(spec, voq) => {
                Self::VoqPlain(Box::new(voq::Fabric::new(spec, voq, probe)?))
            }
            0..=1 if small => Self::Voq1(Box::new(voq::Fabric::new(spec, voq, probe)?)),
            2..=3 if small => Self::Voq3(Box::new(voq::Fabric::new(spec, voq, probe)?)),
            _ => Self::Voq8(Box::new(voq::Fabric::new(spec, voq, probe)?)),
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

impl Engine {
    /// An idle fabric at tick 0, which nothing watches.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        Self::watched(spec, NoProbe)
    }

    /// As [`Engine::run`], for a workload of any type.
    ///
    /// The compiler makes [`Engine::run`] anew for each type of workload and for each variant of the
    /// fabric, so that it can join their code. That takes a minute or so. It makes this function
    /// only once, with this crate, but calls of the workload take a little longer.
    ///
    /// # Panics
    /// As [`Engine::run`].
    pub fn run_any(&mut self, workload: &mut dyn Workload) -> RunEnd {
        self.run_any_sampled(workload, &mut |_| ControlFlow::Continue(()), None)
    }

    /// As [`Engine::run_sampled`], for a workload of any type: see [`Engine::run_any`].
    pub fn run_any_sampled(
        &mut self,
        mut workload: &mut dyn Workload,
        control: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        sampling: Option<Sampling<'_>>,
    ) -> RunEnd {
        self.run_sampled(
            &mut workload,
            &mut |progress, _| control(progress),
            sampling,
        )
    }
}

impl<P: Probe> Engine<P> {
    /// An idle fabric at tick 0, which `probe` watches.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub fn watched(spec: &FabricSpec, probe: P) -> Result<Self, SpecError> {
        spec.validate()?;
        Ok(Self {
            model: Model::new(spec, probe)?,
            earliest: 0,
            next_deadlock_check: run::DEADLOCK_CHECK_TICKS,
        })
    }

    /// What watches the fabric.
    #[must_use]
    pub fn probe(&self) -> &P {
        with_model!(&self.model, model => &model.kernel().observers.probe)
    }

    /// As [`Engine::probe`].
    pub fn probe_mut(&mut self) -> &mut P {
        with_model!(&mut self.model, model => &mut model.kernel_mut().observers.probe)
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
        self.run_observed(workload, control, sampling, None)
    }

    /// Like [`Engine::run_sampled`], but takes samples of the links as well if `links` is given.
    pub fn run_observed<'s, W: Workload>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
        sampling: Option<Sampling<'s>>,
        links: Option<LinkSampling<'s>>,
    ) -> RunEnd {
        let samplers = run::Samplers::new(sampling, links, self.earliest);
        let (earliest, next_check) = (&mut self.earliest, &mut self.next_deadlock_check);
        with_model!(&mut self.model, model => {
            run::drive(model.as_mut(), earliest, next_check, workload, control, samplers)
        })
    }

    /// Where the run stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        with_model!(&self.model, model => run::progress(model.as_ref()))
    }

    /// A cycle of packets that can never move, if there is one.
    pub fn find_deadlock(&mut self) -> Option<Deadlock> {
        with_model!(&mut self.model, model => model.find_cycle())
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
        with_model!(&self.model, model => model.kernel().observers.counters.delivered())
    }

    /// What has been counted per service level so far. [`Engine::stats`] has it too, but walks over
    /// all links and turns.
    #[must_use]
    pub fn service_levels(&self) -> &[SlStats] {
        with_model!(&self.model, model => model.kernel().observers.counters.service_levels())
    }

    /// What has been counted so far.
    #[must_use]
    pub fn stats(&self) -> FabricStats {
        with_model!(&self.model, model => model.stats())
    }
}
