//! Programs worked out by hand: the replay and the naive replay must both give these times.
//!
//! A message of b bytes takes 100 + ⌊b / 8⌋ ticks of 1 ns through the fabric, and is injected after
//! ⌊b / 8⌋ + 1 ticks.

use crate::naive::ops::{
    Around, collective, communicator, done, enter, marker, receive, send, ssend, started, wait,
    with_id,
};
use crate::naive::{Case, End, Outcome, compare};
use flitwise::replay::SendCompletion;
use flitwise::replay::collectives::Choices;
use flitwise::replay::collectives::decide::Alltoall;
use flitwise::replay::mpi::Until;
use flitwise::replay::program::{CollectiveKind, Contribution, Event, Op};
use flitwise::units::{Ratio, TickLength};

/// Picoseconds in a nanosecond.
const NS: u64 = 1000;

/// Replays a case in both ways, which must agree.
pub fn both(case: &Case) -> Outcome {
    match compare(case) {
        Ok(outcome) => outcome,
        Err(difference) => panic!("{difference}"),
    }
}

/// Start and end of an operation in nanoseconds.
fn times(outcome: &Outcome, rank: u32, stream: u32, index: usize) -> (u64, u64) {
    let (started_ps, done_ps) = outcome.times(rank, stream, index);
    assert_eq!((started_ps % NS, done_ps % NS), (0, 0));
    (started_ps / NS, done_ps / NS)
}

/// What a member brings to an alltoallv of three.
pub fn alltoallv(send: [u64; 3], receive: [u64; 3]) -> Contribution {
    Contribution::Alltoallv {
        send: send.into(),
        receive: receive.into(),
    }
}

/// Ranks of one NIC, where a byte takes a picosecond and the latency is 500 ps.
fn one_node(ranks: Vec<Vec<Op>>) -> Case {
    let streams: Vec<Vec<Vec<Op>>> = ranks.into_iter().map(|ops| vec![ops]).collect();
    Case {
        nics: vec![0; streams.len()],
        ..Case::of(streams)
    }
}

#[test]
fn an_envelope_that_overtakes_waits() {
    let outcome = both(&one_node(vec![
        // They arrive after 500 + 10 000 ps and 500 + 8 ps; in another communicator nothing waits.
        vec![send(1, 0, 1, 10_000), send(1, 0, 2, 8), send(1, 1, 2, 8)],
        vec![
            receive(Some(0), 0, Some(2)).request(0),
            receive(None, 1, None),
            receive(None, 0, None),
            wait(Until::All, &[0]),
        ],
    ]));
    assert_eq!(outcome.times(1, 0, 1), (0, 508));
    assert_eq!(outcome.times(1, 0, 2), (508, 10_500));
    assert_eq!(outcome.times(1, 0, 3), (10_500, 10_500));
}

#[test]
fn messages_of_no_time_arrive_before_the_next_rank_acts() {
    // Rank 0 receives twice from any, and sends 8 or 16 B to rank 3 by what it gets: rank 1 sends at
    // once, rank 2 only when it has heard from rank 1.
    let mut case = one_node(vec![
        vec![
            receive(None, 0, Some(1)),
            send(3, 0, 0, 8),
            receive(None, 0, Some(2)),
            send(3, 0, 0, 16),
        ],
        vec![send(2, 0, 0, 0), send(0, 0, 1, 0)],
        vec![receive(Some(1), 0, None), send(0, 0, 2, 0)],
        vec![receive(None, 0, None), receive(None, 0, None)],
    ]);
    case.intra_node.latency_ps = 0;
    case.nics[3] = 1;
    let outcome = both(&case);
    let sent: Vec<_> = outcome
        .fabric
        .iter()
        .map(|sent| (sent.tick, sent.bytes))
        .collect();
    assert_eq!(sent, [(0, 8), (0, 16)]);
    assert_eq!(outcome.end_ps, 102 * NS);
}

#[test]
fn a_send_is_complete_when_its_kind_and_the_job_say_so() {
    let end = |send_completion, bytes, inside: bool| {
        let sends = vec![
            send(1, 0, 0, bytes),
            marker(),
            ssend(1, 0, 0, bytes).request(0),
            wait(Until::Any, &[0]),
        ];
        let receives = vec![receive(Some(0), 0, None), receive(Some(0), 0, None)];
        let mut case = Case::of(vec![vec![sends], vec![receives]]);
        case.send_completion = send_completion;
        if inside {
            case.nics = vec![0, 0];
        }
        let outcome = both(&case);
        (outcome.times(0, 0, 0).1, outcome.times(0, 0, 3).1)
    };
    let late = SendCompletion::Rendezvous {
        eager_threshold_bytes: 0,
    };
    // An eager send takes no notice of the other threshold. The second send waits for RTS and CTS,
    // 100 ticks each, and for the injection of its payload, 11 ticks. Its RTS overtakes the first
    // message, so that it is taken up with that one, after 110 ticks.
    let second = (110 + 100 + 11) * NS;
    assert_eq!(end(SendCompletion::Handed, 80, false), (0, second));
    assert_eq!(end(late, 80, false), (0, second));
    assert_eq!(
        end(SendCompletion::Injected, 80, false),
        (11 * NS, (11 + 200 + 11) * NS)
    );
    // Inside a node: 580 ps, 500 ps, 80 ps.
    assert_eq!(end(SendCompletion::Handed, 80, true), (0, 580 + 500 + 80));
    assert_eq!(
        end(SendCompletion::Injected, 80, true),
        (80, 580 + 500 + 80)
    );
}

#[test]
fn an_alltoallv_is_pairwise_if_told() {
    // Member 0 enters late. Member 2 sends nothing.
    let world = communicator(0, &[0, 1, 2]);
    let outcome = |alltoall| {
        let call = |send, receive| collective(&world, alltoallv(send, receive));
        both(&Case {
            collectives: Choices {
                alltoall,
                ..Choices::default()
            },
            ..Case::of(vec![
                vec![vec![call([0, 80, 80], [0, 80, 0]).compute(1000 * NS)]],
                vec![vec![call([80, 0, 80], [80, 0, 0])]],
                vec![vec![call([0; 3], [80, 80, 0])]],
            ])
        })
    };
    let ends = |outcome: &Outcome| [0, 1, 2].map(|rank| times(outcome, rank, 0, 0).1);
    let linear = outcome(None);
    // Member 0 has what member 1 sent at 0; the others wait for what it sends at 1000.
    assert_eq!(ends(&linear), [1000, 1110, 1110]);
    assert_eq!(ends(&outcome(Some(Alltoall::Bruck))), [1000, 1110, 1110]);
    // Member 1 sends to 0 in round 2, after round 1, in which it waits for member 0: at 1110. In
    // round 2 member 0 waits for that until 1220.
    let pairwise = outcome(Some(Alltoall::Pairwise));
    assert_eq!(ends(&pairwise), [1220, 1110, 1110]);
}

#[test]
fn computations_and_ticks_are_fractions() {
    let thirds = TickLength::new(Ratio::new(1000, 3).unwrap()).unwrap();
    let outcome = both(&Case {
        tick: thirds,
        compute_scale: Ratio::new(1, 2).unwrap(),
        ..Case::of(vec![
            // 667 ps round to the nearest: 333.5, so 334 ps. That is tick 2, after 333⅓ ps.
            vec![vec![send(1, 0, 0, 0).compute(667)]],
            // Tick 102 begins at 34 000 ps. The computation before the wait is 1.5 ps, so 2 ps.
            vec![vec![receive(None, 0, None), marker().compute(3)]],
        ])
    });
    assert_eq!(outcome.times(0, 0, 0), (334, 334));
    assert_eq!(outcome.times(1, 0, 0), (0, 34_000));
    assert_eq!(outcome.times(1, 0, 1), (34_002, 34_002));
}

#[test]
fn what_cannot_go_on_stalls() {
    let stalls = |ranks: Vec<Vec<Op>>| {
        let ranks = ranks.into_iter().map(|ops| vec![ops]).collect();
        both(&Case::of(ranks)).end == End::Stalled
    };
    let other = vec![];
    assert!(stalls(vec![vec![receive(None, 0, None)], other.clone()]));
    assert!(stalls(vec![vec![ssend(1, 0, 0, 0)], other.clone()]));
    assert!(stalls(vec![vec![marker().after([done(1)])], other.clone()]));
    let send_first = |to| vec![ssend(to, 0, 0, 8), receive(None, 0, None)];
    assert!(stalls(vec![send_first(1), send_first(0)]));
    // Eager messages do not wait for their receiver, not even for its end.
    assert!(!stalls(vec![vec![send(1, 0, 0, 0)], other]));
}

#[test]
fn a_request_is_used_once_at_a_time() {
    let end = |ops| both(&Case::of(vec![vec![ops], vec![Vec::new()]])).end;
    let twice = vec![send(1, 0, 0, 0).request(3), send(1, 0, 0, 0).request(3)];
    assert!(matches!(end(twice), End::Error(_)));
    let one_after_the_other = vec![
        send(1, 0, 0, 0).request(3),
        wait(Until::Some, &[3]),
        send(1, 0, 0, 0).request(3),
    ];
    assert_eq!(end(one_after_the_other), End::Complete);
}

#[test]
fn a_rendezvous_that_no_operation_waits_for_belongs_to_the_job() {
    let outcome = both(&Case {
        repeat: 2,
        ..Case::of(vec![
            vec![vec![ssend(1, 0, 0, 80).request(0)]],
            vec![vec![receive(None, 0, None).request(0)]],
        ])
    });
    // RTS and CTS take 100 ticks each, the payload 110.
    assert_eq!(outcome.repetitions_ps, [310 * NS; 2]);
    let sent: Vec<_> = outcome.fabric.iter().map(|sent| sent.tick).collect();
    assert_eq!(sent, [0, 100, 200, 310, 410, 510]);
}

#[test]
fn a_request_that_completes_in_its_call_ends_a_wait() {
    // The wait begins when only request 1 is active, which never completes.
    let calls = vec![
        receive(None, 0, None).request(1),
        send(1, 0, 0, 0).request(2).compute(5 * NS),
    ];
    let waits = vec![wait(Until::Any, &[1, 2])];
    let outcome = both(&Case::of(vec![vec![calls, waits], vec![Vec::new()]]));
    assert_eq!(times(&outcome, 0, 1, 0), (0, 5));
    assert_eq!(outcome.end, End::Complete);
}

#[test]
fn the_messages_of_a_called_collective_are_eager() {
    let world = communicator(0, &[0, 1]);
    let kind = CollectiveKind::Bcast { root: 0, bytes: 80 };
    let with_id = with_id(7, &[0, 1], kind.clone());
    let rank = |rank| {
        vec![
            collective(&world, Contribution::Known(kind.clone())),
            enter(&with_id, rank),
            marker().after([Event::Completed(7)]),
        ]
    };
    let ends = |send_completion| {
        let outcome = both(&Case {
            send_completion,
            ..Case::of(vec![vec![rank(0)], vec![rank(1)]])
        });
        [0, 2].map(|index| times(&outcome, 0, 0, index).1)
    };
    assert_eq!(ends(SendCompletion::Handed), [0, 0]);
    assert_eq!(ends(SendCompletion::Injected), [11, 22]);
    // The threshold counts for the collective with an id only.
    let late = SendCompletion::Rendezvous {
        eager_threshold_bytes: 79,
    };
    assert_eq!(ends(late), [0, 110]);
}

#[test]
fn the_first_stream_that_can_go_on_does() {
    // At 0 the second stream lets the first go on, which does so before the third.
    let sends = |bytes| send(1, 0, 0, bytes);
    let case = Case::of(vec![
        vec![
            vec![sends(8).after([started(1)])],
            vec![sends(16).label(1), sends(24)],
            vec![sends(32)],
        ],
        vec![Vec::new()],
    ]);
    let sent: Vec<_> = both(&case).fabric.iter().map(|sent| sent.bytes).collect();
    assert_eq!(sent, [16, 24, 8, 32]);
}
