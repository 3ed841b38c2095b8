//! The keys of `[qos]`.

use crate::units::{Bytes, Ratio};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawQos {
    pub preset: Option<QosPreset>,
    pub scheduler: Option<RawScheduler>,
    pub mtu: Option<Bytes>,
    pub service_levels: Option<Vec<RawServiceLevel>>,
    pub sc2vl: Option<Vec<u8>>,
    pub vl_policy: Option<RawVlPolicy>,
    pub queues: Option<u8>,
    pub escape_queues: Option<u8>,
    pub queue_rule: Option<RawQueueRule>,
    #[serde(default)]
    pub dtable: RawDTable,
    pub vlarb: Option<RawVlArb>,
    pub hca_vlarb: Option<RawVlArb>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum QosPreset {
    #[serde(rename = "ib")]
    Ib,
    #[serde(rename = "single")]
    Single,
    #[serde(rename = "opa-5sl")]
    Opa5Sl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawScheduler {
    Rr,
    RrVl,
    Sbt,
    #[serde(rename = "dtable")]
    DTable,
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

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawServiceLevel {
    pub name: String,
    pub tc: Option<u8>,
    /// Required, except where SL-to-VL tables decide the VLs.
    #[serde(default)]
    pub scs: Vec<u8>,
    pub mtu: Option<Bytes>,
    pub share: Option<Ratio>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDTable {
    pub entries: Option<u32>,
    pub gmtu: Option<Bytes>,
    pub w: Option<u32>,
    pub k: Option<u32>,
    pub distances: Option<BTreeMap<String, u32>>,
}

impl RawDTable {
    /// The file says something about the table.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }
}

/// `qos.vl_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawVlPolicy {
    ServiceChannels,
    OneQueue,
    Dbbm,
    Voqnet,
    Bbq,
    Flow2sl,
    Vftree,
    Voqsw,
    Obqa,
    Iodet,
    H2lq,
    Sf2lq,
}

/// `qos.queue_rule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawQueueRule {
    Sum,
    Difference,
    Dimension,
    Coordinate,
    Hierarchical,
    Plain,
}

/// Arbitration tables: lists of [VL, weight].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVlArb {
    #[serde(default)]
    pub high: Vec<(u8, u8)>,
    #[serde(default)]
    pub low: Vec<(u8, u8)>,
    pub high_limit: Option<u8>,
}
