//! The bisection: how many links connect the two halves of a fabric.

use super::nics_at;
use crate::ids::SwitchId;
use crate::spec::FabricSpec;
use crate::topology::SwitchOrder;

/// The fewest switch-to-switch links between two halves of the NICs, or a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
        let closed = if spec.routing.failed.is_empty() {
            topology.family().bisection(topology)
        } else {
            None
        };
        let closed = closed.map(|closed| Self {
            links: closed.links,
            exact: true,
            method: closed.formula.into(),
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
        let (cut, name) = orders
            .into_iter()
            .map(|order| (cuts.best_in(&order.switches), order.name))
            .min_by_key(|(cut, _)| cut.rank())?;
        Some(Self {
            links: cut.links,
            exact: false,
            method: format!("best of several cuts: half of the NICs {name}"),
            half: cut.half,
        })
    }
}

/// The orders whose cuts are tried.
fn orders(spec: &FabricSpec) -> Vec<SwitchOrder> {
    let switches = spec.topology.switches();
    let order = |name: &str, switches| SwitchOrder {
        name: name.to_owned(),
        switches,
    };
    let by_number = SwitchId::all(switches).collect();
    let mut orders = vec![order("by number of the switch", by_number)];
    orders.extend(spec.topology.family().cuts(switches));
    orders.push(order("nearest to switch 0", by_distance(spec)));
    orders
}

/// The order by distance from switch 0.
fn by_distance(spec: &FabricSpec) -> Vec<SwitchId> {
    let neighbours = super::distance::neighbours(spec);
    let mut seen = vec![false; neighbours.len()];
    let mut order = Vec::with_capacity(neighbours.len());
    // Components that are not connected follow one another.
    for start in spec.topology.switch_ids() {
        if std::mem::replace(&mut seen[start.index()], true) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while let Some(&switch) = order.get(next) {
            next += 1;
            for &beside in &neighbours[switch.index()] {
                if !std::mem::replace(&mut seen[beside.index()], true) {
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
    links: Vec<Vec<SwitchId>>,
}

/// A cut between two halves of the NICs.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    /// Links between the sides, each counted once for both directions.
    links: u64,
    /// NICs in the smaller half.
    half: u64,
}

impl Cut {
    /// Less for the better cut: an even split is preferred, then few links.
    fn rank(&self) -> impl Ord + use<> {
        (std::cmp::Reverse(self.half), self.links)
    }
}

impl Cuts {
    fn new(spec: &FabricSpec) -> Self {
        Self {
            nics_at: nics_at(spec),
            nics: spec.topology.nics().into(),
            links: spec.working_links(),
        }
    }

    /// The best cut in which the first switches of `order` make one half. Tries the last size with
    /// at most half of the NICs, and the next larger one.
    fn best_in(&self, order: &[SwitchId]) -> Cut {
        let mut best: Option<Cut> = None;
        let (mut taken, mut end) = (0, 0);
        for (i, &switch) in order.iter().enumerate() {
            let with = taken + u64::from(self.nics_at[switch.index()]);
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
                side[switch.index()] = true;
                nics += u64::from(self.nics_at[switch.index()]);
            }
            let half = nics.min(self.nics - nics);
            let links = self.count_after_moves(&mut side);
            let cut = Cut { links, half };
            if best.is_none_or(|best| cut.rank() < best.rank()) {
                best = Some(cut);
            }
        }
        best.unwrap_or_default()
    }

    /// Moves each switch without NICs to the side that most of its links lead to. Returns the
    /// number of links between the sides.
    fn count_after_moves(&self, side: &mut [bool]) -> u64 {
        for _ in 0..PASSES {
            let mut moved = false;
            for switch in 0..side.len() {
                let links = &self.links[switch];
                let away = links.iter().filter(|&&n| side[n.index()] != side[switch]);
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
                links.filter(|&&n| side[n.index()] != side[s]).count()
            })
            .sum();
        directed as u64 / 2
    }
}
