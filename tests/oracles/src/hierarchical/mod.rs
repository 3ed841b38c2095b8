//! The oracle of `docs/model/fabric.md`, with congestion control as in `docs/model/infiniband.md` §12.

mod allocation;
mod blocked;
mod buffer;
mod control;
mod counts;
mod fabric;
mod link;
mod marking;
mod nic;
mod packet;
mod scheduler;
mod sender;
mod switch;

pub use blocked::{Blocked, Queue};
pub use counts::{LevelCounts, LinkCounts, quantile};
pub use switch::Place;

// The parts of reports that both oracles share.
pub use crate::wiring::End;
pub use crate::{CctiChange, CongestionCounts, FlowKey, FlowSample, RunEnd, Sample};

use crate::turns::Turns;
use crate::wiring::{Wiring, longest_flights};
use fabric::Fabric;
use flitwise_fabric::spec::hierarchical::VirtualAllocation;
use flitwise_fabric::spec::{FabricSpec, Hierarchical, Switch, Tick};
use flitwise_fabric::workload::{PacketReport, Workload};

/// The switches of a specification.
fn switch_of(spec: &FabricSpec) -> &Hierarchical {
    match &spec.switch {
        Switch::Hierarchical(switch) => switch,
        Switch::Voq(_) => panic!("not hierarchical switches"),
    }
}

/// The header of a packet left a NIC or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    /// When.
    pub tick: Tick,
    /// The end of the link from which it left.
    pub from: End,
    /// Source and destination of the packet.
    pub pair: (u32, u32),
    /// Token of the message of a data packet; none of a congestion notification packet.
    pub token: Option<u64>,
    /// Its position in the message.
    pub index: u32,
    /// Service level.
    pub sl: u8,
    /// VL on the link.
    pub vl: usize,
    /// It is marked.
    pub fecn: bool,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct OracleRun {
    /// Why it ended.
    pub end: RunEnd,
    /// Last tick simulated. A stall is noticed some time after it happened.
    pub end_tick: Tick,
    /// Packets delivered, in the order of delivery.
    pub reports: Vec<PacketReport>,
    /// Headers leaving on links, in order.
    pub sent: Vec<SentPacket>,
    /// Messages created.
    pub messages: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Data packets that links of NICs started.
    pub packets_injected: u64,
    /// Their flits.
    pub flits_injected: u64,
    /// Flits of the data packets delivered.
    pub flits_delivered: u64,
    /// Flits that crossed links between switches.
    pub flit_hops: u64,
    /// Flits that crossed links of NICs.
    pub host_flit_hops: u64,
    /// Counters of every connected direction of a link.
    pub links: Vec<LinkCounts>,
    /// The counts of the turns of switches.
    pub turns: Turns,
    /// Counters of each SL.
    pub levels: Vec<LevelCounts>,
    /// Heads in switches that have no quota in their next buffer when the run ends.
    pub blocked: Vec<Blocked>,
    /// Counters of congestion control.
    pub congestion: CongestionCounts,
    /// Every change of an index into the congestion control table, in order.
    pub ccti: Vec<CctiChange>,
    /// Time series, if an interval was given.
    pub samples: Vec<Sample>,
}

impl OracleRun {
    /// Whether messages are left and nothing moves any more.
    #[must_use]
    pub fn stalled(&self) -> bool {
        self.end == RunEnd::Stalled
    }
}

/// Ticks within which a source has picked each of its queues once, wanted or not.
fn turn_of_picks(spec: &FabricSpec, wiring: &Wiring) -> Tick {
    match switch_of(spec).virtual_allocation {
        VirtualAllocation::Informed => 0,
        VirtualAllocation::Blind => u64::from(spec.qos.vls) * (wiring.radix() as u64 + 1),
    }
}

/// Whatever is going to happen without the workload, and without an injection delay,
/// happens within the longest chain of latencies.
fn patience(spec: &FabricSpec, wiring: &Wiring) -> Tick {
    let stages = &switch_of(spec).timing.stages;
    longest_flights(spec)
        + stages.input_store
        + stages.routing
        + stages.allocation
        + stages.crossbar
        + stages.output_store
        + 10
        + turn_of_picks(spec, wiring)
        // The next round.
        + stages.allocation
}

/// Runs `workload` on the fabric of `spec` for at most `max_ticks` ticks.
///
/// The run ends at the end of the first tick in which the workload is
/// finished, or has nothing more to send and everything is delivered.
pub fn run(spec: &FabricSpec, workload: &mut dyn Workload, max_ticks: Tick) -> OracleRun {
    run_sampled(spec, workload, max_ticks, None)
}

/// The same, with a sample every `interval` ticks.
pub fn run_sampled(
    spec: &FabricSpec,
    workload: &mut dyn Workload,
    max_ticks: Tick,
    interval: Option<Tick>,
) -> OracleRun {
    let wiring = Wiring::new(&spec.topology);
    crate::run::run(Fabric::new(spec, &wiring), workload, max_ticks, interval)
}
