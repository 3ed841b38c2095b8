//! `curve` of `result.json`: an entry for each load.

use super::schema::{Named, by_sl, in_unit};
use super::status::Status;
use super::traffic::Congestion;
use crate::config::Plan;
use crate::figure::tables::Interval;
use crate::results::curve::{Level, Point, points};
use crate::results::latency::Latency;
use crate::results::nic_rate::NicRate;
use crate::run::RunResult;
use schemars::JsonSchema;
use serde::Serialize;

/// The result at one load.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct LoadPoint {
    /// The factor on the rates of all flows.
    #[schemars(extend("unit" = "fraction"))]
    pub load: String,
    /// As `status`.
    pub status: Status,
    /// The time before the window.
    pub warm_up_ticks: u64,
    /// Whether the fabric was steady when the window began; null if the warm-up was fixed.
    pub steady: Option<bool>,
    /// The counted time.
    pub window_ticks: u64,
    /// The loads of all service levels.
    #[serde(flatten)]
    pub loads: Loads,
    /// As `saturated`.
    pub saturated: bool,
    /// Messages created since the start and not delivered at the end of the window.
    pub backlog_messages: u64,
    /// As `congestion`.
    pub congestion: Option<Congestion>,
    /// The loads and latencies of each service level.
    #[schemars(transform = by_sl)]
    pub service_levels: Named<LevelPoint>,
}

/// The offered and the accepted load.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Loads {
    /// Flits of the messages created, over all NICs.
    pub offered_flits_per_cycle_per_nic: f64,
    /// The same as a rate on the link, as `throughput_gbit_per_s_per_nic`.
    pub offered_gbit_per_s_per_nic: f64,
    /// The same as a rate on the link, as `throughput_gbit_per_s_per_nic`.
    pub offered_gbyte_per_s_per_nic: f64,
    /// Flits delivered.
    pub accepted_flits_per_cycle_per_nic: f64,
    /// The same as a rate on the link, as `throughput_gbit_per_s_per_nic`.
    pub accepted_gbit_per_s_per_nic: f64,
    /// The same as a rate on the link, as `throughput_gbit_per_s_per_nic`.
    pub accepted_gbyte_per_s_per_nic: f64,
    /// The [95 % interval](../reference/experiment.md#measure) of the accepted load; null without one.
    ///
    /// A confidence interval by batch means; null if the batches of the window are too few or correlated.
    #[schemars(transform = in_unit("flits/cycle/NIC"))]
    pub accepted_interval: Option<Interval>,
}

impl Loads {
    fn of(offered: f64, accepted: f64, interval: Option<Interval>, nic: NicRate) -> Self {
        Self {
            offered_flits_per_cycle_per_nic: offered,
            offered_gbit_per_s_per_nic: nic.gbit_per_s(offered),
            offered_gbyte_per_s_per_nic: nic.gbyte_per_s(offered),
            accepted_flits_per_cycle_per_nic: accepted,
            accepted_gbit_per_s_per_nic: nic.gbit_per_s(accepted),
            accepted_gbyte_per_s_per_nic: nic.gbyte_per_s(accepted),
            accepted_interval: interval,
        }
    }
}

/// The result of a service level at one load.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct LevelPoint {
    /// Its loads.
    #[serde(flatten)]
    pub loads: Loads,
    /// Its part of the flits delivered.
    pub share: f64,
    /// From the creation of a message to its delivery; null without messages.
    ///
    /// Messages delivered in the window count.
    pub end_to_end_ns: Option<Latency>,
    /// The interval of the end-to-end mean.
    ///
    /// Null as `curve[].accepted_interval`, or if a batch delivered no message.
    #[schemars(transform = in_unit("ns"))]
    pub end_to_end_interval_ns: Option<Interval>,
    /// From the header leaving the NIC to the tail arriving, per packet; null without packets.
    ///
    /// Packets delivered in the window count.
    pub network_ns: Option<Latency>,
    /// The interval of the network mean.
    ///
    /// Null as `curve[].accepted_interval`, or if a batch delivered no packet.
    #[schemars(transform = in_unit("ns"))]
    pub network_interval_ns: Option<Interval>,
}

/// The points in the order of the loads.
pub(crate) fn curve(plan: &Plan, result: &RunResult) -> Vec<LoadPoint> {
    let nic = NicRate::of(&plan.experiment);
    let points = points(plan, result);
    points.iter().map(|point| of_load(point, nic)).collect()
}

fn of_load(point: &Point<'_>, nic: NicRate) -> LoadPoint {
    let levels = point.levels.iter();
    let levels = levels.map(|level| (level.name.to_owned(), of_level(level, nic)));
    LoadPoint {
        load: point.measured.load.to_string(),
        status: (&point.run.status).into(),
        warm_up_ticks: point.measured.warm_up,
        steady: point.measured.steady,
        window_ticks: point.run.stats.ticks(),
        loads: Loads::of(point.offered, point.accepted, point.accepted_interval, nic),
        saturated: point.saturated,
        backlog_messages: point.run.backlog,
        congestion: point.run.stats.congestion.as_ref().map(Congestion::of),
        service_levels: Named(levels.collect()),
    }
}

fn of_level(level: &Level<'_>, nic: NicRate) -> LevelPoint {
    LevelPoint {
        loads: Loads::of(level.offered, level.accepted, level.accepted_interval, nic),
        share: level.share,
        end_to_end_ns: level.end_to_end,
        end_to_end_interval_ns: level.end_to_end_interval,
        network_ns: level.network,
        network_interval_ns: level.network_interval,
    }
}
