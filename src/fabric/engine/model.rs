//! Fabrics in the [`variant`](super::variant) that they need.

use super::blocks::cut::Cut;
use super::blocks::{Blocks, Lookahead, Model};
use super::hierarchical;
use super::kernel::SwitchModel;
use super::probe::{Unwatched, Watched};
use super::variant::{Any, OneRate, Plain, Probed, ThreeRates, Variant};
use super::voq::{self, layout};
use crate::routing::Router;
use crate::spec::{FabricSpec, Hierarchical, SpecError, Switch, Voq};
use flitwise_base::side_by_side;
use std::sync::Arc;

/// An idle fabric, which nothing watches, in the blocks of `cut`. `threads` threads simulate them.
///
/// # Errors
/// If the fabric exceeds a limit of the engine.
pub(super) fn new(
    spec: &FabricSpec,
    cut: Option<Cut>,
    threads: usize,
) -> Result<Box<dyn Model>, SpecError> {
    let router = Arc::new(Router::new(spec));
    let plan = Plan {
        spec,
        router,
        cut,
        threads,
    };
    match &spec.switch {
        Switch::Hierarchical(switch) => {
            let is_usual = hierarchical::is_usual(spec, switch);
            match spec.congestion_control {
                None if is_usual => plan.hierarchical::<Plain>(switch),
                Some(_) if is_usual => plan.hierarchical::<OneRate>(switch),
                _ => plan.hierarchical::<Any>(switch),
            }
        }
        Switch::Voq(switch) => {
            layout::check_limits(spec, switch)?;
            let rates = layout::rates(spec, switch).len();
            if spec.topology.radix() > ThreeRates::PORTS || rates > ThreeRates::RATES {
                plan.voq::<Any>(switch)
            } else if rates > OneRate::RATES {
                plan.voq::<ThreeRates>(switch)
            } else if layout::is_plain(spec, switch) {
                plan.voq::<Plain>(switch)
            } else {
                plan.voq::<OneRate>(switch)
            }
        }
    }
}

/// An idle fabric, which `watcher` watches.
///
/// # Errors
/// As [`new`].
pub(super) fn watched(spec: &FabricSpec, watcher: Watched) -> Result<Box<dyn Model>, SpecError> {
    let router = Arc::new(Router::new(spec));
    Ok(match &spec.switch {
        Switch::Hierarchical(switch) => {
            let fabric = hierarchical::Fabric::<Probed>::new(spec, switch, watcher, &router)?;
            Box::new(Blocks::one(fabric))
        }
        Switch::Voq(switch) => {
            layout::check_limits(spec, switch)?;
            let fabric = voq::Fabric::<Probed>::new(spec, switch, watcher, &router)?;
            Box::new(Blocks::one(fabric))
        }
    })
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
    fn hierarchical<V: Variant<Watcher = Unwatched>>(
        self,
        switch: &Hierarchical,
    ) -> Result<Box<dyn Model>, SpecError> {
        let (spec, ahead) = (self.spec, hierarchical::lookahead(self.spec, switch));
        self.build(ahead, |router| {
            hierarchical::Fabric::<V>::new(spec, switch, Unwatched, router)
        })
    }

    /// A fabric of switches with virtual output queues.
    fn voq<V: Variant<Watcher = Unwatched>>(
        self,
        switch: &Voq,
    ) -> Result<Box<dyn Model>, SpecError> {
        let (spec, ahead) = (self.spec, voq::lookahead(self.spec, switch));
        self.build(ahead, |router| {
            voq::Fabric::<V>::new(spec, switch, Unwatched, router)
        })
    }

    /// A fabric in blocks that `block` makes; in a single one if effects come too soon for several.
    fn build<M: SwitchModel + Send + 'static>(
        self,
        ahead: Lookahead,
        block: impl Fn(&Arc<Router>) -> Result<M, SpecError> + Sync,
    ) -> Result<Box<dyn Model>, SpecError>
    where
        M::Arrival: Send,
        M::Credits: Send,
    {
        let router = &self.router;
        let Some(cut) = self
            .cut
            .filter(|_| ahead.to_nics > 0 && ahead.to_switches > 0)
        else {
            return Ok(Box::new(Blocks::one(block(router)?)));
        };
        let blocks = side_by_side(self.threads, cut.blocks(), |_| block(router))?;
        Ok(Box::new(Blocks::new(blocks, cut, ahead, self.threads)))
    }
}
