//! Fabrics from graphs in files (`docs/reference/congestion-input.md`). NICs and switches are numbered in the order of
//! the file, ports of a switch in the order of its edges.

use super::speeds::FileSpeeds;
use super::{Imported, text};
use crate::config::document::{ConfigError, refused};
use crate::config::network_file::{FileKind, in_file};
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::spec::ForwardingTables;
use crate::fabric::topology::{Names, Topology};
use crate::oblivious::{EdgeId, FromFile, Graph, Network, NetworkError, NodeId, NodeKind};
use flitwise_base::quote::cut;
use std::collections::BTreeMap;
use std::path::Path;

const KEY: &str = "fabric.topology.file";

impl Imported {
    /// The fabric of the graph in the file `path`.
    pub(crate) fn read_graph(path: &Path) -> Result<Self, ConfigError> {
        let text = text(path, KEY)?;
        let format = match FileKind::of_graph(&text) {
            Ok(format) => format,
            Err(kind) => {
                let problem = format!(
                    "{} is {}; kind \"graph\" reads DOT, GraphML, node-link JSON and lists of edges{}",
                    path.display(),
                    kind.name(),
                    match kind {
                        FileKind::Discovery => ", so take kind = \"ibnetdiscover\"",
                        _ => "",
                    }
                );
                return refused(KEY, problem);
            }
        };
        let wrong = |e| ConfigError::new(KEY, in_file(path, e).problem);
        let read = Network::from_text(&text, format).map_err(wrong)?;
        Self::of_network(&read, path).map_err(wrong)
    }

    fn of_network(read: &FromFile, path: &Path) -> Result<Self, NetworkError> {
        let Network { graph, .. } = &read.network;
        check_connected(graph)?;
        let places = Places::of(graph);
        let attached: Vec<SwitchPort> = (graph.host_ids())
            .map(|host| places.at(graph.edge(graph.injection(host)).reverse))
            .collect();
        let first =
            |&edge: &EdgeId| graph.is_between_switches(edge) && edge < graph.edge(edge).reverse;
        let links = graph.edge_ids().filter(first);
        let links: Vec<_> = links
            .map(|edge| [places.at(edge), places.at(graph.edge(edge).reverse)])
            .collect();
        let topology = Topology::graph(places.switches, &attached, &links)
            .map_err(|e| NetworkError::at(0, e.problem))?;
        let of_kind = |kind: NodeKind| {
            let nodes = graph.nodes().iter().filter(move |node| node.kind == kind);
            nodes.map(|node| node.name.clone()).collect()
        };
        let names = Names::plain(of_kind(NodeKind::Switch), of_kind(NodeKind::Host));
        let mut rates = Vec::new();
        let mut latencies = BTreeMap::new();
        for (&edge, cable) in &read.cables {
            let back = graph.edge(edge).reverse;
            let end = if graph.is_switch(graph.edge(edge).from) {
                edge
            } else {
                back
            };
            let at = places.at(end);
            if let Some(rate) = cable.rate {
                rates.push((at, !graph.is_between_switches(edge), cable.line, rate));
            }
            if let Some(latency) = cable.latency {
                latencies.insert(at, latency);
            }
        }
        // Other routes may take their place.
        let wrong = |e| ConfigError::new(KEY, in_file(path, e).problem);
        let routes = read
            .routed
            .then(|| tables(&read.network, &places).map_err(wrong));
        Ok(Self {
            topology: topology.named(names),
            switches: BTreeMap::new(),
            nics: BTreeMap::new(),
            lids: Vec::new(),
            speeds: FileSpeeds::of_graph(rates, [links.len(), attached.len()], path),
            latencies,
            routes,
            is_dump: false,
        })
    }
}

/// Where the switches of a graph are in the fabric.
struct Places<'g> {
    graph: &'g Graph,
    numbers: Vec<u32>,
    switches: u32,
}

impl<'g> Places<'g> {
    fn of(graph: &'g Graph) -> Self {
        Self {
            graph,
            numbers: graph.switch_numbers(),
            switches: graph.switches().count() as u32,
        }
    }

    /// The port of the switch where `edge` begins.
    fn at(&self, edge: EdgeId) -> SwitchPort {
        let edge = self.graph.edge(edge);
        let switch = SwitchId::new(self.numbers[edge.from.index()]);
        SwitchPort::new(switch, PortId::new(edge.port - 1))
    }
}

/// Refuses a graph of several parts.
fn check_connected(graph: &Graph) -> Result<(), NetworkError> {
    let Some(first) = graph.switches().next() else {
        return Err(NetworkError::at(0, "the network has no switch"));
    };
    let reached = graph.reached_from(first);
    let Some(lost) = graph.node_ids().find(|node| !reached[node.index()]) else {
        return Ok(());
    };
    let [from, to] = [first, lost].map(|node| cut(&graph.node(node).name));
    let problem = format!("no cables lead from {from} to {to}; add a cable, or leave one part out");
    Err(NetworkError::at(graph.node(lost).line, problem))
}

/// The routes in the file, as tables.
fn tables(network: &Network, places: &Places<'_>) -> Result<ForwardingTables, NetworkError> {
    let Network { graph, tables } = network;
    let row = |switch: NodeId| {
        let port = |host| {
            let next = tables.next(graph, switch, tables.column(host, 0));
            next.map(|edge| places.at(edge).port).ok_or_else(|| {
                let node = graph.node(switch);
                let problem = format!(
                    "no edge of {} has {} in its comment; add it, or name a routing that computes the routes: \
                     fabric.routing = \"min-hop\"",
                    cut(&node.name),
                    cut(graph.host_name(host))
                );
                NetworkError::at(node.line, problem)
            })
        };
        graph.host_ids().map(port).collect::<Result<Vec<_>, _>>()
    };
    Ok(ForwardingTables {
        ports: graph.switches().map(row).collect::<Result<_, _>>()?,
        engine: None,
    })
}
