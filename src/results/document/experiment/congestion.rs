//! `experiment.congestion_control`.

use crate::results::document::schema::{Named, Nullable, by_sl};
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
    host_ports: Option<PortCongestion>,
    /// Of the marker: parameters of ports that lead to switches, by their names in the file; parameters of a
    /// preset are written out.
    switch_ports: Option<PortCongestion>,
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
    service_levels: Option<Named<SourceLevel>>,
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

/// Parameters of a port that marks packets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PortCongestion {
    /// A weight.
    #[schemars(rename = "Threshold")]
    threshold: u64,
    /// A mask.
    #[schemars(rename = "Victim_Mask")]
    victim_mask: bool,
    /// As in the file.
    #[schemars(rename = "Packet_Size", extend("unit" = "64 B"))]
    packet_size: u64,
    /// As in the file.
    #[schemars(rename = "Marking_Rate", extend("unit" = "packets"))]
    marking_rate: u64,
    /// A mask.
    #[schemars(rename = "Credit_Mask")]
    credit_mask: bool,
    /// A weight.
    #[schemars(rename = "CS_Threshold")]
    cs_threshold: u64,
    /// The delay as shift:multiplier.
    #[schemars(rename = "CS_ReturnDelay")]
    cs_return_delay: String,
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

/// Parameters of the source for a service level.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SourceLevel {
    /// As in the file.
    #[schemars(rename = "CCTI_Increase", extend("unit" = "level"))]
    ccti_increase: u64,
    /// As in the file.
    #[schemars(rename = "CCTI_Min", extend("unit" = "level"))]
    ccti_min: u64,
    /// `CCTI_Timer` of the file.
    #[schemars(rename = "CCTI_Timer_ticks")]
    ccti_timer_ticks: u64,
    /// As in the file.
    #[schemars(rename = "Trigger_Threshold", extend("unit" = "level"))]
    trigger_threshold: u64,
}
