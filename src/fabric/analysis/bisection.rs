//! The bisection: how many links connect the two halves of a fabric.

use super::nics_at;
use crate::fabric::spec::FabricSpec;
use crate::fabric::topology::Peer;

/// The fewest switch-to-switch links between two halves of the NICs, or a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bisection {
    /// Links, each counted once for both directions.
    pub links: u64,
    /// False: there may be a smaller cut.
    pub exact: bool,
    /// The formula, or how the bound was found.
    pub method: String,
    /// NICs in the smaller half.
    pub half: u64,
}

impl Bisection {
    /// The closed form if there is one, else the best of several cuts. `None` if all NICs are
    /// at one switch.
    #[must_use]
    pub fn new(spec: &FabricSpec) -> Option<Self> {
        let topology = &spec.topology;
        let closed = topology.family().bisection(topology);
        let closed = closed.map(|(links, formula)| Self {
            links,
            exact: true,
            method: formula.into(),
            half: u64::from(topology.nics()) / 2,
        });
        closed.or_else(|| Self::bound(spec))
    }

    /// The best of several cuts, which is an upper bound on any fabric. `None` if all NICs are
    /// at one switch.
    #[must_use]
    pub fn bound(spec: &FabricSpec) -> Option<Self> {
        if nics_at(spec).iter().filter(|&&n| n > 0).count() < 2 {
            return None;
        }
        let (cuts, orders) = (Cuts::new(spec), orders(spec));
        let best = orders
            .into_iter()
            .map(|(name, order)| {
                let (links, half) = cuts.best_in(&order);
                (links, half, name)
            })
            // Prefers an even split, then few links.
            .min_by_key(|&(links, half, _)| (std::cmp::Reverse(half), links))?;
        let (links, half, name) = best;
        Some(Self {
            links,
            exact: false,
            method: format!("best of several cuts: half of the NICs {name}"),
            half,
        })
    }
}

/// Orders of the switches, each with its name. A cut puts the first switches of an order on
/// one side.
fn orders(spec: &FabricSpec) -> Vec<(String, Vec<u32>)> {
    let switches = spec.topology.switches();
    let mut orders = vec![(
        "by number of the switch".to_owned(),
        (0..switches).collect(),
    )];
    orders.extend(spec.topology.family().cuts(switches));
    orders.push(("nearest to switch 0".to_owned(), by_distance(spec)));
    orders
}

/// The order by distance from switch 0.
fn by_distance(spec: &FabricSpec) -> Vec<u32> {
    let neighbours = super::distance::neighbours(spec);
    let mut seen = vec![false; neighbours.len()];
    let mut order = Vec::with_capacity(neighbours.len());
    // Components that are not connected follow one another.
    for start in 0..neighbours.len() as u32 {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while let Some(&switch) = order.get(next) {
            next += 1;
            for &beside in &neighbours[switch as usize] {
                if !std::mem::replace(&mut seen[beside as usize], true) {
                    order.push(beside);
                }
            }
        }
    }
    order
}

/// Passes in which switches without NICs may change sides.
const PASSES: usize = 64;

/// Evaluates cuts of a fabric.
struct Cuts {
    /// Number of NICs at each switch.
    nics_at: Vec<u32>,
    nics: u64,
    /// Neighbours of each switch, once per link.
    links: Vec<Vec<u32>>,
}

impl Cuts {
    fn new(spec: &FabricSpec) -> Self {
        let topology = &spec.topology;
        let of = |switch: u32| {
            let peers = (0..topology.radix()).filter_map(|p| match topology.peer(switch, p) {
                Peer::Switch { switch, .. } => Some(switch),
                _ => None,
            });
            peers.collect()
        };
        Self {
            nics_at: nics_at(spec),
            nics: topology.nics().into(),
            links: (0..topology.switches()).map(of).collect(),
        }
    }

    /// Links of the cut, and NICs in the smaller half, when the first switches of `order` make
    /// one half. Tries the last size with at most half of the NICs, and the next larger one.
    fn best_in(&self, order: &[u32]) -> (u64, u64) {
        let mut best: Option<(u64, u64)> = None;
        let (mut taken, mut end) = (0, 0);
        for (i, &switch) in order.iter().enumerate() {
            let with = taken + u64::from(self.nics_at[switch as usize]);
            if 2 * with > self.nics {
                end = i;
                break;
            }
            taken = with;
        }
        for end in [end, end + 1] {
            let mut side = vec![false; order.len()];
            let mut nics = 0;
            for &switch in &order[..end.min(order.len())] {
                side[switch as usize] = true;
                nics += u64::from(self.nics_at[switch as usize]);
            }
            let half = nics.min(self.nics - nics);
            let links = self.count_after_moves(&mut side);
            let better = |&(l, h): &(u64, u64)| half > h || half == h && links < l;
            if best.as_ref().is_none_or(better) {
                best = Some((links, half));
            }
        }
        best.unwrap_or((0, 0))
    }

    /// Moves each switch without NICs to the side that most of its links lead to. Returns the
    /// number of links between the sides.
    fn count_after_moves(&self, side: &mut [bool]) -> u64 {
        for _ in 0..PASSES {
            let mut moved = false;
            for switch in 0..side.len() {
                let links = &self.links[switch];
                let away = links.iter().filter(|&&n| side[n as usize] != side[switch]);
                if self.nics_at[switch] == 0 && 2 * away.count() > links.len() {
                    side[switch] = !side[switch];
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let directed: usize = (0..side.len())
            .map(|s| {
                let links = self.links[s].iter();
                links.filter(|&&n| side[n as usize] != side[s]).count()
            })
            .sum();
        directed as u64 / 2
    }
}
