//! Directed graphs, and cycles in them. Nothing here knows of fabrics.

use std::collections::{BTreeMap, BTreeSet};

/// A directed graph with nodes `0..nodes`, successors in ascending order.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Index in `to` of the first successor of each node, and the length of `to` at the end.
    first: Vec<usize>,
    to: Vec<u32>,
}

/// Most steps of all searches for a shorter cycle, about.
const SHORTEN_STEPS: usize = 1 << 26;
/// Most nodes of the first cycle through which a shorter one is searched.
const SHORTEN_NODES: usize = 64;

impl Graph {
    /// The graph of `edges` (from, to), both below `nodes`; duplicates count once.
    #[must_use]
    pub fn new(nodes: usize, mut edges: Vec<(u32, u32)>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; nodes + 1];
        for &(from, _) in &edges {
            first[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let to = edges.into_iter().map(|(_, to)| to).collect();
        Self { first, to }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of different edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.to.len()
    }

    /// Successors of a node, ascending.
    #[must_use]
    pub fn successors(&self, node: u32) -> &[u32] {
        &self.to[self.first[node as usize]..self.first[node as usize + 1]]
    }

    /// A cycle, if there is one: every node has an edge to the next, the last has one to the
    /// first, and no node occurs twice. It is short, though not always the shortest. The
    /// smallest node comes first.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<u32>> {
        let left = self.behind_cycles()?;
        let mut best = self.any_cycle(&left);
        let tries = (SHORTEN_STEPS / self.edges().max(1)).clamp(1, SHORTEN_NODES);
        let stride = best.len().div_ceil(tries);
        let starts: Vec<u32> = best.iter().copied().step_by(stride).collect();
        let mut seen_by = vec![0; self.nodes()];
        let mut reached_from = vec![0; self.nodes()];
        for (search, start) in (1..).zip(starts) {
            let shorter =
                self.cycle_through(start, best.len(), search, &mut seen_by, &mut reached_from);
            best = shorter.unwrap_or(best);
        }
        let smallest = (0..best.len()).min_by_key(|&i| best[i]).unwrap_or(0);
        best.rotate_left(smallest);
        Some(best)
    }

    /// The nodes that are left when nodes without predecessors are removed again and again:
    /// the cycles and everything to which they lead. `None` if there is no cycle.
    fn behind_cycles(&self) -> Option<Vec<bool>> {
        let mut predecessors = vec![0u32; self.nodes()];
        for &node in &self.to {
            predecessors[node as usize] += 1;
        }
        let mut open: Vec<u32> = (0..self.nodes() as u32)
            .filter(|&node| predecessors[node as usize] == 0)
            .collect();
        let mut removed = open.len();
        while let Some(node) = open.pop() {
            for &next in self.successors(node) {
                predecessors[next as usize] -= 1;
                if predecessors[next as usize] == 0 {
                    open.push(next);
                    removed += 1;
                }
            }
        }
        (removed < self.nodes()).then(|| predecessors.iter().map(|&n| n > 0).collect())
    }

    /// Walks backwards among the nodes that are left until a node is reached again. Each of
    /// these nodes has a predecessor among them.
    fn any_cycle(&self, left: &[bool]) -> Vec<u32> {
        let mut predecessor = vec![u32::MAX; self.nodes()];
        for node in (0..self.nodes() as u32).rev().filter(|&n| left[n as usize]) {
            for &next in self.successors(node) {
                predecessor[next as usize] = node;
            }
        }
        let mut at = vec![usize::MAX; self.nodes()];
        let mut walk = Vec::new();
        let mut node = left.iter().position(|&l| l).unwrap_or(0);
        while at[node] == usize::MAX {
            at[node] = walk.len();
            walk.push(node as u32);
            node = predecessor[node] as usize;
        }
        let mut cycle = walk.split_off(at[node]);
        cycle.reverse();
        cycle
    }

    /// The shortest cycle through `start` with fewer than `limit` nodes.
    fn cycle_through(
        &self,
        start: u32,
        limit: usize,
        search: u32,
        seen_by: &mut [u32],
        reached_from: &mut [u32],
    ) -> Option<Vec<u32>> {
        let mut level = vec![start];
        seen_by[start as usize] = search;
        for _ in 1..limit {
            let mut next_level = Vec::new();
            for &node in &level {
                for &next in self.successors(node) {
                    if next == start {
                        let mut cycle = vec![node];
                        let mut back = node;
                        while back != start {
                            back = reached_from[back as usize];
                            cycle.push(back);
                        }
                        cycle.reverse();
                        return Some(cycle);
                    }
                    if seen_by[next as usize] != search {
                        seen_by[next as usize] = search;
                        reached_from[next as usize] = node;
                        next_level.push(next);
                    }
                }
            }
            level = next_level;
        }
        None
    }
}

/// Lets every node lead where any node of its `group` does, by the edges from `first` on.
pub(super) fn couple<G: Ord>(edges: &mut Vec<(u32, u32)>, first: usize, group: impl Fn(u32) -> G) {
    let mut groups: BTreeMap<G, [BTreeSet<u32>; 2]> = BTreeMap::new();
    for (from, to) in edges.drain(first..) {
        let [nodes, ends] = groups.entry(group(from)).or_default();
        nodes.insert(from);
        ends.insert(to);
    }
    for [nodes, ends] in groups.values() {
        let of_node = |&from| ends.iter().map(move |&to| (from, to));
        edges.extend(nodes.iter().flat_map(of_node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether any node reaches itself, by the transitive closure.
    fn cyclic(nodes: usize, edges: &[(u32, u32)]) -> bool {
        let mut reaches = vec![vec![false; nodes]; nodes];
        for &(from, to) in edges {
            reaches[from as usize][to as usize] = true;
        }
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    let through = reaches[from][via] && reaches[via][to];
                    reaches[from][to] |= through;
                }
            }
        }
        (0..nodes).any(|node| reaches[node][node])
    }

    fn assert_is_cycle(graph: &Graph, cycle: &[u32]) {
        assert!(!cycle.is_empty());
        for (i, &node) in cycle.iter().enumerate() {
            let next = cycle[(i + 1) % cycle.len()];
            assert!(graph.successors(node).contains(&next), "{cycle:?}");
        }
        let mut nodes = cycle.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), cycle.len(), "{cycle:?}");
        assert_eq!(cycle[0], nodes[0]);
    }

    #[test]
    fn a_short_cycle_is_found() {
        // A cycle of six nodes, an edge that closes a cycle of three, and two tails.
        let edges = vec![
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
            (5, 0),
            (2, 0),
            (6, 0),
            (4, 7),
            (4, 7),
        ];
        let graph = Graph::new(8, edges);
        assert_eq!(graph.edges(), 9);
        assert_eq!(graph.cycle(), Some(vec![0, 1, 2]));
        assert_eq!(Graph::new(2, vec![(1, 1)]).cycle(), Some(vec![1]));
        assert_eq!(Graph::new(0, Vec::new()).cycle(), None);
    }

    proptest! {
        #[test]
        fn a_cycle_is_found_if_and_only_if_there_is_one(
            nodes in 1usize..=12,
            raw in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..=24),
        ) {
            let n = nodes as u32;
            let edges: Vec<_> = raw.iter().map(|&(a, b)| (a % n, b % n)).collect();
            let expected = cyclic(nodes, &edges);
            let graph = Graph::new(nodes, edges);
            let cycle = graph.cycle();
            prop_assert_eq!(cycle.is_some(), expected);
            if let Some(cycle) = cycle {
                assert_is_cycle(&graph, &cycle);
            }
        }
    }
}
