//! How input buffers of InfiniBand switches organise a VL: with FIFOs a head blocks the packets
//! behind it, with virtual output queues it does not. Closed forms, and the saturation of a switch.

use crate::common::infiniband::{ring_with_tables, static_pool, voq_fabric, voq_of};
use crate::common::script::{Cue, Script, message};
use flitwise::fabric::engine::probe::{NoProbe, Obstacle, OutputId, Probe};
use flitwise::fabric::engine::{Engine, Place, RunEnd};
use flitwise::fabric::ids::PortId;
use flitwise::fabric::spec::voq::{InputQueues, Isolation};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::stats::LinkEnd;
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::{Message, PacketReport, Workload};
use flitwise::random::{Purpose, Stream};
use std::collections::BTreeSet;

/// Outputs with a packet behind the head of a FIFO.
#[derive(Debug, Default)]
struct BehindHeads(BTreeSet<OutputId>);

impl Probe for BehindHeads {
    fn blocked(&mut self, _: Tick, output: OutputId, _: u32, obstacle: Obstacle) {
        if obstacle == Obstacle::HeadOfLine {
            self.0.insert(output);
        }
    }
}

/// What became of the packet that may have to wait behind a head.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    delivered: Tick,
    /// Queue wait of its output in ticks.
    waited: Tick,
    seen_behind_a_head: bool,
}

/// NIC 1 sends `flits` flits to NIC 3; NIC 2 sends 4 flits to NIC 3 and then 4 flits on service
/// level `sl` to NIC 4, to which no other sends.
fn behind_a_blocked_head(queues: InputQueues, flits: u32, sl: u8) -> Outcome {
    let mut spec = voq_fabric(Topology::single(8).unwrap());
    for level in &mut spec.qos.service_levels {
        level.mtu_bytes = 64 * flits;
    }
    let voq = voq_of(&mut spec);
    voq.input_queues = queues;
    (voq.buffers.output, voq.buffers.nic_queue) = (64, 64);
    let lines = [
        message(0, 1, 3, 0, (64 * flits).into()),
        message(1, 2, 3, 0, 256),
        message(2, 2, 4, sl, 256),
    ];
    let mut script = Script::new(lines.map(|line| (Cue::At(0), line)));
    let mut engine = Engine::watched(&spec, BehindHeads::default()).unwrap();
    assert_eq!(engine.run(&mut script), RunEnd::Drained);
    let stats = engine.stats();
    let from = |port| move |end: LinkEnd| matches!(end, LinkEnd::Port { port: p, .. } if p == port);
    let wait_at = |port| {
        let link = stats
            .links
            .iter()
            .find(|link| from(PortId::new(port))(link.from));
        link.unwrap().queue_wait_ticks
    };
    // The first of NIC 2 waits for the packet of NIC 1 in any case.
    assert_eq!(wait_at(3), Tick::from(flits));
    let behind = &engine.probe().0;
    Outcome {
        delivered: script
            .delivered
            .iter()
            .find(|(_, token)| *token == 2)
            .unwrap()
            .0,
        waited: wait_at(4),
        seen_behind_a_head: behind
            .iter()
            .any(|output| from(PortId::new(4))(output.end(&spec.topology))),
    }
}

/// The headers of NICs 1 and 2 are ready at 6, that of the second packet of NIC 2 at 10. NIC 1 is
/// granted first. So the head of NIC 2 is granted at 6 + n, and has crossed 4 ticks later.
#[test]
fn a_blocked_head_blocks_its_fifo_for_as_long_as_computed() {
    for flits in [8, 12, 32] {
        let granted = |at: Tick| Outcome {
            delivered: at + 9,
            waited: at - 10,
            seen_behind_a_head: at > 10,
        };
        let fifo = behind_a_blocked_head(InputQueues::Fifo, flits, 0);
        assert_eq!(fifo, granted(6 + Tick::from(flits) + 4), "{flits} flits");
        let virtual_output = behind_a_blocked_head(InputQueues::VirtualOutput, flits, 0);
        assert_eq!(virtual_output, granted(10), "{flits} flits");
        let other_vl = behind_a_blocked_head(InputQueues::Fifo, flits, 1);
        assert_eq!(other_vl, granted(10), "{flits} flits");
    }
}

/// NICs 0 to n − 1 always send, each packet to one of NICs n to 2n − 1, drawn at random. A NIC gets its
/// next packet in the tick in which its link is free again, so its queue pairs never take turns.
struct Saturated {
    ports: u32,
    /// Messages to create, by their sources.
    due: Vec<u32>,
    now: Tick,
    next_token: u64,
    destinations: Stream,
    /// Ticks in which packets are counted, from and until before.
    window: [Tick; 2],
    packets: u64,
}

/// Length of a packet in flits, and so the ticks that it takes.
const FLITS: u64 = 4;

impl Saturated {
    fn new(ports: u32, window: [Tick; 2]) -> Self {
        Self {
            ports,
            due: (0..ports).collect(),
            now: 0,
            next_token: 0,
            destinations: Stream::new(1, Purpose::Background, [0, 0]),
            window,
            packets: 0,
        }
    }

    fn throughput(&self) -> f64 {
        let slots = (self.window[1] - self.window[0]) / FLITS * u64::from(self.ports);
        self.packets as f64 / slots as f64
    }
}

impl Workload for Saturated {
    fn next_tick(&mut self) -> Option<Tick> {
        (!self.due.is_empty()).then_some(self.now)
    }

    fn act(&mut self, _: Tick, out: &mut Vec<Message>) {
        self.due.sort_unstable();
        for src in self.due.drain(..) {
            let dst = self.ports + self.destinations.below(self.ports.into()) as u32;
            let token = self.next_token << 8 | u64::from(src);
            self.next_token += 1;
            let mut new = message(token, src, dst, 0, FLITS * 64);
            new.report_injection = true;
            out.push(new);
        }
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.now = now;
        self.due.push(token as u32 & 0xff);
    }

    fn packet(&mut self, report: &PacketReport) {
        self.now = report.delivered;
        if (self.window[0]..self.window[1]).contains(&report.delivered) {
            self.packets += 1;
        }
    }

    fn delivered(&mut self, _: Tick, _: u64) {}

    fn finished(&self) -> bool {
        self.now >= self.window[1]
    }
}

/// Packets per output and packet time of a saturated switch with `ports` inputs and as many
/// outputs.
fn saturated(queues: InputQueues, ports: u32) -> f64 {
    let mut spec = voq_fabric(Topology::single(2 * ports).unwrap());
    let voq = voq_of(&mut spec);
    voq.input_queues = queues;
    // They never fill up, so no link waits for credits.
    voq.buffers.input = static_pool(2, 48_000);
    let mut workload = Saturated::new(ports, [8_000, 108_000]);
    let mut engine = Engine::<NoProbe>::new(&spec).unwrap();
    assert_eq!(engine.run(&mut workload), RunEnd::Finished);
    workload.throughput()
}

/// Karol, Hluchyj and Morgan, *Input Versus Output Queueing on a Space-Division Packet Switch*
/// (1987), table I: the saturation throughput of N × N switches with FIFOs, which falls to
/// 2 − √2 = 0.586 for large N. Whichever head an output takes, the numbers of heads per output are
/// the same Markov chain.
#[test]
fn fifos_saturate_as_karol_hluchyj_and_morgan_say() {
    for (ports, published) in [(2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)] {
        let found = saturated(InputQueues::Fifo, ports);
        println!("{ports} ports: {found:.4}, published {published}");
        assert!((found - published).abs() < 0.005, "{ports}: {found}");
    }
    let found = saturated(InputQueues::Fifo, 32);
    println!("32 ports: {found:.4}");
    assert!((found - (2.0 - 2.0f64.sqrt())).abs() < 0.015, "{found}");
}

/// McKeown, *The iSLIP Scheduling Algorithm for Input-Queued Switches* (1999): one iteration takes
/// all of uniform traffic.
#[test]
fn virtual_output_queues_take_nearly_all_of_uniform_traffic() {
    for queues in [InputQueues::VirtualOutput, InputQueues::PerFlow] {
        for ports in [4, 32] {
            let found = saturated(queues, ports);
            println!("{queues:?}, {ports} ports: {found:.4}");
            assert!(found > 0.97 && found <= 1.0, "{ports}: {found}");
        }
    }
}

/// Gives switches that isolate flows their congested-flow queues: two, which together leave half of the VL.
fn isolate(spec: &mut FabricSpec) {
    let voq = voq_of(spec);
    let size = voq.buffers.input.per_vl[0];
    voq.isolation = (voq.input_queues == InputQueues::Isolating)
        .then(|| Isolation::even(2, 2, [size / 4, size / 4, size / 8]));
}

/// A ring whose packets all go the same way round, on one VL, two hops each.
fn ring(queues: InputQueues) -> FabricSpec {
    let mut spec = ring_with_tables();
    let voq = voq_of(&mut spec);
    voq.input_queues = queues;
    // Three packets: two wait behind the head.
    voq.buffers.input = static_pool(2, 12);
    isolate(&mut spec);
    spec
}

#[test]
fn a_jammed_ring_of_fifos_is_reported_as_a_cycle() {
    let lines = (0..60u64).map(|token| {
        let src = token as u32 % 3;
        // Port 2 leads down: the NIC two hops down is the next one up.
        (Cue::At(0), message(token, src, (src + 1) % 3, 0, 256))
    });
    let lines: Vec<_> = lines.collect();
    let mut per_flow = Script::new(lines.clone());
    let mut engine = Engine::<NoProbe>::new(&ring(InputQueues::PerFlow)).unwrap();
    // Nobody waits for packets to another destination.
    assert_eq!(engine.run(&mut per_flow), RunEnd::Drained);
    for queues in [
        InputQueues::VirtualOutput,
        InputQueues::Fifo,
        InputQueues::Isolating,
    ] {
        let mut engine = Engine::<NoProbe>::new(&ring(queues)).unwrap();
        let RunEnd::Deadlock(deadlock) = engine.run(&mut Script::new(lines.clone())) else {
            panic!("{queues:?} do not jam");
        };
        let switches: BTreeSet<_> = deadlock.cycle.iter().map(|w| w.switch).collect();
        assert_eq!(
            (deadlock.cycle.len(), switches.len()),
            (3, 3),
            "{deadlock:?}"
        );
        assert!(deadlock.cycle.iter().all(|w| w.place == Place::Input));
    }
}

/// Flits of a packet.
const PACKET: u64 = 4;

/// NICs 0 to 7 are at switch 0, 8 to 15 at switch 1, with one link between the switches. NICs 0 to 2 send to NICs 8 to 10, a fifth of
/// what a link carries each. With a hot spot, NIC 3 and the NICs 9 to 14 send all they can to NIC 15, which takes a seventh of it from each.
/// Returns which part of the packets for NICs 8 to 10 arrive in a window.
fn cold_throughput(queues: InputQueues, hot: bool) -> f64 {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 8, 1, None).unwrap());
    let voq = voq_of(&mut spec);
    voq.input_queues = queues;
    voq.buffers.input = static_pool(2, 128);
    isolate(&mut spec);
    let mut lines = Vec::new();
    for turn in 0..WINDOW / (5 * PACKET) {
        for src in 0..3 {
            let at = 5 * PACKET * turn + PACKET * u64::from(src);
            lines.push((at, src, 8 + src));
        }
    }
    if hot {
        let sources = [3, 9, 10, 11, 12, 13, 14];
        let all = (0..WINDOW / PACKET).flat_map(|turn| sources.map(|src| (PACKET * turn, src, 15)));
        lines.extend(all);
        lines.sort_unstable();
    }
    let lines = lines.into_iter().zip(0u64..);
    let cold = |token: u64, dst: u32| token << 1 | u64::from(dst != 15);
    let script = lines.map(|((at, src, dst), number)| {
        let message = message(cold(number, dst), src, dst, 0, PACKET * 64);
        (Cue::At(at), message)
    });
    let mut script = Script::new(script);
    let mut engine = Engine::<NoProbe>::new(&spec).unwrap();
    assert_eq!(engine.run(&mut script), RunEnd::Drained);
    let counted = (script.delivered.iter())
        .filter(|(at, token)| token & 1 == 1 && (WINDOW / 2..WINDOW).contains(at));
    (counted.count() as u64 * PACKET) as f64 / (0.6 * (WINDOW / 2) as f64)
}

const WINDOW: u64 = 24_000;

/// The link carries what the cold flows send beside the seventh that NIC 15 takes from NIC 3. But they do not get it while they wait behind hot
/// packets in a FIFO, or for credits that hot packets hold.
#[test]
fn hot_flows_take_nothing_from_cold_ones_where_they_are_kept_apart() {
    let all = [
        InputQueues::Fifo,
        InputQueues::VirtualOutput,
        InputQueues::Isolating,
        InputQueues::PerFlow,
    ];
    let calm = all.map(|queues| cold_throughput(queues, false));
    let [fifo, virtual_output, isolating, per_flow] =
        all.map(|queues| cold_throughput(queues, true));
    println!("calm {calm:?}; hot {fifo} {virtual_output} {isolating} {per_flow}");
    assert!(calm.iter().all(|&cold| cold > 0.99), "{calm:?}");
    assert!(per_flow > 0.99 && per_flow >= isolating, "{per_flow}");
    assert!(isolating > 0.9, "{isolating}");
    assert!(
        virtual_output < 0.9 && fifo < 0.75,
        "{virtual_output}, {fifo}"
    );
}
