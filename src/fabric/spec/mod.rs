//! The fabric as plain data. An experiment file resolves to it. Engine and oracle share it, the
//! topology, ids, exact fractions and the seam to the workload, and nothing else that decides.
//!
//! Settings that all fabrics have are here, in [`qos`] and in [`routing`]. Each kind of switch
//! has its own module, with its timing and its buffers: [`hierarchical`] and [`voq`]. Congestion
//! control, in [`congestion`], belongs to the fabric, whatever its kind of switch.

mod central;
pub mod congestion;
pub mod hierarchical;
pub mod qos;
pub mod routing;
mod speed;
mod units;
pub mod validate;
pub mod vls;
pub mod voq;

pub(in crate::fabric) use self::central::Classes;
pub use self::congestion::{CongestionControl, Notification};
pub use self::hierarchical::Hierarchical;
pub use self::qos::{Qos, ServiceLevel};
pub use self::routing::{ForwardingTables, Paths, RingTie, Routing, TrunkSelection, UpPorts};
pub use self::speed::{LinkSpeed, flits_per_tick};
pub use self::units::{Stages, Units};
pub use self::vls::{Channel, Hop, SlToVl, VlPolicy};
pub use self::voq::Voq;

use super::ids::{PortId, SwitchId};
use super::topology::Topology;
use super::workload::Queueing;
use crate::units::Ratio;
use thiserror::Error;

/// Simulated time in ticks ([`Units::tick`]).
pub type Tick = u64;

/// A complete, resolved fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricSpec {
    /// Switches, NICs and the links between them.
    pub topology: Topology,
    /// How a packet finds its way.
    pub routing: Routing,
    /// Tick, flit, credit and headers.
    pub units: Units,
    /// Latencies of the links.
    pub link_latency: LinkLatency,
    /// Service levels, channels and virtual lanes.
    pub qos: Qos,
    /// Kind of the switches and their NICs, with what belongs to this kind.
    pub switch: Switch,
    /// Congestion control, which either kind may have.
    pub congestion_control: Option<Box<CongestionControl>>,
}

/// Latencies of links in ticks, each at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkLatency {
    /// FLY: flight over a link between two switches.
    pub switch: Tick,
    /// INJ: flight over a link between NIC and switch, both ways.
    pub host: Tick,
}

/// A kind of switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switch {
    /// Omni-Path: MPorts, central buffers (`docs/model.md`).
    Hierarchical(Box<Hierarchical>),
    /// InfiniBand: virtual output queues (`docs/model-infiniband.md`).
    Voq(Box<Voq>),
}

/// A fabric that cannot be built, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct SpecError {
    /// Experiment-file key that the problem belongs to.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl FabricSpec {
    /// Flits of the largest packet of service level `sl`, be it a CNP.
    #[must_use]
    pub fn max_flits(&self, sl: usize) -> u32 {
        let mtu = self.qos.service_levels[sl].mtu_bytes;
        let cnp = self.cnp_flits().unwrap_or(0);
        self.units.data_flits(mtu).max(cnp)
    }

    /// Flits of a congestion notification packet, if there are any.
    #[must_use]
    pub fn cnp_flits(&self) -> Option<u32> {
        match self.congestion_control.as_ref()?.notification {
            Notification::Cnp { bytes } => Some(self.units.flits(bytes)),
            Notification::Ack | Notification::AckNow => None,
        }
    }

    /// Bytes for which the largest data packet of any service level takes a link.
    #[must_use]
    pub fn largest_data_bytes(&self) -> u32 {
        let levels = self.qos.service_levels.iter();
        let units = levels.map(|level| self.link_units(level.mtu_bytes)).max();
        let bytes_per_unit = self.units.flit_bytes / self.link_units_per_flit().max(1);
        units.unwrap_or(1).saturating_mul(bytes_per_unit)
    }

    /// How messages queue at NICs: congestion control holds flows to one destination and lets
    /// others pass.
    #[must_use]
    pub fn queueing(&self) -> Queueing {
        match self.switch {
            Switch::Hierarchical(_) if self.congestion_control.is_none() => Queueing::PerLevel,
            Switch::Hierarchical(_) | Switch::Voq(_) => Queueing::PerPair,
        }
    }

    /// Credits of the largest packet that may use `vl`; 0 if none may.
    #[must_use]
    pub fn max_credits_on_vl(&self, vl: u8) -> u32 {
        (0..self.qos.service_levels.len())
            .filter(|&sl| self.qos.vls_of(sl).any(|v| v == vl))
            .map(|sl| self.units.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }

    /// Rate of the fastest link in flits per tick; its inverse is a *cycle*, in which loads are
    /// given. 1 on hierarchical fabrics.
    #[must_use]
    pub fn fastest_link(&self) -> Ratio {
        match &self.switch {
            Switch::Hierarchical(_) => Ratio::ONE,
            Switch::Voq(voq) => voq.links.fastest(),
        }
    }

    /// Units in which the links of this fabric count time, per flit: a link of a hierarchical
    /// fabric is taken for whole flits, an InfiniBand link for the bytes of a packet.
    #[must_use]
    pub fn link_units_per_flit(&self) -> u32 {
        match &self.switch {
            Switch::Hierarchical(_) => 1,
            Switch::Voq(_) => self.units.flit_bytes,
        }
    }

    /// Units of [`FabricSpec::link_units_per_flit`] for which a packet with `payload` bytes
    /// takes a link.
    #[must_use]
    pub fn link_units(&self, payload: u32) -> u32 {
        match &self.switch {
            Switch::Hierarchical(_) => self.units.data_flits(payload),
            Switch::Voq(_) => payload.saturating_add(self.units.header_bytes),
        }
    }

    /// Rate of the link at `port` of `switch` in flits per tick: 1 on hierarchical fabrics.
    #[must_use]
    pub fn link_rate(&self, switch: SwitchId, port: PortId) -> Ratio {
        match &self.switch {
            Switch::Hierarchical(_) => Ratio::ONE,
            Switch::Voq(voq) => voq.links.at(&self.topology, switch, port),
        }
    }

    /// Per VL: credits that its packets may take at most in an input buffer of a switch.
    pub fn input_credits(&self) -> impl Iterator<Item = u32> + '_ {
        let vls = 0..usize::from(self.qos.vls);
        vls.map(|vl| match &self.switch {
            Switch::Hierarchical(switch) => switch.buffers.input.per_vl[vl].max,
            Switch::Voq(switch) => switch.buffers.input.per_vl[vl],
        })
    }

    /// Credits of the largest packet of any SL, or of a CNP.
    #[must_use]
    pub fn largest_packet_credits(&self) -> u32 {
        (0..self.qos.service_levels.len())
            .map(|sl| self.units.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }
}
