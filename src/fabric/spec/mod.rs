//! The fabric as plain data. An experiment file resolves to it. Engine and oracle share it, the
//! topology, ids, exact fractions and the seam to the workload, and nothing else that decides.
//!
//! Settings that all fabrics have are here, in [`qos`] and in [`routing`]. Each kind of switch
//! has its own module in [`switch`](super::switch), with its timing and its buffers:
//! [`hierarchical`] and [`voq`]. Congestion control, in [`congestion`], belongs to the fabric,
//! whatever its kind of switch.

mod across;
pub mod bit_errors;
pub mod congestion;
pub(crate) mod json;
mod links;
pub mod outages;
pub mod paths;
pub mod power;
pub mod qos;
pub mod queueing;
pub mod routing;
mod source_routes;
mod speed;
mod units;
pub mod validate;
pub mod vls;

pub use self::bit_errors::BitErrors;
pub use self::congestion::{CongestionControl, Notification};
pub use self::links::{LinkLatency, LinkRates};
pub(crate) use self::links::{check_ends, of_link};
pub use self::outages::{Degradation, Outage, TableChange};
pub use self::paths::{DetourRule, Detours, Intermediate, Paths};
pub use self::power::{DownState, LinkPower, LowState, ManagedLinks};
pub use self::qos::{Qos, ServiceLevel};
pub use self::queueing::{Along, Detail, Mix, QueueingScheme, SchemeKind};
pub use self::routing::{ForwardingTables, Routing, TrunkSelection, UpPorts};
pub use self::source_routes::SourceRoutes;
pub use self::speed::{LinkSpeed, check_rate, flits_per_tick, link_speed};
pub use self::units::{Stages, Tick, Units};
pub use self::vls::{Channel, Hop, LegAt, SlToVl, VlPolicy};
pub use super::error::SpecError;
pub use super::switch::Switch;
#[cfg(feature = "engine")]
pub use super::switch::SwitchKind;
#[cfg(feature = "engine")]
pub(crate) use super::switch::hierarchical::Classes;
pub use super::switch::hierarchical::{self, Hierarchical};
pub use super::switch::voq::{self, Voq};
pub use super::topology::RingTie;

use super::ids::{PortId, SwitchId, SwitchPort};
use super::topology::Topology;
use super::workload::Queueing;
use flitwise_base::units::Ratio;

/// A complete, resolved fabric. Its parts serialise as in `experiment.fabric` in `docs/reference/result.md`, with ticks,
/// flits and credits in their keys.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricSpec {
    /// Switches, NICs and the links between them.
    pub topology: Topology,
    /// The routing of packets.
    pub routing: Routing,
    /// Tick, flit, credit and headers.
    pub units: Units,
    /// Latencies of the links.
    pub link_latency: LinkLatency,
    /// Service levels, channels and virtual lanes.
    pub qos: Qos,
    /// Kind of the switches and their NICs, with the parameters of this kind.
    pub switch: Switch,
    /// Congestion control, which every kind may have.
    pub congestion_control: Option<Box<CongestionControl>>,
    /// Power states of links; `None`: links are always up.
    pub link_power: Option<Box<LinkPower>>,
    /// Times in which links are down.
    pub outages: Vec<Outage>,
    /// Times in which links send at a lower rate.
    pub degraded: Vec<Degradation>,
    /// Wrong bits on links; `None`: there are none.
    pub bit_errors: Option<BitErrors>,
}

impl FabricSpec {
    /// The hierarchical switch, if the fabric has switches of this kind.
    #[must_use]
    pub fn hierarchical(&self) -> Option<&Hierarchical> {
        match &self.switch {
            Switch::Hierarchical(switch) => Some(switch),
            _ => None,
        }
    }

    /// The InfiniBand switch, if the fabric has switches of this kind.
    #[must_use]
    pub fn voq(&self) -> Option<&Voq> {
        match &self.switch {
            Switch::Voq(switch) => Some(switch),
            _ => None,
        }
    }

    /// Flits of the largest packet of service level `sl`, be it a CNP.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn max_flits(&self, sl: usize) -> u32 {
        let mtu = self.qos.service_levels[sl].mtu_bytes;
        let cnp = self.cnp_flits().unwrap_or(0);
        self.units.data_flits(mtu).max(cnp)
    }

    /// Flits of a congestion notification packet, if there are any.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn cnp_flits(&self) -> Option<u32> {
        match self.congestion_control.as_ref()?.notification {
            Notification::Cnp { bytes } => Some(self.units.flits(bytes)),
            Notification::Ack | Notification::AckNow => None,
        }
    }

    /// Bytes for which the largest data packet of any service level takes a link.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn largest_data_bytes(&self) -> u32 {
        let levels = self.qos.service_levels.iter();
        let units = levels.map(|level| self.link_units(level.mtu_bytes)).max();
        let bytes_per_unit = self.units.flit_bytes / self.link_units_per_flit().max(1);
        units.unwrap_or(1).saturating_mul(bytes_per_unit)
    }

    /// The queueing of messages at NICs: congestion control holds flows to one destination and lets
    /// others pass.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn queueing(&self) -> Queueing {
        if self.switch.kind().queues_per_pair() || self.congestion_control.is_some() {
            Queueing::PerPair
        } else {
            Queueing::PerLevel
        }
    }

    /// Credits of the largest packet that may use `vl`; 0 if none may.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn max_credits_on_vl(&self, vl: u8) -> u32 {
        (0..self.qos.service_levels.len())
            .filter(|&sl| self.qos.vls_of(sl).any(|v| v == vl))
            .map(|sl| self.units.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }

    /// A rate of links in flits per tick: 1 if the kind of switch has no others.
    fn rate_of(&self, rate: impl FnOnce(&LinkRates) -> Ratio) -> Ratio {
        self.switch.kind().links().map_or(Ratio::ONE, rate)
    }

    /// Rate of the fastest link in flits per tick; its inverse is a *cycle*, in which loads are
    /// given. 1 on hierarchical fabrics.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn fastest_link(&self) -> Ratio {
        self.rate_of(LinkRates::fastest)
    }

    /// Rate of the usual link to a NIC in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn host_link_rate(&self) -> Ratio {
        self.rate_of(|links| links.nic)
    }

    /// Rate of the usual link between switches in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn switch_link_rate(&self) -> Ratio {
        self.rate_of(|links| links.switch)
    }

    /// Rate of the link at `port` of `switch` in flits per tick.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn link_rate(&self, switch: SwitchId, port: PortId) -> Ratio {
        self.rate_of(|links| links.at(&self.topology, switch, port))
    }

    /// Units in which the links of this fabric count time, per flit: a link of a hierarchical
    /// fabric is taken for whole flits, an InfiniBand link for the bytes of a packet.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn link_units_per_flit(&self) -> u32 {
        if self.switch.kind().links_count_bytes() {
            self.units.flit_bytes
        } else {
            1
        }
    }

    /// Ticks for which a link was busy that carried `units` units of link time, `low` of them on its low lanes. `at`: its
    /// switch port.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn busy_ticks(&self, at: SwitchPort, units: u64, low: u64) -> f64 {
        let rate = self.link_rate(at.switch, at.port);
        let per_flit = u64::from(self.link_units_per_flit());
        let state = self.link_power.as_deref().and_then(LinkPower::low);
        // A transfer takes longer on the low lanes by the ratio of all lanes to them.
        let longer = state.map_or(0.0, |state| {
            f64::from(state.lanes) / f64::from(state.low_lanes) - 1.0
        });
        let times = units as f64 + low as f64 * longer;
        times * rate.den() as f64 / (rate.num() as f64 * per_flit as f64)
    }

    /// Ticks that the fastest link is busy with `units` units of link time, rounded up.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn least_ticks(&self, units: u64) -> Tick {
        let rate = self.fastest_link();
        let per_tick = u128::from(rate.num()) * u128::from(self.link_units_per_flit());
        let ticks = (u128::from(units) * u128::from(rate.den())).div_ceil(per_tick.max(1));
        Tick::try_from(ticks).unwrap_or(Tick::MAX)
    }

    /// Units of [`FabricSpec::link_units_per_flit`] for which a packet with `payload` bytes
    /// takes a link.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn link_units(&self, payload: u32) -> u32 {
        if self.switch.kind().links_count_bytes() {
            payload.saturating_add(self.units.header_bytes)
        } else {
            self.units.data_flits(payload)
        }
    }

    /// Per VL: credits that its packets may take at most in an input buffer of a switch.
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn input_credits(&self) -> impl Iterator<Item = u32> + '_ {
        let vls = 0..usize::from(self.qos.vls);
        vls.map(|vl| self.switch.kind().input_credits(vl))
    }

    /// Credits of the largest packet of any SL, or of a CNP.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn largest_packet_credits(&self) -> u32 {
        (0..self.qos.service_levels.len())
            .map(|sl| self.units.credits(self.max_flits(sl)))
            .max()
            .unwrap_or(0)
    }
}
