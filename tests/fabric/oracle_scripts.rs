//! Timed scripts for the oracle: messages at known ticks, and what must leave
//! when, computed by hand from `docs/model/fabric.md`.

use crate::common::script::{Cue, Script, jam, message};
use crate::common::specs::{even_pool, hierarchical_of, jamming_ring, opa_gen1, opasim};
use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::hierarchical::{DTableEntry, Scheduler};
use flitwise::fabric::spec::{FabricSpec, RingTie, TrunkSelection};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::Message;
use flitwise_oracles::hierarchical::{self as oracle, End, OracleRun, RunEnd, SentPacket};

pub const VO: u8 = 0;

pub fn single(nics: u32) -> FabricSpec {
    opa_gen1(Topology::single(nics).unwrap(), Scheduler::RrVl)
}

/// Runs messages that are all created in tick 0.
pub fn run_at_once(spec: &FabricSpec, messages: impl IntoIterator<Item = Message>) -> OracleRun {
    let lines = messages.into_iter().map(|message| (Cue::At(0), message));
    let run = oracle::run(spec, &mut Script::new(lines), 100_000);
    assert_eq!(run.end, RunEnd::Drained);
    run
}

/// Ticks and senders of the headers of message `token`.
pub fn way(run: &OracleRun, token: u64) -> Vec<(u64, End)> {
    let sent = run.sent.iter().filter(|d| d.token == Some(token));
    sent.map(|d| (d.tick, d.from)).collect()
}

pub fn port(switch: usize, port: usize) -> End {
    End::Port { switch, port }
}

/// Ticks in which the header of each message left `from`.
pub fn ticks(run: &OracleRun, from: End) -> Vec<u64> {
    let sent = run.sent.iter().filter(|d| d.from == from);
    sent.map(|d| d.tick).collect()
}

/// Queue wait and credit wait of the link that starts at `from`.
fn waits(run: &OracleRun, from: End) -> (u64, u64) {
    let link = run.links.iter().find(|link| link.from == from).unwrap();
    (link.queue_wait, link.credit_wait(run.end_tick))
}

#[test]
fn header_takes_150_ticks_within_an_mport() {
    let run = run_at_once(&single(12), [message(0, 0, 1, VO, 8)]);
    // Input buffer at 8; ready at 8+50+32 = 90 and granted; crosses at 98; output
    // buffer at 100; leaves at 150; arrives at 158, 150 after the first arrival.
    assert_eq!(way(&run, 0), [(0, End::Nic(0)), (150, port(0, 1))]);
    assert_eq!(run.reports[0].delivered, 8 + 150);
}

#[test]
fn a_cable_has_a_flight_of_its_own() {
    let mut spec = single(12);
    let own = &mut spec.link_latency.exceptions;
    let port_of = |port| SwitchPort::new(SwitchId::new(0), PortId::new(port));
    own.extend([(port_of(0), 20), (port_of(1), 3)]);
    let run = run_at_once(&spec, [message(0, 0, 1, VO, 8), message(1, 1, 2, VO, 8)]);
    // The header is in the input buffer at 20 instead of 8, and 3 ticks after it left at its NIC.
    assert_eq!(way(&run, 0), [(0, End::Nic(0)), (162, port(0, 1))]);
    assert_eq!(way(&run, 1), [(0, End::Nic(1)), (145, port(0, 2))]);
    let delivered: Vec<u64> = run.reports.iter().map(|r| r.delivered).collect();
    assert_eq!(delivered, [153, 165]);
}

#[test]
fn header_takes_160_ticks_through_a_central_buffer() {
    let run = run_at_once(&single(12), [message(0, 0, 5, VO, 8)]);
    // Crosses at 98; central buffer at 100 and granted; crosses at 108; output
    // buffer at 110; leaves at 160.
    assert_eq!(way(&run, 0), [(0, End::Nic(0)), (160, port(0, 5))]);
    assert_eq!(run.reports[0].delivered, 8 + 160);
}

#[test]
fn opasim_has_the_same_latencies() {
    let spec = opasim(Topology::single(48).unwrap());
    let run = run_at_once(&spec, [message(0, 0, 47, 0, 8), message(1, 4, 5, 0, 8)]);
    assert_eq!(way(&run, 0).last(), Some(&(160, port(0, 47))));
    assert_eq!(way(&run, 1).last(), Some(&(150, port(0, 5))));
}

#[test]
fn latency_adds_up_from_switch_to_switch() {
    // Ports 0-3 are NICs, 4 leads up, 5 down: the first and last hop change MPort.
    let topology = Topology::cube(&[3], false, 4, 1, None).unwrap();
    let run = run_at_once(
        &opa_gen1(topology, Scheduler::RrVl),
        [message(0, 0, 8, VO, 128)],
    );
    let expected = [
        (0, End::Nic(0)),
        (160, port(0, 4)),
        (310, port(1, 4)),
        (470, port(2, 0)),
    ];
    assert_eq!(way(&run, 0), expected);
    // 16 flits: the tail is 15 ticks behind the header.
    assert_eq!(run.reports[0].delivered, 478 + 15);
    assert_eq!((run.flit_hops, run.host_flit_hops), (32, 32));
}

#[test]
fn slow_crossing_delays_the_next_grant() {
    let mut spec = single(4);
    hierarchical_of(&mut spec).timing.stages.output_store = 0;
    hierarchical_of(&mut spec).timing.mport_speedup = 1;
    spec.link_latency.switch = 1;
    // On different VLs, for the link to have a choice if it came to that.
    let run = run_at_once(&spec, [message(0, 0, 2, VO, 128), message(1, 1, 2, 1, 8)]);
    // The first crosses in 98-113, leaves in 100-115; the second is granted at
    // 114 - 8, crosses at 114 and leaves at 116.
    assert_eq!(ticks(&run, port(0, 2)), [100, 116]);
}

#[test]
fn packets_contend_for_the_link() {
    let run = run_at_once(
        &single(4),
        [message(0, 0, 2, VO, 128), message(1, 1, 2, VO, 128)],
    );
    // 16 flits at 3 per tick cross in 98-103; the second header is OB-ready at
    // 156, but the link is busy until 165.
    assert_eq!(ticks(&run, port(0, 2)), [150, 166]);
    let delivered: Vec<u64> = run.reports.iter().map(|r| r.delivered).collect();
    assert_eq!(delivered, [158 + 15, 174 + 15]);
    assert_eq!(waits(&run, port(0, 2)), (166 - 156, 0));
    assert_eq!(run.levels[usize::from(VO)].end_to_end, [173, 189]);
}

/// One credit of 8 flits is as much as a VL may have in the buffer `shrink` picks.
fn one_credit_per_vl(shrink: impl Fn(&mut FabricSpec)) -> FabricSpec {
    let mut spec = single(8);
    for level in &mut spec.qos.service_levels {
        level.mtu_bytes = 64;
    }
    shrink(&mut spec);
    spec
}

#[test]
fn credit_of_an_input_buffer_comes_back_a_flight_later() {
    let spec =
        one_credit_per_vl(|spec| hierarchical_of(spec).buffers.input = even_pool(8, 8, 1, 1));
    let run = run_at_once(&spec, [message(0, 0, 2, VO, 64), message(1, 0, 2, VO, 64)]);
    // Flit 7 leaves the input buffer at 98 + 7/3 = 100; the credit is free at
    // 101 and seen by the NIC at 109.
    assert_eq!(ticks(&run, End::Nic(0)), [0, 109]);
    // The second packet is there from 0 on; the link is free from 8 on.
    assert_eq!(waits(&run, End::Nic(0)), (109, 109 - 8));
    assert_eq!(waits(&run, port(0, 2)), (0, 0));
    // Network latency starts with the header, end-to-end latency in tick 0.
    let level = &run.levels[usize::from(VO)];
    assert_eq!(level.network, [158 + 7, 158 + 7]);
    assert_eq!(level.end_to_end, [158 + 7, 109 + 158 + 7]);
}

#[test]
fn credits_come_back_one_by_one() {
    let spec = one_credit_per_vl(|spec| {
        spec.units.flits_per_credit = 4;
        hierarchical_of(spec).buffers.input = even_pool(8, 16, 2, 2);
    });
    let run = run_at_once(&spec, [message(0, 0, 2, VO, 64), message(1, 0, 2, VO, 32)]);
    // The first credit stands for flits 0-3; flit 3 leaves at 98 + 3/3 = 99.
    assert_eq!(ticks(&run, End::Nic(0)), [0, 100 + 8]);
}

#[test]
fn space_of_an_output_buffer_is_free_in_the_next_tick() {
    let spec =
        one_credit_per_vl(|spec| hierarchical_of(spec).buffers.output = even_pool(8, 8, 1, 1));
    let run = run_at_once(&spec, [message(0, 0, 2, VO, 64), message(1, 1, 2, VO, 64)]);
    // The tail leaves at 157; granted at 158, crosses at 166, there at 168.
    assert_eq!(ticks(&run, port(0, 2)), [150, 168 + 50]);
}

#[test]
fn space_of_a_central_buffer_is_free_in_the_next_tick() {
    let spec =
        one_credit_per_vl(|spec| hierarchical_of(spec).buffers.central = even_pool(8, 8, 1, 1));
    let run = run_at_once(&spec, [message(0, 0, 4, VO, 64), message(1, 1, 6, VO, 64)]);
    // Both go through central buffer 0. The first leaves it at 4 flits per tick
    // in 108 and 109; the second is granted at 110, crosses at 118, is in the
    // central buffer at 120, in the output buffer at 130 and leaves at 180.
    assert_eq!(ticks(&run, port(0, 4)), [160]);
    assert_eq!(ticks(&run, port(0, 6)), [180]);
}

#[test]
fn send_queue_holds_what_fits_and_refills_as_it_empties() {
    let spec = one_credit_per_vl(|spec| {
        hierarchical_of(spec).buffers.nic_queue = even_pool(8, 8, 1, 1);
        spec.link_latency.nic = 1;
    });
    let run = run_at_once(&spec, (0..3).map(|token| message(token, 0, 2, VO, 64)));
    // The tail leaves in tick 7, its space is free in tick 8: no gap.
    assert_eq!(ticks(&run, End::Nic(0)), [0, 8, 16]);
}

/// Service levels in the order in which `from` sent their packets.
fn order(run: &OracleRun, from: End) -> Vec<u8> {
    let sent = run.sent.iter().filter(|d| d.from == from);
    sent.map(|d| d.sl).collect()
}

/// `counts[sl]` full packets of each service level from NIC 0 to NIC 1.
fn full_packets(spec: &FabricSpec, counts: &[u64]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (sl, &count) in counts.iter().enumerate() {
        let bytes = u64::from(spec.qos.service_levels[sl].mtu_bytes);
        messages.extend((0..count).map(|_| message(0, 0, 1, sl as u8, bytes)));
    }
    messages
}

/// The scheduler of NIC 0, given all packets at once.
fn order_of(scheduler: Scheduler, counts: &[u64]) -> Vec<u8> {
    let spec = opa_gen1(Topology::single(8).unwrap(), scheduler);
    order(
        &run_at_once(&spec, full_packets(&spec, counts)),
        End::Nic(0),
    )
}

#[test]
fn dtable_carries_deficits_and_skips_inactive_entries() {
    let entry = |sl, weight| DTableEntry { sl, weight };
    let entries = vec![entry(0, 4), entry(2, 16), entry(0, 3), entry(1, 8)];
    // Sizes 2 (VO), 4 (VI), 8 (CL). The entry of 3 sends one VO and carries 1;
    // the next 4 + 1 send two and carry 1; then 3 + 1 send two. At the end CL is
    // inactive and its entry passed over.
    let expected = [0, 0, 2, 2, 0, 1, 1, 0, 0, 2, 2, 0, 0, 1, 1, 0, 0, 0];
    assert_eq!(
        order_of(Scheduler::DTable { entries }, &[10, 4, 4]),
        expected
    );
}

#[test]
fn sbt_sends_long_bursts() {
    let weights = vec![3, 2, 0, 0, 0];
    // Restored after 3 + 2 packets, and the scan starts at the VL selected last:
    // VI goes on, then VO.
    let expected = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1];
    assert_eq!(order_of(Scheduler::Sbt { weights }, &[8, 6]), expected);
}

#[test]
fn sbt_without_weight_takes_the_last_of_the_scan() {
    let weights = vec![1, 0, 0, 0, 0];
    // CL on VL 5, BE on VL 7. From 0 the last is 7, from 7 it is 5, from 5 it is 7.
    let expected = [3, 2, 3, 2];
    assert_eq!(
        order_of(Scheduler::Sbt { weights }, &[0, 0, 2, 2]),
        expected
    );
}

#[test]
fn rr_takes_vls_in_turn_whatever_they_carry() {
    // BE and BK share VL 7, where they are in the order of the NIC's rounds.
    let expected = [0, 3, 0, 4, 0, 3, 4];
    assert_eq!(order_of(Scheduler::RrVl, &[3, 0, 0, 2, 2]), expected);
}

/// Ports and VLs on the way of a VO packet (class 0 on VL 0, class 1 on VL 1).
fn vls(topology: Topology, src: u32, dst: u32) -> Vec<(End, usize)> {
    let spec = opa_gen1(topology, Scheduler::RrVl);
    let run = run_at_once(&spec, [message(0, src, dst, VO, 8)]);
    let at = |d: &SentPacket| (d.from, d.vl);
    run.sent.iter().map(at).collect()
}

#[test]
fn class_changes_on_the_link_that_closes_the_ring() {
    let ring = |src, dst| vls(Topology::cube(&[4], true, 1, 1, None).unwrap(), src, dst);
    let (plus, minus, nic) = (1, 2, 0);
    // A tie goes up: over the closing link into switch 0, which keeps the class;
    // the way to the NIC is class 0 again.
    let expected = [
        (End::Nic(3), 0),
        (port(3, plus), 1),
        (port(0, plus), 1),
        (port(1, nic), 0),
    ];
    assert_eq!(ring(3, 1), expected);
    assert_eq!(ring(0, 3)[1], (port(0, minus), 1));
    assert_eq!(ring(0, 2)[1..3], [(port(0, plus), 0), (port(1, plus), 0)]);
}

#[test]
fn tie_goes_down_from_odd_coordinates_by_source_parity() {
    let ring = Topology::cube(&[4], true, 1, 1, None).unwrap();
    let mut spec = opa_gen1(ring, Scheduler::RrVl);
    spec.routing.ring_tie = RingTie::SourceParity;
    let run = run_at_once(&spec, [message(0, 1, 3, VO, 8), message(1, 2, 0, VO, 8)]);
    let from = |token| {
        way(&run, token)
            .into_iter()
            .map(|(_, from)| from)
            .collect::<Vec<End>>()
    };
    assert_eq!(from(0), [End::Nic(1), port(1, 2), port(0, 2), port(3, 0)]);
    assert_eq!(from(1), [End::Nic(2), port(2, 1), port(3, 1), port(0, 0)]);
}

#[test]
fn class_starts_anew_in_each_dimension() {
    let torus = Topology::cube(&[4, 4], true, 1, 1, None).unwrap();
    // From (3, 0) over the closing link to (0, 0), then up to (0, 1).
    let expected = [
        (End::Nic(3), 0),
        (port(3, 1), 1),
        (port(0, 3), 0),
        (port(4, 0), 0),
    ];
    assert_eq!(vls(torus, 3, 4), expected);
}

#[test]
fn tree_goes_up_by_the_digits_of_the_destination() {
    let tree = Topology::k_ary_n_tree(2, 3, None).unwrap();
    // Four switches per level. NIC 6 is 110: up by digit 0, up by digit 1, and
    // down by digits 2, 1, 0. Its digits pick SC 6 mod 2.
    let at: Vec<End> = vls(tree, 0, 6).into_iter().map(|(from, _)| from).collect();
    let expected = [
        End::Nic(0),
        port(0, 2),
        port(4, 3),
        port(10, 1),
        port(6, 1),
        port(3, 0),
    ];
    assert_eq!(at, expected);
}

#[test]
fn trunk_in_turn_takes_each_link() {
    let topology = Topology::cube(&[2], false, 4, 3, None).unwrap();
    let mut spec = opa_gen1(topology, Scheduler::RrVl);
    let links = |spec: &FabricSpec| {
        let run = run_at_once(spec, (0..4).map(|i| message(u64::from(i), i, 4, VO, 8)));
        (0..4)
            .map(|token| way(&run, token)[1].1)
            .collect::<Vec<End>>()
    };
    assert_eq!(links(&spec), [port(0, 5); 4]);
    spec.routing.trunk = TrunkSelection::RoundRobin;
    assert_eq!(
        links(&spec),
        [port(0, 4), port(0, 5), port(0, 6), port(0, 4)]
    );
    // All are routed before the first has taken space anywhere.
    spec.routing.trunk = TrunkSelection::LeastQueued;
    assert_eq!(links(&spec), [port(0, 4); 4]);
}

#[test]
fn least_queued_trunk_takes_the_emptiest_link() {
    let topology = Topology::cube(&[2], false, 4, 3, None).unwrap();
    let mut spec = opa_gen1(topology, Scheduler::RrVl);
    spec.routing.trunk = TrunkSelection::LeastQueued;
    let lines = (0..4).map(|i| {
        (
            Cue::At(20 * u64::from(i)),
            message(u64::from(i), i, 4, VO, 8),
        )
    });
    let run = oracle::run(&spec, &mut Script::new(lines), 10_000);
    // Routed at 90, 110, 130 and 150. Space in the output buffer is taken ten
    // ticks later, and that of the first is only free again at 161.
    let links: Vec<End> = (0..4).map(|token| way(&run, token)[1].1).collect();
    assert_eq!(links, [port(0, 4), port(0, 5), port(0, 6), port(0, 4)]);
}

#[test]
fn tail_is_reported_in_the_tick_after_it_left() {
    let mut sent = message(0, 0, 1, VO, 200);
    sent.report_injection = true;
    let mut script = Script::new([
        (Cue::At(3), sent),
        (Cue::Injected(0), message(1, 2, 3, VO, 8)),
        (Cue::Delivered(0), message(2, 1, 0, VO, 0)),
    ]);
    let run = oracle::run(&single(8), &mut script, 10_000);
    // 25 flits from 3 on, in two packets of 16 and 9.
    assert_eq!(script.injected, [(3 + 25, 0)]);
    assert_eq!(way(&run, 1)[0].0, 28);
    assert_eq!(script.delivered[0], (3 + 158 + 24, 0));
    assert_eq!(way(&run, 2)[0].0, 185);
    let flits: Vec<(u64, u32, u32)> = run
        .reports
        .iter()
        .map(|r| (r.token, r.index, r.flits))
        .collect();
    assert!(
        flits.contains(&(0, 0, 16)) && flits.contains(&(0, 1, 9)) && flits.contains(&(2, 0, 1))
    );
}

#[test]
fn run_ends_when_the_workload_is_finished() {
    let lines = (0..2).map(|token| (Cue::At(0), message(token, 0, 1, VO, 128)));
    let mut script = Script::new(lines).stop_after(1);
    let run = oracle::run(&single(8), &mut script, 10_000);
    assert_eq!((run.end, run.end_tick), (RunEnd::Finished, 158 + 15));
    assert_eq!(run.messages_delivered, 1);
}

#[test]
fn run_stalls_when_nothing_can_move() {
    let spec = one_credit_per_vl(|spec| {
        hierarchical_of(spec).buffers.output = even_pool(8, 8, 1, 1);
        spec.units.flits_per_credit = 4;
    });
    let mut script = Script::new([(Cue::At(0), message(0, 0, 1, VO, 64))]);
    assert!(oracle::run(&spec, &mut script, 10_000).stalled());
}

#[test]
fn ring_without_datelines_jams() {
    let run = oracle::run(&jamming_ring(), &mut jam(), 100_000);
    assert!(run.stalled());
    assert!(run.flits_injected > run.flits_delivered);
}
