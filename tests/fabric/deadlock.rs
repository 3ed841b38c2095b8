//! Deadlocks are found, named and survived: a run never hangs.

use crate::common::script::{Cue, Script, jam, message};
use crate::common::specs;
use crate::compare;
use flitwise::fabric::engine::{Deadlock, Engine, Place, RunEnd, Waiting};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::hierarchical::{CentralQueues, Scheduler};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::topology::{Names, NicName, Peer, SwitchName, Topology};
use flitwise::fabric::workload::{Message, Workload};
use flitwise_oracles::hierarchical as oracle;

/// True if a packet that waits like `a` wants to enter the buffer that `b` is in.
fn leads_to(spec: &FabricSpec, a: &Waiting, b: &Waiting) -> bool {
    let (topology, tie) = (&spec.topology, spec.routing.ring_tie);
    if a.place == Place::Output {
        let Peer::Switch { switch, port } = topology.peer(a.switch, a.port) else {
            return false;
        };
        // The VL of an output holds in the next input.
        return (b.place, b.switch, b.port, b.vl) == (Place::Input, switch, port, a.vl);
    }
    let outputs = topology.candidates(tie, a.switch, a.dst);
    let (from, to) = (a.port.get(), b.port.get());
    let mport = from / 4;
    let mut outputs = outputs.iter().map(PortId::get);
    a.switch == b.switch
        && outputs.any(|output| match b.place {
            Place::Input => false,
            Place::Central => {
                a.place == Place::Input && mport != output / 4 && to == 4 * mport + output % 2
            }
            // Central buffer 4m + j feeds outputs of parity j in other MPorts.
            Place::Output if a.place == Place::Central => {
                to == output && mport != output / 4 && from % 2 == output % 2
            }
            Place::Output => to == output && mport == output / 4,
        })
}

/// Where every VL only has space of its own, a packet waits for one in its next
/// buffer: each of the cycle for the one after it.
fn assert_closed(spec: &FabricSpec, deadlock: &Deadlock) {
    for (i, waiting) in deadlock.cycle.iter().enumerate() {
        let next = &deadlock.cycle[(i + 1) % deadlock.cycle.len()];
        assert!(
            leads_to(spec, waiting, next),
            "{waiting:?} does not wait for {next:?}\n{deadlock:?}"
        );
    }
}

#[test]
fn a_jammed_ring_is_reported_as_a_cycle() {
    let spec = specs::jamming_ring();
    let mut engine = Engine::new(&spec).unwrap();
    let RunEnd::Deadlock(deadlock) = engine.run(&mut jam()) else {
        panic!("the ring has no datelines and must jam");
    };
    assert!(
        deadlock.cycle.len() > 1 && deadlock.cycle.len() <= deadlock.blocked,
        "{deadlock:?}"
    );
    assert_closed(&spec, &deadlock);
    let run = oracle::run(&spec, &mut jam(), 100_000);
    compare::check_deadlock(&deadlock, &run.blocked).unwrap();
    let text = deadlock.text(&spec.topology);
    assert!(text.starts_with("deadlock: "), "{text}");
    assert_eq!(text.lines().count(), 1 + deadlock.cycle.len(), "{text}");
    let text = deadlock.text(&named(&spec.topology));
    let first = deadlock.cycle[0];
    let (switch, port) = (first.switch, first.port.get() + 1);
    assert!(
        text.contains(&format!("(S{switch} port {port}) VL ")),
        "{text}"
    );
    assert!(
        text.contains(&format!("flits for NIC {0} (n{0})\n", first.dst)),
        "{text}"
    );
    let stats = engine.stats();
    assert_eq!(
        stats.flits_injected,
        stats.flits_delivered + stats.flits_in_flight
    );
    assert!(stats.flits_in_flight > 0);
}

/// The topology with a name for each switch and NIC.
fn named(topology: &Topology) -> Topology {
    let switch = |id: SwitchId| SwitchName {
        name: format!("S{id}"),
        guid: u64::from(id.get()),
        lid: None,
    };
    let nic = |id: NicId| NicName {
        name: format!("n{id}"),
        guid: u64::from(id.get()),
        port: 1,
        lid: 0,
    };
    let names = Names::new(
        topology.switch_ids().map(switch).collect(),
        topology.nic_ids().map(nic).collect(),
    );
    topology.clone().named(names)
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
        out.push(Message::new(NicId::new(0), NicId::new(1), 2, 64, now).with_token(token));
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
    let buffers = &mut specs::hierarchical_of(&mut spec).buffers;
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
    while jam.messages_left() > 0 {
        jam.act(0, &mut messages);
    }
    let mut engine = Engine::new(&spec).unwrap();
    let end = engine.run(&mut JamBesideTraffic {
        jam: messages,
        next: 0,
    });
    let RunEnd::Deadlock(deadlock) = end else {
        panic!("{end:?}");
    };
    assert_closed(&spec, &deadlock);
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

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
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
                let (src, dst) = (NicId::new(src), NicId::new(dst));
                out.push(Message::new(src, dst, 0, 128, now));
            }
        }
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        false
    }
}

/// One SL on the two dateline VLs, and hardly more than one packet fits anywhere.
fn tightest(torus: Topology) -> FabricSpec {
    let mut spec = specs::opa_gen1(torus, Scheduler::RrVl);
    spec.qos.vls = 2;
    spec.qos.sc2vl = specs::sc2vl(&[0, 1]);
    spec.qos.service_levels = vec![specs::service_level("D", [0, 1], 128)];
    let pool = specs::even_pool(2, 4, 2, 2);
    let buffers = &mut specs::hierarchical_of(&mut spec).buffers;
    for own in [
        &mut buffers.nic_queue,
        &mut buffers.nic_sink,
        &mut buffers.input,
        &mut buffers.output,
    ] {
        *own = pool.clone();
    }
    buffers.central = specs::even_pool(2, 24, 2, 2);
    spec
}

/// Hardly more than one packet fits anywhere, and all four directions of all rings
/// are overloaded: datelines and queues per neighbour must still empty the torus.
#[test]
fn an_overloaded_torus_with_the_smallest_buffers_keeps_moving() {
    let torus = Topology::cube(&[16, 16], true, 1, 1, None).unwrap();
    let spec = tightest(torus);
    let mut engine = Engine::new(&spec).unwrap();
    let end = engine.run(&mut Overload {
        nics: 256,
        left: 300,
        state: 1,
    });
    assert_eq!(end, RunEnd::Drained);
    assert_eq!(engine.stats().messages_delivered, 256 * 300);
}

/// A 4×4 torus with three NICs per switch, one packet per VL in every queue and
/// `messages` full packets from each NIC to anywhere, all at once.
fn overloaded_torus(central_queues: CentralQueues, messages: u64) -> (FabricSpec, Script) {
    let torus = Topology::cube(&[4, 4], true, 3, 1, None).unwrap();
    let nics = u64::from(torus.nics());
    let mut spec = tightest(torus);
    specs::hierarchical_of(&mut spec).buffers.central_queues = central_queues;
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let script = Script::new((0..messages * nics).map(|token| {
        let src = token % nics;
        let dst = (src + 1 + below(nics - 1)) % nics;
        (Cue::At(0), message(token, src as u32, dst as u32, 0, 128))
    }));
    (spec, script)
}

/// With one FIFO per VL a packet that goes on in its ring can stand before one that
/// has passed the dateline and turns, so that the datelines no longer cut the ring.
/// A FIFO per neighbour keeps them apart.
#[test]
fn central_queues_per_vl_freeze_an_overloaded_torus_and_per_neighbour_do_not() {
    let (spec, script) = overloaded_torus(CentralQueues::PerVl, 20);
    let RunEnd::Deadlock(deadlock) = compare::compare(&spec, &script).unwrap() else {
        panic!("one FIFO per VL couples what the datelines keep apart");
    };
    assert_closed(&spec, &deadlock);
    let central = |w: &Waiting| w.place == Place::Central;
    assert!(deadlock.cycle.iter().any(central), "{deadlock:?}");

    let (spec, script) = overloaded_torus(CentralQueues::PerNeighbour, 20);
    let end = compare::compare(&spec, &script).unwrap();
    assert_eq!(end, RunEnd::Drained);
}
