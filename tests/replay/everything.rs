//! A program worked out by hand with every operation of a call trace: the replay and the naive replay must
//! both give these times.
//!
//! Three ranks, the first of which has two streams. A message of b bytes takes 100 + ⌊b / 8⌋ ticks of
//! 1 ns through the fabric, and is injected after ⌊b / 8⌋ + 1 ticks. Sends of up to 1000 B are eager;
//! RTS and CTS have 16 B, so they take 102 ticks. In the comments, times are nanoseconds.

use crate::by_hand::{alltoallv, both};
use crate::naive::ops::{
    Around, collective, communicator, done, enter, marker, message, receive, send, ssend, started,
    wait, with_id,
};
use crate::naive::random::stamps;
use crate::naive::{Case, End, NICS, Sent, engine};
use flitwise::replay::mpi::{Communicator, Protocol, Until};
use flitwise::replay::program::{
    Collective, CollectiveKind, Contribution, Event, Op, RootedBlocks,
};
use std::sync::Arc;

fn gatherv(blocks: RootedBlocks) -> Contribution {
    Contribution::Gatherv { root: 1, blocks }
}

fn scatterv(blocks: RootedBlocks) -> Contribution {
    Contribution::Scatterv { root: 1, blocks }
}

fn all(blocks: [u64; 3]) -> RootedBlocks {
    RootedBlocks::All(blocks.into())
}

/// An operation with its start and its end in picoseconds.
type Timed = (Op, u64, u64);

/// The first stream of rank 0.
fn rank_0(turned: &Arc<Communicator>, barrier: &Arc<Collective>) -> Vec<Timed> {
    let at = 1_750_003;
    vec![
        // At 300 there are, unexpected: from rank 1 80 B (arrived at 110) and an RTS (at 102, but
        // after the 80 B), and from rank 2 800 B (at 205).
        (receive(None, 0, None).compute(300_000), 300_000, 300_000),
        (receive(Some(2), 0, Some(8)), 300_000, 300_000),
        // The RTS. CTS at 300, which arrives at 402; payload at 402, which arrives at 1502.
        (receive(None, 0, Some(9)).label(5), 300_000, 1_502_000),
        // Arrived at 1750.
        (marker().after([Event::Received(77)]).compute(3), at, at),
        // 3 ps into tick 1750, so the token enters in 1751. The token of rank 2 has arrived.
        (enter(barrier, 0), at, at),
        (marker().after([Event::Completed(5)]), at, at),
        // Waits for 8 B of rank 2, until 1952, and for 16 B of rank 1, until 1742.
        (
            collective(turned, gatherv(all([8, 100, 16]))),
            at,
            1_952_000,
        ),
        (
            collective(turned, scatterv(all([24, 1, 0]))),
            1_952_000,
            1_952_000,
        ),
    ]
}

/// Its second stream.
fn rank_0_beside(turned: &Arc<Communicator>) -> Vec<Timed> {
    let last = alltoallv([160, 5, 240], [80, 5, 8]);
    vec![
        (receive(Some(2), 1, Some(1)).request(1), 0, 0),
        (receive(Some(2), 1, None).request(2), 0, 0),
        (receive(None, 1, Some(3)).request(3), 0, 0),
        // The RTS with tag 3 (arrives at 107) fits requests 2 and 3: 2 was posted first. The payload
        // arrives at 310. Tag 1 arrives at 140 and completes request 1.
        (wait(Until::Any, &[3, 2, 1, 9]), 0, 140_000),
        // Tag 2 arrived at 140 as well, and is unexpected.
        (receive(None, 1, None).request(1), 140_000, 140_000),
        (wait(Until::Some, &[1, 2, 3]), 140_000, 140_000),
        (wait(Until::Some, &[1, 2, 3]), 140_000, 310_000),
        // Nothing is active.
        (wait(Until::Any, &[1, 2]), 310_000, 310_000),
        // Tag 3 arrives at 421.
        (wait(Until::All, &[1, 2, 3]), 310_000, 421_000),
        (marker().after([started(5), done(5)]), 1_502_000, 1_502_000),
        // Everything for it has arrived.
        (
            collective(turned, last).compute(8_000),
            1_510_000,
            1_510_000,
        ),
    ]
}

/// Rank 1.
fn rank_1(turned: &Arc<Communicator>) -> Vec<Timed> {
    let first = alltoallv([0, 8, 0], [0, 240, 0]);
    let [some, none] = [RootedBlocks::Own(16), RootedBlocks::Own(0)];
    vec![
        (send(0, 0, 7, 80), 0, 0),
        // Injected at 402 + 1000 + 1.
        (send(0, 0, 9, 8_000), 0, 1_403_000),
        (collective(turned, first).request(5), 1_403_000, 1_403_000),
        // 240 B of rank 0 arrive at 1510 + 130.
        (wait(Until::All, &[5]).compute(50_000), 1_453_000, 1_640_000),
        (message(77, 0, 80), 1_640_000, 1_640_000),
        (collective(turned, gatherv(some)), 1_640_000, 1_640_000),
        (collective(turned, scatterv(none)), 1_640_000, 1_640_000),
    ]
}

/// Rank 2.
fn rank_2(turned: &Arc<Communicator>, barrier: &Arc<Collective>) -> Vec<Timed> {
    let first = alltoallv([9, 80, 0], [9, 160, 0]);
    let [small, large] = [RootedBlocks::Own(8), RootedBlocks::Own(24)];
    vec![
        (send(0, 0, 8, 800).compute(5_000), 5_000, 5_000),
        // RTS at 5, CTS at 107, payload at 209, injected at 211.
        (ssend(0, 1, 3, 8).request(0), 5_000, 5_000),
        (send(0, 1, 1, 0).compute(35_000), 40_000, 40_000),
        (send(0, 1, 2, 0), 40_000, 40_000),
        (wait(Until::All, &[0]), 40_000, 211_000),
        (send(0, 1, 3, 80).compute(100_000), 311_000, 311_000),
        // 160 B of rank 0 arrive at 1510 + 120.
        (collective(turned, first), 311_000, 1_630_000),
        (enter(barrier, 2), 1_630_000, 1_630_000),
        // The token of rank 0 arrives at 1851.
        (marker().after([Event::Completed(5)]), 1_851_000, 1_851_000),
        (
            collective(turned, gatherv(small)).request(0),
            1_851_000,
            1_851_000,
        ),
        // 24 B arrive at 1952 + 103.
        (collective(turned, scatterv(large)), 1_851_000, 2_055_000),
        (wait(Until::All, &[0]), 2_055_000, 2_055_000),
    ]
}

/// All operations by rank and stream.
fn timed() -> Vec<Vec<Vec<Timed>>> {
    // Positions: rank 2, rank 0, rank 1.
    let turned = communicator(2, &[2, 0, 1]);
    let barrier = with_id(5, &[0, 2], CollectiveKind::Barrier);
    vec![
        vec![rank_0(&turned, &barrier), rank_0_beside(&turned)],
        vec![rank_1(&turned)],
        vec![rank_2(&turned, &barrier)],
    ]
}

fn everything() -> Case {
    let ops = |stream: Vec<Timed>| stream.into_iter().map(|(op, ..)| op).collect();
    let streams = |streams: Vec<Vec<Timed>>| streams.into_iter().map(ops).collect();
    Case {
        protocol: Protocol {
            eager_threshold_bytes: 1000,
            control_bytes: 16,
            ..Protocol::default()
        },
        ..Case::of(timed().into_iter().map(streams).collect())
    }
}

#[test]
fn every_operation_has_its_times() {
    let outcome = both(&everything());
    assert_eq!(outcome.end, End::Complete);
    for (rank, streams) in (0..).zip(timed()) {
        for (stream, ops) in (0..).zip(streams) {
            for (index, (op, started_ps, done_ps)) in ops.into_iter().enumerate() {
                let times = outcome.times(rank, stream, index);
                assert_eq!(times, (started_ps, done_ps), "rank {rank}, {op:?}");
            }
        }
    }
}

/// The replay by the library shows the same times: a stamp sends a message at the start and at the
/// end of every operation.
#[test]
fn every_operation_has_its_times_in_the_fabric() {
    let mut case = everything();
    stamps::add(&mut case);
    let stamped = both(&case);
    let sink = NICS - 1;
    let ticks = |bytes| {
        let sent = stamped
            .fabric
            .iter()
            .find(|sent| sent.dst == sink && sent.bytes == bytes);
        sent.map(|sent| sent.tick)
    };
    let mut bytes = 0;
    for (op, started_ps, done_ps) in timed().into_iter().flatten().flatten() {
        for at_ps in [started_ps, done_ps] {
            assert_eq!(ticks(bytes), Some(case.tick.ticks(at_ps)), "{op:?}");
            bytes += 1;
        }
    }
}

#[test]
fn every_message_has_its_tick() {
    let expected = [
        (0, 1, 0, 80),
        (0, 1, 0, 16),
        (5, 2, 0, 800),
        (5, 2, 0, 16),
        (40, 2, 0, 0),
        (40, 2, 0, 0),
        (107, 0, 2, 16),
        (209, 2, 0, 8),
        (300, 0, 1, 16),
        (311, 2, 0, 80),
        (311, 2, 0, 80),
        (402, 1, 0, 8000),
        (1403, 1, 0, 8),
        (1510, 0, 1, 240),
        (1510, 0, 2, 160),
        (1630, 2, 0, 0),
        (1640, 1, 0, 80),
        (1640, 1, 0, 16),
        (1751, 0, 2, 0),
        (1851, 2, 0, 8),
        (1952, 0, 2, 24),
    ];
    let expected = expected.map(|(tick, src, dst, bytes)| Sent {
        tick,
        src,
        dst,
        bytes,
    });
    assert_eq!(both(&everything()).fabric, expected);
    let (end, outcome, log) = engine(&everything(), false);
    assert_eq!((end, &log[..]), (End::Complete, &expected[..]));
    assert_eq!(outcome.execution_ps, 2_055_000);
    // The mean over the ranks.
    assert_eq!(outcome.compute_ps, 163_334);
}
