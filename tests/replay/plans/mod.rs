//! Runs every algorithm abstractly. In the end every member must have the data that MPI
//! requires, with the number and volume of messages that the textbook gives.

mod contribution;
mod decision;
mod formulas;
mod in_network;
mod model;

use flitwise::random::{Purpose, Stream};
use flitwise::replay::collectives::decide::{
    Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce, ReduceScatter, Rooted,
};
use flitwise::replay::collectives::{Choices, Plan, PlanError, Step};
use flitwise::replay::program::{AlltoallBlocks, CollectiveKind};
use flitwise::units::Bytes;
use model::{Origins, PREFIX, carry_out};

/// Segment of chains in these tests, in bytes.
const SEGMENT: u64 = 1000;
/// Most members of a part of a hierarchical reduction.
const PART: u32 = 6;

/// Runs `kind` and checks that every member ends with the data that MPI requires, and that
/// the messages are as many as the algorithm promises.
fn check(kind: &CollectiveKind, n: u32, choices: &Choices) {
    let choices = &Choices {
        chain_segment: Some(Bytes(SEGMENT)),
        tree_segment: Some(Bytes(SEGMENT)),
        part: Some(PART),
        ..*choices
    };
    let plan = Plan::new(kind, n as usize, choices).unwrap();
    let place = || format!("{:?}, {kind:?}, {n} members", plan.algorithm());
    let sizes = formulas::blocks(kind, n, plan.algorithm(), SEGMENT);
    let blocks = sizes.len() as u64;
    let filled: Vec<u64> = (0..blocks).filter(|&b| sizes[b as usize] > 0).collect();
    let pairs = u64::from(n);
    let starts_with = |me: u32, block: u64| match kind {
        CollectiveKind::Bcast { root, .. } | CollectiveKind::Scatter { root, .. } => me == *root,
        CollectiveKind::Reduce { .. }
        | CollectiveKind::Allreduce { .. }
        | CollectiveKind::ReduceScatter { .. }
        | CollectiveKind::Exscan { .. }
        | CollectiveKind::Scan { .. } => true,
        CollectiveKind::Gather { .. } | CollectiveKind::Allgather { .. } => block == u64::from(me),
        CollectiveKind::Alltoall { .. } => block / pairs == u64::from(me),
        CollectiveKind::Barrier => false,
    };
    let start = (0..n).map(|me| {
        let own = filled.iter().filter(|&&b| starts_with(me, b));
        let mut data: model::Data = own.map(|&b| (b, Origins::from([me]))).collect();
        if matches!(kind, CollectiveKind::Scan { .. }) {
            data.insert(PREFIX, Origins::from([me]));
        }
        data
    });
    let outcome = carry_out(&plan, &sizes, start.collect());

    let all: Origins = (0..n).collect();
    let one = |origin: u32| Some(Origins::from([origin]));
    let required = |me: u32, block: u64| match kind {
        CollectiveKind::Bcast { root, .. } => one(*root),
        CollectiveKind::Scatter { root, .. } => one(*root).filter(|_| block == u64::from(me)),
        CollectiveKind::Reduce { root, .. } => Some(all.clone()).filter(|_| me == *root),
        CollectiveKind::Allreduce { .. } => Some(all.clone()),
        CollectiveKind::ReduceScatter { .. } => {
            Some(all.clone()).filter(|_| block == u64::from(me))
        }
        CollectiveKind::Gather { root, .. } => one(block as u32).filter(|_| me == *root),
        CollectiveKind::Allgather { .. } => one(block as u32),
        CollectiveKind::Alltoall { .. } => {
            one((block / pairs) as u32).filter(|_| block % pairs == u64::from(me))
        }
        CollectiveKind::Barrier | CollectiveKind::Scan { .. } | CollectiveKind::Exscan { .. } => {
            None
        }
    };
    for me in 0..n {
        let data = &outcome.data[me as usize];
        for &block in &filled {
            if let Some(origins) = required(me, block) {
                let has = data.get(&block);
                assert_eq!(has, Some(&origins), "{}: {me}, block {block}", place());
            }
        }
        // The ranks up to its own, and no others.
        let below = match kind {
            CollectiveKind::Scan { bytes: 1.. } => Some((0..=me).collect::<Origins>()),
            CollectiveKind::Exscan { bytes: 1.. } => Some((0..me).collect()),
            _ => None,
        };
        if let Some(below) = below {
            let has = data.get(&PREFIX).cloned().unwrap_or_default();
            assert_eq!(has, below, "{}: prefix of {me}", place());
        }
    }
    if *kind == CollectiveKind::Barrier {
        assert!(outcome.reached.iter().all(|reached| *reached == all));
    }

    let promised = formulas::totals(kind, n, plan.algorithm(), (SEGMENT, PART));
    assert_eq!(outcome.volume, promised.bytes, "{}: bytes", place());
    assert_eq!(outcome.combined, promised.combined, "{}: combined", place());
    let empty_parts = filled.len() as u64 != blocks && *kind != CollectiveKind::Barrier;
    if empty_parts {
        assert!(outcome.messages <= promised.messages, "{}", place());
        assert!(outcome.depth <= promised.depth, "{}: depth", place());
    } else {
        assert_eq!(outcome.messages, promised.messages, "{}", place());
        assert!(
            outcome.depth == promised.depth || !promised.deepest && outcome.depth < promised.depth,
            "{}: depth {} of {}",
            place(),
            outcome.depth,
            promised.depth
        );
    }
}

/// Runs every algorithm of every operation: vectors of `bytes`, the given blocks, and
/// every pair of members its own size.
fn check_all(n: u32, root: u32, bytes: u64, blocks: &[u64]) {
    let none = Choices::default();
    macro_rules! every {
        ($field:ident: $type:ty, $kind:expr) => {
            // `in_network` tests those that need switches.
            let on_hosts = |a: &&$type| format!("{a:?}") != "InNetwork";
            for &algorithm in <$type>::ALL.iter().filter(on_hosts) {
                let choices = Choices {
                    $field: Some(algorithm),
                    ..none
                };
                check(&$kind, n, &choices);
            }
        };
    }
    let blocks = || blocks.to_vec();
    every!(bcast: Bcast, CollectiveKind::Bcast { root, bytes });
    every!(reduce: Reduce, CollectiveKind::Reduce { root, bytes });
    every!(allreduce: Allreduce, CollectiveKind::Allreduce { bytes });
    every!(gather: Rooted, CollectiveKind::Gather { root, blocks: blocks() });
    every!(scatter: Rooted, CollectiveKind::Scatter { root, blocks: blocks() });
    every!(allgather: Allgather, CollectiveKind::Allgather { blocks: blocks() });
    every!(barrier: Barrier, CollectiveKind::Barrier);
    every!(reduce_scatter: ReduceScatter, CollectiveKind::ReduceScatter { blocks: blocks() });
    check(&CollectiveKind::Scan { bytes }, n, &none);
    check(&CollectiveKind::Exscan { bytes }, n, &none);
    let split = |&total: &u64| AlltoallBlocks::Split { total, members: n };
    let rows = [
        vec![AlltoallBlocks::Each(bytes); n as usize],
        blocks().iter().map(|&b| AlltoallBlocks::Each(b)).collect(),
        blocks().iter().map(split).collect(),
    ];
    for row in rows {
        every!(alltoall: Alltoall, CollectiveKind::Alltoall { blocks: row.clone() });
    }
}

/// `n` sizes of one kind out of four: equal, unequal, with zeros, all zero.
fn sizes(stream: &mut Stream, n: u32, like: u32) -> Vec<u64> {
    let mut one = || match like % 4 {
        0 => 24,
        1 => 1 + stream.below(5_000),
        2 => stream.below(3),
        _ => 0,
    };
    (0..n).map(|_| one()).collect()
}

#[test]
fn every_algorithm_on_every_small_communicator() {
    let mut stream = Stream::new(1, Purpose::Placement, [0, 0]);
    for n in 1..=33_u32 {
        let roots = std::collections::BTreeSet::from([0, n / 3, n / 2, n - 1]);
        for (i, root) in (n..).zip(roots) {
            // From nothing over fewer bytes than members to several segments.
            let bytes = [0, 1, 20, 4_096 + u64::from(i)][i as usize % 4];
            check_all(n, root, bytes, &sizes(&mut stream, n, i));
        }
    }
}

#[test]
fn every_algorithm_on_some_large_communicators() {
    let mut stream = Stream::new(2, Purpose::Placement, [0, 0]);
    for like in 0..4 {
        let n = 34 + stream.below(60) as u32;
        let root = stream.below(n.into()) as u32;
        let bytes = stream.below(10_000);
        check_all(n, root, bytes, &sizes(&mut stream, n, like));
    }
    for n in [127, 128, 129] {
        let kinds = [
            CollectiveKind::Bcast {
                root: 7,
                bytes: 1 << 20,
            },
            CollectiveKind::Reduce {
                root: 7,
                bytes: 1 << 20,
            },
            CollectiveKind::Allreduce { bytes: 1 << 20 },
            CollectiveKind::Allgather {
                blocks: vec![9; n as usize],
            },
            CollectiveKind::Barrier,
        ];
        for kind in &kinds {
            check(kind, n, &Choices::default());
        }
    }
}

#[test]
fn a_long_chain_has_at_most_2_to_the_20_segments() {
    let kind = CollectiveKind::Bcast {
        root: 0,
        bytes: 3 << 20,
    };
    let choices = |segment| Choices {
        bcast: Some(Bcast::Chain),
        chain_segment: Some(Bytes(segment)),
        ..Choices::default()
    };
    let rounds = |segment| Plan::new(&kind, 3, &choices(segment)).unwrap().rounds(0);
    assert_eq!(rounds(1), 1 << 20);
    assert_eq!(rounds(4), 3 << 18);
    assert_eq!(rounds(1 << 40), 1);
}

#[test]
fn senseless_collectives_are_refused() {
    let plan = |kind: &CollectiveKind, n| Plan::new(kind, n, &Choices::default()).map(|_| ());
    let bcast = CollectiveKind::Bcast { root: 4, bytes: 1 };
    assert_eq!(plan(&bcast, 4), Err(PlanError::Root { root: 4, n: 4 }));
    assert_eq!(plan(&bcast, 0), Err(PlanError::Members(0)));
    let gather = |blocks| CollectiveKind::Gather { root: 0, blocks };
    let short = plan(&gather(vec![1]), 2);
    assert_eq!(short, Err(PlanError::Blocks { blocks: 1, n: 2 }));
    let long = plan(&gather(vec![u64::MAX, 1]), 2);
    assert_eq!(long, Err(PlanError::Size));
    let none = CollectiveKind::Alltoall { blocks: vec![] };
    assert_eq!(plan(&none, 1), Err(PlanError::Blocks { blocks: 0, n: 1 }));
    let blocks = vec![AlltoallBlocks::Each(u64::MAX / 4); 3];
    let wide = CollectiveKind::Alltoall { blocks };
    assert_eq!(plan(&wide, 3), Err(PlanError::Size));
    let blocks = vec![1, 2];
    let scattered = CollectiveKind::ReduceScatter { blocks };
    assert_eq!(
        plan(&scattered, 3),
        Err(PlanError::Blocks { blocks: 2, n: 3 })
    );
}

/// The steps of member `me` in round `k` among 2^32 - 1 members.
fn steps_of_many(kind: &CollectiveKind, choices: &Choices, me: u32, k: u32) -> Vec<Step> {
    let plan = Plan::new(kind, u32::MAX as usize, choices).unwrap();
    let mut steps = Vec::new();
    plan.round(me, k, &mut steps);
    steps
}

#[test]
fn large_groups_and_vectors_do_not_overflow() {
    let n = u32::MAX;
    let rounds = |kind: &CollectiveKind, choices: &Choices| {
        Plan::new(kind, n as usize, choices).unwrap().rounds(0)
    };
    let doubling = Choices {
        allreduce: Some(Allreduce::RecursiveDoubling),
        ..Choices::default()
    };
    // The largest power of two is 2^31; two more rounds are for the other members.
    let allreduce = CollectiveKind::Allreduce { bytes: 1 };
    assert_eq!(rounds(&allreduce, &doubling), 31 + 2);
    assert_eq!(rounds(&CollectiveKind::Barrier, &Choices::default()), 32);
    let bcast = |algorithm, bytes| {
        let choices = Choices {
            bcast: Some(algorithm),
            ..Choices::default()
        };
        let root = n - 1;
        steps_of_many(&CollectiveKind::Bcast { root, bytes }, &choices, root, 0)
    };
    assert_eq!(bcast(Bcast::Binomial, 1).len(), 32);
    // Each member has a byte; the first child is 2^31 members after the root.
    let first = Step::Send {
        to: (1 << 31) - 1,
        bytes: (1 << 31) - 1,
        tag: 0,
    };
    assert_eq!(bcast(Bcast::ScatterAllgather, n.into())[0], first);
    // A vector of 2^64 - 1 bytes that two members of three share.
    let halving = Choices {
        reduce: Some(Reduce::ReduceScatterGather),
        ..Choices::default()
    };
    let bytes = u64::MAX;
    let plan = Plan::new(&CollectiveKind::Reduce { root: 0, bytes }, 3, &halving).unwrap();
    let mut steps = Vec::new();
    (0..3).for_each(|me| plan.round(me, 0, &mut steps));
    let sent = steps.iter().filter_map(|step| match step {
        Step::Send { bytes, .. } => Some(*bytes),
        Step::Recv { .. } | Step::Compute { .. } | Step::Pause { .. } => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [u64::MAX]);
}
