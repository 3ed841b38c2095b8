//! Collectives in the network, step by step: each switch waits for all its children, and each result goes to all of them.
//!
//! A switch has two members: one combines, one copies. The lowest switch above all ranks does both with the first.

use super::members::Member;
use super::world::{CollectiveKey, World};
use flitwise::fabric::ids::{NicId, SwitchId};
use flitwise::fabric::topology::Topology;
use flitwise::replay::collectives::decide::{Allreduce, Barrier, Bcast, Reduce};
use flitwise::replay::collectives::{Choices, Step};
use flitwise::replay::program::{CollectiveKind, RankId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Positions of switches begin here.
const NODES: u32 = 1 << 20;

/// A tree, and what goes through it.
struct Tree<'a> {
    topology: &'a Topology,
    kind: &'a CollectiveKind,
    /// Switch of each member.
    homes: Vec<u32>,
    /// Payload of each segment.
    segments: Vec<u64>,
    in_flight: usize,
    pause_ps: u64,
    root: u32,
    switches: BTreeSet<u32>,
}

/// A child of a switch.
#[derive(Clone, Copy, PartialEq)]
enum Child {
    Member(u32),
    Switch(u32),
}

fn combiner(switch: u32) -> u32 {
    NODES + 2 * switch
}

/// Bytes of a barrier are none, in one segment.
fn cut(kind: &CollectiveKind, choices: &Choices) -> Option<Vec<u64>> {
    let (chosen, bytes) = match *kind {
        CollectiveKind::Barrier => {
            return (choices.barrier == Some(Barrier::InNetwork)).then(|| vec![0]);
        }
        CollectiveKind::Bcast { bytes, .. } => (choices.bcast == Some(Bcast::InNetwork), bytes),
        CollectiveKind::Reduce { bytes, .. } => (choices.reduce == Some(Reduce::InNetwork), bytes),
        CollectiveKind::Allreduce { bytes } => {
            (choices.allreduce == Some(Allreduce::InNetwork), bytes)
        }
        _ => return None,
    };
    let payload = choices.switch_payload.map_or(256, |bytes| bytes.0);
    let count = bytes.div_ceil(payload);
    let segment = |number| bytes / count + u64::from(number < bytes % count);
    chosen.then(|| (0..count).map(segment).collect())
}

impl Tree<'_> {
    fn parent(&self, switch: u32) -> Option<u32> {
        let all = self.topology.aggregation().expect("aggregation nodes");
        all.parent(SwitchId::new(switch)).map(SwitchId::get)
    }

    /// A switch and all above it.
    fn up(&self, switch: u32) -> Vec<u32> {
        let mut way = vec![switch];
        while let Some(parent) = self.parent(way[way.len() - 1]) {
            way.push(parent);
        }
        way
    }

    /// The first switch that is above all members, and the switches from them up to it.
    fn grow(&mut self) {
        let ways: Vec<Vec<u32>> = self.homes.iter().map(|&home| self.up(home)).collect();
        let above_all = |switch: &&u32| ways.iter().all(|way| way.contains(switch));
        self.root = *ways[0].iter().find(above_all).expect("the tree has a root");
        for way in ways {
            let below = way.iter().take_while(|&&switch| switch != self.root);
            self.switches.extend(below);
        }
        self.switches.insert(self.root);
    }

    fn children(&self, switch: u32) -> Vec<Child> {
        let members = (0..self.homes.len() as u32)
            .filter(|&member| self.homes[member as usize] == switch)
            .map(Child::Member);
        let below = self.switches.iter().copied();
        let below = below
            .filter(|&below| below != self.root && self.parent(below) == Some(switch))
            .map(Child::Switch);
        members.chain(below).collect()
    }

    /// Whether a member is the child or below it.
    fn holds(&self, child: Child, member: u32) -> bool {
        match child {
            Child::Member(other) => other == member,
            Child::Switch(switch) => self.up(self.homes[member as usize]).contains(&switch),
        }
    }

    /// Whether data come up from a child.
    fn brings(&self, child: Child) -> bool {
        match *self.kind {
            CollectiveKind::Bcast { root, .. } => self.holds(child, root),
            CollectiveKind::Barrier => false,
            _ => true,
        }
    }

    /// Whether data go down to a child.
    fn gets(&self, child: Child) -> bool {
        match *self.kind {
            CollectiveKind::Reduce { root, .. } => self.holds(child, root),
            CollectiveKind::Bcast { root, .. } => child != Child::Member(root),
            CollectiveKind::Barrier => false,
            _ => true,
        }
    }

    fn send(&self, to: u32, segment: usize, data: bool) -> Step {
        let bytes = if data { self.segments[segment] } else { 0 };
        let tag = segment as u32;
        Step::Send { to, bytes, tag }
    }

    /// The position from which results come at a switch.
    fn source(&self, switch: u32) -> u32 {
        combiner(switch) + u32::from(switch != self.root)
    }

    fn of_member(&self, me: u32) -> Vec<Step> {
        let home = self.homes[me as usize];
        let mut steps = Vec::new();
        for number in 0..self.segments.len() + self.in_flight {
            if let Some(done) = number.checked_sub(self.in_flight) {
                let (from, tag) = (self.source(home), done as u32);
                steps.push(Step::Recv { from, tag });
            }
            if number < self.segments.len() {
                let data = self.brings(Child::Member(me));
                steps.push(self.send(combiner(home), number, data));
            }
        }
        steps
    }

    fn copies(&self, switch: u32, segment: usize) -> Vec<Step> {
        let copy = |child| {
            let to = match child {
                Child::Member(member) => member,
                Child::Switch(below) => combiner(below) + 1,
            };
            self.send(to, segment, self.gets(child))
        };
        self.children(switch).into_iter().map(copy).collect()
    }

    fn of_combiner(&self, switch: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        for segment in 0..self.segments.len() {
            let tag = segment as u32;
            for child in self.children(switch) {
                let from = match child {
                    Child::Member(member) => member,
                    Child::Switch(below) => combiner(below),
                };
                steps.push(Step::Recv { from, tag });
            }
            steps.push(Step::Pause { ps: self.pause_ps });
            if switch == self.root {
                steps.extend(self.copies(switch, segment));
            } else {
                let parent = self.parent(switch).expect("the root is above");
                let data = self.brings(Child::Switch(switch));
                steps.push(self.send(combiner(parent), segment, data));
            }
        }
        steps
    }

    fn of_copier(&self, switch: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        for segment in 0..self.segments.len() {
            let parent = self.parent(switch).expect("the root is above");
            let (from, tag) = (self.source(parent), segment as u32);
            steps.push(Step::Recv { from, tag });
            steps.extend(self.copies(switch, segment));
        }
        steps
    }
}

/// A neighbour of a switch in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    Nic(u32),
    Switch(u32),
}

/// The endpoints of internal links, by switch and the neighbour that each serves: they come behind the NICs.
pub fn internal_links(topology: &Topology, most: Option<u32>) -> BTreeMap<(u32, Neighbour), u32> {
    let all = topology.aggregation().expect("aggregation nodes");
    let parent = |switch| all.parent(SwitchId::new(switch)).map(SwitchId::get);
    let home = |nic| topology.attachment(NicId::new(nic)).switch.get();
    let (mut links, mut first) = (BTreeMap::new(), topology.nics());
    for switch in 0..topology.switches() {
        let nics = (0..topology.nics()).filter(|&nic| home(nic) == switch);
        let below = (0..topology.switches()).filter(|&other| parent(other) == Some(switch));
        let switches = below.chain(parent(switch)).map(Neighbour::Switch);
        let neighbours: Vec<Neighbour> = nics.map(Neighbour::Nic).chain(switches).collect();
        let count = most.unwrap_or(120).min(neighbours.len() as u32).max(1);
        for (place, neighbour) in (0..).zip(neighbours) {
            links.insert((switch, neighbour), first + place % count);
        }
        first += count;
    }
    links
}

impl World<'_> {
    /// The steps of a rank in a collective that the switches carry out, if they do. With the first rank the switches enter it.
    pub fn steps_in_network(
        &mut self,
        collective: CollectiveKey,
        kind: &CollectiveKind,
        ranks: &Arc<[RankId]>,
        me: u32,
    ) -> Option<Vec<Step>> {
        let (topology, choices) = (self.case.topology.as_ref()?, &self.case.collectives);
        let segments = cut(kind, choices)?;
        if ranks.len() == 1 {
            return Some(Vec::new());
        }
        let nic = |rank: &RankId| NicId::new(self.nic(*rank));
        let home = |rank| topology.attachment(nic(rank)).switch.get();
        let mut tree = Tree {
            topology,
            kind,
            homes: ranks.iter().map(home).collect(),
            in_flight: segments
                .len()
                .min(choices.switch_operations.unwrap_or(4) as usize),
            segments,
            pause_ps: choices.switch_reduction.map_or(0, |time| time.0),
            root: 0,
            switches: BTreeSet::new(),
        };
        tree.grow();
        let several = tree.segments.len() > tree.in_flight;
        self.count_if(several, "segment in the network that waits for a result");
        self.count_if(
            tree.switches.len() > 1,
            "collective through several switches",
        );
        let known = |member: &Member| member.collective == collective;
        if !self.members.iter().any(known) {
            self.enter_switches(&tree, collective, ranks);
        }
        Some(tree.of_member(me))
    }

    fn enter_switches(
        &mut self,
        tree: &Tree<'_>,
        collective: CollectiveKey,
        ranks: &Arc<[RankId]>,
    ) {
        for &switch in &tree.switches {
            let copier = if switch == tree.root {
                Vec::new()
            } else {
                tree.of_copier(switch)
            };
            for (down, steps) in [(0, tree.of_combiner(switch)), (1, copier)] {
                let position = combiner(switch) + down;
                self.enter(Member {
                    collective,
                    rank: self.rank_at(ranks, position),
                    stream: 0,
                    position,
                    ranks: Arc::clone(ranks),
                    steps,
                    taken: 0,
                    busy_until_ps: None,
                    open_sends: 0,
                    done: false,
                    owner: None,
                });
            }
        }
    }

    /// The endpoints of a message: each switch sends and receives on the internal link of the other end.
    pub fn ends(&self, ranks: [RankId; 2]) -> [u32; 2] {
        let ends = ranks.map(
            |rank| match rank.index().checked_sub(self.case.nics.len()) {
                None => Neighbour::Nic(self.nic(rank)),
                Some(behind) => Neighbour::Switch(behind as u32 / 2),
            },
        );
        [[ends[0], ends[1]], [ends[1], ends[0]]].map(|[own, other]| match own {
            Neighbour::Nic(nic) => nic,
            Neighbour::Switch(switch) => self.internal_links[&(switch, other)],
        })
    }

    /// The rank at a position: of a member, or of a switch.
    pub fn rank_at(&self, ranks: &[RankId], position: u32) -> RankId {
        match position.checked_sub(NODES) {
            None => ranks[position as usize],
            Some(behind) => RankId::new(self.case.ranks.len() as u32 + behind),
        }
    }
}
