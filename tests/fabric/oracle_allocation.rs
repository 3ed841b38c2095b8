//! Timed scripts for the allocators of the oracle, computed by hand from `docs/model/fabric.md` §6.

use crate::common::infiniband::control;
use crate::common::script::{Cue, Script, message};
use crate::common::specs::{even_pool, hierarchical_of};
use crate::oracle_scripts::{VO, port, run_at_once, single, ticks, way};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::spec::congestion::SourceControl;
use flitwise::fabric::spec::hierarchical::{AllocationRule, Allocator, VirtualAllocation};
use flitwise_oracles::hierarchical::{self as oracle, End, OracleRun};

#[test]
fn allocation_overlaps_the_crossing_before_it() {
    let run = run_at_once(
        &single(4),
        [message(0, 0, 2, VO, 8), message(1, 1, 2, VO, 8)],
    );
    // Both ready at 90. Input 0 wins and crosses at 98; the output is free from
    // 99, so idle for allocation from 91: the other crosses at 99.
    assert_eq!(way(&run, 0)[1], (150, port(0, 2)));
    assert_eq!(way(&run, 1)[1], (151, port(0, 2)));
}

#[test]
fn blind_sources_pick_heads_that_must_wait() {
    const VI: u8 = 1;
    const CL: u8 = 2;
    let run = |allocation| {
        let mut spec = single(4);
        hierarchical_of(&mut spec).virtual_allocation = allocation;
        hierarchical_of(&mut spec).timing.mport_speedup = 1;
        // 15 flits of NIC 1 cross to output 2 in 98-112: it is idle for allocation from 105.
        let mut script = Script::new([
            (Cue::At(0), message(0, 1, 2, VO, 120)),
            (Cue::At(4), message(1, 0, 2, CL, 8)),
            (Cue::At(5), message(2, 0, 2, VI, 8)),
            (Cue::At(6), message(3, 0, 3, VO, 8)),
        ]);
        oracle::run(&spec, &mut script, 10_000)
    };
    let tokens = |run: &OracleRun| {
        let to_2 = run.sent.iter().filter(|d| d.from == port(0, 2));
        to_2.filter_map(|d| d.token).collect::<Vec<_>>()
    };
    // In input 0, heads on VL 4 from 94, VL 2 from 95 and VL 1 from 96. The last is for
    // output 3: granted at 96, it crosses at 104, and the pointer is 2.
    let informed = run(VirtualAllocation::Informed);
    assert_eq!(ticks(&informed, port(0, 3)), [156]);
    assert_eq!(tokens(&informed), [0, 2, 1]);
    // Picked in 94: VL 4; 95: VL 2; 96: VL 4; 97: VL 1, granted a tick later. From 98 on,
    // VLs 2 and 4 in turn: in 105 VL 4.
    let blind = run(VirtualAllocation::Blind);
    assert_eq!(ticks(&blind, port(0, 3)), [157]);
    assert_eq!(tokens(&blind), [0, 1, 2]);
    for run in [informed, blind] {
        assert_eq!(ticks(&run, port(0, 2)), [150, 165, 166]);
    }
}

fn in_rounds(mut spec: FabricSpec, iterations: u32) -> FabricSpec {
    let switch = hierarchical_of(&mut spec);
    let rule = AllocationRule::Rounds;
    (switch.allocator, switch.virtual_allocation) =
        (Allocator { rule, iterations }, VirtualAllocation::Blind);
    spec
}

/// A header waits for the next round before each crossing, whatever the tick of its arrival.
#[test]
fn headers_wait_for_rounds() {
    for iterations in [1, 2] {
        let spec = in_rounds(single(12), iterations);
        for start in 0..16 {
            let mut script = Script::new([
                (Cue::At(start), message(0, 0, 1, VO, 8)),
                (Cue::At(start), message(1, 4, 8, VO, 8)),
            ]);
            let run = oracle::run(&spec, &mut script, 10_000);
            // Ready at start + 90. Rounds are 8 ticks apart; 6 of them pass between the
            // arrival in a central buffer, 10 ticks after a round, and the next one.
            let round = (start + 90).next_multiple_of(8);
            assert_eq!(ticks(&run, port(0, 1)), [round + 8 + 2 + 50]);
            assert_eq!(ticks(&run, port(0, 8)), [round + 8 + 2 + 6 + 8 + 2 + 50]);
        }
    }
}

#[test]
fn sources_keep_in_rounds_what_they_have_picked() {
    let run = |iterations| {
        let mut spec = in_rounds(single(4), iterations);
        hierarchical_of(&mut spec).timing.mport_speedup = 1;
        let mut script = Script::new([
            (Cue::At(0), message(0, 0, 2, VO, 120)),
            (Cue::At(4), message(1, 1, 2, 2, 8)),
            (Cue::At(7), message(2, 1, 3, VO, 8)),
        ]);
        oracle::run(&spec, &mut script, 10_000)
    };
    // In round 96 both inputs request output 2. 15 flits of input 0 cross in 104-118, so the output
    // is idle from round 112 on. Input 1 keeps VL 4, though VL 1 is ready from 97 on: it crosses at 120
    // and lets VL 1 have its turn in round 120.
    let kept = run(1);
    assert_eq!(ticks(&kept, port(0, 2)), [156, 172]);
    assert_eq!(ticks(&kept, port(0, 3)), [180]);
    // The second iteration of round 104 finds VL 1, whose output is free.
    let iterated = run(2);
    assert_eq!(ticks(&iterated, port(0, 2)), [156, 172]);
    assert_eq!(ticks(&iterated, port(0, 3)), [164]);
}

#[test]
fn serial_sources_wait_for_their_tails() {
    for (rule, second) in [
        (AllocationRule::Pipelined, 165),
        (AllocationRule::Serial, 173),
    ] {
        let mut spec = single(4);
        hierarchical_of(&mut spec).allocator.rule = rule;
        hierarchical_of(&mut spec).timing.mport_speedup = 1;
        let messages = [
            message(0, 0, 2, VO, 120),
            message(1, 0, 3, 2, 8),
            message(2, 1, 2, VO, 8),
        ];
        let run = run_at_once(&spec, messages);
        // 15 flits of input 0 cross to output 2 in 98-112. The output is idle for allocation from 105
        // on, and so is the input, unless it is serial: then from 113 on.
        assert_eq!(ticks(&run, port(0, 2)), [150, 165]);
        assert_eq!(ticks(&run, port(0, 3)), [second]);
    }
}

const BE: u8 = 3;
const BK: u8 = 4;

/// Buffers hold 16 credits per VL, a packet of 1,024 B. Four of them from `long`, a (source, destination, SL), meet
/// packets of 64 B from `short`. How many packets leave `from` up to the last long one.
fn packets_up_to_the_last_long_one(
    spec: &FabricSpec,
    long: (u32, u32, u8),
    short: (u32, u32, u8),
    from: End,
) -> usize {
    let mut spec = spec.clone();
    let pool = even_pool(8, 128, 16, 16);
    let buffers = &mut hierarchical_of(&mut spec).buffers;
    (buffers.output, buffers.central, buffers.nic_queue) = (pool.clone(), pool.clone(), pool);
    let sent = |token, (src, dst, sl), bytes| message(token, src, dst, sl, bytes);
    let short = (0..64).map(|_| sent(0, short, 64));
    let run = run_at_once(&spec, short.chain([sent(1, long, 4 * 1024)]));
    let leaving = run.sent.iter().filter(|packet| packet.from == from);
    let last = leaving
        .enumerate()
        .filter(|(_, d)| d.token == Some(1))
        .last();
    last.expect("it was sent").0 + 1
}

/// Whoever wins a turn, long and short packets alternate; up to 16 short ones are in each buffer before.
#[test]
fn short_packets_do_not_pass_long_ones_again_and_again() {
    let mut specs = vec![single(8), in_rounds(single(8), 1), in_rounds(single(8), 2)];
    for rule in [AllocationRule::Pipelined, AllocationRule::Serial] {
        let mut spec = single(8);
        hierarchical_of(&mut spec).allocator.rule = rule;
        hierarchical_of(&mut spec).virtual_allocation = VirtualAllocation::Blind;
        specs.push(spec);
    }
    for spec in specs {
        let last = |long, short, from| packets_up_to_the_last_long_one(&spec, long, short, from);
        // In one MPort; from an MPort and a central buffer; through one central buffer.
        let counts = [
            last((1, 3, BK), (2, 3, BK), port(0, 3)),
            last((5, 4, BK), (0, 4, BK), port(0, 4)),
            last((0, 4, BK), (5, 4, BK), port(0, 4)),
            last((0, 4, BK), (1, 4, BK), port(0, 4)),
            // Two service levels share a VL.
            last((1, 2, BK), (1, 2, BE), End::Nic(1)),
        ];
        assert!(counts.into_iter().all(|count| count < 44), "{counts:?}");
    }
    // Two queue pairs.
    let mut spec = single(8);
    let mut congestion = control(0, 0, 100);
    congestion.source = SourceControl::None;
    spec.congestion_control = Some(Box::new(congestion));
    let count = packets_up_to_the_last_long_one(&spec, (1, 2, BK), (1, 0, BK), End::Nic(1));
    assert!(count < 44, "{count}");
}
