//! The links inside a node.

use super::NodeError;
use flitwise_base::units::Ratio;
use std::collections::VecDeque;

/// Most vertices of a graph.
const MOST_VERTICES: u32 = 256;

/// Places for ranks and switches, with links among them that are all alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGraph {
    places: u32,
    links: Vec<[u32; 2]>,
    /// Time of flight over a link in picoseconds.
    pub latency_ps: u64,
    /// Bandwidth of each direction of a link in bytes per second; not 0.
    pub bytes_per_s: Ratio,
    /// By place from, then place to: directed links, twice the number of the link, plus 1 from its second end.
    routes: Vec<Vec<u32>>,
}

impl NodeGraph {
    /// The graph of these links between places, which come first, and switches.
    ///
    /// # Errors
    /// If a link is no link or listed twice, or a place cannot be reached.
    pub fn new(
        places: u32,
        links: Vec<[u32; 2]>,
        latency_ps: u64,
        bytes_per_s: Ratio,
    ) -> Result<Self, NodeError> {
        let last = links.iter().flatten().copied().max().unwrap_or(0);
        let vertices = places.max(last.saturating_add(1));
        if vertices > MOST_VERTICES {
            return Err(NodeError::TooLarge { vertices });
        }
        let mut known = std::collections::BTreeSet::new();
        for &[a, b] in &links {
            if a == b || !known.insert([a.min(b), a.max(b)]) {
                return Err(NodeError::Link { a, b });
            }
        }
        let mut neighbours = vec![Vec::new(); vertices as usize];
        for (number, &[a, b]) in (0..).zip(&links) {
            neighbours[a as usize].push((b, 2 * number));
            neighbours[b as usize].push((a, 2 * number + 1));
        }
        neighbours.iter_mut().for_each(|own| own.sort_unstable());
        let mut routes = Vec::new();
        for from in 0..places {
            for to in 0..places {
                let route = route(&neighbours, from, to);
                routes.push(route.ok_or(NodeError::Apart { from, to })?);
            }
        }
        Ok(Self {
            places,
            links,
            latency_ps,
            bytes_per_s,
            routes,
        })
    }

    /// A link between every two places.
    #[must_use]
    pub fn all_to_all(places: u32) -> Vec<[u32; 2]> {
        let of = |a| (a + 1..places).map(move |b| [a, b]);
        (0..places).flat_map(of).collect()
    }

    /// A switch above every two places, and the host above these switches if there are several.
    #[must_use]
    pub fn pcie_tree(places: u32) -> Vec<[u32; 2]> {
        let switches = places.div_ceil(2);
        let below = (0..places).map(|place| [place, places + place / 2]);
        let host = places + switches;
        let above = (0..switches).filter(|_| switches > 1);
        below.chain(above.map(|s| [places + s, host])).collect()
    }

    /// The cube mesh of a DGX-1: two full meshes of four places, and a link from each place to its partner.
    #[must_use]
    pub fn dgx_1() -> Vec<[u32; 2]> {
        let mesh = |first: u32| {
            Self::all_to_all(4)
                .into_iter()
                .map(move |ends| ends.map(|at| first + at))
        };
        let across = (0..4).map(|place| [place, place + 4]);
        mesh(0).chain(mesh(4)).chain(across).collect()
    }

    /// Its links.
    #[must_use]
    pub fn links(&self) -> &[[u32; 2]] {
        &self.links
    }

    /// The directed links from place to place.
    pub(super) fn route(&self, from: u32, to: u32) -> &[u32] {
        &self.routes[(from * self.places + to) as usize]
    }
}

/// The fewest links to a vertex; of several routes the one whose next vertex is the lowest.
fn route(neighbours: &[Vec<(u32, u32)>], from: u32, to: u32) -> Option<Vec<u32>> {
    let mut hops = vec![None; neighbours.len()];
    hops[to as usize] = Some(0u32);
    let mut queue = VecDeque::from([to]);
    while let Some(at) = queue.pop_front() {
        for &(next, _) in &neighbours[at as usize] {
            if hops[next as usize].is_none() {
                hops[next as usize] = hops[at as usize].map(|hops| hops + 1);
                queue.push_back(next);
            }
        }
    }
    let (mut at, mut links) = (from, Vec::new());
    while at != to {
        let nearer = hops[at as usize]?.checked_sub(1);
        let mut near = neighbours[at as usize].iter();
        let &(next, link) = near.find(|(next, _)| hops[*next as usize] == nearer)?;
        links.push(link);
        at = next;
    }
    Some(links)
}
