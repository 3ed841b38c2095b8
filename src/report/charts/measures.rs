//! The quantities that bars show.

use super::Kind;
use crate::report::source::StudySource;

/// The quantity that bars show.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub title: &'static str,
    pub axis: &'static str,
    /// Column of a study's runs, and field of a run and its jobs.
    pub column: &'static str,
    pub field: &'static str,
    pub base: f64,
    /// It is a difference.
    pub signed: bool,
    pub unit: Unit,
    pub of: Of,
}

/// The studies that have it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    All,
    /// Studies of synthetic traffic.
    Loads,
    /// Studies of synthetic traffic at one load: of several loads there are curves.
    OneLoad,
    /// Studies of jobs.
    Jobs,
    /// Studies of jobs, and of synthetic traffic at one load.
    JobsOrOneLoad,
}

impl Of {
    pub fn has(self, study: &StudySource) -> bool {
        match self {
            Self::All => true,
            Self::Loads => study.has_loads(),
            Self::OneLoad => study.has_one_load(),
            Self::Jobs => study.rows.iter().any(|row| row.load.is_none()),
            Self::JobsOrOneLoad => Self::OneLoad.has(study) || Self::Jobs.has(study),
        }
    }
}

/// The unit of values and of figures.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Factor,
    Picoseconds,
    Nanoseconds,
    /// As it is, in this unit.
    As(&'static str),
    /// Shares of 1, which figures have in percent.
    Share,
}

pub(super) const SLOWDOWN: Measure = Measure {
    title: "Slowdown against the baseline",
    axis: "slowdown",
    column: "slowdown_ratio",
    field: "slowdown",
    base: 1.0,
    signed: false,
    unit: Unit::Factor,
    of: Of::All,
};
const TIME: Measure = Measure {
    title: "Execution time",
    axis: "execution time",
    column: "execution_time_ps",
    field: "execution_time_ps",
    base: 0.0,
    signed: false,
    unit: Unit::Picoseconds,
    of: Of::All,
};
const BANDWIDTH: Measure = Measure {
    title: "Bandwidth of a connection by static analysis",
    axis: "bandwidth",
    column: "bandwidth",
    // Jobs have none.
    field: "bandwidth",
    base: 0.0,
    signed: false,
    unit: Unit::Share,
    of: Of::All,
};

const THROUGHPUT: Measure = Measure {
    title: "Throughput",
    axis: "accepted per NIC",
    column: "throughput_gbit_per_s_per_nic",
    // Runs have curves instead.
    field: "",
    base: 0.0,
    signed: false,
    unit: Unit::As("Gb/s"),
    of: Of::OneLoad,
};
const PACKET_LATENCY: Measure = Measure {
    title: "Latency of packets",
    axis: "mean latency in the network",
    column: "packet_latency_mean_ns",
    unit: Unit::Nanoseconds,
    of: Of::JobsOrOneLoad,
    ..THROUGHPUT
};
const MESSAGE_LATENCY: Measure = Measure {
    title: "Latency of messages",
    axis: "mean end-to-end latency",
    column: "latency_mean_ns",
    of: Of::Jobs,
    ..PACKET_LATENCY
};
const ENERGY_PER_BIT: Measure = Measure {
    title: "Energy for each bit delivered",
    axis: "energy",
    column: "energy_pj_per_bit",
    unit: Unit::As("pJ/bit"),
    of: Of::Loads,
    ..THROUGHPUT
};
const ENERGY: Measure = Measure {
    title: "Energy",
    axis: "energy",
    column: "energy_j",
    // Runs have a split of the time instead.
    field: "",
    base: 0.0,
    signed: false,
    unit: Unit::As("J"),
    of: Of::Jobs,
};
const SAVED: Measure = Measure {
    title: "Energy of links that their power states save",
    axis: "saved",
    column: "link_energy_saved",
    field: "",
    base: 0.0,
    signed: false,
    unit: Unit::Share,
    of: Of::All,
};

/// The measures that bars of a kind show.
pub(super) fn measures(kind: Kind) -> &'static [Measure] {
    match kind {
        Kind::Slowdown => &[SLOWDOWN],
        Kind::Time => &[TIME],
        Kind::Throughput => &[THROUGHPUT],
        Kind::Latency => &[MESSAGE_LATENCY, PACKET_LATENCY],
        Kind::Energy => &[ENERGY_PER_BIT, ENERGY, SAVED],
        Kind::Bandwidth => &[BANDWIDTH],
        _ => &[],
    }
}
