//! The compiled variants of the engine, and which of them a specification needs. All variants compute the same;
//! each leaves out what its fabrics cannot have, because that makes them faster.

use super::blocks::cut::Cut;
use super::blocks::{Blocks, Lookahead, lock};
use super::counters::Counters;
use super::deadlock::Deadlock;
use super::hierarchical::{self, Control, Controlled, General, Off};
use super::kernel::SwitchModel;
use super::outages::DownLink;
use super::probe::{Unwatched, Watched};
use super::progress::{Progress, RunEnd};
use super::run::{Driven, Position};
use super::samplers::Samplers;
use super::voq::{self, layout};
use crate::routing::Router;
use crate::spec::hierarchical::CentralLink;
use crate::spec::{FabricSpec, Hierarchical, SpecError, Switch, Voq};
use crate::stats::FabricStats;
use std::sync::{Arc, Mutex, PoisonError};

/// A fabric in the variant that it needs.
#[derive(Debug)]
pub(super) enum Model {
    /// Without congestion control.
    Hierarchical(Blocks<hierarchical::Fabric<Off, Unwatched>>),
    /// With congestion control.
    HierarchicalControlled(Blocks<hierarchical::Fabric<Controlled, Unwatched>>),
    /// All others: with blind virtual allocation, with allocation in rounds, with up-ports chosen by their queues, or with
    /// central buffers by another rule than the usual one.
    HierarchicalGeneral(Blocks<hierarchical::Fabric<General, Unwatched>>),
    /// A plain fabric (`voq::layout::is_plain`), with at most 64 ports per switch.
    VoqPlain(Blocks<voq::Fabric<Unwatched, 0, 1>>),
    /// With one rate, and at most 64 ports per switch.
    Voq1(Blocks<voq::Fabric<Unwatched, 1, 1>>),
    /// With at most three different rates, and at most 64 ports per switch.
    Voq3(Blocks<voq::Fabric<Unwatched, 3, 1>>),
    /// With any number of rates and ports within the limits.
    Voq8(Blocks<voq::Fabric<Unwatched, { layout::MAX_RATES }, 2>>),
    /// Watched: the most general variant.
    WatchedHierarchical(Blocks<hierarchical::Fabric<General, Watched>>),
    /// Watched: the most general variant.
    WatchedVoq(Blocks<voq::Fabric<Watched, { layout::MAX_RATES }, 2>>),
}

/// Evaluates the same expression for the fabric of any variant.
macro_rules! with_model {
    ($any:expr, $model:ident => $do:expr) => {
        match $any {
            Model::Hierarchical($model) => $do,
            Model::HierarchicalControlled($model) => $do,
            Model::HierarchicalGeneral($model) => $do,
            Model::VoqPlain($model) => $do,
            Model::Voq1($model) => $do,
            Model::Voq3($model) => $do,
            Model::Voq8($model) => $do,
            Model::WatchedHierarchical($model) => $do,
            Model::WatchedVoq($model) => $do,
        }
    };
}

/// How a fabric that nothing watches is built.
struct Plan<'a> {
    spec: &'a FabricSpec,
    router: Arc<Router>,
    /// The blocks that it is wanted in; `None`: in one.
    cut: Option<Cut>,
    threads: usize,
}

impl Plan<'_> {
    /// A fabric of hierarchical switches.
    fn hierarchical<C: Control + Send>(
        self,
        switch: &Hierarchical,
    ) -> Result<Blocks<hierarchical::Fabric<C, Unwatched>>, SpecError> {
        let (spec, ahead) = (self.spec, hierarchical::lookahead(self.spec, switch));
        self.build(ahead, |router| {
            hierarchical::Fabric::new(spec, switch, C::of(spec)?, Unwatched, router)
        })
    }

    /// A fabric of switches with virtual output queues.
    fn voq<const L: usize, const W: usize>(
        self,
        switch: &Voq,
    ) -> Result<Blocks<voq::Fabric<Unwatched, L, W>>, SpecError> {
        let (spec, ahead) = (self.spec, voq::lookahead(self.spec, switch));
        self.build(ahead, |router| {
            voq::Fabric::new(spec, switch, Unwatched, router)
        })
    }

    /// A fabric in blocks that `block` makes; in a single one if effects come too soon for several.
    fn build<M: SwitchModel + Send>(
        self,
        ahead: Lookahead,
        block: impl Fn(&Arc<Router>) -> Result<M, SpecError> + Sync,
    ) -> Result<Blocks<M>, SpecError>
    where
        M::Arrival: Send,
        M::Credits: Send,
    {
        let router = &self.router;
        let Some(cut) = self
            .cut
            .filter(|_| ahead.to_nics > 0 && ahead.to_switches > 0)
        else {
            return block(router).map(Blocks::one);
        };
        let built = Mutex::new(Vec::new());
        let build = || {
            let block = block(router);
            lock(&built).push(block);
        };
        std::thread::scope(|scope| {
            for number in 1..cut.blocks() {
                if number < self.threads {
                    scope.spawn(build);
                } else {
                    build();
                }
            }
            build();
        });
        let built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
        let blocks = built.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Blocks::new(blocks, cut, ahead, self.threads))
    }
}

/// The steps of a run. [`super::Engine`] has type parameters, so its methods are compiled by each crate that uses them. These
/// have none: this crate compiles them, and all of a variant that they call.
impl Model {
    /// Simulates from `at` on until the run ends.
    pub(super) fn drive(
        &mut self,
        at: &mut Position,
        driven: &mut dyn Driven,
        samplers: Samplers<'_>,
    ) -> RunEnd {
        with_model!(self, blocks => blocks.drive(at, driven, samplers))
    }

    /// Threads that simulate the fabric.
    pub(super) fn threads(&self) -> usize {
        with_model!(self, blocks => blocks.threads())
    }

    /// The progress of the run.
    pub(super) fn progress(&self) -> Progress {
        with_model!(self, blocks => blocks.progress())
    }

    /// A cycle of packets that can never move.
    pub(super) fn find_cycle(&mut self) -> Option<Deadlock> {
        with_model!(self, blocks => blocks.find_cycle())
    }

    /// The links that are down for good, with packets that wait for them.
    pub(super) fn links_down(&self) -> Vec<DownLink> {
        with_model!(self, blocks => blocks.links_down())
    }

    /// Counts anew from the next tick on.
    pub(super) fn restart_statistics(&mut self) {
        with_model!(self, blocks => blocks.restart_statistics());
    }

    /// The counters of the NICs.
    pub(super) fn counters(&self) -> &Counters {
        with_model!(self, blocks => &blocks.lead.kernel().observers.counters)
    }

    /// The counters so far.
    pub(super) fn stats(&self) -> FabricStats {
        with_model!(self, blocks => blocks.stats())
    }
}

impl Model {
    /// An idle fabric, which nothing watches, in the blocks of `cut`. `threads` threads simulate them.
    ///
    /// # Errors
    /// If the fabric exceeds a limit of the engine.
    pub(super) fn new(
        spec: &FabricSpec,
        cut: Option<Cut>,
        threads: usize,
    ) -> Result<Self, SpecError> {
        let router = Arc::new(Router::new(spec));
        let plan = Plan {
            spec,
            router,
            cut,
            threads,
        };
        match &spec.switch {
            Switch::Hierarchical(switch) => Self::new_hierarchical(plan, switch),
            Switch::Voq(switch) => Self::new_voq(plan, switch),
        }
    }

    fn new_hierarchical(plan: Plan<'_>, switch: &Hierarchical) -> Result<Self, SpecError> {
        let spec = plan.spec;
        let is_usual = !switch.allocator.is_in_rounds()
            && !switch.allocates_blindly()
            && !spec.routing.asks_for_waiting()
            && switch.buffers.central_link == CentralLink::ByOutput;
        if !is_usual {
            return plan.hierarchical(switch).map(Self::HierarchicalGeneral);
        }
        match spec.congestion_control {
            None => plan.hierarchical(switch).map(Self::Hierarchical),
            Some(_) => plan.hierarchical(switch).map(Self::HierarchicalControlled),
        }
    }

    fn new_voq(plan: Plan<'_>, switch: &Voq) -> Result<Self, SpecError> {
        let spec = plan.spec;
        layout::check_limits(spec, switch)?;
        let small = spec.topology.radix() <= 64;
        match layout::rates(spec, switch).len() {
            0..=1 if small && layout::is_plain(spec, switch) => {
                plan.voq(switch).map(Self::VoqPlain)
            }
            0..=1 if small => plan.voq(switch).map(Self::Voq1),
            2..=3 if small => plan.voq(switch).map(Self::Voq3),
            _ => plan.voq(switch).map(Self::Voq8),
        }
    }

    /// An idle fabric, which `watcher` watches.
    ///
    /// # Errors
    /// As [`Model::new`].
    pub(super) fn watched(spec: &FabricSpec, watcher: Watched) -> Result<Self, SpecError> {
        match &spec.switch {
            Switch::Hierarchical(switch) => {
                let router = Arc::new(Router::new(spec));
                let general = General::of(spec)?;
                let fabric = hierarchical::Fabric::new(spec, switch, general, watcher, &router)?;
                Ok(Self::WatchedHierarchical(Blocks::one(fabric)))
            }
            Switch::Voq(switch) => {
                layout::check_limits(spec, switch)?;
                let router = Arc::new(Router::new(spec));
                let fabric = voq::Fabric::new(spec, switch, watcher, &router)?;
                Ok(Self::WatchedVoq(Blocks::one(fabric)))
            }
        }
    }
}
