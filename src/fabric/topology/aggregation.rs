//! Aggregation nodes: an endpoint inside each switch, which combines what its children in a tree of switches send it
//! (`docs/model/replay.md`, "In the network").

use super::{MAX_PORTS, MAX_RADIX, Peer, Ports, Topology, invalid};
use crate::error::SpecError;
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};

/// The aggregation nodes of a fabric. They follow the NICs: the one of switch s is endpoint NICs + s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregation {
    /// NICs of the fabric.
    nics: u32,
    /// Their port, which is the same at every switch.
    port: PortId,
    /// The parent of each switch in the tree; `None` at its root, and at switches that no NIC needs.
    parents: Vec<Option<SwitchId>>,
}

impl Aggregation {
    /// The parent of a switch, which is its neighbour; `None` at the root, and at switches that no NIC needs.
    #[must_use]
    pub fn parent(&self, switch: SwitchId) -> Option<SwitchId> {
        self.parents.get(switch.index()).copied().flatten()
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.parents.len()
    }

    /// The endpoint in a switch.
    #[must_use]
    pub fn node(&self, switch: SwitchId) -> NicId {
        NicId::new(self.nics + switch.get())
    }

    /// The switch of an endpoint that is an aggregation node.
    #[must_use]
    pub fn switch(&self, endpoint: NicId) -> Option<SwitchId> {
        endpoint.get().checked_sub(self.nics).map(SwitchId::new)
    }

    /// The port of the aggregation node at every switch.
    #[must_use]
    pub fn port(&self) -> PortId {
        self.port
    }
}

impl Topology {
    /// The same with an aggregation node in each switch, at the port behind the last connected one.
    ///
    /// # Errors
    /// If the switches have no port left, or the topology has several planes.
    pub fn with_aggregation(mut self) -> Result<Self, SpecError> {
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
        if u64::from(port.get()) >= MAX_RADIX {
            return Err(refused(format!(
                "\"in-network\" needs a port of each switch, and these have all {MAX_RADIX} in use; \
                 take smaller switches or another algorithm"
            )));
        }
        self.widen((port.get() + 1).next_multiple_of(4))?;
        let parents = tree(&self);
        let nics = self.nics();
        for switch in self.switch_ids() {
            self.attach_next(SwitchPort { switch, port });
        }
        self.aggregation = Some(Box::new(Aggregation {
            nics,
            port,
            parents,
        }));
        Ok(self)
    }

    /// The aggregation nodes, if there are any.
    #[must_use]
    pub fn aggregation(&self) -> Option<&Aggregation> {
        self.aggregation.as_deref()
    }

    /// NICs and aggregation nodes.
    #[must_use]
    pub fn endpoints(&self) -> u32 {
        self.attachment.len() as u32
    }

    /// NICs and behind them aggregation nodes, ascending.
    #[must_use]
    pub fn endpoint_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = NicId> + ExactSizeIterator + Clone + use<> {
        NicId::all(self.endpoints())
    }

    /// Whether an endpoint is an aggregation node.
    pub(super) fn aggregates(&self, endpoint: NicId) -> bool {
        endpoint.get() >= self.nics()
    }

    /// The ports of `switch` to its neighbour in the tree. Only neighbours send to an aggregation node.
    pub(super) fn ports_to(&self, switch: SwitchId, neighbour: SwitchId) -> Ports {
        let leads = |port: &PortId| matches!(self.peer(switch, *port), Peer::Switch { switch, .. } if switch == neighbour);
        let ports = self.port_ids().filter(leads);
        ports.fold(Ports::NONE, Ports::with)
    }

    /// The port with the VL classes of `port`: of an aggregation node the first one, which leads to a NIC in all families with
    /// classes.
    pub(super) fn in_classes(&self, port: PortId) -> PortId {
        match self.aggregation() {
            Some(aggregation) if aggregation.port == port => PortId::default(),
            _ => port,
        }
    }

    /// Gives every switch `radix` ports if it has fewer.
    fn widen(&mut self, radix: u32) -> Result<(), SpecError> {
        let (old, switches) = (self.radix as usize, self.switches());
        if radix <= self.radix {
            return Ok(());
        }
        if u64::from(switches) * u64::from(radix) > MAX_PORTS {
            return Err(invalid(format!(
                "{switches} switches with {radix} ports, one of them for \"in-network\" collectives, are more than the \
                 {MAX_PORTS} ports supported; take a smaller fabric"
            )));
        }
        let mut peers = Vec::with_capacity(switches as usize * radix as usize);
        for of_switch in self.peers.chunks(old) {
            peers.extend_from_slice(of_switch);
            peers.resize(peers.len() + radix as usize - old, Peer::None);
        }
        (self.peers, self.radix) = (peers, radix);
        Ok(())
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
    best.map_or_else(Vec::new, |(_, parents)| parents)
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

    /// A switch of a NIC and all above it, up to the root.
    fn up_from(topology: &Topology, nic: NicId) -> Vec<SwitchId> {
        let aggregation = topology.aggregation().expect("aggregation nodes");
        let own = topology.attachment(nic).switch;
        std::iter::successors(Some(own), |&switch| aggregation.parent(switch)).collect()
    }

    fn checked(topology: Topology, depth: usize) -> Topology {
        let plain = topology.clone();
        let topology = topology.with_aggregation().expect("a port is free");
        assert_eq!(topology.nics(), plain.nics());
        assert_eq!(topology.endpoints(), plain.nics() + plain.switches());
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
                let node = topology.aggregation().expect("nodes").node(switch);
                assert!(now == before || before == Peer::None && now == Peer::Nic(node));
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

    #[test]
    fn switches_without_a_free_port_get_more_or_are_refused() -> Result<(), SpecError> {
        assert_eq!(checked(Topology::single(8)?, 0).radix(), 12);
        assert_eq!(checked(Topology::single(9)?, 0).radix(), 12);
        let full = Topology::single(120)?.with_aggregation();
        let problem = full.expect_err("no port is free").problem;
        assert!(problem.contains("have all 120 in use"), "{problem}");
        let planes = Topology::single(4)?.in_planes(2)?.with_aggregation();
        let problem = planes.expect_err("two planes").problem;
        assert!(problem.contains("take 1 rail"), "{problem}");
        Ok(())
    }
}
