//! Which VL a packet takes for its next hop (`docs/model.md` §7), as a function of the
//! specification. Analysis asks it hop by hop; the engine makes its tables from it
//! (`src/fabric/engine/vls.rs`).
//!
//! A new VL policy touches: this file, for its variant of [`VlPolicy`] and its rule; the engine's
//! file, for the same rule as tables; `validate/vls.rs`; `src/config/resolve_vls.rs`, and `raw.rs`
//! for a new key; and `tests/oracles/src/vls.rs`, which implements the rule independently. It touches
//! `src/fabric/analysis/turns.rs` only if packets change their VL for a new reason.

use super::{FabricSpec, Qos, json};
use crate::fabric::ids::{NicId, PortId, SwitchId};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a packet gets its VL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VlPolicy {
    /// By service channel, as in `docs/model.md` section 7.
    ServiceChannels,
    /// Destination-based buffer management: by service channel, and every service level has
    /// `queues` SCs in each VL class (Nachiondo, Flich, Duato, "Buffer management strategies to
    /// reduce HoL blocking", IEEE TPDS 2010). Of the mappings of destinations to queues it is the
    /// modulo one, which Nachiondo, Flich, Duato, Gusat evaluate for 4 and 8 queues (Euro-Par 2005,
    /// LNCS 3648, p. 1024; abstract).
    Dbbm {
        /// Queues per VL class, at least 1.
        queues: u8,
    },
    /// By InfiniBand's SL-to-VL tables.
    SlToVl(SlToVl),
}

impl VlPolicy {
    /// The SL-to-VL tables, if these decide.
    #[must_use]
    pub fn tables(&self) -> Option<&SlToVl> {
        match self {
            Self::SlToVl(tables) => Some(tables),
            Self::ServiceChannels | Self::Dbbm { .. } => None,
        }
    }
}

/// SL-to-VL tables, each a VL per SL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlToVl {
    /// The table of every NIC and port that has none of its own.
    #[serde(serialize_with = "json::line")]
    pub default: Vec<u8>,
    /// Tables of NICs.
    #[serde(serialize_with = "json::lines_by_key")]
    pub hcas: BTreeMap<NicId, Vec<u8>>,
    /// Tables of switches, by in-port and out-port.
    #[serde(serialize_with = "json::lines_by_key")]
    pub ports: BTreeMap<Hop, Vec<u8>>,
}

impl SlToVl {
    /// All tables.
    pub fn all(&self) -> impl Iterator<Item = &Vec<u8>> {
        let own = self.hcas.values().chain(self.ports.values());
        std::iter::once(&self.default).chain(own)
    }

    /// VL of a packet of `sl` that leaves NIC `hca`; `None` if the table is short.
    #[must_use]
    pub fn at_hca(&self, hca: NicId, sl: u8) -> Option<u8> {
        let table = self.hcas.get(&hca).unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }

    /// VL of a packet of `sl` behind `hop`; `None` if the table is short.
    #[must_use]
    pub fn at_switch(&self, hop: Hop, sl: u8) -> Option<u8> {
        let own = self.ports.get(&hop);
        let table = own.unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }
}

/// The channel on which a packet goes from one buffer to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Service channel. With SL-to-VL tables the SL stands for it.
    pub sc: u8,
    /// Virtual lane.
    pub vl: u8,
}

/// The step of a packet through a switch. Sorts by switch, then by in-port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Switch.
    pub switch: SwitchId,
    /// Port by which the packet comes in.
    pub in_port: PortId,
    /// Port by which it leaves.
    pub out_port: PortId,
}

impl Qos {
    /// Queues that service level `sl` has in each of `classes` VL classes: the destination picks
    /// one. At least 1.
    #[must_use]
    pub fn queues(&self, sl: usize, classes: u8) -> usize {
        (self.service_levels[sl].scs.len() / usize::from(classes.max(1))).max(1)
    }

    /// Position of the SC of a packet for NIC `dst` in the list of a service level that has
    /// `queues` of them in each VL class.
    #[must_use]
    pub fn position(class: u8, queues: usize, dst: NicId) -> usize {
        usize::from(class) * queues + dst.index() % queues.max(1)
    }
}

impl FabricSpec {
    /// True if the routing needs SCs of every service level in more than one VL class: on rings
    /// and dragonflies, and for paths of several legs, unless SL-to-VL tables decide the VLs.
    #[must_use]
    pub fn needs_classes(&self) -> bool {
        self.classes() > 1
    }

    /// Number of VL classes: 1 if SL-to-VL tables decide the VLs. Otherwise those of all legs of a path, each of which has as
    /// many as the topology needs.
    #[must_use]
    pub fn classes(&self) -> u8 {
        match self.qos.vl_policy.tables() {
            Some(_) => 1,
            None => self.routing.paths.classes(self.classes_of_leg()),
        }
    }

    /// Number of VL classes of each leg of a path, which the topology decides; 1 if forwarding tables take the place of
    /// its routing, for the classes follow that. The first leg has the lowest classes: see [`Paths::first_class`](super::Paths::first_class).
    #[must_use]
    pub(crate) fn classes_of_leg(&self) -> u8 {
        match self.routing.forwarding {
            Some(_) => 1,
            None => self.topology.vl_classes(),
        }
    }

    /// The VL classes before and after a switch that a packet can have: on later legs of its path it has no class of an
    /// earlier one.
    pub(crate) fn class_turns(&self) -> impl Iterator<Item = (u8, u8)> {
        let (classes, of_leg) = (self.classes(), self.classes_of_leg().max(1));
        let pairs =
            (0..classes).flat_map(move |before| (0..classes).map(move |after| (before, after)));
        pairs.filter(move |(before, after)| before / of_leg <= after / of_leg)
    }

    /// Service channel of a packet of `sl` for NIC `dst` in VL class `class`, and its VL. `None` if
    /// the service level has no SC, or the SC no VL. A service level with too few SCs uses the last
    /// for several classes.
    #[must_use]
    pub fn channel(&self, sl: usize, class: u8, dst: NicId) -> Option<Channel> {
        let scs = &self.qos.service_levels[sl].scs;
        let queues = self.qos.queues(sl, self.classes());
        let &sc = scs
            .get(Qos::position(class, queues, dst))
            .or_else(|| scs.last())?;
        let vl = self.qos.sc2vl.get(usize::from(sc)).copied().flatten()?;
        Some(Channel { sc, vl })
    }

    /// Channel on which a packet of `sl` for NIC `dst` leaves NIC `nic`; `None` if it has none.
    #[must_use]
    pub fn channel_at_nic(&self, nic: NicId, dst: NicId, sl: usize) -> Option<Channel> {
        match &self.qos.vl_policy {
            VlPolicy::SlToVl(tables) => of_table(sl, tables.at_hca(nic, sl as u8)),
            VlPolicy::ServiceChannels | VlPolicy::Dbbm { .. } => self.channel(sl, 0, dst),
        }
    }

    /// Channel behind `hop`, and VL class there, of a packet of `sl` for NIC `dst` on leg `leg` of its path whose VL class
    /// was `class`, a class of that leg; `None` if it has no channel.
    #[must_use]
    pub fn channel_behind(
        &self,
        hop: Hop,
        sl: usize,
        dst: NicId,
        leg: u8,
        class: u8,
    ) -> Option<(Channel, u8)> {
        let Hop {
            switch,
            in_port,
            out_port,
        } = hop;
        let class = match self.classes() {
            1 => 0,
            _ => {
                let first = self.first_class(leg);
                let class = class.saturating_sub(first);
                first + self.topology.class_behind(switch, in_port, out_port, class)
            }
        };
        let channel = match &self.qos.vl_policy {
            VlPolicy::SlToVl(tables) => of_table(sl, tables.at_switch(hop, sl as u8)),
            VlPolicy::ServiceChannels | VlPolicy::Dbbm { .. } => self.channel(sl, class, dst),
        };
        Some((channel?, class))
    }
}

fn of_table(sl: usize, vl: Option<u8>) -> Option<Channel> {
    Some(Channel {
        sc: sl as u8,
        vl: vl?,
    })
}
