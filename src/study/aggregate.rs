//! Means over the seeds with their intervals, and differences that are paired by seed.

use super::grid::Grid;
use super::row::RunRow;
use crate::results::interval_95;
use hashbrown::HashMap;

/// What is averaged: the column of the runs, that of the points, and the factor between them.
pub(super) const MEASURES: [(&str, &str, f64); 5] = [
    ("execution_time_ps", "execution_time_us", 1e-6),
    ("slowdown_ratio", "slowdown_ratio", 1.0),
    ("latency_mean_ns", "latency_mean_ns", 1.0),
    ("latency_p99_ns", "latency_p99_ns", 1.0),
    (
        "throughput_gbit_per_s_per_nic",
        "throughput_gbit_per_s_per_nic",
        1.0,
    ),
];
/// Index of the execution time.
pub(super) const TIME: usize = 0;
/// Index of the slowdown.
pub(super) const SLOWDOWN: usize = 1;
/// Index of the mean latency.
pub(super) const LATENCY: usize = 2;
/// Index of the throughput.
pub(super) const THROUGHPUT: usize = 4;

/// A mean over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub mean: f64,
    /// Half the 95 % interval; `None` of a single value.
    pub ci95: Option<f64>,
}

impl Mean {
    /// Of values; `None` if there are none.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        match (interval_95(values), values) {
            (Some(interval), _) => Some(Self {
                mean: interval.mean,
                ci95: Some(interval.half_width),
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
    /// In the order of [`MEASURES`].
    pub means: Vec<Option<Mean>>,
}

impl Group<'_> {
    /// Rows without numbers.
    pub(super) fn failed(&self) -> usize {
        let failed = self.rows.iter().filter(|row| !row.reason.is_empty());
        failed.count()
    }
}

/// The groups of rows that are sorted by point, in the order of the points and loads.
pub(super) fn groups(rows: &[RunRow]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut at: HashMap<(usize, Option<&str>), usize> = HashMap::new();
    for row in rows {
        let key = (row.point, row.load.as_deref());
        let index = *at.entry(key).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Group {
                point: row.point,
                load: row.load.as_deref(),
                rows: Vec::new(),
                means: Vec::new(),
            });
        }
        groups[index].rows.push(row);
    }
    for group in &mut groups {
        let mean = |(column, _, factor): (&str, &str, f64)| {
            let values = group.rows.iter().filter_map(|row| row.value(column));
            Mean::of(&values.map(|value| value * factor).collect::<Vec<_>>())
        };
        group.means = MEASURES.map(mean).to_vec();
    }
    groups
}

/// The widest interval of the execution times of some runs of a point, or without a job of their
/// throughputs, as a part of the mean; `None` if one of them has no interval.
pub(super) fn widest_interval(rows: &[&RunRow]) -> Option<f64> {
    let mut loads: Vec<Option<&str>> = rows.iter().map(|row| row.load.as_deref()).collect();
    loads.sort_unstable();
    loads.dedup();
    let mut widest = 0.0_f64;
    for load in loads {
        let column = MEASURES[if load.is_some() { THROUGHPUT } else { TIME }].0;
        let of_load = rows.iter().filter(|row| row.load.as_deref() == load);
        let values: Vec<f64> = of_load.filter_map(|row| row.value(column)).collect();
        let interval = interval_95(&values)?;
        if interval.half_width > 0.0 {
            widest = widest.max(interval.half_width / interval.mean);
        }
    }
    Some(widest)
}

/// How a group differs from that of the reference of an axis, over the seeds that both have.
#[derive(Debug, Clone)]
pub(super) struct Difference<'a> {
    pub group: &'a Group<'a>,
    pub axis: usize,
    /// Index of the reference's group.
    pub reference: &'a Group<'a>,
    pub pairs: usize,
    /// Percent of the reference's execution time.
    pub time_percent: Option<Mean>,
    /// Percentage points of the slowdown.
    pub slowdown_points: Option<Mean>,
    /// Percent of the reference's throughput.
    pub throughput_percent: Option<Mean>,
    /// Percent of the reference's mean latency.
    pub latency_percent: Option<Mean>,
}

/// The differences of all groups, axis by axis.
pub(super) fn differences<'a>(grid: &Grid, groups: &'a [Group<'a>]) -> Vec<Difference<'a>> {
    let at: HashMap<(usize, Option<&str>), &Group<'_>> =
        groups.iter().map(|g| ((g.point, g.load), g)).collect();
    let mut all = Vec::new();
    for axis in 0..grid.study.axes.len() {
        for group in groups {
            let reference = grid.reference(group.point, axis);
            let found = reference.and_then(|point| at.get(&(point, group.load)));
            if let Some(&reference) = found {
                let difference = difference(group, axis, reference);
                all.extend((difference.pairs > 0).then_some(difference));
            }
        }
    }
    all
}

fn difference<'a>(group: &'a Group<'a>, axis: usize, reference: &'a Group<'a>) -> Difference<'a> {
    let complete = |row: &&&RunRow| row.reason.is_empty();
    let pairs: Vec<(&RunRow, &RunRow)> = (group.rows.iter().filter(complete))
        .filter_map(|row| {
            let mut others = reference.rows.iter().filter(complete);
            Some((*row, *others.find(|other| other.seed == row.seed)?))
        })
        .collect();
    let over = |measure: usize, of: fn(f64, f64) -> f64| {
        let column = MEASURES[measure].0;
        let values = pairs.iter().filter_map(|(row, other)| {
            let value = of(row.value(column)?, other.value(column)?);
            value.is_finite().then_some(value)
        });
        Mean::of(&values.collect::<Vec<_>>())
    };
    let percent = |a: f64, b: f64| 100.0 * (a - b) / b;
    Difference {
        group,
        axis,
        reference,
        pairs: pairs.len(),
        time_percent: over(TIME, percent),
        slowdown_points: over(SLOWDOWN, |a, b| 100.0 * (a - b)),
        throughput_percent: over(THROUGHPUT, percent),
        latency_percent: over(LATENCY, percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Value;
    use crate::study::row::RUN_COLUMNS;

    fn row(point: usize, seed: u64, time_ps: u64) -> RunRow {
        let mut row = RunRow::failed(point, seed, String::new(), String::new());
        row.values = vec![Value::Empty; RUN_COLUMNS.len()];
        row.values[0] = Value::Integer(time_ps);
        row
    }

    #[test]
    fn differences_are_taken_seed_by_seed() {
        // Far apart between the seeds, exactly 10 % within each.
        let rows = [
            row(0, 1, 1000),
            row(0, 2, 3000),
            row(1, 2, 3300),
            row(1, 1, 1100),
            row(1, 3, 9),
        ];
        let groups = groups(&rows);
        let found = difference(&groups[1], 0, &groups[0]);
        assert_eq!(found.pairs, 2);
        let percent = found.time_percent.unwrap();
        assert!((percent.mean - 10.0).abs() < 1e-9 && percent.ci95.unwrap() < 1e-9);
        assert_eq!(found.slowdown_points, None);
        let mean = groups[0].means[TIME].unwrap();
        assert!(mean.ci95.unwrap() > mean.mean);
    }

    #[test]
    fn one_seed_has_no_interval() {
        let rows = [row(0, 1, 1000)];
        let groups = groups(&rows);
        let mean = groups[0].means[TIME].unwrap();
        assert!((mean.mean - 1e-3).abs() < 1e-12 && mean.ci95.is_none());
        assert_eq!(widest_interval(&groups[0].rows), None);
        let same = [row(0, 1, 7), row(0, 2, 7)];
        assert_eq!(widest_interval(&same.iter().collect::<Vec<_>>()), Some(0.0));
    }
}
