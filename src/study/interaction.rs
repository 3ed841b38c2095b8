//! Differences between paired differences: by how much the difference from the reference of one axis changes over another
//! axis (`docs/reference/study.md`).

use super::aggregate::{Group, Mean, Means};
use super::draw::Pairing;
use super::grid::Grid;
use super::metrics::{Measure, Metrics};
use super::row::RunRow;
use hashbrown::HashMap;

/// An axis over which differences change: an axis of the study, or the loads of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Axis(usize),
    Loads,
}

/// The change of a difference between a group and the group with the reference of `over`, over the seeds that all four
/// groups have.
#[derive(Debug, Clone)]
pub(super) struct Interaction<'a> {
    pub group: &'a Group<'a>,
    /// The axis that is compared.
    pub axis: usize,
    pub over: Over,
    pub seeds: usize,
    /// The parts of their draws that the four runs of a seed share.
    pub pairing: Pairing,
    pub means: Means,
}

/// A point with a load.
type Place<'a> = (usize, Option<&'a str>);

impl Over {
    /// Its name and its reference.
    pub(super) fn names<'a>(self, grid: &'a Grid, groups: &'a [Group<'_>]) -> [&'a str; 2] {
        match self {
            Self::Axis(axis) => {
                let axis = &grid.study.axes[axis];
                [&axis.name, &axis.settings[axis.reference].label]
            }
            Self::Loads => ["load", first_load(groups).unwrap_or_default()],
        }
    }

    /// Whether all its settings are numbers.
    pub(super) fn is_numeric(self, grid: &Grid) -> bool {
        match self {
            Self::Axis(axis) => {
                let mut settings = grid.study.axes[axis].settings.iter();
                settings.all(|setting| setting.label.parse::<f64>().is_ok())
            }
            Self::Loads => true,
        }
    }

    /// The place that differs only in having the reference; `None` if `place` has it, or it is excluded.
    fn reference<'a>(
        self,
        grid: &Grid,
        (point, load): Place<'a>,
        first: Option<&'a str>,
    ) -> Option<Place<'a>> {
        match self {
            Self::Axis(axis) => Some((grid.reference(point, axis)?, load)),
            Self::Loads if load == first => None,
            Self::Loads => Some((point, first)),
        }
    }
}

/// The first load of the runs, which is the reference of loads.
fn first_load<'a>(groups: &[Group<'a>]) -> Option<&'a str> {
    groups.first().and_then(|group| group.load)
}

/// All that varies: the axes with several settings, and several loads.
pub(super) fn varying(grid: &Grid, groups: &[Group<'_>]) -> Vec<Over> {
    let axes = grid.study.axes.iter().enumerate();
    let axes = axes.filter(|(_, axis)| axis.settings.len() > 1);
    let first = first_load(groups);
    let loads = groups.iter().any(|group| group.load != first);
    axes.map(|(at, _)| Over::Axis(at))
        .chain(loads.then_some(Over::Loads))
        .collect()
}

/// The changes of all differences, by compared axis, then by the axis over which they change.
pub(super) fn interactions<'a>(
    grid: &Grid,
    groups: &'a [Group<'a>],
    metrics: &Metrics,
) -> Vec<Interaction<'a>> {
    let at: HashMap<Place<'_>, &Group<'_>> =
        groups.iter().map(|g| ((g.point, g.load), g)).collect();
    let first = first_load(groups);
    let varying = varying(grid, groups);
    let mut all = Vec::new();
    for &compared in &varying {
        let Over::Axis(axis) = compared else {
            continue;
        };
        for &over in varying.iter().filter(|&&over| over != compared) {
            for group in groups {
                let here = (group.point, group.load);
                let four = || {
                    let beside = compared.reference(grid, here, first)?;
                    let before = over.reference(grid, here, first)?;
                    let before_beside = compared.reference(grid, before, first)?;
                    let found = [beside, before, before_beside].map(|place| at.get(&place));
                    let [Some(beside), Some(before), Some(before_beside)] = found else {
                        return None;
                    };
                    Some([group, *beside, *before, *before_beside])
                };
                let found = four().map(|four| interaction(four, axis, over, metrics));
                all.extend(found.filter(|found| found.seeds > 0));
            }
        }
    }
    all
}

/// The change from the last two groups to the first two, each compared with the second one of its pair.
fn interaction<'a>(
    four: [&'a Group<'a>; 4],
    axis: usize,
    over: Over,
    metrics: &Metrics,
) -> Interaction<'a> {
    let [group, beside, before, before_beside] = four;
    let rows: Vec<[&RunRow; 4]> = (group.complete())
        .filter_map(|row| {
            let of = |group: &Group<'a>| group.of_seed(row.seed);
            Some([row, of(beside)?, of(before)?, of(before_beside)?])
        })
        .collect();
    let runs = group.seeds_with(&[beside, before, before_beside]);
    let mut pairing = Pairing::default();
    for [row, others @ ..] in &rows {
        pairing.see_several(&row.draw, others.iter().map(|other| other.draw.as_str()));
    }
    let over_seeds = |measure: &Measure| {
        let values = rows.iter().filter_map(|four| {
            let [Some(a), Some(b), Some(c), Some(d)] = four.map(|row| row.value(measure.column))
            else {
                return None;
            };
            let difference = |value, other| measure.difference.of(value, other);
            let change = difference(a, b) - difference(c, d);
            change.is_finite().then_some(change)
        });
        Mean::of(&values.collect::<Vec<_>>(), runs)
    };
    Interaction {
        group,
        axis,
        over,
        seeds: rows.len(),
        pairing,
        means: Means::of(metrics, over_seeds),
    }
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::groups;
    use super::super::metrics::SIMULATED;
    use super::super::row::Value;
    use super::*;

    #[test]
    fn a_change_is_the_difference_of_two_differences_of_each_seed() {
        // Per seed: +10 % and +30 %, +20 % and +50 %, +10 % and +35 %: changes of 20, 30 and 25 percentage points.
        let times = [
            [1000, 1100, 2000, 2600],
            [3000, 3600, 1000, 1500],
            [1000, 1100, 1000, 1350],
            [5, 5, 5, 0],
        ];
        let mut rows = Vec::new();
        for point in 0..4 {
            for (seed, of_seed) in (1..).zip(times) {
                // The fourth seed has failed at the last point.
                let reason = if of_seed[point] == 0 { "failed" } else { "" };
                let of_run = (point, seed);
                let mut row = RunRow::failed(of_run, &SIMULATED, String::new(), reason.to_owned());
                row.values[0] = Value::Integer(of_seed[point]);
                rows.push(row);
            }
        }
        let groups = groups(&rows, &SIMULATED);
        let four = [&groups[3], &groups[2], &groups[1], &groups[0]];
        let found = interaction(four, 1, Over::Axis(0), &SIMULATED);
        assert_eq!(found.seeds, 3);
        let time = SIMULATED.measures[0];
        let mean = found.means.get(time).unwrap();
        assert!((mean.mean - 25.0).abs() < 1e-9);
        // Student's t of two degrees of freedom, 4.303, times a standard error of 5 / √3.
        assert!((mean.ci95.unwrap() - 12.422).abs() < 0.01);
        assert_eq!(
            time.difference.of_differences(),
            "execution_time_percentage_points"
        );
    }
}
