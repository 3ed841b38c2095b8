//! Networks for other programs: ORCS's graph with routes, and the subnet that `ibsim` simulates
//! (`docs/reference/congestion-input.md`).

use super::cables::Cables;
use super::graph::{Edge, EdgeId, Graph, HostId, NetworkError, Node, NodeId, NodeKind};
use super::network::Network;
use flitwise_formats::dot::{Writer, is_destination};
use flitwise_formats::infiniband::{Cable, Discovery, Port};
use hashbrown::HashSet;
use std::io::{self, Write};

/// The last address of InfiniBand that is not of a multicast group.
const LAST_LID: u32 = 0xbfff;
/// The first GUIDs of adapters and switches. The GUID of an adapter's port follows the adapter's own.
const ADAPTERS: u64 = 0x10_0000_0000;
const SWITCHES: u64 = 0x20_0000_0000;

impl Network {
    /// Writes the graph as ORCS reads it: nodes, then the edges of each node in their order, with the hosts that take
    /// each edge in its comment, along the first path of each host. `routed` false: cables only.
    ///
    /// # Errors
    /// If `out` returns an error, or pairs have routes of their own.
    pub fn write_orcs<W: Write>(&self, out: W, routed: bool) -> io::Result<()> {
        self.write_orcs_with(out, routed, None)
    }

    /// The same with the loads of cables: `congestion`, the sum of an edge as a share of the largest, and `color`, from
    /// green (hue 0.4) for none to red (0) for the largest (ORCS, section 2.5, `get_cong_map`); without the routes if pairs
    /// have some of their own.
    ///
    /// # Errors
    /// If `out` returns an error.
    pub fn write_coloured<W: Write>(&self, out: W, cables: &Cables) -> io::Result<()> {
        let by_destination = self.tables.own_routes().len() == 0;
        self.write_orcs_with(out, by_destination, Some(cables))
    }

    fn write_orcs_with<W: Write>(
        &self,
        out: W,
        routed: bool,
        cables: Option<&Cables>,
    ) -> io::Result<()> {
        if routed && self.tables.own_routes().len() > 0 {
            let problem =
                "a graph of ORCS has routes by destination; leave out fabric.source_routes";
            return Err(io::Error::other(problem));
        }
        let most = cables.map_or(0, Cables::largest_sum).max(1) as f64;
        let coloured = |edge: EdgeId| {
            let load = cables.and_then(|cables| cables.loads.get(edge.index()))?;
            let congestion = load.sum as f64 / most;
            let hue = 0.4 * (1.0 - congestion);
            Some([
                format!("{congestion:.6}"),
                format!("{hue:.6} 0.900000 0.900000"),
            ])
        };
        let Self { graph, tables } = self;
        let names = orcs_names(graph);
        let mut writer = Writer::begin(out, "network", true)?;
        for name in &names {
            writer.node(name)?;
        }
        let mut lists: Vec<String> = Vec::new();
        for node in graph.node_ids() {
            let edges = graph.edges_of(node);
            lists.iter_mut().for_each(String::clear);
            lists.resize(lists.len().max(edges.len()), String::new());
            if graph.host_at(node).is_some() && routed {
                lists[0].push('*');
            }
            for host in HostId::all(if routed { graph.host_count() } else { 0 }) {
                if let Some(edge) = tables.next(graph, node, tables.column(host, 0)) {
                    let list = &mut lists[(edge.get() - graph.first_edge(node)) as usize];
                    if !list.is_empty() {
                        list.push(',');
                    }
                    list.push_str(&names[graph.node_of(host).index()]);
                }
            }
            for (edge, list) in edges.zip(&lists) {
                let to = &names[graph.edge(edge).to.index()];
                let comment = (!list.is_empty()).then_some(("comment", list.as_str()));
                let colour = coloured(edge);
                let colour = colour.iter().flat_map(|[congestion, color]| {
                    [
                        ("congestion", congestion.as_str()),
                        ("color", color.as_str()),
                    ]
                });
                writer.edge_with(&names[node.index()], to, comment.into_iter().chain(colour))?;
            }
        }
        writer.end()
    }
}

/// The names by which ORCS distinguishes hosts, which begin with `H`, from switches, which do not. Names that follow
/// this rule and can stand in a list stay as they are.
fn orcs_names(graph: &Graph) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |node: &Node| {
        let odd = |c: char| {
            let alone = is_destination(c.encode_utf8(&mut [0; 4]));
            !alone || c.is_control() || matches!(c, '"' | '\\')
        };
        let plain = node.name.replace(odd, "_");
        let plain = match (node.kind, plain.starts_with('H')) {
            (NodeKind::Host, false) => format!("H{plain}"),
            (NodeKind::Switch, true) => format!("S{plain}"),
            _ if plain.is_empty() => "S".to_owned(),
            _ => plain,
        };
        let mut unique = plain.clone();
        let mut number = 1;
        while !taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{plain}_{number}");
        }
        unique
    };
    graph.nodes().iter().map(name).collect()
}

impl Graph {
    /// The graph as a subnet of InfiniBand: every host is an adapter with one port. GUIDs and LIDs are made up; ports
    /// keep their numbers, plus 1 where they count from 0.
    ///
    /// # Errors
    /// If a switch has a port above 254, or there are more nodes than LIDs.
    pub fn to_discovery(&self) -> Result<Discovery, NetworkError> {
        if self.nodes().len() > LAST_LID as usize {
            let problem = format!(
                "{} hosts and switches; InfiniBand has {LAST_LID} addresses",
                self.nodes().len()
            );
            return Err(NetworkError::at(0, problem));
        }
        let from_switch = |edge: &&Edge| self.is_switch(edge.from);
        let ports = self
            .edges()
            .iter()
            .filter(from_switch)
            .map(|edge| edge.port);
        let shift = u32::from(ports.min() == Some(0));
        let port = |edge: &Edge| -> Result<Port, NetworkError> {
            let number = match self.host_at(edge.from) {
                Some(_) => 1,
                None => edge.port.saturating_add(shift),
            };
            let Some(port) = u8::try_from(number).ok().filter(|&port| port < u8::MAX) else {
                let name = &self.node(edge.from).name;
                let problem =
                    format!("{name} has a port {number}; a switch of InfiniBand has at most 254");
                return Err(NetworkError::at(edge.line, problem));
            };
            let node = self.guid(edge.from);
            Ok(Port { node, port })
        };
        let mut found = Discovery::default();
        for (node, lid) in self.node_ids().zip(1..) {
            let (guid, name) = (self.guid(node), self.node(node).name.clone());
            match self.host_at(node) {
                Some(_) => {
                    found.adapters.insert(guid, name);
                    found.lids.insert(
                        Port {
                            node: guid,
                            port: 1,
                        },
                        lid,
                    );
                }
                None => {
                    found.switches.insert(guid, name);
                    found.switch_lids.insert(guid, lid);
                }
            }
        }
        for edge in self.edges() {
            let to = port(self.edge(edge.reverse))?;
            found.cables.insert(port(edge)?, Cable { to, line: 0 });
        }
        Ok(found)
    }

    fn guid(&self, node: NodeId) -> u64 {
        match self.host_at(node) {
            Some(host) => ADAPTERS + 2 * u64::from(host.get()),
            None => SWITCHES + u64::from(node.get()),
        }
    }
}
