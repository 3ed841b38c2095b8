//! Tests that a run ends when it has more messages or packets than the engine can number.

use super::pool::MOST_ENTRIES;
use super::{Engine, RunEnd};
use crate::ids::NicId;
use crate::spec::hierarchical::{
    Allocator, Buffers, CentralLink, CentralQueues, Pool, Quota, Scheduler, Timing,
    VirtualAllocation,
};
use crate::spec::{
    FabricSpec, Hierarchical, LinkLatency, Qos, Routing, Stages, Switch, Tick, Units,
};
use crate::topology::Topology;
use crate::workload::{Message, Workload};
use flitwise_base::units::TickLength;

/// `count` messages of `bytes` bytes, all in tick 0.
struct Burst {
    count: usize,
    bytes: u64,
}

impl Workload for Burst {
    fn next_tick(&mut self) -> Option<Tick> {
        (self.count > 0).then_some(0)
    }

    fn act(&mut self, _: Tick, out: &mut Vec<Message>) {
        out.extend((0..std::mem::take(&mut self.count)).map(|token| Message {
            src: NicId::new(0),
            dst: NicId::new(1),
            sl: 0,
            bytes: self.bytes,
            created: 0,
            token: token as u64,
            report_injection: false,
        }));
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        false
    }
}

/// Two NICs, packets of one flit and one credit, and `send_queue` credits in a NIC.
fn run(send_queue: u32, count: usize, bytes: u64) -> RunEnd {
    let pool = |total| Pool {
        total,
        per_vl: vec![Quota {
            exclusive: 0,
            max: total,
        }],
    };
    let spec = FabricSpec {
        topology: Topology::single(2).unwrap(),
        routing: Routing::default(),
        units: Units {
            tick: TickLength::whole(640),
            flit_bytes: 8,
            flits_per_credit: 1,
            header_bytes: 0,
        },
        link_latency: LinkLatency::usual(1, 1),
        qos: Qos::one_level(1, 8),
        switch: Switch::Hierarchical(Box::new(Hierarchical {
            timing: Timing {
                stages: Stages {
                    input_store: 0,
                    routing: 0,
                    allocation: 1,
                    crossbar: 1,
                    output_store: 0,
                },
                mport_speedup: 1,
                central_speedup: 1,
            },
            virtual_allocation: VirtualAllocation::Informed,
            allocator: Allocator::default(),
            buffers: Buffers {
                nic_queue: pool(send_queue),
                nic_sink: pool(64),
                input: pool(64),
                output: pool(64),
                central: pool(64),
                central_queues: CentralQueues::PerVl,
                central_link: CentralLink::ByOutput,
            },
            scheduler: Scheduler::RrVl,
        })),
        congestion_control: None,
        link_power: None,
        outages: Vec::new(),
        degraded: Vec::new(),
        bit_errors: None,
    };
    Engine::new(&spec).unwrap().run(&mut Burst { count, bytes })
}

#[test]
fn as_many_messages_as_can_be_numbered_are_delivered() {
    assert_eq!(run(64, MOST_ENTRIES - 1, 8), RunEnd::Drained);
}

#[test]
fn more_messages_in_one_tick_end_the_run() {
    assert_eq!(run(64, MOST_ENTRIES, 8), RunEnd::Exhausted);
    assert_eq!(run(64, 2 * MOST_ENTRIES, 8), RunEnd::Exhausted);
}

#[test]
fn more_packets_in_one_tick_end_the_run() {
    let (most, bytes) = (MOST_ENTRIES as u32, 8 * MOST_ENTRIES as u64);
    assert_eq!(run(most, 1, bytes - 8), RunEnd::Drained);
    assert_eq!(run(2 * most, 1, bytes), RunEnd::Exhausted);
    assert_eq!(run(2 * most, 1, 2 * bytes), RunEnd::Exhausted);
}
