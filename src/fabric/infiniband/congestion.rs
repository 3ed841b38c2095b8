//! Parameters of InfiniBand congestion control, under the names of the InfiniBand
//! Architecture Specification 1.2.1 (annex A10, tables 515–521); what they do is in
//! `docs/model-infiniband.md`, sections 9 to 11.

use crate::fabric::spec::{SpecError, Tick};
use crate::fabric::topology::{Peer, Topology};
use crate::units::Ratio;
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

/// All parameters of congestion control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CongestionControl {
    /// Switch ports that lead to adapters.
    pub host_ports: PortCongestion,
    /// Switch ports that lead to switches.
    pub switch_ports: PortCongestion,
    /// Ports with settings of their own, by (switch, port).
    pub exceptions: BTreeMap<(u32, u32), PortCongestion>,
    /// How fill and threshold are compared.
    pub compare: FillComparison,
    /// How the destination tells the source.
    pub notification: Notification,
    /// What an index into the table belongs to.
    pub level: FlowLevel,
    /// What a timer belongs to.
    pub timer: TimerScope,
    /// The congestion control table, at least 128 entries.
    pub cct: Vec<CctEntry>,
    /// `CCTI_Limit`: largest index used, below the number of entries.
    pub ccti_limit: u16,
    /// Parameters of each SL.
    pub service_levels: Vec<SlCongestion>,
}

/// Settings of one switch port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortCongestion {
    /// `Threshold`: weight 0–15, a fill of (16 − weight)/16; 0: never congested.
    pub threshold: u8,
    /// `Victim_Mask`: congested even without credits.
    pub victim_mask: bool,
    /// `Packet_Size`: smaller packets are not marked, in units of 64 bytes.
    pub packet_size: u8,
    /// `Marking_Rate`: eligible packets between two marks.
    pub marking_rate: u16,
}

/// How the fill of the queues of a Port VL is compared with its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillComparison {
    /// Each queue with the threshold.
    AnyQueue,
    /// Their sum with the threshold.
    Sum,
    /// Their sum with the threshold divided by the number of queues in use.
    SumShared,
}

/// What carries a BECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// A congestion notification packet per FECN.
    Cnp {
        /// Whole length in bytes (42: LRH, BTH, 16 B of payload, ICRC, VCRC).
        bytes: u32,
    },
    /// The next ACK of the connection.
    Ack,
}

/// What holds an index into the congestion control table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowLevel {
    /// Each queue pair: source, destination and SL.
    Qp,
    /// Each SL of an adapter.
    Sl,
}

/// What a `CCTI_Timer` belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerScope {
    /// Each flow; a BECN starts it anew.
    PerFlow,
    /// Each SL of an adapter; it runs freely.
    PerSl,
}

/// Parameters of one SL at the adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlCongestion {
    /// `CCTI_Increase`: added to the index by a BECN.
    pub ccti_increase: u8,
    /// `CCTI_Min`: the index never is below.
    pub ccti_min: u8,
    /// `CCTI_Timer` in ticks, at least 1 (the specification counts 1.024 us).
    pub ccti_timer: Tick,
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
    /// The delay in ticks after a packet of `flits` flits on a link of `rate` flits per
    /// tick, rounded down.
    #[must_use]
    pub fn delay(self, flits: u32, rate: Ratio) -> Tick {
        let num = u128::from(flits) * u128::from(rate.den()) * u128::from(self.multiplier);
        let ticks = num / (u128::from(rate.num().max(1)) << self.shift);
        Tick::try_from(ticks).unwrap_or(Tick::MAX)
    }
}

impl CongestionControl {
    /// Settings of a switch port.
    #[must_use]
    pub fn port(&self, topology: &Topology, switch: u32, port: u32) -> PortCongestion {
        let own = self.exceptions.get(&(switch, port));
        own.copied().unwrap_or(match topology.peer(switch, port) {
            Peer::Nic(_) => self.host_ports,
            Peer::Switch { .. } | Peer::None => self.switch_ports,
        })
    }

    /// Checks every parameter against its range in the specification.
    ///
    /// # Errors
    /// The first parameter out of range, under its name.
    pub(super) fn validate(&self, topology: &Topology, sls: usize) -> Result<(), SpecError> {
        let ports = [&self.host_ports, &self.switch_ports];
        for port in ports.into_iter().chain(self.exceptions.values()) {
            if port.threshold > MAX_THRESHOLD {
                let weight = port.threshold;
                return error(
                    "congestion_control.Threshold",
                    format!("a weight of {weight}; it goes from 0 (never mark) to {MAX_THRESHOLD}"),
                );
            }
        }
        for &(switch, port) in self.exceptions.keys() {
            if switch >= topology.switches() || port >= topology.radix() {
                return error(
                    "congestion_control.port",
                    format!("there is no port {port} at a switch {switch}"),
                );
            }
        }
        let entries = self.cct.len();
        if !(MIN_CCT_ENTRIES..=MAX_CCT_ENTRIES).contains(&entries) {
            return error(
                "congestion_control.CCT",
                format!("{entries} entries; there must be {MIN_CCT_ENTRIES} to {MAX_CCT_ENTRIES}"),
            );
        }
        for (index, entry) in self.cct.iter().enumerate() {
            if entry.multiplier > MAX_CCT_MULTIPLIER || entry.shift > MAX_CCT_SHIFT {
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

fn error<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}
