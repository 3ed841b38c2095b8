//! Forwarding tables: the next edge for every (switch, destination); and the routes of pairs that follow none.

use super::graph::{EdgeId, Graph, HostId, NetworkError, NodeId};
use std::collections::BTreeMap;

/// Most entries of all tables together: 2 bytes each.
const MOST_ENTRIES: u64 = 1 << 30;
/// Entry of a table without a route.
const NONE: u16 = u16::MAX;

/// The forwarding tables of all switches. A host may have several addresses (LMC of InfiniBand), each with a path of
/// its own; a destination is a host and the number of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    paths: u32,
    destinations: usize,
    /// Row of a node in `next`, or `u32::MAX` for a host.
    row: Vec<u32>,
    /// Edge within its node, `[row * destinations + host * paths + path]`.
    next: Vec<u16>,
    /// Routes of single pairs, `[source, destination]`, from the edge of the source on.
    own: BTreeMap<[HostId; 2], Vec<EdgeId>>,
}

impl Tables {
    /// Tables of `graph` without an entry, with `paths` addresses per host.
    ///
    /// # Errors
    /// If all tables together have more than 2^30 entries, or `paths` is 0 or above 128 (LMC 7).
    pub fn empty(graph: &Graph, paths: u32) -> Result<Self, NetworkError> {
        if paths == 0 || paths > 128 {
            let problem = format!("{paths} paths per host; there are 1 to 128 (LMC 0 to 7)");
            return Err(NetworkError::at(0, problem));
        }
        let destinations = u64::from(graph.host_count()) * u64::from(paths);
        let switches = graph.nodes().len() as u64 - u64::from(graph.host_count());
        let entries = destinations.saturating_mul(switches);
        if entries > MOST_ENTRIES {
            let problem = format!(
                "{switches} switches and {destinations} destinations: forwarding tables have at most {MOST_ENTRIES} entries"
            );
            return Err(NetworkError::at(0, problem));
        }
        let mut rows = 0;
        let row = graph
            .node_ids()
            .map(|node| match graph.host_at(node) {
                Some(_) => u32::MAX,
                None => {
                    rows += 1;
                    rows - 1
                }
            })
            .collect();
        Ok(Self {
            paths,
            destinations: destinations as usize,
            row,
            next: vec![NONE; entries as usize],
            own: BTreeMap::new(),
        })
    }

    /// Has a pair follow `route`, from the edge of its source on, whatever the tables say.
    pub fn set_own_route(&mut self, src: HostId, dst: HostId, route: Vec<EdgeId>) {
        self.own.insert([src, dst], route);
    }

    /// The route of a pair that follows no tables.
    #[inline]
    #[must_use]
    pub fn own_route(&self, src: HostId, dst: HostId) -> Option<&[EdgeId]> {
        if self.own.is_empty() {
            return None;
        }
        self.own.get(&[src, dst]).map(Vec::as_slice)
    }

    /// All routes of pairs that follow no tables.
    pub fn own_routes(&self) -> impl ExactSizeIterator<Item = &[EdgeId]> {
        self.own.values().map(Vec::as_slice)
    }

    /// Addresses per host.
    #[must_use]
    pub fn paths(&self) -> u32 {
        self.paths
    }

    /// The column of a destination.
    #[inline]
    #[must_use]
    pub fn column(&self, host: HostId, path: u32) -> usize {
        host.index() * self.paths as usize + path as usize
    }

    /// The edge that packets for the destination of `column` take at `node`; `None` if the switch has no entry for it,
    /// or `node` is a host.
    #[inline]
    #[must_use]
    pub fn next(&self, graph: &Graph, node: NodeId, column: usize) -> Option<EdgeId> {
        let row = self.row[node.index()];
        if row == u32::MAX {
            return None;
        }
        let within = self.next[row as usize * self.destinations + column];
        (within != NONE).then(|| EdgeId::new(graph.first_edge(node) + u32::from(within)))
    }

    /// Sets the edge that packets for the destination of `column` take. The edge must leave a switch: edges of hosts
    /// change nothing.
    pub fn set(&mut self, graph: &Graph, edge: EdgeId, column: usize) {
        let node = graph.edge(edge).from;
        let row = self.row[node.index()];
        if row != u32::MAX {
            let within = edge.get() - graph.first_edge(node);
            self.next[row as usize * self.destinations + column] = within as u16;
        }
    }

    /// Removes the entry of `node` for the destination of `column`.
    pub fn clear(&mut self, node: NodeId, column: usize) {
        let row = self.row[node.index()];
        if row != u32::MAX {
            self.next[row as usize * self.destinations + column] = NONE;
        }
    }
}
