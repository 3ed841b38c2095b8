//! `experiment.congestion_control`.

use crate::fabric::spec::congestion::{PortCongestion, SlCongestion};
use crate::results::document::schema::{Named, Nullable, Written, by_sl};
use schemars::JsonSchema;

/// `[congestion_control]`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct CongestionControl {
    /// `none`, without further fields, or `ib`.
    #[schemars(extend("enum" = ["none", "ib"]))]
    kind: String,
    /// As in the file.
    notification: Option<String>,
    /// Length of a CNP; null without CNPs.
    cnp_bytes: Option<Nullable<u64>>,
    /// As in the file. Fields of a part that is `none` are absent.
    marker: Option<String>,
    /// As `experiment.congestion_control.switch_ports`, of ports that lead to NICs.
    host_ports: Option<Written<PortCongestion>>,
    /// Of the marker: parameters of ports that lead to switches, by their names in the file; parameters of a
    /// preset are written out.
    switch_ports: Option<Written<PortCongestion>>,
    /// The same parameters of single ports.
    port: Option<Vec<Port>>,
    /// Of the marker, as in the file.
    compare: Option<String>,
    /// Of the marker, as in the file.
    marking: Option<String>,
    /// As in the file. Fields of a part that is `none` are absent.
    source: Option<String>,
    /// Of the source: the congestion control table, multiplier/shift for each index.
    #[schemars(rename = "CCT")]
    cct: Option<String>,
    /// Of the source: the largest index.
    #[schemars(rename = "CCTI_Limit", extend("unit" = "level"))]
    ccti_limit: Option<u64>,
    /// Of the source: parameters by service level.
    #[schemars(transform = by_sl)]
    service_levels: Option<Named<Written<SlCongestion>>>,
    /// Of the source, as in the file.
    level: Option<String>,
    /// Of the source, as in the file.
    sl_scope: Option<String>,
    /// Of the source, as in the file.
    timer_restart: Option<String>,
    /// Of the source, as in the file.
    ccti_bound: Option<String>,
    /// Of the source, as in the file.
    ird_base: Option<String>,
    /// Of the source, as in the file.
    timer: Option<String>,
}

/// Parameters of a single port that marks packets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Port {
    #[schemars(flatten)]
    settings: PortCongestion,
    /// The switch.
    switch: u64,
    /// Its port.
    port: u64,
}
