//! The traffic of the fabric: totals, background flows, service levels, congestion control.

use super::schema::Named;
use crate::config::{Experiment, Plan};
use crate::fabric::ids::NicId;
use crate::fabric::spec::ServiceLevel as LevelSpec;
use crate::fabric::stats::{Carried, CctStats, CongestionStats, FabricStats, SlStats};
use crate::replay::GapsSkipped as Skipped;
use crate::replay::background::BackgroundOutcome;
use crate::results::latency::{Latency, latency};
use crate::results::measures::per_slot;
use crate::results::silent_flows::silent_flows;
use crate::run::{RunResult, Saturation as Seen, Simulation};
use schemars::JsonSchema;
use serde::Serialize;

/// Totals of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Traffic {
    /// Messages created.
    pub messages: u64,
    /// Messages delivered.
    #[schemars(extend("unit" = "messages"))]
    pub messages_delivered: u64,
    /// Messages created from the start on and not delivered at the end.
    pub backlog_messages: u64,
    /// Packets that left a NIC.
    pub packets: u64,
    /// Flits that left a NIC.
    ///
    /// The sum of the next two, unless only a window is counted, or switches combine data.
    #[schemars(extend("unit" = "flits"))]
    pub flits_injected: u64,
    /// Flits that reached their NIC.
    #[schemars(extend("unit" = "flits"))]
    pub flits_delivered: u64,
    /// Flits between NICs when the run ended.
    #[schemars(extend("unit" = "flits"))]
    pub flits_in_flight: u64,
    /// Flits that crossed links between switches, counted per link.
    pub flit_hops: u64,
    /// Flits that crossed links between NIC and switch.
    pub host_flit_hops: u64,
}

impl Traffic {
    pub(in crate::results) fn of(plan: &Plan, run: &Simulation) -> Self {
        let Simulation {
            messages,
            backlog,
            stats,
            // Parts of their own.
            status: _,
            jobs: _,
            background: _,
            measured: _,
            // No result has it: only studies do.
            congestion: _,
            saturation: _,
            skipped: _,
            reached: _,
            explanation: _,
            wall: _,
        } = run;
        let FabricStats {
            messages_delivered,
            packets,
            flits_injected,
            flits_delivered,
            flits_in_flight,
            flit_hops,
            host_flit_hops,
            // `held_up_ticks` of links comes from them.
            turns: _,
            // Messages handed to NICs: a workload may keep others back, which count as well.
            messages: _,
            // For rates; `events` is under `engine`.
            start_tick: _,
            end_tick: _,
            events: _,
            from_switches,
            ref service_levels,
            ref links,
            // A part of its own.
            congestion: _,
        } = *stats;
        let to_switches = service_levels.iter().map(|sl| sl.to_switches.flits);
        let topology = &plan.experiment.fabric.topology;
        let inside = links.iter().filter(|link| link.is_inside(topology));
        let hops_inside = inside.map(|link| link.flits);
        Self {
            messages: *messages,
            messages_delivered,
            backlog_messages: *backlog,
            packets: packets.saturating_sub(from_switches.packets),
            flits_injected: flits_injected.saturating_sub(from_switches.flits),
            flits_delivered: flits_delivered.saturating_sub(to_switches.sum()),
            flits_in_flight,
            flit_hops,
            host_flit_hops: host_flit_hops.saturating_sub(hops_inside.sum()),
        }
    }
}

/// Time that was not simulated.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct GapsSkipped {
    /// Gaps between messages of jobs of which a part was skipped.
    pub gaps: u64,
    /// The simulated time skipped; execution times contain it.
    ///
    /// Traffic, rates, utilisations and latencies are of the rest.
    pub skipped_ps: u64,
    /// Messages that background flows would have created then; they count nowhere else.
    pub background_messages: u64,
}

impl GapsSkipped {
    pub(super) fn of(experiment: &Experiment, skipped: Skipped) -> Self {
        let Skipped {
            gaps,
            ticks,
            messages,
            ..
        } = skipped;
        Self {
            gaps,
            skipped_ps: experiment.fabric.units.tick.ps(ticks),
            background_messages: messages,
        }
    }
}

/// A background flow that fell ever further behind.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Saturation {
    /// The index of the flow in `background`.
    pub background: usize,
    /// The NIC whose source was furthest behind.
    #[schemars(with = "u32")]
    pub nic: NicId,
    /// The simulated time at which it was seen.
    pub at_ps: u64,
    /// The time that its oldest message had waited by then.
    pub behind_ps: u64,
}

impl From<Seen> for Saturation {
    fn from(seen: Seen) -> Self {
        let Seen {
            flow,
            nic,
            at_ps,
            behind_ps,
        } = seen;
        Self {
            background: flow,
            nic,
            at_ps,
            behind_ps,
        }
    }
}

/// Counters of congestion control.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Congestion {
    /// Packets marked by a switch.
    pub marked_packets: u64,
    /// Notifications that destinations created: CNPs, and ACKs with BECN.
    #[schemars(extend("unit" = "packets"))]
    pub notifications_sent: u64,
    /// Notifications that reached a source.
    ///
    /// The others were in flight at the end.
    #[schemars(extend("unit" = "packets"))]
    pub notifications_received: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// The mean control level of flows over `data_packets`; 0: not slowed down.
    ///
    /// It is the level when the packet was sent, which tells how far the source slows the flow down; with a congestion
    /// control table the CCTI.
    #[schemars(extend("unit" = "level"))]
    pub mean_control_level: f64,
    /// The highest control level with which a data packet was sent.
    #[schemars(extend("unit" = "level"))]
    pub max_control_level: u16,
    /// Counters of sources with a congestion control table; null with others.
    pub cct: Option<CongestionTable>,
}

/// Counters of sources with a congestion control table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct CongestionTable {
    /// Notifications after which the CCTI was at `Trigger_Threshold` or above.
    ///
    /// A part of `notifications_received`: the events that a NIC would log.
    #[schemars(extend("unit" = "packets"))]
    pub threshold_events: u64,
}

impl Congestion {
    pub(super) fn of(stats: &CongestionStats) -> Self {
        let CongestionStats {
            marked,
            notifications_sent,
            notifications_received,
            // For the mean.
            level_sum: _,
            packets,
            level_max,
            cct,
        } = stats;
        let of_cct =
            |&CctStats { threshold_events }: &CctStats| CongestionTable { threshold_events };
        Self {
            marked_packets: *marked,
            notifications_sent: *notifications_sent,
            notifications_received: *notifications_received,
            data_packets: *packets,
            mean_control_level: stats.mean_level(),
            max_control_level: *level_max,
            cct: cct.as_ref().map(of_cct),
        }
    }
}

/// A background flow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Background {
    /// The name of its service level.
    pub sl: String,
    /// Messages created.
    pub offered_messages: u64,
    /// Messages delivered.
    pub delivered_messages: u64,
    /// Messages created less messages delivered, at least 0.
    pub backlog_messages: u64,
    /// Flits of the messages created, over the whole run and all NICs.
    pub offered_flits_per_cycle_per_nic: f64,
    /// The same for the messages delivered.
    pub accepted_flits_per_cycle_per_nic: f64,
    /// Why the run hardly shows the flow, as in the warning.
    ///
    /// No message was created, or delivered, or messages take longer than the window of one of the loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The background flows of a run.
pub(super) fn background(plan: &Plan, result: &RunResult) -> Vec<Background> {
    let run = &result.main;
    let levels = &plan.experiment.fabric.qos.service_levels;
    let rate = |units| per_slot(&plan.experiment, &run.stats, units);
    let one = |(flow, warning): (&BackgroundOutcome, Option<String>)| {
        let BackgroundOutcome {
            sl,
            messages,
            messages_delivered,
            units,
            units_delivered,
        } = *flow;
        Background {
            sl: levels[usize::from(sl)].name.clone(),
            offered_messages: messages,
            delivered_messages: messages_delivered,
            backlog_messages: flow.backlog(),
            offered_flits_per_cycle_per_nic: rate(units),
            accepted_flits_per_cycle_per_nic: rate(units_delivered),
            warning,
        }
    };
    let warnings = silent_flows(plan, result).into_iter();
    let warnings = warnings.chain(std::iter::repeat(None));
    run.background.iter().zip(warnings).map(one).collect()
}

/// Latencies of a service level.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct LevelLatency {
    /// From the creation of a message to its delivery; null without messages.
    pub end_to_end: Option<Latency>,
    /// From the header leaving the NIC to the tail arriving, per packet; null without packets.
    pub network: Option<Latency>,
}

/// Deliveries of a service level.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct ServiceLevel {
    /// Its name.
    pub name: String,
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Flits delivered.
    pub flits: u64,
    /// The payload of delivered messages.
    pub bytes: u64,
    /// As `throughput_flits_per_cycle_per_nic`, of this service level.
    pub throughput_flits_per_cycle_per_nic: f64,
}

/// The service levels with their counters.
fn counted<'a>(
    plan: &'a Plan,
    stats: &'a FabricStats,
) -> impl Iterator<Item = (&'a LevelSpec, &'a SlStats)> {
    let levels = plan.experiment.fabric.qos.service_levels.iter();
    levels.zip(&stats.service_levels)
}

/// The latencies of all service levels.
pub(super) fn latencies(plan: &Plan, stats: &FabricStats) -> Named<LevelLatency> {
    let tick = plan.experiment.fabric.units.tick;
    let by_name = counted(plan, stats).map(|(level, sl)| {
        let latencies = LevelLatency {
            end_to_end: latency(&sl.end_to_end, tick),
            network: latency(&sl.network, tick),
        };
        (level.name.clone(), latencies)
    });
    Named(by_name.collect())
}

/// The deliveries of all service levels.
pub(super) fn service_levels(plan: &Plan, stats: &FabricStats) -> Vec<ServiceLevel> {
    let one = |(level, sl): (&LevelSpec, &SlStats)| {
        let SlStats {
            messages,
            // Without those to switches.
            packets: _,
            flits: _,
            units: _,
            bytes: _,
            to_switches: _,
            // Under `latency_ns`.
            end_to_end: _,
            network: _,
        } = sl;
        let Carried {
            packets,
            flits,
            units,
            bytes,
        } = sl.to_nics();
        ServiceLevel {
            name: level.name.clone(),
            messages: *messages,
            packets,
            flits,
            bytes,
            throughput_flits_per_cycle_per_nic: per_slot(&plan.experiment, stats, units),
        }
    };
    counted(plan, stats).map(one).collect()
}
