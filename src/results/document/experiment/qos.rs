//! `experiment.qos`: service levels, virtual lanes and schedulers.

use crate::fabric::spec::ServiceLevel;
use crate::results::document::schema::{Named, Nullable, Written, keys};
use schemars::JsonSchema;

/// `[qos]`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Qos {
    /// Virtual lanes.
    vls: u64,
    /// The service levels, in their order.
    service_levels: Vec<Written<ServiceLevel>>,
    /// VL of each service channel, null where unused.
    sc2vl: Nullable<Vec<Nullable<u64>>>,
    /// SL-to-VL tables, each a text with the VLs of SL 0, 1, ….
    sl2vl: Nullable<Sl2vl>,
    /// The scheduler.
    scheduler: Scheduler,
    /// The queueing scheme; absent where service channels or tables decide the VL.
    vl_policy: Option<VlPolicy>,
}

/// SL-to-VL tables.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Sl2vl {
    /// The table where no other holds.
    default: String,
    /// The tables of HCAs.
    #[schemars(transform = keys("<HCA>", "The table of an HCA."))]
    hcas: Named<String>,
    /// The tables of pairs of ports.
    #[schemars(transform = keys("<PORTS>", "The table of a switch, in-port and out-port, as in \"0 0 4\"."))]
    ports: Named<String>,
}

/// The scheduler.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Scheduler {
    /// `rr-vl`, `sbt` (`rr` is `sbt` with equal weights), `dtable` or, on `voq` switches always, `ib-vlarb`.
    #[schemars(extend("enum" = ["rr-vl", "sbt", "dtable", "ib-vlarb"]))]
    kind: String,
    /// `ib-vlarb`: the arbiters of switches.
    vlarb: Option<Arbiter>,
    /// As `experiment.qos.scheduler.vlarb`, of NICs.
    hca_vlarb: Option<Arbiter>,
    /// `sbt`: weight per service level.
    weights: Option<Vec<u64>>,
    /// `dtable`: [index of the service level, weight in units of 64 B].
    entries: Option<Vec<[u64; 2]>>,
}

/// An arbiter of InfiniBand.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Arbiter {
    /// `round-robin` or `tables`.
    kind: String,
    /// `tables`: [VL, weight in units of 64 B].
    high: Option<Vec<[u64; 2]>>,
    /// `tables`: [VL, weight in units of 64 B].
    low: Option<Vec<[u64; 2]>>,
    /// `tables`: as in the file.
    high_limit: Option<u64>,
}

/// A queueing scheme.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct VlPolicy {
    /// Its name.
    kind: String,
    /// Queues of each service level in each VL class.
    queues: u64,
    /// Queues in the escape network of `h2lq` and `sf2lq`.
    escape_queues: Option<u64>,
    /// The rule of `flow2sl`, `iodet` and `h2lq`.
    queue_rule: Option<String>,
}
