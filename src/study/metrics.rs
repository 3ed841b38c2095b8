//! What the rows of a study say: the columns of a run, which of them are averaged, and what tables show of these.

use crate::config::Plan;

/// The metrics of a kind of runs.
#[derive(Debug)]
pub(super) struct Metrics {
    /// Columns of a run, and whether they are integers.
    pub columns: &'static [(&'static str, bool)],
    /// What is averaged over the seeds, in the order of the columns of points.
    pub measures: &'static [Measure],
    /// Indices of the measures that are compared, in the order of the columns of differences.
    pub compared: &'static [usize],
    /// What is shown of runs, and of runs with loads.
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
    /// What tables for people call it, with how many decimals.
    pub title: &'static str,
    pub decimals: usize,
    /// How two runs are compared.
    pub difference: Difference,
    /// Tables for people leave it out where no run has it.
    pub optional: bool,
}

/// The difference of a run from another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    /// Its column, without `_mean` and `_ci95`.
    pub column: &'static str,
    /// What tables for people call it.
    pub title: &'static str,
    /// In percent of the other one, or 100 times the difference.
    pub relative: bool,
}

/// What tables for people show: indices of measures.
#[derive(Debug)]
pub(super) struct Shown {
    /// Of points.
    pub points: &'static [usize],
    /// Of the matrix over two axes: the first one that runs have.
    pub matrix: &'static [usize],
    /// Of differences.
    pub differences: &'static [usize],
    /// The one whose interval says whether there are enough seeds.
    pub precise: usize,
}

impl Metrics {
    /// Those of the runs of a plan.
    pub fn of(plan: &Plan) -> &'static Self {
        match plan.experiment.congestion {
            Some(_) => &STATIC,
            None => &SIMULATED,
        }
    }

    /// Those of rows that were read back, by a column that they have.
    pub fn of_columns(has: impl Fn(&str) -> bool) -> &'static Self {
        match has(STATIC.columns[0].0) {
            true => &STATIC,
            false => &SIMULATED,
        }
    }

    /// What tables for people show.
    pub fn shown(&self, loads: bool) -> &Shown {
        match loads {
            true => &self.shown_of_loads,
            false => &self.shown,
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
    /// Of `value` from `other`; no number if `other` is 0 and they are compared in percent.
    pub fn of(&self, value: f64, other: f64) -> f64 {
        match self.relative {
            true => 100.0 * (value - other) / other,
            false => 100.0 * (value - other),
        }
    }
}

const fn percent(column: &'static str, title: &'static str) -> Difference {
    Difference {
        column,
        title,
        relative: true,
    }
}

const fn points(column: &'static str, title: &'static str) -> Difference {
    Difference {
        column,
        title,
        relative: false,
    }
}

/// Indices of the measures of simulations.
const TIME: usize = 0;
const SLOWDOWN: usize = 1;
const LATENCY: usize = 2;
// The 99th percentile of latencies is only in the tables of points.
const THROUGHPUT: usize = 4;
const PACKET_LATENCY: usize = 5;
const ENERGY: usize = 7;
const PER_BIT: usize = 8;
const SAVED: usize = 9;

/// Simulated runs. In the order of `row::job_values` and `row::load_values`.
pub(super) static SIMULATED: Metrics = Metrics {
    columns: &[
        ("execution_time_ps", true),
        ("baseline_time_ps", true),
        ("slowdown_ratio", false),
        ("unloaded_time_ps", true),
        ("ideal_time_ps", true),
        ("computing_ps", true),
        ("partners_ps", true),
        ("latency_and_serialisation_ps", true),
        ("queueing_ps", true),
        ("credit_stalls_ps", true),
        ("messages_count", true),
        ("flit_hops_count", true),
        ("offered_gbit_per_s_per_nic", false),
        ("throughput_gbit_per_s_per_nic", false),
        ("latency_mean_ns", false),
        ("latency_p99_ns", false),
        ("latency_max_ns", false),
        ("saturated", true),
        ("packet_latency_mean_ns", false),
        ("link_idle_share", false),
        ("energy_j", false),
        ("energy_pj_per_bit", false),
        ("link_energy_saved", false),
    ],
    measures: &[
        Measure {
            column: "execution_time_ps",
            of_points: "execution_time_us",
            factor: 1e-6,
            title: "time (us)",
            decimals: 3,
            difference: percent("execution_time_percent", "time (%)"),
            optional: false,
        },
        Measure {
            difference: points("slowdown_percentage_points", "slowdown (percentage points)"),
            ..plain("slowdown_ratio", "slowdown", 4)
        },
        Measure {
            difference: percent("latency_percent", "latency (%)"),
            ..plain("latency_mean_ns", "latency (ns)", 1)
        },
        plain("latency_p99_ns", "99 % latency (ns)", 1),
        Measure {
            difference: percent("throughput_percent", "throughput (%)"),
            ..plain("throughput_gbit_per_s_per_nic", "throughput (Gb/s/NIC)", 3)
        },
        Measure {
            difference: percent("packet_latency_percent", "packet latency (%)"),
            ..plain("packet_latency_mean_ns", "packet latency (ns)", 1)
        },
        plain("link_idle_share", "idle share of links", 4),
        Measure {
            difference: percent("energy_percent", "energy (%)"),
            optional: true,
            ..plain("energy_j", "energy (J)", 4)
        },
        Measure {
            difference: percent("energy_per_bit_percent", "energy per bit (%)"),
            optional: true,
            ..plain("energy_pj_per_bit", "energy (pJ/bit)", 1)
        },
        Measure {
            difference: points(
                "link_energy_saved_percentage_points",
                "link energy saved (percentage points)",
            ),
            optional: true,
            ..plain("link_energy_saved", "link energy saved", 4)
        },
    ],
    compared: &[
        TIME,
        SLOWDOWN,
        THROUGHPUT,
        LATENCY,
        PACKET_LATENCY,
        ENERGY,
        PER_BIT,
    ],
    shown: Shown {
        points: &[TIME, SLOWDOWN, LATENCY, ENERGY, SAVED],
        // Without a baseline there is no slowdown.
        matrix: &[SLOWDOWN, TIME],
        differences: &[TIME, SLOWDOWN, ENERGY],
        precise: TIME,
    },
    shown_of_loads: Shown {
        points: &[THROUGHPUT, LATENCY, PACKET_LATENCY, PER_BIT, SAVED],
        matrix: &[],
        differences: &[THROUGHPUT, LATENCY, PACKET_LATENCY, PER_BIT],
        precise: THROUGHPUT,
    },
};

/// A measure as it is in the runs, compared in percent.
const fn plain(column: &'static str, title: &'static str, decimals: usize) -> Measure {
    Measure {
        column,
        of_points: column,
        factor: 1.0,
        title,
        decimals,
        difference: percent(column, title),
        optional: false,
    }
}

/// Indices of the measures of static analyses.
const BANDWIDTH: usize = 0;
const FAIR: usize = 1;
const SLOWEST: usize = 2;
const SUM_MAX: usize = 3;
const DELAY: usize = 4;

const STATIC_SHOWN: Shown = Shown {
    points: &[BANDWIDTH, FAIR, SLOWEST, SUM_MAX, DELAY],
    matrix: &[BANDWIDTH],
    differences: &[BANDWIDTH, FAIR, SLOWEST, SUM_MAX, DELAY],
    precise: BANDWIDTH,
};

/// Static analyses. In the order of `row::static_values`; the names are those of `flitwise congestion`.
pub(super) static STATIC: Metrics = Metrics {
    columns: &[
        ("bandwidth", false),
        ("fair_bandwidth", false),
        ("slowest_fair_bandwidth", false),
        ("sum_max_congestion", false),
        ("sum_max_host_links", false),
        ("delay", false),
        ("connections", false),
        ("lost", false),
        ("worst_congestion", true),
        ("worst_bound", true),
        ("mappings_count", true),
    ],
    measures: &[
        Measure {
            difference: percent("bandwidth_percent", "bandwidth (%)"),
            ..plain("bandwidth", "bandwidth", 4)
        },
        Measure {
            difference: percent("fair_bandwidth_percent", "fair bandwidth (%)"),
            optional: true,
            ..plain("fair_bandwidth", "fair bandwidth", 4)
        },
        Measure {
            difference: percent("slowest_fair_bandwidth_percent", "slowest (%)"),
            optional: true,
            ..plain("slowest_fair_bandwidth", "slowest", 4)
        },
        Measure {
            difference: percent("sum_max_congestion_percent", "sum of congestions (%)"),
            ..plain("sum_max_congestion", "sum of congestions", 2)
        },
        Measure {
            difference: percent("delay_percent", "delay (%)"),
            optional: true,
            ..plain("delay", "delay", 2)
        },
        plain("connections", "connections", 1),
        plain("lost", "lost", 1),
    ],
    compared: &[BANDWIDTH, FAIR, SLOWEST, SUM_MAX, DELAY],
    shown: STATIC_SHOWN,
    // They have none.
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
            let indices = shown.iter().flat_map(|shown| {
                let lists = [shown.points, shown.matrix, shown.differences];
                lists.concat().into_iter().chain([shown.precise])
            });
            for index in indices.chain(metrics.compared.iter().copied()) {
                assert!(index < metrics.measures.len());
            }
        }
    }

    #[test]
    fn differences_are_percent_or_percentage_points() {
        let of = |measure: usize| SIMULATED.measures[measure].difference;
        assert_eq!(of(TIME).of(110.0, 100.0), 10.0);
        assert_eq!(of(SLOWDOWN).of(1.5, 1.25), 25.0);
    }
}
