//! A graph with its forwarding tables, and the routes that follow from both.

use super::graph::{EdgeId, Graph, GraphBuilder, HostId, NetworkError, Node, NodeId, NodeKind};
use super::tables::Tables;
use flitwise_fabric::analysis::Routes;
use flitwise_fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise_fabric::spec::FabricSpec;
use flitwise_fabric::topology::{Peer, Topology};
use std::collections::BTreeSet;

/// A graph with forwarding tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Hosts, switches, cables.
    pub graph: Graph,
    /// The forwarding tables.
    pub tables: Tables,
}

/// The reason why a pair has no route.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The switch has no entry for the destination.
    NoEntry(NodeId),
    /// The route ends at a host that is not the destination.
    WrongHost(NodeId),
    /// The route comes back to this switch.
    Loop(NodeId),
}

impl Network {
    /// Appends the edges of the route from `src` to address `path` of `dst`, host links included. A host reaches
    /// itself by no edge at all.
    ///
    /// # Errors
    /// If there is no route; then `route` is as before.
    #[inline]
    pub fn route(
        &self,
        src: HostId,
        dst: HostId,
        path: u32,
        route: &mut Vec<EdgeId>,
    ) -> Result<(), Lost> {
        if src == dst {
            return Ok(());
        }
        if let Some(own) = self.tables.own_route(src, dst) {
            route.extend_from_slice(own);
            return Ok(());
        }
        let graph = &self.graph;
        let begin = route.len();
        let (column, goal) = (self.tables.column(dst, path), graph.node_of(dst));
        let mut edge = graph.injection(src);
        loop {
            route.push(edge);
            let node = graph.edge(edge).to;
            if node == goal {
                return Ok(());
            }
            let next = self.tables.next(graph, node, column);
            let too_long = route.len() - begin > graph.nodes().len();
            match next {
                Some(next) if !too_long => edge = next,
                _ => {
                    route.truncate(begin);
                    return Err(match (too_long, graph.host_at(node)) {
                        (true, _) => Lost::Loop(node),
                        (_, Some(_)) => Lost::WrongHost(node),
                        _ => Lost::NoEntry(node),
                    });
                }
            }
        }
    }

    /// The network of a fabric, without the links that have failed: hosts are its NICs, in their order, and come before
    /// the switches. Where a routing leaves packets a choice, they take the first of the links.
    ///
    /// # Errors
    /// If the fabric is too large.
    pub fn of_fabric(spec: &FabricSpec) -> Result<Self, NetworkError> {
        let topology = &spec.topology;
        let rate = |switch, port| spec.link_rate(switch, port).to_f64();
        let graph = Graph::without(&spec.routing.failed_ports(), topology, rate)?;
        let mut tables = Tables::empty(&graph, 1)?;
        // The edge of every port of a switch.
        let mut edges = vec![None; topology.radix() as usize];
        for switch in topology.switch_ids() {
            edges.fill(None);
            let node = graph.switch_node(switch);
            for edge in graph.edges_of(node) {
                let port = graph.edge(edge).port - counted_from(topology);
                if let Some(place) = edges.get_mut(port as usize) {
                    *place = Some(edge);
                }
            }
            for nic in topology.nic_ids() {
                let port = Routes::preferred(spec, switch, nic);
                let edge = port.and_then(|port| edges.get(port.index()).copied().flatten());
                if let Some(edge) = edge {
                    tables.set(&graph, edge, nic.index());
                }
            }
        }
        for (pair, route) in &spec.routing.source_routes.0 {
            let [src, dst] = [pair.src, pair.dst].map(|nic| HostId::new(nic.get()));
            let edge_at = |at: &SwitchPort| {
                let number = at.port.get() + counted_from(topology);
                let mut edges = graph.edges_of(graph.switch_node(at.switch));
                edges.find(|&edge| graph.edge(edge).port == number)
            };
            let edges = route.iter().filter_map(edge_at);
            let edges = std::iter::once(graph.injection(src)).chain(edges).collect();
            tables.set_own_route(src, dst, edges);
        }
        Ok(Self { graph, tables })
    }
}

impl Graph {
    /// The graph of a topology with all its links: hosts are its NICs, in their order, and come before the switches.
    /// `rate`: of the cable at a port of a switch, relative to other cables.
    ///
    /// # Errors
    /// If the topology is too large.
    pub fn of_topology(
        topology: &Topology,
        rate: impl Fn(SwitchId, PortId) -> f64,
    ) -> Result<Self, NetworkError> {
        Self::without(&BTreeSet::new(), topology, rate)
    }

    /// The same without the links between switches that `failed` names by both ends.
    fn without(
        failed: &BTreeSet<SwitchPort>,
        topology: &Topology,
        rate: impl Fn(SwitchId, PortId) -> f64,
    ) -> Result<Self, NetworkError> {
        let nics = topology.nics();
        let mut builder = GraphBuilder::default();
        for nic in topology.nic_ids() {
            builder.node(Node {
                name: host_name(topology, nic),
                kind: NodeKind::Host,
                line: 0,
            });
        }
        for switch in topology.switch_ids() {
            builder.node(Node {
                name: switch_name(topology, switch),
                kind: NodeKind::Switch,
                line: 0,
            });
        }
        let node = |switch: SwitchId| NodeId::new(nics + switch.get());
        let number = |port: PortId| port.get() + counted_from(topology);
        for switch in topology.switch_ids() {
            for port in topology.port_ids() {
                let own = (node(switch), number(port));
                let rate = || rate(switch, port);
                match topology.peer(switch, port) {
                    Peer::Nic(nic) => {
                        builder.cable([own, (NodeId::new(nic.get()), 1)], rate(), 0);
                    }
                    Peer::Switch {
                        switch: far,
                        port: far_port,
                    } if (switch, port) < (far, far_port)
                        && !failed.contains(&SwitchPort::new(switch, port)) =>
                    {
                        builder.cable([own, (node(far), number(far_port))], rate(), 0);
                    }
                    _ => {}
                }
            }
        }
        builder.build()
    }

    /// The node of a switch of the topology from which this graph was made.
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        NodeId::new(self.host_count() + switch.get())
    }
}

/// Operators count ports from 1, numbers of fabrics from 0.
pub(super) fn counted_from(topology: &Topology) -> u32 {
    u32::from(topology.names().is_some())
}

fn host_name(topology: &Topology, nic: NicId) -> String {
    match topology.names() {
        Some(names) => names.nic_label(nic).to_owned(),
        None => format!("n{nic}"),
    }
}

pub(super) fn switch_name(topology: &Topology, switch: SwitchId) -> String {
    match topology.names() {
        Some(names) => names.switch_label(switch).to_owned(),
        None => format!("s{switch}"),
    }
}
