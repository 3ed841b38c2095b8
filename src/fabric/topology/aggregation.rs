//! Aggregation nodes: endpoints inside each switch, which combine what its children in a tree of switches send it
//! (`docs/model/replay.md`, "In the network").

use super::{MAX_RADIX, Topology};
use crate::error::SpecError;
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};

/// The aggregation nodes of a fabric. Their endpoints follow the NICs, switch by switch: one for each internal link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregation {
    /// NICs of the fabric.
    nics: u32,
    /// Most internal links of a switch, if given.
    links: Option<u32>,
    /// The port of the first internal link, which is the same at every switch.
    port: PortId,
    /// The first endpoint of each switch, and the number of all endpoints.
    first: Vec<u32>,
    /// By NIC: the endpoint that faces it in its switch.
    facing: Vec<NicId>,
    /// Above each switch in the tree; `None` at its root, and at switches that no NIC needs.
    above: Vec<Option<Above>>,
}

/// The parent of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Above {
    parent: SwitchId,
    /// The endpoint of the switch that faces its parent, and the one of the parent that faces it.
    ends: [NicId; 2],
}

/// A neighbour in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// A NIC of the switch.
    Nic(NicId),
    /// Another switch.
    Switch(SwitchId),
}

impl Aggregation {
    /// The parent of a switch, which is its neighbour; `None` at the root, and at switches that no NIC needs.
    #[must_use]
    pub fn parent(&self, switch: SwitchId) -> Option<SwitchId> {
        self.above(switch).map(|above| above.parent)
    }

    fn above(&self, switch: SwitchId) -> Option<Above> {
        self.above.get(switch.index()).copied().flatten()
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.above.len()
    }

    /// Most internal links of a switch, if given.
    #[must_use]
    pub fn links(&self) -> Option<u32> {
        self.links
    }

    /// The first endpoint in a switch.
    #[must_use]
    pub fn node(&self, switch: SwitchId) -> NicId {
        NicId::new(self.first[switch.index()])
    }

    /// The endpoint in a switch that faces its neighbour in the tree.
    #[must_use]
    pub fn facing(&self, switch: SwitchId, neighbour: Neighbour) -> NicId {
        let other = match neighbour {
            Neighbour::Nic(nic) => return self.facing[nic.index()],
            Neighbour::Switch(other) => other,
        };
        match (self.above(switch), self.above(other)) {
            (Some(above), _) if above.parent == other => above.ends[0],
            (_, Some(above)) => above.ends[1],
            (_, None) => self.node(switch),
        }
    }

    /// The switch of an endpoint that is an aggregation node's, and the number of its internal link there.
    #[must_use]
    pub fn link(&self, endpoint: NicId) -> Option<(SwitchId, u32)> {
        let behind = self.first.partition_point(|&first| first <= endpoint.get());
        let switch = SwitchId::new(behind.checked_sub(1)? as u32);
        (behind <= self.switches()).then(|| (switch, endpoint.get() - self.node(switch).get()))
    }

    /// Internal links of a switch.
    fn links_of(&self, switch: SwitchId) -> u32 {
        self.first[switch.index() + 1] - self.first[switch.index()]
    }

    /// The aggregation nodes of a topology, with at most `most` internal links each, from `port` on.
    fn new(topology: &Topology, (port, links): (PortId, Option<u32>), most: u32) -> Self {
        let parents = tree(topology);
        // The neighbours of each switch: NICs, then children, then the parent.
        let mut neighbours = vec![0_u32; topology.switches() as usize];
        let mut next = |switch: SwitchId| {
            neighbours[switch.index()] += 1;
            (switch, neighbours[switch.index()] - 1)
        };
        let homes = topology
            .nic_ids()
            .map(|nic| topology.attachment(nic).switch);
        let of_nics: Vec<_> = homes.map(&mut next).collect();
        let at_parents: Vec<_> = parents.iter().map(|parent| parent.map(&mut next)).collect();
        let own = |(switch, parent): (SwitchId, &Option<SwitchId>)| parent.map(|_| next(switch));
        let of_parents: Vec<_> = topology.switch_ids().zip(&parents).map(own).collect();
        let links_of = |&neighbours: &u32| neighbours.clamp(1, most);
        let mut first = vec![topology.nics()];
        first.extend(
            neighbours
                .iter()
                .map(links_of)
                .scan(topology.nics(), |sum, links| {
                    *sum += links;
                    Some(*sum)
                }),
        );
        let endpoint = |(switch, place): (SwitchId, u32)| {
            let links = links_of(&neighbours[switch.index()]);
            NicId::new(first[switch.index()] + place % links)
        };
        let above = |(parent, ends): (&Option<SwitchId>, _)| {
            let (Some(parent), (Some(own), Some(far))) = (*parent, ends) else {
                return None;
            };
            let ends = [own, far].map(endpoint);
            Some(Above { parent, ends })
        };
        let ends = of_parents.into_iter().zip(at_parents);
        Self {
            nics: topology.nics(),
            links,
            port,
            facing: of_nics.into_iter().map(endpoint).collect(),
            above: parents.iter().zip(ends).map(above).collect(),
            first,
        }
    }
}

impl Topology {
    /// The same with an aggregation node in each switch, at the ports behind the last connected one. It has an internal link
    /// for each neighbour in the tree, as far as there are ports, and at most `links`.
    ///
    /// # Errors
    /// If the switches do not have the ports, or the topology has several planes.
    pub fn with_aggregation(mut self, links: Option<u32>) -> Result<Self, SpecError> {
        if self.aggregation.is_some() {
            return Ok(self);
        }
        let refused = |problem: String| SpecError {
            key: "collectives",
            problem,
        };
        if self.planes() > 1 {
            return Err(refused(
                "\"in-network\" trees span one plane; take 1 rail or another algorithm".into(),
            ));
        }
        let port = PortId::new(self.used_ports());
        let free = (MAX_RADIX as u32).saturating_sub(port.get());
        if free == 0 {
            return Err(refused(format!(
                "\"in-network\" needs a port of each switch, and these have all {MAX_RADIX} in use; \
                 take smaller switches or another algorithm"
            )));
        }
        let nodes = Aggregation::new(&self, (port, links), links.unwrap_or(free).max(1));
        let most = self.switch_ids().map(|switch| nodes.links_of(switch)).max();
        let most = most.unwrap_or(1);
        if most > free {
            return Err(SpecError {
                key: "collectives.switch_links",
                problem: format!(
                    "is {most}, but of the {MAX_RADIX} ports that a switch can have {port} are in use; take at most {free}"
                ),
            });
        }
        self.cabling
            .widen((port.get() + most).next_multiple_of(4))?;
        for switch in self.switch_ids() {
            for link in 0..nodes.links_of(switch) {
                let port = PortId::new(port.get() + link);
                self.cabling.attach_endpoint(SwitchPort { switch, port });
            }
        }
        self.aggregation = Some(Box::new(nodes));
        Ok(self)
    }

    /// The aggregation nodes, if there are any.
    #[must_use]
    pub fn aggregation(&self) -> Option<&Aggregation> {
        self.aggregation.as_deref()
    }

    /// The port with the VL classes of `port`: of an internal link the first one, which leads to a NIC in all families with
    /// classes.
    pub(super) fn in_classes(&self, port: PortId) -> PortId {
        match self.aggregation() {
            Some(aggregation) if port >= aggregation.port => PortId::default(),
            _ => port,
        }
    }
}

/// The parents in a breadth-first tree to all switches with NICs, from the root that is nearest to the farthest of them; of
/// several the first.
fn tree(topology: &Topology) -> Vec<Option<SwitchId>> {
    let mut wanted = vec![false; topology.switches() as usize];
    for nic in topology.nic_ids() {
        wanted[topology.attachment(nic).switch.index()] = true;
    }
    let mut best: Option<(u32, Vec<Option<SwitchId>>)> = None;
    for root in topology.switch_ids() {
        let most = match &best {
            None => u32::MAX,
            Some((0, _)) => break,
            Some((depth, _)) => depth - 1,
        };
        best = spanning(topology, &wanted, root, most).or(best);
    }
    best.map_or_else(Vec::new, |(_, parents)| pruned(&wanted, &parents))
}

/// The parents, but none of a switch without a switch of those `wanted` at or below it.
fn pruned(wanted: &[bool], parents: &[Option<SwitchId>]) -> Vec<Option<SwitchId>> {
    let mut kept = vec![None; parents.len()];
    for from in (0..wanted.len()).filter(|&switch| wanted[switch]) {
        let mut at = from;
        while let (None, Some(parent)) = (kept[at], parents[at]) {
            kept[at] = Some(parent);
            at = parent.index();
        }
    }
    kept
}

/// The depth and the parents of the tree from `root`, if no switch of those `wanted` is deeper than `most`.
fn spanning(
    topology: &Topology,
    wanted: &[bool],
    root: SwitchId,
    most: u32,
) -> Option<(u32, Vec<Option<SwitchId>>)> {
    let mut missing = wanted.iter().filter(|&&wanted| wanted).count();
    let mut parents = vec![None; wanted.len()];
    let mut seen = vec![false; wanted.len()];
    seen[root.index()] = true;
    missing -= usize::from(wanted[root.index()]);
    let (mut level, mut depth) = (vec![root], 0);
    while missing > 0 {
        if depth == most || level.is_empty() {
            return None;
        }
        depth += 1;
        let mut next = Vec::new();
        for &switch in &level {
            for peer in topology.linked_switches(switch) {
                if !std::mem::replace(&mut seen[peer.index()], true) {
                    parents[peer.index()] = Some(switch);
                    missing -= usize::from(wanted[peer.index()]);
                    next.push(peer);
                }
            }
        }
        level = next;
    }
    Some((depth, parents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Peer;

    /// A switch of a NIC and all above it, up to the root.
    fn up_from(topology: &Topology, nic: NicId) -> Vec<SwitchId> {
        let aggregation = topology.aggregation().expect("aggregation nodes");
        let own = topology.attachment(nic).switch;
        std::iter::successors(Some(own), |&switch| aggregation.parent(switch)).collect()
    }

    fn checked(topology: Topology, depth: usize) -> Topology {
        let plain = topology.clone();
        let one = plain.clone().with_aggregation(Some(1));
        let one = one.expect("a port is free");
        assert_eq!(one.endpoints(), plain.nics() + plain.switches());
        let topology = topology.with_aggregation(None).expect("ports are free");
        assert_eq!(topology.nics(), plain.nics());
        let above = topology.nic_ids().map(|nic| up_from(&topology, nic));
        let above: Vec<Vec<SwitchId>> = above.collect();
        assert_eq!(above.iter().map(Vec::len).max(), Some(depth + 1));
        for switches in &above {
            assert_eq!(switches.last(), above[0].last(), "one root");
            for pair in switches.windows(2) {
                assert!(
                    topology
                        .linked_switches(pair[0])
                        .any(|next| next == pair[1])
                );
            }
        }
        for switch in plain.switch_ids() {
            for port in plain.port_ids() {
                let (before, now) = (plain.peer(switch, port), topology.peer(switch, port));
                let all = topology.aggregation().expect("nodes");
                let own = |nic| all.link(nic).is_some_and(|(at, _)| at == switch);
                assert!(
                    now == before
                        || before == Peer::None && matches!(now, Peer::Nic(nic) if own(nic))
                );
            }
        }
        topology
    }

    #[test]
    fn trees_reach_all_switches_with_nics() -> Result<(), SpecError> {
        // From a switch of the top level; from one in the middle; from any.
        checked(Topology::k_ary_n_tree(4, 3, None)?, 2);
        checked(Topology::single(5)?, 0);
        let at = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
        let line = [[at(0, 1), at(1, 0)], [at(1, 1), at(2, 0)]];
        let line = checked(Topology::graph(3, &[at(0, 0), at(2, 1)], &line)?, 1);
        assert_eq!(up_from(&line, NicId::new(1))[1], SwitchId::new(1));
        Ok(())
    }

    /// The numbers of the internal links of a switch that face its neighbours.
    fn links(topology: &Topology, switch: u32, neighbours: &[Neighbour]) -> Vec<u32> {
        let (all, switch) = (
            topology.aggregation().expect("nodes"),
            SwitchId::new(switch),
        );
        let link = |&neighbour: &Neighbour| {
            let (at, link) = all.link(all.facing(switch, neighbour)).expect("a link");
            assert_eq!(at, switch);
            link
        };
        neighbours.iter().map(link).collect()
    }

    #[test]
    fn each_neighbour_in_the_tree_has_a_link_as_long_as_there_are_any() -> Result<(), SpecError> {
        // Leaf 1 of a tree of 2 levels has NICs 4 to 7 and the root, switch 4, which has 4 leaves.
        let tree = Topology::k_ary_n_tree(4, 2, None)?;
        let leaf: Vec<_> = (4..8).map(|nic| Neighbour::Nic(NicId::new(nic))).collect();
        let leaf = [&leaf[..], &[Neighbour::Switch(SwitchId::new(4))]].concat();
        let root: Vec<_> = (0..4)
            .map(|s| Neighbour::Switch(SwitchId::new(s)))
            .collect();
        let with = |links| tree.clone().with_aggregation(links);
        let (all, two) = (with(None)?, with(Some(2))?);
        assert_eq!(links(&all, 1, &leaf), [0, 1, 2, 3, 4]);
        assert_eq!(links(&all, 4, &root), [0, 1, 2, 3]);
        assert_eq!(links(&two, 1, &leaf), [0, 1, 0, 1, 0]);
        assert_eq!(links(&two, 4, &root), [0, 1, 0, 1]);
        assert_eq!(with(Some(1))?, with(Some(1))?.with_aggregation(None)?);
        // 4 leaves with 5 neighbours, the root with 4, and 3 switches outside the tree with a link all the same.
        assert_eq!(all.endpoints() - all.nics(), 4 * 5 + 4 + 3);
        assert_eq!((all.radix(), two.radix()), (16, 12));
        let nodes = all.aggregation().expect("nodes");
        assert_eq!(nodes.link(NicId::new(15)), None);
        assert_eq!(nodes.link(NicId::new(all.endpoints())), None);
        for other in 5..8 {
            assert_eq!(nodes.parent(SwitchId::new(other)), None);
        }
        Ok(())
    }

    #[test]
    fn links_come_as_far_as_there_are_ports() -> Result<(), SpecError> {
        let with = |links| Topology::single(110)?.with_aggregation(links);
        let few = with(None)?;
        assert_eq!((few.endpoints(), few.radix()), (120, 120));
        assert_eq!(with(Some(10))?.endpoints(), 120);
        let SpecError { key, problem } = with(Some(11)).expect_err("10 ports are free");
        assert_eq!(key, "collectives.switch_links");
        assert!(
            problem.contains("110 are in use; take at most 10"),
            "{problem}"
        );
        Ok(())
    }

    #[test]
    fn switches_without_a_free_port_get_more_or_are_refused() -> Result<(), SpecError> {
        assert_eq!(checked(Topology::single(8)?, 0).radix(), 16);
        assert_eq!(checked(Topology::single(9)?, 0).radix(), 20);
        let one = Topology::single(9)?.with_aggregation(Some(1))?;
        assert_eq!(one.radix(), 12);
        let full = Topology::single(120)?.with_aggregation(None);
        let problem = full.expect_err("no port is free").problem;
        assert!(problem.contains("have all 120 in use"), "{problem}");
        let planes = Topology::single(4)?.in_planes(2)?.with_aggregation(None);
        let problem = planes.expect_err("two planes").problem;
        assert!(problem.contains("take 1 rail"), "{problem}");
        Ok(())
    }
}
