//! Failed cables and switches.

use super::graph::{EdgeId, Graph, GraphBuilder, HostId, NetworkError, NodeId};
use super::network::Network;
use super::tables::Tables;
use super::walker::PathChoice;
use flitwise_base::quote::quoted;
use flitwise_base::random::{Purpose, Stream};
use std::collections::BTreeSet;

/// A failure: cables or switches that are lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A switch, by its name, with all its cables and hosts.
    Switch(String),
    /// The cable at a port: switch and port number.
    Port(String, u32),
    /// Cables between two nodes: all, or one of them, counted from 1.
    Between(String, String, Option<usize>),
    /// A number of cables between switches, drawn at random.
    RandomLinks(u32),
    /// A number of switches, drawn at random among the switches without hosts, or among all if all have hosts.
    RandomSwitches(u32),
}

impl Failure {
    /// Whether the failed parts are drawn at random.
    #[must_use]
    pub fn is_random(&self) -> bool {
        matches!(self, Self::RandomLinks(_) | Self::RandomSwitches(_))
    }

    /// The cables that it names, a direction of each at least; of a host its cable.
    pub(super) fn edges(&self, graph: &Graph) -> Result<Vec<EdgeId>, String> {
        match self {
            Self::Switch(name) => Ok(graph.edges_of(find(graph, name)?).collect()),
            Self::Port(name, port) => Ok(vec![at_port(graph, name, *port)?]),
            Self::Between(a, b, number) => between(graph, [a, b], *number),
            Self::RandomLinks(_) | Self::RandomSwitches(_) => {
                Err("is drawn at random; name the link, switch or NIC".to_owned())
            }
        }
    }

    /// Reads `L003` (a switch), `L003 port 5`, `L003 - S001` (all cables between them), `L003 - S001 #2` (the second),
    /// `random:3 links` or `random:1 switches`.
    ///
    /// # Errors
    /// If the text is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORMS: &str = "write `L003` (a switch), `L003 port 5`, `L003 - S001`, `L003 - S001 #2`, `random:3 links` or `random:1 switches`";
        let text = text.trim();
        let wrong = || format!("`{text}` names no failure; {FORMS}");
        if let Some(rest) = text.strip_prefix("random:") {
            let (count, what) = rest.trim().split_once(' ').ok_or_else(wrong)?;
            let count = count
                .parse::<u32>()
                .ok()
                .filter(|&n| n > 0)
                .ok_or_else(wrong)?;
            return match what.trim() {
                "link" | "links" | "cable" | "cables" => Ok(Self::RandomLinks(count)),
                "switch" | "switches" => Ok(Self::RandomSwitches(count)),
                _ => Err(wrong()),
            };
        }
        if let Some((a, b)) = text.split_once(" - ") {
            let (b, number) = match b.rsplit_once('#') {
                Some((b, number)) => {
                    let number = number.trim().parse::<usize>().ok().filter(|&n| n > 0);
                    (b, Some(number.ok_or_else(wrong)?))
                }
                None => (b, None),
            };
            return Ok(Self::Between(
                a.trim().to_owned(),
                b.trim().to_owned(),
                number,
            ));
        }
        if let Some((switch, port)) = text.rsplit_once(" port ") {
            let port = port.trim().parse().map_err(|_| wrong())?;
            return Ok(Self::Port(switch.trim().to_owned(), port));
        }
        if text.is_empty() {
            Err(wrong())
        } else {
            Ok(Self::Switch(text.to_owned()))
        }
    }
}

/// A graph after failures.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Damaged {
    /// The graph that is left. Names and port numbers stay.
    pub graph: Graph,
    /// By edge, its id before the failures.
    pub edges_before: Vec<EdgeId>,
    /// By host, its id before the failures.
    pub hosts_before: Vec<HostId>,
    /// Hosts that are gone.
    pub lost_hosts: Vec<HostId>,
    /// One direction of every lost cable.
    pub lost_cables: Vec<EdgeId>,
}

impl Damaged {
    /// Returns the rest of `graph` after `failures`; `seed` decides about random ones.
    ///
    /// # Errors
    /// If there is no such node or cable, there are fewer than asked for, or no host is left.
    pub fn of(graph: &Graph, failures: &[Failure], seed: u64) -> Result<Self, String> {
        let mut gone = Gone::default();
        let mut stream = Stream::new(seed, Purpose::Failures, [0, 0]);
        for failure in failures {
            gone.add(graph, failure, &mut stream)?;
        }
        let has_cable = |node: NodeId| graph.edges_of(node).any(|edge| gone.leaves(graph, edge));
        let stays = |node: NodeId| {
            let is_host = graph.host_at(node).is_some();
            !gone.nodes.contains(&node) && (!is_host || has_cable(node))
        };
        let mut builder = GraphBuilder::default();
        let mut new = vec![None; graph.nodes().len()];
        for node in graph.node_ids().filter(|&node| stays(node)) {
            new[node.index()] = Some(builder.node(graph.node(node).clone()));
        }
        let mut added = Vec::new();
        for &id in graph.edges_as_given() {
            let edge = graph.edge(id);
            let back = graph.edge(edge.reverse);
            if id > edge.reverse || !gone.leaves(graph, id) {
                continue;
            }
            if let (Some(from), Some(to)) = (new[edge.from.index()], new[edge.to.index()]) {
                builder.cable([(from, edge.port), (to, back.port)], edge.rate, edge.line);
                added.extend([id, edge.reverse]);
            }
        }
        let left = builder
            .build()
            .map_err(|e: NetworkError| format!("after the failures, {e}"))?;
        let mut edges_before = vec![EdgeId::default(); left.edges().len()];
        for (new, old) in left.edges_as_given().iter().zip(added) {
            edges_before[new.index()] = old;
        }
        let all = || graph.host_ids();
        let (kept, lost): (Vec<_>, Vec<_>) =
            all().partition(|&h| new[graph.node_of(h).index()].is_some());
        let dead = |id: &EdgeId| *id < graph.edge(*id).reverse && !gone.leaves(graph, *id);
        Ok(Self {
            graph: left,
            edges_before,
            hosts_before: kept,
            lost_hosts: lost,
            lost_cables: graph.edge_ids().filter(dead).collect(),
        })
    }

    /// The old tables without the entries that lead over lost parts.
    ///
    /// # Errors
    /// If tables are too large, or pairs have routes of their own.
    pub fn tables_before(&self, before: &Network) -> Result<Tables, NetworkError> {
        if before.tables.own_routes().len() > 0 {
            let problem = "the routes of fabric.source_routes lead around no failure; leave them out, or name a --routing";
            return Err(NetworkError::at(0, problem));
        }
        let paths = before.tables.paths();
        let mut tables = Tables::empty(&self.graph, paths)?;
        for (new, &old) in (0..).map(EdgeId::new).zip(&self.edges_before) {
            let node = before.graph.edge(old).from;
            for (host, &host_before) in (0..).map(HostId::new).zip(&self.hosts_before) {
                for path in 0..paths {
                    let column = before.tables.column(host_before, path);
                    if before.tables.next(&before.graph, node, column) == Some(old) {
                        let column = tables.column(host, path);
                        tables.set(&self.graph, new, column);
                    }
                }
            }
        }
        Ok(tables)
    }

    /// The number of pairs of hosts whose route in `now` differs from the one in `before`, or that have a route in only
    /// one of the two; `choice` says which addresses they use.
    #[must_use]
    pub fn routes_changed(&self, before: &Network, now: &Network, choice: PathChoice) -> u64 {
        let (mut old, mut new, mut changed) = (Vec::new(), Vec::new(), 0);
        for (src, &src_before) in (0..).map(HostId::new).zip(&self.hosts_before) {
            for (dst, &dst_before) in (0..).map(HostId::new).zip(&self.hosts_before) {
                old.clear();
                new.clear();
                let path_before = choice.of(src_before, dst_before, before.tables.paths());
                let path = choice.of(src, dst, now.tables.paths());
                let had = before.route(src_before, dst_before, path_before, &mut old);
                let had = had.is_ok();
                let has = now.route(src, dst, path, &mut new).is_ok();
                let as_before = new.iter().map(|edge| self.edges_before[edge.index()]);
                changed += u64::from(had != has || !as_before.eq(old.iter().copied()));
            }
        }
        changed
    }
}

/// Nodes and cables that fail.
#[derive(Debug, Default)]
struct Gone {
    nodes: BTreeSet<NodeId>,
    /// Both directions.
    edges: BTreeSet<EdgeId>,
}

impl Gone {
    fn leaves(&self, graph: &Graph, edge: EdgeId) -> bool {
        let ends = graph.edge(edge);
        !self.edges.contains(&edge)
            && ![ends.from, ends.to]
                .iter()
                .any(|node| self.nodes.contains(node))
    }

    fn cut(&mut self, graph: &Graph, edge: EdgeId) {
        self.edges.extend([edge, graph.edge(edge).reverse]);
    }

    fn add(&mut self, graph: &Graph, failure: &Failure, stream: &mut Stream) -> Result<(), String> {
        match failure {
            Failure::Switch(name) => self.nodes.extend([switch(graph, name)?]),
            Failure::Port(name, port) => {
                self.cut(graph, at_port(graph, name, *port)?);
            }
            Failure::Between(a, b, number) => {
                for edge in between(graph, [a, b], *number)? {
                    self.cut(graph, edge);
                }
            }
            Failure::RandomLinks(count) => {
                let stays = |&id: &EdgeId| {
                    graph.is_between_switches(id)
                        && id < graph.edge(id).reverse
                        && self.leaves(graph, id)
                };
                let links = graph.edge_ids().filter(stays);
                for edge in draw(links.collect(), *count, "cables between switches", stream)? {
                    self.cut(graph, edge);
                }
            }
            Failure::RandomSwitches(count) => {
                let alive = graph.switches().filter(|node| !self.nodes.contains(node));
                let has_host = |node: &NodeId| {
                    let mut edges = graph.edges_of(*node);
                    edges.any(|edge| !graph.is_switch(graph.edge(edge).to))
                };
                let (with, without): (Vec<_>, Vec<_>) = alive.partition(has_host);
                let pool = if without.is_empty() { with } else { without };
                self.nodes.extend(draw(pool, *count, "switches", stream)?);
            }
        }
        Ok(())
    }
}

fn switch(graph: &Graph, name: &str) -> Result<NodeId, String> {
    let node = find(graph, name)?;
    if graph.is_switch(node) {
        Ok(node)
    } else {
        Err(format!("`{name}` is a host; only switches and cables fail"))
    }
}

/// The cable at a port of a node.
fn at_port(graph: &Graph, name: &str, port: u32) -> Result<EdgeId, String> {
    let mut edges = graph.edges_of(find(graph, name)?);
    let edge = edges.find(|&edge| graph.edge(edge).port == port);
    edge.ok_or_else(|| format!("port {port} of {name} has no cable"))
}

/// The cables between two nodes: all, or the one with this number, from 1.
fn between(graph: &Graph, [a, b]: [&str; 2], number: Option<usize>) -> Result<Vec<EdgeId>, String> {
    let [from, to] = [find(graph, a)?, find(graph, b)?];
    let edges = graph.edges_of(from);
    let all: Vec<EdgeId> = edges.filter(|&e| graph.edge(e).to == to).collect();
    let chosen = match number {
        None => &all[..],
        Some(number) => all.get(number - 1..number).unwrap_or_default(),
    };
    if chosen.is_empty() {
        Err(format!(
            "there are {} cables between {a} and {b}",
            all.len()
        ))
    } else {
        Ok(chosen.to_vec())
    }
}

fn draw<T>(
    mut pool: Vec<T>,
    count: u32,
    what: &str,
    stream: &mut Stream,
) -> Result<Vec<T>, String> {
    if count as usize > pool.len() {
        return Err(format!(
            "failures of {what}: {count} requested, but there are {}",
            pool.len()
        ));
    }
    stream.shuffle(&mut pool);
    pool.truncate(count as usize);
    Ok(pool)
}

/// The names of two nodes that a hyphen in `text` joins.
fn joined<'a>(graph: &Graph, text: &'a str) -> Option<(&'a str, &'a str)> {
    let has = |name: &str| graph.nodes().iter().any(|node| node.name == name);
    let hyphens = text.match_indices('-');
    let mut pairs = hyphens.map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()));
    pairs.find(|(a, b)| has(a) && has(b))
}

fn find(graph: &Graph, name: &str) -> Result<NodeId, String> {
    let mut named = graph
        .node_ids()
        .filter(|&node| graph.node(node).name == name);
    if let Some(node) = named.next() {
        return Ok(node);
    }
    let cure = if name == "random" {
        "; write `random:1 links` for a cable drawn at random".to_owned()
    } else if let Some((a, b)) = joined(graph, name) {
        format!("; write `{a} - {b}`, with blanks, for the cables between them")
    } else {
        let example = graph.switches().next();
        example.map_or(String::new(), |node| {
            format!("; a switch is called `{}`", graph.node(node).name)
        })
    };
    Err(format!("the network has no {}{cure}", quoted(name)))
}
