//! The hierarchical switch in an experiment file: its keys, its parameters and its schedulers.

use crate::config::document::{ConfigError, refused};
use crate::config::fabric::keys::{of_kind, replace, with_common_keys};
use crate::config::qos::keys::RawScheduler;
use crate::config::qos::scheduler::{Scheduling, dtable, round_robin, sbt};
use crate::fabric::parameters::HierarchicalParameters;
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::switch::hierarchical::{
    AllocationRule, Allocator, CentralLink, CentralQueues, Scheduler, VirtualAllocation,
};
use crate::units::{BufferPart, Bytes, Rate};
use serde::Deserialize;

/// `fabric.central_link`.
#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawCentralLink {
    /// The one with the parity of the out-port.
    ByOutput,
    /// The one with the parity of the in-port.
    ByInput,
    /// Drawn for each packet.
    Random,
}

with_common_keys! {
    of_kind HierarchicalKeys, RawHierarchical {
        /// Rate of every link, one flit per tick; crossbars follow it, latencies do not.
        ///
        /// A tick is `flit` / `link_rate`: 640 ps, or any fraction that is at least 1 ps (`"56Gb/s"` gives 8000/7 ps).
        #[schemars(extend("x-defaults" = {"opa-gen1": "12.5GB/s", "opa-400": "50GB/s"}))]
        link_rate: Rate,
        /// A buffer picks a packet that its target can take; or `"blind"`: the next packet, as published.
        ///
        /// The [model](../model/fabric.md#6-allocation) defines both.
        #[schemars(extend("x-defaults" = {"opa-gen1": "informed"}))]
        virtual_allocation: VirtualAllocation,
        /// `"pipelined"` allocates in every tick; or in `"rounds"`; or `"serial"`
        /// ([model](../model/fabric.md#6-allocation)).
        ///
        /// `"pipelined"`: an allocation overlaps the transfer before it. `"rounds"`: only in ticks divisible by
        /// `allocation_latency`; a buffer picks the next packet (`"blind"`) and keeps that choice until it is granted,
        /// the reading of OpaSim and Hiperion whose results are nearest to theirs. `"serial"`: a buffer is allocated
        /// again when its packet has left it.
        #[schemars(extend("x-defaults" = {"opa-gen1": "pipelined"}))]
        allocator: AllocationRule,
        /// Iterations of a round, 1 to 64; with 1 a torus can deadlock.
        ///
        /// After the first iteration, buffers without a grant choose among the packets whose targets are still free.
        /// With 1 the VLs of a buffer wait for each other, which can deadlock on a torus. OpaSim announces an iterative
        /// allocator.
        #[schemars(extend("x-defaults" = {"opa-gen1": 1}))]
        allocator_iterations: u32,
        /// Flits per tick through the MPort crossbar.
        #[schemars(extend("x-defaults" = {"opa-gen1": 3}))]
        mport_speedup: u32,
        /// Flits per tick through the central crossbar.
        #[schemars(extend("x-defaults" = {"opa-gen1": 4}))]
        central_speedup: u32,
        /// Each of the two central buffers per MPort; larger where exclusive quotas need it.
        ///
        /// The default grows, if neither this nor `central_exclusive` is given, on switches with many neighbours.
        #[schemars(extend("x-defaults" = {"opa-gen1": "64KiB", "opasim": "2KiB"}))]
        central_buffer: Bytes,
        /// Space reserved for each VL in NIC and port buffers.
        ///
        /// `packets` here are packets of the largest MTU. OpaSim's EXCLUSIVE_VC_CREDITS is 16, which for each of 8 VLs
        /// does not fit into its 64.
        #[schemars(extend("x-default" = "`\"4 packets\"`, or 1 where 4 do not fit; `opasim` `\"4 credits\"`"))]
        exclusive: BufferPart,
        /// Largest space of a VL there.
        ///
        /// OpaSim's MAX_VC_CREDITS (48).
        #[schemars(extend("x-defaults" = {"opa-gen1": "3/4", "opasim": "48 credits"}))]
        max: BufferPart,
        /// Space reserved for each queue of a central buffer.
        ///
        /// `packets` here are the largest packets on the queue's VL.
        #[schemars(extend("x-defaults" = {"opa-gen1": "1 packets"}))]
        central_exclusive: BufferPart,
        /// Largest space of such a queue.
        #[schemars(extend("x-default" = "as `max`"))]
        central_max: BufferPart,
        /// Queues of a central buffer: per VL and neighbour; or `"per-vl"`, which may deadlock a torus.
        ///
        /// The local NICs are one neighbour.
        #[schemars(extend("x-defaults" = {"opa-gen1": "per-neighbour"}))]
        central_queues: CentralQueues,
        /// Central buffer for another MPort, by the parity of the out-port; or `"by-input"`, `"random"`.
        ///
        /// An MPort has two. `"by-input"`: the parity of the in-port decides. `"random"`: drawn for each packet from
        /// the random streams of `seed`; packets of a flow can then overtake each other.
        #[schemars(extend("x-defaults" = {"opa-gen1": "by-output"}))]
        central_link: RawCentralLink,
    }
}

impl RawHierarchical {
    /// Whether the file sets the rate of links.
    pub(crate) fn sets_rate(&self) -> bool {
        self.link_rate.is_some()
    }

    /// Overrides the parameters by the keys that are given. `seed`: of the experiment.
    pub(crate) fn resolve(&self, p: &mut HierarchicalParameters, seed: u64) {
        replace(&mut p.link_rate, self.link_rate.map(|rate| rate.0));
        let Allocator { rule, iterations } = &mut p.allocator;
        replace(rule, self.allocator);
        replace(iterations, self.allocator_iterations);
        if p.allocator.is_in_rounds() {
            p.virtual_allocation = VirtualAllocation::Blind;
        }
        replace(&mut p.virtual_allocation, self.virtual_allocation);
        replace(&mut p.mport_speedup, self.mport_speedup);
        replace(&mut p.central_speedup, self.central_speedup);
        replace(&mut p.central_buffer, self.central_buffer.map(|b| b.0));
        // A size or a quota in the file is a decision.
        p.central_buffer_grows = self.central_buffer.is_none() && self.central_exclusive.is_none();
        replace(&mut p.exclusive, self.exclusive.map(|space| [space; 2]));
        replace(&mut p.max, self.max);
        replace(&mut p.central_exclusive, self.central_exclusive);
        p.central_max = self.central_max.or(p.central_max);
        replace(&mut p.central_queues, self.central_queues);
        let link = self.central_link.map(|link| match link {
            RawCentralLink::ByOutput => CentralLink::ByOutput,
            RawCentralLink::ByInput => CentralLink::ByInput,
            RawCentralLink::Random => CentralLink::Random { seed },
        });
        replace(&mut p.central_link, link);
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
            return refused(
                "qos.scheduler",
                "\"ib-vlarb\" belongs to the \"voq\" kind of switch (fabric.kind); the \
                 \"hierarchical\" one takes rr, rr-vl, sbt or dtable",
            );
        }
        RawScheduler::RrVl => Scheduler::RrVl,
        RawScheduler::Rr => round_robin(by.levels().len()),
        RawScheduler::Sbt => sbt(by.levels())?,
        RawScheduler::DTable => {
            let built = table.insert(dtable(by)?);
            let entries = built.entries.clone();
            Scheduler::DTable { entries }
        }
    };
    Ok(table)
}
