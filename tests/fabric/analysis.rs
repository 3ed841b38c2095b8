//! The slow way to what `fabric::analysis` says: every packet followed by itself,
//! every cut tried.

use crate::common::paths::levels_and_vias;
use crate::common::random::{Kind, fabric};
use crate::common::script::{Cue, Script, message};
use crate::common::specs::hierarchical_of;
use flitwise::fabric::analysis::channels::{Buffer, Channel, Credits, Towards};
use flitwise::fabric::analysis::path::path_via;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::{NicId, NicPair, SwitchId};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::spec::hierarchical::{CentralLink, CentralQueues, Quota};
use flitwise::fabric::topology::Peer;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Ordered pairs of different NICs.
pub fn all_pairs(spec: &FabricSpec) -> impl Iterator<Item = NicPair> {
    let nics = spec.topology.nic_ids();
    nics.clone().flat_map(move |src| {
        let from_src = nics.clone().map(move |dst| NicPair { src, dst });
        from_src.filter(|pair| pair.src != pair.dst)
    })
}

/// Fabrics that may or may not have cycles, of all causes.
pub fn mixed_fabric() -> impl Strategy<Value = FabricSpec> {
    let sound = (fabric(Kind::Sound), any::<bool>()).prop_map(|(mut spec, per_vl)| {
        if per_vl {
            hierarchical_of(&mut spec).buffers.central_queues = CentralQueues::PerVl;
        }
        spec
    });
    prop_oneof![fabric(Kind::Any), sound]
}

/// A channel: buffer (0 input, 1 output, 2 central), switch, port or number, and the
/// queue: its VL and what it leads to, or none for shared credits.
pub type Key = (u8, u32, u32, Option<(u8, i64)>);

const NICS: i64 = -1;
const ALL: i64 = -2;
const NO_CLASS: i64 = -3;

/// The key of a channel.
pub fn key(c: &Channel) -> Key {
    let buffer = match c.buffer {
        Buffer::Input => 0,
        Buffer::Output => 1,
        Buffer::Central => 2,
    };
    let queue = match c.credits {
        Credits::Shared => None,
        Credits::Queue { vl, towards } => Some((
            vl,
            match towards {
                None => NO_CLASS,
                Some(Towards::Nics) => NICS,
                Some(Towards::All) => ALL,
                Some(Towards::Switch(switch)) => switch.get().into(),
            },
        )),
    };
    (buffer, c.switch.get(), c.index, queue)
}

/// The dependency graph by following a packet of every service level between all
/// pairs, on trunks by destination.
pub struct SlowGraph {
    pub edges: BTreeSet<(Key, Key)>,
    pub queues: BTreeSet<Key>,
}

impl SlowGraph {
    pub fn new(spec: &FabricSpec) -> Self {
        let mut graph = Self {
            edges: BTreeSet::new(),
            queues: BTreeSet::new(),
        };
        for pair in all_pairs(spec) {
            for (sl, via) in levels_and_vias(spec, pair) {
                graph.follow(spec, pair, via, sl);
            }
        }
        if spec.hierarchical().unwrap().allocator.blocks_other_queues() {
            graph.couple();
        }
        let shared: Vec<Key> = graph.edges.iter().map(|&(_, to)| to).collect();
        for credits in shared.into_iter().filter(|key| key.3.is_none()) {
            for &queue in &graph.queues {
                let same = (queue.0, queue.1, queue.2) == (credits.0, credits.1, credits.2);
                let quota = &pool(spec, queue.0)[usize::from(queue.3.unwrap().0)];
                if same && quota.max > quota.exclusive {
                    graph.edges.insert((credits, queue));
                }
            }
        }
        graph
    }

    /// What one queue of a source waits for, all of them may wait for.
    fn couple(&mut self) {
        let edges: Vec<_> = self.edges.iter().copied().collect();
        let is_same = |a: &Key, b: &Key| a.0 != 1 && (a.0, a.1, a.2) == (b.0, b.1, b.2);
        for (from, _) in &edges {
            let others = edges.iter().filter(|(other, _)| is_same(from, other));
            self.edges.extend(others.map(|&(_, to)| (*from, to)));
        }
    }

    fn follow(&mut self, spec: &FabricSpec, pair: NicPair, via: NicId, sl: usize) {
        let route = path_via(spec, spec, pair, via, sl, 1).unwrap();
        let hierarchical = spec.hierarchical().expect("hierarchical switches");
        let per_vl = hierarchical.buffers.central_queues == CentralQueues::PerVl;
        // NICs hold nobody up: the first input buffer is not waited for.
        let mut held: Option<Key> = None;
        let mut vl_in = route.injection.1;
        for step in &route.steps {
            let vl = step.channel.1;
            let switch = step.switch.get();
            let from_nic = matches!(spec.topology.peer(step.switch, step.port_in), Peer::Nic(_));
            if !from_nic {
                let input = (0, switch, step.port_in.get(), Some((vl_in, NO_CLASS)));
                self.wait(spec, held, input);
                held = Some(input);
            }
            if let Some(central) = step.central {
                // Of drawn links the step names the first.
                let centrals = match hierarchical.buffers.central_link {
                    CentralLink::Random { .. } => vec![central, central + 1],
                    CentralLink::ByOutput | CentralLink::ByInput => vec![central],
                };
                let towards = match spec.topology.peer(step.switch, step.port_out) {
                    _ if per_vl => ALL,
                    Peer::Switch { switch, .. } => switch.get().into(),
                    _ => NICS,
                };
                let output = (1, switch, step.port_out.get(), Some((vl, NO_CLASS)));
                for central in centrals {
                    let central = (2, switch, central, Some((vl, towards)));
                    self.wait(spec, held, central);
                    self.wait(spec, Some(central), output);
                }
                held = None;
            }
            let output = (1, switch, step.port_out.get(), Some((vl, NO_CLASS)));
            self.wait(spec, held, output);
            held = Some(output);
            vl_in = vl;
        }
    }

    fn wait(&mut self, spec: &FabricSpec, held: Option<Key>, queue: Key) {
        self.queues.insert(queue);
        let Some(held) = held else { return };
        self.edges.insert((held, queue));
        let vl = queue.3.unwrap().0;
        if pool(spec, queue.0)[usize::from(vl)].exclusive < spec.max_credits_on_vl(vl) {
            self.edges.insert((held, (queue.0, queue.1, queue.2, None)));
        }
    }

    /// Strikes out whatever waits for nobody until nothing changes.
    pub fn cyclic(&self) -> bool {
        let mut waits: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
        for &(from, to) in &self.edges {
            waits.entry(from).or_default().insert(to);
            waits.entry(to).or_default();
        }
        loop {
            let free: Vec<Key> = waits
                .iter()
                .filter(|(_, next)| next.is_empty())
                .map(|(&key, _)| key)
                .collect();
            if free.is_empty() {
                return !waits.is_empty();
            }
            for key in &free {
                waits.remove(key);
            }
            for next in waits.values_mut() {
                next.retain(|key| free.binary_search(key).is_err());
            }
        }
    }
}

fn pool(spec: &FabricSpec, buffer: u8) -> &[Quota] {
    let buffers = &spec.hierarchical().expect("hierarchical switches").buffers;
    match buffer {
        0 => &buffers.input.per_vl,
        1 => &buffers.output.per_vl,
        _ => &buffers.central.per_vl,
    }
}

/// All cuts of a small fabric.
pub struct Cuts;

impl Cuts {
    /// Fewest links between halves of the NICs as even as they get.
    pub fn least(spec: &FabricSpec) -> u64 {
        Self::all(spec).into_iter().next_back().unwrap().1
    }

    /// Fewest links if the smaller half has `half` NICs.
    pub fn least_with(spec: &FabricSpec, half: u64) -> u64 {
        Self::all(spec)[&half]
    }

    /// Fewest links by the NICs in the smaller half.
    fn all(spec: &FabricSpec) -> BTreeMap<u64, u64> {
        let topology = &spec.topology;
        let switches = topology.switches();
        assert!(switches <= 16, "{switches} switches have too many cuts");
        let mut links = Vec::new();
        let mut nics = vec![0; switches as usize];
        for s in topology.switch_ids() {
            for p in topology.port_ids() {
                match topology.peer(s, p) {
                    Peer::Switch { switch, port } if (s, p) < (switch, port) => {
                        links.push((s, switch));
                    }
                    Peer::Nic(_) => nics[s.index()] += 1,
                    _ => {}
                }
            }
        }
        let mut least = BTreeMap::new();
        for side in 0u32..1 << (switches - 1) {
            let there = |s: &SwitchId| side >> s.get() & 1 == 1;
            let half = topology.switch_ids().filter(there);
            let half: u64 = half.map(|s| nics[s.index()]).sum();
            let half = half.min(u64::from(topology.nics()) - half);
            let cut = links.iter().filter(|(a, b)| there(a) != there(b)).count() as u64;
            let best = least.entry(half).or_insert(cut);
            *best = cut.min(*best);
        }
        least
    }
}

/// Every NIC sends `messages` of all service levels as fast as it can, to
/// destinations at many distances.
pub fn overload(spec: &FabricSpec, messages: u32) -> RunEnd {
    let nics = spec.topology.nics();
    let sls = spec.qos.service_levels.len() as u32;
    let mut lines = Vec::new();
    // A single NIC sends to no other.
    let messages = if nics > 1 { messages } else { 0 };
    for i in 0..messages {
        for src in 0..nics {
            // A shift that all share, one of its own, and one place for all.
            let shift = match i % 3 {
                0 => 1 + i / 3 % (nics - 1),
                1 => 1 + (src * 7 + i * 5) % (nics - 1),
                _ => nics - 1 - (i / 3) % (nics - 1),
            };
            let sl = (i + src) % sls;
            let mtu = u64::from(spec.qos.service_levels[sl as usize].mtu_bytes);
            let bytes = [mtu, 2 * mtu, mtu / 3][i as usize % 3];
            let dst = (src + shift) % nics;
            lines.push((Cue::At(0), message(0, src, dst, sl as u8, bytes)));
        }
    }
    Engine::new(spec).unwrap().run(&mut Script::new(lines))
}
