//! Where the switches of a topology are in a drawing: levels of trees, grids of meshes and tori, groups of dragonflies
//! on a circle. An explicit graph is drawn by levels, counted from the switches that have NICs, or on a circle where
//! all switches have some.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

/// Positions, from 0 to 1 from the left and from the top.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    pub switches: BTreeMap<u32, [f64; 2]>,
    /// Height over width.
    pub aspect: f64,
    /// Names of levels of switches and their heights; empty if there are none.
    pub rows: Vec<(f64, String)>,
    /// Where the NICs of a switch are, from the switch.
    pub nics: Nics,
    /// By switch, for the links of rings that close: its coordinates.
    pub coordinates: BTreeMap<u32, Vec<u64>>,
}

/// Where NICs are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Nics {
    /// In a row at the bottom.
    #[default]
    Below,
    /// This far from their switch.
    Beside([f64; 2]),
    /// Further from the middle than their switch.
    Outside(f64),
}

/// The links between switches, and which switches have NICs.
#[derive(Debug, Clone, Default)]
pub(super) struct Wires {
    pub neighbours: BTreeMap<u32, BTreeSet<u32>>,
    pub with_nics: BTreeSet<u32>,
}

/// How the switches of a topology are arranged in a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// On levels by the distance from the switches with NICs, each level in the order of its numbers.
    Levels,
    /// On such levels, switches near their neighbours below; on a circle if most neighbours of switches with NICs have NICs, too.
    ByLinks,
    /// On a grid of these numbers of switches in each dimension, the first of which varies fastest.
    Grid(Vec<u32>),
    /// Groups of this number of consecutive switches, on a circle.
    Groups(u32),
}

/// The positions of all switches of `wires`.
pub(super) fn layout(plan: &Plan, wires: &Wires) -> Layout {
    match plan {
        Plan::Grid(sizes) if !sizes.is_empty() && is_countable(sizes) => {
            let sizes: Vec<u64> = sizes.iter().map(|&size| size.into()).collect();
            grid(&sizes, wires)
        }
        Plan::Groups(0) => circle(wires),
        &Plan::Groups(size) => groups(size, wires),
        Plan::ByLinks => levels(wires, true),
        Plan::Levels | Plan::Grid(_) => levels(wires, false),
    }
}

/// Whether the switches of a grid can have numbers: a file may say anything.
fn is_countable(sizes: &[u32]) -> bool {
    let product = sizes
        .iter()
        .try_fold(1_u32, |all, size| all.checked_mul(*size));
    product.is_some_and(|product| product > 0)
}

fn grid(sizes: &[u64], wires: &Wires) -> Layout {
    let (wide, high) = (sizes[0], sizes.get(1).copied().unwrap_or(1));
    let slices: u64 = sizes.iter().skip(2).product();
    let across = (1..=slices).find(|n| n * n >= slices).unwrap_or(1);
    let down = slices.div_ceil(across);
    // Slices are a step apart.
    let apart = if slices > 1 { 1.0 } else { 0.0 };
    let columns = across as f64 * (wide as f64 + apart) - apart;
    let rows = down as f64 * (high as f64 + apart) - apart;
    let mut found = Layout {
        aspect: (rows / columns * 0.8).clamp(0.25, 1.0),
        nics: Nics::Beside([0.3 / columns, 0.3 / rows.max(2.0)]),
        ..Layout::default()
    };
    for &switch in wires.neighbours.keys() {
        let mut rest = u64::from(switch);
        let mut at = Vec::new();
        for size in sizes {
            at.push(rest % size);
            rest /= size;
        }
        let slice = u64::from(switch) / (wide * high);
        let (sx, sy) = ((slice % across) as f64, (slice / across) as f64);
        let x = at[0] as f64 + sx * (wide as f64 + apart) + 0.4;
        let y = at.get(1).copied().unwrap_or(0) as f64 + sy * (high as f64 + apart) + 0.4;
        found.switches.insert(switch, [x / columns, y / rows]);
        found.coordinates.insert(switch, at);
    }
    found
}

fn groups(size: u32, wires: &Wires) -> Layout {
    let last = wires.neighbours.keys().next_back().copied().unwrap_or(0);
    let count = f64::from(last / size + 1);
    let around = (1.1 / count).min(0.1);
    let mut found = Layout {
        aspect: 0.85,
        nics: Nics::Outside(0.05),
        ..Layout::default()
    };
    for &switch in wires.neighbours.keys() {
        let group = f64::from(switch / size);
        let turn = TAU * group / count - TAU / 4.0;
        let centre = [0.5 + 0.37 * turn.cos(), 0.5 + 0.37 * turn.sin()];
        let within = TAU * f64::from(switch % size) / f64::from(size) + turn;
        let at = [
            centre[0] + around * within.cos(),
            centre[1] + around * within.sin(),
        ];
        found.switches.insert(switch, at);
    }
    found
}

fn circle(wires: &Wires) -> Layout {
    let count = wires.neighbours.len().max(1) as f64;
    let mut found = Layout {
        aspect: 0.85,
        nics: Nics::Outside(0.06),
        ..Layout::default()
    };
    for (place, &switch) in wires.neighbours.keys().enumerate() {
        let turn = TAU * place as f64 / count - TAU / 4.0;
        found
            .switches
            .insert(switch, [0.5 + 0.4 * turn.cos(), 0.5 + 0.4 * turn.sin()]);
    }
    found
}

/// How far switches are from the nearest one with NICs.
fn distances(wires: &Wires) -> BTreeMap<u32, usize> {
    let mut found: BTreeMap<u32, usize> = BTreeMap::new();
    let mut next: BTreeSet<u32> = if wires.with_nics.is_empty() {
        wires
            .neighbours
            .keys()
            .next()
            .copied()
            .into_iter()
            .collect()
    } else {
        wires.with_nics.clone()
    };
    let mut distance = 0;
    while !next.is_empty() {
        next.retain(|switch| !found.contains_key(switch));
        found.extend(next.iter().map(|&switch| (switch, distance)));
        let beyond = next
            .iter()
            .filter_map(|switch| wires.neighbours.get(switch));
        next = beyond.flatten().copied().collect();
        distance += 1;
    }
    found
}

/// Whether the network is flat: switches with NICs have, on average, more than one neighbour with NICs.
fn is_flat(wires: &Wires) -> bool {
    let of = wires
        .with_nics
        .iter()
        .filter_map(|switch| wires.neighbours.get(switch));
    let among = of.flatten().filter(|other| wires.with_nics.contains(other));
    among.count() > wires.with_nics.len() && wires.neighbours.len() > 3
}

/// Switches by their distance from those with NICs, which are at the bottom. With `sort`, those above are put near
/// their neighbours below.
fn levels(wires: &Wires, sort: bool) -> Layout {
    if sort && is_flat(wires) {
        return circle(wires);
    }
    let level = distances(wires);
    let count = level.values().max().map_or(1, |last| last + 1);
    let mut found = Layout {
        aspect: (0.19 * (count + 1) as f64).clamp(0.3, 0.8),
        ..Layout::default()
    };
    for at in 0..count {
        let mut row: Vec<u32> = level
            .iter()
            .filter(|(_, l)| **l == at)
            .map(|(s, _)| *s)
            .collect();
        if sort && at > 0 {
            let mean = |switch: &u32| {
                let below = wires.neighbours.get(switch).into_iter().flatten();
                let xs: Vec<f64> = below
                    .filter_map(|other| Some(found.switches.get(other)?[0]))
                    .collect();
                xs.iter().sum::<f64>() / xs.len().max(1) as f64
            };
            row.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
        }
        let height = (count - 1 - at) as f64 / count as f64;
        let width = row.len().max(1) as f64;
        for (place, switch) in row.into_iter().enumerate() {
            found
                .switches
                .insert(switch, [(place as f64 + 0.5) / width, height]);
        }
        found.rows.push((height, format!("level {at}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wires(links: &[(u32, u32)], with_nics: &[u32]) -> Wires {
        let mut wires = Wires::default();
        for &(a, b) in links {
            wires.neighbours.entry(a).or_default().insert(b);
            wires.neighbours.entry(b).or_default().insert(a);
        }
        wires.with_nics.extend(with_nics);
        wires
    }

    #[test]
    fn trees_stand_on_their_nics() {
        let tree = wires(&[(0, 2), (0, 3), (1, 2), (1, 3)], &[0, 1]);
        let found = layout(&Plan::Levels, &tree);
        assert_eq!(found.switches[&0], [0.25, 0.5]);
        assert_eq!(found.switches[&3], [0.75, 0.0]);
        assert_eq!(found.rows.len(), 2);
    }

    #[test]
    fn tori_are_grids_and_slices() {
        let links: Vec<(u32, u32)> = (0..17).map(|a| (a, a + 1)).collect();
        let found = layout(&Plan::Grid(vec![3, 3, 2]), &wires(&links, &[]));
        assert_eq!(found.coordinates[&17], [2, 2, 1]);
        let [a, b] = [found.switches[&0], found.switches[&9]];
        assert!(b[0] > a[0] && (b[1] - a[1]).abs() < 1e-9, "{a:?} {b:?}");
    }

    #[test]
    fn a_graph_without_levels_is_a_circle() {
        let ring = wires(&[(0, 1), (1, 2), (2, 3), (3, 0)], &[0, 1, 2, 3]);
        let found = layout(&Plan::ByLinks, &ring);
        assert_eq!(found.rows, []);
        assert!((found.switches[&0][1] - 0.1).abs() < 1e-9);
    }

    #[test]
    fn nonsense_has_a_layout() {
        for size in [0, 1 << 16, u32::MAX] {
            for plan in [Plan::Grid(vec![size, size]), Plan::Groups(size)] {
                for wires in [wires(&[(0, 1)], &[]), Wires::default()] {
                    let found = layout(&plan, &wires);
                    let mut at = found.switches.values().flatten();
                    assert!(at.all(|at| at.is_finite()), "{plan:?}");
                }
            }
        }
    }
}
