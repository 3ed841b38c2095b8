//! The experiment as interpreted, which [`experiment_json`] writes. The types here describe it.

#![expect(dead_code, reason = "types that describe are never constructed")]

mod congestion;
mod fabric;
mod qos;

use self::congestion::CongestionControl;
use self::fabric::Fabric;
use self::qos::Qos;
use super::schema::{Nullable, Written, inlined};
use crate::config::{self, Background, Job, Measure, NodeForm, experiment_json};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// An experiment as interpreted.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct InterpretedExperiment(Value);

impl From<&config::Experiment> for InterpretedExperiment {
    fn from(experiment: &config::Experiment) -> Self {
        Self(experiment_json(experiment))
    }
}

impl JsonSchema for InterpretedExperiment {
    fn schema_name() -> Cow<'static, str> {
        "Experiment".into()
    }

    /// Keys of which the type has an `Option` may be absent: that is what the contract of reading says.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        inlined(settings, Experiment::json_schema)
    }
}

/// One of two forms.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Either<A, B> {
    One(A),
    Other(B),
}

/// An experiment as interpreted.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Experiment {
    /// As `seed`.
    seed: u64,
    /// `[fabric]`.
    fabric: Fabric,
    /// `fifo` or `per-flow`: in what order jobs and background flows that share a queue of a NIC are served.
    #[schemars(extend("enum" = ["fifo", "per-flow"]))]
    nic_queueing: String,
    /// `[qos]`.
    qos: Qos,
    /// `[congestion_control]`.
    congestion_control: CongestionControl,
    /// The jobs, `[[job]]`.
    jobs: Vec<Written<Job>>,
    /// The background flows, `[[background]]`.
    background: Vec<Written<Background>>,
    /// `[measure]`, null with a job.
    measure: Nullable<Written<Measure>>,
    /// As in the file; absent without it.
    background_gap_skip_ps: Option<u64>,
    /// As in the file; absent with the default.
    saturated_limit: Option<u32>,
    /// `[node]`; absent where every NIC is a node.
    node: Option<Written<NodeForm<'static>>>,
    /// `[power]`; absent without it.
    power: Option<Power>,
}

/// `[power]`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Power {
    /// As in the file.
    #[schemars(extend("enum" = ["always-on", "on-off", "high-low"]))]
    policy: String,
    /// `high-low`: lanes of a link that is up.
    lanes: Option<u64>,
    /// `high-low`: lanes of a link that is down.
    low_lanes: Option<u64>,
    /// `high-low`: more bytes than this that wait in a switch have a link go up.
    switch_threshold_bytes: Option<u64>,
    /// `high-low`: the same at a NIC.
    nic_threshold_bytes: Option<u64>,
    /// Time to go up, where links have states.
    wake_ticks: Option<u64>,
    /// Time to go down, where links have states.
    sleep_ticks: Option<u64>,
    /// Idle time before a link goes down, where links have states.
    down_after_ticks: Option<u64>,
    /// As in the file, 0 with `high-low`, where links have states.
    wake_ahead: Option<u64>,
    /// As in the file, where links have states.
    #[schemars(extend("enum" = ["all", "switches"]))]
    links: Option<String>,
    /// Power of one direction of a link that is up.
    up_watts: f64,
    /// Power of one direction of a link that is down.
    down_watts: f64,
    /// Power of one direction of a link that goes up or down.
    transition_watts: f64,
    /// Power of a switch without its links.
    switch_watts: f64,
    /// Power of a NIC without its link.
    nic_watts: f64,
}
