//! Message passing without time, following the data: a member may send only what
//! it has, and no contribution may be combined twice.

use super::super::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Contributions in a block: the members whose data it holds.
pub type Origins = BTreeSet<u32>;
pub type Data = BTreeMap<u64, Origins>;

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

pub struct Outcome {
    pub data: Vec<Data>,
    pub reached: Vec<Origins>,
    pub messages: u64,
    pub volume: u64,
    /// Bytes that were combined.
    pub combined: u64,
}

/// Carries out `plan` with the given data at the start, members in turn.
pub fn carry_out(plan: &Plan, blocks: u64, data: Vec<Data>) -> Outcome {
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
pub fn blocks_of(plan: &Plan) -> (u64, Vec<u64>) {
    let blocks = match &plan.blocks {
        Blocks::Even { parts, .. } => *parts,
        Blocks::Listed(before) => before.len() as u64 - 1,
        Blocks::Pairs(rows) => (rows.len() * rows.len()) as u64,
    };
    let filled = (0..blocks).filter(|&b| plan.blocks.bytes(b, 1) > 0);
    (blocks, filled.collect())
}
