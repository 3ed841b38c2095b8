//! `experiment.jobs` and `experiment.background`.

use super::Either;
use crate::results::document::schema::{Named, Nullable, keys};
use schemars::JsonSchema;

/// A job.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Job {
    /// Its name.
    name: String,
    /// Whether the job is replayed; if not, it keeps its NICs.
    enabled: bool,
    /// As written.
    trace: String,
    /// The name of its service level.
    sl: String,
    /// The vFabric.
    vfabric: Nullable<String>,
    /// NICs of the vFabric, null: all.
    hosts: Nullable<Vec<u64>>,
    /// As in the file.
    placement: Either<String, Placement>,
    /// As in the file.
    share_nics: bool,
    /// As in the file.
    #[schemars(extend("unit" = "ranks/NIC"))]
    tasks_per_node: u64,
    /// As in the file; absent where it is the usual one of the placement.
    distribution: Option<String>,
    /// The start.
    start_ps: u64,
    /// As in the file.
    repeat: Either<u64, String>,
    /// As in the file.
    send_completion: String,
    /// Only for `rendezvous`.
    eager_threshold_bytes: Nullable<u64>,
    /// How MPI calls send.
    calls: Calls,
    /// Clock of a DUMPI trace or a recording, null: `auto`.
    compute_time: Nullable<String>,
    /// Longest time before a poll of a DUMPI or OTF2 trace or a recording that is no computation.
    poll_gap_ps: u64,
    /// Longest computation, null: none.
    compute_cap_ps: Nullable<u64>,
    /// Factors on computations by rank; behind the last one the list begins again.
    compute_factors: Vec<String>,
    /// By which part of itself a computation is longer or shorter at most.
    #[schemars(extend("unit" = "fraction"))]
    compute_noise: String,
    /// Whether calls of a DUMPI or OTF2 trace or a recording that can't be replayed are left out.
    skip_unsupported: bool,
    /// Whether a DUMPI or OTF2 trace or a recording may be without communication; only where it is true.
    allow_no_communication: Option<bool>,
    /// Whether the kernels of a stream in a Chakra trace come one after the other; only where it is true.
    order_streams: Option<bool>,
    /// Most channels of a collective; only where they are several.
    channels: Option<u32>,
    /// The factor on computations, as an exact text such as `"1/20"`.
    #[schemars(extend("unit" = "fraction"))]
    compute_scale: String,
    /// Factors by region of the program, only where they are given.
    #[schemars(transform = keys("<REGION>", "The factor of the region, as an exact text."))]
    compute_scale_by_region: Option<Named<String>>,
    /// The speed of a rank in a TI trace.
    #[schemars(extend("unit" = "flops/s"))]
    host_speed_flops_per_s: String,
    /// The latency of messages inside a node.
    intra_node_latency_ps: u64,
    /// The bandwidth of messages inside a node.
    #[schemars(extend("unit" = "B/s"))]
    intra_node_bandwidth_bytes_per_s: String,
    /// The cost of reductions.
    #[schemars(extend("unit" = "ps/B"))]
    reduction_cost_ps_per_byte: String,
    /// Algorithms of the operations for which the file chooses one, for this job or for all.
    collectives: Collectives,
}

/// As in the file.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Placement {
    /// The NICs of a list or rank file.
    list: Option<Vec<u64>>,
    /// The seed of a random placement that has one of its own.
    random: Option<u64>,
    /// The NICs of the slots of a host file or of Slurm's nodes.
    hosts: Option<Vec<u64>>,
    /// The ranks of a rank order.
    #[serde(rename = "rank-order")]
    rank_order: Option<Vec<u64>>,
}

/// How MPI calls send.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Calls {
    /// Largest message that is sent before its receive is known.
    eager_threshold_bytes: u64,
    /// As in the file.
    send_overhead_ps: u64,
    /// As in the file.
    receive_overhead_ps: u64,
}

/// Algorithms of the operations for which the file chooses one, for this job or for all.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Collectives {
    /// Algorithm of the operation.
    bcast: Option<String>,
    /// Algorithm of the operation.
    reduce: Option<String>,
    /// Algorithm of the operation.
    allreduce: Option<String>,
    /// Algorithm of the operation.
    gather: Option<String>,
    /// Algorithm of the operation.
    scatter: Option<String>,
    /// Algorithm of the operation.
    allgather: Option<String>,
    /// Algorithm of the operation.
    alltoall: Option<String>,
    /// Algorithm of the operation.
    barrier: Option<String>,
    /// Algorithm of the operation.
    reduce_scatter: Option<String>,
    /// Algorithm of the operation.
    scan: Option<String>,
    /// Algorithm of the operation.
    exscan: Option<String>,
    /// Segment of `chain`, if given.
    chain_segment_bytes: Option<u64>,
    /// Segment of `double-tree`, if given.
    tree_segment_bytes: Option<u64>,
    /// Most members of a part of `hierarchical`, if given.
    part: Option<u32>,
    /// Longest segment of `in-network`, if given.
    switch_payload_bytes: Option<u64>,
    /// Segments of a rank on their way `in-network`, if given.
    switch_operations: Option<u32>,
    /// Most internal links of a switch `in-network`, if given.
    switch_links: Option<u32>,
    /// Time of a segment in a switch `in-network`, if given.
    switch_reduction_ps: Option<u64>,
}

/// A background flow.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Background {
    /// The name of its service level.
    sl: String,
    /// The offered load, as an exact text.
    #[schemars(extend("unit" = "flits/cycle/NIC"))]
    rate_flits_per_cycle_per_nic: String,
    /// `cbr` or `bernoulli`.
    #[schemars(extend("enum" = ["cbr", "bernoulli"]))]
    injection: String,
    /// The sizes of its messages.
    messages: Vec<Message>,
    /// As in the file, `"neighbour"` as an object.
    pattern: Either<String, Pattern>,
    /// The start.
    start_ps: u64,
    /// The end, null: none.
    stop_ps: Nullable<u64>,
}

/// A size of messages.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Message {
    /// The size.
    bytes: u64,
    /// The part of the messages that has this size.
    #[schemars(extend("unit" = "fraction"))]
    share: String,
}

/// As in the file, `"neighbour"` as an object.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Pattern {
    /// The NIC that NIC 0, 1, … sends to.
    permutation: Option<Vec<u64>>,
    /// Of one of `flows`, each an entry: the sending NIC.
    from: Option<u64>,
    /// Of one of `flows`, each an entry: the receiving NIC.
    to: Option<u64>,
    /// The offset of a neighbour.
    neighbour: Option<u64>,
    /// The shift in groups.
    group_shift: Option<u64>,
    /// The NIC that is the hotspot.
    hotspot: Option<u64>,
    /// The part of the other NICs that send to the hotspot, as an exact text.
    #[schemars(extend("unit" = "fraction"))]
    fraction: Option<String>,
}
