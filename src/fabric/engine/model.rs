//! The compiled variants of the engine, and which of them a specification needs. All variants compute the same;
//! each leaves out what its fabrics cannot have, because that makes them faster.

use super::hierarchical::{self, Adaptive, BlindAllocation, Controlled, General, InRounds, Off};
use super::probe::{Unwatched, Watched, Watcher};
use super::voq::{self, layout};
use crate::spec::hierarchical::{CentralLink, VirtualAllocation};
use crate::spec::{FabricSpec, Hierarchical, SpecError, Switch, Voq};

/// A fabric in the variant that it needs.
#[derive(Debug)]
pub(super) enum Model {
    /// Without congestion control.
    Hierarchical(Box<hierarchical::Fabric<Off, Unwatched>>),
    /// With congestion control.
    HierarchicalControlled(Box<hierarchical::Fabric<Controlled, Unwatched>>),
    /// With blind virtual allocation; with or without congestion control.
    HierarchicalBlind(Box<hierarchical::Fabric<BlindAllocation, Unwatched>>),
    /// With allocation in rounds; with or without congestion control.
    HierarchicalRounds(Box<hierarchical::Fabric<InRounds, Unwatched>>),
    /// With up-ports chosen by their queues, or central buffers by another rule than the usual one; with or without
    /// congestion control.
    HierarchicalAdaptive(Box<hierarchical::Fabric<Adaptive, Unwatched>>),
    /// A plain fabric (`voq::layout::is_plain`), with at most 64 ports per switch.
    VoqPlain(Box<voq::Fabric<Unwatched, 0, 1>>),
    /// With one rate, and at most 64 ports per switch.
    Voq1(Box<voq::Fabric<Unwatched, 1, 1>>),
    /// With at most three different rates, and at most 64 ports per switch.
    Voq3(Box<voq::Fabric<Unwatched, 3, 1>>),
    /// With any number of rates and ports within the limits.
    Voq8(Box<voq::Fabric<Unwatched, { layout::MAX_RATES }, 2>>),
    /// Watched, with informed allocation: the most general variant.
    WatchedHierarchical(Box<hierarchical::Fabric<Adaptive, Watched>>),
    /// Watched, with blind virtual allocation.
    WatchedBlind(Box<hierarchical::Fabric<BlindAllocation, Watched>>),
    /// Watched, with allocation in rounds.
    WatchedRounds(Box<hierarchical::Fabric<InRounds, Watched>>),
    /// Watched: the most general variant.
    WatchedVoq(Box<voq::Fabric<Watched, { layout::MAX_RATES }, 2>>),
}

/// Evaluates the same expression for the fabric of any variant.
macro_rules! with_model {
    ($any:expr, $model:ident => $do:expr) => {
        match $any {
            Model::Hierarchical($model) => $do,
            Model::HierarchicalControlled($model) => $do,
            Model::HierarchicalBlind($model) => $do,
            Model::HierarchicalRounds($model) => $do,
            Model::HierarchicalAdaptive($model) => $do,
            Model::VoqPlain($model) => $do,
            Model::Voq1($model) => $do,
            Model::Voq3($model) => $do,
            Model::Voq8($model) => $do,
            Model::WatchedHierarchical($model) => $do,
            Model::WatchedBlind($model) => $do,
            Model::WatchedRounds($model) => $do,
            Model::WatchedVoq($model) => $do,
        }
    };
}
pub(super) use with_model;

/// A hierarchical fabric with `control`.
fn hierarchical<C: hierarchical::Control, P: Watcher>(
    spec: &FabricSpec,
    switch: &Hierarchical,
    control: C,
    watcher: P,
) -> Result<Box<hierarchical::Fabric<C, P>>, SpecError> {
    hierarchical::Fabric::new(spec, switch, control, watcher).map(Box::new)
}

/// A fabric of switches with virtual output queues.
fn voq<P: Watcher, const L: usize, const W: usize>(
    spec: &FabricSpec,
    switch: &Voq,
    watcher: P,
) -> Result<Box<voq::Fabric<P, L, W>>, SpecError> {
    voq::Fabric::new(spec, switch, watcher).map(Box::new)
}

/// Whether virtual allocation is blind.
fn is_blind(switch: &Hierarchical) -> bool {
    switch.virtual_allocation == VirtualAllocation::Blind
}

impl Model {
    /// An idle fabric, which nothing watches.
    ///
    /// # Errors
    /// If the fabric exceeds a limit of the engine.
    pub(super) fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        match &spec.switch {
            Switch::Hierarchical(switch) => Self::new_hierarchical(spec, switch),
            Switch::Voq(switch) => Self::new_voq(spec, switch),
        }
    }

    fn new_hierarchical(spec: &FabricSpec, switch: &Hierarchical) -> Result<Self, SpecError> {
        let none = Unwatched;
        let congestion = Controlled::new(spec)?;
        if switch.allocator.is_in_rounds() {
            let control = General(congestion);
            return hierarchical(spec, switch, control, none).map(Self::HierarchicalRounds);
        }
        if is_blind(switch) {
            let control = General(congestion);
            return hierarchical(spec, switch, control, none).map(Self::HierarchicalBlind);
        }
        if spec.routing.asks_for_waiting() || switch.buffers.central_link != CentralLink::ByOutput {
            let control = General(congestion);
            return hierarchical(spec, switch, control, none).map(Self::HierarchicalAdaptive);
        }
        match congestion {
            None => hierarchical(spec, switch, Off, none).map(Self::Hierarchical),
            Some(control) => {
                hierarchical(spec, switch, control, none).map(Self::HierarchicalControlled)
            }
        }
    }

    fn new_voq(spec: &FabricSpec, switch: &Voq) -> Result<Self, SpecError> {
        layout::check_limits(spec, switch)?;
        let small = spec.topology.radix() <= 64;
        match layout::rates(spec, switch).len() {
            0..=1 if small && layout::is_plain(spec, switch) => {
                voq(spec, switch, Unwatched).map(Self::VoqPlain)
            }
            0..=1 if small => voq(spec, switch, Unwatched).map(Self::Voq1),
            2..=3 if small => voq(spec, switch, Unwatched).map(Self::Voq3),
            _ => voq(spec, switch, Unwatched).map(Self::Voq8),
        }
    }

    /// An idle fabric, which `watcher` watches.
    ///
    /// # Errors
    /// As [`Model::new`].
    pub(super) fn watched(spec: &FabricSpec, watcher: Watched) -> Result<Self, SpecError> {
        match &spec.switch {
            Switch::Hierarchical(switch) => {
                let congestion = Controlled::new(spec)?;
                if switch.allocator.is_in_rounds() {
                    let control = General(congestion);
                    return hierarchical(spec, switch, control, watcher).map(Self::WatchedRounds);
                }
                if is_blind(switch) {
                    let control = General(congestion);
                    return hierarchical(spec, switch, control, watcher).map(Self::WatchedBlind);
                }
                let control = General(congestion);
                hierarchical(spec, switch, control, watcher).map(Self::WatchedHierarchical)
            }
            Switch::Voq(switch) => {
                layout::check_limits(spec, switch)?;
                voq(spec, switch, watcher).map(Self::WatchedVoq)
            }
        }
    }
}
