//! The test bed of *InfiniBand Congestion Control: Modelling and validation* (Gran and
//! Reinemo, 2011), section 4, on the oracle: H1–H3 at one switch, H4–H7 at another, in a
//! time scale of some hundred thousandth, which a simulator flit by flit can carry. What it
//! says in section 6.1 must hold.

use crate::common::infiniband::{
    cct_of, control, marker_of, ratio, static_pool, voq_fabric, voq_of,
};
use crate::common::script::{Cue, Script, message};
use flitwise::fabric::spec::congestion::TimerRestart;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::topology::Topology;
use flitwise_oracles::voq::{self as oracle_ib, End, IbRun, RunEnd, SentPacket};

/// Hosts of the paper, as adapters: the fourth place at the first switch stays idle.
const H: [u32; 8] = [u32::MAX, 0, 1, 2, 4, 5, 6, 7];
/// Source and destination of F1 to F5 of scenario 1.
const FLOWS: [(usize, usize); 5] = [(1, 4), (2, 5), (3, 5), (6, 5), (7, 5)];
/// Ticks from one flow to the next, and of the time in which a new one is not yet judged.
const STEP: Tick = 60_000;
const SETTLING: Tick = 20_000;
/// Ticks of scenario 1 after its last flow has come: long enough for averages over a hundred
/// periods of the timer.
const LAST: Tick = 260_000;
/// Endpoints: 0.4 flits per tick, 12.8 Gb/s in 16 ns ticks.
const ENDPOINT: (u64, u64) = (2, 5);
/// Flits of a packet, with its headers: links count bytes.
const PACKET: f64 = (512.0 + 26.0) / 64.0;

/// Host links DDR x4 (half a flit per tick), QDR x4 between the switches, endpoints that are
/// slower than their links, packets of 512 B and buffers of 8 of them.
fn test_bed() -> FabricSpec {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 4, 1, None).unwrap());
    for level in &mut spec.qos.service_levels {
        level.mtu_bytes = 512;
    }
    spec.units.header_bytes = 26;
    voq_of(&mut spec).buffers.input = static_pool(2, 72);
    voq_of(&mut spec).buffers.nic_sink = static_pool(2, 72);
    voq_of(&mut spec).buffers.output = 18;
    voq_of(&mut spec).buffers.nic_queue = 18;
    let voq = voq_of(&mut spec);
    voq.links.nic = ratio(1, 2);
    voq.hca.send_rate = Some(ratio(ENDPOINT.0, ENDPOINT.1));
    voq.hca.sink_rate = Some(ratio(ENDPOINT.0, ENDPOINT.1));
    spec
}

/// Flows start one by one and never end; the run lasts for `last` ticks after the last one.
fn scenario(spec: &FabricSpec, flows: &[(usize, usize)], last: Tick) -> IbRun {
    let ticks = STEP * (flows.len() as u64 - 1) + last;
    let bytes = ticks * 64 / 2;
    let lines = flows
        .iter()
        .zip(0..)
        .map(|(&(from, to), i)| (Cue::At(i * STEP), message(i, H[from], H[to], 0, bytes)));
    let mut script = Script::new(lines);
    let run = oracle_ib::run(spec, &mut script, ticks);
    assert_eq!(run.end, RunEnd::OutOfTicks);
    run
}

/// Throughput of `flow` after the `active`-th flow has come, as a share of what an endpoint
/// can send.
fn share(run: &IbRun, flow: usize, active: usize) -> f64 {
    let from = (active as u64 - 1) * STEP + SETTLING;
    let last = run.messages == active as u64;
    let to = if last {
        run.end_tick
    } else {
        active as u64 * STEP
    };
    let own = run.reports.iter().filter(|r| r.token == flow as u64 - 1);
    let packets = own.filter(|r| (from..to).contains(&r.delivered)).count();
    let endpoint = (to - from) as f64 * ENDPOINT.0 as f64 / ENDPOINT.1 as f64;
    packets as f64 * PACKET / endpoint
}

fn assert_shares(run: &IbRun, active: usize, expected: &[f64]) {
    for (flow, &expected) in (1..).zip(expected) {
        let share = share(run, flow, active);
        assert!(
            (share - expected).abs() < 0.01,
            "F{flow} of {active}: {share:.4} of an endpoint, not {expected:.4}"
        );
    }
}

#[test]
fn without_control_there_is_blocking_and_a_parking_lot() {
    let run = scenario(&test_bed(), &FLOWS, STEP);
    assert_shares(&run, 1, &[1.0]);
    assert_shares(&run, 2, &[1.0, 1.0]);
    assert_shares(&run, 3, &[0.5; 3]);
    assert_shares(&run, 4, &[0.25, 0.25, 0.25, 0.5]);
    let (sixth, third) = (1.0 / 6.0, 1.0 / 3.0);
    assert_shares(&run, 5, &[sixth, sixth, sixth, third, third]);
}

#[test]
fn without_control_three_flows_share_the_link_between_the_switches() {
    // Scenario 2: 1 flit per tick among flows that could send 0.4 each.
    let run = scenario(&test_bed(), &[(1, 4), (2, 5), (3, 6)], STEP);
    assert_shares(&run, 2, &[1.0, 1.0]);
    assert_shares(&run, 3, &[1.0 / 1.2; 3]);
}

/// The test bed with congestion control: every fourth packet is marked while a queue fills a
/// quarter of its buffer; the index falls when no BECN has come for 2000 ticks (32 us), an index
/// of 4 is a delay of one packet. A quarter is two packets, so a third one causes congestion.
fn controlled() -> FabricSpec {
    let mut spec = test_bed();
    let mut congestion = control(12, 2, 2000);
    marker_of(&mut congestion).host_ports.victim_mask = true;
    marker_of(&mut congestion).host_ports.marking_rate = 3;
    marker_of(&mut congestion).switch_ports.marking_rate = 3;
    cct_of(&mut congestion).timer_restart = TimerRestart::OnBecn;
    spec.congestion_control = Some(Box::new(congestion));
    spec
}

#[test]
fn with_control_the_victim_is_free_and_the_contributors_are_equal() {
    let run = scenario(&controlled(), &FLOWS, LAST);
    assert_shares(&run, 1, &[1.0]);
    assert_shares(&run, 2, &[1.0, 1.0]);
    // With two contributors, F1 to F3 together ask for more than the link between the
    // switches has: its dips are no blocking (§6.1 explains them so in the simulation).
    assert!(share(&run, 1, 3) > 0.8);
    let s1 = End::Port { switch: 0, port: 4 };
    let of_first = |d: &&SentPacket| d.pair == (H[1], H[4]);
    let marked: Vec<_> = run
        .marked(s1)
        .filter(of_first)
        .map(|d| d.tick / STEP)
        .collect();
    let in_step = |step: Tick| marked.iter().filter(|&&marked| marked == step).count();
    let often = [0, 1, 2, 3].map(in_step);
    // The last step takes in all the rest, LAST ticks.
    let last = marked.iter().filter(|&&step| step >= 4).count();
    println!("marks of F1 at S1 in each step: {often:?}, {last}");
    assert_eq!(often[..2], [0, 0]);
    assert!(often[2] > often[3] && often[2] * LAST as usize > last * STEP as usize);
    assert!(
        share(&run, 1, 4) > 0.98 && share(&run, 1, 5) > 0.99,
        "F1 is no victim"
    );
    let contributors: Vec<f64> = (2..=5).map(|flow| share(&run, flow, 5)).collect();
    let sum: f64 = contributors.iter().sum();
    let squares: f64 = contributors.iter().map(|x| x * x).sum();
    let jain = sum * sum / (4.0 * squares);
    println!(
        "F1 {:.3}, then {contributors:.3?}, Jain {jain:.4}, sum {sum:.3}",
        share(&run, 1, 5)
    );
    assert!(jain >= 0.98, "Jain index {jain:.4} of {contributors:.3?}");
    assert!(sum >= 0.9, "the bottleneck is used to {sum:.3}");
}

#[test]
fn with_control_three_flows_lose_and_oscillate() {
    // Scenario 2, all at once, for long: the root is the link between the switches, and
    // control costs what it cannot gain. The paper has 9 of 11.4 Gb/s.
    let lines = [(1, 4), (2, 5), (3, 6)]
        .into_iter()
        .zip(0..)
        .map(|((from, to), i)| {
            (
                Cue::At(i * 1000),
                message(i, H[from], H[to], 0, 64 * 160_000),
            )
        });
    let (from, to) = (20_000, 320_000);
    let run = oracle_ib::run(&controlled(), &mut Script::new(lines), to);
    let shares = [0, 1, 2].map(|token| {
        let own = run
            .reports
            .iter()
            .filter(|r| r.token == token && r.delivered >= from);
        // Of a third of the link.
        3.0 * own.count() as f64 * PACKET / (to - from) as f64
    });
    for share in shares {
        assert!((0.65..0.95).contains(&share), "{shares:.3?}");
    }
    let changes = run.ccti.iter().filter(|c| c.tick >= from);
    assert!(changes.count() > 300, "indices go on rising and falling");
}
