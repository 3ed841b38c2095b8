//! Collectives inside a replay.

use super::harness::*;
use flitwise::fabric::ids::NicId;
use flitwise::replay::program::{After, AlltoallBlocks, CollectiveKind, Event, Op};
use flitwise::replay::{JobSpec, SendCompletion};
use flitwise::units::Ratio;
use proptest::prelude::*;

const WORLD: [u32; 4] = [0, 1, 2, 3];

/// Every rank enters `kind` after its entry of `compute` and waits for its end.
fn once(kind: &CollectiveKind, compute: &[u64]) -> Vec<Vec<Op>> {
    let members: Vec<u32> = (0..compute.len() as u32).collect();
    let shared = collective(5, &members, kind.clone());
    let rank = |&ps: &u64| vec![enter(ps, &shared), marker(completed(5), 3)];
    compute.iter().map(rank).collect()
}

#[test]
fn a_barrier_takes_two_rounds_from_the_last_entry() {
    let (end, log) = run(|| job(once(&CollectiveKind::Barrier, &[0, 0, 7_000, 0])));
    assert_eq!(end, 7_000 + 2 * 100 * TICK_PS + 3);
    assert_eq!(log.len(), 8);
    assert!(log.iter().all(|(_, message)| message.bytes == 0));
}

#[test]
fn a_binomial_bcast_reaches_each_at_its_depth() {
    let kind = CollectiveKind::Bcast { root: 1, bytes: 80 };
    let (end, log) = run(|| job(once(&kind, &[0; 4])));
    assert_eq!(end, 2 * 110 * TICK_PS + 3);
    let edges: Vec<_> = log
        .iter()
        .map(|&(t, m)| (t, m.src.get(), m.dst.get()))
        .collect();
    assert_eq!(edges, [(0, 1, 3), (0, 1, 2), (110, 3, 0)]);
}

#[test]
fn a_collective_is_done_at_its_start_but_complete_later() {
    // The rank continues to compute while the barrier is in progress.
    let barrier = || collective(0, &[0, 1], CollectiveKind::Barrier);
    let (end, _) = run(|| {
        let barrier = barrier();
        let rank = || {
            vec![
                enter(0, &barrier),
                marker(After::Previous, 60 * TICK_PS),
                marker(completed(0), 50 * TICK_PS),
            ]
        };
        job(vec![rank(), rank()])
    });
    assert_eq!(end, 150 * TICK_PS);
}

#[test]
fn combining_costs_time_per_byte() {
    let kind = CollectiveKind::Allreduce { bytes: 80 };
    let (end, _) = run(|| JobSpec {
        reduction_ps_per_byte: Ratio::whole(25),
        ..job(once(&kind, &[0; 4]))
    });
    assert_eq!(end, 2 * (110 * TICK_PS + 2_000) + 3);
}

#[test]
fn reductions_at_the_same_time_compute_once() {
    let kind = CollectiveKind::Allreduce { bytes: 80 };
    let both = [5, 6].map(|id| collective(id, &[0, 1], kind.clone()));
    let after = After::of(vec![Event::Completed(5), Event::Completed(6)]);
    let ops = vec![enter(0, &both[0]), enter(0, &both[1]), marker(after, 3)];
    let mut replay = replay(vec![JobSpec {
        reduction_ps_per_byte: Ratio::whole(25),
        ..job(vec![ops.clone(), ops])
    }]);
    play(&mut replay, false);
    let outcome = &replay.outcomes()[0];
    assert_eq!(outcome.execution_ps, 110 * TICK_PS + 2_000 + 3);
    assert_eq!(outcome.compute_ps, 2_000 + 3);
}

#[test]
fn sends_of_a_collective_complete_as_the_mode_says() {
    let end = |send_completion| {
        let kind = CollectiveKind::Bcast {
            root: 0,
            bytes: 800,
        };
        let mut replay = replay(vec![JobSpec {
            send_completion,
            ..job(once(&kind, &[0, 0]))
        }]);
        let log = play(&mut replay, false);
        (replay.outcomes()[0].execution_ps, log.len())
    };
    assert_eq!(end(SendCompletion::Handed), (200 * TICK_PS + 3, 1));
    assert_eq!(end(SendCompletion::Injected), (200 * TICK_PS + 3, 1));
    // The root's own completion follows the mode.
    let root = |send_completion| {
        let bcast = collective(
            5,
            &[0, 1],
            CollectiveKind::Bcast {
                root: 0,
                bytes: 800,
            },
        );
        let (_, log) = run(|| {
            let mut after = send(0, 9, 1, 8);
            after.after = completed(5);
            JobSpec {
                send_completion,
                ..job(vec![vec![enter(0, &bcast), after], vec![enter(0, &bcast)]])
            }
        });
        log[1].0
    };
    assert_eq!(root(SendCompletion::Handed), 0);
    assert_eq!(root(SendCompletion::Injected), 101);
    let rendezvous = SendCompletion::Rendezvous {
        eager_threshold_bytes: 799,
    };
    assert_eq!(root(rendezvous), 200);
}

#[test]
fn communicators_are_independent() {
    let even = collective(0, &[2, 0], CollectiveKind::Barrier);
    let odd = collective(1, &[1, 3], CollectiveKind::Barrier);
    let world = collective(2, &WORLD, CollectiveKind::Barrier);
    let (end, _) = run(|| {
        let rank = |rank: u32| {
            let own = if rank.is_multiple_of(2) { &even } else { &odd };
            let mut last = enter(1_000, &world);
            last.after = completed(own.id);
            // Odd ranks enter later.
            let first = enter(u64::from(rank % 2) * 50_000, own);
            vec![first, last, marker(completed(2), 0)]
        };
        job(WORLD.iter().map(|&r| rank(r)).collect())
    });
    assert_eq!(end, 50_000 + 100 * TICK_PS + 1_000 + 200 * TICK_PS);
}

#[test]
fn several_collectives_may_be_under_way() {
    let bcasts: Vec<_> = (0..3)
        .map(|id| collective(id, &WORLD, CollectiveKind::Bcast { root: 0, bytes: 80 }))
        .collect();
    let (end, log) = run(|| {
        let rank = |_: &u32| {
            let mut ops: Vec<Op> = bcasts.iter().map(|b| enter(0, b)).collect();
            ops.extend((0..3).rev().map(|id| marker(completed(id), 0)));
            ops
        };
        job(WORLD.iter().map(rank).collect())
    });
    assert_eq!(end, 2 * 110 * TICK_PS);
    assert_eq!(log.len(), 9);
}

#[test]
fn a_communicator_of_one_needs_no_message() {
    let kinds = [
        CollectiveKind::Barrier,
        CollectiveKind::Allreduce { bytes: 8 },
        CollectiveKind::Alltoall {
            blocks: vec![AlltoallBlocks::Each(8)],
        },
    ];
    for kind in kinds {
        let (end, log) = run(|| job(once(&kind, &[10])));
        assert_eq!((end, log.len()), (13, 0));
    }
}

#[test]
fn wrong_collectives_name_their_line() {
    let error = |ranks| {
        let mut replay = replay(vec![job(ranks)]);
        play(&mut replay, false);
        format!("{:#}", replay.error().unwrap())
    };
    let outside = collective(3, &[0, 9], CollectiveKind::Barrier);
    assert_eq!(
        error(vec![vec![enter(0, &outside)], vec![]]),
        "job 'test', rank 0, line 1: collective 3: its communicator has rank 9, \
         but the trace has ranks 0 to 1"
    );
    let own = collective(3, &[0], CollectiveKind::Barrier);
    let stranger = error(vec![vec![], vec![enter(0, &own)]]);
    assert!(
        stranger.ends_with("the rank is not in the communicator"),
        "{stranger}"
    );
    let open = collective(3, &[0, 1], CollectiveKind::Barrier);
    let twice = error(vec![vec![enter(0, &open), enter(0, &open)], vec![]]);
    assert!(twice.ends_with("the rank enters it twice"), "{twice}");
    let root = collective(3, &[0, 1], CollectiveKind::Bcast { root: 2, bytes: 1 });
    let rootless = error(vec![vec![enter(0, &root)], vec![]]);
    assert!(rootless.contains("the root is member 2"), "{rootless}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any mixture of collectives ends, in every mode and placement.
    #[test]
    fn any_sequence_ends(
        n in 1_usize..12,
        kinds in prop::collection::vec((0_u8..8, 0_u64..100_000, any::<prop::sample::Index>()), 1..6),
        mode in 0_u8..3,
        tasks_per_node in 1_u32..4,
        skew in prop::collection::vec(0_u64..300_000, 12),
    ) {
        let members: Vec<u32> = (0..n as u32).rev().collect();
        let collectives: Vec<_> = (0..).zip(&kinds).map(|(id, (kind, bytes, root))| {
            let (bytes, root) = (*bytes, root.index(n) as u32);
            let blocks: Vec<u64> = (0..n as u64).map(|i| bytes * i % 977).collect();
            let kind = match kind {
                0 => CollectiveKind::Bcast { root, bytes },
                1 => CollectiveKind::Reduce { root, bytes },
                2 => CollectiveKind::Allreduce { bytes },
                3 => CollectiveKind::Gather { root, blocks },
                4 => CollectiveKind::Scatter { root, blocks },
                5 => CollectiveKind::Allgather { blocks },
                6 => CollectiveKind::Alltoall { blocks: vec![AlltoallBlocks::Each(bytes); n] },
                _ => CollectiveKind::Barrier,
            };
            collective(id, &members, kind)
        }).collect();
        let send_completion = match mode {
            0 => SendCompletion::Handed,
            1 => SendCompletion::Injected,
            _ => SendCompletion::Rendezvous { eager_threshold_bytes: 5_000 },
        };
        run(|| {
            let rank = |r: usize| {
                let mut ops = vec![marker(After::Previous, skew[r])];
                ops.extend(collectives.iter().map(|c| enter(skew[r] / 3, c)));
                ops.extend(collectives.iter().map(|c| marker(completed(c.id), 1)));
                ops
            };
            JobSpec {
                nics: (0..n as u32)
                    .map(|rank| NicId::new(rank / tasks_per_node))
                    .collect(),
                send_completion,
                reduction_ps_per_byte: Ratio::ONE,
                ..job((0..n).map(rank).collect())
            }
        });
    }
}
