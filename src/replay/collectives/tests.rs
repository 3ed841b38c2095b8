//! Every algorithm is run abstractly, following the data: a member may send only
//! what it has, no contribution may be combined twice, and in the end everyone
//! must have what MPI requires.

use super::decide::{Allgather, Allreduce, Alltoall, Bcast, Reduce, Rooted};
use super::*;
use crate::replay::program::AlltoallBlocks;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Contributions in a block: the members whose data it holds.
type Origins = BTreeSet<u32>;
type Data = BTreeMap<u64, Origins>;

#[derive(Debug)]
enum Move {
    Send(u32, u64, u32, Part),
    Recv(u32, u32, Part, Option<u64>),
}

struct Recorder(VecDeque<Move>);

impl Sink for Recorder {
    fn send(&mut self, to: u32, bytes: u64, tag: u32, part: Part) {
        self.0.push_back(Move::Send(to, bytes, tag, part));
    }
    fn recv(&mut self, from: u32, tag: u32, part: Part) {
        self.0.push_back(Move::Recv(from, tag, part, None));
    }
    fn combine(&mut self, from: u32, bytes: u64, tag: u32, part: Part) {
        self.0.push_back(Move::Recv(from, tag, part, Some(bytes)));
    }
}

struct World<'a> {
    plan: &'a Plan,
    n: u32,
    blocks: u64,
    /// By member.
    data: Vec<Data>,
    /// Members that each member knows to have entered.
    reached: Vec<Origins>,
    on_the_way: BTreeMap<(u32, u32, u32), (Part, Data, Origins)>,
    used_tags: BTreeSet<(u32, u32, u32)>,
    messages: u64,
    volume: u64,
    combined: u64,
}

impl World<'_> {
    fn range(&self, part: Part) -> Vec<u64> {
        match part {
            Part::Token => Vec::new(),
            Part::Blocks { first, count } => {
                assert!(first < self.blocks && count <= self.blocks);
                (first..first + count)
                    .map(|block| block % self.blocks)
                    .filter(|&block| self.plan.blocks.bytes(block, 1) > 0)
                    .collect()
            }
        }
    }

    fn size(&self, part: Part) -> u64 {
        let sizes = self.range(part).into_iter();
        sizes.map(|block| self.plan.blocks.bytes(block, 1)).sum()
    }

    fn send(&mut self, me: u32, to: u32, bytes: u64, tag: u32, part: Part) {
        assert!(to < self.n && to != me, "{me} sends to {to}");
        assert_eq!(bytes, self.size(part));
        let mine = &self.data[me as usize];
        let carried = self.range(part).into_iter().map(|block| {
            let Some(origins) = mine.get(&block) else {
                panic!("{me} sends block {block}, which it does not have");
            };
            (block, origins.clone())
        });
        let message = (part, carried.collect(), self.reached[me as usize].clone());
        let key = (me, to, tag);
        assert!(self.used_tags.insert(key), "{key:?} is used twice");
        self.on_the_way.insert(key, message);
        self.messages += 1;
        self.volume += bytes;
    }

    /// False if the message is not there yet.
    fn recv(&mut self, me: u32, from: u32, tag: u32, part: Part, combine: Option<u64>) -> bool {
        let Some((sent, carried, reached)) = self.on_the_way.remove(&(from, me, tag)) else {
            return false;
        };
        assert_eq!(sent, part, "{from} and {me} mean different data");
        if let Some(bytes) = combine {
            assert_eq!(bytes, self.size(part));
            self.combined += bytes;
        }
        for (block, origins) in carried {
            let mine = self.data[me as usize].entry(block).or_default();
            if combine.is_some() {
                assert!(mine.is_disjoint(&origins), "{me} combines twice: {block}");
                mine.extend(origins);
            } else {
                assert!(mine.is_subset(&origins), "{me} overwrites block {block}");
                *mine = origins;
            }
        }
        self.reached[me as usize].extend(reached);
        true
    }
}

struct Outcome {
    data: Vec<Data>,
    reached: Vec<Origins>,
    messages: u64,
    volume: u64,
    combined: u64,
}

/// Carries out `plan` with the given data at the start, members in turn.
fn carry_out(plan: &Plan, blocks: u64, data: Vec<Data>) -> Outcome {
    let n = plan.group.n;
    let mut moves: Vec<VecDeque<Move>> = (0..n)
        .map(|me| {
            let mut recorder = Recorder(VecDeque::new());
            (0..plan.rounds(me)).for_each(|k| plan.round(me, k, &mut recorder));
            recorder.0
        })
        .collect();
    let mut world = World {
        plan,
        n,
        blocks,
        data,
        reached: (0..n).map(|me| Origins::from([me])).collect(),
        on_the_way: BTreeMap::new(),
        used_tags: BTreeSet::new(),
        messages: 0,
        volume: 0,
        combined: 0,
    };
    let mut progress = true;
    while progress {
        progress = false;
        for me in 0..n {
            while let Some(step) = moves[me as usize].front() {
                match *step {
                    Move::Send(to, bytes, tag, part) => world.send(me, to, bytes, tag, part),
                    Move::Recv(from, tag, part, combine) => {
                        if !world.recv(me, from, tag, part, combine) {
                            break;
                        }
                    }
                }
                moves[me as usize].pop_front();
                progress = true;
            }
        }
    }
    assert!(moves.iter().all(VecDeque::is_empty), "stuck: {moves:?}");
    assert!(world.on_the_way.is_empty(), "never received");
    Outcome {
        data: world.data,
        reached: world.reached,
        messages: world.messages,
        volume: world.volume,
        combined: world.combined,
    }
}

/// Blocks of `plan`, and those that hold data.
fn blocks_of(plan: &Plan) -> (u64, Vec<u64>) {
    let blocks = match &plan.blocks {
        Blocks::Even { parts, .. } => *parts,
        Blocks::Listed(before) => before.len() as u64 - 1,
        Blocks::Pairs(rows) => (rows.len() * rows.len()) as u64,
    };
    let filled = (0..blocks).filter(|&b| plan.blocks.bytes(b, 1) > 0);
    (blocks, filled.collect())
}

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
