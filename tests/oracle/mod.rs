//! The oracle: the fabric of `docs/model.md` in its most obvious form, with congestion
//! control as in `docs/model-infiniband.md` §12.
//!
//! It goes tick by tick and flit by flit. Every flit is an entry in the queue
//! of the buffer, link or crossbar that it is in; a tick is eight functions
//! called in order (`Fabric::tick` in `fabric.rs`). It shares nothing with the engine but
//! the specification, the topology and the workload trait, so that the two can
//! be held against each other, and it is the place to look when the page leaves
//! a doubt. It is slow, and does not mind.

// Every test program compiles its own copy and uses its own part of it.
#![allow(dead_code, unused_imports)]

mod allocation;
mod blocked;
mod buffer;
#[path = "../oracle_ib/congestion.rs"]
mod congestion;
mod control;
mod counts;
mod delay_line;
mod fabric;
mod link;
mod marking;
mod nic;
mod packet;
mod routing;
#[path = "../oracle_ib/sample.rs"]
mod sample;
mod scheduler;
mod sender;
mod switch;

pub use blocked::Blocked;
pub use congestion::FlowKey;
pub use control::CctiChange;
pub use counts::{LevelCounts, LinkCounts, quantile};
pub use link::End;
pub use sample::{FlowSample, Sample};
pub use switch::Place;

use fabric::Fabric;
use flitwise::fabric::spec::hierarchical::VirtualAllocation;
use flitwise::fabric::spec::{FabricSpec, Hierarchical, Tick};
use flitwise::fabric::stats::CongestionStats;
use flitwise::fabric::workload::{PacketReport, Workload};

/// The switches of a specification.
fn switch_of(spec: &FabricSpec) -> &Hierarchical {
    spec.hierarchical().expect("hierarchical switches")
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The workload said so.
    Finished,
    /// Everything was delivered and the workload has nothing more to send.
    Drained,
    /// Messages are left, and nothing moves any more.
    Stalled,
    /// The ticks given were not enough.
    OutOfTicks,
}

/// The header of a packet left a NIC or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    pub tick: Tick,
    pub from: End,
    /// Source and destination of the packet.
    pub pair: (u32, u32),
    /// Token of the message of a data packet; none of a congestion notification packet.
    pub token: Option<u64>,
    pub index: u32,
    pub sl: u8,
    pub vl: usize,
    pub fecn: bool,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct OracleRun {
    pub end: RunEnd,
    /// Last tick simulated. A stall is noticed some time after it happened.
    pub end_tick: Tick,
    /// Packets delivered, in the order of delivery.
    pub reports: Vec<PacketReport>,
    /// Headers leaving on links, in order.
    pub departures: Vec<Departure>,
    pub messages: u64,
    pub messages_delivered: u64,
    pub packets_injected: u64,
    pub flits_injected: u64,
    pub flits_delivered: u64,
    /// Flits that crossed links between switches.
    pub flit_hops: u64,
    /// Flits that crossed links of NICs.
    pub host_flit_hops: u64,
    /// Counters of every connected direction of a link.
    pub links: Vec<LinkCounts>,
    /// Counters of each SL.
    pub levels: Vec<LevelCounts>,
    /// Heads in switches that have no quota in their next buffer when the run ends.
    pub blocked: Vec<Blocked>,
    /// Counters of congestion control.
    pub congestion: CongestionStats,
    /// Every change of an index into the congestion control table, in order.
    pub ccti: Vec<CctiChange>,
    /// Time series, if an interval was given.
    pub samples: Vec<Sample>,
}

impl OracleRun {
    /// True if messages are left and nothing moves any more.
    pub fn stalled(&self) -> bool {
        self.end == RunEnd::Stalled
    }
}

/// Ticks within which a source has picked each of its queues once, wanted or not.
fn turn_of_picks(spec: &FabricSpec) -> Tick {
    match switch_of(spec).virtual_allocation {
        VirtualAllocation::Informed => 0,
        VirtualAllocation::Blind => {
            u64::from(spec.qos.vls) * (u64::from(spec.topology.radix()) + 1)
        }
    }
}

/// Runs `workload` on the fabric of `spec` for at most `max_ticks` ticks.
///
/// The run ends at the end of the first tick in which the workload is
/// finished, or has nothing more to send and everything is delivered.
pub fn run(spec: &FabricSpec, workload: &mut impl Workload, max_ticks: u64) -> OracleRun {
    run_sampled(spec, workload, max_ticks, None)
}

/// The same, with a sample every `interval` ticks.
pub fn run_sampled(
    spec: &FabricSpec,
    workload: &mut impl Workload,
    max_ticks: u64,
    interval: Option<Tick>,
) -> OracleRun {
    let mut fabric = Fabric::new(spec);
    // Whatever is going to happen without the workload, and without an injection delay,
    // happens within the longest chain of latencies.
    let timing = &switch_of(spec).timing;
    let patience = spec.link_latency.switch
        + spec.link_latency.host
        + timing.stages.input_store
        + timing.stages.routing
        + timing.stages.allocation
        + timing.stages.crossbar
        + timing.stages.output_store
        + 10
        + turn_of_picks(spec);
    let mut quiet = 0;
    for now in 0..max_ticks {
        fabric.moved = 0;
        fabric.tick(now, workload);
        fabric.check_conservation();
        if interval.is_some_and(|interval| (now + 1) % interval == 0) {
            fabric.sample(now);
        }
        let more_to_come = workload.next_tick().is_some();
        let waits = more_to_come || fabric.holds_for_now(now);
        quiet = if fabric.moved > 0 || waits {
            0
        } else {
            quiet + 1
        };
        if workload.finished() {
            return fabric.report(RunEnd::Finished, now);
        } else if fabric.all_delivered() && !more_to_come {
            return fabric.report(RunEnd::Drained, now);
        } else if quiet > patience {
            return fabric.report(RunEnd::Stalled, now);
        }
    }
    fabric.report(RunEnd::OutOfTicks, max_ticks)
}
