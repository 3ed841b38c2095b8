//! The keys of `[[job]]`.

use crate::config::document::{Forms, Names, form_schemas, forms, read_forms};
use crate::config::job::placement::RawPlacement;
use crate::replay::collectives::Choices;
use crate::replay::job::MAX_REPEAT;
use crate::replay::trace::ComputeTime;
use crate::units::{Bytes, CostPerByte, Picoseconds, Rate, Ratio};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{Error, Unexpected};
use std::path::PathBuf;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawJob {
    /// Trace file in any [format](../reference/traces.md), directory of a trace of several files, pipe, or `"-"`: standard input.
    /// A stream is read once, into a file without a name in `TMPDIR` (else `/tmp`); jobs that name the same stream,
    /// by whatever names (`"-"` and `"/dev/stdin"`), replay the same trace.
    pub trace: String,
    /// Where `trace` is looked for first, if not beside the experiment.
    #[serde(skip)]
    pub trace_dir: Option<PathBuf>,
    /// The place where the result found it that wrote the experiment.
    #[serde(skip)]
    pub trace_file: Option<PathBuf>,
    /// A unique name; names of jobs, service levels and vFabrics have at most 255 characters and no control characters.
    #[schemars(extend("x-default" = "the file name up to its first dot"))]
    pub name: Option<String>,
    /// False: the job keeps its NICs but is not replayed.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Service level; or name a `vfabric`.
    #[schemars(extend("x-default" = "the only one, or `CL`"))]
    pub sl: Option<String>,
    /// The [vFabric](#vfabric) by which the job travels.
    pub vfabric: Option<String>,
    /// Where the ranks run. `"linear"`: on the lowest free NICs, `tasks_per_node` ranks on each in turn.
    /// `"round-robin"`: round the switches. `"round-robin-groups"`: round the [groups](#placement-by-groups).
    /// `"random"`, `"random-switches"`, `"random-groups"`: NICs, switches or groups in random order, each filled
    /// before the next, drawn from the seed of the experiment; `{ random = 7 }`, `{ random-groups = 7 }` from a seed
    /// of its own. Or `{ list = [NIC of rank 0, …] }`, where ranks with the same NIC share a node, or `{ file =
    /// "hosts" }`, a [host file](#host-files). Jobs are placed in the order of the file, each on NICs that no earlier
    /// job has.
    ///
    /// With `"round-robin"` rank 0 runs on the first NIC of switch 0, rank 1 on the first NIC of switch 1, and when
    /// each has one, the next ranks on their second NICs; switches without a free NIC are left out, and with several
    /// `tasks_per_node` the ranks go round the NICs taken.
    #[schemars(extend("default" = "linear"))]
    pub placement: Option<RawPlacement>,
    /// Ranks per NIC.
    #[schemars(extend("default" = 1))]
    pub tasks_per_node: Option<u32>,
    /// Start of the job.
    #[schemars(extend("default" = "0s"))]
    pub start: Option<Picoseconds>,
    /// How many times the job runs its trace, one run after the other, at most 1000000; or `"until-others-end"`,
    /// which needs another job that ends, and is left out on the unloaded fabric and the ideal network ([where the
    /// time goes](result.md#jobs)).
    #[schemars(extend("default" = 1))]
    pub repeat: Option<RawRepeat>,
    /// True: the job may also be placed on NICs that earlier jobs have.
    #[schemars(extend("default" = false))]
    pub share_nics: Option<bool>,
    /// A send is done when handed to the NIC (`"handed"`), when its last flit left (`"injected"`), or, above
    /// `eager_threshold`, when delivered (`"rendezvous"`).
    #[schemars(extend("default" = "handed"))]
    pub send_completion: Option<RawSendCompletion>,
    /// Largest message that is sent before its receive is known: of calls and schedules always, of VEF only with
    /// `"rendezvous"`.
    #[schemars(extend("x-default" = "`\"64KiB\"` of messages of VEF, 64000 B of [MPI calls](../model/replay.md#mpi-calls)"))]
    pub eager_threshold: Option<Bytes>,
    /// Multiplies every computation.
    #[schemars(extend("default" = 1))]
    pub compute_scale: Option<Ratio>,
    /// Flops per second of a rank, above 0; only for [TI traces](../reference/traces.md#ti). The default is what SimGrid's
    /// recorder counts by if it is told nothing else: with the value of the recording run every computation takes as
    /// long as it was recorded.
    #[schemars(extend("default" = 20000))]
    pub host_speed: Option<Ratio>,
    /// Clock of a [DUMPI trace](../reference/traces.md#dumpi) between whose calls a rank computes: `"wall"`, or `"cpu"` where
    /// ranks shared processors.
    #[schemars(extend("x-default" = "the first that is recorded"))]
    #[schemars(with = "Option<Names<ComputeTime>>")]
    pub compute_time: Option<ComputeTime>,
    /// Longest time before a poll (`MPI_Test…`, `MPI_Iprobe`) of a DUMPI trace that is one of the loop around it, and
    /// no computation ([polls](../model/replay.md#dumpi-traces)).
    #[schemars(extend("default" = "4us"))]
    pub poll_gap: Option<Picoseconds>,
    /// Longest computation of a trace: what took longer takes this long, before `compute_scale`. Against what
    /// disturbed a recording.
    pub compute_cap: Option<Picoseconds>,
    /// A factor on the computations of each rank, after `compute_scale`, as in `[1, 1, 1.5, 1]`; behind the last one
    /// the list begins again.
    #[schemars(extend("x-default" = "1 for each"))]
    pub compute_factors: Option<Vec<Ratio>>,
    /// Each computation is longer or shorter by up to this part of itself, at most 1, drawn evenly by the seed of the
    /// experiment for each rank; last of all. Baselines, the unloaded fabric and the ideal network draw the same.
    #[schemars(extend("default" = 0))]
    pub compute_noise: Option<Ratio>,
    /// True: leaves out calls of a DUMPI trace that have no counterpart in a replay, such as one-sided communication;
    /// the run and its result report their number. False: refuses a trace with such calls, and reports their number
    /// and the place of the first.
    #[schemars(extend("default" = false))]
    pub skip_unsupported: Option<bool>,
    /// True: replays a DUMPI trace without any message or collective between its ranks. False: refuses it, since DUMPI
    /// does not record the calls of MPI-3, and all communication may be lost.
    #[schemars(extend("default" = false))]
    pub allow_no_communication: Option<bool>,
    /// Time that a rank is busy before each message that it sends by an MPI call (LogP's o of a sender); it counts as
    /// computation.
    #[schemars(extend("default" = "0s"))]
    pub send_overhead: Option<Picoseconds>,
    /// Time that a rank is busy after each message that an MPI call received, before its next operation; it counts as
    /// computation.
    #[schemars(extend("default" = "0s"))]
    pub receive_overhead: Option<Picoseconds>,
    /// Latency of messages between ranks of one NIC, which skip the fabric ([where the numbers are
    /// from](../model/replay.md#inside-a-node)).
    #[schemars(extend("default" = "100ns"))]
    pub intra_node_latency: Option<Picoseconds>,
    /// Bandwidth of the same messages.
    #[schemars(extend("default" = "20GB/s"))]
    pub intra_node_bandwidth: Option<Rate>,
    /// Cost of reductions.
    #[schemars(extend("default" = "0ps/B"))]
    pub reduction_cost: Option<CostPerByte>,
    /// Algorithm per operation, as in `{ bcast = "chain" }` or `[job.collectives]`.
    #[serde(default)]
    #[schemars(extend("x-default" = "as `[collectives]`"))]
    pub collectives: Choices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawSendCompletion {
    Handed,
    Injected,
    Rendezvous,
}

/// A number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawRepeat {
    Times(u32),
    UntilOthersEnd,
}

impl Forms for RawRepeat {
    const EXPECTED: &'static str = "";

    fn expected() -> String {
        format!("a whole number from 1 to {MAX_REPEAT}, or \"until-others-end\"")
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        let times = forms::whole::<Self, u32, E>(value)?;
        if (1..=MAX_REPEAT).contains(&times) {
            return Ok(Self::Times(times));
        }
        Err(forms::unfit::<Self, E>(Unexpected::Signed(value)))
    }

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        match text {
            "until-others-end" => Ok(Self::UntilOthersEnd),
            _ => Err(E::unknown_variant(text, &["until-others-end"])),
        }
    }
}

read_forms! { RawRepeat }

form_schemas! {
    RawRepeat: |_generator| json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": MAX_REPEAT },
            { "const": "until-others-end" },
        ] });
}
