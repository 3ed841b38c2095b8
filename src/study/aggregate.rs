//! Means over the seeds with their intervals, and differences that are paired by seed.

use super::draw::Pairing;
use super::grid::Grid;
use super::metrics::{Measure, Metrics};
use super::row::RunRow;
use crate::results::interval_95;
use hashbrown::HashMap;

/// Fewer values than these have no interval if other runs failed: the interval of two values is as wide as the luck of two
/// runs.
const FEW: usize = 3;

/// A mean over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub mean: f64,
    /// Half the 95 % interval; `None` for a single value, and for few beside failed runs.
    pub ci95: Option<f64>,
}

impl Mean {
    /// The mean of values of `runs` runs, of which some may have failed; `None` if there are none.
    pub(crate) fn of(values: &[f64], runs: usize) -> Option<Self> {
        let is_few = values.len() < FEW && values.len() < runs;
        match (interval_95(values), values) {
            (Some(interval), _) => Some(Self {
                mean: interval.mean,
                ci95: Some(interval.half_width).filter(|_| !is_few),
            }),
            (None, [mean]) => Some(Self {
                mean: *mean,
                ci95: None,
            }),
            _ => None,
        }
    }
}

/// A point, or one of its loads, over the seeds.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    pub point: usize,
    pub load: Option<&'a str>,
    pub rows: Vec<&'a RunRow>,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    pub means: Means,
}

/// A mean for each measure that has one.
#[derive(Debug, Clone, Default)]
pub(super) struct Means(Vec<(&'static str, Mean)>);

impl Means {
    /// The mean of each measure.
    pub(super) fn of(metrics: &Metrics, mean: impl Fn(&Measure) -> Option<Mean>) -> Self {
        let measures = metrics.measures.iter();
        let known = measures.filter_map(|measure| Some((measure.column, mean(measure)?)));
        Self(known.collect())
    }

    /// The mean of `measure`.
    pub(super) fn get(&self, measure: &Measure) -> Option<Mean> {
        let mut known = self.0.iter();
        let found = known.find(|(column, _)| *column == measure.column);
        found.map(|(_, mean)| *mean)
    }
}

impl<'a> Group<'a> {
    /// Rows with numbers.
    pub(super) fn complete(&self) -> impl Iterator<Item = &'a RunRow> {
        let complete = |row: &&RunRow| row.reason.is_empty();
        self.rows.iter().copied().filter(complete)
    }

    /// The row with numbers of a seed.
    pub(super) fn of_seed(&self, seed: u64) -> Option<&'a RunRow> {
        self.complete().find(|row| row.seed == seed)
    }

    /// The number of seeds that all of `others` have as well, whether their runs failed or not.
    pub(super) fn seeds_with(&self, others: &[&Self]) -> usize {
        let shared = |seed: &&u64| others.iter().all(|other| other.seeds.contains(*seed));
        self.seeds.iter().filter(shared).count()
    }

    /// Rows without numbers.
    pub(super) fn failed(&self) -> usize {
        let failed = self.rows.iter().filter(|row| !row.reason.is_empty());
        failed.count()
    }
}

/// The groups of rows that are sorted by point, in the order of the points and loads.
pub(super) fn groups<'a>(rows: &'a [RunRow], metrics: &Metrics) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut at: HashMap<(usize, Option<&str>), usize> = HashMap::new();
    // A run that failed as a whole has no loads, and belongs to all of them.
    let mut whole: HashMap<usize, Vec<u64>> = HashMap::new();
    for row in rows {
        let key = (row.point, row.load.as_deref());
        let index = *at.entry(key).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Group {
                point: row.point,
                load: row.load.as_deref(),
                rows: Vec::new(),
                seeds: Vec::new(),
                means: Means::default(),
            });
        }
        groups[index].rows.push(row);
        groups[index].seeds.push(row.seed);
        if row.load.is_none() {
            whole.entry(row.point).or_default().push(row.seed);
        }
    }
    for group in &mut groups {
        if group.load.is_some() {
            group
                .seeds
                .extend(whole.get(&group.point).into_iter().flatten());
        }
        let mean = |measure: &Measure| {
            let values = group
                .rows
                .iter()
                .filter_map(|row| row.value(measure.column));
            let values: Vec<f64> = values.map(|value| value * measure.factor).collect();
            Mean::of(&values, group.seeds.len())
        };
        group.means = Means::of(metrics, mean);
    }
    groups
}

/// The widest interval of the measures in which runs of a point are to be precise, such as their execution times, as a
/// part of the mean; `None` if one of them has no interval.
pub(super) fn widest_interval(rows: &[&RunRow], metrics: &Metrics) -> Option<f64> {
    let mut loads: Vec<Option<&str>> = rows.iter().map(|row| row.load.as_deref()).collect();
    loads.sort_unstable();
    loads.dedup();
    let mut widest = 0.0_f64;
    for load in loads {
        let column = metrics.shown(load.is_some()).precise.column;
        let of_load = rows.iter().filter(|row| row.load.as_deref() == load);
        let values: Vec<f64> = of_load.filter_map(|row| row.value(column)).collect();
        let interval = interval_95(&values)?;
        if interval.half_width > 0.0 {
            widest = widest.max(interval.half_width / interval.mean);
        }
    }
    Some(widest)
}

/// The difference between a group and the group of the reference of an axis, over the seeds that both have.
#[derive(Debug, Clone)]
pub(super) struct Difference<'a> {
    pub group: &'a Group<'a>,
    pub axis: usize,
    /// Index of the reference's group.
    pub reference: &'a Group<'a>,
    pub pairs: usize,
    /// The parts of their draws that the runs of the pairs share.
    pub pairing: Pairing,
    pub means: Means,
}

/// The differences of all groups, axis by axis.
pub(super) fn differences<'a>(
    grid: &Grid,
    groups: &'a [Group<'a>],
    metrics: &Metrics,
) -> Vec<Difference<'a>> {
    let at: HashMap<(usize, Option<&str>), &Group<'_>> =
        groups.iter().map(|g| ((g.point, g.load), g)).collect();
    let mut all = Vec::new();
    for axis in 0..grid.study.axes.len() {
        for group in groups {
            let reference = grid.reference(group.point, axis);
            let found = reference.and_then(|point| at.get(&(point, group.load)));
            if let Some(&reference) = found {
                let difference = difference(group, axis, reference, metrics);
                all.extend((difference.pairs > 0).then_some(difference));
            }
        }
    }
    all
}

fn difference<'a>(
    group: &'a Group<'a>,
    axis: usize,
    reference: &'a Group<'a>,
    metrics: &Metrics,
) -> Difference<'a> {
    let pairs: Vec<(&RunRow, &RunRow)> = (group.complete())
        .filter_map(|row| Some((row, reference.of_seed(row.seed)?)))
        .collect();
    let runs = group.seeds_with(&[reference]);
    let mut pairing = Pairing::default();
    for (row, other) in &pairs {
        pairing.see(&row.draw, &other.draw);
    }
    let over = |measure: &Measure| {
        let values = pairs.iter().filter_map(|(row, other)| {
            let (value, other) = (row.value(measure.column)?, other.value(measure.column)?);
            let value = measure.difference.of(value, other);
            value.is_finite().then_some(value)
        });
        Mean::of(&values.collect::<Vec<_>>(), runs)
    };
    Difference {
        group,
        axis,
        reference,
        pairs: pairs.len(),
        pairing,
        means: Means::of(metrics, over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Value;
    use crate::study::metrics::SIMULATED;

    fn measure(column: &str) -> &'static Measure {
        let mut measures = SIMULATED.measures.iter();
        measures.find(|one| one.column == column).unwrap()
    }

    fn row(point: usize, seed: u64, time_ps: u64) -> RunRow {
        let mut row = RunRow::failed((point, seed), &SIMULATED, String::new(), String::new());
        row.values[0] = Value::Integer(time_ps);
        row
    }

    #[test]
    fn differences_are_taken_seed_by_seed() {
        // The values differ much between the seeds, and by exactly 10 % within each.
        let rows = [
            row(0, 1, 1000),
            row(0, 2, 3000),
            row(1, 2, 3300),
            row(1, 1, 1100),
            row(1, 3, 9),
        ];
        let groups = groups(&rows, &SIMULATED);
        let found = difference(&groups[1], 0, &groups[0], &SIMULATED);
        assert_eq!(found.pairs, 2);
        let percent = found.means.get(measure("execution_time_ps")).unwrap();
        assert!((percent.mean - 10.0).abs() < 1e-9 && percent.ci95.unwrap() < 1e-9);
        assert_eq!(found.means.get(measure("slowdown_ratio")), None);
        let mean = groups[0].means.get(measure("execution_time_ps")).unwrap();
        assert!(mean.ci95.unwrap() > mean.mean);
    }

    #[test]
    fn few_runs_beside_failed_ones_have_no_interval() {
        let failed = |point, seed, load: Option<&str>| RunRow {
            load: load.map(str::to_owned),
            ..RunRow::failed(
                (point, seed),
                &SIMULATED,
                String::new(),
                "stalled".to_owned(),
            )
        };
        let loaded = |point, seed, time| RunRow {
            load: Some("0.5".to_owned()),
            ..row(point, seed, time)
        };
        // Alone, at a load, and at a load with a run that failed as a whole.
        let all = [
            vec![row(0, 1, 10), row(0, 2, 30), failed(0, 3, None)],
            vec![
                loaded(0, 1, 10),
                loaded(0, 2, 30),
                failed(0, 3, Some("0.5")),
            ],
            vec![loaded(0, 1, 10), loaded(0, 2, 30), failed(0, 3, None)],
        ];
        let time = measure("execution_time_ps");
        for mut rows in all {
            let others = rows.iter().map(|row| RunRow {
                point: 1,
                ..row.clone()
            });
            let others: Vec<RunRow> = others.filter(|row| row.reason.is_empty()).collect();
            let load = rows[0].load.clone();
            rows.extend(others);
            // The other point has run the third seed as well.
            rows.push(RunRow {
                load,
                ..row(1, 3, 70)
            });
            let few = groups(&rows, &SIMULATED);
            let other = few.last().unwrap();
            assert!(
                few[0]
                    .means
                    .get(time)
                    .is_some_and(|mean| mean.ci95.is_none())
            );
            assert!(
                other
                    .means
                    .get(time)
                    .is_some_and(|mean| mean.ci95.is_some())
            );
            let found = difference(other, 0, &few[0], &SIMULATED);
            let found = (found.pairs, found.means.get(time).unwrap().ci95);
            assert_eq!(found, (2, None));
            // A seed that one of the points has not run has not failed.
            rows.retain(|row| row.reason.is_empty());
            let both = groups(&rows, &SIMULATED);
            let found = difference(&both[1], 0, &both[0], &SIMULATED);
            assert!(found.pairs == 2 && found.means.get(time).unwrap().ci95.is_some());
        }
    }

    #[test]
    fn one_seed_has_no_interval() {
        let rows = [row(0, 1, 1000)];
        let groups = groups(&rows, &SIMULATED);
        let mean = groups[0].means.get(measure("execution_time_ps")).unwrap();
        assert!((mean.mean - 1e-3).abs() < 1e-12 && mean.ci95.is_none());
        assert_eq!(widest_interval(&groups[0].rows, &SIMULATED), None);
        let same = [row(0, 1, 7), row(0, 2, 7)];
        let same: Vec<&RunRow> = same.iter().collect();
        assert_eq!(widest_interval(&same, &SIMULATED), Some(0.0));
    }
}
