//! Congestion control on the hierarchical switch, in the oracle: marks, notifications and
//! delays computed by hand from `docs/model/infiniband.md`, section 12.

use crate::common::collision::{
    Change, Collision, check_without_marker, check_without_source_control,
};
use crate::common::infiniband::{
    cct_of, control, marker_of, own_pool, voq_fabric, with_hierarchical_switches,
};
use crate::common::script::{Cue, Script, message};
use crate::common::specs::hierarchical_of;
use flitwise::fabric::spec::congestion::{
    CctEntry, FillComparison, FlowLevel, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::{CongestionControl, FabricSpec, Notification, Tick};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::Message;
use flitwise_oracles::hierarchical::{self as oracle, End, FlowKey, OracleRun, SentPacket};

const OUTPUT: End = End::Port { switch: 0, port: 3 };

/// Eight NICs at a switch of two MPorts, with the latencies of [`voq_fabric`]:
/// packets of 4 flits, input buffers of 64 flits per VL, send queues and output buffers of
/// two packets. One packet of an input is at the threshold: weight 15 is 1/16 of 64 flits. So
/// there is congestion once a packet finds one that waits.
fn fabric(change: impl FnOnce(&mut CongestionControl)) -> FabricSpec {
    let mut spec = with_hierarchical_switches(voq_fabric(Topology::single(8).unwrap()));
    hierarchical_of(&mut spec).buffers.central = own_pool(2, 64);
    let mut congestion = control(15, 0, 100);
    change(&mut congestion);
    spec.congestion_control = Some(Box::new(congestion));
    spec
}

fn run(
    spec: &FabricSpec,
    lines: impl IntoIterator<Item = (Tick, Message)>,
    ticks: Tick,
) -> OracleRun {
    let lines = lines
        .into_iter()
        .map(|(tick, message)| (Cue::At(tick), message));
    oracle::run(spec, &mut Script::new(lines), ticks)
}

/// NICs 1 and 2 send `packets` packets of 4 flits each to NIC 3, from tick 0 on.
fn collide(spec: &FabricSpec, packets: u64, ticks: Tick) -> OracleRun {
    run(spec, contributors(packets), ticks)
}

fn contributors(packets: u64) -> [(Tick, Message); 2] {
    [1, 2].map(|src| (0, message(src, src as u32, 3, 0, 256 * packets)))
}

fn of(run: &OracleRun, from: End) -> impl Iterator<Item = &SentPacket> {
    run.sent.iter().filter(move |d| d.from == from)
}

/// Ticks in which marked packets left for NIC 3.
fn marks(run: &OracleRun) -> Vec<Tick> {
    of(run, OUTPUT).filter(|d| d.fecn).map(|d| d.tick).collect()
}

#[test]
fn packets_are_marked_once_one_finds_a_queue_at_the_threshold() {
    // Both inputs get a packet at 6, 10, 14, …; the output buffer takes one in the same
    // ticks, of 1, 2, 1, 2, …. Packets waiting after ticks 6, 10, 14: input 1 0, 1, 1; input 2
    // 1, 1, 2. Without those that joined in the tick, 0, 0, 0 and 0, 0, 1: at 6 and 10 packets
    // find nothing that still waits, at 14 they find one of input 2. So the Port VL is congested
    // from the end of 14 on, and the first packet that is granted in that state is that of 18.
    // Packets leave 3 ticks after the grant.
    let run = collide(&fabric(|_| ()), 20, 35);
    assert_eq!(marks(&run), [21, 25, 29, 33]);
    // That granted at 34 is marked, too, but has not left.
    assert_eq!(run.congestion.marked, 5);
    // Two packets between two marks: granted at 18, 30, 42, 54.
    let run = collide(
        &fabric(|c| marker_of(c).host_ports.marking_rate = 2),
        20,
        60,
    );
    assert_eq!(marks(&run), [21, 33, 45, 57]);
    // Weight 0 marks nothing; neither does a packet size above 256 bytes.
    let run = collide(&fabric(|c| marker_of(c).host_ports.threshold = 0), 20, 60);
    assert!(marks(&run).is_empty());
    let run = collide(&fabric(|c| marker_of(c).host_ports.packet_size = 5), 20, 60);
    assert!(marks(&run).is_empty());
    let run = collide(&fabric(|c| marker_of(c).host_ports.packet_size = 4), 20, 29);
    assert_eq!(marks(&run), [21, 25]);
}

#[test]
fn packet_that_waits_alone_is_no_congestion() {
    // One packet of NICs 1 and 2 each; both are routed at 6. That of NIC 1 is granted at once, that
    // of NIC 2 waits until 10: 4 flits, the threshold, but it has not found them.
    assert!(marks(&collide(&fabric(|_| ()), 1, 100)).is_empty());
    // A packet of NIC 0 that is routed at 7, 8 or 9 finds that one. Both are granted in the
    // congestion state, at 10 and 14, because one packet still waits after 10; they leave 3
    // ticks later. One that is routed at 6 finds nothing, as those it meets joined with it, nor
    // does one of 10, as the one that waited is granted in that tick.
    for third in 0..=4 {
        let lines = contributors(1).into_iter();
        let lines = lines.chain([(third, message(0, 0, 3, 0, 256))]);
        let run = run(&fabric(|_| ()), lines, 100);
        let finds = (1..=3).contains(&third);
        let expected: &[Tick] = if finds { &[13, 17] } else { &[] };
        assert_eq!(marks(&run), expected, "sent at {third}");
    }
}

/// Checks the tick of the first mark under each way to compare fill. `first_mark` changes a control and sends 20 packets from each
/// of two inputs, for 30 ticks.
pub fn fill_is_compared(first_mark: impl Fn(&dyn Fn(&mut CongestionControl)) -> Tick) {
    // Flits that packets find, which join at 14, 18, 22: in input 1 0, 4, 4; in input 2 4, 4, 8.
    for (weight, compare, first) in [
        // The threshold is 8 flits. One queue has them at 22, both together at 18. With the
        // threshold shared, 4 flits would do, but only where two inputs are in use: at 14,
        // when 4 flits are found, input 2 alone is. The grant after 22 is at 26, that after 18 at
        // 22; packets leave 3 ticks later.
        (14, FillComparison::AnyQueue, 29),
        (14, FillComparison::Sum, 25),
        (14, FillComparison::SumShared, 25),
        // Of 12 flits: the sum is 12 at 22, and twice the sum 16 at 18.
        (13, FillComparison::Sum, 29),
        (13, FillComparison::SumShared, 25),
    ] {
        let change = |c: &mut CongestionControl| {
            marker_of(c).compare = compare;
            marker_of(c).host_ports.threshold = weight;
        };
        assert_eq!(first_mark(&change), first, "{compare:?}, weight {weight}");
    }
}

#[test]
fn fill_is_compared_in_three_ways() {
    fill_is_compared(|change| marks(&collide(&fabric(change), 20, 30))[0]);
}

#[test]
fn packets_in_central_buffers_wait_too() {
    // To NIC 5, of the other MPort. Central buffer 1 takes a packet at 6, 10, …, the output
    // buffer at 8, 12, …. Input 2 has its first packet on the way until 12, and those that
    // join at 10 find it: congested from the end of 10 on, so that it is marked itself and
    // leaves at 15. From then on one input always has a packet waiting. (Were packets in
    // the central buffer not counted, nothing would be found at 10, when it takes that one. At 14
    // the second packet of input 2 would be found, so that the first mark would leave at 19.)
    let lines = [1, 2].map(|src| (0, message(src, src as u32, 5, 0, 256 * 20)));
    let run = run(&fabric(|_| ()), lines, 29);
    let output = End::Port { switch: 0, port: 5 };
    let marked = of(&run, output).filter(|d| d.fecn).map(|d| d.tick);
    assert_eq!(marked.collect::<Vec<_>>(), [15, 19, 23, 27]);
}

#[test]
fn port_without_credits_is_a_victim_unless_masked() {
    // The receive buffer takes one packet, whose credits are all back 10 ticks after its
    // header left: packets leave at 9, 19, 29, …, and headers are routed at 6, 10, 14, …. So
    // there never are credits in a tick in which a packet joins its queue, after the first.
    let slow = |mask: bool| {
        let mut spec = fabric(|c| marker_of(c).host_ports.victim_mask = mask);
        hierarchical_of(&mut spec).buffers.nic_sink = own_pool(2, 4);
        collide(&spec, 20, 65)
    };
    assert!(marks(&slow(false)).is_empty());
    // Packets find one of input 2 at 14: congested from the end of 14 on. The output buffer
    // takes two packets, so grants wait for those before to leave it: after 6 and 10 they are at
    // 14, when the packet of 9 has left, then at 23, 33, 43, …, 4 ticks after the packets of 19,
    // 29, 39, … start. The fourth packet, granted at 23, is the first that is marked; it leaves
    // at 39.
    assert_eq!(marks(&slow(true)), [39, 49, 59]);
}

#[test]
fn starved_port_marks_and_holds_credits_back() {
    // As above, but not a victim: starved from the end of 10 on, when a packet waits in each
    // queue, which has just joined and counts, and the receive buffer has no credits.
    let starved = |change: fn(&mut CongestionControl)| {
        let mut spec = fabric(|c| {
            marker_of(c).host_ports.threshold = 0;
            marker_of(c).host_ports.credit_mask = true;
            marker_of(c).host_ports.cs_threshold = 14;
            cct_of(c).ccti_limit = 0;
            change(c);
        });
        hierarchical_of(&mut spec).buffers.nic_sink = own_pool(2, 4);
        hierarchical_of(&mut spec).buffers.input = own_pool(2, 16);
        collide(&spec, 20, 200)
    };
    let run = starved(|_| ());
    let free = starts(&run, 1);
    assert!(marks(&run).len() > 5);
    // Credits come back 20 ticks later.
    let held = starved(|c| {
        marker_of(c).host_ports.cs_return_delay = CctEntry {
            multiplier: 20,
            shift: 2,
        };
    });
    let held = starts(&held, 1);
    let first = (0..20).find(|&at| free[at] != held[at]).unwrap();
    assert!(first >= 4 && held[first] > free[first]);
    assert!(marks(&starved(|c| marker_of(c).host_ports.credit_mask = false)).is_empty());
}

#[test]
fn congestion_ends_below_the_threshold() {
    // Five packets each; two packets of an input are at the threshold. Joins end at 22, with 2
    // and 3 packets waiting, which is the first time that a packet finds two: congested from the
    // end of 22 on. After the grants at 26, 30 and 34 there are 2 and 2, 1 and 2, 1 and 1: below
    // the threshold. The packet granted at 34 is marked, being the one whose grant ends the
    // congestion, and leaves at 37.
    let run = collide(&fabric(|c| marker_of(c).host_ports.threshold = 14), 5, 300);
    assert_eq!(of(&run, OUTPUT).count(), 10);
    assert_eq!(marks(&run), [29, 33, 37]);
    // Where one packet is at the threshold, all are marked that are granted after 14.
    let run = collide(&fabric(|_| ()), 5, 300);
    assert_eq!(marks(&run), [21, 25, 29, 33, 37, 41, 45]);
}

/// One mark only: the packet that is granted at 18 and leaves at 21, NIC 2's second one. The NIC's
/// index rises by 4 at once; entry i of the table delays by 2i packets.
fn one_mark(change: impl FnOnce(&mut CongestionControl)) -> FabricSpec {
    fabric(|c| {
        marker_of(c).host_ports.marking_rate = u16::MAX;
        cct_of(c).service_levels[0].ccti_increase = 4;
        cct_of(c).cct = (0..128u16)
            .map(|i| CctEntry {
                multiplier: 2 * i,
                shift: 0,
            })
            .collect();
        change(c);
    })
}

/// Starts of the data packets of `nic`.
fn starts(run: &OracleRun, nic: usize) -> Vec<Tick> {
    let own = of(run, End::Nic(nic)).filter(|d| d.token.is_some());
    own.map(|d| d.tick).collect()
}

fn indices(run: &OracleRun) -> Vec<(Tick, u16)> {
    run.ccti.iter().map(|c| (c.tick, c.ccti)).collect()
}

#[test]
fn fecn_becn_delay_and_timer() {
    let run = collide(&one_mark(|_| ()), 60, 460);
    // The tail of the marked packet leaves at 24 and is dated 27. The CNP leaves at 27 and is at
    // NIC 2 at 27 + 9 + 3 = 39.
    let cnps: Vec<_> = of(&run, End::Nic(3)).map(|d| (d.tick, d.pair)).collect();
    assert_eq!(cnps, [(27, (3, 2))]);
    // The timer of 100 ticks starts with the BECN.
    assert_eq!(
        indices(&run),
        [(39, 4), (139, 3), (239, 2), (339, 1), (439, 0)]
    );
    let flow = FlowKey::Qp { sl: 0, dst: 3 };
    assert!(run.ccti.iter().all(|c| c.nic == 2 && c.flow == flow));
    // The send queue holds the packets that leave at 36 and 40 when the BECN comes. A packet
    // takes 4 ticks; index 4 delays the next one by 32, 3 by 24, 2 by 16, 1 by 8. The packet after
    // 112 would wait until 148; the index falls at 139, so it goes at 116 + 24. That after 224 would
    // wait until 252; the index falls at 239, so it goes at 228 + 16. That after 324 would wait
    // until 344, but the index falls at 339, and 328 + 8 has passed.
    let expected = [
        0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 76, 112, 140, 168, 196, 224, 244, 264, 284, 304,
        324, 339, 351, 363,
    ];
    assert_eq!(starts(&run, 2)[..expected.len()], expected);
    let counts = run.congestion;
    assert_eq!(
        (
            counts.marked,
            counts.notifications_sent,
            counts.notifications_received
        ),
        (1, 1, 1)
    );
    assert_eq!(counts.level_max, 4);
    // Packets of NIC 2 that start from 39 on with an index: 3 with 4 (at 40, 76, 112), …
    let with = |from, to| {
        starts(&run, 2)
            .iter()
            .filter(|&&t| from <= t && t < to)
            .count() as u64
    };
    let sum = 4 * with(39, 139) + 3 * with(139, 239) + 2 * with(239, 339) + with(339, 439);
    assert_eq!(counts.level_sum, sum);
    assert_eq!(counts.packets, run.packets_injected);
}

fn collision(change: Change) -> Collision {
    let run = collide(&fabric(change), 20, 300);
    Collision {
        counts: run.congestion,
        starts: starts(&run, 2),
        marks: marks(&run),
    }
}

#[test]
fn without_a_source_control_notifications_change_nothing() {
    check_without_source_control(collision);
}

#[test]
fn without_a_marker_nothing_is_marked() {
    check_without_marker(collision);
}

#[test]
fn cnp_goes_before_data() {
    // NIC 3 sends all the time; the CNP of 27 has the link at 28, data again at 29.
    let stream = (0, message(3, 3, 5, 0, 256 * 20));
    let lines = contributors(60).into_iter().chain([stream]);
    let run = run(&one_mark(|_| ()), lines, 60);
    let sent: Vec<_> = of(&run, End::Nic(3)).map(|d| (d.tick, d.token)).collect();
    assert_eq!(sent[6..9], [(24, Some(3)), (28, None), (29, Some(3))]);
    // It follows the data through the input buffer, to the other output, without delay.
    assert_eq!(indices(&run)[0], (40, 4));
    // CNPs are neither injected nor delivered, but links carry them.
    let nic = run
        .links
        .iter()
        .find(|link| link.from == End::Nic(3))
        .unwrap();
    let data = sent.iter().filter(|(_, token)| token.is_some()).count() as u64;
    assert_eq!((nic.packets, nic.flits), (data + 1, 4 * data + 1));
}

#[test]
fn held_flow_lets_others_pass() {
    for (level, passes) in [(FlowLevel::Qp, true), (FlowLevel::Sl, false)] {
        let spec = one_mark(|c| cct_of(c).level = level);
        // The link of NIC 2 is free from 44 on, when it has sent what was in the send queue.
        let other = (44, message(9, 2, 5, 0, 256));
        let run = run(&spec, contributors(20).into_iter().chain([other]), 200);
        let start = of(&run, End::Nic(2)).find(|d| d.token == Some(9));
        // At the level of SLs the turn is at NIC 5 when the delay is over, at 44 + 32.
        assert_eq!(
            start.unwrap().tick,
            if passes { 44 } else { 76 },
            "{level:?}"
        );
    }
}

#[test]
fn send_queue_has_one_packet_of_a_flow_with_an_index() {
    // Index 1 delays by nothing. Packets of SL 1 to NIC 6 share the link, packet by packet;
    // the index of SL 0 is at least 1.
    let spec = |least| {
        fabric(|c| {
            cct_of(c).cct[1].multiplier = 0;
            cct_of(c).service_levels[0].ccti_min = least;
        })
    };
    let lines = [
        (0, message(1, 1, 3, 0, 256 * 3)),
        (0, message(2, 1, 6, 1, 256 * 3)),
    ];
    // Without it, both flows of the NIC have two packets in the send queue from the start.
    let waits = |run: &OracleRun| {
        let link = run.links.iter().find(|link| link.from == End::Nic(1));
        link.unwrap().queue_wait
    };
    let free = run(&spec(0), lines, 100);
    assert_eq!(starts(&free, 1), [0, 4, 8, 12, 16, 20]);
    // Moved at 0, 0, 0, 0 and, when all credits of the first packets are back, at 4 and 8.
    assert_eq!(waits(&free), 4 + 8 + 12 + (16 - 4) + (20 - 8));
    let held = run(&spec(1), lines, 100);
    assert_eq!(starts(&held, 1), [0, 4, 8, 12, 16, 20]);
    // SL 0: moved at 0, at 4 and at 12, each after the tail of the one before.
    assert_eq!(waits(&held), 4 + (8 - 4) + 12 + (16 - 12) + (20 - 8));
}

#[test]
fn timer_of_a_service_level_runs_freely() {
    let run = collide(&one_mark(|c| cct_of(c).timer = TimerScope::PerSl), 60, 460);
    assert_eq!(
        indices(&run),
        [(39, 4), (100, 3), (200, 2), (300, 1), (400, 0)]
    );
}

#[test]
fn index_stays_between_minimum_and_limit() {
    let spec = one_mark(|c| {
        cct_of(c).ccti_limit = 5;
        cct_of(c).service_levels[0].ccti_min = 2;
    });
    let third = (2, message(0, 0, 3, 0, 256));
    let run = run(&spec, contributors(20).into_iter().chain([third]), 460);
    // Index 2 delays by 16, so packets of NICs 1 and 2 meet at 6, 26, …. At 6 that of NIC 2 waits,
    // and the packet of NIC 0 finds it at 8. So it is granted at 10 in the congestion state, leaves
    // at 13, and is at NIC 3 at 19. Its BECN is back 12 ticks later.
    assert_eq!(indices(&run), [(31, 5), (131, 4), (231, 3), (331, 2)]);
    // The third packet waits for 24 + 40.
    assert_eq!(starts(&run, 2)[..3], [0, 20, 64]);
}

#[test]
fn becn_restarts_the_timer_if_it_shall() {
    // Every fourth packet is marked, from the one granted at 18 on. The next one is granted at 34;
    // as inputs take turns, both come from NIC 2. They leave at 21 and 37, and their BECNs are
    // back 18 ticks later.
    let change = |c: &mut CongestionControl| {
        marker_of(c).host_ports.marking_rate = 3;
        cct_of(c).timer_restart = TimerRestart::OnBecn;
    };
    let run = collide(&fabric(change), 20, 1000);
    let own: Vec<_> = run.ccti.iter().filter(|c| c.nic == 2).collect();
    let first: Vec<_> = own.iter().map(|c| (c.tick, c.ccti)).take(2).collect();
    assert_eq!(first, [(39, 1), (55, 2)]);
    let mut falls = 0;
    for pair in own.windows(2).filter(|pair| pair[1].ccti < pair[0].ccti) {
        assert_eq!(pair[1].tick, pair[0].tick + 100);
        falls += 1;
    }
    assert!(falls > 0);
}

#[test]
fn samples_show_port_vls_and_flows() {
    let script = contributors(60).map(|(tick, message)| (Cue::At(tick), message));
    let run = oracle::run_sampled(&one_mark(|_| ()), &mut Script::new(script), 100, Some(40));
    assert_eq!(
        run.samples.iter().map(|s| s.tick).collect::<Vec<_>>(),
        [39, 79]
    );
    let first = &run.samples[0];
    // Tails are dated 15, 19, … 39: four packets of NIC 1, three of NIC 2.
    assert_eq!(first.payload[&(1, 3, 0)], 4 * 256);
    assert_eq!(first.payload[&(2, 3, 0)], 3 * 256);
    // Each has had 9 packets routed (at 6, 10, … 38), 9 of them all were granted.
    assert_eq!(first.port_vls[&(0, 3, 0)], (9 * 4, 1));
    let seen: Vec<_> = first
        .flows
        .iter()
        .map(|(key, f)| (key.0, f.ccti, f.delay))
        .collect();
    // The BECN comes at 39.
    assert_eq!(seen, [(1, 0, 0), (2, 4, 32)]);
}

#[test]
fn cnp_must_fit_everywhere() {
    // A CNP of 9 flits is larger than the output buffer for its VL.
    let mut spec = fabric(|c| c.notification = Notification::Cnp { bytes: 9 * 64 });
    assert_eq!(spec.validate().unwrap_err().key, "fabric.nic_queue");
    hierarchical_of(&mut spec).buffers.nic_queue = own_pool(2, 9);
    assert_eq!(spec.validate().unwrap_err().key, "fabric.output_buffer");
    spec.congestion_control.as_mut().unwrap().notification = Notification::Ack;
    assert_eq!(
        spec.validate().unwrap_err().key,
        "congestion_control.notification"
    );
}
