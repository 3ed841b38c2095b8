//! Congestion control in three parts: a marker at the switches, a notification by the
//! destination, and a control at the source. The only marker and the only control so far are
//! InfiniBand's, with parameters under the names of the InfiniBand Architecture Specification
//! 1.2.1 (annex A10, tables 515–521); what they do is in `docs/model/infiniband.md`, sections 9
//! to 11.

use crate::ids::{PortId, SwitchId, SwitchPort};
use crate::spec::{SpecError, Tick, json};
use crate::topology::{Peer, Topology};
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Fewest entries of a congestion control table.
pub const MIN_CCT_ENTRIES: usize = 128;
/// Most entries: `CCTI_Limit` has 16 bits.
pub const MAX_CCT_ENTRIES: usize = 1 << 16;
/// Largest multiplier of an entry, of 14 bits.
pub const MAX_CCT_MULTIPLIER: u16 = (1 << 14) - 1;
/// Largest shift of an entry, of 2 bits.
pub const MAX_CCT_SHIFT: u8 = 3;
/// Largest threshold weight.
pub const MAX_THRESHOLD: u8 = 15;

/// All parameters of congestion control. They serialise as `experiment.congestion_control` in
/// `docs/reference/result.md`. Only the service levels differ: here they are a list by SL and have no names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename = "ib")]
pub struct CongestionControl {
    /// The means by which the destination notifies the source.
    #[serde(flatten)]
    pub notification: Notification,
    /// The part that marks packets at the switches.
    #[serde(flatten)]
    pub marker: Marker,
    /// The reaction of the source to notifications.
    #[serde(flatten)]
    pub source: SourceControl,
}

/// The part that marks packets at the switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "marker", rename_all = "kebab-case")]
pub enum Marker {
    /// Nothing: no packet is ever marked.
    None,
    /// Port VLs whose fill reaches a threshold (section 9).
    PortVl(PortVlMarker),
}

/// The reaction of a source to notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum SourceControl {
    /// Nothing: they arrive and are counted, and no packet is held.
    None,
    /// They raise an index into a congestion control table, whose entries are delays (section 11).
    Cct(CctControl),
}

/// Marking at Port VLs by thresholds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PortVlMarker {
    /// Switch ports that lead to NICs.
    pub host_ports: PortCongestion,
    /// Switch ports that lead to switches.
    pub switch_ports: PortCongestion,
    /// Ports with settings of their own.
    #[serde(rename = "port", serialize_with = "json::ports")]
    #[schemars(with = "Vec<json::Port>")]
    pub exceptions: BTreeMap<SwitchPort, PortCongestion>,
    /// The comparison of fill and threshold.
    pub compare: FillComparison,
    /// Which eligible packets are marked.
    pub marking: Marking,
    /// Seed of the streams of [`Marking::Random`].
    // It follows from the seed of the experiment.
    #[serde(skip)]
    pub marking_seed: u64,
}

/// Delays from a congestion control table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CctControl {
    /// The congestion control table, at least 128 entries.
    #[serde(rename = "CCT", serialize_with = "json::cct")]
    #[schemars(with = "String")]
    pub cct: Vec<CctEntry>,
    /// `CCTI_Limit`: largest index used, below the number of entries.
    #[serde(rename = "CCTI_Limit")]
    #[schemars(extend("unit" = "level"))]
    pub ccti_limit: u16,
    /// Parameters of each SL.
    pub service_levels: Vec<SlCongestion>,
    /// The owner of an index into the table.
    pub level: FlowLevel,
    /// Which index holds back a packet.
    pub sl_scope: SlScope,
    /// The effect of a BECN on a running timer of a flow.
    pub timer_restart: TimerRestart,
    /// The effect of an increase that would lead beyond `CCTI_Limit`.
    pub ccti_bound: CctiBound,
    /// The time that an entry of the table multiplies.
    pub ird_base: IrdBase,
    /// The owner of a timer.
    pub timer: TimerScope,
}

/// Settings of one switch port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PortCongestion {
    /// `Threshold`: weight 0–15, a fill of (16 − weight)/16; 0: never congested.
    #[serde(rename = "Threshold")]
    pub threshold: u8,
    /// `Victim_Mask`: congested even without credits.
    #[serde(rename = "Victim_Mask")]
    pub victim_mask: bool,
    /// `Packet_Size`: smaller packets are not marked, in units of 64 bytes.
    #[serde(rename = "Packet_Size")]
    #[schemars(extend("unit" = "64 B"))]
    pub packet_size: u8,
    /// `Marking_Rate`: mean number of eligible packets between two marks.
    #[serde(rename = "Marking_Rate")]
    #[schemars(extend("unit" = "packets"))]
    pub marking_rate: u16,
    /// `Credit_Mask`: credit starvation applies to the port.
    #[serde(rename = "Credit_Mask")]
    pub credit_mask: bool,
    /// `CS_Threshold`: weight 0–15, a fill of (16 − weight)/16; 0: never starved.
    #[serde(rename = "CS_Threshold")]
    pub cs_threshold: u8,
    /// `CS_ReturnDelay`: how much later the credits of a packet come back that was granted
    /// to a starved Port VL, in times of the packet on the link that it came by.
    #[serde(rename = "CS_ReturnDelay", serialize_with = "json::return_delay")]
    #[schemars(with = "String")]
    pub cs_return_delay: CctEntry,
}

/// Which of the eligible packets of a Port VL are marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Marking {
    /// Each with probability 1 / (`Marking_Rate` + 1), from a stream of the Port VL's own.
    #[default]
    Random,
    /// One, then none of the next `Marking_Rate`, and so on.
    Fixed,
}

/// The comparison of the fill of the queues of a Port VL with its threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FillComparison {
    /// Each queue with the threshold.
    #[default]
    AnyQueue,
    /// Their sum with the threshold.
    Sum,
    /// Their sum with the threshold divided by the number of queues in use.
    SumShared,
}

/// The packet that carries a BECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "json::NotificationKeys")]
#[schemars(with = "json::NotificationKeys")]
pub enum Notification {
    /// A congestion notification packet per FECN.
    Cnp {
        /// Whole length in bytes (42: LRH, BTH, 16 B of payload, ICRC, VCRC).
        bytes: u32,
    },
    /// The next ACK of the connection.
    Ack,
    /// An ACK that is sent at once.
    AckNow,
}

/// The owner of an index into the congestion control table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowLevel {
    /// Each queue pair: source, destination and SL.
    #[default]
    Qp,
    /// Each SL of a NIC.
    Sl,
}

/// Which index holds back a packet of a service level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlScope {
    /// The index of its own flow.
    #[default]
    Flow,
    /// The largest index of all SLs of the NIC, after any packet of the NIC.
    Link,
}

/// The effect of a BECN on a running timer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerRestart {
    /// Nothing: only an expiry sets the timer again.
    #[default]
    AtExpiry,
    /// It sets the timer again.
    OnBecn,
}

/// The effect of an increase that would lead beyond `CCTI_Limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CctiBound {
    /// The index becomes `CCTI_Limit`.
    #[default]
    Saturate,
    /// The index stays.
    Skip,
}

/// The time on the link that an entry of the table multiplies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IrdBase {
    /// The time of the packet just sent.
    #[default]
    Packet,
    /// The time of the largest data packet of any SL.
    MaxPacket,
}

/// The owner of a `CCTI_Timer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerScope {
    /// Each flow; a BECN starts it.
    #[default]
    PerFlow,
    /// Each SL of a NIC; it runs freely.
    PerSl,
}

/// Parameters of one SL at the NICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SlCongestion {
    /// `CCTI_Increase`: added to the index by a BECN.
    #[serde(rename = "CCTI_Increase")]
    #[schemars(extend("unit" = "level"))]
    pub ccti_increase: u8,
    /// `CCTI_Min`: the index never is below.
    #[serde(rename = "CCTI_Min")]
    #[schemars(extend("unit" = "level"))]
    pub ccti_min: u8,
    /// `CCTI_Timer` in ticks, at least 1 (the specification counts 1.024 us).
    #[serde(rename = "CCTI_Timer_ticks")]
    pub ccti_timer: Tick,
    /// `Trigger_Threshold`: a BECN that leaves the index at it or above is an event of the
    /// log; 0: no events.
    #[serde(rename = "Trigger_Threshold")]
    #[schemars(extend("unit" = "level"))]
    pub trigger_threshold: u8,
}

/// Entry of the congestion control table: a delay of multiplier / 2^shift times the
/// time that the previous packet took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CctEntry {
    /// Multiplier, below 2^14.
    pub multiplier: u16,
    /// Shift, 0–3.
    pub shift: u8,
}

impl CctEntry {
    /// No delay.
    pub const NONE: Self = Self {
        multiplier: 0,
        shift: 0,
    };

    /// Whether both parts are within their bits.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.multiplier <= MAX_CCT_MULTIPLIER && self.shift <= MAX_CCT_SHIFT
    }

    /// The delay in ticks after a packet of `bytes` on a link of `rate` bytes per
    /// tick, rounded down.
    #[must_use]
    pub fn delay(self, bytes: u32, rate: Ratio) -> Tick {
        let num = u128::from(bytes) * u128::from(rate.den()) * u128::from(self.multiplier);
        let ticks = num / (u128::from(rate.num().max(1)) << self.shift);
        Tick::try_from(ticks).unwrap_or(Tick::MAX)
    }
}

impl CongestionControl {
    /// Checks every parameter against its range in the specification.
    ///
    /// # Errors
    /// The first parameter out of range, under its name.
    pub(super) fn validate(&self, topology: &Topology, sls: usize) -> Result<(), SpecError> {
        if let Marker::PortVl(marker) = &self.marker {
            marker.validate(topology)?;
        }
        match &self.source {
            SourceControl::None => Ok(()),
            SourceControl::Cct(control) => control.validate(sls),
        }
    }
}

impl Marker {
    /// Largest factor by which a starved Port VL delays credits, in times of a packet on its link.
    #[must_use]
    pub(crate) fn largest_return_delay(&self) -> u16 {
        let Self::PortVl(marker) = self else {
            return 0;
        };
        let starving = marker.settings().filter(|settings| settings.may_starve());
        let delays = starving.map(|settings| settings.cs_return_delay.multiplier);
        delays.max().unwrap_or(0)
    }
}

impl PortVlMarker {
    /// Settings of a switch port.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn port(
        &self,
        topology: &Topology,
        switch: SwitchId,
        port: PortId,
    ) -> PortCongestion {
        let own = self.exceptions.get(&SwitchPort { switch, port });
        own.copied().unwrap_or(match topology.peer(switch, port) {
            Peer::Nic(_) => self.host_ports,
            Peer::Switch { .. } | Peer::None => self.switch_ports,
        })
    }

    /// The settings that ports may have.
    fn settings(&self) -> impl Iterator<Item = &PortCongestion> {
        let ports = [&self.host_ports, &self.switch_ports];
        ports.into_iter().chain(self.exceptions.values())
    }

    fn validate(&self, topology: &Topology) -> Result<(), SpecError> {
        self.settings().try_for_each(PortCongestion::validate)?;
        for &SwitchPort { switch, port } in self.exceptions.keys() {
            if !topology.has_port(switch, port) {
                return error(
                    "congestion_control.port",
                    format!("there is no port {port} at a switch {switch}"),
                );
            }
        }
        Ok(())
    }
}

impl CctControl {
    fn validate(&self, sls: usize) -> Result<(), SpecError> {
        self.validate_table()?;
        self.validate_levels(sls)
    }

    fn validate_table(&self) -> Result<(), SpecError> {
        let entries = self.cct.len();
        if !(MIN_CCT_ENTRIES..=MAX_CCT_ENTRIES).contains(&entries) {
            return error(
                "congestion_control.CCT",
                format!("{entries} entries; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
            );
        }
        for (index, entry) in self.cct.iter().enumerate() {
            if !entry.is_valid() {
                let CctEntry { multiplier, shift } = entry;
                return error(
                    "congestion_control.CCT",
                    format!(
                        "entry {index} is {multiplier} / 2^{shift}; the multiplier has 14 bits (at most \
                         {MAX_CCT_MULTIPLIER}), the shift 2 (at most {MAX_CCT_SHIFT})"
                    ),
                );
            }
        }
        if usize::from(self.ccti_limit) >= entries {
            return error(
                "congestion_control.CCTI_Limit",
                format!("{} is no index of the {entries} entries", self.ccti_limit),
            );
        }
        Ok(())
    }

    fn validate_levels(&self, sls: usize) -> Result<(), SpecError> {
        if self.sl_scope == SlScope::Link && self.level == FlowLevel::Qp {
            return error(
                "congestion_control.sl_scope",
                "`link` takes the largest index of all service levels, but `level` is `qp`; set \
                 `level = \"sl\"`"
                    .into(),
            );
        }
        if self.service_levels.len() != sls {
            let have = self.service_levels.len();
            return error(
                "congestion_control.service_levels",
                format!("parameters of {have} service levels, but there are {sls}"),
            );
        }
        for (sl, level) in self.service_levels.iter().enumerate() {
            if u16::from(level.ccti_min) > self.ccti_limit {
                return error(
                    "congestion_control.CCTI_Min",
                    format!(
                        "{} of SL {sl} is above CCTI_Limit = {}",
                        level.ccti_min, self.ccti_limit
                    ),
                );
            }
            if level.ccti_timer == 0 {
                return error(
                    "congestion_control.CCTI_Timer",
                    format!("0 on SL {sl}; a rate that was lowered would never rise again"),
                );
            }
        }
        Ok(())
    }
}

impl PortCongestion {
    fn validate(&self) -> Result<(), SpecError> {
        for (key, weight, zero) in [
            ("congestion_control.Threshold", self.threshold, "never mark"),
            (
                "congestion_control.CS_Threshold",
                self.cs_threshold,
                "never starved",
            ),
        ] {
            if weight > MAX_THRESHOLD {
                return error(
                    key,
                    format!("a weight of {weight}; it goes from 0 ({zero}) to {MAX_THRESHOLD}"),
                );
            }
        }
        if !self.cs_return_delay.is_valid() {
            let CctEntry { multiplier, shift } = self.cs_return_delay;
            return error(
                "congestion_control.CS_ReturnDelay",
                format!(
                    "\"{shift}:{multiplier}\"; the shift has 2 bits (at most {MAX_CCT_SHIFT}), the \
                     multiplier 14 (at most {MAX_CCT_MULTIPLIER})"
                ),
            );
        }
        Ok(())
    }

    /// Whether the Port VLs of this port may be credit-starved.
    #[must_use]
    pub(crate) fn may_starve(&self) -> bool {
        self.credit_mask && self.cs_threshold > 0
    }
}

fn error<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}
