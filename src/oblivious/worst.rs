//! Bounds of the worst permutation: how many connections of one permutation can cross a cable.
//!
//! A permutation crosses an edge with the pairs of a matching between sources and destinations, among the pairs whose
//! route crosses it. So the most is a maximum matching (Towles and Dally, Worst-case traffic for oblivious routing
//! functions, 2002). With sources and destinations counted by the edges that they use, min(sources, destinations)
//! bounds it; this is the maximum itself where every source reaches every destination over the edge.

use super::graph::{EdgeId, HostId};
use super::network::Network;
use super::walker::PathChoice;

/// Most edges for which the exact maximum is computed.
const MOST_MATCHINGS: usize = 64;
/// Most pairs over an edge for which the exact maximum is computed.
const MOST_PAIRS: usize = 1 << 22;

/// The worst permutation of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorstCase {
    /// The edge between switches that the most connections of a permutation can cross.
    pub edge: Option<EdgeId>,
    /// The number of these connections: no permutation has a larger congestion if `exact`; otherwise the largest is at
    /// most `bound`.
    pub congestion: u32,
    /// No permutation has a larger congestion than this.
    pub bound: u32,
}

impl WorstCase {
    /// Whether a permutation has the congestion of the bound.
    #[must_use]
    pub fn exact(&self) -> bool {
        self.congestion == self.bound
    }

    /// The worst case of the routes of `network`, with the address of each pair by `path`.
    #[must_use]
    pub fn of(network: &Network, path: PathChoice) -> Self {
        let bounds = bounds(network, path);
        let mut order: Vec<EdgeId> = EdgeId::all(bounds.len() as u32)
            .filter(|&edge| network.graph.is_between_switches(edge))
            .collect();
        order.sort_by_key(|edge| (std::cmp::Reverse(bounds[edge.index()]), *edge));
        let bound = order.first().map_or(0, |edge| bounds[edge.index()]);
        let mut best: Option<(EdgeId, u32)> = None;
        let mut unknown = 0;
        for (tried, &edge) in order.iter().enumerate() {
            let limit = bounds[edge.index()];
            if best.is_some_and(|(_, size)| size >= limit) {
                break;
            }
            let pairs = (tried < MOST_MATCHINGS)
                .then(|| pairs_over(network, path, edge))
                .flatten();
            match pairs {
                Some(pairs) => {
                    let size = matching(&pairs);
                    if best.is_none_or(|(_, most)| size > most) {
                        best = Some((edge, size));
                    }
                }
                None => unknown = unknown.max(limit),
            }
        }
        let (edge, congestion) = best.unzip();
        let congestion = congestion.unwrap_or(0);
        Self {
            edge,
            congestion,
            bound: congestion.max(unknown).min(bound),
        }
    }
}

/// min(sources, destinations) of every edge.
fn bounds(network: &Network, path: PathChoice) -> Vec<u32> {
    let graph = &network.graph;
    let hosts = graph.host_count();
    // The last host counted, so that none counts twice: sources one after the other, then destinations.
    let count = |pair: &dyn Fn(HostId, HostId) -> [HostId; 2]| {
        let (mut counts, mut last) = (
            vec![0u32; graph.edges().len()],
            vec![u32::MAX; graph.edges().len()],
        );
        let mut route = Vec::new();
        for outer in HostId::all(hosts) {
            for inner in HostId::all(hosts) {
                let [src, dst] = pair(outer, inner);
                route.clear();
                let address = path.of(src, dst, network.tables.paths());
                if network.route(src, dst, address, &mut route).is_err() {
                    continue;
                }
                for edge in &route {
                    if last[edge.index()] != outer.get() {
                        last[edge.index()] = outer.get();
                        counts[edge.index()] += 1;
                    }
                }
            }
        }
        counts
    };
    let sources = count(&|outer, inner| [outer, inner]);
    let destinations = count(&|outer, inner| [inner, outer]);
    sources
        .into_iter()
        .zip(destinations)
        .map(|(s, d)| s.min(d))
        .collect()
}

/// For every source the destinations that it reaches over `edge`; `None` if they are too many.
fn pairs_over(network: &Network, path: PathChoice, edge: EdgeId) -> Option<Vec<Vec<u32>>> {
    let hosts = network.graph.host_count();
    let mut pairs = vec![Vec::new(); hosts as usize];
    let (mut route, mut number) = (Vec::new(), 0);
    for src in HostId::all(hosts) {
        for dst in HostId::all(hosts) {
            route.clear();
            let address = path.of(src, dst, network.tables.paths());
            let found = network.route(src, dst, address, &mut route).is_ok();
            if found && route.contains(&edge) {
                pairs[src.index()].push(dst.get());
                number += 1;
            }
        }
        if number > MOST_PAIRS {
            return None;
        }
    }
    Some(pairs)
}

/// Size of a maximum matching, by augmenting paths.
fn matching(pairs: &[Vec<u32>]) -> u32 {
    let mut partner: Vec<Option<u32>> = vec![None; pairs.len()];
    let mut size = 0;
    for source in 0..pairs.len() as u32 {
        let mut seen = vec![false; pairs.len()];
        size += u32::from(augment(pairs, source, &mut partner, &mut seen));
    }
    size
}

/// Finds a destination for `source`, and other destinations for the sources that lose theirs. It uses no recursion: a
/// path can be as long as there are hosts.
fn augment(
    pairs: &[Vec<u32>],
    source: u32,
    partner: &mut [Option<u32>],
    seen: &mut [bool],
) -> bool {
    // Sources on the present path, with the next destination to try.
    let mut path = vec![(source, 0usize)];
    while let Some((from, next)) = path.last_mut() {
        let Some(&to) = pairs[*from as usize].get(*next) else {
            path.pop();
            continue;
        };
        *next += 1;
        if std::mem::replace(&mut seen[to as usize], true) {
            continue;
        }
        match partner[to as usize] {
            Some(other) => path.push((other, 0)),
            None => {
                for &(from, next) in &path {
                    partner[pairs[from as usize][next - 1] as usize] = Some(from);
                }
                return true;
            }
        }
    }
    false
}
