//! Congestion control in the oracle of the InfiniBand fabric: marks, notifications and
//! delays computed by hand from `docs/model/infiniband.md`, sections 9 to 11.

use crate::common::collision::{
    Change, Collision, check_without_marker, check_without_source_control,
};
use crate::common::infiniband::{
    cct_of, control, marker_of, ratio, static_pool, voq_fabric, voq_of,
};
use crate::common::script::{Cue, Script, message};
use crate::oracle_congestion::fill_is_compared;
use flitwise::fabric::spec::congestion::{
    CctEntry, CctiBound, FlowLevel, IrdBase, Marking, SlScope, TimerRestart, TimerScope,
};
use flitwise::fabric::spec::voq::Acks;
use flitwise::fabric::spec::{CongestionControl, FabricSpec, Notification, Tick};
use flitwise::fabric::topology::Topology;
use flitwise::random::{Purpose, Stream};
use flitwise_oracles::voq::{self as oracle_ib, End, FlowKey, IbRun, PacketKind};

const OUTPUT: End = End::Port { switch: 0, port: 3 };

/// Eight adapters at a switch; a queue of one packet is at the threshold: weight 15 is 1/16 of
/// 64 flits. So there is congestion once a packet finds one that waits.
fn fabric(change: impl FnOnce(&mut CongestionControl)) -> FabricSpec {
    let mut spec = voq_fabric(Topology::single(8).unwrap());
    let mut congestion = control(15, 0, 100);
    change(&mut congestion);
    spec.congestion_control = Some(Box::new(congestion));
    spec
}

/// Adapters 1 and 2 send `packets` packets of 4 flits each to adapter 3, from tick 0 on.
fn collide(spec: &FabricSpec, packets: u64, ticks: Tick) -> IbRun {
    let lines = [1, 2].map(|src| (Cue::At(0), message(src, src as u32, 3, 0, 256 * packets)));
    oracle_ib::run(spec, &mut Script::new(lines), ticks)
}

/// Ticks in which marked packets left for adapter 3.
fn marks(run: &IbRun) -> Vec<Tick> {
    run.marked(OUTPUT).map(|d| d.tick).collect()
}

#[test]
fn packets_are_marked_once_one_finds_a_queue_at_the_threshold() {
    // Both inputs get a packet at 6, 10, 14, …; the output grants 1, 2, 1, 2, … in the
    // same ticks. Packets waiting after each tick: input 1 0, 1, 1, 2; input 2 1, 1, 2, 2.
    // Without those that joined in it, 0, 0, 0, 1 and 0, 0, 1, 1: at 6 and 10 packets find
    // nothing that still waits, at 14 they find one of input 2. So the Port VL is congested from
    // the end of 14 on, and the first packet that is granted in that state is that of 18.
    // Packets leave 3 ticks after their grant.
    let run = collide(&fabric(|_| ()), 20, 35);
    assert_eq!(marks(&run), [21, 25, 29, 33]);
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
    // One packet of adapters 1 and 2 each; both join at 6. That of adapter 1 is granted at once,
    // that of adapter 2 waits until 10: 4 flits, the threshold, but it has not found them.
    let two = [1, 2].map(|src| (Cue::At(0), message(src, src as u32, 3, 0, 256)));
    let run = oracle_ib::run(&fabric(|_| ()), &mut Script::new(two), 100);
    assert_eq!(starts(&run, 2), [0]);
    assert!(marks(&run).is_empty());
    // A packet of adapter 0 that joins at 7, 8 or 9 finds that one. Both are granted in the
    // congestion state, at 10 and 14, because one packet still waits after 10; they leave 3
    // ticks later. One that joins at 6 finds nothing, as those it meets joined with it, nor does
    // one that joins at 10, as the one that waited is granted in that tick.
    for third in 0..=4 {
        let lines = two.into_iter();
        let lines = lines.chain([(Cue::At(third), message(0, 0, 3, 0, 256))]);
        let run = oracle_ib::run(&fabric(|_| ()), &mut Script::new(lines), 100);
        let finds = (1..=3).contains(&third);
        let expected: &[Tick] = if finds { &[13, 17] } else { &[] };
        assert_eq!(marks(&run), expected, "sent at {third}");
    }
}

#[test]
fn marks_are_drawn_from_a_stream_of_the_port_vl() {
    let drawn = |seed, rate| {
        let change = |c: &mut CongestionControl| {
            marker_of(c).marking = Marking::Random;
            marker_of(c).marking_seed = seed;
            marker_of(c).host_ports.marking_rate = rate;
            // One increase only, so that the queues stay at the threshold.
            cct_of(c).ccti_limit = 0;
        };
        collide(&fabric(change), 600, 4000)
    };
    // Eligible packets are granted at 18, 22, … and leave at 21, 25, …; one in three words is
    // below 2^64 / 3.
    let mut stream = Stream::new(7, Purpose::Marking, [3, 0]);
    let expected: Vec<Tick> = (21..4000)
        .step_by(4)
        .filter(|_| stream.bits() <= u64::MAX / 3)
        .collect();
    assert_eq!(marks(&drawn(7, 2)), expected);
    assert!((270..390).contains(&expected.len()), "{}", expected.len());
    assert_ne!(marks(&drawn(8, 2)), expected);
    assert_eq!(marks(&drawn(7, 0)).len(), (21..4000).step_by(4).count());
}

#[test]
fn fill_is_compared_in_three_ways() {
    fill_is_compared(|change| marks(&collide(&fabric(change), 20, 30))[0]);
}

#[test]
fn port_without_credits_is_a_victim_unless_masked() {
    // The host takes a flit in four ticks and buffers one packet.
    let slow = |mask: bool| {
        let mut spec = fabric(|c| marker_of(c).host_ports.victim_mask = mask);
        voq_of(&mut spec).buffers.nic_sink = static_pool(2, 4);
        voq_of(&mut spec).hca.sink_rate = Some(ratio(1, 4));
        collide(&spec, 20, 100)
    };
    assert!(marks(&slow(false)).is_empty());
    // The packet granted at 6 takes all credits, so nothing is granted at 10, and packets that
    // join then find one of input 2: congested from the end of 10 on. The host takes the packets'
    // flits from 12, 34, 56, … on, four ticks each; credits are back 16 ticks later, so packets
    // are granted at 28, 50, 72, 94, all in the congestion state.
    assert_eq!(marks(&slow(true)), [31, 53, 75, 97]);
}

#[test]
fn starved_port_marks_and_holds_credits_back() {
    // As above, but not a victim. Starvation counts all packets, and two of input 2 are at its
    // threshold of 14: starved from the end of 10 on. Each grant takes the credits in the tick
    // in which they are back, so the Port VL stays so.
    let starved = |change: fn(&mut CongestionControl)| {
        let mut spec = fabric(|c| {
            marker_of(c).host_ports.threshold = 0;
            marker_of(c).host_ports.credit_mask = true;
            marker_of(c).host_ports.cs_threshold = 14;
            change(c);
        });
        voq_of(&mut spec).buffers.nic_sink = static_pool(2, 4);
        voq_of(&mut spec).hca.sink_rate = Some(ratio(1, 4));
        cct_of(spec.congestion_control.as_mut().unwrap()).ccti_limit = 0;
        collide(&spec, 20, 140)
    };
    let run = starved(|_| ());
    assert_eq!(marks(&run), [31, 53, 75, 97, 119]);
    // Input 1 holds 16 packets. Those granted at 6, 50 and 94 have given all credits back at
    // 14, 58 and 102; a packet takes 4 ticks.
    assert_eq!(starts(&run, 1)[15..], [60, 64, 68, 102]);
    // Five times the four ticks of a packet later; the first was granted at 6, before it was
    // starved.
    let run = starved(|c| {
        marker_of(c).host_ports.cs_return_delay = CctEntry {
            multiplier: 20,
            shift: 2,
        };
    });
    assert_eq!(starts(&run, 1)[15..], [60, 64, 78, 122]);
    // Neither without the mask nor below the threshold.
    for change in [
        (|c| marker_of(c).host_ports.credit_mask = false) as fn(&mut CongestionControl),
        |c| marker_of(c).host_ports.cs_threshold = 0,
    ] {
        let run = starved(change);
        assert!(marks(&run).is_empty());
        assert_eq!(starts(&run, 1)[15..], [60, 64, 68, 102]);
    }
}

#[test]
fn congestion_ends_below_the_threshold() {
    // Five packets each: the queues run empty. A queue of two packets is at the threshold.
    let run = collide(&fabric(|c| marker_of(c).host_ports.threshold = 14), 5, 300);
    let all: Vec<_> = run.sent.iter().filter(|d| d.from == OUTPUT).collect();
    assert_eq!(all.len(), 10);
    // Grants at 6, 10, …, 42. Joins end at 22 with 2 and 3 packets waiting, which is the first
    // time that a packet finds two: congested from the end of 22 on. After the grants at 26, 30 and
    // 34 there are 2 and 2, 1 and 2, 1 and 1: below the threshold from the end of 34 on. So
    // the packets granted from 26 to 34 are marked, the last being the one whose grant ends the
    // congestion.
    assert_eq!(marks(&run), [29, 33, 37]);
    // Where one packet is at the threshold, all are marked that are granted after 14.
    let run = collide(&fabric(|_| ()), 5, 300);
    assert_eq!(marks(&run), [21, 25, 29, 33, 37, 41, 45]);
}

/// Starts of the data packets of `adapter`.
fn starts(run: &IbRun, adapter: usize) -> Vec<Tick> {
    let own = run.sent.iter();
    let own = own.filter(|d| d.from == End::Nic(adapter) && d.kind == PacketKind::Data);
    own.map(|d| d.tick).collect()
}

/// One mark only: the packet that is granted at 18 and leaves at 21, adapter 2's second one. The
/// adapter's index rises by 4 at once; entry i of the table delays by 2i packets.
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

fn indices(run: &IbRun) -> Vec<(Tick, u16)> {
    run.ccti.iter().map(|c| (c.tick, c.ccti)).collect()
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
fn fecn_becn_delay_and_timer() {
    let run = collide(&one_mark(|_| ()), 60, 460);
    // The tail of the marked packet leaves at 24 and is dated 27. The CNP leaves at 27 and is
    // at adapter 2 at 27 + 3 + 9 = 39.
    let cnp: Vec<_> = run
        .sent
        .iter()
        .filter(|d| d.kind == PacketKind::Cnp)
        .collect();
    assert_eq!(
        (cnp[0].tick, cnp[0].from, cnp[0].pair),
        (27, End::Nic(3), (3, 2))
    );
    assert!(cnp[0].becn);
    // The timer of 100 ticks starts with the BECN.
    assert_eq!(
        indices(&run),
        [(39, 4), (139, 3), (239, 2), (339, 1), (439, 0)]
    );
    let flow = FlowKey::Qp { sl: 0, dst: 3 };
    assert!(run.ccti.iter().all(|c| c.nic == 2 && c.flow == flow));
    // A packet takes 4 ticks; index 4 delays the next one by 32, 3 by 24, 2 by 16, 1 by 8. The
    // packet after 108 would wait until 144, but the index falls at 139, and 112 + 24 has passed.
    // That after 223 would wait until 251; the index falls at 239, so it goes at 227 + 16. That
    // after 323 would wait until 343, but the index falls at 339, and 327 + 8 has passed.
    let expected = [
        0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 72, 108, 139, 167, 195, 223, 243, 263, 283, 303, 323,
        339, 351, 363,
    ];
    assert_eq!(starts(&run, 2)[..expected.len()], expected);
}

#[test]
fn other_flows_pass_a_held_one() {
    for (level, passes) in [(FlowLevel::Qp, true), (FlowLevel::Sl, false)] {
        let spec = one_mark(|c| cct_of(c).level = level);
        let lines = [1, 2].map(|src| (Cue::At(0), message(src, src as u32, 3, 0, 256 * 20)));
        let other = [(Cue::At(40), message(9, 2, 5, 0, 256))];
        let run = oracle_ib::run(&spec, &mut Script::new(lines.into_iter().chain(other)), 200);
        let start = run.sent.iter().find(|d| d.token == Some(9)).unwrap().tick;
        // At the level of SLs, both queue pairs wait until 36 + 4 + 32. Then the turn is at that to
        // adapter 5, because the one to adapter 3 was served last.
        assert_eq!(start, if passes { 40 } else { 72 }, "{level:?}");
    }
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
    let lines = [1, 2].map(|src| (Cue::At(0), message(src, src as u32, 3, 0, 256 * 20)));
    let third = [(Cue::At(2), message(0, 0, 3, 0, 256))];
    let run = oracle_ib::run(&spec, &mut Script::new(lines.into_iter().chain(third)), 460);
    // Index 2 delays by 16, so packets of adapters 1 and 2 meet at 6, 26, …. At 6 that of adapter 2
    // waits, and the packet of adapter 0 finds it at 8. So it is granted at 10 in the congestion
    // state, leaves at 13, and is at adapter 3 at 19. Its BECN is back 12 ticks later.
    assert_eq!(indices(&run), [(31, 5), (131, 4), (231, 3), (331, 2)]);
    // The third packet waits for 24 + 40.
    assert_eq!(starts(&run, 2)[..3], [0, 20, 64]);
}

/// Indices of adapter 2. Every fourth packet is marked, from the one granted at 18 on. The next one
/// is granted at 34; as inputs take turns, both come from adapter 2. They leave at 21 and 37, and
/// their BECNs are back 18 ticks later.
fn two_marks(restart: TimerRestart) -> Vec<(Tick, u16)> {
    let change = |c: &mut CongestionControl| {
        marker_of(c).host_ports.marking_rate = 3;
        cct_of(c).timer_restart = restart;
    };
    let run = collide(&fabric(change), 20, 1000);
    let own = run.ccti.iter().filter(|c| c.nic == 2);
    let own: Vec<_> = own.map(|c| (c.tick, c.ccti)).collect();
    assert_eq!(own[..2], [(39, 1), (55, 2)]);
    own
}

#[test]
fn timer_runs_on_beside_becns() {
    let own = two_marks(TimerRestart::AtExpiry);
    let fall = own.windows(2).find(|pair| pair[1].1 < pair[0].1).unwrap()[1].0;
    // A timer of 100 ticks, from the first BECN.
    assert_eq!(fall, 139);
}

#[test]
fn becn_restarts_the_timer_if_it_shall() {
    let own = two_marks(TimerRestart::OnBecn);
    let mut falls = 0;
    for pair in own.windows(2).filter(|pair| pair[1].1 < pair[0].1) {
        assert_eq!(pair[1].0, pair[0].0 + 100);
        falls += 1;
    }
    assert!(falls > 0);
}

#[test]
fn increase_beyond_the_limit_saturates_or_is_skipped() {
    for (bound, second) in [(CctiBound::Saturate, 5), (CctiBound::Skip, 4)] {
        let change = |c: &mut CongestionControl| {
            marker_of(c).host_ports.marking_rate = 3;
            cct_of(c).service_levels[0].ccti_increase = 4;
            cct_of(c).ccti_limit = 5;
            cct_of(c).ccti_bound = bound;
        };
        let run = collide(&fabric(change), 20, 60);
        // BECNs of the marks at 18 and 34, as in `two_marks`.
        let own = run.ccti.iter().filter(|c| c.nic == 2);
        let own: Vec<_> = own.map(|c| (c.tick, c.ccti)).collect();
        assert_eq!(own, [(39, 4), (55, second)], "{bound:?}");
    }
}

#[test]
fn trigger_threshold_counts_events_and_changes_nothing() {
    let with = |trigger| {
        collide(
            &one_mark(|c| cct_of(c).service_levels[0].trigger_threshold = trigger),
            60,
            460,
        )
    };
    let without = with(0);
    let logged = |run: &IbRun| run.congestion.cct.unwrap().threshold_events;
    assert_eq!(logged(&without), 0);
    for (trigger, events) in [(1, 1), (4, 1), (5, 0)] {
        let run = with(trigger);
        assert_eq!(logged(&run), events, "{trigger}");
        assert_eq!(starts(&run, 2), starts(&without, 2));
    }
}

#[test]
fn delay_may_count_largest_packets() {
    for (base, flits) in [(IrdBase::Packet, 1), (IrdBase::MaxPacket, 4)] {
        let spec = one_mark(|c| cct_of(c).ird_base = base);
        // Packets of one flit.
        let lines = (0..60).map(|i| (Cue::At(0), message(i, 1 + i as u32 % 2, 3, 0, 64)));
        let run = oracle_ib::run_sampled(&spec, &mut Script::new(lines), 80, Some(10));
        let controlled = run.samples.iter().flat_map(|sample| sample.flows.values());
        let mut controlled = controlled.filter(|flow| flow.ccti > 0);
        let first = controlled.next().unwrap();
        assert_eq!((first.ccti, first.delay), (4, 8 * flits), "{base:?}");
    }
}

#[test]
fn largest_index_may_hold_the_whole_adapter() {
    // The index of SL 0 holds the adapter until 36 + 4 + 32, or its own packets only.
    for (scope, start) in [(SlScope::Flow, 40), (SlScope::Link, 72)] {
        let spec = one_mark(|c| (cct_of(c).level, cct_of(c).sl_scope) = (FlowLevel::Sl, scope));
        let lines = [1, 2].map(|src| (Cue::At(0), message(src, src as u32, 3, 0, 256 * 20)));
        let other = [(Cue::At(40), message(9, 2, 5, 1, 256))];
        let run = oracle_ib::run(&spec, &mut Script::new(lines.into_iter().chain(other)), 200);
        let first = run.sent.iter().find(|d| d.token == Some(9)).unwrap();
        assert_eq!(first.tick, start, "{scope:?}");
    }
}

#[test]
fn acks_carry_becns_of_reliable_connections() {
    let reliable = |acks| {
        let mut spec = one_mark(|c| c.notification = Notification::Ack);
        voq_of(&mut spec).hca.acks = acks;
        collide(&spec, 20, 460)
    };
    let acks = |run: &IbRun| -> Vec<(Tick, u32, bool)> {
        let acks = run.sent.iter();
        let acks = acks.filter(|d| d.kind == PacketKind::Ack && d.from == End::Nic(3));
        acks.map(|d| (d.tick, d.pair.1, d.becn)).collect()
    };
    let run = reliable(Acks::PerPacket);
    // Tails are dated 15, 19, 23, …: of adapters 1, 2, 1, 2, …; the fourth was marked.
    assert_eq!(
        acks(&run)[..4],
        [
            (15, 1, false),
            (19, 2, false),
            (23, 1, false),
            (27, 2, true)
        ]
    );
    assert_eq!(indices(&run)[0], (39, 4));
    // One ACK per message, at its end, tells it later. The message of adapter 1 ends first.
    let run = reliable(Acks::PerMessage);
    let told: Vec<_> = acks(&run).iter().map(|&(_, to, becn)| (to, becn)).collect();
    assert_eq!(told, [(1, false), (2, true)]);
    assert!(run.sent.iter().all(|d| d.kind != PacketKind::Cnp));
    // An ACK at once comes beside that of the message.
    let mut spec = one_mark(|c| c.notification = Notification::AckNow);
    voq_of(&mut spec).hca.acks = Acks::PerMessage;
    let run = collide(&spec, 20, 460);
    assert_eq!(acks(&run)[0], (27, 2, true));
    let told: Vec<_> = acks(&run)[1..]
        .iter()
        .map(|&(_, to, becn)| (to, becn))
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told.contains(&(1, false)) && told.contains(&(2, false)));
    assert_eq!(indices(&run)[0], (39, 4));
}
