//! Proposes settings of a DTable that bring every share into its range.
//!
//! From minφᵢ = nᵢ·MTUᵢ / (N·GMTU·k) and maxφᵢ = nᵢ·w / (N·k) (Hiperion, section 3.3.2)
//! follow the smallest k and w for given entries, and the entries that given k and w allow.
//! N itself stays: the ranges only depend on nᵢ / N.

use super::dtable_table::{DTableParameters, DTableTable, MAX_W, construct};

/// Largest k that is tried together with other distances.
pub const MAX_K_WITH_DISTANCES: u32 = 64;
/// Most entries of a table whose distances and weights are searched together.
pub const MAX_ENTRIES_FOR_BOTH: u32 = 1 << 12;
/// Values of k tried after the smallest that the shares allow, for tables whose
/// correction does not fit.
const MORE_K: u32 = 64;

/// The settings that a proposal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// w and k; all distances, and so the latency order, stay.
    Weights,
    /// Distances, and so entries; w and k stay.
    Distances,
    /// All of them.
    Both,
}

/// Settings that give every service level its share, and the table they make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proposal {
    /// The difference from the given settings.
    pub change: Change,
    /// The settings.
    pub parameters: DTableParameters,
    /// Their table; it has no shortfall.
    pub table: DTableTable,
}

/// Settings near `p` whose table has no shortfall, best first:
///
/// 1. other w and k: the smallest k, because a small k means a low latency (section
///    4.2.2), then the smallest w;
/// 2. other distances (powers of two that divide N): those that lengthen the distances
///    least, counted in doublings, then those that shorten them least;
/// 3. only if there is neither: both, again the smallest k, then w, then distances.
#[must_use]
pub fn propose(p: &DTableParameters) -> Vec<Proposal> {
    let mut found: Vec<Proposal> = [other_weights(p), other_distances(p)]
        .into_iter()
        .flatten()
        .collect();
    if found.is_empty() {
        found.extend(both(p));
    }
    found
}

/// `parameters` as a proposal, if their table gives the shares that they ask for.
fn verified(change: Change, parameters: DTableParameters) -> Option<Proposal> {
    let table = construct(&parameters).ok()?;
    table.shortfalls().is_empty().then_some(Proposal {
        change,
        parameters,
        table,
    })
}

fn other_weights(p: &DTableParameters) -> Option<Proposal> {
    let smallest = smallest_k(p)?;
    let last = smallest.saturating_add(MORE_K).min(MAX_W);
    (smallest..=last).find_map(|k| {
        let w = smallest_w(p, k)?;
        verified(Change::Weights, DTableParameters { w, k, ..p.clone() })
    })
}

/// The smallest k with minφᵢ ≤ φᵢ for all i.
fn smallest_k(p: &DTableParameters) -> Option<u32> {
    let mut k = 1;
    for sl in &p.service_levels {
        // minφ = MTU / (distance × GMTU × k).
        let num = u128::from(sl.mtu) * u128::from(sl.share.den());
        let den = u128::from(sl.distance) * u128::from(p.gmtu) * u128::from(sl.share.num());
        k = k.max(num.div_ceil(den.max(1)));
    }
    u32::try_from(k).ok().filter(|&k| k <= MAX_W)
}

/// The smallest w ≥ k with φᵢ ≤ maxφᵢ for all i, at which every packet fits an entry.
fn smallest_w(p: &DTableParameters, k: u32) -> Option<u32> {
    let mut w = u128::from(k);
    for sl in &p.service_levels {
        // maxφ = w / (distance × k).
        let num = u128::from(sl.share.num()) * u128::from(sl.distance) * u128::from(k);
        w = w.max(num.div_ceil(u128::from(sl.share.den())));
        w = w.max(u128::from(sl.mtu.div_ceil(p.gmtu.max(1))));
    }
    u32::try_from(w).ok().filter(|&w| w <= MAX_W)
}

fn other_distances(p: &DTableParameters) -> Option<Proposal> {
    let distances = best_distances(p)?;
    verified(Change::Distances, with_distances(p, &distances))
}

fn both(p: &DTableParameters) -> Option<Proposal> {
    if p.entries > MAX_ENTRIES_FOR_BOTH {
        return None;
    }
    let at = |w, k| DTableParameters { w, k, ..p.clone() };
    (1..=MAX_K_WITH_DISTANCES).find_map(|k| {
        best_distances(&at(MAX_W, k))?;
        // A larger w allows whatever a smaller one does.
        let (mut below, mut enough) = (k - 1, MAX_W);
        while enough - below > 1 {
            let middle = below + (enough - below) / 2;
            match best_distances(&at(middle, k)) {
                Some(_) => enough = middle,
                None => below = middle,
            }
        }
        let parameters = at(enough, k);
        let distances = best_distances(&parameters)?;
        verified(Change::Both, with_distances(&parameters, &distances))
    })
}

fn with_distances(p: &DTableParameters, distances: &[u32]) -> DTableParameters {
    let mut p = p.clone();
    for (sl, &distance) in p.service_levels.iter_mut().zip(distances) {
        sl.distance = distance;
    }
    p
}

/// The distances that fill the table and bring every share into its range, at the lowest
/// cost: a knapsack over the service levels, in units of N divided by its largest power
/// of two.
fn best_distances(p: &DTableParameters) -> Option<Vec<u32>> {
    let powers = p.entries.trailing_zeros();
    let slots = 1_usize << powers;
    // By slots filled: cost, and per service level the exponent of its distance.
    let mut best: Vec<Option<u64>> = vec![None; slots + 1];
    best[0] = Some(0);
    let mut choices: Vec<Vec<u8>> = Vec::new();
    for sl in 0..p.service_levels.len() {
        let allowed: Vec<(u8, usize, u64)> = (0..=powers)
            .filter(|&exponent| in_range(p, sl, 1 << exponent))
            .map(|exponent| {
                let cost = cost(p.service_levels[sl].distance, 1 << exponent);
                (exponent as u8, slots >> exponent, cost)
            })
            .collect();
        let mut next: Vec<Option<u64>> = vec![None; slots + 1];
        let mut choice = vec![0; slots + 1];
        for filled in 0..=slots {
            let Some(before) = best[filled] else { continue };
            for &(exponent, taken, cost) in &allowed {
                let total = before + cost;
                let Some(place) = next.get_mut(filled + taken) else {
                    continue;
                };
                if place.is_none_or(|old| total < old) {
                    *place = Some(total);
                    choice[filled + taken] = exponent;
                }
            }
        }
        best = next;
        choices.push(choice);
    }
    best[slots]?;
    let mut filled = slots;
    let mut distances: Vec<u32> = Vec::with_capacity(choices.len());
    for choice in choices.iter().rev() {
        let exponent = choice[filled];
        distances.push(1 << exponent);
        filled -= slots >> exponent;
    }
    distances.reverse();
    Some(distances)
}

/// minφ ≤ φ ≤ maxφ, and a packet fits an entry.
fn in_range(p: &DTableParameters, sl: usize, distance: u32) -> bool {
    let sl = &p.service_levels[sl];
    let (num, den) = (u128::from(sl.share.num()), u128::from(sl.share.den()));
    let (gmtu, distance) = (u128::from(p.gmtu), u128::from(distance));
    let (mtu, k, w) = (u128::from(sl.mtu), u128::from(p.k), u128::from(p.w));
    mtu * den <= num * distance * gmtu * k && num * distance * k <= w * den && mtu <= gmtu * w
}

/// Doublings that lengthen a distance weigh more than any number that shorten others:
/// a longer distance costs latency.
fn cost(old: u32, new: u32) -> u64 {
    let doublings =
        |from: u32, to: u32| u64::from(to.div_ceil(from.max(1)).max(1).next_power_of_two().ilog2());
    (doublings(old, new) << 16) + doublings(new, old)
}
