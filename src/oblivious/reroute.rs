//! Forwarding tables that our routings compute for the topology of an experiment, around failed parts.

use super::failure::{Damaged, Failure};
use super::graph::{EdgeId, Graph};
use super::network::{counted_from, switch_name};
use super::routing::RoutingEngine;
use flitwise_fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise_fabric::spec::{ForwardingTables, SpecError};
use flitwise_fabric::topology::{Link, Peer, Topology};
use std::collections::VecDeque;

/// Forwarding tables around failed links.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rerouted {
    /// The tables. A switch without a route, because all its links have failed, has entries all the same: no packet
    /// reaches it.
    pub tables: ForwardingTables,
    /// The links that have failed.
    pub failed: Vec<Link>,
}

impl RoutingEngine {
    /// Routes a topology without the links and switches in `failures`; `seed` decides about random ones. Links are named
    /// as in [`Graph`]: by the operators' names and port numbers, or `s3`, ports from 0.
    ///
    /// # Errors
    /// If there is no such switch or link, a failed switch has NICs, a pair of NICs is left without a route, or the
    /// routing does not suit the topology.
    pub fn tables_of(
        self,
        topology: &Topology,
        failures: &[Failure],
        seed: u64,
    ) -> Result<Rerouted, SpecError> {
        const FAILURE: &str = "fabric.failure";
        const ROUTING: &str = "fabric.routing";
        let error = |key, problem| SpecError { key, problem };
        let whole = Graph::of_topology(topology, |_, _| 1.0);
        let whole = whole.map_err(|e| error(ROUTING, e.problem))?;
        let left = Damaged::of(&whole, failures, seed).map_err(|e| error(FAILURE, e))?;
        if let Some(&host) = left.lost_hosts.first() {
            let problem = format!(
                "cuts off {} of {} NICs, first {}; in an experiment links between switches can fail, and switches \
                 without NICs",
                left.lost_hosts.len(),
                whole.host_count(),
                whole.host_name(host)
            );
            return Err(error(FAILURE, problem));
        }
        let tables = self.route(&left.graph);
        let tables = tables.map_err(|e| error(ROUTING, e.problem))?;
        let link = |edge| {
            let ends = [edge, whole.edge(edge).reverse];
            ends.map(|end| place(topology, &whole, end))
        };
        let mut ports: Vec<Vec<Option<PortId>>> =
            vec![vec![None; topology.nics() as usize]; topology.switches() as usize];
        for node in left.graph.switches() {
            for host in left.graph.host_ids() {
                let column = tables.column(host, 0);
                if let Some(edge) = tables.next(&left.graph, node, column) {
                    let before = left.edges_before[edge.index()];
                    let SwitchPort { switch, port } = place(topology, &whole, before);
                    ports[switch.index()][host.index()] = Some(port);
                }
            }
        }
        if let Some((switch, nic)) = unreachable(topology, &ports) {
            let problem = format!(
                "{} has no route to {} any more; let fewer links fail",
                topology.switch_text(switch),
                topology.nic_text(nic)
            );
            return Err(error(FAILURE, problem));
        }
        Ok(Rerouted {
            tables: ForwardingTables {
                ports: complete(topology, ports),
                engine: Some(self.name()),
            },
            failed: left.lost_cables.into_iter().map(link).collect(),
        })
    }
}

impl Failure {
    /// The failure of the link at a switch port.
    #[must_use]
    pub fn at(topology: &Topology, at: SwitchPort) -> Self {
        let name = switch_name(topology, at.switch);
        Self::Port(name, at.port.get() + counted_from(topology))
    }

    /// The links that the failure names, each by a switch port at one of its ends, always the same; of a NIC's name its link.
    ///
    /// # Errors
    /// If it is drawn at random, or there is no such part.
    pub fn ports(&self, topology: &Topology) -> Result<Vec<SwitchPort>, String> {
        let graph = Graph::of_topology(topology, |_, _| 1.0).map_err(|e| e.problem)?;
        let edges = self.edges(&graph)?;
        let ends = |edge: EdgeId| {
            let ends = [edge, graph.edge(edge).reverse];
            let of_switches = ends
                .into_iter()
                .filter(|&end| graph.is_switch(graph.edge(end).from));
            of_switches.map(|end| place(topology, &graph, end)).min()
        };
        let mut ports: Vec<SwitchPort> = edges.into_iter().filter_map(ends).collect();
        ports.sort_unstable();
        ports.dedup();
        Ok(ports)
    }
}

/// The port of the switch that `edge` leaves.
fn place(topology: &Topology, graph: &Graph, edge: EdgeId) -> SwitchPort {
    let edge = graph.edge(edge);
    let switch = SwitchId::new(edge.from.get() - graph.host_count());
    SwitchPort::new(switch, PortId::new(edge.port - counted_from(topology)))
}

/// A switch with NICs from which a NIC cannot be reached.
fn unreachable(topology: &Topology, ports: &[Vec<Option<PortId>>]) -> Option<(SwitchId, NicId)> {
    let mut switches: Vec<SwitchId> = topology
        .nic_ids()
        .map(|nic| topology.attachment(nic).switch)
        .collect();
    switches.sort_unstable();
    switches.dedup();
    switches.into_iter().find_map(|switch| {
        let lost = ports[switch.index()].iter().position(Option::is_none)?;
        Some((switch, NicId::new(lost as u32)))
    })
}

/// Gives the switches without an entry for a NIC one that leads to the nearest switch with an entry.
fn complete(topology: &Topology, mut ports: Vec<Vec<Option<PortId>>>) -> Vec<Vec<PortId>> {
    for nic in topology.nic_ids() {
        let known = |switch: &SwitchId| ports[switch.index()][nic.index()].is_some();
        let mut queue: VecDeque<SwitchId> = topology.switch_ids().filter(known).collect();
        if queue.len() == topology.switches() as usize {
            continue;
        }
        while let Some(switch) = queue.pop_front() {
            for port in topology.port_ids() {
                if let Peer::Switch {
                    switch: next,
                    port: back,
                } = topology.peer(switch, port)
                {
                    let entry = &mut ports[next.index()][nic.index()];
                    if entry.is_none() {
                        *entry = Some(back);
                        queue.push_back(next);
                    }
                }
            }
        }
    }
    let whole = |row: Vec<Option<PortId>>| row.into_iter().map(Option::unwrap_or_default).collect();
    ports.into_iter().map(whole).collect()
}
