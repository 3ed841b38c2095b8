//! The bisection: how many links connect the two halves of a fabric.

use super::nics_at;
use crate::ids::SwitchId;
use crate::spec::FabricSpec;
use crate::topology::SwitchOrder;
use flitwise_base::units::Ratio;

/// The switch-to-switch links with the least bandwidth between two halves of the NICs, or a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bisection {
    /// Links, each counted once for both directions.
    pub links: u64,
    /// These links by their rate in flits per tick, ascending.
    pub links_by_rate: Vec<(Ratio, u64)>,
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
        let rates = spec.rates_between_switches();
        // The closed forms count links that work and are alike.
        let closed = match &rates[..] {
            [rate] if spec.routing.failed.is_empty() => {
                let closed = topology.family().bisection(topology);
                closed.map(|closed| (closed, *rate))
            }
            _ => None,
        };
        let closed = closed.map(|(closed, rate)| Self {
            links: closed.links,
            links_by_rate: vec![(rate, closed.links)],
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
            .min_by_key(|(cut, _)| cuts.rank(cut))?;
        Some(Self {
            links: cut.links.iter().sum(),
            links_by_rate: (cuts.rates.into_iter().zip(cut.links))
                .filter(|&(_, links)| links > 0)
                .collect(),
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
/// Weight of a link of the highest rate.
const FASTEST: f64 = 1048576.0;

/// Evaluates cuts of a fabric.
struct Cuts {
    /// Number of NICs at each switch.
    nics_at: Vec<u32>,
    nics: u64,
    /// Neighbours of each switch, once per link, with the number of the link's rate.
    links: Vec<Vec<(SwitchId, usize)>>,
    /// Flits per tick, ascending.
    rates: Vec<Ratio>,
    /// Weights of links by their rate: whole numbers in proportion, which add up exactly.
    weights: Vec<u64>,
}

/// A cut between two halves of the NICs.
#[derive(Debug, Clone, Default)]
struct Cut {
    /// Links between the sides by the number of their rate, each counted once for both directions.
    links: Vec<u64>,
    /// NICs in the smaller half.
    half: u64,
}

impl Cuts {
    fn new(spec: &FabricSpec) -> Self {
        let rates = spec.rates_between_switches();
        let fastest = rates.last().map_or(1.0, |rate| rate.to_f64());
        let weight = |rate: &Ratio| (rate.to_f64() / fastest * FASTEST).round() as u64;
        let numbered = |(switch, links): (SwitchId, Vec<_>)| {
            let link = |(port, next)| {
                let rate = spec.link_rate(switch, port);
                (next, rates.partition_point(|&known| known < rate))
            };
            links.into_iter().map(link).collect()
        };
        let links = spec.topology.switch_ids().zip(spec.working_links());
        Self {
            nics_at: nics_at(spec),
            nics: spec.topology.nics().into(),
            links: links.map(numbered).collect(),
            weights: rates.iter().map(weight).collect(),
            rates,
        }
    }

    /// Less for the better cut: an even split is preferred, then little bandwidth.
    fn rank(&self, cut: &Cut) -> impl Ord + use<> {
        let weights = cut.links.iter().zip(&self.weights);
        let weight: u64 = weights.map(|(links, weight)| links * weight).sum();
        (std::cmp::Reverse(cut.half), weight)
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
            if (best.as_ref()).is_none_or(|best| self.rank(&cut) < self.rank(best)) {
                best = Some(cut);
            }
        }
        best.unwrap_or_default()
    }

    /// Moves each switch without NICs to the side that most bandwidth of its links leads to. Returns the
    /// links between the sides by the number of their rate.
    fn count_after_moves(&self, side: &mut [bool]) -> Vec<u64> {
        for _ in 0..PASSES {
            let mut moved = false;
            for switch in 0..side.len() {
                let weight = |sides: &[bool], away: bool| -> u64 {
                    let links = self.links[switch].iter();
                    let counted = links.filter(|(n, _)| !away || sides[n.index()] != sides[switch]);
                    counted.map(|&(_, rate)| self.weights[rate]).sum()
                };
                if self.nics_at[switch] == 0 && 2 * weight(side, true) > weight(side, false) {
                    side[switch] = !side[switch];
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let mut directed = vec![0; self.rates.len()];
        for (switch, links) in self.links.iter().enumerate() {
            for &(_, rate) in links
                .iter()
                .filter(|(n, _)| side[n.index()] != side[switch])
            {
                directed[rate] += 1;
            }
        }
        directed.into_iter().map(|links: u64| links / 2).collect()
    }
}
