//! Latencies in nanoseconds.

use crate::fabric::stats;
use crate::units::TickLength;
use schemars::JsonSchema;
use serde::Serialize;

/// Latency of one kind, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Latency {
    /// Number of messages or packets.
    // `service_levels` of result.json has it.
    #[serde(skip)]
    pub count: u64,
    /// The mean, exact.
    #[schemars(extend("unit" = "ns"))]
    pub mean: f64,
    /// The median, three significant digits.
    #[schemars(extend("unit" = "ns"))]
    pub p50: f64,
    /// The 99th percentile, three significant digits.
    #[schemars(extend("unit" = "ns"))]
    pub p99: f64,
    /// The maximum, exact.
    #[schemars(extend("unit" = "ns"))]
    pub max: f64,
}

/// Converts the latencies in `ticks`; `None` if there are none. Each number is an integer
/// divided once, so that every machine prints the same digits. Mean and maximum
/// are exact, quantiles have three significant digits.
#[must_use]
pub fn latency(ticks: &stats::Latency, tick: TickLength) -> Option<Latency> {
    let count = ticks.count();
    if count == 0 {
        return None;
    }
    let ns = |value: u64| tick.ns(value.into());
    Some(Latency {
        count,
        mean: tick.mean_ns(ticks.sum(), count),
        p50: ns(ticks.quantile(0.5)),
        p99: ns(ticks.quantile(0.99)),
        max: ns(ticks.max()),
    })
}
