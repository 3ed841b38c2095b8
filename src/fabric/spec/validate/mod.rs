//! Checks that a fabric can be built and can move every packet. The checks in this folder hold
//! for every kind of switch; each kind has its own in its folder of `src/fabric/switch/`.

mod qos;
mod queueing;
mod routing;
mod vls;

pub use super::qos::MAX_LEVELS;
pub use crate::switch::voq::MAX_DATA_VLS;

use super::{FabricSpec, Notification, SpecError, Stages, Switch, Tick, check_ends};
use crate::error::error;
use crate::switch::Acks;
use flitwise_base::units::TickLength;

/// Most pairs of VL classes, times the queues of a class: a turn of the analysis has a bit for each.
pub const MAX_CLASS_TURNS: u32 = u32::BITS;
/// Longest latency of one pipeline stage or link in ticks: far beyond any fabric
/// (168 us at 640 ps), while the event calendar stays below some 100 MB.
pub const MAX_LATENCY_TICKS: u64 = 1 << 18;
/// Largest weight of a DTable entry in units of 64 B (64 GiB), so that sums of a few stay
/// in range.
pub const MAX_DTABLE_WEIGHT: u32 = 1 << 30;
/// Service channel reserved for fabric management (Hiperion, section 2.1).
pub const MANAGEMENT_SC: u8 = 15;

/// The key of links with latencies of their own.
const LINK_LENGTHS: &str = "fabric.topology.file";

/// Checks latencies of `tick` each: (key, ticks, least ticks).
fn check_latencies(
    tick: TickLength,
    latencies: &[(&'static str, Tick, Tick)],
) -> Result<(), SpecError> {
    for &(key, ticks, least) in latencies {
        if ticks < least {
            return error(key, "is 0; it must be at least 1 (tick, byte, flit)".into());
        }
        if ticks > MAX_LATENCY_TICKS {
            let problem = format!(
                "{ticks} ticks of {} ps; at most {MAX_LATENCY_TICKS} ticks are supported",
                tick.length_ps()
            );
            return error(key, problem);
        }
    }
    Ok(())
}

impl FabricSpec {
    /// Checks that the numbers are in range, that the QoS tables agree with each
    /// other, and that every buffer holds its exclusive quotas and can take the
    /// largest packet of every VL.
    ///
    /// # Errors
    /// The first problem found, with the experiment-file key to change.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.validate_all(true)
    }

    /// As [`FabricSpec::validate`], but the VL classes of a service level may
    /// share a VL or an SC on rings: such a fabric can deadlock and does not run, yet
    /// it can be analysed.
    ///
    /// # Errors
    /// As [`FabricSpec::validate`].
    pub fn validate_but_datelines(&self) -> Result<(), SpecError> {
        self.validate_all(false)
    }

    fn validate_all(&self, datelines: bool) -> Result<(), SpecError> {
        self.validate_units()?;
        match &self.switch {
            Switch::Hierarchical(switch) => self.validate_hierarchical_timing(&switch.timing)?,
            Switch::Voq(switch) => self.validate_stages(&switch.stages)?,
        }
        self.validate_qos(datelines)?;
        self.validate_congestion()?;
        self.validate_forwarding()?;
        self.validate_source_routes()?;
        self.validate_link_power()?;
        self.validate_outages()?;
        self.validate_bit_errors()?;
        match &self.switch {
            Switch::Hierarchical(switch) => self.validate_hierarchical(switch),
            Switch::Voq(switch) => self.validate_voq(switch),
        }
    }

    /// Checks latencies inside a switch.
    pub(crate) fn validate_stages(&self, stages: &Stages) -> Result<(), SpecError> {
        let Stages {
            input_store,
            routing,
            allocation,
            crossbar,
            output_store,
        } = *stages;
        check_latencies(
            self.units.tick,
            &[
                ("fabric.input_latency", input_store, 0),
                ("fabric.routing_latency", routing, 0),
                ("fabric.allocation_latency", allocation, 1),
                ("fabric.crossbar_latency", crossbar, 1),
                ("fabric.output_latency", output_store, 0),
            ],
        )
    }

    fn validate_units(&self) -> Result<(), SpecError> {
        for (key, value) in [
            ("fabric.flit", self.units.flit_bytes),
            ("fabric.credit", self.units.flits_per_credit),
        ] {
            if value == 0 {
                return error(key, "is 0; it must be at least 1 (tick, byte, flit)".into());
            }
        }
        check_latencies(
            self.units.tick,
            &[
                ("fabric.link_latency", self.link_latency.switch, 1),
                ("fabric.host_link_latency", self.link_latency.nic, 1),
            ],
        )?;
        let own = &self.link_latency.exceptions;
        check_ends(&self.topology, own, LINK_LENGTHS)?;
        let all = own.values().map(|&ticks| (LINK_LENGTHS, ticks, 1));
        check_latencies(self.units.tick, &all.collect::<Vec<_>>())
    }

    /// Checks congestion control; every kind of switch has it.
    fn validate_congestion(&self) -> Result<(), SpecError> {
        let Some(control) = &self.congestion_control else {
            return Ok(());
        };
        control.validate(&self.topology, self.qos.service_levels.len())?;
        let acks = self.switch.kind().acks() != Acks::None;
        match control.notification {
            Notification::Cnp { bytes: 0 } => {
                error("congestion_control.cnp", "a CNP has at least 1 byte".into())
            }
            Notification::Ack | Notification::AckNow if !acks => error(
                "congestion_control.notification",
                "a BECN cannot travel on ACKs, because NICs send none; use CNPs or set \
                 `fabric.acks`"
                    .into(),
            ),
            Notification::Cnp { .. } | Notification::Ack | Notification::AckNow => Ok(()),
        }
    }
}
