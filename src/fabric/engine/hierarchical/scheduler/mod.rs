//! Output schedulers of phase 7: which VL of an output sends next (`docs/model/fabric.md` §8).
//! [`output`](super::output) decides which VLs are candidates.

mod dtable;
mod rr_vl;
mod sbt;

use crate::spec::FabricSpec;
use crate::spec::hierarchical::Scheduler;

/// The head packet of a candidate VL, as a scheduler sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub sl: u8,
    pub flits: u32,
}

/// The schedulers of all outputs, which are of one kind.
#[derive(Debug)]
pub(super) enum Schedulers {
    RrVl(rr_vl::RrVl),
    Sbt(sbt::Sbt),
    DTable(dtable::DTable),
}

impl Schedulers {
    pub(super) fn new(spec: &FabricSpec, scheduler: &Scheduler, outputs: usize) -> Self {
        let sls = spec.qos.service_levels.len();
        match scheduler {
            Scheduler::RrVl => Self::RrVl(rr_vl::RrVl::new(outputs)),
            Scheduler::Sbt { weights } => {
                Self::Sbt(sbt::Sbt::new(outputs, usize::from(spec.qos.vls), weights))
            }
            Scheduler::DTable { entries } => Self::DTable(dtable::DTable::new(
                outputs,
                sls,
                entries,
                spec.units.flit_bytes,
            )),
        }
    }

    /// Prefetches the state of the scheduler of an output.
    #[inline]
    pub(super) fn prefetch(&self, output: usize) {
        if let Self::DTable(s) = self {
            s.prefetch(output);
        }
    }

    /// Chooses one of the `candidates` (a bit per VL, not empty) for `output`. `head` returns
    /// the head packet of a VL. `was_idle`: the link was free in an earlier tick and sent
    /// nothing.
    #[inline]
    pub(super) fn pick(
        &mut self,
        output: usize,
        candidates: u32,
        head: impl Fn(usize) -> Head,
        was_idle: bool,
    ) -> usize {
        match self {
            Self::RrVl(s) => s.pick(output, candidates),
            Self::Sbt(s) => s.pick(output, candidates, head),
            Self::DTable(s) => s.pick(output, candidates, head, was_idle),
        }
    }
}
