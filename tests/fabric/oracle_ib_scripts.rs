//! Timed scripts for the oracle of the InfiniBand fabric: what must leave when, computed
//! by hand from `docs/model/infiniband.md`.

use crate::common::ids::hop;
use crate::common::infiniband::{ratio, ring_with_tables, static_pool, voq_fabric, voq_of};
use crate::common::script::{Cue, Script, message};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::voq::{InputQueues, VlArb, VlWeight};
use flitwise::fabric::spec::{FabricSpec, SlToVl, Tick, VlPolicy};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::Message;
use flitwise::units::TickLength;
use flitwise_oracles::voq::{self as oracle_ib, Arbiter, End, IbRun, RunEnd, Server};
use std::collections::BTreeMap;

fn single() -> FabricSpec {
    voq_fabric(Topology::single(8).unwrap())
}

/// Two switches with four adapters each.
fn two_switches() -> FabricSpec {
    voq_fabric(Topology::cube(&[2], false, 4, 1, None).unwrap())
}

fn run_lines(spec: &FabricSpec, lines: impl IntoIterator<Item = (Tick, Message)>) -> IbRun {
    let lines = lines.into_iter().map(|(tick, m)| (Cue::At(tick), m));
    let run = oracle_ib::run(spec, &mut Script::new(lines), 100_000);
    assert_eq!(run.end, RunEnd::Drained);
    run
}

fn port(switch: usize, port: usize) -> End {
    End::Port { switch, port }
}

/// Ticks in which headers left `from`.
fn ticks(run: &IbRun, from: End) -> Vec<Tick> {
    let sent = run.sent.iter().filter(|d| d.from == from);
    sent.map(|d| d.tick).collect()
}

/// Tokens of the packets that left `from`, in order.
fn tokens(run: &IbRun, from: End) -> Vec<u64> {
    let sent = run.sent.iter().filter(|d| d.from == from);
    sent.filter_map(|d| d.token).collect()
}

/// Queue wait and credit wait of the link that starts at `from`.
fn waits(run: &IbRun, from: End) -> (u64, u64) {
    let link = run.links.iter().find(|link| link.from == from).unwrap();
    (link.queue_wait, link.credit_wait)
}

#[test]
fn header_takes_nine_ticks_through_an_idle_switch() {
    let run = run_lines(&single(), [(0, message(0, 1, 2, 0, 64))]);
    // Input buffer at 3; routed at 3+1+2 = 6 and granted; crosses at 7; output buffer at
    // 8; may leave at 9; adapter at 12.
    assert_eq!(ticks(&run, End::Nic(1)), [0]);
    assert_eq!(ticks(&run, port(0, 2)), [9]);
    assert_eq!(run.reports[0].delivered, 12);
    // Four flits: the tail is 3 ticks behind.
    let run = run_lines(&single(), [(0, message(0, 1, 2, 0, 256))]);
    assert_eq!(run.reports[0].delivered, 15);
}

#[test]
fn headers_are_counted_and_rounded_up() {
    let mut spec = single();
    spec.units.header_bytes = 26;
    // 256 + 26 bytes are 5 flits and take 4.4 ticks, 5 + 26 are one: the second packet starts in 4.
    let run = run_lines(&spec, [(0, message(0, 1, 2, 0, 261))]);
    let flits: Vec<_> = run.reports.iter().map(|r| r.flits).collect();
    assert_eq!(flits, [5, 1]);
    assert_eq!(ticks(&run, End::Nic(1)), [0, 4]);
}

#[test]
fn servers_lose_nothing_to_rounding() {
    // 2/3 flits per tick: a flit of 64 B takes 1.5 ticks.
    let mut server = Server::new(ratio(2, 3), 64);
    let service = server.serve(0, (192, 3), None);
    assert_eq!((service.leaves, service.last), (vec![0, 1, 3], 4));
    // Free from 4.5 on, so in tick 4; the next packet starts at 4.5.
    assert!(!server.is_free(3) && server.is_free(4));
    assert_eq!(server.end(), 5);
    // Its last flit was available at 20 only.
    let service = server.serve(4, (192, 3), Some(&[4, 4, 20]));
    assert_eq!((service.leaves, service.last), (vec![4, 6, 20], 21));
    assert!(!server.is_free(20) && server.is_free(21));
    assert_eq!(server.serve(30, (128, 2), None).leaves[1], 31);
}

#[test]
fn servers_count_bytes() {
    // A flit of 64 B takes 8 ticks: 90 B take 11.25, and 30 B 3.75.
    let mut server = Server::new(ratio(1, 8), 64);
    let service = server.serve(0, (90, 2), None);
    assert_eq!((service.leaves, service.last), (vec![0, 8], 11));
    assert!(!server.is_free(10) && server.is_free(11));
    // Begins at 11.25, ends at 15.
    let service = server.serve(11, (30, 1), None);
    assert_eq!((service.leaves, service.last), (vec![11], 14));
    // Less than a tick counts as one.
    let mut server = Server::new(ratio(1, 1), 64);
    server.serve(0, (30, 1), None);
    assert!(!server.is_free(0) && server.is_free(1));
}

#[test]
fn short_packets_follow_each_other_at_the_pace_of_their_bytes() {
    let mut spec = single();
    spec.units.header_bytes = 26;
    spec.units.tick = TickLength::whole(2_000);
    let links = &mut voq_of(&mut spec).links;
    (links.nic, links.switch) = (ratio(1, 8), ratio(1, 8));
    // 64 + 26 bytes take 11.25 ticks: the engine and the link start packets at 0, 11.25, 22.5,
    // 33.75 and 45.
    let lines = (0..5).map(|i| (0, message(i, 1, 2, 0, 64)));
    let run = run_lines(&spec, lines);
    assert_eq!(ticks(&run, End::Nic(1)), [0, 11, 22, 33, 45]);
    let ends: Vec<_> = run.reports.iter().map(|r| r.delivered).collect();
    let apart: Vec<_> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        apart[1..].iter().all(|apart| (11..=12).contains(apart)),
        "{ends:?}"
    );
}

#[test]
fn fast_link_waits_for_flits_of_a_slow_one() {
    let mut spec = two_switches();
    voq_of(&mut spec).links.nic = ratio(1, 2);
    for level in &mut spec.qos.service_levels {
        level.mtu_bytes = 512;
    }
    let run = run_lines(&spec, [(0, message(0, 0, 4, 0, 512))]);
    // Leaves at 2i, dated 4 + 2i (flight 3, and a tick for the rest of the flit). Granted
    // at 7; crosses at max(8 + i, 5 + 2i); leaves 2 later, at 10, 11, 12, 13, 15, 17, 19,
    // 21, dated 5 later. Granted there at 18; crosses at max(19 + i, 1 + date), the tail
    // at 27. Leaves at 21 + 2i, the tail at 35, dated 39.
    assert_eq!(ticks(&run, port(0, 4)), [10]);
    assert_eq!(ticks(&run, port(1, 0)), [21]);
    assert_eq!(run.reports[0].delivered, 39);
}

#[test]
fn inputs_take_turns_at_an_output() {
    let lines = (0..2).flat_map(|i| {
        [
            (0, message(i, 1, 3, 0, 256)),
            (0, message(10 + i, 2, 3, 0, 256)),
        ]
    });
    let run = run_lines(&single(), lines);
    // Both at the switch at 6. Input 1 crosses in 7-10, so the output is idle at 10.
    assert_eq!(ticks(&run, port(0, 3)), [9, 13, 17, 21]);
    assert_eq!(tokens(&run, port(0, 3)), [0, 10, 1, 11]);
    // Waits in the queues of 0, 4, 4 and 8 ticks, then none.
    assert_eq!(waits(&run, port(0, 3)), (16, 0));
}

#[test]
fn input_accepts_the_first_output_after_its_pointer() {
    let mut spec = single();
    for level in &mut spec.qos.service_levels {
        level.mtu_bytes = 512;
    }
    let run = run_lines(
        &spec,
        [
            (0, message(0, 4, 1, 0, 512)),
            (0, message(1, 5, 2, 0, 512)),
            (1, message(2, 0, 2, 0, 64)),
            (2, message(3, 0, 1, 0, 64)),
        ],
    );
    // Outputs 1 and 2 are taken at 6, crossed until 14, idle at 14. Both then offer to
    // input 0, which takes output 1 first, although the packet for 2 came first.
    assert_eq!(ticks(&run, port(0, 1)), [9, 17]);
    assert_eq!(ticks(&run, port(0, 2)), [9, 18]);
}

/// The order in which packets to NIC 3 leave its port, where four long packets from `long`, a (NIC, SL), meet short ones from NIC 2.
fn long_among_short(spec: &FabricSpec, long: (u32, u8)) -> Vec<u64> {
    let short = (0..32).map(|_| (0, message(0, 2, 3, 0, 64)));
    let long = [(0, message(1, long.0, 3, long.1, 4 * 256))];
    tokens(&run_lines(spec, short.chain(long)), port(0, 3))
}

#[test]
fn short_packets_take_no_turn_of_long_ones() {
    let in_turn = |order: Vec<u64>| {
        let mut places = (0..).zip(&order).filter(|(_, token)| **token == 1);
        let last: usize = places.nth(3).unwrap().0;
        assert!(last < 12, "{order:?}");
    };
    // The crossbar is faster than the link: the output buffer fills.
    let mut spec = single();
    voq_of(&mut spec).crossbar_speedup = 2;
    in_turn(long_among_short(&spec, (1, 0)));
    in_turn(long_among_short(&spec, (1, 1)));
    // The high table waits for room, too.
    voq_of(&mut spec).vlarb = tables(&[(1, 1)], &[(0, 255)], 255);
    in_turn(long_among_short(&spec, (1, 1)));
    // The NIC takes a flit in four ticks: credits are short.
    let mut spec = single();
    voq_of(&mut spec).buffers.nic_sink = static_pool(2, 4);
    voq_of(&mut spec).hca.sink_rate = Some(ratio(1, 4));
    in_turn(long_among_short(&spec, (1, 0)));
    // Both are in one NIC, with one packet before its link.
    let mut spec = single();
    voq_of(&mut spec).buffers.nic_queue = 4;
    voq_of(&mut spec).hca.send_rate = Some(ratio(1, 1));
    voq_of(&mut spec).links.nic = ratio(1, 4);
    in_turn(long_among_short(&spec, (2, 1)));
}

#[test]
fn sender_waits_for_credits() {
    let mut spec = single();
    voq_of(&mut spec).buffers.nic_sink = static_pool(2, 4);
    voq_of(&mut spec).hca.sink_rate = Some(ratio(1, 4));
    let run = run_lines(&spec, [(0, message(0, 1, 2, 0, 512))]);
    // The sink takes flits of the first packet at 12, 16, 20, 24; credits are seen four
    // ticks later, the fourth at 28, when the second packet is granted.
    assert_eq!(ticks(&run, port(0, 2)), [9, 31]);
    // The output is idle from 10 on, when the second packet joins its queue.
    assert_eq!(waits(&run, port(0, 2)), (18, 18));
    // Delivered when the tail arrives, not when the sink has it.
    let delivered: Vec<_> = run.reports.iter().map(|r| r.delivered).collect();
    assert_eq!(delivered, [15, 37]);
}

#[test]
fn blocked_queue_does_not_block_another() {
    let mut spec = single();
    voq_of(&mut spec).buffers.nic_sink = static_pool(2, 4);
    voq_of(&mut spec).hca.sink_rate = Some(ratio(1, 100));
    let lines = [
        (0, message(0, 1, 2, 0, 256)),
        (0, message(1, 1, 2, 0, 256)),
        (8, message(2, 1, 3, 0, 256)),
    ];
    let run = run_lines(&spec, lines);
    assert_eq!(ticks(&run, port(0, 3)), [17]);
    assert!(ticks(&run, port(0, 2))[1] > 300);
}

#[test]
fn head_of_a_fifo_blocks_the_packets_behind_it() {
    let sent = |queues, sl| {
        let mut spec = single();
        spec.qos.service_levels[0].mtu_bytes = 512;
        voq_of(&mut spec).input_queues = queues;
        let lines = [
            (0, message(0, 1, 3, 0, 512)),
            (0, message(1, 2, 3, 0, 256)),
            (0, message(2, 2, 4, sl, 256)),
        ];
        let run = run_lines(&spec, lines);
        assert_eq!(ticks(&run, port(0, 3)), [9, 17]);
        (ticks(&run, port(0, 4)), waits(&run, port(0, 4)))
    };
    // The packet for 4 is ready at 10. The one before it waits from 6 to 14 for output 3 and crosses
    // in 15-18, so input 2 is idle at 18. Nothing waits for credits.
    assert_eq!(sent(InputQueues::Fifo, 0), (vec![21], (8, 0)));
    assert_eq!(sent(InputQueues::VirtualOutput, 0), (vec![13], (0, 0)));
    // On another VL it is in another FIFO.
    assert_eq!(sent(InputQueues::Fifo, 1), (vec![13], (0, 0)));
}

#[test]
fn heads_that_leave_on_one_vl_are_served_in_the_order_in_which_they_became_heads() {
    let served = |queues| {
        let mut spec = single();
        spec.qos.service_levels[0].mtu_bytes = 512;
        spec.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
            default: vec![0, 1],
            hcas: BTreeMap::new(),
            // Both VLs of input 2 leave output 3 on VL 0.
            ports: BTreeMap::from([(hop(0, 2, 3), vec![0, 0])]),
        });
        voq_of(&mut spec).input_queues = queues;
        let lines = [
            (0, message(0, 1, 3, 0, 512)),
            (0, message(1, 2, 3, 0, 256)),
            (0, message(2, 2, 3, 0, 256)),
            (7, message(3, 2, 3, 1, 256)),
        ];
        tokens(&run_lines(&spec, lines), port(0, 3))
    };
    // Those of input 2 are ready at 6, 10 and 14. The first is granted at 14, when that on the
    // other VL is a head already, and the second is not.
    assert_eq!(served(InputQueues::Fifo), [0, 1, 3, 2]);
    assert_eq!(served(InputQueues::VirtualOutput), [0, 1, 2, 3]);
}

#[test]
fn send_engine_sets_the_pace() {
    let mut spec = single();
    voq_of(&mut spec).hca.send_rate = Some(ratio(2, 5));
    // 2.5 ticks per flit, 10 per packet: the packets start at 0, 10, 20.
    let run = run_lines(&spec, [(0, message(0, 1, 2, 0, 768))]);
    assert_eq!(ticks(&run, End::Nic(1)), [0, 10, 20]);
    // Flits leave at 0, 2, 5, 7, dated 3 later, and cross at 7, 8, 9, 11: the tail waits for
    // the store of 1 only. It leaves at 13.
    assert_eq!(run.reports[0].delivered, 16);
}

#[test]
fn queue_pairs_of_an_adapter_take_turns() {
    let lines = [
        (0, message(0, 1, 5, 0, 512)),
        (0, message(1, 1, 3, 0, 512)),
        (0, message(2, 1, 2, 1, 512)),
    ];
    let run = run_lines(&single(), lines);
    // VLs in turn, and on VL 0 destinations in turn, from the lowest.
    assert_eq!(tokens(&run, End::Nic(1)), [1, 2, 0, 2, 1, 0]);
}

/// The VLs that an arbiter serves when all of `vls` always have packets of `bytes`.
fn sequence(config: &VlArb, vls: usize, bytes: u64, count: usize) -> Vec<usize> {
    let mut arbiter = Arbiter::new(config);
    let mut served = Vec::new();
    for _ in 0..count {
        let pick = arbiter.pick(&vec![true; vls]).unwrap();
        arbiter.grant(pick, vls, bytes);
        served.push(pick.vl);
    }
    served
}

fn tables(high: &[(u8, u8)], low: &[(u8, u8)], high_limit: u8) -> VlArb {
    let list = |entries: &[(u8, u8)]| {
        let entries = entries.iter();
        entries
            .map(|&(vl, weight)| VlWeight { vl, weight })
            .collect()
    };
    VlArb::Tables {
        high: list(high),
        low: list(low),
        high_limit,
    }
}

#[test]
fn arbitration_tables_follow_weights_and_limit() {
    // One high packet, then a low one; the high table gives VL 0 two units, VL 1 one.
    let config = tables(&[(0, 2), (1, 1)], &[(2, 1)], 0);
    assert_eq!(
        sequence(&config, 3, 64, 11),
        [0, 2, 0, 2, 1, 2, 0, 2, 0, 2, 1]
    );
    // 4096 bytes are used up by two packets of 2112.
    let config = tables(&[(0, 255)], &[(1, 255)], 1);
    assert_eq!(sequence(&config, 2, 2112, 7), [0, 0, 1, 0, 0, 1, 0]);
    // No limit: the low table starves.
    let config = tables(&[(0, 1)], &[(1, 255)], 255);
    assert_eq!(sequence(&config, 2, 2112, 50), [0; 50]);
    // Weights of 1 to 2 in packets of 33 units, an entry of weight 0 skipped; a weight
    // below a packet is worth one.
    let config = tables(&[], &[(0, 33), (2, 0), (1, 66)], 0);
    assert_eq!(sequence(&config, 3, 2112, 6), [0, 1, 1, 0, 1, 1]);
    let config = tables(&[], &[(0, 1), (1, 34)], 0);
    assert_eq!(sequence(&config, 2, 2112, 6), [0, 1, 1, 0, 1, 1]);
}

#[test]
fn arbiter_goes_on_when_a_vl_has_nothing() {
    let mut arbiter = Arbiter::new(&tables(&[], &[(0, 9), (1, 2)], 0));
    let mut serve = |candidates: [bool; 2]| {
        let pick = arbiter.pick(&candidates)?;
        arbiter.grant(pick, 2, 64);
        Some(pick.vl)
    };
    assert_eq!(serve([true, true]), Some(0));
    assert_eq!(serve([false, true]), Some(1));
    assert_eq!(serve([false, false]), None);
    // Entry 1 has a unit left, and is not left before.
    assert_eq!(serve([true, true]), Some(1));
    assert_eq!(serve([true, true]), Some(0));
    // Entry 0 began anew: nine units.
    let rest: Vec<_> = (0..9).map(|_| serve([true, true]).unwrap()).collect();
    assert_eq!(rest, [0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn tables_rule_the_outputs_of_switches() {
    let mut spec = single();
    voq_of(&mut spec).vlarb = tables(&[], &[(0, 4), (1, 8)], 0);
    let flood = |token, src, sl| (0, message(token, src, 3, sl, 256 * 8));
    let run = run_lines(&spec, [flood(0, 1, 0), flood(1, 2, 1)]);
    let first: Vec<_> = tokens(&run, port(0, 3)).into_iter().take(9).collect();
    assert_eq!(first, [0, 1, 1, 0, 1, 1, 0, 1, 1]);
}

#[test]
fn tables_map_service_levels_to_vls_per_port() {
    let mut spec = two_switches();
    // Everywhere VL 0, but from the first adapter of switch 1 and over the link VL 1.
    spec.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
        default: vec![0, 0],
        hcas: BTreeMap::from([(NicId::new(0), vec![1, 1])]),
        ports: BTreeMap::from([(hop(0, 0, 4), vec![0, 1])]),
    });
    let run = run_lines(
        &spec,
        [(0, message(0, 0, 4, 1, 64)), (0, message(1, 0, 5, 0, 64))],
    );
    let vls = |token| -> Vec<usize> {
        let own = run.sent.iter().filter(|d| d.token == Some(token));
        own.map(|d| d.vl).collect()
    };
    assert_eq!(vls(0), [1, 1, 0]);
    assert_eq!(vls(1), [1, 0, 0]);
}

#[test]
fn forwarding_tables_rule_the_way() {
    // Two routes lead from switch 0 to switch 1; the tables take the longer one.
    let run = run_lines(&ring_with_tables(), [(0, message(0, 0, 1, 0, 64))]);
    let route: Vec<_> = run.sent.iter().map(|d| d.from).collect();
    assert_eq!(route, [End::Nic(0), port(0, 2), port(2, 2), port(1, 0)]);
}
