//! Resolves how a job computes and how its MPI calls send.

use crate::config::document::{ConfigError, refused};
use crate::config::job::keys::{RawClock, RawJob, RawSendCompletion};
use crate::replay::Repeat;
use crate::replay::collectives::Choices;
use crate::replay::mpi::Protocol;
use crate::replay::trace::{ComputeTime, HOST_SPEED, POLL_GAP_PS, Setting};
use crate::units::Ratio;
use flitwise_base::schema::keys;
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;

/// Largest eager message where none is given: 64 KiB.
const EAGER_THRESHOLD: u64 = 65_536;

/// How the MPI calls of a job send. It serialises as `experiment.jobs[].calls` in `docs/reference/result.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Calls {
    /// Largest message that is sent before its receive is known.
    pub eager_threshold_bytes: u64,
    /// Time that a rank is busy before each message that it sends.
    pub send_overhead_ps: u64,
    /// Time that a rank is busy after each message that a call received.
    pub receive_overhead_ps: u64,
}

/// How a job computes, besides its scale. It serialises into the entry of the job in `docs/reference/result.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Compute {
    /// The clock of a DUMPI trace or a recording; `None` for the one that it suggests.
    #[serde(rename = "compute_time")]
    pub time: Option<ComputeTime>,
    /// Longest time before a poll of a DUMPI trace or a recording that is no computation, in picoseconds.
    pub poll_gap_ps: u64,
    /// Longest computation of a trace in picoseconds.
    #[serde(rename = "compute_cap_ps")]
    pub cap_ps: Option<u64>,
    /// Factors of the ranks; after the last one the first again. None: 1.
    #[serde(rename = "compute_factors")]
    pub factors: Vec<Ratio>,
    /// Factors of regions, in place of the scale.
    #[serde(
        rename = "compute_scale_by_region",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(transform = keys("<REGION>", "The factor of the region."))]
    pub regions: BTreeMap<String, Ratio>,
    /// The part of itself by which a computation is longer or shorter at most.
    #[serde(rename = "compute_noise")]
    #[schemars(extend("unit" = "fraction"))]
    pub noise: Ratio,
}

/// A key of a job that concerns traces of some formats only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatKey {
    /// Its name.
    pub name: &'static str,
    /// The setting, which says the formats that it concerns.
    pub setting: Setting,
}

/// When a send is done for the sending rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendCompletion {
    /// When handed to the NIC.
    Handed,
    /// When the last flit has left the NIC.
    Injected,
    /// When delivered, for messages above `eager_threshold`; else when handed.
    Rendezvous {
        /// Largest eager message in bytes.
        eager_threshold: u64,
    },
}

/// The factor on computations outside of regions that have one.
pub(crate) fn default_scale(job: &RawJob) -> Ratio {
    let scale = job.compute_scale.as_ref();
    scale.and_then(|scale| scale.default).unwrap_or(Ratio::ONE)
}

/// The settings for computations of the job.
pub(crate) fn compute(job: &RawJob, key: &impl Fn(&str) -> String) -> Result<Compute, ConfigError> {
    let factors = job.compute_factors.clone();
    if factors.as_ref().is_some_and(Vec::is_empty) {
        return refused(
            key("compute_factors"),
            "is empty; list a factor for each rank, or leave it out",
        );
    }
    let noise = job.compute_noise.unwrap_or(Ratio::ZERO);
    if noise > Ratio::ONE {
        return refused(
            key("compute_noise"),
            "is more than 1; a computation would take less than no time",
        );
    }
    Ok(Compute {
        time: job.compute_time.and_then(|clock| match clock {
            RawClock::Wall => Some(ComputeTime::Wall),
            RawClock::Cpu => Some(ComputeTime::Cpu),
            RawClock::Auto => None,
        }),
        poll_gap_ps: job.poll_gap.map_or(POLL_GAP_PS, |gap| gap.0),
        cap_ps: job.compute_cap.map(|cap| cap.0),
        factors: factors.unwrap_or_default(),
        regions: (job.compute_scale.as_ref())
            .map_or_else(BTreeMap::new, |scale| scale.regions.clone()),
        noise,
    })
}

/// The speed at which a rank of the job computes.
pub(super) fn host_speed(
    job: &RawJob,
    key: &impl Fn(&str) -> String,
) -> Result<Ratio, ConfigError> {
    match job.host_speed.unwrap_or(HOST_SPEED) {
        Ratio::ZERO => refused(key("host_speed"), "is 0; a computation would never end"),
        speed => Ok(speed),
    }
}

/// When a send of the job is done.
pub(super) fn send_completion(job: &RawJob) -> SendCompletion {
    match job.send_completion.unwrap_or(RawSendCompletion::Handed) {
        RawSendCompletion::Handed => SendCompletion::Handed,
        RawSendCompletion::Injected => SendCompletion::Injected,
        RawSendCompletion::Rendezvous => SendCompletion::Rendezvous {
            eager_threshold: job.eager_threshold.map_or(EAGER_THRESHOLD, |b| b.0),
        },
    }
}

/// The settings for the sends of MPI calls.
pub(crate) fn calls(job: &RawJob) -> Calls {
    let default = Protocol::default();
    Calls {
        eager_threshold_bytes: (job.eager_threshold)
            .map_or(default.eager_threshold_bytes, |bytes| bytes.0),
        send_overhead_ps: job.send_overhead.map_or(0, |time| time.0),
        receive_overhead_ps: job.receive_overhead.map_or(0, |time| time.0),
    }
}

/// The keys that are given and that not every format uses. The format of the trace is not known yet.
pub(crate) fn format_keys(job: &RawJob) -> Vec<FormatKey> {
    let rendezvous = matches!(job.send_completion, Some(RawSendCompletion::Rendezvous));
    let keys: [(bool, &'static str, Setting); 11] = [
        (
            job.eager_threshold.is_some() && !rendezvous,
            "eager_threshold",
            Setting::Calls,
        ),
        (job.send_overhead.is_some(), "send_overhead", Setting::Calls),
        (
            job.receive_overhead.is_some(),
            "receive_overhead",
            Setting::Calls,
        ),
        (job.host_speed.is_some(), "host_speed", Setting::HostSpeed),
        (
            job.order_streams == Some(true),
            "order_streams",
            Setting::OrderStreams,
        ),
        (job.channels.is_some(), "channels", Setting::Channels),
        (
            job.compute_time.is_some(),
            "compute_time",
            Setting::ComputeTime,
        ),
        (job.poll_gap.is_some(), "poll_gap", Setting::Recorder),
        (
            job.skip_unsupported == Some(true),
            "skip_unsupported",
            Setting::Recorder,
        ),
        (
            job.allow_no_communication == Some(true),
            "allow_no_communication",
            Setting::Recorder,
        ),
        (
            job.collectives != Choices::default(),
            "collectives",
            Setting::Collectives,
        ),
    ];
    let given = keys.into_iter().filter(|&(given, ..)| given);
    given
        .map(|(_, name, setting)| FormatKey { name, setting })
        .collect()
}

/// [`Repeat`] in results.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RepeatForm {
    Times(u32),
    Until(&'static str),
}

pub(crate) fn repeat_json<S: Serializer>(repeat: &Repeat, s: S) -> Result<S::Ok, S::Error> {
    let form = match *repeat {
        Repeat::Times(times) => RepeatForm::Times(times),
        Repeat::UntilOthersEnd => RepeatForm::Until("until-others-end"),
    };
    form.serialize(s)
}

/// [`SendCompletion`] in results.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SendForm {
    /// `handed`, `injected` or `rendezvous`.
    send_completion: &'static str,
    /// Largest eager message; only for `rendezvous`.
    eager_threshold_bytes: Option<u64>,
}

pub(crate) fn send_completion_json<S: Serializer>(
    completion: &SendCompletion,
    s: S,
) -> Result<S::Ok, S::Error> {
    let (name, eager) = match *completion {
        SendCompletion::Handed => ("handed", None),
        SendCompletion::Injected => ("injected", None),
        SendCompletion::Rendezvous { eager_threshold } => ("rendezvous", Some(eager_threshold)),
    };
    let form = SendForm {
        send_completion: name,
        eager_threshold_bytes: eager,
    };
    form.serialize(s)
}

/// The algorithms chosen by hand, by operation; [`Choices`] in results.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct CollectivesForm {
    #[serde(flatten)]
    algorithms: Choices,
    /// Segment of `chain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_segment_bytes: Option<u64>,
    /// Segment of `double-tree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree_segment_bytes: Option<u64>,
    /// Most members of a part of `hierarchical`.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<u32>,
    /// Longest segment of `in-network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_payload_bytes: Option<u64>,
    /// Segments of a rank on their way `in-network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_operations: Option<u32>,
    /// Most internal links of a switch `in-network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_links: Option<u32>,
    /// Time of a segment in a switch `in-network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    switch_reduction_ps: Option<u64>,
}

pub(crate) fn collectives_json<S: Serializer>(choices: &Choices, s: S) -> Result<S::Ok, S::Error> {
    let form = CollectivesForm {
        algorithms: *choices,
        chain_segment_bytes: choices.segment(),
        tree_segment_bytes: choices.tree_segment(),
        part: choices.part,
        switch_payload_bytes: choices.switch_payload.map(|bytes| bytes.0),
        switch_operations: choices.switch_operations,
        switch_links: choices.switch_links,
        switch_reduction_ps: choices.switch_reduction.map(|time| time.0),
    };
    form.serialize(s)
}

/// As many as NCCL has.
const MAX_CHANNELS: u32 = 64;

/// The channels of the job's collectives.
pub(super) fn channels(job: &RawJob, key: &impl Fn(&str) -> String) -> Result<u32, ConfigError> {
    match job.channels {
        Some(channels) if !(1..=MAX_CHANNELS).contains(&channels) => {
            let problem = format!("is {channels}; a collective has 1 to {MAX_CHANNELS} channels");
            refused(key("channels"), problem)
        }
        channels => Ok(channels.unwrap_or(1)),
    }
}

/// Whether it is 1.
pub(super) fn is_one(number: &u32) -> bool {
    *number == 1
}
