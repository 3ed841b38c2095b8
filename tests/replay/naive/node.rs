//! Nodes: the ways of messages inside them and between them.

use super::fabric::NICS;
use super::message::Message;
use super::world::World;
use flitwise::replay::program::RankId;
use flitwise::replay::{IntraNode, NicChoice};

/// A part of a message for the fabric.
pub struct Part {
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
}

/// Picoseconds that bytes take, rounded up.
fn copy_ps(bytes: u64, node: &IntraNode) -> u64 {
    let dividend = u128::from(bytes) * u128::from(node.bytes_per_s.den()) * 1_000_000_000_000;
    dividend.div_ceil(node.bytes_per_s.num().into()) as u64
}

impl World<'_> {
    pub fn nic(&self, rank: RankId) -> u32 {
        let behind = rank.index().checked_sub(self.case.nics.len());
        match behind {
            None => self.case.nics[rank.index()],
            // Two ranks for the aggregation node of each switch: a node of its own.
            Some(behind) => NICS + behind as u32 / 2,
        }
    }

    pub fn node(&self, rank: RankId) -> u32 {
        self.nic(rank) / self.case.node.nics
    }

    /// The place of a rank in its node: the ranks of a NIC take its places in turn.
    pub fn place(&self, rank: RankId) -> u32 {
        let nic = self.nic(rank);
        let before = self.case.nics[..rank.index()].iter();
        let before = before.filter(|&&other| other == nic).count() as u32;
        self.first_place(nic) + before % self.case.node.places_per_nic
    }

    /// The first place at a NIC.
    pub fn first_place(&self, nic: u32) -> u32 {
        nic % self.case.node.nics * self.case.node.places_per_nic
    }

    /// When a message that enters the fabric of a node now has left its sender and arrived.
    pub fn carry(&mut self, node: u32, [from, to]: [u32; 2], bytes: u64) -> (u64, u64) {
        let now_ps = self.now_ps;
        let pair = self.case.intra_node;
        let Some(graph) = self.case.node.graph.as_ref().filter(|_| from != to) else {
            let left_ps = now_ps + copy_ps(bytes, &pair);
            return (left_ps, left_ps + pair.latency_ps);
        };
        let link = IntraNode {
            latency_ps: graph.latency_ps,
            bytes_per_s: graph.bytes_per_s,
        };
        let route = route(graph.links(), from, to);
        let (mut head_ps, mut left_ps) = (now_ps, None);
        for ends in route.windows(2) {
            let ends = [ends[0], ends[1]];
            let busy_ps = self.busy_until_ps.entry((node, ends)).or_default();
            if *busy_ps > head_ps {
                *self
                    .outcome
                    .features
                    .entry("message that waits for a link of a node")
                    .or_default() += 1;
            }
            let starts_ps = head_ps.max(*busy_ps);
            *busy_ps = starts_ps + copy_ps(bytes, &link);
            left_ps = left_ps.or(Some(*busy_ps));
            head_ps = starts_ps + link.latency_ps;
        }
        (left_ps.expect("a link"), head_ps + copy_ps(bytes, &link))
    }

    /// The parts of a message between nodes, and whether its last step is inside the node of the receiver.
    pub fn parts(&mut self, message: &Message) -> (Vec<Part>, bool) {
        let node = &self.case.node;
        let number = self
            .outcome
            .sent_to_nodes
            .entry(message.from.get())
            .or_default();
        *number += 1;
        let number = *number - 1;
        let [src, dst] = self.ends([message.from, message.to]);
        let nodes = [src, dst].map(|nic| nic - nic % node.nics);
        let by = |index: u32, bytes| Part {
            src: nodes[0] + index,
            dst: nodes[1] + index,
            bytes,
        };
        let bytes = message.bytes;
        match node.choice {
            _ if message.nic > 0 => {
                let index = (src % node.nics + u32::from(message.nic)) % node.nics;
                (vec![by(index, bytes)], false)
            }
            NicChoice::Hash => {
                let [from, to] = [message.from, message.to].map(|rank| u64::from(rank.get()));
                let key = (31 * from + to) * 31 + number;
                let fraction = key.wrapping_mul(11_400_714_819_323_198_485) >> 32;
                let index = fraction * u64::from(node.nics) / (1 << 32);
                (vec![by(index as u32, bytes)], false)
            }
            NicChoice::Stripe { above_bytes } if bytes > above_bytes => {
                let count = bytes.min(node.nics.into());
                let longer = bytes % count;
                let part = |index| by(index as u32, bytes / count + u64::from(index < longer));
                ((0..count).map(part).collect(), false)
            }
            NicChoice::ByRank | NicChoice::Stripe { .. }
                if src % node.planes != dst % node.planes =>
            {
                (vec![by(src % node.nics, bytes)], true)
            }
            NicChoice::ByRank | NicChoice::Stripe { .. } => (vec![Part { src, dst, bytes }], false),
        }
    }
}

/// The vertices of the shortest way; of several the one whose next vertex is always the lowest.
fn route(links: &[[u32; 2]], from: u32, to: u32) -> Vec<u32> {
    let next_to = |at: u32| {
        let mut all: Vec<u32> = links
            .iter()
            .flat_map(|&[a, b]| [[a, b], [b, a]])
            .filter(|ends| ends[0] == at)
            .map(|ends| ends[1])
            .collect();
        all.sort_unstable();
        all
    };
    // All ways of one length, in the order of their vertices, until one ends there.
    let mut ways = vec![vec![from]];
    loop {
        if let Some(way) = ways.iter().find(|way| way.last() == Some(&to)) {
            return way.clone();
        }
        let longer = |way: &Vec<u32>| {
            let way = way.clone();
            let ends = next_to(way[way.len() - 1]);
            ends.into_iter().map(move |end| [&way[..], &[end]].concat())
        };
        ways = ways.iter().flat_map(longer).collect();
    }
}
