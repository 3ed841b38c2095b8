//! Every algorithm is run abstractly; in the end everyone must have what MPI
//! requires, for the number and volume of messages that the algorithm promises.

mod model;

use super::decide::{Allgather, Allreduce, Alltoall, Bcast, Reduce, Rooted};
use super::*;
use crate::replay::program::AlltoallBlocks;
use model::{Origins, Outcome, blocks_of, carry_out};
use proptest::prelude::*;

/// Runs `kind` and checks that everyone ends with what MPI requires.
fn check(kind: &CollectiveKind, n: u32, choices: &Choices) -> Outcome {
    let plan = Plan::new(kind, n as usize, choices).unwrap();
    let (blocks, filled) = blocks_of(&plan);
    let pairs = u64::from(n);
    let starts_with = |me: u32, block: u64| match kind {
        CollectiveKind::Bcast { root, .. } | CollectiveKind::Scatter { root, .. } => me == *root,
        CollectiveKind::Reduce { .. } | CollectiveKind::Allreduce { .. } => true,
        CollectiveKind::Gather { .. } | CollectiveKind::Allgather { .. } => block == u64::from(me),
        CollectiveKind::Alltoall { .. } => block / pairs == u64::from(me),
        CollectiveKind::Barrier => false,
    };
    let start = (0..n).map(|me| {
        let own = filled.iter().filter(|&&b| starts_with(me, b));
        own.map(|&b| (b, Origins::from([me]))).collect()
    });
    let outcome = carry_out(&plan, blocks, start.collect());

    let all: Origins = (0..n).collect();
    let one = |origin: u32| Some(Origins::from([origin]));
    let required = |me: u32, block: u64| match kind {
        CollectiveKind::Bcast { root, .. } => one(*root),
        CollectiveKind::Scatter { root, .. } => one(*root).filter(|_| block == u64::from(me)),
        CollectiveKind::Reduce { root, .. } => Some(all.clone()).filter(|_| me == *root),
        CollectiveKind::Allreduce { .. } => Some(all.clone()),
        CollectiveKind::Gather { root, .. } => one(block as u32).filter(|_| me == *root),
        CollectiveKind::Allgather { .. } => one(block as u32),
        CollectiveKind::Alltoall { .. } => {
            one((block / pairs) as u32).filter(|_| block % pairs == u64::from(me))
        }
        CollectiveKind::Barrier => None,
    };
    for me in 0..n {
        for &block in &filled {
            if let Some(origins) = required(me, block) {
                let has = outcome.data[me as usize].get(&block);
                assert_eq!(has, Some(&origins), "{kind:?}: member {me}, block {block}");
            }
        }
    }
    if *kind == CollectiveKind::Barrier {
        assert!(outcome.reached.iter().all(|reached| *reached == all));
    }
    outcome
}

fn log2(n: u32) -> u64 {
    group::ceil_log2(n).into()
}

fn roots(n: u32) -> [u32; 4] {
    [0, n / 3, n / 2, n - 1]
}

#[test]
fn bcast() {
    for n in 1..=33 {
        for (&algorithm, root) in Bcast::ALL.iter().flat_map(|a| roots(n).map(|r| (a, r))) {
            let choices = Choices {
                bcast: Some(algorithm),
                ..Choices::default()
            };
            for bytes in [0, 1, 20, 100_003] {
                let kind = CollectiveKind::Bcast { root, bytes };
                let outcome = check(&kind, n, &choices);
                let others = u64::from(n - 1);
                if algorithm != Bcast::ScatterAllgather {
                    assert_eq!(outcome.volume, others * bytes);
                }
                if bytes == 100_003 {
                    let messages = match algorithm {
                        Bcast::Binomial => others,
                        Bcast::ScatterAllgather => others + others * u64::from(n),
                        Bcast::Chain => others * 7,
                    };
                    assert_eq!(outcome.messages, messages);
                }
            }
        }
    }
}

#[test]
fn reduce() {
    for n in 1..=33 {
        for (&algorithm, root) in Reduce::ALL.iter().flat_map(|a| roots(n).map(|r| (a, r))) {
            let choices = Choices {
                reduce: Some(algorithm),
                ..Choices::default()
            };
            for bytes in [0, 1, 20, 4096] {
                let outcome = check(&CollectiveKind::Reduce { root, bytes }, n, &choices);
                let others = u64::from(n - 1);
                // Everything but one vector is combined away, wherever that happens.
                assert_eq!(outcome.combined, others * bytes);
                if algorithm == Reduce::Binomial {
                    assert_eq!(outcome.volume, others * bytes);
                    assert_eq!(outcome.messages, others * u64::from(bytes > 0));
                }
            }
        }
    }
}

#[test]
fn allreduce() {
    for n in 1..=33_u32 {
        let size = 1_u64 << n.ilog2();
        let bits = u64::from(n.ilog2());
        let folded = 2 * (u64::from(n) - size);
        for &algorithm in Allreduce::ALL {
            let choices = Choices {
                allreduce: Some(algorithm),
                ..Choices::default()
            };
            for bytes in [0, 1, 20, 4096] {
                let outcome = check(&CollectiveKind::Allreduce { bytes }, n, &choices);
                if bytes != 4096 {
                    continue;
                }
                let others = u64::from(n - 1);
                let (messages, volume) = match algorithm {
                    Allreduce::RecursiveDoubling => {
                        let messages = folded + size * bits;
                        (messages, messages * bytes)
                    }
                    Allreduce::Ring => (2 * others * u64::from(n), 2 * others * bytes),
                    Allreduce::Rabenseifner => (
                        folded + 2 * size * bits,
                        folded * bytes + 2 * (size - 1) * bytes,
                    ),
                };
                assert_eq!((outcome.messages, outcome.volume), (messages, volume));
            }
        }
    }
}

#[test]
fn gather_and_scatter() {
    for n in 1..=33 {
        for (&algorithm, root) in Rooted::ALL.iter().flat_map(|a| roots(n).map(|r| (a, r))) {
            let choices = Choices {
                gather: Some(algorithm),
                scatter: Some(algorithm),
                ..Choices::default()
            };
            let blocks = vec![24; n as usize];
            let gather = CollectiveKind::Gather {
                root,
                blocks: blocks.clone(),
            };
            let scatter = CollectiveKind::Scatter { root, blocks };
            // A block travels one edge for every set bit of its relative position.
            let edges: u64 = match algorithm {
                Rooted::Binomial => (0..n).map(|rel| u64::from(rel.count_ones())).sum(),
                Rooted::Linear => u64::from(n - 1),
            };
            for kind in [gather, scatter] {
                let outcome = check(&kind, n, &choices);
                assert_eq!(outcome.messages, u64::from(n - 1));
                assert_eq!(outcome.volume, 24 * edges);
            }
        }
    }
}

#[test]
fn allgather() {
    for n in 1..=33 {
        for &algorithm in Allgather::ALL {
            let choices = Choices {
                allgather: Some(algorithm),
                ..Choices::default()
            };
            let blocks: Vec<u64> = (1..=n.into()).collect();
            let total: u64 = blocks.iter().sum();
            let outcome = check(&CollectiveKind::Allgather { blocks }, n, &choices);
            let others = u64::from(n - 1);
            let messages = match algorithm {
                Allgather::Ring => others,
                Allgather::Bruck => log2(n),
            };
            assert_eq!(outcome.messages, messages * u64::from(n));
            assert_eq!(outcome.volume, others * total);
        }
    }
}

#[test]
fn alltoall() {
    for n in 1..=33 {
        for &algorithm in Alltoall::ALL {
            let choices = Choices {
                alltoall: Some(algorithm),
                ..Choices::default()
            };
            let each = CollectiveKind::Alltoall {
                blocks: vec![AlltoallBlocks::Each(10); n as usize],
            };
            let outcome = check(&each, n, &choices);
            let pairs = u64::from(n) * u64::from(n - 1);
            assert_eq!((outcome.messages, outcome.volume), (pairs, 10 * pairs));
            let split = (0..n).map(|i| AlltoallBlocks::Split {
                total: u64::from(i) * 7,
                members: n,
            });
            let blocks = split.collect();
            check(&CollectiveKind::Alltoall { blocks }, n, &choices);
        }
    }
}

#[test]
fn barrier() {
    for n in (1..=33).chain([100, 257]) {
        let outcome = check(&CollectiveKind::Barrier, n, &Choices::default());
        assert_eq!(outcome.messages, u64::from(n) * log2(n));
        assert_eq!(outcome.volume, 0);
    }
}

#[test]
fn defaults_for_large_communicators() {
    for n in [129, 256] {
        for bytes in [8, 1 << 20] {
            check(
                &CollectiveKind::Bcast { root: 7, bytes },
                n,
                &Choices::default(),
            );
            check(
                &CollectiveKind::Reduce { root: 7, bytes },
                n,
                &Choices::default(),
            );
            check(&CollectiveKind::Allreduce { bytes }, n, &Choices::default());
            let blocks = vec![bytes; n as usize];
            let kind = CollectiveKind::Allgather { blocks };
            check(&kind, n, &Choices::default());
        }
    }
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
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_blocks_and_any_root(
        blocks in prop::collection::vec(prop_oneof![Just(0), 0_u64..5, 0_u64..1_000_000], 1..34),
        root: prop::sample::Index,
        linear: bool,
        ring: bool,
    ) {
        let n = blocks.len() as u32;
        let root = root.index(blocks.len()) as u32;
        let rooted = Some(if linear { Rooted::Linear } else { Rooted::Binomial });
        let choices = Choices {
            gather: rooted,
            scatter: rooted,
            allgather: Some(if ring { Allgather::Ring } else { Allgather::Bruck }),
            alltoall: Some(if linear { Alltoall::Linear } else { Alltoall::Pairwise }),
            ..Choices::default()
        };
        let split = blocks.iter().map(|&total| AlltoallBlocks::Split { total, members: n });
        let alltoall = CollectiveKind::Alltoall { blocks: split.collect() };
        check(&alltoall, n, &choices);
        let total: u64 = blocks.iter().sum();
        check(&CollectiveKind::Gather { root, blocks: blocks.clone() }, n, &choices);
        check(&CollectiveKind::Scatter { root, blocks: blocks.clone() }, n, &choices);
        let gathered = check(&CollectiveKind::Allgather { blocks }, n, &choices);
        prop_assert_eq!(gathered.volume, u64::from(n - 1) * total);
    }
}
