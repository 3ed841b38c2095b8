//! The waits of operations, and when they are done.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::workload::{Message, Workload};
use flitwise::replay::program::{Action, After, Event, Label, Op, RankId};
use flitwise::replay::{IntraNode, JobSpec, PairCounts, SendCompletion};
use flitwise::units::Ratio;

/// A message of 80 bytes takes 110 ticks.
const FLIGHT_PS: u64 = 110 * TICK_PS;

/// Rank 0 computes 5 ns and sends; rank 1 reaches its wait at `busy`, then
/// computes `after` from the later of the two.
fn waiter(busy: u64, after: u64) -> u64 {
    let ranks = || {
        vec![
            vec![send(5_000, 0, 1, 80)],
            vec![marker(After::Previous, busy), marker(received(0), after)],
        ]
    };
    run(|| job(ranks())).0
}

#[test]
fn the_later_of_predecessor_and_event_counts() {
    let arrival = 5_000 + FLIGHT_PS;
    assert_eq!(waiter(0, 7), arrival + 7);
    assert_eq!(waiter(arrival - 1, 7), arrival + 7);
    assert_eq!(waiter(arrival, 7), arrival + 7);
    assert_eq!(waiter(arrival + 1, 7), arrival + 8);
    assert_eq!(waiter(arrival + 9_999, 0), arrival + 9_999);
}

#[test]
fn an_event_of_the_same_tick_but_later_is_waited_for() {
    // The wait begins within the tick whose end brings the message.
    assert_eq!(waiter(5_000 + FLIGHT_PS - 999, 0), 5_000 + FLIGHT_PS);
}

#[test]
fn labels_name_the_start_and_the_end_of_an_operation() {
    // The first send is injected in tick 11. A second stream would wait for it; here the
    // receiver of a message within the node shows when the label was noted.
    let second = |event: fn(Label) -> Event| {
        let label = Label::new(4).unwrap();
        let (_, log) = run(|| {
            let first = Op {
                label: Some(label),
                ..send(2_000, 0, 1, 80)
            };
            let after = After::All([event(label), Event::Received(9)].into());
            let to = RankId::new(1);
            let second = Action::Send {
                id: 1,
                to,
                bytes: 8,
                awaited: false,
            };
            JobSpec {
                send_completion: SendCompletion::Injected,
                ..job(vec![
                    vec![send(0, 9, 0, 0), first, op(after, 0, second)],
                    vec![],
                ])
            }
        });
        log[1].0
    };
    assert_eq!(second(Event::Started), 13);
    assert_eq!(second(Event::Done), 13);
}

#[test]
fn messages_enter_in_the_tick_after_their_creation() {
    let (end, log) = run(|| job(vec![vec![send(1, 0, 1, 80)], vec![]]));
    assert_eq!(log[0].0, 1);
    assert_eq!(end, TICK_PS + FLIGHT_PS);
    let (_, log) = run(|| job(vec![vec![send(2_000, 0, 1, 80)], vec![]]));
    assert_eq!(log[0].0, 2);
}

#[test]
fn a_dependency_may_name_a_message_that_is_sent_later() {
    // Each waits for a message whose record the other reaches later.
    let (end, _) = run(|| {
        job(vec![
            vec![send(0, 7, 1, 80), marker(received(3), 1)],
            vec![op(
                received(7),
                10,
                Action::Send {
                    id: 3,
                    to: RankId::new(0),
                    bytes: 80,
                    awaited: true,
                },
            )],
        ])
    });
    // The answer is created 10 ps into tick 110 and enters in tick 111.
    assert_eq!(end, 111 * TICK_PS + FLIGHT_PS + 1);
}

#[test]
fn markers_cost_their_computation_only() {
    let (end, log) = run(|| {
        job(vec![vec![
            marker(After::Previous, 10),
            marker(After::Previous, 0),
            marker(After::Previous, 32),
        ]])
    });
    assert_eq!((end, log.len()), (42, 0));
}

/// Two sends of 80 bytes with 1 ns in between: ticks of creation.
fn two_sends(send_completion: SendCompletion) -> (u64, u64) {
    let (_, log) = run(|| JobSpec {
        send_completion,
        ..job(vec![vec![send(0, 0, 1, 80), send(1_000, 1, 1, 80)], vec![]])
    });
    (log[0].0, log[1].0)
}

#[test]
fn a_send_is_done_as_the_mode_says() {
    assert_eq!(two_sends(SendCompletion::Handed), (0, 1));
    assert_eq!(two_sends(SendCompletion::Injected), (0, 12));
    let rendezvous = |eager_threshold_bytes| {
        two_sends(SendCompletion::Rendezvous {
            eager_threshold_bytes,
        })
    };
    assert_eq!(rendezvous(79), (0, 111));
    assert_eq!(rendezvous(80), (0, 1));
}

#[test]
fn injection_and_delivery_may_be_reported_in_one_tick() {
    // 99 ticks of injection against 100 + 99 of delivery would need a longer
    // message; both orders of one tick are covered by a fabric of our own.
    let mut replay = replay(vec![JobSpec {
        send_completion: SendCompletion::Injected,
        ..job(vec![
            vec![send(0, 0, 1, 80), send(0, 1, 1, 80)],
            vec![marker(received(1), 0)],
        ])
    }]);
    let mut out = Vec::new();
    let mut now = 0;
    for _ in 0..2 {
        assert_eq!(replay.next_tick(), Some(now));
        replay.act(now, &mut out);
        let message = out.pop().unwrap();
        assert!(out.is_empty() && message.report_injection);
        now += 10;
        replay.delivered(now, message.token);
        replay.injected(now, message.token);
    }
    replay.act(now, &mut out);
    assert!(replay.finished());
    assert_eq!(replay.outcomes()[0].execution_ps, 20 * TICK_PS);
}

#[test]
fn very_many_messages_of_a_tick_leave_in_parts() {
    let sends = |rank: u32| {
        let id = u64::from(rank) * 2_000;
        (id..id + 2_000).map(move |id| send(0, id, (rank + 1) % 64, 1))
    };
    let ranks = (0..64).map(|rank| sends(rank).collect());
    let mut replay = replay(vec![job(ranks.collect())]);
    let (mut all, mut parts) = (Vec::new(), 0);
    loop {
        let before = all.len();
        replay.act(0, &mut all);
        // The last event of a part is a rank that sends all its messages.
        assert!(all.len() - before < (1 << 16) + 2_000);
        parts += 1;
        if !replay.has_more() {
            break;
        }
    }
    let srcs = all.iter().map(|message| message.src.get());
    assert!(parts > 1 && srcs.eq((0..64).flat_map(|rank| [rank; 2_000])));
}

#[test]
fn messages_to_oneself_stay_inside_the_node() {
    let ranks = || vec![vec![send(0, 0, 0, 80), marker(received(0), 1)]];
    let (end, log) = run(|| job(ranks()));
    // 500 ps and 80 bytes at one byte per ps.
    assert_eq!((end, log.len()), (581, 0));
    let slow = IntraNode {
        latency_ps: 0,
        bytes_per_s: Ratio::whole(3),
    };
    let (end, _) = run(|| JobSpec {
        intra_node: slow,
        ..job(ranks())
    });
    assert_eq!(end, 26_666_666_666_667 + 1);
}

#[test]
fn copies_round_up() {
    let node = IntraNode {
        latency_ps: 0,
        bytes_per_s: Ratio::whole(3_000_000_000),
    };
    assert_eq!(node.copy_ps(0), Some(0));
    assert_eq!(node.copy_ps(1), Some(334));
    assert_eq!(node.copy_ps(3), Some(1000));
    assert_eq!(node.copy_ps(u64::MAX), None);
}

#[test]
fn ranks_of_one_node_do_not_use_the_fabric() {
    let spread = |send_completion| {
        let make = || JobSpec {
            nics: [3, 3, 5, 5].map(NicId::new).to_vec(),
            send_completion,
            ..job(vec![
                vec![send(0, 0, 1, 80), send(0, 1, 2, 80)],
                vec![marker(received(0), 0)],
                vec![marker(received(1), 0)],
                vec![],
            ])
        };
        let (_, log) = run(make);
        assert_eq!(log.len(), 1);
        let Message { src, dst, .. } = log[0].1;
        assert_eq!((src.get(), dst.get()), (3, 5));
        let mut replay = replay(vec![make()]);
        play(&mut replay, false);
        assert_eq!(replay.outcomes()[0].intra_node_messages, 1);
        assert_eq!(replay.outcomes()[0].messages, 2);
        // By pairs of ranks, those inside a node included.
        let outcomes = replay.outcomes();
        let pairs = outcomes[0].pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|p| (p.from[0], p.to[0], p.count, p.amount))
            .collect();
        assert_eq!(pairs, [(0, 1, 1, 80), (0, 2, 1, 80)]);
        log[0].0
    };
    // The second send starts at 0, at 80 ps (copied) and at 580 ps (arrived).
    assert_eq!(spread(SendCompletion::Handed), 0);
    assert_eq!(spread(SendCompletion::Injected), 1);
    let rendezvous = SendCompletion::Rendezvous {
        eager_threshold_bytes: 8,
    };
    assert_eq!(spread(rendezvous), 1);
}

#[test]
fn equal_times_go_by_rank_and_record() {
    // All ranks send at the same time; rank 2 after a wait that ends then.
    let (_, log) = run(|| {
        job(vec![
            vec![marker(After::Previous, 0), send(9_000, 0, 3, 8)],
            vec![send(9_000, 1, 3, 8), send(0, 2, 3, 16)],
            vec![send(4_000, 3, 3, 8), send(5_000, 4, 3, 8)],
            vec![],
        ])
    });
    let order: Vec<_> = log
        .iter()
        .map(|&(t, m)| (t, m.src.get(), m.bytes))
        .collect();
    let expected = [(4, 2, 8), (9, 0, 8), (9, 1, 8), (9, 1, 16), (9, 2, 8)];
    assert_eq!(order, expected);
}

#[test]
fn a_wait_counts_for_the_rank_whose_message_ends_it() {
    let mut replay = replay(vec![job(vec![
        vec![send(7_000, 0, 1, 80)],
        vec![marker(After::Previous, 300), marker(received(0), 20)],
    ])]);
    play(&mut replay, false);
    let outcomes = replay.outcomes();
    let waits = outcomes[0].waits.iter();
    let waits: Vec<_> = waits
        .map(|pair| (pair.from[0], pair.to[0], pair.count, pair.amount))
        .collect();
    // Rank 1 waits from 300 ps on for what rank 0 sends at 7,000 ps.
    assert_eq!(waits, [(1, 0, 1, 7_000 + FLIGHT_PS - 300)]);
}

#[test]
fn computation_is_the_mean_over_the_ranks() {
    let mut replay = replay(vec![job(vec![
        vec![send(7_000, 0, 1, 80)],
        vec![marker(After::Previous, 300), marker(received(0), 20)],
    ])]);
    play(&mut replay, false);
    let outcome = &replay.outcomes()[0];
    assert_eq!(outcome.execution_ps, 7_000 + FLIGHT_PS + 20);
    assert_eq!(outcome.compute_ps, (7_000 + 320) / 2);
    assert_eq!(outcome.network_ps, outcome.execution_ps - 3_660);
    assert_eq!(
        (outcome.point_to_point, outcome.point_to_point_bytes),
        (1, 80)
    );
}

/// The sends of a job, as counted by pairs of ranks.
fn pairs(ranks: u32, sends: &[(u32, u32)]) -> PairCounts {
    let of = |rank| {
        let own = (0..).zip(sends).filter(|(_, pair)| pair.0 == rank);
        own.map(|(id, pair)| send(0, id, pair.1, 100)).collect()
    };
    let mut replay = replay(vec![JobSpec {
        nics: (0..ranks).map(|rank| NicId::new(rank % 64)).collect(),
        ..job((0..ranks).map(of).collect())
    }]);
    play(&mut replay, false);
    replay.outcomes().remove(0).pairs
}

#[test]
fn pairs_of_many_ranks_are_counted_in_groups() {
    let found = |pairs: &PairCounts| -> Vec<_> {
        let pairs = pairs.iter();
        pairs.map(|p| (p.from, p.to, p.count, p.amount)).collect()
    };
    // Groups of three, the last of one.
    let groups = pairs(130, &[(0, 2), (1, 129), (2, 129)]);
    let expected = [([0, 2], [0, 2], 1, 100), ([0, 2], [129, 129], 2, 200)];
    assert_eq!(found(&groups), expected);
    let text = serde_json::to_string(&groups).unwrap();
    assert_eq!(serde_json::from_str::<PairCounts>(&text).unwrap(), groups);
    assert_eq!(found(&pairs(3, &[(2, 0)])), [([2, 2], [0, 0], 1, 100)]);
    assert_eq!(PairCounts::new(0).iter().count(), 0);
}
