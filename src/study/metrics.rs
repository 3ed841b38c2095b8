//! The contents of the rows of a study: the columns of a run, which of them are averaged, and which averages tables
//! show.

use super::row::{Analysed, Columns, Simulated};
use crate::config::Plan;

/// Measures in an order.
type Measures = &'static [&'static Measure];

/// The metrics of a kind of runs.
#[derive(Debug)]
pub(super) struct Metrics {
    /// The columns of a run.
    pub columns: Columns,
    /// The measures averaged over the seeds, in the order of the columns of points.
    pub measures: Measures,
    /// The measures that are compared, in the order of the columns of differences.
    pub compared: Measures,
    /// The measures shown of runs, and of runs with loads.
    pub shown: Shown,
    pub shown_of_loads: Shown,
}

/// A column that is averaged.
#[derive(Debug)]
pub(super) struct Measure {
    /// The column of runs.
    pub column: &'static str,
    /// The column of points, without `_mean` and `_ci95`, and the factor between them.
    pub of_points: &'static str,
    pub factor: f64,
    /// Its name in tables for people, with how many decimals.
    pub title: &'static str,
    pub decimals: usize,
    /// How two runs are compared.
    pub difference: Difference,
    /// Tables for people leave it out where no run has it, or the means of all are 0.
    pub optional: bool,
}

/// The difference of a run from another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    /// Its column, without `_mean` and `_ci95`.
    pub column: &'static str,
    /// Its name in tables for people.
    pub title: &'static str,
    /// Whether the difference is in percent of the other value; otherwise it is 100 times the difference.
    pub relative: bool,
}

/// The measures in tables for people.
#[derive(Debug)]
pub(super) struct Shown {
    /// The measures of points.
    pub points: Measures,
    /// The measures of the matrix over two axes: it shows the first one that runs have.
    pub matrix: Measures,
    /// The measures of differences.
    pub differences: Measures,
    /// The measure whose interval decides whether there are enough seeds.
    pub precise: &'static Measure,
}

/// Returns the measures in the tables of studies of simulated runs, then of static analyses: the column without `_mean`
/// and `_ci95`, and the title.
///
/// # Examples
/// ```
/// assert!(flitwise::study::metrics().contains(&("slowdown_ratio", "slowdown")));
/// ```
#[must_use]
pub fn metrics() -> Vec<(&'static str, &'static str)> {
    let all = [&SIMULATED, &STATIC].into_iter();
    let all = all.flat_map(|metrics| metrics.measures);
    all.map(|measure| (measure.of_points, measure.title))
        .collect()
}

/// The columns of `interactions` with means, without `_mean` and `_ci95`, and their titles: of studies of simulated runs, then
/// of static analyses.
#[cfg(feature = "report")]
pub(crate) fn change_columns() -> impl Iterator<Item = (String, String)> {
    let all = [&SIMULATED, &STATIC].into_iter();
    let all = all.flat_map(|metrics| metrics.compared);
    all.map(|measure| {
        let difference = &measure.difference;
        (
            difference.of_differences(),
            difference.title_of_differences(),
        )
    })
}

impl Metrics {
    /// The metrics of the runs of a plan.
    pub fn of(plan: &Plan) -> &'static Self {
        match plan.experiment.congestion {
            Some(_) => &STATIC,
            None => &SIMULATED,
        }
    }

    /// The metrics of rows that were read back, by a column that they have.
    pub fn of_columns(has: impl Fn(&str) -> bool) -> &'static Self {
        if has(BANDWIDTH.column) {
            &STATIC
        } else {
            &SIMULATED
        }
    }

    /// The measures that tables for people show.
    pub fn shown(&self, loads: bool) -> &Shown {
        if loads {
            &self.shown_of_loads
        } else {
            &self.shown
        }
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(other, _)| *other == name)
    }
}

impl PartialEq for Metrics {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Difference {
    /// The difference of `value` from `other`; no number if `other` is 0 and the difference is in percent.
    pub fn of(&self, value: f64, other: f64) -> f64 {
        let difference = 100.0 * (value - other);
        if self.relative {
            difference / other
        } else {
            difference
        }
    }
}

impl Difference {
    /// The column of a difference between two such differences, without `_mean` and `_ci95`.
    pub fn of_differences(&self) -> String {
        let stem = self.column.strip_suffix("_percent");
        stem.map_or_else(
            || self.column.to_owned(),
            |stem| format!("{stem}_percentage_points"),
        )
    }

    /// The name of a difference between two such differences in tables for people.
    pub fn title_of_differences(&self) -> String {
        self.title.replace("(%)", "(percentage points)")
    }
}

impl Measure {
    /// `last` if the measure is about the job that ends last, else nothing.
    pub(super) fn of_jobs(&self, last: &str) -> String {
        let of_last = [TIME.column, SLOWDOWN.column].contains(&self.column);
        if of_last {
            last.to_owned()
        } else {
            String::new()
        }
    }

    /// The measure, compared in percent under these names.
    const fn in_percent(self, column: &'static str, title: &'static str) -> Self {
        self.compared(column, title, true)
    }

    /// The measure, compared in percentage points under these names.
    const fn in_points(self, column: &'static str, title: &'static str) -> Self {
        self.compared(column, title, false)
    }

    const fn compared(self, column: &'static str, title: &'static str, relative: bool) -> Self {
        let difference = Difference {
            column,
            title,
            relative,
        };
        Self { difference, ..self }
    }

    /// The measure, left out of tables for people where no run has it.
    const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}

/// A measure as it is in the runs, compared in percent.
const fn plain(column: &'static str, title: &'static str, decimals: usize) -> Measure {
    Measure {
        column,
        of_points: column,
        factor: 1.0,
        title,
        decimals,
        difference: Difference {
            column,
            title,
            relative: true,
        },
        optional: false,
    }
}

static TIME: Measure = Measure {
    of_points: "execution_time_us",
    factor: 1e-6,
    ..plain("execution_time_ps", "time (us)", 3)
}
.in_percent("execution_time_percent", "time (%)");
static SLOWDOWN: Measure = plain("slowdown_ratio", "slowdown", 4)
    .in_points("slowdown_percentage_points", "slowdown (percentage points)");
static LATENCY: Measure = plain("latency_mean_ns", "message latency (ns)", 1)
    .in_percent("latency_percent", "message latency (%)");
static LATENCY_P99: Measure = plain("latency_p99_ns", "99 % message latency (ns)", 1);
static THROUGHPUT: Measure = plain("throughput_gbit_per_s_per_nic", "throughput (Gb/s/NIC)", 3)
    .in_percent("throughput_percent", "throughput (%)");
static PACKET_LATENCY: Measure = plain("packet_latency_mean_ns", "packet latency (ns)", 1)
    .in_percent("packet_latency_percent", "packet latency (%)");
static IDLE_SHARE: Measure = plain("link_idle_share", "idle share of links", 4);
static ENERGY: Measure = plain("energy_j", "energy (J)", 4)
    .in_percent("energy_percent", "energy (%)")
    .optional();
static PER_BIT: Measure = plain("energy_pj_per_bit", "energy (pJ/bit)", 1)
    .in_percent("energy_per_bit_percent", "energy per bit (%)")
    .optional();
static SAVED: Measure = plain("link_energy_saved", "link energy saved", 4)
    .in_points(
        "link_energy_saved_percentage_points",
        "link energy saved (percentage points)",
    )
    .optional();

/// Simulated runs.
pub(super) static SIMULATED: Metrics = Metrics {
    columns: Simulated::COLUMNS,
    measures: &[
        &TIME,
        &SLOWDOWN,
        &LATENCY,
        &LATENCY_P99,
        &THROUGHPUT,
        &PACKET_LATENCY,
        &IDLE_SHARE,
        &ENERGY,
        &PER_BIT,
        &SAVED,
    ],
    // The 99th percentile of latencies is only in the tables of points.
    compared: &[
        &TIME,
        &SLOWDOWN,
        &THROUGHPUT,
        &LATENCY,
        &PACKET_LATENCY,
        &ENERGY,
        &PER_BIT,
    ],
    shown: Shown {
        points: &[&TIME, &SLOWDOWN, &LATENCY, &ENERGY, &SAVED],
        // Without a baseline there is no slowdown.
        matrix: &[&SLOWDOWN, &TIME],
        differences: &[&TIME, &SLOWDOWN, &ENERGY],
        precise: &TIME,
    },
    shown_of_loads: Shown {
        points: &[&THROUGHPUT, &LATENCY, &PACKET_LATENCY, &PER_BIT, &SAVED],
        matrix: &[],
        differences: &[&THROUGHPUT, &LATENCY, &PACKET_LATENCY, &PER_BIT],
        precise: &THROUGHPUT,
    },
};

static BANDWIDTH: Measure =
    plain("bandwidth", "bandwidth", 4).in_percent("bandwidth_percent", "bandwidth (%)");
static FAIR: Measure = plain("fair_bandwidth", "fair bandwidth", 4)
    .in_percent("fair_bandwidth_percent", "fair bandwidth (%)")
    .optional();
static SLOWEST: Measure = plain("slowest_fair_bandwidth", "slowest", 4)
    .in_percent("slowest_fair_bandwidth_percent", "slowest (%)")
    .optional();
static SUM_MAX: Measure = plain("sum_max_congestion", "sum of congestions", 2)
    .in_percent("sum_max_congestion_percent", "sum of congestions (%)");
static DELAY: Measure = plain("delay", "delay", 2)
    .in_percent("delay_percent", "delay (%)")
    .optional();
static CONNECTIONS: Measure = plain("connections", "connections of the pattern", 1);
static LOST: Measure = plain("lost", "pairs without a route", 1);

const STATIC_MEASURES: Measures = &[&BANDWIDTH, &FAIR, &SLOWEST, &SUM_MAX, &DELAY];

const STATIC_SHOWN: Shown = Shown {
    points: STATIC_MEASURES,
    matrix: &[&BANDWIDTH],
    differences: STATIC_MEASURES,
    precise: &BANDWIDTH,
};

/// The metrics of static analyses; the names are the same as in `flitwise congestion`.
pub(super) static STATIC: Metrics = Metrics {
    columns: Analysed::COLUMNS,
    measures: &[
        &BANDWIDTH,
        &FAIR,
        &SLOWEST,
        &SUM_MAX,
        &DELAY,
        &CONNECTIONS,
        &LOST,
    ],
    compared: STATIC_MEASURES,
    shown: STATIC_SHOWN,
    // Static analyses have no loads.
    shown_of_loads: STATIC_SHOWN,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_a_column() {
        for metrics in [&SIMULATED, &STATIC] {
            for measure in metrics.measures {
                assert!(
                    metrics.column(measure.column).is_some(),
                    "{}",
                    measure.column
                );
            }
            let shown = [&metrics.shown, &metrics.shown_of_loads];
            let shown = shown.iter().flat_map(|shown| {
                let lists = [shown.points, shown.matrix, shown.differences];
                lists.concat().into_iter().chain([shown.precise])
            });
            for measure in shown.chain(metrics.compared.iter().copied()) {
                let mut measures = metrics.measures.iter();
                assert!(measures.any(|one| one.column == measure.column));
            }
        }
    }

    #[test]
    fn differences_are_percent_or_percentage_points() {
        assert_eq!(TIME.difference.of(110.0, 100.0), 10.0);
        assert_eq!(SLOWDOWN.difference.of(1.5, 1.25), 25.0);
    }
}
