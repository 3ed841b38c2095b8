//! The naive replay by itself, with times worked out by hand. A message of b bytes takes
//! 100 + ⌊b / 8⌋ ticks of 1 ns through the fabric.

use crate::naive::ops::{
    Around, collective, communicator, done, enter, marker, message, receive, send, ssend, started,
    wait, with_id,
};
use crate::naive::{Case, End, Outcome, replay};
use flitwise::replay::mpi::Until;
use flitwise::replay::program::{CollectiveKind, Contribution, Event, Op};
use flitwise::units::Ratio;

const NS: u64 = 1000;

/// Each rank has one stream.
fn ranks(ranks: Vec<Vec<Op>>) -> Case {
    Case::of(ranks.into_iter().map(|ops| vec![ops]).collect())
}

fn ticks(outcome: &Outcome) -> Vec<(u64, u32, u32, u64)> {
    let sent = outcome.fabric.iter();
    sent.map(|sent| (sent.tick, sent.src, sent.dst, sent.bytes))
        .collect()
}

#[test]
fn an_operation_starts_after_predecessor_events_and_computation() {
    let outcome = replay(&ranks(vec![
        vec![message(1, 1, 80).compute(5 * NS).label(1)],
        vec![
            marker().compute(7).label(2),
            marker()
                .after([Event::Received(1), started(2), done(2)])
                .compute(11),
        ],
    ]));
    assert_eq!(outcome.times(0, 0, 0), (5 * NS, 5 * NS));
    assert_eq!(outcome.times(1, 0, 0), (7, 7));
    assert_eq!(outcome.times(1, 0, 1).0, 115 * NS + 11);
    assert_eq!(
        (outcome.end_ps, outcome.compute_ps),
        (115 * NS + 11, 5 * NS + 18)
    );
}

/// Ranks 1 and 2 send to rank 0 at one time; the message of rank 1 is a rendezvous.
#[test]
fn envelopes_are_taken_up_by_source() {
    let outcome = replay(&ranks(vec![
        vec![
            receive(None, 0, None).request(1),
            receive(None, 0, None).request(2),
            wait(Until::Any, &[1, 2]),
            wait(Until::All, &[1]),
        ],
        vec![ssend(0, 0, 0, 0)],
        vec![send(0, 0, 0, 0)],
    ]));
    // Request 2 has the eager message at 100. Request 1 has the rendezvous: CTS until 200, payload
    // until 300.
    assert_eq!(outcome.times(0, 0, 2), (0, 100 * NS));
    assert_eq!(outcome.times(0, 0, 3), (100 * NS, 300 * NS));
    assert_eq!(outcome.times(1, 0, 0), (0, 201 * NS));
}

#[test]
fn clears_to_send_are_answered_by_destination_communicator_and_number() {
    let request = |op: Op, number| op.request(number);
    let outcome = replay(&ranks(vec![
        vec![
            request(ssend(2, 0, 0, 1), 0),
            request(ssend(1, 7, 0, 2), 1),
            request(ssend(1, 3, 0, 3), 2),
            request(ssend(1, 3, 9, 4), 3),
        ],
        vec![
            request(receive(None, 3, Some(9)), 0),
            request(receive(None, 7, None), 1),
            request(receive(None, 3, None), 2),
        ],
        vec![request(receive(None, 0, None), 0)],
    ]));
    let payloads = [3, 4, 2].map(|bytes| (200, 0, 1, bytes));
    assert_eq!(
        ticks(&outcome)[8..],
        [&payloads[..], &[(200, 0, 2, 1)]].concat()
    );
}

#[test]
fn a_wait_takes_the_first_complete_request_of_its_list() {
    let receive_later = |tag, number| receive(Some(1), 0, Some(tag)).request(number);
    let outcome = replay(&ranks(vec![
        vec![
            receive_later(1, 1),
            receive_later(2, 2),
            marker().compute(500 * NS),
            wait(Until::Any, &[2, 1]),
            // 1 is still active.
            wait(Until::Any, &[2]),
            send(1, 0, 0, 0).request(2),
            wait(Until::All, &[1, 2]),
        ],
        vec![send(0, 0, 1, 0), send(0, 0, 2, 0)],
    ]));
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.features["wait for any of several complete"], 1);
    assert_eq!(outcome.features["wait without active requests"], 1);
    assert_eq!(outcome.features["wait for all"], 1);
}

#[test]
fn streams_share_requests_and_queues() {
    let first = vec![
        receive(None, 0, None).request(1),
        marker().compute(300 * NS),
    ];
    let second = vec![
        // Request 1 is active: the first stream comes before.
        wait(Until::All, &[1]),
        // The second message is unexpected.
        receive(None, 0, None).compute(NS),
    ];
    let sends = vec![send(0, 0, 0, 0), send(0, 0, 0, 80)];
    let outcome = replay(&Case::of(vec![vec![first, second], vec![sends]]));
    assert_eq!(outcome.times(0, 1, 0), (0, 100 * NS));
    assert_eq!(outcome.times(0, 1, 1), (101 * NS, 110 * NS));
    assert_eq!(outcome.times(0, 0, 1), (300 * NS, 300 * NS));
}

#[test]
fn reductions_take_time() {
    let kind = CollectiveKind::Allreduce { bytes: 80 };
    let world = communicator(0, &[0, 1]);
    let with_id = with_id(3, &[0, 1], kind.clone());
    let rank = |rank: u32| {
        vec![
            collective(&world, Contribution::Known(kind.clone())),
            enter(&with_id, rank),
            marker().after([Event::Completed(3)]),
        ]
    };
    let outcome = replay(&Case {
        reduction_ps_per_byte: Ratio::new(41, 2).unwrap(),
        ..ranks(vec![rank(0), rank(1)])
    });
    // 110 ticks and 1640 ps; the next messages are created 640 ps into tick 111, and enter in 112.
    assert_eq!(outcome.times(0, 0, 0), (0, 111_640));
    assert_eq!(outcome.times(0, 0, 1), (111_640, 111_640));
    assert_eq!(outcome.times(1, 0, 2).0, (112 + 110) * NS + 1640);
    assert_eq!(outcome.collectives, 2);
}

#[test]
fn a_job_runs_again_from_its_last_event_on() {
    let outcome = replay(&Case {
        start_ps: 42 * NS,
        repeat: 3,
        ..ranks(vec![
            vec![message(0, 1, 80).compute(5 * NS)],
            vec![marker().after([Event::Received(0)]).compute(7)],
        ])
    });
    assert_eq!(
        ticks(&outcome)
            .iter()
            .map(|sent| sent.0)
            .collect::<Vec<_>>(),
        [47, 163, 279]
    );
    assert_eq!(outcome.repetitions_ps, [115_007, 116_000, 116_000]);
    assert_eq!(outcome.end_ps, 389_007);
}

#[test]
fn a_collective_without_one_member_is_not_complete() {
    let world = communicator(0, &[0, 1]);
    let bcast = Contribution::Known(CollectiveKind::Bcast { root: 0, bytes: 8 });
    let root = vec![collective(&world, bcast)];
    let outcome = replay(&ranks(vec![root, vec![]]));
    assert_eq!(outcome.times(0, 0, 0), (0, 0));
    assert_eq!(outcome.end, End::Stalled);
    assert_eq!((outcome.end_ps, outcome.collectives), (101 * NS, 0));
}

#[test]
fn copies_inside_a_node_round_up() {
    let mut case = ranks(vec![vec![send(0, 0, 0, 1), receive(None, 0, None)]]);
    case.intra_node.bytes_per_s = Ratio::whole(3_000_000_000);
    let outcome = replay(&case);
    assert_eq!(outcome.times(0, 0, 1), (0, 500 + 334));
    assert_eq!((outcome.intra_node_messages, outcome.fabric.len()), (1, 0));
}
