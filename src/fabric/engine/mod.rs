//! The engine: exact at flit level without an event per flit.
//!
//! A packet costs a handful of events per hop: its header becomes ready in a buffer, or a part
//! stops waiting for a port or for credits. The ticks of its flits follow in closed form. In each
//! tick the engine first collects the events. Then each phase (`docs/model/fabric.md` §5,
//! `docs/model/infiniband.md` §5) runs once over the parts that these events concern. A part
//! affects other parts in the next tick at the earliest, so the order of the parts within a phase
//! does not matter.
//!
//! Each kind of switch has its own fabric: `hierarchical` and `voq` implement `SwitchModel` on
//! the same `kernel`, and share the code in `nic`. [`Engine`] picks the fabric that a
//! specification asks for, which `model` builds in one of the compiled variants (`variant`); `run` drives it. Workloads, probes and fabrics are
//! trait objects: so this crate compiles the engine, once for all crates that use it.

mod bit_errors;
mod bits;
mod blocks;
mod calendar;
mod choice;
mod congestion;
mod counters;
mod deadlock;
mod degraded;
mod detours;
mod far_end;
#[cfg(test)]
mod full_tests;
mod hierarchical;
// Public only so that the examples there, which must not compile, are tried.
#[doc(hidden)]
pub mod ids;
mod kernel;
mod list;
mod model;
mod next_hop;
mod nic;
mod observers;
mod outages;
mod pool;
mod power;
pub mod probe;
mod progress;
mod queueing;
mod recorder;
mod run;
mod samplers;
mod source_routes;
mod turns;
mod variant;
mod vls;
mod voq;

use self::blocks::Model;
use self::blocks::cut::Cut;
pub use self::deadlock::{Deadlock, Place, Waiting};
pub use self::outages::DownLink;
use self::probe::{NoProbe, Probe, Watched};
pub use self::progress::{Progress, RunEnd};
use self::run::Controlled;
use super::error::error;
use super::series::{LinkSampling, Sampling};
use super::spec::{FabricSpec, SpecError, Tick};
use super::stats::{FabricStats, SlStats};
use super::workload::Workload;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::ops::ControlFlow;
use std::rc::Rc;

/// A simulated fabric, of either kind of switch. A probe of type `P` may watch it.
#[derive(Debug)]
pub struct Engine<P: Probe = NoProbe> {
    model: Box<dyn Model>,
    /// Shared with the model, which reports every step to it.
    probe: Rc<RefCell<P>>,
    at: run::Position,
}

impl Engine {
    /// An idle fabric at tick 0, which nothing watches. One thread simulates it.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        Self::with_threads(spec, 1)
    }

    /// As [`Engine::new`], simulated by up to `threads` threads. The result is the same for any number of them.
    ///
    /// Each thread has a block: some of the switches, and the first one all NICs. A fabric that cannot be cut so has one
    /// thread ([`Engine::obstacle_to_threads`]).
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_threads(spec: &FabricSpec, threads: usize) -> Result<Self, SpecError> {
        spec.validate()?;
        let cuttable = blocks::cut::obstacle(spec).is_none();
        let blocks = threads
            .min(MOST_BLOCKS)
            .min(spec.topology.switches() as usize + 1);
        let of_switch = if cuttable && blocks > 1 {
            blocks::cut::balanced(spec, blocks)
        } else {
            Vec::new()
        };
        Self::in_blocks(spec, &of_switch, threads)
    }

    /// As [`Engine::with_threads`], in blocks of the caller's choice: each switch is in the block of its entry in
    /// `of_switch`, from 0 on. Block 0 has all NICs.
    ///
    /// # Errors
    /// As [`Engine::new`], and if the fabric cannot be cut, or `of_switch` has too few entries or too many blocks.
    pub fn cut(spec: &FabricSpec, of_switch: &[u16], threads: usize) -> Result<Self, SpecError> {
        spec.validate()?;
        let blocks = of_switch
            .iter()
            .max()
            .map_or(1, |&last| usize::from(last) + 1);
        if of_switch.len() != spec.topology.switches() as usize || blocks > MOST_BLOCKS {
            let problem = format!(
                "a block up to {} for each switch is needed",
                MOST_BLOCKS - 1
            );
            return error("topology", problem);
        }
        if let Some(obstacle) = blocks::cut::obstacle(spec) {
            return error("topology", format!("the fabric cannot be cut: {obstacle}"));
        }
        Self::in_blocks(spec, of_switch, threads)
    }

    /// The reason why a fabric cannot be simulated by several threads; `None` if it can.
    #[must_use]
    pub fn obstacle_to_threads(spec: &FabricSpec) -> Option<&'static str> {
        blocks::cut::obstacle(spec)
    }

    fn in_blocks(spec: &FabricSpec, of_switch: &[u16], threads: usize) -> Result<Self, SpecError> {
        let cut = Cut::new(&spec.topology, of_switch);
        let probe = Rc::new(RefCell::new(NoProbe));
        Ok(Self::of(model::new(spec, cut, threads)?, probe))
    }
}

/// Most blocks of a fabric.
const MOST_BLOCKS: usize = 256;

impl<P: Probe + 'static> Engine<P> {
    /// An idle fabric at tick 0, which `probe` watches.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn watched(spec: &FabricSpec, probe: P) -> Result<Self, SpecError> {
        spec.validate()?;
        let probe = Rc::new(RefCell::new(probe));
        let watched = Watched(Rc::<RefCell<P>>::clone(&probe));
        Ok(Self::of(model::watched(spec, watched)?, probe))
    }
}

impl<P: Probe> Engine<P> {
    fn of(model: Box<dyn Model>, probe: Rc<RefCell<P>>) -> Self {
        Self {
            model,
            probe,
            at: run::Position::start(),
        }
    }

    /// The probe that watches the fabric.
    ///
    /// # Panics
    /// While the result of [`Engine::probe_mut`] lives.
    #[must_use]
    pub fn probe(&self) -> Ref<'_, P> {
        self.probe.borrow()
    }

    /// As [`Engine::probe`].
    pub fn probe_mut(&mut self) -> RefMut<'_, P> {
        self.probe.borrow_mut()
    }

    /// Simulates until the workload has finished or nothing is left to do.
    ///
    /// There is no error to return: however a run ends, even in a deadlock, its end is a
    /// [`RunEnd`]. [`Engine::stats`] tells what was counted till then.
    ///
    /// # Panics
    /// Messages must name NICs and SLs of the specification and two different NICs:
    /// with others the engine panics or its results mean nothing. Debug builds also
    /// panic if an invariant of the fabric (credits, buffer sizes) is broken.
    pub fn run<W: Workload + ?Sized>(&mut self, workload: &mut W) -> RunEnd {
        self.run_controlled(workload, &mut |_, _| ControlFlow::Continue(()))
    }

    /// Like [`Engine::run`], but `control` may end the run. It is called several times a second:
    /// after 2^14 ticks with events, or after 2^18 events.
    pub fn run_controlled<W: Workload + ?Sized>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
    ) -> RunEnd {
        self.run_sampled(workload, control, None)
    }

    /// Like [`Engine::run_controlled`], but takes samples if `sampling` is given. The first sample
    /// counts from the beginning of the first run that takes samples.
    pub fn run_sampled<W: Workload + ?Sized>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
        sampling: Option<Sampling<'_>>,
    ) -> RunEnd {
        self.run_observed(workload, control, sampling, None, None)
    }

    /// Like [`Engine::run_sampled`], but takes samples of the links as well if `links` is given. `control` is called at the
    /// end of the tick in `control_at` as well, which is then set to [`Tick::MAX`]; `control` may set it again. These
    /// calls do not depend on the number of threads, unlike the others.
    pub fn run_observed<'s, W: Workload + ?Sized>(
        &mut self,
        workload: &mut W,
        control: &mut dyn FnMut(&Progress, &W) -> ControlFlow<()>,
        sampling: Option<Sampling<'s>>,
        links: Option<LinkSampling<'s>>,
        control_at: Option<&Cell<Tick>>,
    ) -> RunEnd {
        let samplers = samplers::Samplers::new(sampling, links, self.at.earliest);
        let driven = &mut Controlled {
            workload,
            control,
            control_at,
        };
        self.model.drive(&mut self.at, driven, samplers)
    }

    /// Threads that simulate the fabric, at most as many as were asked for.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.model.threads()
    }

    /// The progress of the run.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.model.progress()
    }

    /// A cycle of packets that can never move, if there is one.
    pub fn find_deadlock(&mut self) -> Option<Deadlock> {
        self.model.find_cycle()
    }

    /// The links that are down for good in the present tick, with packets that wait for them.
    #[must_use]
    pub fn links_down(&self) -> Vec<DownLink> {
        self.model.links_down()
    }

    /// Counts anew from the next tick on. Packets and messages that are on their way then count
    /// when they are delivered, with their whole latency.
    pub fn restart_statistics(&mut self) {
        self.model.restart_statistics();
    }

    /// Flits and packets delivered so far, and the sum of the network latencies of these packets
    /// in ticks. [`Engine::stats`] has these too, but walks over all links.
    #[must_use]
    pub fn delivered(&self) -> (u64, u64, u128) {
        self.model.counters().delivered()
    }

    /// The counters per service level so far. [`Engine::stats`] has them too, but walks over
    /// all links and turns.
    #[must_use]
    pub fn service_levels(&self) -> &[SlStats] {
        self.model.counters().service_levels()
    }

    /// The counters so far.
    #[must_use]
    pub fn stats(&self) -> FabricStats {
        self.model.stats()
    }
}
