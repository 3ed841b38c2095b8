//! The keys of `[qos]`.

use crate::units::{Bytes, Ratio};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawQos {
    /// `"single"`: one SL on 8 VLs; `"ib"`: on 1 VL; `"opa-5sl"`: five SLs of Hiperion.
    ///
    /// The one SL is called `default`; on tori and dragonflies it has 2 VLs in both presets. `"opa-5sl"`: VO, VI, CL,
    /// BE, BK of Hiperion's Tables 7–10.
    #[schemars(extend("x-default" = "`\"single\"` if the file has no `[qos]` (`--set` does not count), else `\"opa-5sl\"`; on `voq` `\"ib\"`"))]
    pub preset: Option<QosPreset>,
    /// `"rr"`, `"rr-vl"`, `"sbt"`, `"dtable"`; on `voq` switches `"ib-vlarb"`.
    ///
    /// `"rr"`: SBT with equal weights; of one service level, as `"rr-vl"`: one packet per VL in turn. `"sbt"`: shares in
    /// percent as weights. As published, it stays with a VL as long as its service level has weight left, so a stream at
    /// the rate of the link starves the other VLs of its service level. `"ib-vlarb"`: the tables of `vlarb`, or round robin over VLs without them, which is also what `"rr"` and `"rr-vl"` are on `voq`
    /// switches.
    #[schemars(extend("x-default" = "`dtable` (`opa-5sl`), `rr-vl` (`opasim`), `ib-vlarb` (`voq`), else `rr`"))]
    pub scheduler: Option<RawScheduler>,
    /// MTU of service levels without their own.
    ///
    /// Of the preset's service levels, and of those in `service_levels`.
    #[schemars(extend("x-default" = "`\"1024B\"`, `opasim` `\"128B\"`, `ib-*` `\"2048B\"`; `opa-5sl`: Table 9"))]
    pub mtu: Option<Bytes>,
    /// Service levels, instead of a preset: a list of `{ name, tc, scs, mtu, share }`.
    #[schemars(extend("x-default" = "of the preset"))]
    pub service_levels: Option<Vec<RawServiceLevel>>,
    /// VL of SC 0, 1, …
    #[schemars(extend("x-default" = "of the preset, else VL = SC"))]
    pub sc2vl: Option<Vec<u8>>,
    /// A [queueing scheme](../model/queueing.md) such as `"dbbm"`; it excludes `scs` and `sc2vl`.
    ///
    /// One of `"one-queue"`, `"dbbm"`, `"voqnet"`, `"bbq"`, `"flow2sl"`, `"vftree"`, `"voqsw"`, `"obqa"`, `"iodet"`,
    /// `"h2lq"` and `"sf2lq"`. With a queueing scheme every service level has VLs of its own for the queues of the
    /// scheme in each VL class; packets for a busy port or NIC then hold up only packets that share their queue.
    #[schemars(extend("default" = "service-channels"))]
    pub vl_policy: Option<RawVlPolicy>,
    /// Queues of the scheme in each VL class; always 1 with `"one-queue"`.
    ///
    /// All queues need VLs: at most 15 on `voq` switches, 31 on others. `"dbbm"` has at most 8 in each on a torus,
    /// dragonfly or slim fly; with detours (`paths`) 2 there (1 with `"par"`), 4 on a dragonfly over groups (2),
    /// elsewhere 10 (5).
    #[schemars(extend("x-default" = "the scheme's"))]
    pub queues: Option<u8>,
    /// Queues of the escape network of `"h2lq"` and `"sf2lq"`.
    ///
    /// The escape network is VL class 1.
    #[schemars(extend("x-default" = "2 with `\"h2lq\"`, 4 with `\"sf2lq\"`"))]
    pub escape_queues: Option<u8>,
    /// Rule of `"flow2sl"`, `"iodet"` or `"h2lq"`.
    ///
    /// Of `"flow2sl"`: `"sum"` or `"difference"`; of `"iodet"`: `"dimension"` or `"coordinate"`; of `"h2lq"`:
    /// `"hierarchical"` or `"plain"`.
    #[schemars(extend("x-default" = "the first"))]
    pub queue_rule: Option<RawQueueRule>,
    /// Table of the scheduler `"dtable"`, with `entries`, `gmtu`, `w`, `k` and `distances`.
    ///
    /// `{ entries = 128, gmtu = "1KiB", w = 8, k = 2, distances = { VO = 2, … } }`. It may remain in the file while
    /// `scheduler` names another scheduler; it is ignored then.
    #[serde(default)]
    #[schemars(extend("x-default" = "of the preset"))]
    pub dtable: RawDTable,
    /// Arbitration tables of switches: `{ high = [[0, 16]], low = [[1, 4], [2, 4]], high_limit = 1 }`.
    ///
    /// An entry is [VL, weight in 64 B]; `high_limit` is the Limit of High Priority in 4 KiB: 0, the default, for one
    /// packet, 255 for no limit. The tables may remain in the file like `dtable`.
    pub vlarb: Option<RawVlArb>,
    /// The same for NICs.
    #[schemars(extend("x-default" = "as `vlarb`"))]
    pub hca_vlarb: Option<RawVlArb>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum QosPreset {
    /// One service level, and the arbitration tables of InfiniBand.
    #[serde(rename = "ib")]
    Ib,
    /// One service level.
    #[serde(rename = "single")]
    Single,
    /// The five service levels of Hiperion: VO, VI, CL, BE and BK.
    #[serde(rename = "opa-5sl")]
    Opa5Sl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawScheduler {
    /// Round robin: SBT with equal weights.
    Rr,
    /// One packet per VL in turn.
    RrVl,
    /// The scheduler of Omni-Path: the shares of service levels in percent as weights, all of which must be in use.
    Sbt,
    /// A table of arbitration made for the latency and the share of each service level.
    #[serde(rename = "dtable")]
    DTable,
    /// The arbitration tables of InfiniBand; round robin over VLs without them.
    IbVlarb,
}

impl RawScheduler {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rr => "rr",
            Self::RrVl => "rr-vl",
            Self::Sbt => "sbt",
            Self::DTable => "dtable",
            Self::IbVlarb => "ib-vlarb",
        }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawServiceLevel {
    /// Its name.
    pub name: String,
    /// Its traffic class.
    #[schemars(extend("x-default" = "its index"))]
    pub tc: Option<u8>,
    /// Its SCs; on a torus or dragonfly one for each VL class, else the destination picks one.
    ///
    /// On a torus or dragonfly exactly two. Required, except where SL-to-VL tables or a queueing scheme decide the VLs.
    #[serde(default)]
    pub scs: Vec<u8>,
    /// Its MTU.
    #[schemars(extend("x-default" = "`qos.mtu`"))]
    pub mtu: Option<Bytes>,
    /// Its share φ for `sbt` and `dtable`; the shares add up to 1.
    pub share: Option<Ratio>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDTable {
    /// Number of entries.
    pub entries: Option<u32>,
    /// General MTU.
    pub gmtu: Option<Bytes>,
    /// Decoupling parameter w.
    pub w: Option<u32>,
    /// Decoupling parameter k.
    pub k: Option<u32>,
    /// Distance between two entries of each service level.
    pub distances: Option<BTreeMap<String, u32>>,
}

impl RawDTable {
    /// The file says something about the table.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }
}

/// `qos.vl_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawVlPolicy {
    /// No scheme: service channels decide.
    ServiceChannels,
    /// One queue.
    OneQueue,
    /// By the destination modulo the number of queues.
    Dbbm,
    /// A queue for each destination.
    Voqnet,
    /// By bands of consecutive destinations (unverified).
    Bbq,
    /// By the groups of source and destination (unverified).
    Flow2sl,
    /// By the leaf switch of the destination, on trees (unverified).
    Vftree,
    /// By the out-port of the next switch (unverified).
    Voqsw,
    /// By the out-port of the next switch, on trees (unverified).
    Obqa,
    /// By the dimension of the out-port (unverified).
    Iodet,
    /// By the position in the group, on dragonflies, with an escape network (unverified).
    H2lq,
    /// By the switch of the destination, on slim flies, with an escape network (unverified).
    Sf2lq,
}

/// `qos.queue_rule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawQueueRule {
    /// Of `flow2sl`: the sum of both groups.
    Sum,
    /// Of `flow2sl`: their difference.
    Difference,
    /// Of `iodet`: the dimension.
    Dimension,
    /// Of `iodet`: the coordinate of the destination's switch in that dimension.
    Coordinate,
    /// Of `h2lq`: by groups and positions.
    Hierarchical,
    /// Of `h2lq`: the destination modulo the number of queues.
    Plain,
}

/// Arbitration tables: lists of [VL, weight].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVlArb {
    /// Entries of [VL, weight in 64 B] of high priority.
    #[serde(default)]
    pub high: Vec<(u8, u8)>,
    /// Entries of low priority.
    #[serde(default)]
    pub low: Vec<(u8, u8)>,
    /// Limit of High Priority in 4 KiB; 0: one packet; 255: no limit.
    #[schemars(extend("default" = 0))]
    pub high_limit: Option<u8>,
}
