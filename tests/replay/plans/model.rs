//! Message passing without time, following the data: a member may send only what
//! it has, and no contribution may be combined twice.

use flitwise::replay::collectives::{Part, Plan, Sink};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Contributions in a block: the members whose data it holds.
pub type Origins = BTreeSet<u32>;
pub type Data = BTreeMap<u64, Origins>;

#[derive(Debug)]
enum Move {
    Send(u32, u64, u32, Part),
    Recv(u32, u32, Part, Use),
}

/// The use that the receiver makes of arriving data.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// Keeps it unchanged.
    Keep,
    /// Combines this many bytes with its own.
    Combine(u64),
    /// Combines them in a switch.
    Aggregate,
    /// Combines them with its own and with the prefix, or takes them as the prefix if that was
    /// empty.
    Prefix(u64, bool),
}

/// Block that stands for the prefix of a scan; block 0 is the partial result.
pub const PREFIX: u64 = 1;

struct Recorder(VecDeque<Move>);

impl Sink for Recorder {
    fn send(&mut self, to: u32, bytes: u64, tag: u32, part: Part) {
        self.0.push_back(Move::Send(to, bytes, tag, part));
    }
    fn recv(&mut self, from: u32, tag: u32, part: Part) {
        self.0.push_back(Move::Recv(from, tag, part, Use::Keep));
    }
    fn combine(&mut self, from: u32, bytes: u64, tag: u32, part: Part) {
        let usage = Use::Combine(bytes);
        self.0.push_back(Move::Recv(from, tag, part, usage));
    }
    fn aggregate(&mut self, from: u32, tag: u32, part: Part) {
        self.0
            .push_back(Move::Recv(from, tag, part, Use::Aggregate));
    }
    fn pause(&mut self, _: u64) {}
    fn prefix(&mut self, from: u32, bytes: u64, tag: u32, empty: bool) {
        let usage = Use::Prefix(bytes, empty);
        self.0
            .push_back(Move::Recv(from, tag, Part::Partial, usage));
    }
}

/// A message in flight.
struct Carried {
    part: Part,
    data: Data,
    reached: Origins,
    depth: u64,
}

struct World<'a> {
    n: u32,
    /// By block, in bytes.
    sizes: &'a [u64],
    /// By member.
    data: Vec<Data>,
    /// Members that each member knows to have entered.
    reached: Vec<Origins>,
    /// Passes messages until no member can send another one.
    depth: Vec<u64>,
    on_the_way: BTreeMap<(u32, u32, u32), Carried>,
    used_tags: BTreeSet<(u32, u32, u32)>,
    messages: u64,
    volume: u64,
    combined: u64,
}

impl World<'_> {
    fn range(&self, part: Part) -> Vec<u64> {
        let blocks = self.sizes.len() as u64;
        let all: Vec<u64> = match part {
            Part::Token => Vec::new(),
            Part::Partial => vec![0],
            Part::Bruck { sender, round } => bruck(self.n.into(), sender.into(), round),
            Part::Blocks { first, count } => {
                assert!(first < blocks && count <= blocks);
                let range = first..first + count;
                range.map(|block| block % blocks).collect()
            }
        };
        let filled = |block: &u64| self.sizes[*block as usize] > 0;
        all.into_iter().filter(filled).collect()
    }

    fn size(&self, part: Part) -> u64 {
        let range = self.range(part).into_iter();
        range.map(|block| self.sizes[block as usize]).sum()
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
        let message = Carried {
            part,
            data: carried.collect(),
            reached: self.reached[me as usize].clone(),
            depth: self.depth[me as usize] + 1,
        };
        let key = (me, to, tag);
        assert!(self.used_tags.insert(key), "{key:?} is used twice");
        self.on_the_way.insert(key, message);
        self.messages += 1;
        self.volume += bytes;
    }

    /// False if the message is not there yet.
    fn recv(&mut self, me: u32, from: u32, tag: u32, part: Part, usage: Use) -> bool {
        let Some(message) = self.on_the_way.remove(&(from, me, tag)) else {
            return false;
        };
        assert_eq!(message.part, part, "{from} and {me} mean different data");
        match usage {
            Use::Keep | Use::Aggregate => {}
            Use::Combine(bytes) => self.count(bytes, part, 1),
            Use::Prefix(bytes, empty) => self.count(bytes, part, if empty { 1 } else { 2 }),
        }
        for (block, origins) in message.data {
            let data = &mut self.data[me as usize];
            let mut add = |block, origins: &Origins| {
                let mine = data.entry(block).or_default();
                assert!(mine.is_disjoint(origins), "{me} combines twice: {block}");
                mine.extend(origins);
            };
            match usage {
                Use::Keep => {
                    let mine = data.entry(block).or_default();
                    assert!(mine.is_subset(&origins), "{me} overwrites block {block}");
                    *mine = origins;
                }
                Use::Combine(_) | Use::Aggregate => add(block, &origins),
                Use::Prefix(_, empty) => {
                    add(block, &origins);
                    add(PREFIX, &origins);
                    let prefix = data[&PREFIX].len();
                    assert_eq!(empty, prefix == origins.len(), "{me} has {prefix} below");
                }
            }
        }
        self.reached[me as usize].extend(message.reached);
        let depth = &mut self.depth[me as usize];
        *depth = message.depth.max(*depth);
        true
    }

    fn count(&mut self, bytes: u64, part: Part, times: u64) {
        assert_eq!(bytes, self.size(part));
        self.combined += bytes * times;
    }
}

pub struct Outcome {
    pub data: Vec<Data>,
    pub reached: Vec<Origins>,
    pub messages: u64,
    pub volume: u64,
    /// Bytes that were combined.
    pub combined: u64,
    /// Longest chain of messages, each sent after the one before had arrived.
    pub depth: u64,
}

/// Blocks that member `sender` of `n` sends in round `k` of Bruck's algorithm: every distance with
/// bit k set, after the block has travelled the lower bits of its distance.
fn bruck(n: u64, sender: u64, k: u32) -> Vec<u64> {
    let set = (1..n).filter(|distance| distance >> k & 1 == 1);
    let block = set.map(|distance| {
        let from = (sender + n - distance % (1 << k)) % n;
        from * n + (from + distance) % n
    });
    block.collect()
}

/// Carries out `plan` on blocks of these sizes with the given data at the start, members in turn.
pub fn carry_out(plan: &Plan, sizes: &[u64], data: Vec<Data>) -> Outcome {
    let n = data.len() as u32;
    let mut moves: Vec<VecDeque<Move>> = (0..n)
        .map(|me| {
            let mut recorder = Recorder(VecDeque::new());
            (0..plan.rounds(me)).for_each(|k| plan.round(me, k, &mut recorder));
            recorder.0
        })
        .collect();
    let mut world = World {
        n,
        sizes,
        data,
        reached: (0..n).map(|me| Origins::from([me])).collect(),
        depth: vec![0; n as usize],
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
                    Move::Recv(from, tag, part, usage) => {
                        if !world.recv(me, from, tag, part, usage) {
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
        depth: world.depth.into_iter().max().unwrap_or(0),
    }
}
