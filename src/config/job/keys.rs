//! The keys of `[[job]]`.

use crate::config::document::{Forms, form_schemas, forms, read_forms};
use crate::config::job::placement::RawPlacement;
use crate::replay::collectives::Choices;
use crate::replay::job::MAX_REPEAT;
use crate::replay::placement::Distribution;
use crate::units::{Bytes, CostPerByte, Picoseconds, Rate, Ratio};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{Error, IntoDeserializer, MapAccess, Unexpected};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawJob {
    /// Trace file in any [format](../reference/traces.md), directory, pipe, or `"-"`: standard input.
    ///
    /// A directory holds a trace of several files. A stream is read once, into a file without a name in `TMPDIR` (else
    /// `/tmp`); jobs that name the same stream, by whatever names (`"-"` and `"/dev/stdin"`), replay the same trace.
    pub trace: String,
    /// Where `trace` is looked for first, if not beside the experiment.
    #[serde(skip)]
    pub trace_dir: Option<PathBuf>,
    /// The place where the result found it that wrote the experiment.
    #[serde(skip)]
    pub trace_file: Option<PathBuf>,
    /// Unique name.
    ///
    /// Names of jobs, service levels and vFabrics have at most 255 characters and no control characters.
    #[schemars(extend("x-default" = "the file name up to its first dot"))]
    pub name: Option<String>,
    /// False: the job keeps its NICs but is not replayed.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Service level, unless a `vfabric` gives it.
    #[schemars(extend("x-default" = "the only one, or `CL`"))]
    pub sl: Option<String>,
    /// [vFabric](#vfabric) of the job.
    pub vfabric: Option<String>,
    /// [NICs](#placement) of the ranks.
    ///
    /// `"linear"`: the lowest free NICs. `"round-robin"`: round the switches.
    /// `"round-robin-groups"`: round the groups. `"random"`, `"random-switches"`, `"random-groups"`: NICs, switches or
    /// groups in random order, each filled before the next, drawn from the seed of the experiment; `{ random = 7 }`, `{
    /// random-groups = 7 }` from a seed of its own. `{ list = [NIC of rank 0, …] }`: ranks with the same NIC share a
    /// node. `{ file = "hosts" }`: a host file, rank file or rank order of a launcher; slots that are left stay free.
    /// `{ slurm = { nodes = "node[1-4]", tasks = "2(x4)" } }`: the nodes of a Slurm job. Jobs are placed in the order of
    /// the file, each on NICs that no earlier job has.
    ///
    /// With `"round-robin"` rank 0 runs on the first NIC of switch 0, rank 1 on the first NIC of switch 1, and when
    /// each has one, the next ranks on their second NICs; switches without a free NIC are left out.
    #[schemars(extend("default" = "linear"))]
    pub placement: Option<RawPlacement>,
    /// Ranks per NIC.
    #[schemars(extend("default" = 1))]
    pub ranks_per_nic: Option<u32>,
    /// The same per node, a multiple of `node.nics`; `tasks_per_node` is another name of it.
    #[schemars(extend("x-default" = "`ranks_per_nic` times `node.nics`"))]
    #[serde(alias = "tasks_per_node")]
    pub ranks_per_node: Option<u32>,
    /// Consecutive ranks: `"block"` fills each NIC before the next, `"cyclic"` puts one on each NIC in turn.
    #[schemars(extend("x-default" = "`\"block\"`; of `\"round-robin\"` and `\"round-robin-groups\"` `\"cyclic\"`"))]
    pub distribution: Option<Distribution>,
    /// Earliest start of the job.
    #[schemars(extend("default" = "0s"))]
    pub start: Option<Picoseconds>,
    /// Names of jobs above it that end before it starts.
    ///
    /// It starts at `start`, or when the last of them has ended if that is later. Jobs that a run leaves out, as baselines do,
    /// do not delay it.
    #[schemars(extend("default" = []))]
    pub after: Option<Vec<String>>,
    /// Number of runs, up to 1000000; or `"until-others-end"`.
    ///
    /// The runs follow one another. `"until-others-end"` needs another job that ends; the unloaded fabric and the ideal
    /// network leave such a job out ([where the time goes](result.md#jobs)).
    #[schemars(extend("default" = 1))]
    pub repeat: Option<RawRepeat>,
    /// True: earlier jobs' NICs are also free for this job.
    #[schemars(extend("default" = false))]
    pub share_nics: Option<bool>,
    /// A send is done when `"handed"` to the NIC, `"injected"`, or delivered (`"rendezvous"`).
    ///
    /// `"injected"`: when its last flit left. `"rendezvous"`: messages above `eager_threshold` when they are delivered.
    #[schemars(extend("default" = "handed"))]
    pub send_completion: Option<RawSendCompletion>,
    /// Largest message sent before its receive is known; of VEF only with `"rendezvous"`.
    ///
    /// It always counts for MPI calls and schedules.
    #[schemars(extend("x-default" = "`\"64KiB\"`; of [MPI calls](../model/replay.md#mpi-calls) 64000 B"))]
    pub eager_threshold: Option<Bytes>,
    /// Factor on every computation, or `{ default = 1, solve = 0.5 }` by [region](../model/replay.md#regions).
    ///
    /// A factor is a number from 0 or a fraction such as `"1/20"`. `default` is for computations outside of the regions that
    /// are named. A region that the trace does not have is an error.
    #[schemars(extend("default" = 1))]
    pub compute_scale: Option<RawScale>,
    /// Flops per second of a rank, above 0, in [TI traces](../reference/traces.md#ti).
    ///
    /// The default is the value that SimGrid's recorder counts by unless told otherwise: with the value of the
    /// recording run every computation takes as long as it was recorded.
    #[schemars(extend("default" = 20000))]
    pub host_speed: Option<Ratio>,
    /// Clock of computations in [DUMPI traces and recordings](../reference/traces.md#recordings): `"wall"`, `"cpu"` or `"auto"`.
    ///
    /// A rank computes between its calls. `"auto"` is the first clock that DUMPI recorded, and the CPU time of a recording
    /// whose ranks shared processors. Take `"cpu"` where ranks of DUMPI did.
    #[schemars(extend("default" = "auto"))]
    pub compute_time: Option<RawClock>,
    /// Longest gap before a poll in a DUMPI or OTF2 trace or a recording that is no [computation](../model/replay.md#dumpi-traces).
    ///
    /// A poll (`MPI_Test…`, `MPI_Iprobe`) after a shorter gap is one of the loop around it.
    #[schemars(extend("default" = "4us"))]
    pub poll_gap: Option<Picoseconds>,
    /// Longest computation of a trace, before `compute_scale`.
    ///
    /// Longer ones are cut to it. It removes disturbances of a recording.
    pub compute_cap: Option<Picoseconds>,
    /// Factors on the computations by rank, after `compute_scale`: `[1, 1, 1.5, 1]`.
    ///
    /// After the last one the list begins again.
    #[schemars(extend("x-default" = "1 for each"))]
    pub compute_factors: Option<Vec<Ratio>>,
    /// Largest change of each computation, as a part of it, at most 1.
    ///
    /// A computation becomes longer or shorter, drawn evenly by the seed of the experiment for each operation, and applied
    /// last. Baselines, the unloaded fabric and the ideal network draw the same.
    #[schemars(extend("default" = 0))]
    pub compute_noise: Option<Ratio>,
    /// True: leaves out calls of a DUMPI or OTF2 trace or a recording that cannot be replayed.
    ///
    /// These calls have no counterpart in a replay, such as one-sided communication; the run and its result report
    /// their number. False: refuses a trace with such calls, and reports their number and the place of the first.
    #[schemars(extend("default" = false))]
    pub skip_unsupported: Option<bool>,
    /// True: replays a DUMPI or OTF2 trace or a recording without messages between ranks.
    ///
    /// It has no collectives either. False: refuses it, since DUMPI does not record the calls of MPI-3, and all
    /// communication may be lost.
    #[schemars(extend("default" = false))]
    pub allow_no_communication: Option<bool>,
    /// True: the kernels of a stream of a GPU in a Chakra trace come one after the other.
    ///
    /// They follow in the order of their starts, and of the file where it has no starts. False: only the dependencies of the trace
    /// order them.
    #[schemars(extend("default" = false))]
    pub order_streams: Option<bool>,
    /// Most [channels](chakra.md#channels) of a collective of a GPU trace, 1 to 64.
    #[schemars(extend("default" = 1))]
    pub channels: Option<u32>,
    /// Computation before each message sent by an MPI call (LogP's o).
    #[schemars(extend("default" = "0s"))]
    pub send_overhead: Option<Picoseconds>,
    /// Computation after each message received by an MPI call.
    ///
    /// It comes before the next operation of the rank.
    #[schemars(extend("default" = "0s"))]
    pub receive_overhead: Option<Picoseconds>,
    /// Latency of [messages inside a node](../model/replay.md#inside-a-node).
    ///
    /// They are between ranks of one NIC and skip the fabric.
    #[schemars(extend("default" = "100ns"))]
    pub intra_node_latency: Option<Picoseconds>,
    /// Bandwidth of the same messages.
    #[schemars(extend("default" = "20GB/s"))]
    pub intra_node_bandwidth: Option<Rate>,
    /// Cost of reductions.
    #[schemars(extend("default" = "0ps/B"))]
    pub reduction_cost: Option<CostPerByte>,
    /// Algorithm per operation: `{ bcast = "chain" }` or `[job.collectives]`.
    #[serde(default)]
    #[schemars(extend("x-default" = "as `[collectives]`"))]
    pub collectives: Choices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawClock {
    /// The wall clock.
    Wall,
    /// The processor time of a rank, which stops while other processes have its processor.
    Cpu,
    /// The clock that the trace suggests.
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawSendCompletion {
    /// When it is handed to the NIC.
    Handed,
    /// When its last flit has left.
    Injected,
    /// Above `eager_threshold` when it is delivered.
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

/// A factor on computations, or one for each region.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawScale {
    /// Outside of these regions.
    pub default: Option<Ratio>,
    pub regions: BTreeMap<String, Ratio>,
}

impl RawScale {
    fn all<E>(factor: Result<Ratio, E>) -> Result<Self, E> {
        let regions = BTreeMap::new();
        factor.map(|factor| Self {
            default: Some(factor),
            regions,
        })
    }
}

impl Forms for RawScale {
    const EXPECTED: &'static str =
        "a number such as 0.05, a fraction such as \"1/20\", or { default = 1, region = 0.05 }";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Self::all(Ratio::deserialize(text.into_deserializer()))
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Self::all(Ratio::deserialize(value.into_deserializer()))
    }

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        Self::all(Ratio::deserialize(value.into_deserializer()))
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let mut regions: BTreeMap<String, Ratio> = forms::keys(map)?;
        let default = regions.remove("default");
        Ok(Self { default, regions })
    }
}

read_forms! { RawScale }

form_schemas! {
    RawScale: |generator| json_schema!({ "anyOf": [
            generator.subschema_for::<Ratio>(),
            generator.subschema_for::<BTreeMap<String, Ratio>>(),
        ] });
    RawRepeat: |_generator| json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": MAX_REPEAT },
            { "const": "until-others-end", "description": "Again and again, until all other jobs have ended." },
        ] });
}
