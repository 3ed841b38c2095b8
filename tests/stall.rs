//! Deadlocks are found, named and survived: a run never hangs.

mod common;

use common::script::jam;
use common::specs;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::{Scheduler, Tick};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::{Message, Workload};

#[test]
fn a_jammed_ring_is_reported_as_a_cycle() {
    let spec = specs::jamming_ring();
    let mut engine = Engine::new(&spec).unwrap();
    let RunEnd::Deadlock(stall) = engine.run(&mut jam()) else {
        panic!("the ring has no datelines and must jam");
    };
    assert!(
        stall.cycle.len() > 1 && stall.cycle.len() <= stall.blocked,
        "{stall:?}"
    );
    let text = stall.to_string();
    assert!(text.starts_with("deadlock: "), "{text}");
    assert_eq!(text.lines().count(), 1 + stall.cycle.len(), "{text}");
    let stats = engine.stats();
    assert_eq!(
        stats.flits_injected,
        stats.flits_delivered + stats.flits_in_flight
    );
    assert!(stats.flits_in_flight > 0);
}

/// Jams a ring and keeps other traffic going for ever.
struct JamBesideTraffic {
    jam: Vec<Message>,
    next: Tick,
}

impl Workload for JamBesideTraffic {
    fn next_tick(&mut self) -> Option<Tick> {
        Some(self.next)
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        out.append(&mut self.jam);
        let token = 1000 + now;
        out.push(Message {
            src: 0,
            dst: 1,
            sl: 2,
            bytes: 64,
            token,
            report_injection: false,
        });
        self.next = now + 1000;
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        false
    }
}

#[test]
fn a_deadlock_among_some_of_the_packets_ends_the_run_too() {
    let mut spec = specs::jamming_ring();
    spec.qos.vls = 4;
    spec.qos.sc2vl = specs::sc2vl(&[0, 1, 1, 0, 2, 3]);
    spec.qos
        .service_levels
        .push(specs::service_level("other", [4, 5], 128));
    let buffers = &mut spec.buffers;
    for pool in [
        &mut buffers.nic_queue,
        &mut buffers.nic_sink,
        &mut buffers.input,
        &mut buffers.output,
    ] {
        *pool = specs::even_pool(4, 8, 2, 2);
    }
    buffers.central = specs::even_pool(4, 32, 2, 2);
    let mut jam = jam();
    let mut messages = Vec::new();
    jam.act(0, &mut messages);
    let mut engine = Engine::new(&spec).unwrap();
    let end = engine.run(&mut JamBesideTraffic {
        jam: messages,
        next: 0,
    });
    assert!(matches!(end, RunEnd::Deadlock(_)), "{end:?}");
    // The other traffic was delivered meanwhile.
    assert!(engine.stats().messages_delivered > 1000);
}

/// Every NIC sends to the farthest corner as fast as it can.
struct Overload {
    nics: u32,
    left: u32,
    state: u64,
}

impl Workload for Overload {
    fn next_tick(&mut self) -> Option<Tick> {
        (self.left > 0).then_some(0)
    }

    fn act(&mut self, _: Tick, out: &mut Vec<Message>) {
        while self.left > 0 {
            self.left -= 1;
            for src in 0..self.nics {
                // Nearly half-way round both dimensions, in all four directions.
                self.state = self
                    .state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let shift = |bit: u32| if self.state >> bit & 1 == 0 { 7 } else { 9 };
                let (x, y) = ((src % 16 + shift(40)) % 16, (src / 16 + shift(41)) % 16);
                let dst = y * 16 + x;
                out.push(Message {
                    src,
                    dst,
                    sl: 0,
                    bytes: 128,
                    token: 0,
                    report_injection: false,
                });
            }
        }
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        false
    }
}

/// Hardly more than one packet fits anywhere, and all four directions of all rings
/// are overloaded: datelines and queues per neighbour must still empty the torus.
#[test]
fn an_overloaded_torus_with_the_smallest_buffers_keeps_moving() {
    let torus = Topology::cube(&[16, 16], true, 1, 1, None).unwrap();
    let mut spec = specs::opa_gen1(torus, Scheduler::RrVl);
    spec.qos.vls = 2;
    spec.qos.sc2vl = specs::sc2vl(&[0, 1]);
    spec.qos.service_levels = vec![specs::service_level("D", [0, 1], 128)];
    let pool = specs::even_pool(2, 4, 2, 2);
    let buffers = &mut spec.buffers;
    for own in [
        &mut buffers.nic_queue,
        &mut buffers.nic_sink,
        &mut buffers.input,
        &mut buffers.output,
    ] {
        *own = pool.clone();
    }
    buffers.central = specs::even_pool(2, 24, 2, 2);
    let mut engine = Engine::new(&spec).unwrap();
    let end = engine.run(&mut Overload {
        nics: 256,
        left: 300,
        state: 1,
    });
    assert_eq!(end, RunEnd::Drained);
    assert_eq!(engine.stats().messages_delivered, 256 * 300);
}
