//! Shortest paths between NICs in the topology, without regard to routing.

use super::{MAX_STEPS, TooLarge, nics_at};
use crate::fabric::spec::FabricSpec;
use crate::fabric::topology::Peer;

/// Hops of the shortest paths between NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distances {
    /// Ordered pairs of different NICs by hops (switch-to-switch links).
    pub pairs_by_hops: Vec<u64>,
}

impl Distances {
    /// Searches breadth first from every switch with NICs.
    ///
    /// # Errors
    /// If the search takes more than [`MAX_STEPS`] steps.
    pub fn new(spec: &FabricSpec) -> Result<Self, TooLarge> {
        let topology = &spec.topology;
        let nics_at = nics_at(spec);
        let sources = nics_at.iter().filter(|&&n| n > 0).count() as u64;
        let links = topology.directed_switch_links();
        TooLarge::check("steps to all shortest paths:", sources * links, MAX_STEPS)?;
        let neighbours = neighbours(spec);
        let mut pairs_by_hops = Vec::new();
        let mut seen = vec![u32::MAX; nics_at.len()];
        let (mut level, mut next_level) = (Vec::new(), Vec::new());
        for source in (0..topology.switches()).filter(|&s| nics_at[s as usize] > 0) {
            let from = u64::from(nics_at[source as usize]);
            level.push(source);
            seen[source as usize] = source;
            for hops in 0.. {
                let nics = |&s: &u32| u64::from(nics_at[s as usize]) - u64::from(s == source);
                let pairs = from * level.iter().map(nics).sum::<u64>();
                if pairs > 0 {
                    if pairs_by_hops.len() <= hops {
                        pairs_by_hops.resize(hops + 1, 0);
                    }
                    pairs_by_hops[hops] += pairs;
                }
                for switch in level.drain(..) {
                    for &next in &neighbours[switch as usize] {
                        if std::mem::replace(&mut seen[next as usize], source) != source {
                            next_level.push(next);
                        }
                    }
                }
                std::mem::swap(&mut level, &mut next_level);
                if level.is_empty() {
                    break;
                }
            }
        }
        Ok(Self { pairs_by_hops })
    }

    /// Most hops.
    #[must_use]
    pub fn diameter(&self) -> usize {
        self.pairs_by_hops.len().saturating_sub(1)
    }

    /// Hops of all pairs together.
    #[must_use]
    pub fn total_hops(&self) -> u64 {
        (0..).zip(&self.pairs_by_hops).map(|(h, n)| h * n).sum()
    }
}

/// The different neighbours of each switch, ascending.
pub(super) fn neighbours(spec: &FabricSpec) -> Vec<Vec<u32>> {
    let topology = &spec.topology;
    let of = |switch: u32| {
        let peers = (0..topology.radix()).filter_map(|p| match topology.peer(switch, p) {
            Peer::Switch { switch, .. } => Some(switch),
            _ => None,
        });
        let mut list: Vec<u32> = peers.collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    (0..topology.switches()).map(of).collect()
}
