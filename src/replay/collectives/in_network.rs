//! Collectives in the network: the switches combine what their children in a tree send them, and copy the result to them
//! (`docs/model/replay.md`, "In the network").
//!
//! A plan has two more members for each switch of the tree, which take their steps side by side: one combines segments on
//! their way up, the other copies them on their way down. At the root the first one does both.

use super::step::Round;
use flitwise_fabric::ids::{NicId, SwitchId};
use flitwise_fabric::topology::{Aggregation, Neighbour, Topology};

/// Most segments: longer vectors get longer segments.
const MOST_SEGMENTS: u64 = 1 << 30;

/// The aggregation nodes of a fabric, and the switch of each NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches {
    aggregation: Aggregation,
    homes: Vec<SwitchId>,
}

impl Switches {
    /// The aggregation nodes of `topology`, if it has any.
    #[must_use]
    pub fn of(topology: &Topology) -> Option<Self> {
        let home = |nic| topology.attachment(nic).switch;
        Some(Self {
            aggregation: topology.aggregation()?.clone(),
            homes: topology.nic_ids().map(home).collect(),
        })
    }

    /// The first endpoints of the aggregation nodes, by switch.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NicId> + '_ {
        let switches = SwitchId::all(self.aggregation.switches() as u32);
        switches.map(|switch| self.aggregation.node(switch))
    }

    /// The endpoints of a message between neighbours in the tree.
    pub(crate) fn ends(&self, from: Neighbour, to: Neighbour) -> [NicId; 2] {
        [(from, to), (to, from)].map(|(own, other)| match own {
            Neighbour::Nic(nic) => nic,
            Neighbour::Switch(switch) => self.aggregation.facing(switch, other),
        })
    }

    /// The tree of members on these NICs: the switches above each, up to the lowest one above all.
    #[must_use]
    pub fn tree(&self, members: impl Iterator<Item = NicId> + Clone, limits: Limits) -> Tree {
        let up = |switch: &SwitchId| self.aggregation.parent(*switch);
        let home = |nic: NicId| self.homes[nic.index()];
        let above = members
            .clone()
            .flat_map(|nic| std::iter::successors(Some(home(nic)), up));
        let mut switches: Vec<SwitchId> = above.collect();
        switches.sort_unstable();
        switches.dedup();
        let place = |switch: SwitchId| switches.binary_search(&switch).unwrap_or(0) as u32;
        let leaves: Vec<u32> = members.map(|nic| place(home(nic))).collect();
        let mut nodes: Vec<Node> = switches
            .iter()
            .map(|&switch| Node {
                switch,
                parent: up(&switch).map(place),
                children: Vec::new(),
            })
            .collect();
        for (member, &leaf) in (0..).zip(&leaves) {
            nodes[leaf as usize].children.push(Child::Member(member));
        }
        for node in 0..nodes.len() {
            if let Some(parent) = nodes[node].parent {
                nodes[parent as usize]
                    .children
                    .push(Child::Node(node as u32));
            }
        }
        Tree::new(nodes, leaves, limits)
    }
}

/// The limits of the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest segment in bytes; at least 1.
    pub payload: u64,
    /// Segments of a member without a result; at least 1.
    pub operations: u32,
    /// Time to combine a segment in a switch, in picoseconds.
    pub reduction_ps: u64,
}

/// The tree of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// By switch, ascending.
    nodes: Vec<Node>,
    /// By member: the node of its switch.
    leaves: Vec<u32>,
    root: u32,
    limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    switch: SwitchId,
    parent: Option<u32>,
    children: Vec<Child>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Child {
    Member(u32),
    Node(u32),
}

/// The members of an operation whose data travel, and those that get the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// The members whose data go up.
    pub from: Only,
    /// The members that get the result.
    pub to: Only,
}

/// Some of the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    /// Everyone.
    All,
    /// This member.
    Member(u32),
    /// Everyone but this member.
    AllBut(u32),
    /// No member.
    None,
}

/// The part of a position in a tree.
enum Part {
    Member(u32),
    Up(u32),
    Down(u32),
}

impl Tree {
    fn new(nodes: Vec<Node>, leaves: Vec<u32>, limits: Limits) -> Self {
        let top = nodes.iter().position(|node| node.parent.is_none());
        let mut tree = Self {
            nodes,
            leaves,
            root: top.unwrap_or(0) as u32,
            limits,
        };
        // A switch that all data would only pass through is no part of the tree.
        while let [Child::Node(below)] = *tree.nodes[tree.root as usize].children {
            tree.nodes[tree.root as usize].children.clear();
            tree.nodes[below as usize].parent = None;
            tree.root = below;
        }
        tree
    }

    /// Number of members.
    pub(super) fn members(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// Parts of a vector of `bytes` bytes, and rounds of a member.
    pub(super) fn shape(&self, bytes: u64) -> (u64, u32) {
        let segments = bytes.div_ceil(self.limits.payload.max(1));
        let segments = segments.min(MOST_SEGMENTS) as u32;
        (
            u64::from(segments.max(1)),
            segments + self.in_flight(segments),
        )
    }

    /// Rounds between a segment of a member and its result.
    fn in_flight(&self, segments: u32) -> u32 {
        self.limits.operations.clamp(1, segments.max(1))
    }

    /// The positions behind the members, in their order: the switch, and whether data go down there.
    pub fn positions(&self) -> impl Iterator<Item = (SwitchId, bool)> + '_ {
        let both = |node: &Node| [false, true].map(|down| (node.switch, down));
        self.nodes.iter().flat_map(both)
    }

    /// The switch of a position behind the members, and whether data go down there.
    pub(crate) fn position(&self, position: u32) -> Option<(SwitchId, bool)> {
        match self.part(position) {
            Part::Member(_) => None,
            Part::Up(node) => Some((self.nodes[node as usize].switch, false)),
            Part::Down(node) => Some((self.nodes[node as usize].switch, true)),
        }
    }

    fn part(&self, position: u32) -> Part {
        match position.checked_sub(self.leaves.len() as u32) {
            None => Part::Member(position),
            Some(behind) if behind.is_multiple_of(2) => Part::Up(behind / 2),
            Some(behind) => Part::Down(behind / 2),
        }
    }

    fn up(&self, node: u32) -> u32 {
        self.leaves.len() as u32 + 2 * node
    }

    /// The position that results come from at a node.
    fn down(&self, node: u32) -> u32 {
        self.up(node) + u32::from(node != self.root)
    }

    /// Rounds of a position in an operation in which a member has `rounds`.
    pub(super) fn rounds(&self, position: u32, rounds: u32, parts: u64) -> u32 {
        match self.part(position) {
            Part::Member(_) => rounds,
            Part::Down(node) if node == self.root => 0,
            Part::Up(node) | Part::Down(node) if self.nodes[node as usize].children.is_empty() => 0,
            Part::Up(_) | Part::Down(_) => rounds.min(parts as u32),
        }
    }

    /// Whether a child is, or is above, one of `members`.
    fn has(&self, child: Child, members: Only) -> bool {
        let is_above = |node: u32, member: u32| {
            let own = Some(self.leaves[member as usize]);
            let mut above = std::iter::successors(own, |&at| self.nodes[at as usize].parent);
            above.any(|at| at == node)
        };
        match (members, child) {
            (Only::None, _) => false,
            (Only::Member(one), Child::Member(member)) => one == member,
            (Only::Member(one), Child::Node(node)) => is_above(node, one),
            (Only::AllBut(one), Child::Member(member)) => one != member,
            (Only::All, _) | (Only::AllBut(_), Child::Node(_)) => true,
        }
    }

    /// Steps of `position` in round `k`.
    pub(super) fn round(&self, flow: Flow, position: u32, k: u32, round: &mut Round<'_>) {
        match self.part(position) {
            Part::Member(me) => self.member(flow, me, k, round),
            Part::Up(node) => {
                let children = &self.nodes[node as usize].children;
                for &child in children {
                    let from = match child {
                        Child::Member(member) => member,
                        Child::Node(below) => self.up(below),
                    };
                    if self.has(child, flow.from) {
                        round.aggregate(from, k.into(), k);
                    } else {
                        round.recv_token(from, k);
                    }
                }
                round.pause(self.limits.reduction_ps);
                match self.nodes[node as usize].parent {
                    None => self.copy(flow, node, k, round),
                    Some(parent) if self.has(Child::Node(node), flow.from) => {
                        round.send(self.up(parent), k.into(), 1, k);
                    }
                    Some(parent) => round.send_token(self.up(parent), k),
                }
            }
            Part::Down(node) => {
                let parent = self.nodes[node as usize].parent.unwrap_or(self.root);
                if self.has(Child::Node(node), flow.to) {
                    round.recv(self.down(parent), k.into(), 1, k);
                } else {
                    round.recv_token(self.down(parent), k);
                }
                self.copy(flow, node, k, round);
            }
        }
    }

    /// Sends segment `k` of the result to the children of a node.
    fn copy(&self, flow: Flow, node: u32, k: u32, round: &mut Round<'_>) {
        for &child in &self.nodes[node as usize].children {
            let to = match child {
                Child::Member(member) => member,
                Child::Node(below) => self.down(below),
            };
            if self.has(child, flow.to) {
                round.send(to, k.into(), 1, k);
            } else {
                round.send_token(to, k);
            }
        }
    }

    /// A member sends segment `k` when it has the result of the segment as far before as may be in flight.
    fn member(&self, flow: Flow, me: u32, k: u32, round: &mut Round<'_>) {
        let (segments, child) = (round.parts() as u32, Child::Member(me));
        let node = self.leaves[me as usize];
        let done = k.checked_sub(self.in_flight(segments));
        if let Some(done) = done {
            if self.has(child, flow.to) {
                round.recv(self.down(node), done.into(), 1, done);
            } else {
                round.recv_token(self.down(node), done);
            }
        }
        if k < segments {
            if self.has(child, flow.from) {
                round.send(self.up(node), k.into(), 1, k);
            } else {
                round.send_token(self.up(node), k);
            }
        }
    }
}
