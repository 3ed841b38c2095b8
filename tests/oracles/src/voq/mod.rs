//! The oracle of `docs/model/infiniband.md`, whose sections the modules name. Where the page gives a
//! closed form for a flit, the flit moves by its own rules and the form is asserted.

mod arrival;
mod crossing;
mod degraded;
mod fabric;
mod fifos;
mod hca;
mod input;
mod link;
mod packet;
mod port_vls;
mod rates;
mod requests;
mod server;
mod switch;
mod vlarb;

pub use link::LinkCounts;
pub use packet::PacketKind;
pub use server::{Server, Service};
pub use vlarb::{Arbiter, Pick, Table};

// The parts of reports that both oracles share.
pub use crate::wiring::End;
pub use crate::{CctiChange, CongestionCounts, FlowKey, FlowSample, RunEnd, Sample};

use crate::turns::Turns;
use crate::wiring::{Wiring, longest_flights};
use fabric::Fabric;
use flitwise_fabric::spec::{FabricSpec, Switch, Tick, Voq};
use flitwise_fabric::workload::{PacketReport, Workload};

/// The header of a packet left a NIC or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    /// When.
    pub tick: Tick,
    /// The end of the link from which it left.
    pub from: End,
    /// The kind of the packet.
    pub kind: PacketKind,
    /// Source and destination of the packet.
    pub pair: (u32, u32),
    /// Token of the message of a data packet.
    pub token: Option<u64>,
    /// Its position in the message.
    pub index: u32,
    /// VL on the link.
    pub vl: usize,
    /// It met congestion.
    pub fecn: bool,
    /// It notifies a source.
    pub becn: bool,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct IbRun {
    /// Why it ended.
    pub end: RunEnd,
    /// Last tick simulated. A stall is noticed some time after it happened.
    pub end_tick: Tick,
    /// Packets delivered, in the order of delivery.
    pub reports: Vec<PacketReport>,
    /// Headers leaving on links, in order.
    pub sent: Vec<SentPacket>,
    /// Every change of an index, in order.
    pub ccti: Vec<CctiChange>,
    /// Messages created.
    pub messages: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Counters of every connected direction of a link.
    pub links: Vec<LinkCounts>,
    /// Stops sent over all links.
    pub stops: u64,
    /// The counts of the turns of switches.
    pub turns: Turns,
    /// Time series, if an interval was given.
    pub samples: Vec<Sample>,
    /// Zero without congestion control, except the packets sent.
    pub congestion: CongestionCounts,
}

impl IbRun {
    /// Packets marked at the output `port` of `switch`, counted where they leave it.
    pub fn marked(&self, from: End) -> impl Iterator<Item = &SentPacket> {
        let here = move |d: &&SentPacket| d.from == from && d.fecn;
        self.sent.iter().filter(here)
    }
}

/// Whatever is going to happen without the workload, and without an injection
/// delay, happens within the longest chain of latencies; flits come on top.
fn patience(spec: &FabricSpec, voq: &Voq) -> Tick {
    let stages = &voq.stages;
    longest_flights(spec)
        + stages.input_store
        + stages.routing
        + stages.allocation
        + stages.crossbar
        + stages.output_store
        + 10
}

/// Runs `workload` on the `voq` fabric of `spec` for at most `max_ticks` ticks, with a
/// sample every `interval` ticks.
///
/// # Panics
/// If the fabric is no sound `voq` fabric.
pub fn run_sampled(
    spec: &FabricSpec,
    workload: &mut dyn Workload,
    max_ticks: Tick,
    interval: Option<Tick>,
) -> IbRun {
    spec.validate().expect("a sound fabric");
    let Switch::Voq(voq) = &spec.switch else {
        panic!("not voq switches");
    };
    let wiring = Wiring::new(&spec.topology);
    let fabric = Fabric::new(spec, voq, &wiring);
    crate::run::run(fabric, workload, max_ticks, interval)
}

/// Runs without samples.
///
/// # Panics
/// If the fabric is no sound `voq` fabric.
pub fn run(spec: &FabricSpec, workload: &mut dyn Workload, max_ticks: Tick) -> IbRun {
    run_sampled(spec, workload, max_ticks, None)
}
