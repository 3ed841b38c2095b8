//! The hierarchical switch in an experiment file: its keys, its parameters and its schedulers.

use crate::config::document::error::ConfigError;
use crate::config::fabric::keys::{of_kind, replace, with_common_keys};
use crate::config::qos::keys::RawScheduler;
use crate::config::qos::scheduler::{Scheduling, dtable, equal_weights, sbt};
use crate::fabric::parameters::HierarchicalParameters;
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::switch::hierarchical::{CentralQueues, Scheduler, VirtualAllocation};
use crate::units::{BufferPart, Bytes, Latency, Rate};

with_common_keys! {
    of_kind HierarchicalKeys, RawHierarchical {
        link_rate: Rate,
        allocation_gap: Latency,
        virtual_allocation: VirtualAllocation,
        mport_speedup: u32,
        central_speedup: u32,
        central_buffer: Bytes,
        exclusive: BufferPart,
        max: BufferPart,
        central_exclusive: BufferPart,
        central_max: BufferPart,
        central_queues: CentralQueues,
    }
}

impl RawHierarchical {
    /// Overrides the parameters by the keys that are given.
    pub(crate) fn resolve(&self, p: &mut HierarchicalParameters) {
        let Self {
            link_rate,
            allocation_gap,
            virtual_allocation,
            mport_speedup,
            central_speedup,
            central_buffer,
            exclusive,
            max,
            central_exclusive,
            central_max,
            central_queues,
        } = self;
        replace(&mut p.link_rate, link_rate.map(|rate| rate.0));
        replace(&mut p.allocation_gap, *allocation_gap);
        replace(&mut p.virtual_allocation, *virtual_allocation);
        replace(&mut p.mport_speedup, *mport_speedup);
        replace(&mut p.central_speedup, *central_speedup);
        replace(&mut p.central_buffer, central_buffer.map(|b| b.0));
        replace(&mut p.exclusive, exclusive.map(|space| [space; 2]));
        replace(&mut p.max, *max);
        replace(&mut p.central_exclusive, *central_exclusive);
        p.central_max = central_max.or(p.central_max);
        replace(&mut p.central_queues, *central_queues);
    }
}

/// The scheduler of switches and NICs and, for DTable, how its table was made.
pub(crate) fn schedule(
    p: &mut HierarchicalParameters,
    by: &Scheduling<'_>,
) -> Result<Option<DTableTable>, ConfigError> {
    let wanted = by.raw.scheduler.or(by.defaults.scheduler);
    let mut table = None;
    p.scheduler = match wanted.unwrap_or(by.usual) {
        RawScheduler::IbVlarb => {
            return Err(ConfigError::new(
                "qos.scheduler",
                "\"ib-vlarb\" belongs to the \"voq\" kind of switch (fabric.kind); the \
                 \"hierarchical\" one takes rr, rr-vl, sbt or dtable",
            ));
        }
        RawScheduler::RrVl => Scheduler::RrVl,
        RawScheduler::Rr => equal_weights(by.levels().len()),
        RawScheduler::Sbt => sbt(by.levels())?,
        RawScheduler::DTable => {
            let built = table.insert(dtable(by)?);
            let entries = built.entries.clone();
            Scheduler::DTable { entries }
        }
    };
    Ok(table)
}
