//! The oracle of the InfiniBand fabric: `docs/model-infiniband.md` in its most obvious
//! form, tick by tick and flit by flit.
//!
//! Every flit is an entry in the queue of the buffer, link or crossbar that it is in; a
//! tick is eight functions called in order (`Fabric::tick` in `fabric.rs`). Where the
//! page gives a closed form for a flit, the flit moves by its own rules and the form is
//! asserted. Routing and delay lines are those of the oracle of `docs/model.md`.

// Every test program compiles its own copy and uses its own part of it.
#![allow(dead_code, unused_imports)]

mod arrival;
mod congestion;
#[path = "../oracle/delay_line.rs"]
mod delay_line;
mod fabric;
mod hca;
mod input;
mod link;
mod packet;
#[path = "../oracle/routing.rs"]
mod routing;
mod sample;
mod server;
mod switch;
mod vlarb;
mod wiring;

pub use congestion::FlowKey;
pub use link::{End, LinkCounts};
pub use packet::PacketKind;
pub use sample::{FlowSample, Sample};
pub use server::Server;
pub use vlarb::Arbiter;

use fabric::Fabric;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::CongestionStats;
use flitwise::fabric::workload::{PacketReport, Workload};

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

/// The header of a packet left an adapter or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    pub tick: Tick,
    pub from: End,
    pub kind: PacketKind,
    /// Source and destination of the packet.
    pub pair: (u32, u32),
    /// Token of the message (of data), index of the packet in it.
    pub token: Option<u64>,
    pub index: u32,
    pub vl: usize,
    pub fecn: bool,
    pub becn: bool,
}

/// An index into the congestion control table changed, or its timer was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CctiChange {
    pub tick: Tick,
    pub hca: u32,
    pub flow: FlowKey,
    pub ccti: u16,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct IbRun {
    pub end: RunEnd,
    /// Last tick simulated. A stall is noticed some time after it happened.
    pub end_tick: Tick,
    /// Packets delivered, in the order of delivery.
    pub reports: Vec<PacketReport>,
    /// Headers leaving on links, in order.
    pub departures: Vec<Departure>,
    /// Every change of an index, in order.
    pub ccti: Vec<CctiChange>,
    pub messages: u64,
    pub messages_delivered: u64,
    pub links: Vec<LinkCounts>,
    /// Time series, if an interval was given.
    pub samples: Vec<Sample>,
    /// Zero without congestion control, but for the packets sent.
    pub congestion: CongestionStats,
}

impl IbRun {
    /// Packets marked at the output `port` of `switch`, counted where they leave it.
    pub fn marked(&self, from: End) -> impl Iterator<Item = &Departure> {
        let here = move |d: &&Departure| d.from == from && d.fecn;
        self.departures.iter().filter(here)
    }
}

/// Runs `workload` on the `voq` fabric of `spec` for at most `max_ticks` ticks, with a
/// sample every `interval` ticks.
pub fn run_sampled(
    spec: &FabricSpec,
    workload: &mut impl Workload,
    max_ticks: u64,
    interval: Option<Tick>,
) -> IbRun {
    spec.validate().expect("a sound fabric");
    let voq = spec.voq().expect("voq switches");
    let mut fabric = Fabric::new(spec, voq);
    let t = &voq.stages;
    // Whatever is going to happen without the workload, and without an injection
    // delay, happens within the longest chain of latencies and flits.
    let patience = spec.link_latency.switch
        + spec.link_latency.host
        + t.input_store
        + t.routing
        + t.allocation
        + t.crossbar
        + t.output_store
        + fabric.slowest_flit()
        + 10;
    let mut quiet = 0;
    for now in 0..max_ticks {
        fabric.moved = 0;
        fabric.tick(now, workload);
        if now % 64 == 0 {
            fabric.check_conservation();
        }
        if interval.is_some_and(|interval| (now + 1) % interval == 0) {
            fabric.sample(now);
        }
        let more_to_come = workload.next_tick().is_some();
        let waiting = fabric.holds_something() || fabric.has_credits_under_way();
        quiet = if fabric.moved > 0 || more_to_come || waiting {
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

/// Runs without samples.
pub fn run(spec: &FabricSpec, workload: &mut impl Workload, max_ticks: u64) -> IbRun {
    run_sampled(spec, workload, max_ticks, None)
}
