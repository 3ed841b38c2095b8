//! Which block each switch belongs to, and how a topology is cut into blocks.

use crate::engine::ids::{InputId, OutputId};
use crate::ids::SwitchId;
use crate::spec::voq::InputQueues;
use crate::spec::{DetourRule, FabricSpec, Switch};
use crate::topology::{Peer, Topology};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The block that has the NICs and calls the workload.
pub(in crate::engine) const LEAD: usize = 0;

/// The block of each switch. The NICs belong to the first block, [`LEAD`].
#[derive(Debug)]
pub(in crate::engine) struct Cut {
    /// Number of blocks, at least 2.
    blocks: usize,
    radix: usize,
    /// Per port of a switch, counted over all switches.
    of_port: Vec<u16>,
    /// A NIC and its switch are in different blocks.
    cuts_nics: bool,
}

impl Cut {
    /// The cut in which each switch is in the block `of_switch`; `None` if there is one block alone.
    pub(in crate::engine) fn new(topology: &Topology, of_switch: &[u16]) -> Option<Self> {
        let last = of_switch.iter().copied().max().filter(|&last| last > 0)?;
        let radix = topology.radix() as usize;
        let of_port = of_switch
            .iter()
            .flat_map(|&block| std::iter::repeat_n(block, radix));
        let block = |nic| of_switch[topology.attachment(nic).switch.index()];
        Some(Self {
            blocks: usize::from(last) + 1,
            cuts_nics: topology
                .endpoint_ids()
                .any(|nic| usize::from(block(nic)) != LEAD),
            radix,
            of_port: of_port.collect(),
        })
    }

    /// Number of blocks.
    pub(in crate::engine) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Whether a NIC and its switch are in different blocks.
    pub(in crate::engine) fn cuts_nics(&self) -> bool {
        self.cuts_nics
    }

    /// The block of a switch.
    pub(in crate::engine) fn of_switch(&self, switch: SwitchId) -> usize {
        self.of_port[switch.index() * self.radix].into()
    }

    /// The block of an in-port.
    #[inline]
    pub(in crate::engine) fn of_input(&self, input: InputId) -> usize {
        self.of_port[input.index()].into()
    }

    /// The block of an output.
    #[inline]
    pub(in crate::engine) fn of_output(&self, output: OutputId) -> usize {
        // Outputs of NICs come behind the outputs of switches.
        self.of_port
            .get(output.index())
            .map_or(LEAD, |&block| block.into())
    }
}

/// The reason why a fabric cannot be cut; `None` if it can.
pub(in crate::engine) fn obstacle(spec: &FabricSpec) -> Option<&'static str> {
    let rule = spec.routing.paths.detours().map(|detours| detours.rule);
    if rule == Some(DetourRule::UgalG) {
        return Some("routing reads the queues of distant switches");
    }
    if (spec.link_power.as_deref()).is_some_and(|power| power.wake_ahead > 0) {
        return Some("packets announce themselves to links ahead");
    }
    // Blocks look for credits more often, so they would see later that nothing moves any more.
    if spec.outages.iter().any(|outage| outage.until.is_none()) {
        return Some("a link stays down");
    }
    match &spec.switch {
        Switch::Voq(voq)
            if matches!(
                voq.input_queues,
                InputQueues::PerFlow | InputQueues::Isolating
            ) =>
        {
            Some("input buffers keep flows apart")
        }
        Switch::Voq(_) | Switch::Hierarchical(_) => None,
    }
}

/// Cuts a fabric into `blocks` blocks of about the same work, with few links between them.
///
/// A block grows from one switch to the neighbour with the most links into the block. Blocks after the first have no
/// NICs, so they get more switches.
pub(in crate::engine) fn balanced(spec: &FabricSpec, blocks: usize) -> Vec<u16> {
    let topology = &spec.topology;
    // The work of a NIC and its workload, in units of the work of a connected port: as measured.
    let nic_work = match &spec.switch {
        Switch::Hierarchical(_) => 1,
        Switch::Voq(_) => 3,
    };
    let switches = topology.switches() as usize;
    let neighbours: Vec<Vec<usize>> = topology
        .switch_ids()
        .map(|switch| neighbours(topology, switch))
        .collect();
    let work = |switch: SwitchId| {
        let peers = topology.port_ids().map(|port| topology.peer(switch, port));
        peers.filter(|peer| *peer != Peer::None).count() as u64
    };
    let works: Vec<u64> = topology.switch_ids().map(work).collect();
    let of_nics = nic_work * u64::from(topology.endpoints());
    let total = works.iter().sum::<u64>() + of_nics;
    let mut of_switch = vec![u16::MAX; switches];
    // The NICs are in the first block.
    let nics = |switch: SwitchId| {
        let peers = topology.port_ids().map(|port| topology.peer(switch, port));
        peers.filter(|peer| matches!(peer, Peer::Nic(_))).count()
    };
    let mut links: Vec<usize> = topology.switch_ids().map(nics).collect();
    let queue_of = |links: &[usize]| -> BinaryHeap<(usize, Reverse<usize>)> {
        let entries = links.iter().copied().zip((0..).map(Reverse));
        entries.collect()
    };
    // The switches by links into the block; an entry is out of date if a later one has more links.
    let mut queue = queue_of(&links);
    let mut done = of_nics;
    let mut block = 0;
    loop {
        // The end of the block, in work done.
        while block + 1 < blocks && done >= total * (block as u64 + 1) / blocks as u64 {
            block += 1;
            links.fill(0);
            queue = queue_of(&links);
        }
        let Some((_, Reverse(next))) = queue.pop() else {
            return of_switch;
        };
        if of_switch[next] != u16::MAX {
            continue;
        }
        of_switch[next] = block as u16;
        done += works[next];
        for &neighbour in &neighbours[next] {
            links[neighbour] += 1;
            queue.push((links[neighbour], Reverse(neighbour)));
        }
    }
}

/// The switches at the other ends of the links of `switch`.
fn neighbours(topology: &Topology, switch: SwitchId) -> Vec<usize> {
    let peer = |port| match topology.peer(switch, port) {
        Peer::Switch { switch, .. } => Some(switch.index()),
        Peer::Nic(_) | Peer::None => None,
    };
    topology.port_ids().filter_map(peer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Detours, Intermediate, Paths};

    #[test]
    fn blocks_of_a_tree_have_about_the_same_work() {
        let tree = Topology::k_ary_n_tree(8, 3, None).unwrap();
        let spec = FabricSpec::opa_gen1(tree).unwrap();
        for blocks in [2, 3, 4] {
            let of_switch = balanced(&spec, blocks);
            let switches = |block: usize| {
                let own = of_switch.iter().filter(|&&of| usize::from(of) == block);
                own.count()
            };
            // A switch has 16 ports, except the 64 at the top with 8; 512 NICs count as a port each.
            let share = (128 * 16 + 64 * 8 + 512) / blocks;
            assert!(switches(0) > 0);
            for block in 1..blocks {
                let ports = switches(block) * 16;
                assert!(
                    ports >= share / 2 && ports <= 2 * share,
                    "{blocks}: {ports}"
                );
            }
            // The leaf switches come first: the lead has their NICs.
            assert_eq!(of_switch[0], 0);
        }
    }

    #[test]
    fn what_reads_distant_queues_cannot_be_cut() {
        let mut spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None).unwrap()).unwrap();
        assert_eq!(obstacle(&spec), None);
        spec.routing.paths = Paths::Detours(Detours {
            rule: DetourRule::UgalG,
            intermediate: Intermediate::Nic,
            bias: 0,
            seed: 1,
        });
        assert!(obstacle(&spec).is_some());
    }
}
