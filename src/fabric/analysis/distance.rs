//! Shortest paths between NICs in the topology, whatever the routing.

use super::{MAX_STEPS, TooLarge, nics_at};
use crate::ids::SwitchId;
use crate::spec::FabricSpec;

/// Hops of the shortest paths between NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
        let mut seen = vec![None; nics_at.len()];
        let (mut level, mut next_level) = (Vec::new(), Vec::new());
        for source in topology.switch_ids().filter(|s| nics_at[s.index()] > 0) {
            let from = u64::from(nics_at[source.index()]);
            level.push(source);
            seen[source.index()] = Some(source);
            for hops in 0.. {
                let nics = |&s: &SwitchId| u64::from(nics_at[s.index()]) - u64::from(s == source);
                let pairs = from * level.iter().map(nics).sum::<u64>();
                if pairs > 0 {
                    if pairs_by_hops.len() <= hops {
                        pairs_by_hops.resize(hops + 1, 0);
                    }
                    pairs_by_hops[hops] += pairs;
                }
                for switch in level.drain(..) {
                    for &next in &neighbours[switch.index()] {
                        if seen[next.index()].replace(source) != Some(source) {
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
pub(super) fn neighbours(spec: &FabricSpec) -> Vec<Vec<SwitchId>> {
    let far = |links: Vec<_>| {
        let mut far: Vec<SwitchId> = links.into_iter().map(|(_, far)| far).collect();
        far.sort_unstable();
        far.dedup();
        far
    };
    spec.working_links().into_iter().map(far).collect()
}
